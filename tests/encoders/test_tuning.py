"""`encoder.contextual.tune`: what is trained of an encoder, how it reads with it, and what cannot be tuned."""

import sys

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import untrained
from elmo_bench.encoders.elmo import load as load_elmo
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.hf_lora import prepare_training
from elmo_bench.encoders.tuning import Texts, TextSource, Tuned, _padded, source_of, tuned_part
from elmo_bench.spec.names import load_encoder
from tests.runs import GOLDEN
from tests.tiny_bert import BLOCKS, WIDTH

TEXTS = [("Anna", "lives", "here", "."), ("unbelievable",), ("a", "b", "a", "unbelievable", "b"), ("\u0007",)]
LONG = ["a", "unbelievable", "b"] * 30


def tuned_bert(tiny_bert, way, **options):
    pytest.importorskip("peft")
    return HfEncoder(weights=str(tiny_bert), tune=way, **options)


def tuned_elmo():
    return load_elmo(weights=str(GOLDEN), tune="full")


@pytest.fixture(params=["lora", "full", "elmo"])
def encoder(request, tiny_bert):
    return tuned_elmo() if request.param == "elmo" else tuned_bert(tiny_bert, request.param)


def frozen_like(encoder, tiny_bert):
    if isinstance(encoder, HfEncoder):
        return HfEncoder(weights=str(tiny_bert))
    return load_elmo(weights=str(GOLDEN))


def test_before_training_it_reads_as_the_frozen_one(encoder, tiny_bert):
    frozen = frozen_like(encoder, tiny_bert)
    assert encoder.checksum == frozen.checksum
    layers = encoder.tuned.eval()(TEXTS)
    assert not layers.requires_grad
    for row, text, expected in zip(layers, TEXTS, frozen.encode(TEXTS), strict=True):
        torch.testing.assert_close(row[:, : len(text)], expected, atol=1e-5, rtol=1e-5)
        assert not row[:, len(text) :].any()


def test_encode_is_of_the_numbers_as_they_are_now():
    encoder = tuned_elmo()
    encoder.encode(TEXTS)
    with torch.no_grad():
        for numbers in encoder.tuned.parameters():
            numbers.mul_(1.5)
    layers = encoder.tuned.eval()(TEXTS)
    for row, text, encoded in zip(layers, TEXTS, encoder.encode(TEXTS), strict=True):
        torch.testing.assert_close(row[:, : len(text)], encoded, atol=1e-5, rtol=1e-5)
    assert encoder.network.bilm is encoder.tuned.network  # no second copy


def test_padding_has_the_numbers_and_the_gradients_of_torch():
    torch.manual_seed(0)
    layers = [torch.randn(3, length, 4, requires_grad=True) for length in (2, 5, 1, 3)]
    weights = torch.randn(4, 3, 5, 4)
    by_token = [of_text.transpose(0, 1) for of_text in layers]
    expected = pad_sequence(by_token, batch_first=True).transpose(1, 2)
    padded = _padded(layers)
    assert torch.equal(padded, expected) and padded.stride() == expected.stride()
    ours, torchs = (torch.autograd.grad((x * weights).sum(), layers) for x in (padded, expected))
    assert all(map(torch.equal, ours, torchs))


def test_gradients_reach_every_number_that_is_trained_and_no_other(encoder):
    tuned = encoder.tuned.train()
    tuned(TEXTS).square().sum().backward()
    trained = dict(tuned.named_parameters())
    assert all(parameter.grad is not None for parameter in trained.values())
    assert tuned.count == sum(parameter.numel() for parameter in trained.values()) > 0
    assert tuned.state_dict().keys() == trained.keys()


def test_what_is_trained(tiny_bert):
    full = tuned_bert(tiny_bert, "full").tuned
    names = {name for name, _ in full.named_parameters()}
    assert "numbers.encoder/layer/0/attention/self/query/weight" in names
    assert not [name for name in names if "pooler" in name]
    assert full.frozen == WIDTH * WIDTH + WIDTH  # of the pooler, which no layer depends on
    lora = tuned_bert(tiny_bert, "lora").tuned
    assert lora.count == BLOCKS * 2 * 2 * 8 * WIDTH  # two matrices for query and value, rank 8
    assert all("lora_" in name for name, _ in lora.named_parameters())
    elmo = tuned_elmo()
    assert (elmo.tuned.count, elmo.tuned.frozen) == (elmo.parameters, 0)


def test_dropout_is_the_encoders_and_only_while_it_learns(tiny_bert):
    tuned = tuned_bert(tiny_bert, "full").tuned
    calm = tuned.eval()(TEXTS)
    tuned.train()
    assert not torch.equal(tuned(TEXTS), tuned(TEXTS))
    tuned.rests = True
    rested = tuned(TEXTS)
    assert torch.equal(rested, calm)
    assert not rested.requires_grad


def test_adapters_are_drawn_with_the_seed_and_leave_other_draws_alone(tiny_bert):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    ones = [tuned_bert(tiny_bert, "lora", seed=seed).tuned.state_dict() for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(3), expected)
    first = next(name for name in ones[0] if "lora_A" in name)
    assert torch.equal(ones[0][first], ones[1][first])
    assert not torch.equal(ones[0][first], ones[2][first])


