"""What a sweep will run, told from its configs alone: no data, no weights, no torch."""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from omegaconf import DictConfig, OmegaConf

from elmo_bench.ledger import canonical
from elmo_bench.runner.settings import portable, settings_of
from elmo_bench.spec.config import CONF, compose, sweep


@dataclass(frozen=True)
class Planned:
    """One run, known before it starts; two of one `key` are the same run."""

    suite: str
    task: str
    encoder: str
    settings: str  # canonical JSON of what can change a score and records tell, contents and seed apart
    sources: str  # canonical JSON of where data, weights and vectors are; of these paths, records have the end alone
    seed: int
    version: int  # of the task
    overrides: tuple[str, ...]  # what makes it, as run.py takes it
    ledger: Path

    @classmethod
    def of(cls, config: DictConfig, overrides: Sequence[str]) -> Self:
        given: Any = OmegaConf.to_container(config, resolve=True)
        if given["encoder"]["contextual"]:
            given["encoder"]["contextual"].pop("device", None)
        sources = canonical([given["task"]["data"], given["data"]["root"], given["encoder"]])
        place = place_of(portable(config))
        return cls(*place, sources, config.seed, config.task.version, tuple(overrides), Path(config.ledger))

    @property
    def key(self) -> str:
        """Digest of all that may tell it from other runs; two keys may still be one run, which its hash tells."""
        place = f"{self.ledger}\n{self.suite}\n{self.task}\n{self.encoder}\n{self.settings}"
        return hashlib.sha256(f"{place}\n{self.sources}\n{self.version}\n{self.seed}".encode()).hexdigest()


def place_of(plain: dict[str, Any]) -> tuple[str, str, str, str]:
    """(suite, task, encoder, settings) of a portable config, such as records and failures hold."""
    settings = canonical(settings_of(plain) | {"contents": _contents(plain)})
    return plain["suite"]["name"], plain["task"]["name"], plain["encoder"]["name"], settings


def _contents(plain: dict[str, Any]) -> dict[str, Any]:
    """What a config tells of the contents, which a run's hash has as checksums: where the suite's data are not those of
    the task's yaml (a key that the yaml got later makes no older record another run), and the encoder's precision."""
    suite, task = plain["suite"]["name"], plain["task"]
    chosen, usual = task["data"].get(suite) or {}, _data_of(task["name"]).get(suite) or {}
    data = {key: value for key, value in chosen.items() if key != "fetch" and value != usual.get(key)}
    return {"data": data, "precision": (plain["encoder"]["contextual"] or {}).get("precision", "float32")}


@cache
def _data_of(task: str) -> dict[str, Any]:
    """The suites of a task as its yaml has them; of a task that is no more, none."""
    path = CONF / "task" / f"{task}.yaml"
    found: Any = OmegaConf.to_container(OmegaConf.load(path)) if path.is_file() else {}
    return found.get("data", {})


def planned(overrides: Sequence[str], name: str = "config") -> list[Planned]:
    """The runs of `run.py -m` with these overrides in its order, none twice. Raises UserError for a bad override."""
    runs: dict[str, Planned] = {}
    for values in itertools.product(*sweep(name, overrides)):
        run = Planned.of(compose(name, values), values)
        runs.setdefault(run.key, run)
    return list(runs.values())
