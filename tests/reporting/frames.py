"""The frames, tables and figures of a ledger, as a report makes them."""

from elmo_bench.ledger import read_all
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.figures import figures_of
from elmo_bench.reporting.frame import runs, shown, systems
from elmo_bench.reporting.leaderboard import leaderboard
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.selection import candidates
from elmo_bench.reporting.tables import layout_of
from elmo_bench.spec.experiments import Experiment


def runs_in(ledger):
    return runs(ledger, read_all(ledger).records)


def systems_in(ledger):
    """The current systems."""
    return systems(shown(runs_in(ledger)))


def experiment_in(ledger, name):
    """(systems, comparisons, experiment): what the layout of an experiment gets."""
    experiment = Experiment.load(name)
    layout = layout_of(experiment)
    selected = layout.select(candidates(systems_in(ledger), experiment), experiment)
    pairs = layout.pairs(selected, experiment)
    return selected, compare(runs_in(ledger), pairs.assign(split=layout.split)), experiment


def tables_in(ledger, name):
    """The tables of an experiment."""
    return layout_of(Experiment.load(name)).tables(*experiment_in(ledger, name))


def figures_in(ledger, name):
    """The figures of an experiment."""
    return figures_of(*experiment_in(ledger, name))


def board_of(ledger, costs=()):
    """Everything that a page shows."""
    return leaderboard(runs_in(ledger), command="", costs=costs)


def sections_of(board):
    """{name: section} of a board with one suite."""
    return {section.name: section for section in board.sections.itertuples()}


def compare_in(ledger, ours, theirs, split="test"):
    """The comparison of two systems by their labels in a table of one basis; of those with several bases the first."""
    by_label = systems_in(ledger).drop_duplicates("run_label").set_index("run_label").hash
    pairs = pairs_of([(by_label[ours], by_label[theirs])]).assign(split=split)
    [row] = compare(runs_in(ledger), pairs).itertuples()
    return row


def texts(table):
    """What people read of a table: {heading: text} of each row."""
    return [dict(zip(table.columns, cells, strict=True)) for cells in table.texts()]


def orders(table):
    """What programs sort a table by: {heading: first value} of each row."""
    return [{column.heading: column.order(line) for column in table.formats} for line in table.lines]