def test_a_long_text_is_tuned_in_parts(tiny_bert):
    tuned = tuned_bert(tiny_bert, "full").tuned
    layers = tuned([LONG])
    assert layers.shape == (1, BLOCKS + 1, 90, WIDTH)
    assert layers.requires_grad


def test_a_batch_is_read_with_little_padding(tiny_bert, monkeypatch):
    encoder = tuned_bert(tiny_bert, "full")
    read = []
    forward = encoder._forward

    def watched(ids, mask):
        read.append((ids.numel(), int(mask.sum())))
        return forward(ids, mask)

    monkeypatch.setattr(encoder, "_forward", watched)
    words = ["dog", "saw", "cats"]
    texts = [[words[(count + place) % 3] for place in range(7 * count % 41)] for count in range(1, 41)]
    layers = encoder.tuned.eval()(texts)
    assert layers.shape[:3] == (40, BLOCKS + 1, 40)
    padded, inside = (sum(counts) for counts in zip(*read, strict=True))
    assert inside < padded < 1.2 * inside  # 1.8 if all were read at once
    for text, of_text in zip(texts, layers, strict=True):
        torch.testing.assert_close(of_text[:, : len(text)], encoder.tuned([text])[0], atol=1e-5, rtol=1e-5)


def test_texts_are_read_once_and_their_rows_anew():
    tuned = tuned_elmo().tuned.train()
    texts = Texts(TEXTS[:3])
    layers = texts.layers(tuned)
    assert texts.layers(tuned) is layers
    rows = torch.tensor([True, False, True])
    some = texts[rows, :, :5].layers(tuned)
    torch.testing.assert_close(some, layers[rows, :, :5], atol=1e-5, rtol=1e-5)


def test_no_layer_is_stored(tmp_path):
    source = source_of(tuned_elmo(), mode="disk", folder=tmp_path)
    assert isinstance(source, TextSource)
    source.fill(TEXTS)
    assert not list(tmp_path.iterdir())
    assert source.batch(TEXTS).sentences == TEXTS


def test_no_stack_is_tuned():
    with pytest.raises(UserError, match="an encoder of a stack cannot be tuned"):
        tuned_part({"a": tuned_elmo(), "b": load_elmo(weights=str(GOLDEN))})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tune": "lora"}, "ELMo has no attention"),
        ({"tune": "most"}, "tune=most: unknown"),
        ({"tune": "full", "stateful": True}, "not for an ELMo that carries states"),
        ({"tune": "full", "context": False}, "not for an ELMo that reads one word at a time"),
        ({"tune": "full", "precision": "int8"}, "precision=int8: for a frozen encoder"),
    ],
)
def test_elmo_refuses(options, said):
    with pytest.raises(UserError, match=said):
        load_elmo(weights=str(GOLDEN), **options)


def test_a_transformer_refuses(tiny_bert, monkeypatch):
    with pytest.raises(UserError, match="tune=most: unknown"):
        HfEncoder(weights=str(tiny_bert), tune="most")
    with pytest.raises(UserError, match="precision=bfloat16: for a frozen encoder"):
        HfEncoder(weights=str(tiny_bert), tune="full", precision="bfloat16")
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UserError, match=r"peft is not installed. Run pip install 'elmo-bench\[adapters\]'"):
        HfEncoder(weights=str(tiny_bert), tune="lora")


def test_a_network_without_query_and_value_has_no_adapters(tmp_path):
    """GPT-2 has one matrix for query, key and value."""
    pytest.importorskip("peft")
    network = torch.nn.Sequential(torch.nn.Linear(4, 4))
    with pytest.raises(UserError, match="mine has no attention whose projections"):
        prepare_training(network, "lora", name="mine", seed=0)


@pytest.mark.parametrize("kind", ["random", "precomputed", "cove"])
def test_other_kinds_cannot_be_tuned(kind):
    with pytest.raises(UserError, match=f"tune=full: an encoder of kind {kind} cannot be tuned"):
        load_encoder(kind, tune="full", weights="mini")


def test_numbers_that_three_short_texts_do_not_reach_stay_frozen_with_a_note(capsys):
    network = torch.nn.ModuleDict({name: torch.nn.Linear(2, 2) for name in ("read", "expert", "pooler")})
    tuned = Tuned(network, lambda _: [network["read"](torch.ones(1, 1, 2))], way="full")
    assert (tuned.count, tuned.frozen) == (6, 12)
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("encoder.contextual.tune: 6 numbers stay frozen, because no layer of a few short")


def draw_elmo():
    untrained(BiLMOptions.from_file(GOLDEN / "options.json"), seed=1)


def draw_adapters():
    pytest.importorskip("peft")
    network = torch.nn.ModuleDict({name: torch.nn.Linear(4, 4) for name in ("query", "value")})
    prepare_training(network, "lora", name="mine", seed=1)


@pytest.mark.parametrize("draw", [draw_elmo, draw_adapters])
def test_the_generator_of_a_gpu_is_left_alone(draw, monkeypatch):
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    draw()
    assert seeds == []
