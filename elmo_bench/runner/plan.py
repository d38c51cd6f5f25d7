"""What a sweep will run, told from its configs alone: no data, no weights, no torch."""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from omegaconf import DictConfig

from elmo_bench.config import compose, is_group, sweep, with_values
from elmo_bench.ledger import canonical
from elmo_bench.runner.settings import portable, settings_of


@dataclass(frozen=True)
class Planned:
    """One run, known before it starts; two of one `key` are the same run."""

    suite: str
    task: str
    encoder: str
    settings: str  # canonical JSON of what can change a score, contents and seed apart
    seed: int
    version: int  # of the task
    overrides: tuple[str, ...]  # what makes it, as run.py takes it
    ledger: Path

    @classmethod
    def of(cls, config: DictConfig, overrides: Sequence[str]) -> Self:
        plain = portable(config)
        return cls(*place_of(plain), config.seed, config.task.version, tuple(overrides), Path(config.ledger))

    @property
    def key(self) -> str:
        """Digest of all that tells it from other runs."""
        return hashlib.sha256(
            f"{self.ledger}\n{self.suite}\n{self.task}\n{self.encoder}\n{self.settings}\n{self.seed}".encode()
        ).hexdigest()


def place_of(plain: dict[str, Any]) -> tuple[str, str, str, str]:
    """(suite, task, encoder, settings) of a portable config, such as records and failures hold."""
    settings = canonical(settings_of(plain))
    return plain["suite"]["name"], plain["task"]["name"], plain["encoder"]["name"], settings


def planned(overrides: Sequence[str], name: str = "config") -> list[Planned]:
    """The runs of `run.py -m` with these overrides in its order, none twice. Raises UserError for a bad override."""
    swept = sweep(name, overrides)
    # Composing takes long: it is done for each choice of groups; plain values are put into what was composed.
    parts = [values if is_group(values[0]) else values[:1] for values in swept]
    composed = {values: compose(name, values) for values in itertools.product(*parts)}
    runs: dict[str, Planned] = {}
    for values in itertools.product(*swept):
        fixed = tuple(v if is_group(v) else part[0] for v, part in zip(values, parts, strict=True))
        config = with_values(composed[fixed], [value for value in values if not is_group(value)])
        run = Planned.of(config, values)
        runs.setdefault(run.key, run)
    return list(runs.values())
