"""Tasks by encoders: scores, what they were trained on, and gains; table 1."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from elmo_bench.reporting.formats import (
    JUDGED,
    REDUCTION,
    gain_formats,
    judged,
    number,
    p_value,
    seeds,
    with_judgements,
    words,
)
from elmo_bench.reporting.names import BASELINE, beside_the_papers
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.selection import COMPARED, references, with_variants
from elmo_bench.reporting.significance import relative_reduction
from elmo_bench.reporting.tables import (
    Format,
    Table,
    make_table,
    table,
    wide,
    with_gains,
)
from elmo_bench.spec.experiments import MAIN, Experiment

CONTROLS = ("none", "random")  # what an encoder is checked with: in no main table
Pair = tuple[str, str]  # the names of two encoders: ours and theirs


def select(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The systems that compare encoders on all of the data, those that the experiment
    names first.

    Adds `name`: of the variant if it has an encoder of its own, else the encoder's. A
    group needs two of them unless the experiment is the main one.
    """
    table = with_variants(systems[systems.fraction == ""], experiment)
    names = []
    for variant, encoder in zip(table.variant, table.encoder_label, strict=True):
        names.append(variant.key if variant.encoder else encoder)
    table = table.assign(name=pd.Series(names, table.index, object))
    table = table.drop_duplicates(["basis", "name"], keep="last")
    least = 1 if experiment.name == MAIN else 2
    chosen = []
    for _, group in table.groupby("basis", sort=False):
        if len(group) >= least:
            chosen.append(
                group.sort_values(
                    "name", key=lambda column: column.map(experiment.position)
                )
            )
    return pd.concat(chosen) if chosen else table.iloc[:0]


def pairs(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Each encoder and its references, on each task.

    The differences that the main experiment names, over all tasks, are the primary
    family of tests, but for those that it puts into others; the rest is exploratory.
    """
    columns = ("family", "our_name", "their_name", "their_anchor", "over_baseline")
    if experiment.reference is None:
        return pairs_of([], *columns)
    rows = []
    named = (
        {variant.key for variant in experiment.variants}
        if experiment.name == MAIN
        else set()
    )
    for _, group in systems.groupby("basis", sort=False):
        rows_of_group = list(rows_of(group[[*COMPARED, "name"]]))
        for row in rows_of_group:
            for other in references(row, rows_of_group, experiment):
                family = "exploratory"
                if row.encoder_label in named:
                    family = experiment.family_of(row.name, other.name) or "primary"
                is_baseline = other.spec.encoder == BASELINE
                rows.append(
                    (
                        row.hash,
                        other.hash,
                        family,
                        row.name,
                        other.name,
                        other.anchor,
                        is_baseline,
                    )
                )
    return pairs_of(rows, *columns)


@table("encoders", select=select, pairs=pairs)
def encoders(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table of all scores and, if there is anything to compare, one of gains."""
    if systems.empty:
        return []
    names = sorted(set(systems.name), key=experiment.position)
    stem, title = _named(experiment, systems, "glance", "Test scores")
    tables = [make_table(stem, title, *scores(systems, comparisons, names))]
    if len(comparisons):
        tables.append(_gains(systems, comparisons, experiment))
    return tables


def scores(
    systems: pd.DataFrame, comparisons: pd.DataFrame, names: Sequence[str]
) -> tuple[pd.DataFrame, list[Format]]:
    """A row for each group, with the test score of each of these encoders, and the
    verdict over the baseline.
    """
    table = with_judgements(with_gains(systems, over_baseline(comparisons)))
    formats = [
        words("task", "heading", link=""),
        words("score", "metric_name", link=""),
    ]
    formats.extend(judged(name, prefix=f"{name} ") for name in names)
    return wide(table, "basis", "name", JUDGED), formats


def over_baseline(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The comparisons of each encoder with the baseline."""
    return comparisons[comparisons.over_baseline.astype(bool)].drop_duplicates(
        "ours", keep="last"
    )


def _named(
    experiment: Experiment, systems: pd.DataFrame, name: str, title: str
) -> tuple[str, str]:
    """The stem and the title of a table."""
    suite = systems.suite.iloc[0]
    title = f"{title}, suite {suite}"
    if experiment.name == MAIN:
        return f"{suite}-{name}", title
    return (
        f"{suite}-{experiment.name}-{name}",
        f"{experiment.caption}: {title[0].lower()}{title[1:]}",
    )


def _gains(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> Table:
    """A row for each test."""
    tests = with_gains(systems, comparisons)
    tests = tests[tests.gain.notna()]
    tests = tests.assign(**_papers_gains(tests, experiment))
    formats = [
        words("task", "heading"),
        words("encoder", "our_name"),
        words("over", "their_name", link="their_anchor"),
        words("family", "family"),
        seeds(),
        *gain_formats(""),
        p_value("p", "p"),
        number("± seeds", "se_seeds"),
        number("± items", "se_items"),
        number("df", "df", ".1f"),
        number("the paper's gain", "paper_gain", "+.2f", link="", hint="paper_data"),
        number(
            f"the paper's {REDUCTION}", "paper_reduction", ".1f", suffix=" %", link=""
        ),
    ]
    return make_table(
        *_named(experiment, systems, "gains", "Gains on test"), tests, formats
    )


def _papers_gains(tests: pd.DataFrame, experiment: Experiment) -> dict[str, list[Any]]:
    """The paper's gain of its encoder over its baseline, the relative error reduction,
    and on which data.
    """
    gains = []
    reductions = []
    data = []
    for row in rows_of(tests):
        is_papers = (row.our_name, row.their_name) == (experiment.encoder, BASELINE)
        paper = experiment.paper.get(row.task) if is_papers else None
        gains.append(paper.gain if paper else None)
        reductions.append(papers_reduction(experiment, row.task) if paper else None)
        data.append(
            beside_the_papers(row.task, row.suite, paper.scored) if paper else ""
        )
    return {"paper_gain": gains, "paper_reduction": reductions, "paper_data": data}


def papers_reduction(experiment: Experiment, task: str) -> float | None:
    """The relative error reduction of the paper's encoder over its baseline, in
    percent; None without its figures.
    """
    paper = experiment.paper.get(task)
    if paper is None:
        return None
    return relative_reduction(
        paper.figures[experiment.encoder].mean, paper.figures[BASELINE].mean
    )


def leading(experiment: Experiment, comparisons: pd.DataFrame) -> str:
    """The encoder that the page is about: the experiment's own or, without a run of it,
    the first of the others.
    """
    names = set(over_baseline(comparisons).our_name) or {experiment.encoder}
    return min(
        names,
        key=lambda name: (
            name != experiment.encoder,
            name in CONTROLS,
            experiment.position(name),
        ),
    )
