"""What a run tells: progress of long work, the kernels that it used; and how long it took."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import rich.progress as bars
from rich.console import Console
from rich.text import Text

from elmo_bench.base.errors import plain

LINE_EVERY = 30.0  # seconds between lines without a terminal
MINUTE = 60.0  # seconds between lines about what runs at once


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(plain(text, "\n\t"), **options)


# markup: a text from a file may have [brackets] that are no style.
console = _Console(stderr=True, soft_wrap=True, markup=False)


class Meter:
    """Counts the steps and tokens of one job; made by `progress`."""

    def __init__(self, bar: bars.Progress, title: str, total: int | None, done: int):
        self.bar, self.title, self.steps, self.tokens, self.text = bar, title, done, 0, ""
        self.started = self.printed = time.monotonic()
        self.lines: dict[str, bars.TaskID] = {}  # of `show`
        self.id = bar.add_task(title, total=total, completed=done, info="")
        [self.task] = bar.tasks

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second since the job started or was resumed."""
        return self.tokens / max(time.monotonic() - self.started, 1e-9)

    def advance(self, tokens: int = 0, text: str | None = None, steps: int = 1) -> None:
        """Count `steps` with `tokens` tokens in them; `text` replaces the text after the rate."""
        self.steps += steps
        self.tokens += tokens
        self.text = self.text if text is None else text
        info = (f"{self.tokens_per_second:,.0f} tokens/s  " if self.tokens else "") + self.text
        self.bar.update(self.id, completed=self.steps, info=info)
        if self.bar.disable and time.monotonic() - self.printed > LINE_EVERY:
            self.printed = time.monotonic()
            left = self.task.time_remaining
            eta = "" if left is None else f"ETA {timedelta(seconds=int(min(left, 1e10)))}"
            console.print(f"{self.title}: step {self.steps}/{self.task.total or '?'}  {info}  {eta}", highlight=False)

    def skip(self) -> None:
        """Leave out a step that takes no time, so that the estimate does not count it."""
        if self.task.total is not None:
            self.bar.update(self.id, total=self.task.total - 1)

    def show(self, running: Mapping[str, str]) -> None:
        """Show what runs, {title: what it said last}: a line for each below the bar; without one, a line a minute."""
        if self.bar.disable:
            if running and time.monotonic() - self.printed > MINUTE:
                self.printed = time.monotonic()
                told = "; ".join(text or title for title, text in running.items())
                console.print(f"{self.title}: {self.steps}/{self.task.total or '?'} done; {told}", highlight=False)
            return
        for title in running.keys() | self.lines.keys():
            if title not in self.lines:
                self.lines[title] = self.bar.add_task(title, total=None, info="")
            if title in running:
                self.bar.update(self.lines[title], info=running[title])
            else:
                self.bar.remove_task(self.lines.pop(title))

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(line, highlight=False)


@contextmanager
def progress(title: str, total: int | None = None, done: int = 0) -> Iterator[Meter]:
    """A meter for a job of `total` steps, `done` of them earlier; shown on standard error until the block ends."""
    title_column, info = (bars.TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[info]}"))
    times = bars.TimeElapsedColumn(), bars.TimeRemainingColumn()
    columns = (title_column, bars.BarColumn(), bars.MofNCompleteColumn(), info, *times)
    with bars.Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        yield Meter(bar, title, total, done)


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


_used: dict[str, set[str]] = {}  # ways to compute a part, by its name; of the process, since `forget_kernels`


def used(name: str, how: str) -> None:
    """Remember that this part was computed in this way, such as `gru` in `c`; or as `kernels_used` says.

    Called at every step, so it does no more.
    """
    _used.setdefault(name, set()).update(how.split(" and "))


def kernels_used() -> dict[str, str]:
    """The way of each part, in alphabetical order; a part that was computed in two ways has both: `c and torch`."""
    return {name: " and ".join(sorted(_used[name])) for name in sorted(_used)}


def forget_kernels() -> None:
    """A run begins: what earlier ones in this process used is not its own."""
    _used.clear()
