"""`encoder=random`: ELMo's network before training, in the shape of the suite's weights."""

import math

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.pretrained import load_bilm
from elmo_bench.encoders import random
from elmo_bench.ledger import check_record
from elmo_bench.text.chars import words_ids
from tests.runs import GOLDEN, run_small

SENTENCES = [("The", "cat", "sat", "."), ("naïve",)]


@pytest.fixture(scope="module")
def encoder():
    return random.load(weights=str(GOLDEN))


def test_it_has_the_shape_of_the_weights_and_none_of_their_numbers(encoder):
    trained, _ = load_bilm(str(GOLDEN))
    ours, theirs = dict(encoder.bilm.named_parameters()), dict(trained.named_parameters())
    assert {name: tensor.shape for name, tensor in ours.items()} == {n: t.shape for n, t in theirs.items()}
    assert not any(torch.equal(ours[name], theirs[name]) for name in ours if "convolutions" not in name)
    assert encoder.bilm.options == trained.options
    assert encoder.parameters == sum(tensor.numel() for tensor in theirs.values())
    assert not any(tensor.requires_grad for tensor in ours.values())


def test_its_numbers_are_those_that_bilm_tf_starts_from(encoder):
    bilm = encoder.bilm
    assert 0.9 < bilm.characters.embedding.abs().max() <= 1
    assert all(convolution.weight.abs().max() <= 0.05 for convolution in bilm.characters.convolutions)
    assert all((highway.carry.bias == -2).all() for highway in bilm.characters.highways)
    _, rows, columns = bilm.lstms[0].weight.shape
    bound = math.sqrt(6 / (rows + columns))  # Glorot and Bengio 2010, equation 16
    assert 0.95 * bound < bilm.lstms[0].weight.abs().max() <= bound
    assert not bilm.lstms[0].bias.any()


def test_its_layers_are_those_of_the_reference(encoder):
    for words, layers in zip(SENTENCES, encoder.encode(SENTENCES), strict=True):
        expected, _ = encoder.bilm(torch.from_numpy(words_ids(["<S>", *words, "</S>"])))
        torch.testing.assert_close(layers, expected[:, 1:-1], atol=1e-5, rtol=0)


def test_a_seed_gives_the_same_numbers_and_checksum_and_leaves_the_generator_alone(encoder):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    same, other = random.load(weights=str(GOLDEN)), random.load(weights=str(GOLDEN), seed=1)
    assert torch.equal(torch.rand(3), expected)
    assert same.checksum == encoder.checksum
    assert torch.equal(same.encode(SENTENCES)[0], encoder.encode(SENTENCES)[0])
    assert other.checksum != encoder.checksum
    assert not torch.equal(other.encode(SENTENCES)[0], encoder.encode(SENTENCES)[0])
    assert random.load(weights="mini").checksum != encoder.checksum


def test_it_cannot_be_saved_under_the_name_of_trained_weights(encoder, tmp_path):
    with pytest.raises(UserError, match="were not read from files"):
        encoder.save_pretrained(tmp_path)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_has_its_own_contents_and_layer_weights(tmp_path, encoder, seed):
    shape = (f"encoder.weights={GOLDEN}", f"encoder.contextual.seed={seed}", "store=ram")
    record = run_small(tmp_path, *shape, encoder="random")
    check_record(record)
    assert record["spec"]["encoder"] == "random"
    assert record["spec"]["settings"]["encoder.contextual.seed"] == seed
    assert (record["spec"]["contents"]["weights"] == encoder.checksum) == (seed == 0)
    assert len(record["layer_weights"][0]["input"]["weights"]) == 3
