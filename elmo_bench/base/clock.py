"""Wall time and processor time of a piece of work that stops and goes on."""

import time
from collections.abc import Sequence


class Clock:
    """Seconds of wall time, and of processor time that this process took meanwhile, all of its threads together.

    `before`: seconds of earlier processes, as `read` gave them.
    """

    def __init__(self) -> None:
        self.before = [0.0, 0.0]
        self.since: list[float] | None = None  # the two clocks when it was started; None: it stands

    def start(self) -> "Clock":
        self.since = [time.monotonic(), time.process_time()]
        return self

    def stop(self) -> None:
        self.before, self.since = self.read(), None

    def read(self) -> list[float]:
        """[wall, processor] seconds so far."""
        if self.since is None:
            return list(self.before)
        now = time.monotonic(), time.process_time()
        return [kept + end - start for kept, end, start in zip(self.before, now, self.since, strict=True)]

    def add(self, seconds: Sequence[float]) -> None:
        """Count what an earlier process read from this clock."""
        self.before = [kept + more for kept, more in zip(self.before, seconds, strict=True)]
