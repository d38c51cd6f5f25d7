"""Encoders on a suite: what each is, its rank over tasks, gains and cost; a table of
all, and worth against cost.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from math import nan
from typing import Any

import pandas as pd

from elmo_bench.ledger.costs import EncoderCost
from elmo_bench.reporting.cards import about, card, licence, trained_on
from elmo_bench.reporting.costs import SPEED, cost_columns, costs_of, rate
from elmo_bench.reporting.formats import (
    JUDGED,
    joined,
    judged,
    number,
    with_judgements,
    words,
)
from elmo_bench.reporting.layouts.encoders import leading, over_baseline
from elmo_bench.reporting.names import SEEN, in_sentence, task_report, task_title
from elmo_bench.reporting.pairs import all_pairs, pairs_of
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import (
    SEEN_PART,
    Format,
    Line,
    Table,
    make_table,
    present,
    wide,
    with_gains,
)
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec

RANKED = (
    "mean rank: over the tasks ({}), among the encoders that are converged on each of "
    "them; 1 is best. "
    "In brackets its 95 % interval, from the tests of all pairs on all tasks (Holm)."
)
UNRANKED = " No rank, since not converged on each of these tasks: {}."


def compared(systems: pd.DataFrame) -> pd.DataFrame:
    """The systems of the main experiment whose group has two or more of them."""
    return systems[systems.groupby("basis").hash.transform("size") > 1]


def rank_pairs(
    systems: pd.DataFrame, comparisons: pd.DataFrame, main: Experiment
) -> pd.DataFrame:
    """What is tested for the ranks: every pair of the encoders that are converged on
    all ranked tasks, on each task.

    These are the tasks with a converged run of the encoder that the page is about or,
    without one, all.
    """
    if systems.empty:
        return pairs_of([], "task", "our_name", "their_name")
    first = _first_groups(systems)
    converged = first[first["mark"] == ""]
    tasks = set(converged[converged.name == leading(main, comparisons)].task) or set(
        first.task
    )
    ranked = converged[converged.task.isin(tasks)]
    counts = ranked.groupby("name").task.nunique()
    everywhere = counts[counts == len(tasks)].index
    return all_pairs(ranked[ranked.name.isin(everywhere)], "name")


def _first_groups(systems: pd.DataFrame) -> pd.DataFrame:
    """Of several groups of a task the first, which has most systems."""
    first = systems.groupby("task").basis.transform("first")
    return systems[systems.basis == first]


def encoders(
    systems: pd.DataFrame,
    ranks: pd.DataFrame,
    costs: Iterable[EncoderCost],
    main: Experiment,
) -> pd.DataFrame:
    """A row for each encoder, best mean rank first, then those without a rank.

    Columns: `name`; `about`, what it is, in a sentence (empty if its yaml does not say
    so); `card`, its model card, a path in the repository (empty if none ships);
    `licence` of its weights; `trained_on`, examples of which tasks they saw;
    `anchor`, its address on a page; mean, low and high of its rank; `rank_seen`, ‡ if
    its weights saw examples of a ranked task, else ""; `cost`, the measurement, if
    there is one of every system of it; and the columns of `cost_columns`.
    """
    measured = costs_of(systems, costs)
    rows = []
    for name, of_encoder in systems.groupby("name", sort=False):
        spec = _first_groups(of_encoder).spec.iloc[0]
        of_systems = [measured.get(run_hash) for run_hash in of_encoder.hash]
        row: dict[str, Any] = {"name": name, "about": about(spec), "card": card(spec)}
        row["licence"] = licence(spec)
        row["trained_on"] = _examples_seen(spec)
        row["anchor"] = "encoder-" + "-".join(re.findall(r"[\w.]+", str(name)))
        row["cost"] = of_systems[0] if all(of_systems) else None
        row |= (
            ranks.loc[name].to_dict()
            if name in ranks.index
            else {"mean": nan, "low": nan, "high": nan}
        )
        rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    is_seen = systems.basis.isin(_ranked_bases(systems, table)) & systems.seen.ne("")
    is_marked = table["mean"].notna() & table.name.isin(systems[is_seen].name)
    table["rank_seen"] = is_marked.map({True: SEEN, False: ""})
    table["_position"] = table.name.map(main.position)
    table = table.sort_values(
        ["mean", "low", "high", "_position"], ignore_index=True
    ).drop(columns="_position")
    return pd.concat([table, cost_columns(table.cost.tolist())], axis=1)


def _examples_seen(spec: RunSpec) -> str:
    """The task in words and the data, such as `parsing (a treebank)`."""
    return ", ".join(
        f"{in_sentence(task_title(task))} ({data})"
        for task, data in trained_on(spec).items()
    )


def with_verdicts(systems: pd.DataFrame, comparisons: pd.DataFrame) -> pd.DataFrame:
    """The systems with their gain over the baseline, and how a table shows it."""
    return with_judgements(with_gains(systems, over_baseline(comparisons)))


def overview(
    systems: pd.DataFrame, comparisons: pd.DataFrame, encoders: pd.DataFrame
) -> Table:
    """Encoders by tasks: test scores with their verdicts over the baseline, mean ranks,
    and speed; then, on pages alone, chance.
    """
    suite = systems.suite.iloc[0]
    groups = _groups_by_breadth(systems, list(encoders.name))
    scores = wide(with_verdicts(systems, comparisons), "name", "heading", JUDGED)
    scored = [" ".join(pair) for pair in product(groups.heading, JUDGED)]
    frame = (
        encoders.drop(columns="anchor")
        .merge(scores[["name", *scored]], on="name", how="left")
        .astype(object)
    )
    ranked = groups[groups.basis.isin(_ranked_bases(systems, encoders))]
    rank_parts = {"mean": "mean", "low": "low", "high": "high", SEEN_PART: "rank_seen"}
    formats = [words("encoder", "name"), Format("mean rank", rank_text, rank_parts)]
    formats.extend(_judged_or_chance(heading) for heading in groups.heading)
    formats.append(rate(SPEED))
    notes = _ranking_note(ranked, encoders)
    title = f"Encoders by tasks, suite {suite}: test scores"
    table = make_table(f"{suite}-encoders", title, frame, formats, notes=notes)
    guessed = groups[groups.chance.notna()]
    if guessed.empty:
        return table
    chances = {f"{group.heading} chance": group.chance for group in rows_of(guessed)}
    line = pd.DataFrame([{"name": "chance", **chances}], dtype=object)
    with_chance = pd.concat([frame, line], ignore_index=True)
    answers = [f"{group.task_title}: {group.chance_of}" for group in rows_of(guessed)]
    notes.append(f"chance: {'; '.join(answers)}.")
    page = make_table(table.stem, title, with_chance, formats, notes=notes)
    return replace(page, in_files=table)


def _groups_by_breadth(systems: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """A row for each group, with what chance scores there; groups of the encoder with
    most tasks come first.

    names: of the encoders, in order.
    """
    breadth = systems.groupby("name").size()
    table = systems.assign(
        _breadth=-systems.name.map(breadth), _position=systems.name.map(names.index)
    )
    table = table.sort_values(["_breadth", "_position"], kind="stable").drop_duplicates(
        "basis"
    )
    chances = [chance_of(row) for row in rows_of(table)]
    return table.assign(
        task_title=[task_title(task) for task in table.task],
        chance=pd.Series([score for score, _ in chances], table.index, float),
        chance_of=[answer for _, answer in chances],
    )


def chance_of(system: Any) -> tuple[float | None, str]:
    """The test score without reading, and what it is of; None if it is not known.

    By the task's `report.chance`, else of the most frequent gold label, else 0 of a
    figure that no answer gets.
    """
    report = task_report(system.task)
    if "chance" in report:
        score, answer = report["chance"]
        return score, answer
    if system.measure == "accuracy":
        by_type = system.scores.test.by_type
        gold = {name: int(counts.get("gold", 0)) for name, counts in by_type.items()}
        if not sum(gold.values()):
            return None, ""
        top = max(gold, key=gold.__getitem__)
        return 100 * gold[top] / sum(gold.values()), f"always “{top}”"
    return (0.0, "no answer") if system.measure.endswith("f1") else (None, "")


def rank_text(line: Line) -> str:
    """A mean rank with ‡, if its encoder has it, and interval; "" without a rank."""
    if present(line.get("mean")) is None:
        return ""
    interval = f"({line['low']:.2f} to {line['high']:.2f})"
    return joined(f"{line['mean']:.2f}", line["rank_seen"], interval)


def _judged_or_chance(heading: str) -> Format:
    """A score; in the last line of the table what chance scores."""
    score = judged(heading, prefix=f"{heading} ")
    chance = number("", f"{heading} chance")

    def text(line: Line) -> str:
        return score.text(line) or chance.text(line)

    parts = {**score.parts, **chance.parts}
    return Format(
        heading, text, parts, score.link, hint=score.hint, verdict=score.verdict
    )


def _ranked_bases(systems: pd.DataFrame, encoders: pd.DataFrame) -> list[str]:
    """The groups that the ranks are means over; none if no encoder has a rank."""
    ranked = set(encoders[encoders["mean"].notna()].name)
    if not ranked:
        return []
    first = _first_groups(systems)
    converged = first[first["mark"] == ""]
    names = converged.groupby("basis").name.agg(set)
    return [basis for basis, of_basis in names.items() if ranked <= of_basis]


def _ranking_note(ranked: pd.DataFrame, encoders: pd.DataFrame) -> list[str]:
    """On which tasks the ranks are, and which encoders have none.

    ranked: the groups that the ranks are means over.
    """
    if ranked.empty:
        return []
    has_rank = encoders["mean"].notna()
    note = RANKED.format(", ".join(dict.fromkeys(ranked.task_title)))
    if not has_rank.all():
        note += UNRANKED.format(", ".join(encoders[~has_rank].name))
    return [note]
