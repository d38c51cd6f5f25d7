"""Sentences and weights that both sides of a benchmark get."""

import json
import os
import random
from pathlib import Path
from typing import Any

import random_weights

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.elmo.export import export

SHAPES = ["mini", *random_weights.SHAPES]


def read_sentences(path: Path | None, count: int) -> list[list[str]]:
    """`count` distinct sentences, drawn with a fixed seed."""
    if path is None:
        root = os.environ.get("ELMO_BENCH_DATA")
        if not root:
            raise UserError("no text to encode: give --sentences FILE, or set ELMO_BENCH_DATA (see the README)")
        path = Path(root) / "wikipedia" / "heldout.txt.xz"
    lines = dict.fromkeys(line for _, line in read_lines(path) if line.strip())
    if len(lines) < count:
        raise UserError(f"{path}: {len(lines)} distinct sentences; --count asks for {count}")
    return [line.split() for line in random.Random(0).sample(list(lines), count)]


def write_weights(shape: str, folder: Path) -> dict[str, Any]:
    """The published layout in `folder`, for both sides; its options."""
    if shape == "mini":
        export("mini", folder)
        return json.loads((folder / "options.json").read_text(encoding="utf-8"))
    found = random_weights.options(*random_weights.SHAPES[shape])
    random_weights.write(folder, found, seed=0)
    return found
