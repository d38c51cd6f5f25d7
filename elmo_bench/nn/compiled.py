"""C files, compiled for this machine: time loops of recurrent layers, and others."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from ctypes import CDLL, c_long, c_void_p
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from elmo_bench.base.progress import console, used

FLAGS = (
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)
SHARED = Path(__file__).parent  # of loops.h
NUMBERS = {torch.float32: "float", torch.float64: "double"}


Loops = Callable[..., None]


def loops(source: Path, like: Tensor) -> Loops | None:
    """The time loops in a C file; None where there is no `library`.

    They take a function's name, (batch, length, hidden), lengths int64 [B], the
    direction, and contiguous arrays or None.
    """
    functions = library(source, like)
    if functions is None:
        return None

    def run(
        function: str,
        sizes: Sequence[int],
        lengths: Tensor,
        backwards: bool,
        *arrays: Tensor | None,
    ) -> None:
        loop = getattr(functions, function)
        numbers = [c_long(size) for size in sizes]
        pointers = [_pointer(array) for array in arrays]
        done = loop(*numbers, _pointer(lengths), int(backwards), *pointers)
        if not done:
            raise MemoryError(f"{source.name}: no memory for a batch of {sizes[0]}")

    return run


def library(source: Path, like: Tensor) -> CDLL | None:
    """The functions of a C file, for the type of `like`.

    None on another device than a CPU, in another type than `NUMBERS`, and without a
    compiler (`$CC`, else `cc`): then a message gives the reason.
    """
    functions = None
    real = NUMBERS.get(like.dtype)
    if real and like.device.type == "cpu":
        functions = _compiled(source, real, os.environ.get("CC", ""))
    used(source.stem, "torch" if functions is None else "c")
    return functions


def compiler(named: str) -> list[str]:
    """What `$CC` names, else `cc`. Raises ValueError if its quotes do not close."""
    return shlex.split(named) or ["cc"]


def _pointer(array: Tensor | None) -> c_void_p:
    """The address of a contiguous array; NULL for None."""
    if array is None:
        return c_void_p(0)
    assert array.is_contiguous()
    return c_void_p(array.data_ptr())


@cache
def _compiled(source: Path, real: str, named: str) -> CDLL | None:
    """The library. It takes a third of a second, so no file stays for later runs."""
    try:
        # On NFS the loaded library leaves a file, so the folder cannot be removed.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            library = Path(folder, source.stem)
            options = [*FLAGS, f"-I{SHARED}", f"-DREAL={real}"]
            files = ["-o", str(library), str(source), "-lm"]
            subprocess.run(
                [*compiler(named), *options, *files],
                check=True,
                capture_output=True,
                text=True,
                errors="replace",
            )
            return CDLL(str(library))
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", None)
        lines = str(output or error).splitlines()
        reason = lines[0] if lines else str(error)
        console.print(
            f"{source.name}: not compiled, so it is slower ({reason})",
            highlight=False,
            markup=False,
        )
        return None
