"""The finished parts of an output in `<out>.parts/`, from which a killed run resumes.

settings.json       the settings of the parts; a run with other settings does not resume
00000.json          the record of one part, written last: a part without a record does not count
data/00000.f32      its values (or 00000.npz)
state-00001.pt      with `--stateful`: the encoder's state before that part
lock                a lock of the operating system, held while a process works here; it ends with the process
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
from elmo_bench.base.json import read_json
from elmo_bench.base.progress import console
from elmo_bench.base.reading import reader, reading
from elmo_bench.elmo.embed.lines import MAPPED, Line, fingerprint


@dataclass(frozen=True)
class Part:
    """The record of one part. `texts` are its lines, kept up to MAPPED lines of input."""

    first: int  # index of its first sentence
    lengths: list[int]  # tokens of each sentence
    texts: list[str] | None
    fingerprint: str  # of all lines up to its end
    bytes: int  # of its values


class Parts:
    """The finished parts of one output. `open_parts` makes it and holds the lock."""

    def __init__(self, folder: Path, suffix: str):
        self.folder, self.data, self.suffix = folder, folder / "data", suffix
        self.number = self.sentences = self.tokens = 0
        self.fingerprint = ""
        try:
            for part in self:
                self._count(part)
        except UserError as error:  # `tidy` removes it, so that it is made again
            console.print(f"{error} This part is made again.", highlight=False)

    def __iter__(self) -> Iterator[Part]:
        """The records in order. Raises UserError for a damaged record."""
        number = 0
        while (path := self.record(number)).exists():
            part = read_part(path)
            values = self.values(number)
            if not values.exists() or values.stat().st_size != part.bytes:
                return
            yield part
            number += 1

    def record(self, number: int) -> Path:
        """The path of a part's record."""
        return self.folder / f"{number:05d}.json"

    def values(self, number: int) -> Path:
        """The path of a part's values."""
        return self.data / f"{number:05d}{self.suffix}"

    def state(self, number: int) -> Path:
        """The path of the encoder's state before a part."""
        return self.folder / f"state-{number:05d}.pt"

    def commit(self, lines: list[Line]) -> None:
        """Write the record of the next part, whose values are complete."""
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
        """Skip the lines that are done. Raises UserError if the parts were made from other lines."""
        before = ""
        for part in self:
            those = list(islice(lines, len(part.lengths)))
            before = fingerprint(before, those)
            if before != part.fingerprint or [len(line.tokens) for line in those] != part.lengths:
                raise UserError(
                    f"{source}: lines {part.first + 1:,} to {part.first + len(part.lengths):,} differ from those in "
                    f"{self.folder}. Give the same text to resume, or remove that folder to start again."
                )

    def tidy(self) -> None:
        """Remove files that a kill left unfinished."""
        kept = {self.values(number) for number in range(self.number)}
        kept |= {self.record(number) for number in range(self.number)}
        kept |= {self.folder / "settings.json", self.folder / "lock", self.data, self.state(self.number)}
        for path in {*self.folder.iterdir(), *self.data.iterdir()} - kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def clear(self) -> None:
        """Remove everything but the lock; settings.json, which marks the folder as ours, comes last."""
        shutil.rmtree(self.data, ignore_errors=True)
        for path in sorted(self.folder.iterdir(), key=lambda path: path.name == "settings.json"):
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def remove(self) -> None:
        """Remove the folder; the lock's file while the lock is held, so that no other process locks a deleted file."""
        self.clear()
        (self.folder / "lock").unlink(missing_ok=True)
        self.folder.rmdir()

    def _count(self, part: Part) -> None:
        self.number += 1
        self.sentences += len(part.lengths)
        self.tokens += sum(part.lengths)
        self.fingerprint = part.fingerprint


@reader
def read_part(path: Path) -> Part:
    """The record of a part. Raises UserError if it is damaged."""
    with reading(path, "the record of a part", ""):
        part = Part(**read_json(path))
        numbers = [part.first, part.bytes, *part.lengths]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("not whole numbers from 0")
        if part.texts is not None and (len(part.texts) != len(part.lengths) or set(map(type, part.texts)) - {str}):
            raise ValueError("not a text for each sentence")
        return part


@contextmanager
def open_parts(folder: Path, settings: dict[str, Any], *, suffix: str, overwrite: bool) -> Iterator[Parts]:
    """The parts in a folder, locked until the block ends; a folder without a finished part is removed then.

    Raises UserError if another process works here, if the folder cannot be written, and if the parts were made with
    other settings (with `overwrite` they are removed).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise UserError(f"{folder}: another process is writing this output. Wait for it, or stop it.") from None
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


@reader
def read_settings(path: Path) -> dict[str, Any]:
    """The settings of finished parts. Raises UserError if they are damaged."""
    with reading(path, "the settings of an output", f"Remove {path.parent} to start again."):
        found = read_json(path)
        if not isinstance(found, dict):
            raise TypeError("not a mapping")
        return found


def _agree(folder: Path, settings: dict[str, Any], suffix: str, overwrite: bool) -> None:
    """Check that a folder has these settings, or write them."""
    path = folder / "settings.json"
    if path.exists():
        old = read_settings(path)
        differing = [key for key in {**settings, **old} if old.get(key) != settings.get(key)]
        if not differing:
            return
        if not overwrite:
            was, now = (
                ", ".join(f"{key} {str(found.get(key))[:12]}" for key in differing) for found in (old, settings)
            )
            raise UserError(
                f"{folder}: made with {was}, now {now}. Give the same options to resume, or --overwrite to start again."
            )
        Parts(folder, suffix).clear()
    elif others := {file.name for file in folder.iterdir() if not file.name.startswith(".")} - {"lock"}:
        raise UserError(f"{folder}: this folder is needed, but has {min(others)}. Move that away.")
    with atomic_write(path, "w") as handle:
        json.dump(settings, handle)
