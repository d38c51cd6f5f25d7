"""Numbers below 1.2e-38 are zeros within the block alone, whether it ends or fails."""

import pytest
import torch

from elmo_bench.base.machine import subnormals_as_zeros


def half_of_the_smallest():
    return (torch.full((9,), torch.finfo(torch.float32).tiny) / 2).any().item()


def test_within_the_block_alone():
    assert half_of_the_smallest()
    with subnormals_as_zeros():
        assert not half_of_the_smallest()
        with subnormals_as_zeros():
            pass
        assert not half_of_the_smallest()
    assert half_of_the_smallest()
    with pytest.raises(KeyError), subnormals_as_zeros():
        raise KeyError
    assert half_of_the_smallest()
