import pytest

from elmo_bench.elmo.kernels import packed


def needs(precision):
    """Skip a test of a precision that this CPU cannot compute."""
    if not packed.works(precision):
        pytest.skip(f"this CPU has no instructions for {precision}")
