"""Progress of long work, the kernels that a run used, and how long it took."""

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
from elmo_bench.base.notebook import NotebookLine, in_notebook

LINE_EVERY = 30.0  # seconds between lines without a terminal
MINUTE = 60.0  # seconds between lines about what runs at once
CHANGE_EVERY = 1.0  # seconds between changes of the line of a notebook


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(plain(text, "\n\t"), **options)


IN_NOTEBOOK = in_notebook()
# A notebook has a red background behind standard error. In one, rich would make an
# output of each line (force_jupyter). markup: a text from a file may have [brackets]
# that are no style.
console = _Console(
    stderr=not IN_NOTEBOOK, force_jupyter=False, soft_wrap=True, markup=False
)


class Meter:
    """Counts the steps and tokens of one job; made by `progress`."""

    def __init__(self, bar: bars.Progress, title: str, total: int | None, done: int):
        self.bar = bar
        self.title = title
        self.steps = done
        self.tokens = 0
        self.text = ""
        self.started = self.printed = time.monotonic()
        self.lines: dict[str, bars.TaskID] = {}  # of `show`
        self.notebook = NotebookLine() if IN_NOTEBOOK else None
        self.id = bar.add_task(title, total=total, completed=done, info="")
        [self.task] = bar.tasks

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second since the job started or was resumed."""
        seconds = time.monotonic() - self.started
        return self.tokens / max(seconds, 1e-9)

    def advance(self, tokens: int = 0, text: str | None = None, steps: int = 1) -> None:
        """Count `steps` with `tokens` tokens in them.

        `text` replaces the text after the rate.
        """
        self.steps += steps
        self.tokens += tokens
        if text is not None:
            self.text = text
        info = self.text
        if self.tokens:
            info = f"{self.tokens_per_second:,.0f} tokens/s  {info}"
        self.bar.update(self.id, completed=self.steps, info=info)
        if self._is_due(LINE_EVERY):
            line = f"{self.title}: step {self._position()}  {info}  {self._time_left()}"
            self._tell(line)

    def _is_due(self, seconds: float) -> bool:
        """Whether to print a line: without a bar, `seconds` after the last line.

        The line of a notebook changes every second.
        """
        if self.notebook is not None:
            seconds = CHANGE_EVERY
        return self.bar.disable and time.monotonic() - self.printed > seconds

    def _tell(self, line: str) -> None:
        """Print a line, or change the one of the notebook."""
        self.printed = time.monotonic()
        if self.notebook is not None:
            self.notebook.show(line)
        else:
            console.print(line, highlight=False)

    def _position(self) -> str:
        return f"{self.steps}/{self.task.total or '?'}"

    def _time_left(self) -> str:
        seconds = self.task.time_remaining
        if seconds is None:
            return ""
        return f"ETA {timedelta(seconds=int(min(seconds, 1e10)))}"

    def skip(self) -> None:
        """Leave out a step that takes no time: the estimate does not count it."""
        if self.task.total is not None:
            self.bar.update(self.id, total=self.task.total - 1)

    def show(self, running: Mapping[str, str]) -> None:
        """Show the jobs that run, {title: the last line of the job}.

        A line for each below the bar; without a bar, a line a minute or the line of a
        notebook.
        """
        if self.bar.disable:
            self._print_running(running)
            return
        for title in running.keys() | self.lines.keys():
            if title not in self.lines:
                self.lines[title] = self.bar.add_task(title, total=None, info="")
            if title in running:
                self.bar.update(self.lines[title], info=running[title])
            else:
                self.bar.remove_task(self.lines.pop(title))

    def _print_running(self, running: Mapping[str, str]) -> None:
        if running and self._is_due(MINUTE):
            jobs = "; ".join(text or title for title, text in running.items())
            self._tell(f"{self.title}: {self._position()} done; {jobs}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(line, highlight=False)

    def close(self) -> None:
        """Leave the last position and the time in a notebook that showed others."""
        if self.notebook is not None and self.notebook.is_shown:
            took = timedelta(seconds=int(time.monotonic() - self.started))
            self.notebook.show(f"{self.title}: {self._position()} in {took}")


@contextmanager
def progress(title: str, total: int | None = None, done: int = 0) -> Iterator[Meter]:
    """A meter for a job of `total` steps, `done` of them earlier.

    It is shown on standard error, or below a cell, until the block ends.
    """
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[info]}", markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    )
    is_hidden = IN_NOTEBOOK or not sys.stderr.isatty()
    with bars.Progress(
        *columns, console=console, transient=True, disable=is_hidden
    ) as bar:
        meter = Meter(bar, title, total, done)
        try:
            yield meter
        finally:
            meter.close()


class Clock:
    """Seconds of wall time, and of processor time that this process took meanwhile.

    The processor time counts all threads together.

    `before`: seconds of earlier processes, as `read` gave them.
    """

    def __init__(self) -> None:
        self.before = [0.0, 0.0]
        # The two times when it was started; None: it is stopped.
        self.since: list[float] | None = None

    def start(self) -> "Clock":
        self.since = _times()
        return self

    def stop(self) -> None:
        self.before = self.read()
        self.since = None

    def read(self) -> list[float]:
        """[wall, processor] seconds so far."""
        if self.since is None:
            return list(self.before)
        wall, processor = _times()
        return [
            self.before[0] + wall - self.since[0],
            self.before[1] + processor - self.since[1],
        ]

    def add(self, seconds: Sequence[float]) -> None:
        """Count what an earlier process read from this clock."""
        wall, processor = seconds
        self.before = [self.before[0] + wall, self.before[1] + processor]


def _times() -> list[float]:
    return [time.monotonic(), time.process_time()]


# Ways to compute a part, by its name; of the process, since `forget_kernels`.
_used: dict[str, set[str]] = {}


def used(name: str, how: str) -> None:
    """Remember that this part was computed in this way, such as `gru` in `c`.

    Also in the form of `kernels_used`. Called at every step, so it does no more.
    """
    _used.setdefault(name, set()).update(how.split(" and "))


def kernels_used() -> dict[str, str]:
    """The way of each part, in alphabetical order.

    A part that was computed in two ways has both: `c and torch`.
    """
    return {name: " and ".join(sorted(_used[name])) for name in sorted(_used)}


def forget_kernels() -> None:
    """A run begins: kernels that earlier runs of this process used are not its own."""
    _used.clear()
