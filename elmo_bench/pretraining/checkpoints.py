"""The checkpoints of a training: files in a folder, named by their steps."""

from collections.abc import Mapping
from pathlib import Path
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


def read_newest(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The newest checkpoint that can be read, and its content; None if there is none.

    Raises UserError if all are damaged.
    """
    paths = sorted(folder.glob(CHECKPOINT), reverse=True)
    if not paths:
        return None
    *newer, oldest = paths
    for path in newer:
        try:
            return path, read_checkpoint(path, keys=KEYS)
        except UserError as damaged:
            console.print(
                f"{damaged} Trying the checkpoint before it.", highlight=False
            )
    return oldest, read_checkpoint(oldest, keys=KEYS)


def check_goes_on(folder: Path, same: Mapping[str, Any]) -> None:
    """`check_same` of the newest checkpoint that can be read, before the long work.

    It is silent where none can be read, which `read_newest` says when training starts.
    """
    for path in sorted(folder.glob(CHECKPOINT), reverse=True):
        try:
            state = read_checkpoint(path, keys=KEYS)
        except UserError:
            continue
        check_same(path, state, same)
        return


def check_same(path: Path, state: Mapping[str, Any], same: Mapping[str, Any]) -> None:
    """Raise UserError unless a checkpoint is of these weights, text and settings.

    same: what they are now, by name.
    """
    before = state["same"]
    for name, now in same.items():
        if before.get(name) != now:
            other = "text, tokenizer or recipe.vocabulary" if name == "text" else name
            raise UserError(
                f"{path}: from a training with other {other}. Resume with the same, or "
                f"remove {path.parents[1]}, or give another out=."
            )
