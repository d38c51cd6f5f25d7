"""Whether a training multiplies in bfloat16 or in float32: `precision=auto` takes the faster one on this device.

Processors without bfloat16 instructions convert every number, which makes products several times slower.
"""

import os
import time

import torch
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console

ROWS, SIZE, TIMES = 1024, 512, 5  # a batch of words, as wide as the projections of elmo-mini
CHOSEN = "ELMO_BENCH_PRECISION"  # the choice of the first process, for the processes that it starts


def choose_precision(given: str, *, device: str, bfloat16: str, float32: str, kept: str | None) -> str:
    """`given`, unless it is `auto`: then `kept`, the precision of the checkpoint to resume, or else the faster one.

    bfloat16, float32: what the recipe calls them. Prints what it chooses.
    """
    if given != "auto":
        return given
    if kept not in (None, bfloat16, float32):
        raise UserError(f"the checkpoint's precision is {kept!r}. Give {bfloat16} or {float32} instead of auto.")
    if kept is None and int(os.environ.get("LOCAL_RANK", "0")):  # set by Lightning
        kept = os.environ.get(CHOSEN)
    if kept is None:
        times = measure(torch.bfloat16, device) / measure(torch.float32, device)
        kept = bfloat16 if times < 1 else float32
        console.print(
            f"precision={kept}: a product takes {times:.1f} times as long in bfloat16 as in float32", highlight=False
        )
    else:
        console.print(f"precision={kept}, as before", highlight=False)
    os.environ[CHOSEN] = kept
    return kept


def measure(dtype: torch.dtype, device: str) -> float:
    """Seconds of a product of float32 numbers under autocast to `dtype`, at best.

    On a CPU they are the processor's, which other work on the machine changes little.
    """
    x, weight = torch.randn(ROWS, SIZE, device=device), torch.randn(SIZE, SIZE, device=device)
    best = float("inf")
    for _ in range(1 + TIMES):  # the first one warms up
        started = _now(device)
        with torch.autocast(device, torch.bfloat16, enabled=dtype == torch.bfloat16):
            functional.linear(x, weight)
        best = min(best, _now(device) - started)
    return best


def _now(device: str) -> float:
    if device != "cuda":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()
