"""Memory that stays with the process between training steps."""

import ctypes

# Of glibc's malloc.h. A block above the first limit is mapped from the system, and given back when it is freed; the end
# of the heap is given back when more than the second is free there.
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
BLOCK, HEAP = 2**25, 2**29  # bytes; 32 MiB is the largest first limit that every version accepts


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of freed memory for the next tensors; does nothing without glibc.

    By default most tensors above 128 KiB are mapped afresh, and the system clears each of their pages at its first use,
    which took a tenth of a training step (benchmarks/README.md). No number changes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return
    mallopt(MMAP_THRESHOLD, BLOCK)
    mallopt(TRIM_THRESHOLD, HEAP)
