"""A table a task: the variants of an experiment, each compared with its reference on
dev.
"""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from elmo_bench.base.json import canonical
from elmo_bench.reporting.columns import LABELS
from elmo_bench.reporting.figures import (
    GRID,
    SURFACE,
    WIDTH,
    Drawing,
    figure,
    lanes,
    look,
)
from elmo_bench.reporting.formats import (
    gain_formats,
    number,
    paper_figures,
    score,
    seeds,
    signed,
    spread,
    words,
)
from elmo_bench.reporting.names import BASELINE
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.rows import lines_of, rows_of
from elmo_bench.reporting.selection import COMPARED, references, with_variants
from elmo_bench.reporting.significance import summarise
from elmo_bench.reporting.tables import Table, make_table, table, with_gains
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec

EXPLORATORY_ON_DEV = "Exploratory, and judged on dev, as the paper's ablations are."
# Of a figure: nobody reads more, and each takes a hundredth of a second to draw.
MOST_LANES = 60


def select(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The variants of each group that has enough of them, in order, other encoders
    last.

    Adds `line`, the name of the row, `reference`, the hash of the system to compare
    with (empty without one), and the columns of selectivity.
    """
    table = with_variants(systems, experiment)
    chosen = [
        _of_group(group, experiment) for _, group in table.groupby("basis", sort=False)
    ]
    filled = [group for group in chosen if len(group)]
    if not filled:
        return systems.iloc[:0]
    return with_selectivity(pd.concat(filled), systems)


def _of_group(group: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """An encoder needs `least` variants, counting those that have an encoder of their
    own; rows of these are shown if any encoder has enough. At least one row of the
    table needs a reference.
    """
    if len(group) < 2:
        return group.iloc[:0]
    is_fixed = pd.Series(
        [variant.encoder is not None for variant in group.variant], group.index, bool
    )
    keys = pd.Series([variant.key for variant in group.variant], group.index, object)
    fixed = set(keys[is_fixed])
    enough = set()
    for encoder, of_encoder in keys.groupby(group.encoder_label):
        if len(set(of_encoder) | fixed) >= experiment.least:
            enough.add(encoder)
    group = group[group.encoder_label.isin(enough) | (is_fixed & bool(enough))]
    rows = list(rows_of(group[COMPARED]))
    compared_with = [references(row, rows, experiment) for row in rows]
    group = group.assign(
        reference=[others[0].hash if others else "" for others in compared_with]
    )
    if not any(compared_with):
        return group.iloc[:0]
    group["_encoder"] = group.encoder_label.where(~group.alone, "")
    several = not group.alone.all()
    group["line"] = [_name(row, several) for row in rows]
    return group.sort_values(["_encoder", "row_order"], kind="stable")


def _name(row: Any, several: bool) -> str:
    """The row's name, with its encoder if the table has several in one position, and
    other changes.
    """
    name = ", ".join([row.variant.name, *row.rest])
    return (
        f"{row.encoder_label}: {name}"
        if several and row.variant.encoder is None
        else name
    )


def pairs(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Each variant and its reference, of all tasks."""
    compared = systems[systems.reference != ""] if len(systems) else systems
    return pairs_of([(row.hash, row.reference) for row in rows_of(compared)])


@table("variants", select=select, pairs=pairs, split="dev")
def variants(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table for each group. The tests of all tables are one family."""
    tables = []
    over = experiment.over or str(experiment.reference)
    for _, rows in with_gains(systems, comparisons).groupby("basis", sort=False):
        first = rows.iloc[0]
        group, printed = paper_figures(
            rows, experiment.paper.get(first.task), _papers_keys(rows)
        )
        formats = [
            words(experiment.heading, "line"),
            score("dev", first.metric_name),
            score("test", first.metric_name),
            seeds(),
            spread("selectivity", "selectivity", count="selectivity_n"),
            *gain_formats(over, split="dev"),
            number("test gain", "test_gain", "+.2f"),
            *printed,
        ]
        notes = [EXPLORATORY_ON_DEV]
        if experiment.axis:
            notes.extend(_at_best(group))
        title = f"{experiment.caption}: {first.heading}, suite {first.suite}"
        tables.append(
            make_table(
                f"{first.stem}-{experiment.name}", title, group, formats, notes=notes
            )
        )
    return tables


def _papers_keys(group: pd.DataFrame) -> list[str]:
    """The variant in the paper's table that each row is; empty for other encoders."""
    return [row.variant.key if row.alone else "" for row in rows_of(group)]


def _at_best(group: pd.DataFrame) -> list[str]:
    """What each encoder gains over the baseline, both with the best of their variants:
    a sentence each.
    """
    best = group.sort_values("dev_mean", kind="stable").drop_duplicates(
        "encoder_label", keep="last"
    )
    best = best.set_index("encoder_label").sort_index()
    if BASELINE not in best.index:
        return []
    baseline = best.loc[BASELINE]
    sentences = []
    for name, row in best.drop(BASELINE).iterrows():
        gain = signed(row.dev_mean - baseline.dev_mean)
        sentences.append(
            f"Each at its best on dev: {name} (at {row.variant.name}) is {gain} "
            f"over {BASELINE} (at {baseline.variant.name})."
        )
    return sentences


def with_selectivity(systems: pd.DataFrame, everything: pd.DataFrame) -> pd.DataFrame:
    """Adds the mean, deviation and number of `selectivity`: a probe's score on true
    labels less that on control labels.

    It is on test, over the seeds that both runs have, and missing for runs on control
    labels, and without a control or a common seed. Source: Hewitt and Liang (2019),
    Designing and interpreting probes with control tasks.
    """
    columns = ["spec", "labels", "seeds", "test_scores"]
    control_runs = everything.loc[everything.labels != "", columns]
    controls = {_without_labels(row.spec): row for row in rows_of(control_runs)}
    means = []
    deviations = []
    counts = []
    for row in rows_of(systems[columns]):
        control = None if row.labels else controls.get(_without_labels(row.spec))
        differences = _differences(row, control) if control else []
        summary = summarise(differences) if differences else None
        means.append(summary.mean if summary else None)
        deviations.append(summary.sd if summary else None)
        counts.append(summary.n if summary else None)
    return systems.assign(
        selectivity_mean=pd.Series(means, systems.index, float),
        selectivity_sd=pd.Series(deviations, systems.index, float),
        selectivity_n=pd.Series(counts, systems.index, "Int64"),
    )


def _differences(ours: Any, theirs: Any) -> list[float]:
    """Our test score less theirs, of each common seed."""
    other = dict(zip(theirs.seeds, theirs.test_scores, strict=True))
    scores = zip(ours.seeds, ours.test_scores, strict=True)
    return [score - other[seed] for seed, score in scores if seed in other]


def _without_labels(spec: RunSpec) -> str:
    """Equal for a run and its control."""
    settings = {
        option: value for option, value in spec.settings.items() if option != LABELS
    }
    contents = {
        name: value for name, value in (spec.contents or {}).items() if name != "data"
    }
    return canonical(
        [spec.suite, spec.task, spec.encoder, spec.size, settings, contents]
    )


@figure("variants")
def draw(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Drawing]:
    """Differences from the reference on dev, by task: a dot is a mean, and a small one
    a seed.

    The band is one standard deviation of the reference's seeds. Gains that are not
    converged are not drawn.
    """
    gains = with_gains(systems, comparisons)
    gains = gains[gains.both_converged.eq(True)] if len(gains) else gains
    if gains.empty:
        return []
    suite = gains.suite.iloc[0]
    over = experiment.over or str(experiment.reference)
    prefix = "" if experiment.heading == "variant" else f"{experiment.heading} "
    lines = lines_of(gains.assign(line=prefix + gains.line))
    message = f"{experiment.caption}: {_headline(lines, over)}"
    title = f"{experiment.caption}: differences from {over} on dev, suite {suite}"
    if len(lines) > MOST_LANES:
        title = f"{title}, the {MOST_LANES} largest of {len(lines)}"
        lines = _largest(lines)
    differences = [
        f"{line['title']}, {line['line']}: {signed(line['gain'])} "
        f"({line['conclusion']})"
        for line in lines
    ]
    tasks = {line["title"] for line in lines}
    high = 1.6 + 0.36 * (len(lines) + len(tasks))
    return [
        Drawing(
            f"{suite}-{experiment.name}",
            title,
            f"{message}. {'; '.join(differences)}.",
            lambda axes, phone: _paint(axes, lines, over, phone=phone),
            message=message,
            size=(WIDTH, high),
            phone_size=(6.4, high + 0.6),
        )
    ]


def _largest(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines with the MOST_LANES largest differences, in their order."""
    by_size = sorted(
        range(len(lines)), key=lambda place: abs(lines[place]["gain"]), reverse=True
    )
    return [lines[place] for place in sorted(by_size[:MOST_LANES])]


def _headline(lines: list[dict[str, Any]], over: str) -> str:
    """How many differences hold, and which is the largest."""
    tested = [line for line in lines if line["verdict"]]
    holding = [line for line in tested if line["verdict"] != "tie"]
    largest = max(lines, key=lambda line: abs(line["gain"]))
    size = (
        f"the largest is {signed(largest['gain'], 1)} points "
        f"({largest['line']}; {largest['title']})"
    )
    if not tested:
        return size
    return (
        f"{len(holding) or 'none'} of {len(tested)} differences from {over} "
        f"held on dev; {size}"
    )


def _paint(axes: Axes, lines: list[dict[str, Any]], over: str, *, phone: bool) -> None:
    """A lane for each line, below a lane with the name of its task."""
    rows: list[tuple[str, dict[str, Any] | None]] = []
    for title in dict.fromkeys(line["title"] for line in lines):
        rows.append((title, None))
        rows.extend((line["line"], line) for line in lines if line["title"] == title)
    lanes(axes, [name for name, _ in rows])
    looks = look(line["encoder_label"] for line in lines)
    for lane, (_, line) in enumerate(rows):
        if line is not None:
            _paint_line(axes, lane, line, *looks[line["encoder_label"]])
    for tick, (_, line) in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if line is None else "normal")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    between = "\n" if phone else " "
    below = (
        f"grey: ± one standard deviation of its seeds;{between}"
        "hollow: a tie or not tested"
    )
    # Aligned right: where names are long, it is wider than the axes.
    axes.set_xlabel(
        f"points from {over} on dev\n{below}", loc="right", multialignment="right"
    )


def _paint_line(
    axes: Axes, lane: int, line: dict[str, Any], colour: str, marker: str
) -> None:
    reference = summarise(line["their_scores"])
    band = reference.sd or 0
    axes.fill_betweenx((lane - 0.5, lane + 0.5), -band, band, color=GRID, linewidth=0)
    for seed_score in line["our_scores"]:
        axes.plot(
            seed_score - reference.mean,
            lane,
            "o",
            color=colour,
            markersize=3.5,
            alpha=0.55,
        )
    face = SURFACE if line["verdict"] in ("tie", "") else colour
    axes.plot(
        line["gain"],
        lane,
        marker,
        color=colour,
        markerfacecolor=face,
        markeredgewidth=1.6,
        markersize=10,
    )
