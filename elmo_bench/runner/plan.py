"""The runs of a sweep, known from its options alone: reads no data and no weights, imports no torch."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.runner.finished import Sources, sources_of
from elmo_bench.spec.checks import check_given, check_options
from elmo_bench.spec.config import compose, sweep
from elmo_bench.spec.run_spec import RunSpec, Setup

ONCE = ("ledger", "overwrite", "launcher")  # options with one value for all runs of a sweep


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep, before it starts."""

    spec: RunSpec
    seed: int
    options: tuple[str, ...]  # that make it, as `run` takes them
    sources: Sources = field(compare=False)  # of its data, weights and vectors

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


def plan(options: Sequence[str]) -> Plan:
    """Every combination of the options' values, in order, each run once; of an experiment's sweeps, one by one.

    Raises UserError for an option or value that is wrong in any of the runs.
    """
    check_given(options)
    products = sweep(options)
    for values in (values for product in products for values in product):
        key = _option(values[0]) if values else ""
        if len(values) > 1 and key.split(".")[0] in ONCE:
            raise UserError(f"{key} has {len(values)} values, but all runs of a sweep share it. Give one value.")
    runs: dict[str, PlannedRun] = {}
    known: dict[tuple[str, ...], tuple[RunSpec, Sources]] = {}  # by the options but the seed, which changes no spec
    seeds: dict[tuple[str, ...], int] = {}
    first = None
    for options_ in (combined for product in products for combined in itertools.product(*product)):
        given = tuple(option for option in options_ if _option(option) == "seed")
        rest = tuple(option for option in options_ if option not in given)
        if rest in known and given in seeds:
            (spec, sources), seed = known[rest], seeds[given]
        else:
            config = compose("config", options_)
            check_options(config)
            first = first or config
            spec, seed = RunSpec.of(config), config.seed
            sources = sources_of(spec, Setup.of(config))
            seeds[given] = seed
            if "${seed" not in str(config):  # no option takes its value from the seed
                known[rest] = spec, sources
        title = tuple(option for option in options_ if _option(option).split(".")[0] != "launcher")
        runs.setdefault(canonical([spec.key, seed, sources]), PlannedRun(spec, seed, title, sources))
    if first is None:
        raise UserError("no run: an option has no values")
    ledger, device = Path(first.ledger), first.trainer.device
    return Plan(list(runs.values()), ledger, bool(first.overwrite), first.launcher, device)


def _option(given: str) -> str:
    """`mix.penalty` of `mix.penalty=1` or `+mix.penalty=1`."""
    return given.partition("=")[0].lstrip("+~")
