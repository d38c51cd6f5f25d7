"""`encoder=random`: ELMo's network before training, in the shape of the suite's weights; each seed draws its own."""

import math
import shutil

import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.encoders import random
from elmo_bench.ledger import RunPaths
from elmo_bench.runner.prepare import load_frozen, shared_stores
from elmo_bench.runner.sweep import plan
from elmo_bench.spec.config import compose
from elmo_bench.text.chars import words_ids
from elmo_bench.text.sample import sample_sentences
from tests.runs import GOLDEN, described, run_small

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


def test_the_scales_of_the_yaml_make_its_layers_as_long_as_elmo_minis():
    """Of another text than the one that they were measured on; seeds differ, and the scales are the same for all."""
    scales = list(compose("config", ["encoder=random"]).encoder.contextual.scales)
    text = sample_sentences(100)
    elmo, *drawn = (
        torch.cat([layers.norm(dim=2) for layers in each.encode(text)], dim=1).mean(dim=1)
        for each in (ElmoEncoder(), *(load(seed, "mini", scales) for seed in range(4)))
    )
    torch.testing.assert_close(torch.stack(drawn).mean(dim=0), elmo, rtol=0.15, atol=0)
    for each in drawn:
        torch.testing.assert_close(each, elmo, rtol=0.25, atol=0)


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


def test_it_cannot_be_saved_under_the_name_of_trained_weights(encoder, tmp_path):
    with pytest.raises(UserError, match="were not read from files"):
        encoder.save_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["random", "random_only"])
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
        store = shared_stores(setup, frozen.encoders, "data")[""]
        store.fill(SENTENCES)
        batches.append((store._key(SENTENCES[0]), store.batch(SENTENCES)))
    assert batches[0][0] != batches[1][0]
    assert not torch.allclose(batches[0][1], batches[1][1])


def test_predict_draws_the_network_of_the_seed(tmp_path, capsys):
    given = (f"encoder.weights={GOLDEN}", "store=ram", "predictions=true", "encoder.words=null", "encoder.vectors=null")
    records = [run_small(tmp_path / "ledger", *given, f"seed={seed}", encoder="random") for seed in (0, 1)]
    assert records[0]["hash"] == records[1]["hash"]
    assert records[1]["spec"]["contents"]["weights"] == load(scales=[2.64, 5.8, 11.1]).identity
    zero, one = (RunPaths.of(tmp_path / "ledger", record) for record in records)
    text, out = one.work / "test.predictions.conll", tmp_path / "out.conll"
    command = ["predict", str(one.record), str(text), str(out), "--weights", str(GOLDEN)]
    assert main(command) == 0
    assert _predicted(out) == _predicted(text) != _predicted(zero.work / "test.predictions.conll")
    shutil.copy(zero.work / "head.safetensors", one.work)
    capsys.readouterr()
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "trained with other random numbers in its encoder" in said
    assert said.count("\n") == 1


def _predicted(path):
    return [line.split()[2:] for line in path.read_text(encoding="utf-8").splitlines()]
