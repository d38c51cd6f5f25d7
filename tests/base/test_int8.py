"""int8 with scales: how far numbers move, what a file holds, and one line for each damaged file."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import quantised, read_tensors, write_int8

WIDE = torch.randn(64, 200, generator=torch.Generator().manual_seed(0)) * torch.logspace(-4, 4, 64)[:, None]


@pytest.mark.parametrize(("axis", "shape"), [(0, (64, 1)), (-1, (1, 200))])
def test_a_number_moves_by_at_most_half_a_step_of_its_output(tmp_path, axis, shape):
    write_int8(tmp_path / "x.safetensors", {"wide": WIDE, "bias": torch.arange(5.0)}, axis=axis)
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


def test_an_output_of_zeros_stays_zero(tmp_path):
    write_int8(tmp_path / "x.safetensors", {"wide": torch.zeros(64, 200)})
    assert not read_tensors(tmp_path / "x.safetensors")["wide"].any()


def test_numbers_that_are_not_finite_are_not_written():
    for value in (torch.nan, torch.inf):
        with pytest.raises(UserError, match="wide: has numbers that int8 with scales cannot hold"):
            quantised({"wide": torch.full((64, 200), value)})
    with pytest.raises(UserError, match="bias: has numbers"):
        quantised({"bias": torch.tensor([1e6])})


def test_floats_of_any_type_are_read(tmp_path):
    kinds = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    save_file({str(kind): torch.ones(3, dtype=kind) for kind in kinds}, tmp_path / "x.safetensors")
    assert all(torch.equal(tensor, torch.ones(3)) for tensor in read_tensors(tmp_path / "x.safetensors").values())


I8 = torch.ones(4, 3, dtype=torch.int8)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"w": I8}, "'w' is int8 without '.scale'"),
        ({"w": I8, "w.scale": torch.full((4, 1), torch.nan)}, "'w' has numbers that are not finite"),
        ({"w": I8, "w.scale": torch.ones(4)}, r"'w' of shape \[4, 3\] has a scale of shape \[4\]"),
        ({"w": I8, "w.scale": torch.ones(3, 1)}, r"has a scale of shape \[3, 1\]"),
        ({"w": I8, "w.scale": torch.ones(4, 1, dtype=torch.int32)}, "in torch.int32"),
        ({"w": I8.int()}, "'w' holds torch.int32, expected floating-point numbers or int8"),
        ({"w": I8.bool()}, "'w' holds torch.bool"),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path, tensors, message):
    save_file(tensors, tmp_path / "x.safetensors")
    with pytest.raises(UserError, match=message) as raised:
        read_tensors(tmp_path / "x.safetensors")
    assert str(raised.value).startswith(f"{tmp_path}/x.safetensors: ")
    assert "\n" not in str(raised.value)


def test_a_cut_or_missing_file_is_one_line(tmp_path):
    write_int8(tmp_path / "x.safetensors", {"wide": WIDE})
    whole = (tmp_path / "x.safetensors").read_bytes()
    for content in (whole[:-10], whole[:20], b"", b"not a safetensors file"):
        (tmp_path / "x.safetensors").write_bytes(content)
        with pytest.raises(UserError, match=r"x.safetensors: not a readable safetensors file"):
            read_tensors(tmp_path / "x.safetensors")
    with pytest.raises(UserError, match="no such file"):
        read_tensors(tmp_path / "y.safetensors")
