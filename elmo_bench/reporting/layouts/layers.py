"""One layer at a time: the scores of every probe on each layer of each encoder, as a table and as a heat map."""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from elmo_bench.reporting.canvas import DARK, LIGHT, Drawing, bare, inches, label
from elmo_bench.reporting.controls import Controls, selectivity
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.statistics import Summary
from elmo_bench.reporting.table import SPREAD, Cell, Column, Line, Table, make_table, number, spread, words
from elmo_bench.spec.experiments import Experiment

Place = tuple[str, int | None]  # encoder, and its layer; None: an encoder that has no layers


@dataclass(frozen=True)
class Probe:
    """A row of the heat map: one figure of one task."""

    group: Group
    figure: str  # the metric, or selectivity
    scores: dict[Place, tuple[Row, Summary]]


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """The table and the heat map; none without two layers of an encoder."""
    found = probes(experiment, groups)
    every = places(experiment, found)
    if len([layer for _, layer in every if layer is not None]) < 2:
        return [], []
    return [_table(experiment, suite, found, every)], [_heat(experiment, suite, found, every)]


def probes(experiment: Experiment, groups: Sequence[Group]) -> list[Probe]:
    """For each task of the experiment its scores, and its selectivity if runs on control labels are known."""
    controls, found, tasks = Controls.of(groups), [], experiment.values("task")
    shown = [group for group in groups if group.task in tasks and not group.basis.fraction and not group.basis.labels]
    for group in sorted(shown, key=lambda group: tasks.index(group.task)):
        rows = {place: row for row in group.rows if (place := _place(experiment, row))}
        summaries = {place: (row, row.summary("test")) for place, row in rows.items()}
        selective = {place: (row, own) for place, row in rows.items() if (own := selectivity(row, controls))}
        found += [Probe(group, group.metric, summaries), Probe(group, "selectivity", selective)]
    return [probe for probe in found if probe.scores]


def places(experiment: Experiment, found: Sequence[Probe]) -> list[Place]:
    """Every encoder and layer: encoders without layers, then the experiment's encoders, then others."""
    order = [str(encoder) for encoder in experiment.values("encoder")]

    def rank(place: Place) -> tuple[bool, int, str, int]:
        encoder, layer = place
        return layer is not None, order.index(encoder) if encoder in order else len(order), encoder, layer or 0

    return sorted({place for probe in found for place in probe.scores}, key=rank)


def _place(experiment: Experiment, row: Row) -> Place | None:
    variant = experiment.variant_of(row.spec)
    if variant is not None:
        return row.encoder, variant.options[experiment.axis]
    layered = "encoder.contextual.kind" in row.spec.settings
    return None if layered or row.variation or row.other_vectors else (row.encoder, None)


def _table(experiment: Experiment, suite: str, found: Sequence[Probe], every: Sequence[Place]) -> Table:
    lines: list[Line] = []
    for place in every:
        encoder, layer = place
        line: Line = {Column("encoder", words=True): words(encoder), Column("layer"): number(layer, "d")}
        for probe in found:
            own = probe.scores.get(place)
            column = Column(f"{probe.group.name} {probe.figure}", SPREAD)
            line[column] = spread(own[1], run=own[0].anchor) if own else Cell("")
        lines.append(line)
    title = f"{experiment.caption}: test scores, suite {suite}"
    return make_table(f"{suite}-{experiment.name}", title, lines, tasks=[found[0].group.task] * len(lines))


def _heat(experiment: Experiment, suite: str, found: Sequence[Probe], every: Sequence[Place]) -> Drawing:
    """A row a probe, a column a layer; the colours of a row go from its lowest to its highest score."""
    colours, height = mpl.colormaps["Blues"], len(found)
    names = [f"{label(probe.group, ', ')}, {probe.figure}" for probe in found]
    left: dict[Place, float] = {}
    at = 0.0
    for before, place in zip([every[0], *every], every, strict=False):
        at += 0.4 if before[0] != place[0] else 0.0
        left[place] = at
        at += 1

    def paint(axes: Axes) -> None:
        for row, probe in enumerate(found):
            means = [summary.mean for _, summary in probe.scores.values()]
            low, wide = min(means), max(means) - min(means) or 1.0
            for place, (_, summary) in probe.scores.items():
                share, x, y = (summary.mean - low) / wide, left[place], height - 1 - row
                cell = Rectangle((x, y), 0.96, 0.92, linewidth=0.0, facecolor=colours(0.08 + 0.8 * share))
                axes.add_patch(cell)
                ink = LIGHT if share > 0.6 else DARK
                axes.text(x + 0.48, y + 0.46, f"{summary.mean:.1f}", ha="center", va="center", color=ink, fontsize=8.5)
        for encoder in dict.fromkeys(name for name, _ in every):
            axes.text(
                min(x for (name, _), x in left.items() if name == encoder), height + 0.1, encoder.replace(", ", "\n"),
                fontweight="bold", va="bottom", rotation=30, rotation_mode="anchor",
            )  # fmt: skip
        axes.set_xlim(0, at)
        axes.set_ylim(0, height + 0.1)
        axes.set_xticks([x + 0.48 for x in left.values()], ["–" if layer is None else str(layer) for _, layer in left])
        axes.set_yticks([height - 1 - row + 0.46 for row in range(height)], names)
        axes.set_xlabel("layer, 0 is the lowest")
        bare(axes)

    said = "; ".join(
        f"{name}: " + ", ".join(f"{_said(p)} {probe.scores[p][1].mean:.1f}" for p in every if p in probe.scores)
        for name, probe in zip(names, found, strict=True)
    )
    alt = f"Test scores by encoder and layer. {said}. Darker is higher within a row."
    above = 0.25 + 0.5 * inches(*(name for name, _ in every))
    size = (0.4 + inches(*names) + 0.5 * at + 0.4, 0.6 + above + 0.42 * height)
    return Drawing(f"{suite}-{experiment.name}", f"{experiment.caption}, suite {suite}", alt, paint, size=size)


def _said(place: Place) -> str:
    encoder, layer = place
    return encoder if layer is None else f"{encoder} layer {layer}"
