"""The part of SQuAD's training file that the open suite trains on."""

import json
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.tasks.squad.squad_json import read_json


def make(source: Path, path: Path, *, articles: int) -> None:
    """Write a SQuAD file of the first articles of another. Raises UserError."""
    whole = read_json(source)
    if not isinstance(whole, dict) or not isinstance(whole.get("data"), list):
        raise UserError(f"{source}: 'data' is not a list, so this is no SQuAD 1.1 file; delete it to fetch it anew")
    with atomic_write(path, "w") as handle:
        handle.write(json.dumps({**whole, "data": whole["data"][:articles]}, ensure_ascii=False) + "\n")
