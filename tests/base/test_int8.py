"""int8 with scales: how far numbers move, and what a file holds."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import quantised, read_tensors

WIDE = torch.randn(64, 200, generator=torch.Generator().manual_seed(0)) * torch.logspace(-4, 4, 64)[:, None]


@pytest.mark.parametrize(("axis", "shape"), [(0, (64, 1)), (-1, (1, 200))])
def test_a_number_moves_by_at_most_half_a_step_of_its_output(tmp_path, axis, shape):
    save_file(quantised({"wide": WIDE, "bias": torch.arange(5.0)}, axis=axis), tmp_path / "x.safetensors")
    stored, read = load_file(tmp_path / "x.safetensors"), read_tensors(tmp_path / "x.safetensors")
    assert (stored["wide"].dtype, stored["wide.scale"].shape, stored["bias"].dtype) == (
        torch.int8, shape, torch.float16,
    )  # fmt: skip
    assert read.keys() == {"wide", "bias"}
    largest = WIDE.abs().amax(dim=1 + axis, keepdim=True)
    assert ((read["wide"] - WIDE).abs() <= 0.501 * largest / 127).all()
    assert torch.equal(read["bias"], torch.arange(5.0))


def test_convolutions_have_a_scale_for_each_filter_and_small_tensors_stay_floats():
    filters = torch.randn(1, 6, 16, 512)
    stored = quantised({"filters": filters, "few": filters[..., :8]}, axis=-1)
    assert stored["filters.scale"].shape == (1, 1, 1, 512)
    assert stored["few"].dtype == torch.float16
    assert "few.scale" not in stored


def test_numbers_that_are_not_finite_are_not_written():
    for value in (torch.nan, torch.inf):
        with pytest.raises(UserError, match=r"has numbers that torch\.int8 cannot hold"):
            quantised({"wide": torch.full((64, 200), value)})
    with pytest.raises(UserError, match="bias: has numbers"):
        quantised({"bias": torch.tensor([1e6])})
