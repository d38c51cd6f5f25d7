"""What a child process needs to run the code of this one."""

import os
import sys


def import_path() -> dict[str, str]:
    """Environment variables with which a child process imports from the same folders as this process, in their order.

    Without them `python -m` looks in the current folder first, where another elmo_bench or a `random.py` may be.
    """
    path = os.pathsep.join(map(os.path.abspath, sys.path))  # "" is the current folder
    return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
