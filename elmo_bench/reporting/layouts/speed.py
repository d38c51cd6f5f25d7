"""Learning curves by training step."""

from typing import Any

import pandas as pd

from elmo_bench.reporting.charts import chart
from elmo_bench.reporting.figures import Drawing, figure
from elmo_bench.reporting.formats import number, signed, with_minus, words
from elmo_bench.reporting.names import BASELINE
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.selection import with_variants
from elmo_bench.reporting.tables import Format, Line, Table, make_table, present, table
from elmo_bench.spec.experiments import Experiment

SOON = (
    f"Gains are of dev scores over {BASELINE}, without verdicts: "
    "the question is how soon, not how much."
)
EPOCHS = [2**k for k in range(12)]  # after which gains are shown, and at the end
STEPS = "training steps"


def select(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The encoders on all of the data, the baseline first. Adds `best_curve`, see
    `curve_of`.
    """
    table = with_variants(systems[systems.fraction == ""], experiment)
    table = table.drop_duplicates(["basis", "encoder_label"], keep="last")
    groups = []
    for _, group in table.groupby("basis", sort=False):
        groups.append(
            group.sort_values(
                "encoder_label", key=lambda names: names.map(experiment.position)
            )
        )
    chosen = pd.concat(groups) if groups else table
    curves = [curve_of(row) for row in rows_of(chosen[["seed_curves", "seed_steps"]])]
    return chosen.assign(best_curve=pd.Series(curves, chosen.index, dtype=object))


def _compared(systems: pd.DataFrame) -> list[pd.DataFrame]:
    """The groups that have the baseline and another encoder."""
    groups = [group for _, group in systems.groupby("basis", sort=False)]
    return [
        group
        for group in groups
        if BASELINE in set(group.encoder_label) and len(group) > 1
    ]


@table("speed", select=select)
def speed(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table of gains over the baseline on dev, at equal steps: after 1, 2, 4, … of
    its epochs, and at the end.
    """
    lines = []
    for group in _compared(systems):
        baseline = group[group.encoder_label == BASELINE].iloc[0]
        steps = _longest(baseline)
        for name, leads in _leads(group).items():
            row = group[group.encoder_label == name].iloc[0]
            line = {
                "anchor": row.anchor,
                "task": row.task,
                "heading": row.heading,
                "encoder_label": name,
            }
            for epoch in EPOCHS:
                if epoch <= len(steps):
                    line[f"epoch {epoch}"] = leads.asof(steps[epoch - 1])
            if row.n != baseline.n:
                line["both_seeds"] = f"{row.n} and {baseline.n}"
            line |= {"end": leads.iloc[-1], "mark": row["mark"] or baseline["mark"]}
            line["most"], line["most_epoch"] = _most(leads, steps)
            lines.append(line)
    if not lines:
        return []
    formats = [words("task", "heading"), words("encoder", "encoder_label")]
    formats.extend(
        number(f"epoch {epoch}", f"epoch {epoch}", "+.2f") for epoch in EPOCHS
    )
    formats.append(Format("end", _end, {"": "end"}))
    formats.append(number("most", "most", "+.2f"))
    formats.append(number("after epoch", "most_epoch", "d"))
    formats.append(words("n of the two", "both_seeds"))
    suite = systems.suite.iloc[0]
    title = (
        f"{experiment.caption}: gains over {BASELINE} on dev at equal steps, "
        f"suite {suite}"
    )
    return [
        make_table(
            f"{suite}-{experiment.name}",
            title,
            pd.DataFrame(lines),
            formats,
            notes=[SOON],
        )
    ]


def _most(leads: pd.Series, steps: pd.Series) -> tuple[float, int]:
    """The largest lead, and after which of the baseline's epochs it is.

    steps: of the baseline, those that were done after each epoch.
    """
    most = leads.idxmax()
    return leads[most], max(1, int((steps <= most).sum()))


def _end(line: Line) -> str:
    gain = present(line["end"])
    return "" if gain is None else with_minus(f"{gain:+.2f} {line['mark']}".rstrip())


def _steps(system: Any) -> list[pd.Series]:
    """Of each seed, the steps that were done after each epoch."""
    return [pd.Series(steps).cumsum() for steps in system.seed_steps]


def _longest(system: Any) -> pd.Series:
    """The steps that were done after each epoch, of the seed with most epochs."""
    return max(_steps(system), key=len)


def curve_of(system: Any) -> pd.Series:
    """The best dev score so far by training step, the mean over seeds, from where every
    seed has a score.

    A seed that has ended keeps its score.
    """
    seeds = []
    for scores, steps in zip(system.seed_curves, _steps(system), strict=True):
        seeds.append(pd.Series(scores, index=steps).cummax())
    return pd.concat(seeds, axis=1).sort_index().ffill().dropna().mean(axis=1)


def _curves(group: pd.DataFrame) -> dict[str, pd.Series]:
    return dict(zip(group.encoder_label, group.best_curve, strict=True))


def _leads(group: pd.DataFrame) -> dict[str, pd.Series]:
    """How far each encoder is ahead of the baseline by training step."""
    both = pd.concat(_curves(group), axis=1).sort_index().ffill()
    names = [name for name in group.encoder_label if name != BASELINE]
    return {name: (both[name] - both[BASELINE]).dropna() for name in names}


@figure("speed")
def draw(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Drawing]:
    """A figure of the dev scores of each task."""
    figures = []
    for group in _compared(systems):
        first = group.iloc[0]
        points = pd.concat(_curves(group), names=["encoder", STEPS])
        points = points.rename(f"best dev {first.metric_name} so far").reset_index()
        title = f"{experiment.caption}: {first.heading}, suite {first.suite}"
        stem = f"{first.stem}-{experiment.name}"
        message = f"{first.title}: {_message(group, experiment)}"
        figures.append(
            chart(stem, title, points, message=message, steps=True, task=first.task)
        )
    return figures


def _message(group: pd.DataFrame, experiment: Experiment) -> str:
    """How far an encoder, the experiment's or else the last, is ahead of the baseline
    at most and at the end.
    """
    leads = _leads(group)
    name = (
        experiment.encoder
        if experiment.encoder in leads
        else max(leads, key=experiment.position)
    )
    lead = leads[name]
    end = lead.iloc[-1]
    baseline = group[group.encoder_label == BASELINE].iloc[0]
    most, epoch = _most(lead, _longest(baseline))
    if most <= max(end, 0):
        return (
            f"{name} is never further ahead of {BASELINE} than at the end, "
            f"{signed(end, 1)} points"
        )
    last = f"{end:.1f}" if end >= 0 else f"{-end:.1f} behind"
    return (
        f"{name} is {most:.1f} points ahead of {BASELINE} after epoch {epoch}, "
        f"{last} at the end"
    )
