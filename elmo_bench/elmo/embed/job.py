"""Embedding a whole input: read, encode part by part, put together; taken up again where it stopped."""

import math
import time
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import torch

from elmo_bench.base.checkpoints import read_checkpoint
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import Meter, console, progress
from elmo_bench.elmo.embed import plan
from elmo_bench.elmo.embed.lines import MAPPED, Line, Totals, read
from elmo_bench.elmo.embed.memory import bound, give_back
from elmo_bench.elmo.embed.modes import Mode
from elmo_bench.elmo.embed.output import Output
from elmo_bench.elmo.embed.parts import Parts
from elmo_bench.elmo.embed.room import check_room, readable
from elmo_bench.elmo.encoder import ElmoEncoder

TEXT_BYTES = 16  # of a token in `sentence_to_index` and in the records, amply
FILE_BYTES = 16_384  # of an output with next to nothing in it


@dataclass(frozen=True)
class Job:
    """What to embed and how; `batch` sentences at once in file order, or None for pools of similar lengths."""

    source: Path
    output: Output
    encoder: ElmoEncoder
    mode: Mode
    batch: int | None
    totals: Totals | None  # None: not known before the end is read

    def run(self, parts: Parts) -> str:
        """Go on behind the parts that are there, to the end; a line that says what was done.

        Raises UserError where the input is empty, is not the one that the parts were made of, or does not fit the disk.
        """
        started = time.monotonic()
        bound(self.encoder)
        if self.totals:
            self._check_room(parts, self.totals)
        lines = read(self.source)
        parts.skip(lines, self.source)
        before = parts.sentences
        if before and self.encoder.stateful:
            self.encoder.states = read_checkpoint(parts.state(parts.number))["states"]
        with progress("embed", total=self.totals.sentences if self.totals else None, done=before) as meter:
            if before:
                meter.say(f"going on behind {before:,} sentences in {parts.folder}")
            for part in plan.parts(lines, self.batch):
                if not self.totals:
                    tokens = parts.tokens + sum(len(line.tokens) for line in part)
                    self._check_room(parts, Totals(parts.sentences + len(part), tokens))
                self._embed(part, parts, meter)
            rate = meter.tokens_per_second
        if not parts.sentences:
            raise UserError(f"{self.source}: no line in it; one tokenised sentence a line is expected")
        self._tell_empty(parts)
        size = self.output.finish(parts, self._shape)
        parts.remove()
        return (
            f"{self.output.path}: {parts.sentences:,} sentences, {parts.tokens:,} tokens, {readable(size)}; "
            f"{time.monotonic() - started:,.1f} s" + (f", {rate:,.0f} tokens/s" if rate else "")
            + (f" ({before:,} sentences were done before)" if before else "")
        )  # fmt: skip

    def _embed(self, part: list[Line], parts: Parts, meter: Meter) -> None:
        """Encode and write one part. A pool is all that is in memory."""
        lengths = [len(line.tokens) for line in part]
        starts = [0, *accumulate(4 * math.prod(self._shape(tokens)) for tokens in lengths)]
        values = parts.folder / "values.f32"
        with atomic_write(values) as handle:
            for pool in plan.pools(lengths, self.batch):
                for row, layers in zip(pool, self.encoder.encode([part[row].tokens for row in pool]), strict=True):
                    handle.seek(starts[row])
                    handle.write(self.mode(layers).contiguous().numpy())
                meter.advance(sum(lengths[row] for row in pool), steps=len(pool))
        where = parts.values(parts.number)
        self.output.seal(values, where, first=parts.sentences, lengths=lengths, shape=self._shape)
        if self.encoder.stateful:
            with atomic_write(parts.state(parts.number + 1)) as handle:
                torch.save({"states": self.encoder.states}, handle)
        parts.commit(part)
        give_back()

    def _shape(self, tokens: int) -> tuple[int, ...]:
        return self.mode.shape(self.encoder.layers, tokens, self.encoder.dim)

    def _bytes(self, sentences: int, tokens: int) -> int:
        values = 4 * math.prod(self._shape(tokens))
        text = TEXT_BYTES * tokens if sentences <= MAPPED else 0
        return values + text + self.output.per_sentence * sentences + FILE_BYTES

    def _check_room(self, parts: Parts, totals: Totals) -> None:
        """Raises UserError where the disk cannot hold the output of `totals` and what it is made from."""
        whole = self._bytes(*totals)
        missing = whole - self._bytes(parts.sentences, parts.tokens)
        part = min(missing, self._bytes(plan.PART_SENTENCES, plan.PART_TOKENS))
        needed = missing + (whole if self.output.twice else part)
        also = " and, until it is whole, its parts as much again" if self.output.twice else ""
        check_room(parts.folder, needed, f"{self.output.path} takes {readable(whole)}{also}")

    def _tell_empty(self, parts: Parts) -> None:
        empty, first = 0, 0
        for part in parts:
            if found := part.lengths.count(0):
                first = first or part.first + part.lengths.index(0) + 1
                empty += found
        if empty:
            console.print(
                f"{self.source}: {empty:,} empty lines, the first is line {first:,}: each has its index and no tokens",
                highlight=False,
            )
