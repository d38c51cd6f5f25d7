"""The runs of a sweep, known from the options alone: reads no data and no weights, and imports no torch."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.base.machine import free_cores, gpus
from elmo_bench.runner.finished import Sources, sources_of
from elmo_bench.runner.floors import floor_options
from elmo_bench.spec.config import compose, sweep
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import check_run

ONCE = ("ledger", "overwrite", "launcher")  # options with one value for all runs of a sweep


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep, before it starts."""

    spec: RunSpec
    seed: int
    options: tuple[str, ...]  # that make it, as `run` takes them
    sources: Sources = field(compare=False)  # of its data, weights and vectors

    @property
    def identity(self) -> str:
        """Equal for runs that are one: of all seeds, if nothing is drawn."""
        drawn = None if self.spec.deterministic else self.seed
        return canonical([self.spec.key, drawn, self.sources])

    @property
    def title(self) -> str:
        """The options, as one line, or without any what the defaults are; addresses are redacted."""
        return redacted(" ".join(self.options)) or f"task={self.spec.task} encoder={self.spec.encoder} seed={self.seed}"


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
        """How many runs are made at once: by default one for each idle core or GPU; None if a scheduler decides."""
        if self.launcher.jobs is not None or self.launcher.name != "local":
            return self.launcher.jobs
        return max(1, gpus()) if self.device == "cuda" else free_cores()


def plan(options: Sequence[str]) -> Plan:
    """Every combination of the options' values, in order, each run once; of an experiment's sweeps, one by one.

    A run in which nothing is drawn (`RunSpec.deterministic`) is made with the first of its seeds alone. The floors of
    runs on data of the user's own come first, whether they are among the combinations or not.

    Raises UserError for an option or value that is wrong in any of the runs.
    """
    products = sweep(options)
    for [first] in (product[0] for product in products if product and product[0][0].startswith("+experiment=")):
        Experiment.load(
            first.partition("=")[2]
        )  # a mistake in its file would else be found by `report`, after all runs
    for values in (values for product in products for values in product):
        key = _option(values[0])
        if len(values) > 1 and key.split(".")[0] in ONCE:
            raise UserError(f"{key} has {len(values)} values, but all runs of a sweep share it. Give one value.")

    @cache
    def described(*options: str) -> tuple[DictConfig, RunSpec, Sources]:
        config = compose("config", options)
        check_run(config)
        spec = RunSpec.of(config)
        return config, spec, sources_of(spec, Setup.of(config))

    runs: dict[str, PlannedRun] = {}
    floors: dict[str, PlannedRun] = {}
    for combined in (combined for product in products for combined in itertools.product(*product)):
        seeds = [option for option in combined if _option(option) == "seed"]
        alike = "${seed" not in str(combined)  # the spec of all seeds, which is composed once
        config, spec, sources = described(*("seed=0" if alike and each in seeds else each for each in combined))
        seed = described(*seeds)[0].seed if alike and seeds not in ([], ["seed=0"]) else config.seed
        title = tuple(option for option in combined if _option(option).split(".")[0] != "launcher")
        run = PlannedRun(spec, seed, title, sources)
        runs.setdefault(run.identity, run)
        options_of_floor = floor_options(config, title)
        if options_of_floor is not None:
            floor_config, floor_spec, floor_sources = described(*options_of_floor)
            floor = PlannedRun(floor_spec, floor_config.seed, tuple(options_of_floor), floor_sources)
            floors.setdefault(floor.identity, floor)
    shared = Path(config.ledger), bool(config.overwrite), config.launcher, config.trainer.device
    return Plan(list((floors | runs).values()), *shared)


def _option(given: str) -> str:
    """`mix.penalty` of `mix.penalty=1` or `+mix.penalty=1`."""
    return given.partition("=")[0].lstrip("+")
