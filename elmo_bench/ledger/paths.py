"""Where a run's files lie: `<ledger>/<suite>/<task>/<encoder>/<hash>/seed<k>…`."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.record import Record

_NAME = re.compile(r"\w[\w.+=-]*")
_HASH = re.compile(r"[0-9a-f]{12}")
_ENTRY = re.compile(r"\.?seed(0|[1-9]\d*)(\..+)?")  # a leading dot: what a killed atomic_write leaves


@dataclass(frozen=True, order=True)
class RunPaths:
    """The files of one run. Raises UserError for a name or seed that could lead out of the ledger's folder."""

    ledger: Path
    suite: str
    task: str
    encoder: str
    hash: str
    seed: int

    def __post_init__(self) -> None:
        for key in ("suite", "task", "encoder"):
            name = getattr(self, key)
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise UserError(
                    f"{key}={name!r}: cannot name a folder of the ledger; use letters, digits and _ . + = - "
                    "with a letter or digit first"
                )
        if not _HASH.fullmatch(self.hash):
            raise UserError(f"hash={self.hash!r}: not the hash of a run, which is 12 hex digits")
        if type(self.seed) is not int or self.seed < 0:
            raise UserError(f"seed={self.seed!r}: not a seed; give a whole number from 0")

    @classmethod
    def of(cls, ledger: Path, record: Record) -> Self:
        """Where this record belongs."""
        return cls(ledger, record["suite"], record["task"], record["encoder"], record["hash"], record["seed"])

    @property
    def folder(self) -> Path:
        """Shared by all seeds of a run."""
        return self.ledger / self.suite / self.task / self.encoder / self.hash

    @property
    def record(self) -> Path:
        """The record; where it exists the run is finished."""
        return self.folder / f"seed{self.seed}.json"

    @property
    def outcomes(self) -> Path:
        """Per-example outcomes on the test split; exists where the record does."""
        return self.folder / f"seed{self.seed}.npz"

    @property
    def failure(self) -> Path:
        """Traceback and config of the last attempt, where it failed."""
        return self.folder / f"seed{self.seed}.failed.json"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the run."""
        return self.folder / f"seed{self.seed}.lock"

    @property
    def lease(self) -> Path:
        """Who works on the run, for other machines: touched while they do."""
        return self.folder / f"seed{self.seed}.lease"

    @property
    def work(self) -> Path:
        """Folder of the checkpoints while the run goes on; of head.safetensors and metrics.csv afterwards."""
        return self.folder / f"seed{self.seed}"


def runs_in(ledger: Path) -> list[RunPaths]:
    """Every run that left anything in the ledger, finished or not, sorted; none where there is no such folder."""
    found = set()
    for path in ledger.glob("*/*/*/*/*"):
        suite, task, encoder, hash_, entry = path.parts[-5:]
        if match := _ENTRY.fullmatch(entry):
            with suppress(UserError):  # a folder of someone else's
                found.add(RunPaths(ledger, suite, task, encoder, hash_, int(match[1])))
    return sorted(found)
