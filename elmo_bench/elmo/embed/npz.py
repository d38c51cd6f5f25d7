"""A folder of npz shards: `00000.npz`, … with arrays "0", "1", … as in the HDF5 file, `index.json`, the mapping."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.elmo.embed.output import Shape, sentence_to_index, taken
from elmo_bench.elmo.embed.parts import Parts

OWN = re.compile(r"\d{5,}\.npz|index\.json|sentence_to_index\.json")


class NpzOutput:
    """Every part is a shard already; at the end their folder takes the output's name."""

    name, suffix = "npz", ".npz"
    per_sentence = 320  # headers of the zip file and of the array: at most 290 bytes
    twice = False

    def __init__(self, path: Path):
        self.path = path

    def check_free(self, *, overwrite: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; npz shards need a folder")
        found = {file.name for file in self.path.iterdir()} if self.path.exists() else set()
        if not all(map(OWN.fullmatch, found)):
            raise UserError(f"{self.path}: a folder with other things in it; name one that does not exist yet")
        if found and not overwrite:
            raise taken(self.path)

    def seal(self, values: Path, part: Path, *, first: int, lengths: Sequence[int], shape: Shape) -> None:
        shapes = [shape(tokens) for tokens in lengths]
        ends = np.cumsum([math.prod(form) for form in shapes])
        flat = np.memmap(values, dtype="<f4", mode="r") if ends[-1] else np.empty(0, dtype="<f4")
        arrays = [piece.reshape(form) for piece, form in zip(np.split(flat, ends[:-1]), shapes, strict=True)]
        named: dict[str, Any] = {str(first + row): array for row, array in enumerate(arrays)}
        with atomic_write(part) as handle:
            np.savez(handle, **named)
        values.unlink()

    def finish(self, parts: Parts, shape: Shape) -> int:
        mapping = sentence_to_index(parts)
        shards = [
            {"file": parts.values(number).name, "first": part.first, "sentences": len(part.lengths)}
            for number, part in enumerate(parts)
        ]
        for name, content in {"index.json": {"shards": shards}, "sentence_to_index.json": mapping}.items():
            if content is not None:
                with atomic_write(parts.data / name, "w") as handle:
                    json.dump(content, handle)
        if self.path.exists():
            self.path.rename(parts.folder / "old")
        parts.data.rename(self.path)
        return sum(file.stat().st_size for file in self.path.iterdir())
