"""Kinds of mixes: which layers reach the head, and which of their weights are trained."""

import math

import pytest
import torch

from elmo_bench import ScalarMix
from elmo_bench.base.errors import UserError
from elmo_bench.encoders.embedder import Embedder, mix_name

LAYERS = torch.arange(3.0).view(1, 3, 1, 1).expand(1, 3, 2, 4) + 1  # layer j is j + 1 everywhere
MASK = torch.ones(1, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"kind": "scalar"}, 2.0), ({"kind": "mean"}, 2.0), ({"kind": "first"}, 1.0), ({"kind": "last"}, 3.0),
        ({"kind": "layer", "layer": 0}, 1.0), ({"kind": "layer", "layer": 1}, 2.0),
        ({"kind": "layer", "layer": 2}, 3.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("gamma", [True, False])
def test_a_kind_starts_as_its_layers_and_trains_what_it_says(given, value, gamma):
    mix = ScalarMix(3, gamma=gamma, **given)
    torch.testing.assert_close(mix(LAYERS, MASK), torch.full((1, 2, 4), value))
    trained = {name for name, _ in mix.named_parameters()}
    assert trained == ({"gamma"} if gamma else set()) | ({"scalars"} if given["kind"] == "scalar" else set())
    assert mix.report()["gamma"] == 1.0
    assert mix.report()["norms"] == [0.0] * 3  # nothing was read in evaluation


@pytest.mark.parametrize("given", [{"kind": "layer"}, {"kind": "layer", "layer": 3}, {"kind": "layer", "layer": -1},
                                   {"kind": "last", "layer": 1}])  # fmt: skip
def test_a_layer_that_is_not_there_is_one_line(given):
    with pytest.raises(UserError, match="needs a whole number from 0 to 2"):
        ScalarMix(3, **given)


@pytest.mark.parametrize("scalars", [[1], ["a", "b", "c"], [0, 0, math.nan]])
def test_scalars_are_a_finite_number_for_each_layer(scalars):
    with pytest.raises(UserError, match="mix=fixed needs 3 numbers"):
        ScalarMix(3, kind="fixed", scalars=scalars)


def mix_of(*scalars):
    mix = ScalarMix(len(scalars), penalty=0.5)
    with torch.no_grad():
        mix.scalars.copy_(torch.tensor(scalars))
    return mix


def test_the_penalty_is_of_the_squares_of_every_mix():
    assert mix_of(1.0, 2.0, 3.0).regularisation().item() == pytest.approx(7)
    mixes = {mix_name("input", ""): mix_of(1.0, 2.0), mix_name("output", ""): mix_of(2.0, 2.0)}
    both = Embedder(words=None, characters=None, mixes=mixes, layer_dims={"": 4})
    assert both.regularisation().item() == pytest.approx(2.5 + 4)


def test_a_report_has_the_mean_norms_of_what_evaluation_read_since_the_last_one():
    layers = torch.randn(3, 2, 5, 4, generator=torch.manual_seed(0))
    mask = torch.arange(5) < torch.tensor([[5], [2], [3]])
    wanted = layers.norm(dim=3).transpose(1, 2)[mask].mean(dim=0).tolist()
    mix = ScalarMix(2)
    mix(layers, mask)
    assert mix.report()["norms"] == [0.0, 0.0]
    mix.eval()
    for rows in (slice(0, 1), slice(1, 3)):
        mix(layers[rows], mask[rows])
    assert mix.report()["norms"] == pytest.approx(wanted, rel=1e-6)
    assert mix.report()["norms"] == [0.0, 0.0]
    mix = ScalarMix(2, layer_norm="token").eval()
    mix(layers, mask)
    assert mix.report()["norms"] == pytest.approx([2.0, 2.0], rel=1e-4)
    assert mix.state_dict().keys() == {"gamma", "scalars"}
