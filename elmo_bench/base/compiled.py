"""C files of the package, compiled for the machine that runs them."""

import ctypes
import os
import shlex
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from elmo_bench.base.progress import console

FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")


@cache
def compiled(source: Path, real: str) -> ctypes.CDLL | None:
    """The functions of a C file in which REAL is `real`, float or double. None, and a line that says why, without them.

    The compiler is `$CC`, else `cc`. It takes a third of a second, so nothing is kept for the next process.
    """
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, source.stem)
        command = [*compiler, *FLAGS, f"-DREAL={real}", "-o", str(library), str(source), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
            return ctypes.CDLL(str(library))
        except (OSError, subprocess.CalledProcessError) as error:
            [why, *_] = [*str(getattr(error, "stderr", None) or error).splitlines(), str(error)]
            console.print(f"{source.name}: not compiled, so it is slower ({why})", highlight=False, markup=False)
            return None
