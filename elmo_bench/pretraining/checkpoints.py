"""The checkpoints of a training: files in a folder, named by their steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_checkpoint, write_checkpoint
from elmo_bench.base.progress import console

CHECKPOINT = "[0-9]" * 8 + ".ckpt"
MOST = 2  # files, as in bilm-tf
# What `loop.Training` keeps in each.
KEYS = ("place", "seconds", "same", "curve", "recipes", "model", "optimizer")


def write(folder: Path, step: int, state: dict[str, Any]) -> None:
    """Write the checkpoint of a step; the newest checkpoints stay."""
    name = f"{step:08d}"
    write_checkpoint(folder / f"{name}.ckpt", state)
    paths = sorted(folder.glob(CHECKPOINT))
    up_to_now = [path for path in paths if path.stem <= name]
    newest = up_to_now[-MOST:]  # one of a later step is damaged
    for path in paths:
        if path not in newest:
            path.unlink()


def read_newest(
    folder: Path, same: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Path, dict[str, Any]] | None:
    """The newest checkpoint that can be read, and its content; None if there is none.

    same: weights, text and settings of the training that goes on, by name. Raises
    UserError if the checkpoint is of others, and if all are damaged.
    """
    paths = sorted(folder.glob(CHECKPOINT), reverse=True)
    if not paths:
        return None
    path, state = _first_readable(paths)
    before = state["same"]
    for name, now in same.items():
        if before.get(name) != now:
            other = "text, tokenizer or recipe.vocabulary" if name == "text" else name
            raise UserError(
                f"{path}: from a training with other {other}. Resume with the same, or "
                f"remove {folder.parent}, or give another out=."
            )
    return path, state


def _first_readable(paths: Sequence[Path]) -> tuple[Path, dict[str, Any]]:
    """The first checkpoint that can be read. Raises UserError if all are damaged."""
    *newer, oldest = paths
    for path in newer:
        try:
            return path, read_checkpoint(path, keys=KEYS)
        except UserError as damaged:
            console.print(
                f"{damaged} Trying the checkpoint before it.", highlight=False
            )
    return oldest, read_checkpoint(oldest, keys=KEYS)
