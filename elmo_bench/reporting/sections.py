"""The sections of one suite: an experiment each, then all runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from elmo_bench.reporting.figures import Drawing, efficiency, gains_figure, layer_figures, learning_curves, line_figure
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import encoders, fractions, runs, variants, weights
from elmo_bench.reporting.table import Table
from elmo_bench.spec.experiments import Experiment, experiments

Made = tuple[list[Table], list[Drawing]]


@dataclass(frozen=True)
class Section:
    """Tables and figures that belong together; `name` is its address on the page."""

    name: str
    title: str
    about: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Drawing] = field(default_factory=list)
    legend: bool = False  # whether its first table needs the legend of the verdicts


def sections(suite: str, groups: Sequence[Group], gain: Gains) -> list[Section]:
    """A section for each experiment that has enough runs, then all runs."""
    shown = [experiment for experiment in map(Experiment.load, experiments()) if experiment.caption]
    found = []
    for experiment in shown:
        tables, figures = _MAKERS[experiment.layout](experiment, suite, groups, gain)
        if tables:
            legend = experiment.layout == "encoders"
            found.append(Section(experiment.name, experiment.caption, experiment.about, tables, figures, legend))
    return [*found, Section("runs", "All runs", runs.ABOUT, runs.tables(groups, gain))]


def _encoders(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    picked = encoders.picked(experiment, groups, gain)
    drawn = gains_figure(experiment, suite, [(table.group, table.gains) for table in picked])
    return encoders.tables(experiment, suite, picked), [drawn] if drawn else []


def _variants(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    picked = [(group, rows) for group in groups if (rows := variants.rows(experiment, group))]
    drawn = [line_figure(experiment, group, rows) for group, rows in picked] if experiment.layout == "line" else []
    return variants.tables(experiment, suite, picked, gain), drawn


def _fractions(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    families = fractions.families(experiment, groups)
    drawn = efficiency(suite, families)
    figures = [*(learning_curves(experiment, family) for family in families), *([drawn] if drawn else [])]
    return fractions.tables(experiment, families, gain), figures


def _weights(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    mixes = weights.learned(groups)
    return weights.tables(experiment, suite, mixes), layer_figures(experiment.name, suite, mixes)


_MAKERS = {
    "encoders": _encoders,
    "variants": _variants,
    "line": _variants,
    "fractions": _fractions,
    "weights": _weights,
}
