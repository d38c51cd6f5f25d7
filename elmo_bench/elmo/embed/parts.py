"""What is done so far, beside the output: `<out>.parts/`, from which a killed run is taken up again.

settings.json       what the parts are made with; other settings do not go on with them
00000.json          the record of one part, written last: a part without one does not count
data/00000.f32      its values (or 00000.npz)
state-00001.pt      with `--stateful`: the encoder's state before the part of that number
lock                held while a process works here; the operating system's, so it ends with the process
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.elmo.embed.lines import MAPPED, Line, fingerprint


@dataclass(frozen=True)
class Part:
    """The record of one part. `texts` are its lines, kept while the input so far is short enough for a mapping."""

    first: int  # index of its first sentence
    lengths: list[int]  # tokens of each sentence
    texts: list[str] | None
    fingerprint: str  # of all lines up to its end
    bytes: int  # of its values


class Parts:
    """The finished parts of one output; made by `open_parts`, which holds the lock."""

    def __init__(self, folder: Path, suffix: str):
        self.folder, self.data, self.suffix = folder, folder / "data", suffix
        self.number = self.sentences = self.tokens = self.bytes = 0
        self.fingerprint = ""
        for part in self:
            self._count(part)

    def __iter__(self) -> Iterator[Part]:
        """The records in order, one in memory at a time."""
        number = 0
        while (path := self.record(number)).exists():
            part = Part(**json.loads(path.read_text(encoding="utf-8")))
            values = self.values(number)
            if not values.exists() or values.stat().st_size != part.bytes:
                return
            yield part
            number += 1

    def record(self, number: int) -> Path:
        """Where the record of a part lies."""
        return self.folder / f"{number:05d}.json"

    def values(self, number: int) -> Path:
        """Where the values of a part lie."""
        return self.data / f"{number:05d}{self.suffix}"

    def state(self, number: int) -> Path:
        """Where the encoder's state before a part lies."""
        return self.folder / f"state-{number:05d}.pt"

    def commit(self, lines: list[Line]) -> None:
        """From here on the next part counts, whose values have been written in whole."""
        part = Part(
            first=self.sentences,
            lengths=[len(line.tokens) for line in lines],
            texts=[line.text for line in lines] if self.sentences + len(lines) <= MAPPED else None,
            fingerprint=fingerprint(self.fingerprint, lines),
            bytes=self.values(self.number).stat().st_size,
        )
        with atomic_write(self.record(self.number), "w") as handle:
            json.dump(asdict(part), handle)
        self.state(self.number).unlink(missing_ok=True)
        self._count(part)

    def skip(self, lines: Iterator[Line], source: Path) -> None:
        """Read past the lines that are done. Raises UserError where the parts were made of other lines."""
        before = ""
        for part in self:
            before = fingerprint(before, islice(lines, len(part.lengths)))
            if before != part.fingerprint:
                raise UserError(
                    f"{source}: lines {part.first + 1:,} to {part.first + len(part.lengths):,} are not those that "
                    f"{self.folder} was begun with; give the same text to go on, or remove that folder to start anew"
                )

    def tidy(self) -> None:
        """What a kill left half-written goes."""
        kept = {self.values(number) for number in range(self.number)}
        kept |= {self.record(number) for number in range(self.number)}
        kept |= {self.folder / "settings.json", self.folder / "lock", self.data, self.state(self.number)}
        for path in {*self.folder.iterdir(), *self.data.iterdir()} - kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def clear(self) -> None:
        """All but the lock goes, what says that the folder is ours at the very end."""
        shutil.rmtree(self.data, ignore_errors=True)
        for path in sorted(self.folder.iterdir(), key=lambda path: path.name == "settings.json"):
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def remove(self) -> None:
        """The folder goes; the lock's file while it is held, so that nobody else ends up with a lock on a ghost."""
        self.clear()
        (self.folder / "lock").unlink(missing_ok=True)
        self.folder.rmdir()

    def _count(self, part: Part) -> None:
        self.number += 1
        self.sentences += len(part.lengths)
        self.tokens += sum(part.lengths)
        self.bytes += part.bytes
        self.fingerprint = part.fingerprint


@contextmanager
def open_parts(folder: Path, settings: dict[str, Any], *, suffix: str, overwrite: bool) -> Iterator[Parts]:
    """The parts in a folder, locked while the block lasts; a folder in which nothing was finished goes again.

    Raises UserError where another process works here, where nothing can be written, and where the parts were made with
    other settings (with `overwrite`: they go).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise UserError(f"{folder}: another process is writing this output; wait for it, or stop it") from None
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror or error})") from None
    try:
        _agree(folder, settings, suffix, overwrite)
        parts = Parts(folder, suffix)
        parts.data.mkdir(exist_ok=True)
        parts.tidy()
        try:
            yield parts
        finally:
            if folder.exists() and not parts.number:
                parts.remove()
    finally:
        lock.release()


def _agree(folder: Path, settings: dict[str, Any], suffix: str, overwrite: bool) -> None:
    """See that a folder was begun with these settings, or begin it."""
    path = folder / "settings.json"
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        differing = [key for key in {**settings, **old} if old.get(key) != settings.get(key)]
        if not differing:
            return
        if not overwrite:
            was, now = (
                ", ".join(f"{key} {str(found.get(key))[:12]}" for key in differing) for found in (old, settings)
            )
            raise UserError(
                f"{folder}: begun with {was}, now it is {now}; the same options as before go on with it, "
                "--overwrite starts anew"
            )
        Parts(folder, suffix).clear()
    elif others := {file.name for file in folder.iterdir() if not file.name.startswith(".")} - {"lock"}:
        raise UserError(f"{folder}: this folder is needed, but holds {min(others)}, which is not ours; move it away")
    with atomic_write(path, "w") as handle:
        json.dump(settings, handle)
