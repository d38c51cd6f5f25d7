"""The runs of a sweep, known from the options alone.

Reads no data and no weights, and imports no torch.
"""

import itertools
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.base.machine import free_cores, gpus
from elmo_bench.runner.floors import floor_options
from elmo_bench.spec.config import compose
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import check_run
from elmo_bench.spec.sweeps import sweep

# Options with one value for all runs of a sweep.
ONCE = ("ledger", "overwrite", "launcher")


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep, before it starts."""

    spec: RunSpec
    seed: int
    options: tuple[str, ...]  # that make it, as `run` takes them
    setup: Setup = field(compare=False)

    @property
    def identity(self) -> str:
        """Equal for runs that are one: of all seeds, if nothing is drawn."""
        drawn = None if self.spec.deterministic else self.seed
        locations = [self.setup.locations, self.setup.source]
        return canonical([self.spec.key, drawn, locations])

    def is_of(self, seed: int) -> bool:
        """Whether a record of this seed is the run's: of any, if nothing is drawn."""
        return seed == self.seed or self.spec.deterministic

    @property
    def title(self) -> str:
        """The options, as a shell reads them, or without any what the defaults are.

        Addresses are redacted.
        """
        if self.options:
            return redacted(shlex.join(self.options))
        return f"task={self.spec.task} encoder={self.spec.encoder} seed={self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep and what they share."""

    runs: list[PlannedRun]
    ledger: Path
    overwrite: bool  # make runs again that have a record
    launcher: DictConfig  # a node of conf/launcher
    device: str  # cpu or cuda

    @cached_property
    def workers(self) -> int | None:
        """How many runs are made at once.

        By default one for each idle core or GPU; None if a scheduler decides.
        """
        if self.launcher.jobs is not None or self.launcher.name != "local":
            return self.launcher.jobs
        return max(1, gpus()) if self.device == "cuda" else free_cores()


def plan(options: Sequence[str]) -> Plan:
    """Every combination of the options' values, in order, each run once.

    Of an experiment's sweeps, one by one. A run in which nothing is drawn
    (`RunSpec.deterministic`) is made with the first of its seeds alone. The floors of
    runs on data of the user's own come first.

    Raises UserError for an option or value that is wrong in any of the runs.
    """
    products = sweep(options)
    _check_experiments(products)
    _check_shared(products)
    composed = _Composed()
    runs: dict[str, PlannedRun] = {}
    floors: dict[str, PlannedRun] = {}
    for combined in _combinations(products):
        run = composed.run(combined)
        runs.setdefault(run.identity, run)
        config = composed.last
        of_floor = floor_options(config, run.options)
        if of_floor is not None:
            floor = composed.run(tuple(of_floor))
            floors.setdefault(floor.identity, floor)
    return Plan(
        runs=list((floors | runs).values()),
        ledger=Path(config.ledger).expanduser(),
        overwrite=bool(config.overwrite),
        launcher=config.launcher,
        device=config.trainer.device,
    )


Products = Sequence[Sequence[Sequence[str]]]


def _combinations(products: Products) -> Iterator[tuple[str, ...]]:
    for product in products:
        yield from itertools.product(*product)


def _check_experiments(products: Products) -> None:
    """Raises UserError for a mistake in the file of an experiment.

    Otherwise `report` would find it after all runs.
    """
    for product in products:
        first = product[0][0] if product else ""
        if first.startswith("+experiment="):
            Experiment.load(first.partition("=")[2])


def _check_shared(products: Products) -> None:
    """Raises UserError for several values of an option of ONCE."""
    for values in itertools.chain(*products):
        key = _option(values[0])
        if len(values) > 1 and key.split(".")[0] in ONCE:
            raise UserError(
                f"{key} has {len(values)} values, but all runs of a sweep share it. "
                "Give one value."
            )


class _Composed:
    """Composes the runs of a sweep; all seeds of a run share a config."""

    last: DictConfig

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[DictConfig, RunSpec, Setup]] = {}

    def run(self, options: tuple[str, ...]) -> PlannedRun:
        """Raises UserError for an option that no run can have."""
        seeds = [option for option in options if _option(option) == "seed"]
        shared = options
        if "${seed" not in str(options):
            shared = tuple(
                "seed=0" if option in seeds else option for option in options
            )
        self.last, spec, setup = self._described(shared)
        seed = self.last.seed
        if shared != options:
            seed = self._described(tuple(seeds))[0].seed
        title = tuple(
            option for option in options if _option(option).split(".")[0] != "launcher"
        )
        return PlannedRun(spec, seed, title, replace(setup, seed=seed))

    def _described(self, options: tuple[str, ...]) -> tuple[DictConfig, RunSpec, Setup]:
        if options not in self._known:
            config = compose("config", options)
            check_run(config)
            self._known[options] = config, RunSpec.of(config), Setup.of(config)
        return self._known[options]


def _option(argument: str) -> str:
    """`mix.penalty` of `mix.penalty=1` or `+mix.penalty=1`."""
    return argument.partition("=")[0].lstrip("+")
