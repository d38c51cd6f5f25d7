"""Everything that a page shows, before it is rendered: from the runs to comparisons,
and from both to tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from elmo_bench.ledger.costs import EncoderCost
from elmo_bench.reporting.all_runs import RUNS, all_runs, spent
from elmo_bench.reporting.answer import ANSWER, answer_pairs, answers, encoders_table
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.figures import Drawing, figures_of
from elmo_bench.reporting.frame import shown, systems
from elmo_bench.reporting.layouts.encoders import leading, over_baseline
from elmo_bench.reporting.names import BASELINE
from elmo_bench.reporting.outcomes import CachedOutcomes, ReadOutcomes
from elmo_bench.reporting.overview import (
    compared,
    encoders,
    overview,
    rank_pairs,
    with_verdicts,
)
from elmo_bench.reporting.pairs import baseline_pairs
from elmo_bench.reporting.picture import headline, picture
from elmo_bench.reporting.ranks import ranks
from elmo_bench.reporting.rows import with_texts_of_python
from elmo_bench.reporting.selection import candidates, of_newest_protocol
from elmo_bench.reporting.slices import slices
from elmo_bench.reporting.steps import gains_of
from elmo_bench.reporting.table1 import others_table, table1
from elmo_bench.reporting.tables import (
    Table,
    layout_of,
)
from elmo_bench.reporting.worth import TITLE, worth
from elmo_bench.spec.conf_files import choices
from elmo_bench.spec.experiments import MAIN, Experiment, experiments
from elmo_bench.spec.task_files import reads_own_data

RANKS = "ranks"  # the purpose of the tests of all pairs of encoders
# On a page of data of the user's own.
ABOUT_OWN_ENCODERS = "What each encoder is, and the licence of its weights."
SECTION = (
    "suite",
    "name",
    "title",
    "about",
    "tables",
    "figures",
    "protocol",
    "command",
    "spent",
)


@dataclass(frozen=True)
class Leaderboard:
    """What a page is rendered from; `command` renders the same page again."""

    command: str
    runs: pd.DataFrame  # of the ledger, also those that no table shows
    systems: pd.DataFrame  # that tables show
    suites: pd.DataFrame  # a row for each: see `_suite`
    sections: pd.DataFrame  # a row for each, with the columns of SECTION

    @property
    def tables(self) -> list[Table]:
        """Each suite's table 1 and others, or its answers on data of the user's own;
        then the tables of the sections.
        """
        return [
            *self.suites.table1.dropna(),
            *self.suites.others.dropna(),
            *self._tables_of_answers(),
            *self.sections.tables.explode(),
        ]

    def _tables_of_answers(self) -> Iterator[Table]:
        for of_suite in self.suites.answers:
            for answer in of_suite:
                yield from answer.tables

    @property
    def figures(self) -> list[Drawing]:
        """The picture of each suite, then the figures of the sections."""
        return [
            *self.suites.picture.dropna(),
            *self.sections.figures.explode().dropna(),
        ]


@with_texts_of_python
def leaderboard(
    runs: pd.DataFrame,
    *,
    command: str,
    costs: Sequence[EncoderCost] = (),
    read: ReadOutcomes | None = None,
) -> Leaderboard:
    """Compute every table that there are runs for.

    costs: of encoders, whose gains are shown against them. read: reads the outcomes of
    a run.
    """
    read = read or CachedOutcomes()
    every = systems(shown(runs))
    suites, sections = [], []
    for _, of_suite in every.groupby("suite", sort=False):
        chosen = _chosen(of_suite)
        if _is_own_data(of_suite):
            chosen[MAIN] = chosen[MAIN].iloc[:0]  # the answer takes its place
        comparisons = compare(runs, _pairs(of_suite, chosen), read=read)
        suites.append(_suite(of_suite, runs, chosen[MAIN], comparisons, costs))
        sections.extend(
            _sections(of_suite, runs, chosen, comparisons, suites[-1], read=read)
        )
    columns = (
        *("name", "title", "headline", "picture", "table1", "others"),
        *("is_own", "answers", "encoders", "scores"),
    )
    return Leaderboard(
        command,
        runs,
        every,
        pd.DataFrame(suites, columns=columns, dtype=object),
        pd.DataFrame(sections, columns=SECTION, dtype=object),
    )


def _chosen(of_suite: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By experiment that has tables, in the order of the page, the systems that they
    show.
    """
    chosen = {}
    for experiment in map(Experiment.load, experiments()):
        if experiment.caption:
            select = layout_of(experiment).select
            chosen[experiment.name] = select(
                candidates(of_suite, experiment), experiment
            )
    return chosen


