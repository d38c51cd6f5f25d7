"""A first look at the user's data, before a process starts; imports no torch.

A wrong column is then one message at once, and not one for each run of a sweep after
torch was imported.
"""

from collections.abc import Iterable, Mapping, Sequence

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import canonical
from elmo_bench.ledger import SCORED
from elmo_bench.ledger.outcomes import MOST_ITEMS
from elmo_bench.runner.estimate import Amounts
from elmo_bench.runner.plan import PlannedRun
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.settings import check_run
from elmo_bench.spec.task_files import reads_own_data

NOT_OF_DATA = ("seed", "encoder")  # options that change nothing in how data are read


def ready(options: Sequence[str]) -> DictConfig:
    """The config of one run, whose options and own files have passed a first look.

    Raises UserError.
    """
    config = compose("config", options)
    _refuse_launcher(options)
    _check_own_files(config)
    return config


def _refuse_launcher(options: Sequence[str]) -> None:
    """Raise UserError for an option of the launcher: a run alone has none."""
    for option in options:
        key = option.partition("=")[0].lstrip("+~")
        if key.split(".")[0] == "launcher":
            raise UserError(
                f"{option}: `run` makes its run in this process, without a launcher. "
                "Use `sweep` (run.py -m) with the same options."
            )


def _check_own_files(config: DictConfig) -> None:
    """Raise UserError if a file of own data is missing, or a folder has no splits."""
    task = str(config.task.name)
    if reads_own_data(task):
        check_run(config)
        setup = Setup.of(config)
        data = task_class(task, "data")(**setup.data)
        data.files(str(config.suite.name), setup.data_root)


def read_own_data(runs: Iterable[PlannedRun]) -> dict[PlannedRun, Amounts]:
    """Read the own data of some runs, each once, with its notes: how much each has.

    Raises UserError.
    """
    by_options: dict[tuple[str, ...], Amounts] = {}
    by_data: dict[str, tuple[Amounts, dict[str, int]]] = {}
    amounts: dict[PlannedRun, Amounts] = {}
    for run in runs:
        if not reads_own_data(run.spec.task):
            continue
        options = tuple(filter(_is_of_data, run.options))
        if options not in by_options:
            setup = Setup.of(compose("config", run.options))
            key = canonical([run.spec.task, setup.data])
            if key not in by_data:
                by_data[key] = _amounts(run, setup)
            by_options[options], counts = by_data[key]
            _check_items_after_cut(run, counts)
        amounts[run] = by_options[options]
    return amounts


def _amounts(run: PlannedRun, setup: Setup) -> tuple[Amounts, dict[str, int]]:
    """Read the data of a run: how much it is, and the examples of dev and test.

    Raises UserError.
    """
    data = task_class(run.spec.task, "data")(**setup.data)
    splits = data.read(run.spec.suite, setup.data_root)
    return Amounts.of(splits), {split: len(splits[split]) for split in SCORED}


def _check_items_after_cut(run: PlannedRun, counts: Mapping[str, int]) -> None:
    """`check_items` of the examples that `data.max_eval` of the run leaves."""
    limit = run.spec.settings.get("data.max_eval")
    if limit is not None:
        counts = {split: min(limit, count) for split, count in counts.items()}
    check_items(counts, f"task={run.spec.task}")


def _is_of_data(option: str) -> bool:
    return option.partition("=")[0] not in NOT_OF_DATA


def check_items(counts: Mapping[str, int], where: str) -> None:
    """Raise UserError for more items than a record keeps outcomes of.

    Otherwise this would show after hours, when the record is written.

    counts: the examples of dev and test, after `data.max_eval`.
    """
    for split, count in counts.items():
        if count > MOST_ITEMS:
            raise UserError(
                f"{where}: {split} has {count:,} examples, and a record keeps outcomes "
                f"of at most {MOST_ITEMS:,}. Score a part of them."
            )
