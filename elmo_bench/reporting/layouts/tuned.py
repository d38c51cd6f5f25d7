"""A table a task: encoders frozen and tuned, each tuned one over the same encoder
frozen, with what a run takes; and a figure of both."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from elmo_bench.ledger.costs import file_name_of
from elmo_bench.reporting.charts import ABOVE_NAMES, BARS, log_ticks, name_points
from elmo_bench.reporting.figures import SURFACE, WIDTH, Drawing, figure, look
from elmo_bench.reporting.formats import (
    gain_formats,
    number,
    score,
    seeds,
    words,
)
from elmo_bench.reporting.layouts.variants import pairs, select
from elmo_bench.reporting.published import of_processors
from elmo_bench.reporting.rows import lines_of
from elmo_bench.reporting.tables import Table, make_table, present, table, with_gains
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.tuning import TRIED_RATES, TUNE, TUNED_RATE

NOTE = (
    "Exploratory, and judged on test. Dev chooses the learning rate of a tuned encoder "
    "from three; the head's rate and the epochs are those of the frozen runs. Minutes "
    "are of processor time, on a GPU of wall time; a frozen encoder's omit reading the "
    "text if an earlier run stored its layers."
)


@table("tuned", select=select, pairs=pairs, split="test")
def tuned(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table for each group. The tests of all tables are one family."""
    tables = []
    gains = with_gains(systems, comparisons)
    rates = [str(spec.settings.get(TUNED_RATE, "")) for spec in gains.spec]
    for _, rows in gains.assign(rate=rates).groupby("basis", sort=False):
        first = rows.iloc[0]
        formats = [
            words(experiment.heading, "line"),
            score("dev", first.metric_name),
            score("test", first.metric_name),
            seeds(),
            *gain_formats(experiment.over),
            words("learning rate of the encoder", "rate"),
            number("trainable", "trainable", ","),
            number("minutes a run", "work_minutes", ".1f"),
        ]
        title = f"{experiment.caption}: {first.heading}, suite {first.suite}"
        stem = f"{first.stem}-{experiment.name}"
        made_on = zip(rows["line"], rows.processors, strict=True)
        notes = [f"{NOTE} {of_processors(made_on)}", *_at_the_end_of_the_tried(rows)]
        tables.append(make_table(stem, title, rows, formats, notes=notes))
    return tables


def _at_the_end_of_the_tried(rows: pd.DataFrame) -> list[str]:
    """A note on each tuned encoder whose rate is the lowest or highest tried."""
    notes = []
    for line in filter(_is_tuned, lines_of(rows)):
        settings = line["spec"].settings
        lowest, *_, highest = TRIED_RATES[settings[TUNE]]
        for end, name in ((lowest, "lowest"), (highest, "highest")):
            if settings.get(TUNED_RATE) == end:
                notes.append(
                    f"{line['line']}: its rate is the {name} of those tried, so one "
                    "beyond them might be better."
                )
    return notes


@figure("tuned")
def draw(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Drawing]:
    """Test scores by minutes of processor time, for each group and each device.

    Minutes of two devices are not comparable, so runs on each model of GPU have a
    figure of their own. A logarithmic axis has no place for zero minutes.
    """
    if systems.empty:
        return []
    figures = []
    table_ = with_gains(systems, comparisons)
    for (_, device), rows in table_.groupby(["basis", "device"], sort=False):
        lines = lines_of(rows[rows.work_minutes > 0])
        if any(map(_is_tuned, lines)) and len(lines) > 1:
            figures.append(_against_minutes(lines, str(device), experiment))
    return figures


def _is_tuned(line: dict[str, Any]) -> bool:
    return line["spec"].settings.get(TUNE) in TRIED_RATES


def _against_minutes(
    lines: list[dict[str, Any]], device: str, experiment: Experiment
) -> Drawing:
    first = lines[0]
    on_gpu = device != "cpu"
    along = f"minutes on {device} a run" if on_gpu else "core-minutes a run"
    up = f"test {first['metric_name']}"
    stem = f"{first['stem']}-{experiment.name}"
    title = f"{experiment.caption}: {first['heading']}, suite {first['suite']}"
    message = f"{first['title']}: {_message(lines, on_gpu=on_gpu)}"
    descriptions = [
        f"{line['line']}: {line['test_mean']:.2f} at {line['work_minutes']:.1f}"
        for line in lines
    ]

    def paint(axes: Axes, phone: bool) -> None:
        _paint(axes, lines)
        axes.set(xlabel=along, ylabel=f"{up}\n(bars: {BARS})")

    return Drawing(
        f"{stem}-{file_name_of(device) if on_gpu else 'minutes'}",
        title,
        f"{message}. {up} by {along}. {'; '.join(descriptions)}.",
        paint,
        message=message,
        size=(WIDTH, 5.4),
        phone_size=(6.4, 5.4),
        task=first["task"],
    )


def _message(lines: list[dict[str, Any]], *, on_gpu: bool) -> str:
    """What the best tuned encoder gains over itself frozen, and how much longer it
    takes, if the minutes of both are on one kind of processor.

    on_gpu: the minutes are those of the seeds on one model of GPU.
    """
    of_tuned = [line for line in lines if _is_tuned(line)]
    best = max(of_tuned, key=lambda line: line["test_mean"])
    gain = present(best.get("gain"))
    frozen = [line for line in lines if line["hash"] == best["reference"]]
    if gain is None or not frozen:
        return "test scores of frozen and tuned encoders"
    side = "below" if round(gain, 1) < 0 else "above"
    message = (
        f"{best['line']}, is {abs(gain):.1f} points {side} frozen "
        f"({best['conclusion']})"
    )
    processors = {*best["processors"], *frozen[0]["processors"]}
    if on_gpu or len(processors) == 1:
        times = best["work_minutes"] / frozen[0]["work_minutes"]
        return f"{message} and takes {times:.1f} times as long"
    return (
        f"{message}; it takes {best['work_minutes']:.0f} core-minutes, frozen "
        f"{frozen[0]['work_minutes']:.0f} on other processors"
    )


def _paint(axes: Axes, lines: list[dict[str, Any]]) -> None:
    """A mark for each row, hollow for a tuned one; a line from frozen to tuned."""
    looks = look(line["spec"].encoder for line in lines)
    by_hash = {line["hash"]: line for line in lines}
    names = []
    for line in lines:
        colour, marker = looks[line["spec"].encoder]
        x, y = line["work_minutes"], line["test_mean"]
        frozen = by_hash.get(line["reference"])
        if frozen:
            start = frozen["work_minutes"], frozen["test_mean"]
            axes.plot((start[0], x), (start[1], y), ":", color=colour, linewidth=1)
        face = SURFACE if _is_tuned(line) else colour
        axes.errorbar(
            x,
            y,
            yerr=present(line["test_sd"]),
            color=colour,
            marker=marker,
            markerfacecolor=face,
            capsize=3,
            elinewidth=1.3,
            zorder=ABOVE_NAMES,
        )
        name = f"{line['line']} {line['mark']}".rstrip()
        names.append((x, y, name, colour))
    axes.set_xscale("log")
    minutes = [line["work_minutes"] for line in lines]
    ticks = log_ticks(min(minutes), max(minutes))
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    name_points(axes, names)