def _pairs(of_suite: pd.DataFrame, chosen: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What is tested, with `purpose`: an experiment, the ranks of encoders, or the
    tables of all runs.

    Tests of one experiment are a family, and so are the tests of a table of all runs
    that table 1 does not make.
    """
    pairs = []
    for name, selected in chosen.items():
        experiment = Experiment.load(name)
        layout = layout_of(experiment)
        of_layout = layout.pairs(selected, experiment)
        if "family" not in of_layout:
            of_layout["family"] = ""
        pairs.append(of_layout.assign(purpose=name, split=layout.split))
    main = Experiment.load(MAIN)
    primary = pairs[list(chosen).index(MAIN)]
    ranked = rank_pairs(compared(chosen[MAIN]), primary, main)
    pairs.append(ranked.assign(purpose=RANKS, split="test", family=""))
    if _is_own_data(of_suite):
        pairs.append(answer_pairs(of_suite).assign(purpose=ANSWER, split="test"))
    tested = over_baseline(primary).ours
    others = baseline_pairs(of_suite)
    others = others[~others.ours.isin(tested)]
    pairs.append(
        others.assign(
            purpose=RUNS, split="test", family=others.ours.map(of_suite.basis)
        )
    )
    return pd.concat(pairs, ignore_index=True)


def _is_own_data(of_suite: pd.DataFrame) -> bool:
    """Whether each task of a suite reads data of the user's own."""
    return all(reads_own_data(task) for task in set(of_suite.task))


def _suite(
    of_suite: pd.DataFrame,
    runs: pd.DataFrame,
    selected: pd.DataFrame,
    comparisons: pd.DataFrame,
    costs: Sequence[EncoderCost],
) -> dict[str, Any]:
    """What the page begins with: of data of the user's own which system to use, else
    what the main experiment shows and table 1; and the encoders with their scores.
    """
    main = Experiment.load(MAIN)
    primary = comparisons[comparisons.purpose == MAIN]
    # All that the headline and the picture may show.
    proven, proofs = selected[selected.checked], _checked(primary)
    lead = leading(main, proofs)
    ranked = compared(selected)
    rank_table = ranks(comparisons[comparisons.purpose == RANKS])
    suite = of_suite.suite.iloc[0]
    row = {
        "name": suite,
        "title": f"Suite {suite}",
        "headline": headline(lead, gains_of(proven, proofs, (lead, BASELINE))),
        "picture": None,
        "table1": None,
        "others": None,
        "is_own": _is_own_data(of_suite),
        "answers": [],
        "encoders": encoders(ranked, rank_table, costs, main),
        "scores": with_verdicts(ranked, primary),
    }
    if row["is_own"]:
        row["title"] = f"Your data: {suite}"
        tests = comparisons[comparisons.purpose == ANSWER]
        row["answers"] = answers(of_suite, runs, tests)
    elif len(selected):
        row["picture"] = picture(proven, proofs, main)
        row["table1"] = table1(selected, primary, main)
        row["others"] = others_table(selected, primary, main)
    return row


def _checked(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The comparisons of systems whose scores are checked."""
    return comparisons[comparisons.both_checked.astype(bool)]


def _sections(
    of_suite: pd.DataFrame,
    runs: pd.DataFrame,
    chosen: Mapping[str, pd.DataFrame],
    comparisons: pd.DataFrame,
    suite: Mapping[str, Any],
    *,
    read: ReadOutcomes,
) -> list[dict[str, Any]]:
    """The encoders, a section for each experiment that has enough runs, worth against
    cost, slices of test, all runs.

    An experiment shows the systems of the newest training protocol that it has; `All
    runs` has the others too.
    """
    main = Experiment.load(MAIN)
    newest = candidates(of_suite, main)
    primary = comparisons[comparisons.purpose == MAIN]
    ranked, cards = compared(chosen[MAIN]), suite["encoders"]
    if suite["is_own"]:
        overviews, about_encoders = [encoders_table(of_suite)], ABOUT_OWN_ENCODERS
    else:
        overviews = [overview(ranked, primary, cards)] if len(cards) else []
        about_encoders = ""
    sections = [
        _section("encoders", "Encoders", newest, overviews, about=about_encoders)
    ]
    for name, selected in chosen.items():
        if len(selected):
            sections.append(_of_experiment(name, selected, of_suite, runs, comparisons))
    of_worth = worth(ranked[ranked.checked], _checked(primary), cards)
    sections.append(_section("worth", TITLE, newest, *of_worth))
    latest = of_newest_protocol(of_suite, of_suite)
    sections.append(
        _section("slices", "Slices of test", latest, slices(latest, runs, read))
    )
    groups = of_suite.groupby("basis", sort=False)
    tables = [all_runs(group, runs, comparisons) for _, group in groups]
    sections.append(_section("runs", "All runs", of_suite, tables))
    filled = [section for section in sections if section["tables"]]
    return [section | {"suite": suite["name"]} for section in filled]


def _section(
    name: str,
    title: str,
    in_section: pd.DataFrame,
    tables: Sequence[Table],
    figures: Sequence[Drawing] = (),
    *,
    about: str = "",
    command: str = "",
    spent: str = "",
) -> dict[str, Any]:
    """A row of `Leaderboard.sections`. in_section: systems, whose training protocols it
    names.

    name: its address on the page. about: empty if words.j2 has the text. command: makes
    its runs, which took `spent`.
    """
    protocols = sorted(set(in_section.protocol))
    word = "protocol" if len(protocols) == 1 else "protocols"
    return {
        "name": name,
        "title": title,
        "about": about,
        "tables": tables,
        "figures": figures,
        "protocol": f"{word} {' and '.join(map(str, protocols))}",
        "command": command,
        "spent": spent,
    }


def _of_experiment(
    name: str,
    selected: pd.DataFrame,
    of_suite: pd.DataFrame,
    runs: pd.DataFrame,
    comparisons: pd.DataFrame,
) -> dict[str, Any]:
    experiment = Experiment.load(name)
    suite = of_suite.suite.iloc[0]
    tested = comparisons[comparisons.purpose == name]
    is_swept = suite in choices("suite") and not _is_own_data(of_suite)
    return _section(
        name,
        experiment.caption,
        candidates(of_suite, experiment),
        layout_of(experiment).tables(selected, tested, experiment),
        figures_of(selected[selected.checked], _checked(tested), experiment),
        about=experiment.about,
        command=f"elmo-bench sweep experiment={name} suite={suite}" if is_swept else "",
        spent=spent(runs[runs.hash.isin(selected.hash)]),
    )
