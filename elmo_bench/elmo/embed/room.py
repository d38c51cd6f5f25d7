"""How much the disk has to hold, asked before it is full."""

import shutil
from pathlib import Path

from elmo_bench.base.errors import UserError


def check_room(folder: Path, needed: float, what: str) -> None:
    """Raises UserError where `folder`'s disk has less than `needed` bytes free; `what` says what they are for."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{what}: {readable(needed)} more are needed, and {folder} has {readable(free)} free; "
            "make room and start again, or write elsewhere"
        )


def readable(size: float) -> str:
    """Bytes as people say them: 1.5 GB is 1.5 * 10⁹."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
