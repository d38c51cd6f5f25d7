"""C files, compiled for the machine that runs them: loops over time of recurrent layers, and what else needs C."""

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

FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
SHARED = Path(__file__).parent  # of loops.h
NUMBERS = {torch.float32: "float", torch.float64: "double"}


Loops = Callable[..., None]


def loops(source: Path, like: Tensor) -> Loops | None:
    """The loops over time in a C file; None where there is no `library`.

    They take a function's name, (batch, length, hidden), lengths int64 [B], the direction and contiguous arrays or
    None.
    """
    functions = library(source, like)

    def run(function: str, sizes: Sequence[int], lengths: Tensor, backwards: bool, *arrays: Tensor | None) -> None:
        pointers = [c_void_p(0 if array is None else array.data_ptr()) for array in arrays]
        assert all(array is None or array.is_contiguous() for array in arrays)
        done = getattr(functions, function)
        if not done(*map(c_long, sizes), c_void_p(lengths.data_ptr()), int(backwards), *pointers):
            raise MemoryError(f"{source.name}: no memory for a batch of {sizes[0]}")

    return None if functions is None else run


def library(source: Path, like: Tensor) -> CDLL | None:
    """The functions of a C file for the type of `like`; None on another device or in another type than `NUMBERS`.

    Without a compiler (`$CC`, else `cc`) it is None too, and a line says why.
    """
    real = NUMBERS.get(like.dtype)
    functions = _compiled(source, real) if real and like.device.type == "cpu" else None
    used(source.stem, "torch" if functions is None else "c")
    return functions


def compiler() -> list[str]:
    """The command in `$CC`, else `cc`; ValueError: its quotes are not closed."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


@cache
def _compiled(source: Path, real: str) -> CDLL | None:
    """It takes a third of a second, so nothing is kept for the next process."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, source.stem)
            command = [*compiler(), *FLAGS, f"-I{SHARED}", f"-DREAL={real}", "-o", str(made), str(source), "-lm"]
            subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
            return CDLL(str(made))
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        [why, *_] = [*str(getattr(error, "stderr", None) or error).splitlines(), str(error)]
        console.print(f"{source.name}: not compiled, so it is slower ({why})", highlight=False, markup=False)
        return None
