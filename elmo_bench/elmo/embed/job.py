"""Embed a whole input: read it, encode it part by part, write the output; resume where a run stopped."""

import contextlib
import ctypes
import math
import shutil
import time
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from rich.filesize import decimal as readable

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_checkpoint, write_checkpoint
from elmo_bench.base.progress import Meter, console, progress
from elmo_bench.base.reading import reading
from elmo_bench.elmo.embed import lines
from elmo_bench.elmo.embed.lines import Line, Totals
from elmo_bench.elmo.embed.modes import Mode
from elmo_bench.elmo.embed.outputs import Output
from elmo_bench.elmo.embed.parts import Parts
from elmo_bench.elmo.encoder import ElmoEncoder

WORDS = 2**16  # vectors to remember: full after about a million tokens of natural language
TEXT_BYTES = 16  # of a token in `sentence_to_index` and in the records, at most
FILE_BYTES = 16_384  # of an output with almost no values


@dataclass(frozen=True)
class Job:
    """What to embed and how; `batch` sentences at once in file order, or None for pools of similar lengths."""

    source: Path
    output: Output
    encoder: ElmoEncoder
    mode: Mode
    batch: int | None
    totals: Totals | None  # None: not known before the end of the input

    def run(self, parts: Parts) -> str:
        """Embed what follows the finished parts; returns a line about the work done.

        Raises UserError if the input is empty or differs from the parts' input, or if the disk is too small.
        """
        started = time.monotonic()
        vectors = self.encoder.frozen.vectors
        vectors.limit = min(vectors.limit, WORDS)  # so that memory stays flat over hours
        if self.totals:
            self._check_room(parts, self.totals)
        rest = lines.read(self.source)
        parts.skip(rest, self.source)
        before = parts.sentences
        if before and self.encoder.stateful:
            path = parts.state(parts.number)
            with reading(path, "the state of the encoder", "Give --overwrite to start again."):
                self.encoder.states = read_checkpoint(path)["states"]
        with progress("embed", total=self.totals.sentences if self.totals else None, done=before) as meter:
            if before:
                meter.say(f"resuming after {before:,} sentences in {parts.folder}")
            for part in lines.parts(rest, self.batch):
                if not self.totals:
                    tokens = parts.tokens + sum(len(line.tokens) for line in part)
                    self._check_room(parts, Totals(parts.sentences + len(part), tokens))
                self._embed(part, parts, meter)
            rate = meter.tokens_per_second
        if not parts.sentences:
            raise UserError(f"{self.source}: no lines. Give one tokenised sentence per line.")
        self._tell_empty(parts)
        size = self.output.finish(parts, self._shape)
        parts.remove()
        return (
            f"{self.output.path}: {parts.sentences:,} sentences, {parts.tokens:,} tokens, {readable(size)}; "
            f"{time.monotonic() - started:,.1f} s" + (f", {rate:,.0f} tokens/s" if rate else "")
            + (f" ({before:,} sentences were done before)" if before else "")
        )  # fmt: skip

    def _embed(self, part: list[Line], parts: Parts, meter: Meter) -> None:
        """Encode and write one part, with one pool in memory at a time."""
        lengths = [len(line.tokens) for line in part]
        starts = [0, *accumulate(4 * math.prod(self._shape(tokens)) for tokens in lengths)]
        values = parts.folder / "values.f32"
        with atomic_write(values) as handle:
            for pool in lines.pools(lengths, self.batch):
                for row, layers in zip(pool, self.encoder.encode([part[row].tokens for row in pool]), strict=True):
                    handle.seek(starts[row])
                    handle.write(self.mode(layers).contiguous().cpu().numpy())
                meter.advance(sum(lengths[row] for row in pool), steps=len(pool))
        where = parts.values(parts.number)
        self.output.seal(values, where, first=parts.sentences, lengths=lengths, shape=self._shape)
        if self.encoder.stateful:
            write_checkpoint(parts.state(parts.number + 1), {"states": self.encoder.states})
        parts.commit(part)
        with contextlib.suppress(AttributeError, OSError, TypeError):  # glibc alone keeps, and returns, freed memory
            ctypes.CDLL(None).malloc_trim(0)

    def _shape(self, tokens: int) -> tuple[int, ...]:
        return self.mode.shape(self.encoder.layers, tokens, self.encoder.dim)

    def _bytes(self, sentences: int, tokens: int) -> int:
        values = 4 * math.prod(self._shape(tokens))
        text = TEXT_BYTES * tokens if sentences <= lines.MAPPED else 0
        return values + text + self.output.per_sentence * sentences + FILE_BYTES

    def _check_room(self, parts: Parts, totals: Totals) -> None:
        """Raises UserError if the disk cannot hold the output of `totals` and its parts."""
        whole = self._bytes(*totals)
        missing = whole - self._bytes(parts.sentences, parts.tokens)
        part = min(missing, self._bytes(lines.PART_SENTENCES, lines.PART_TOKENS))
        needed = missing + (whole if self.output.twice else part)
        also = " and, until it is complete, its parts as much again" if self.output.twice else ""
        check_room(parts.folder, needed, f"{self.output.path} takes {readable(whole)}{also}")

    def _tell_empty(self, parts: Parts) -> None:
        empty, first = 0, 0
        for part in parts:
            if found := part.lengths.count(0):
                first = first or part.first + part.lengths.index(0) + 1
                empty += found
        if empty:
            console.print(
                f"{self.source}: {empty:,} empty lines, the first is line {first:,}; their output has no tokens",
                highlight=False,
            )


def check_room(folder: Path, needed: int, what: str) -> None:
    """Raises UserError if the disk of `folder` has less than `needed` bytes free for `what`."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{what}: {readable(needed)} more are needed, {folder} has {readable(free)} free. "
            "Make room, or write elsewhere."
        )
