"""Outcomes of runs, which several tests read."""

from collections.abc import Callable, Mapping

import numpy as np

from elmo_bench.ledger import RunPaths, read_outcomes

# Bytes of outcomes that stay in memory, as a system is compared with several others: a
# record has 100 kB as a rule, and up to 64 MiB.
MAX_CACHED = 2**28

ReadOutcomes = Callable[[RunPaths], dict[str, np.ndarray]]


class CachedOutcomes:
    """`read_outcomes` that remembers what it read last, up to MAX_CACHED bytes."""

    def __init__(self) -> None:
        self._known: dict[RunPaths, dict[str, np.ndarray]] = {}
        self._sizes: dict[RunPaths, int] = {}
        self._bytes = 0

    def __call__(self, run: RunPaths) -> dict[str, np.ndarray]:
        if run not in self._known:
            self.keep(run, read_outcomes(run))
        return self._known[run]

    def keep(self, run: RunPaths, outcomes: Mapping[str, np.ndarray]) -> None:
        """Remember the outcomes of a run, which have been read."""
        size = sum(values.nbytes for values in outcomes.values())
        self._forget(run)
        while self._known and self._bytes + size > MAX_CACHED:
            self._forget(next(iter(self._known)))
        self._known[run] = dict(outcomes)
        self._sizes[run] = size
        self._bytes += size

    def _forget(self, run: RunPaths) -> None:
        self._known.pop(run, None)
        self._bytes -= self._sizes.pop(run, 0)
