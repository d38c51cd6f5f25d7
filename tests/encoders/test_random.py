"""`encoder=random`: ELMo's network before training, in the shape of the suite's weights; each seed draws its own."""

import math

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.encoders import random
from elmo_bench.runner.heads import build_stores
from elmo_bench.runner.plan import plan
from elmo_bench.runner.prepare import load_frozen
from elmo_bench.spec.names import load_encoder
from elmo_bench.text.chars import words_ids
from tests.runs import GOLDEN, described, first_ones

SENTENCES = [("The", "cat", "sat", "."), ("naïve",)]
SCALES = [2.0, 0.5, 3.0]


def load(seed=0, weights=str(GOLDEN), scales=SCALES, **options):
    return random.load(weights=weights, seed=seed, scales=scales, **options)


@pytest.fixture(scope="module")
def encoder():
    return load()


def test_its_numbers_are_those_that_bilm_tf_starts_from(encoder):
    bilm = encoder.bilm
    assert 0.9 < bilm.characters.embedding.abs().max() <= 1
    assert all(convolution.weight.abs().max() <= 0.05 for convolution in bilm.characters.convolutions)
    assert all((highway.carry.bias == -2).all() for highway in bilm.characters.highways)
    _, rows, columns = bilm.lstms[0].weight.shape
    bound = math.sqrt(6 / (rows + columns))  # Glorot and Bengio 2010, equation 16
    assert 0.95 * bound < bilm.lstms[0].weight.abs().max() <= bound
    assert not bilm.lstms[0].bias.any()


def test_its_layers_are_those_of_the_reference_times_their_scales(encoder):
    scales = torch.tensor(SCALES)[:, None, None]
    for words, layers in zip(SENTENCES, encoder.encode(SENTENCES), strict=True):
        expected, _ = encoder.bilm(torch.from_numpy(words_ids(["<S>", *words, "</S>"])))
        torch.testing.assert_close(layers, scales * expected[:, 1:-1], atol=1e-5, rtol=0)


def test_its_scales_are_used_on_another_device_and_remain_on_the_cpu(monkeypatch):
    """So a process without a GPU can read a pickled encoder.

    `meta` takes a GPU's place: it is a device without numbers, which every machine has.
    """
    encoder = load()
    monkeypatch.setattr(ElmoEncoder, "batch", lambda *_, markers: (torch.ones(2, 3, 4, 5, device="meta"), [4, 2]))
    layers, _ = encoder.batch(SENTENCES)
    assert layers.device.type == "meta"
    assert encoder.scales.device.type == "cpu"


@pytest.mark.parametrize("scales", [[1.0, 2.0], [1.0, 0, 2.0], [1.0, "x", 2.0], [1.0, math.nan, 2.0], None])
def test_each_layer_needs_a_scale(scales):
    with pytest.raises(UserError, match=r"^encoder\.contextual\.scales=.*: give 3 numbers above 0"):
        load(scales=scales)


def test_a_seed_gives_the_same_numbers_and_checksum_and_leaves_the_generator_alone(encoder):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    same, other = load(), load(1)
    assert torch.equal(torch.rand(3), expected)
    assert same.checksum == encoder.checksum
    assert torch.equal(same.encode(SENTENCES)[0], encoder.encode(SENTENCES)[0])
    assert other.checksum != encoder.checksum
    assert not torch.equal(other.encode(SENTENCES)[0], encoder.encode(SENTENCES)[0])
    with pytest.raises(UserError, match=r"^seed=9223372036854775808: "):
        load(2**63)


def test_its_identity_is_of_shape_and_scales(encoder):
    assert load(1).identity == encoder.identity != encoder.checksum
    assert load(weights="mini").identity != encoder.identity
    assert load(scales=[2.0, 0.5, 4.0]).identity != encoder.identity


@pytest.mark.parametrize("name", first_ones(["random", "random_only"], 1))
def test_seeds_share_the_spec_and_not_the_network(name):
    planned = plan([f"encoder={name}", "seed=0,1"]).runs
    assert planned[0].spec == planned[1].spec
    assert not any(key.endswith("seed") for key in planned[0].spec.settings if key.startswith("encoder"))
    given = [f"encoder={name}", f"encoder.weights={GOLDEN}", "store=ram"]
    runs = [described(*given, f"seed={seed}") for seed in (0, 1)]
    zero, one = (load_frozen(*run, ()) for run in runs)
    assert zero.contents == one.contents
    assert zero.checksums != one.checksums
    batches = []
    for (_, setup), frozen in zip(runs, (zero, one), strict=True):
        store = build_stores(setup, frozen.encoders)[""]
        store.fill(SENTENCES)
        batches.append((store._key(SENTENCES[0]), store.batch(SENTENCES)))
    assert batches[0][0] != batches[1][0]
    assert not torch.allclose(batches[0][1], batches[1][1])


def test_a_seed_of_the_options_is_not_replaced_by_that_of_the_run():
    given = {"kind": "random", "weights": str(GOLDEN), "scales": [1.0, 1.0, 1.0]}
    sums = [load_encoder(**given, **own).checksum for own in ({"seed": 3}, {"seed": 3, "run_seed": 5}, {"run_seed": 3})]
    assert len({*sums}) == 1
