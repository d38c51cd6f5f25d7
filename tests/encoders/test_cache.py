"""The layer store: what it gives back is what the encoder computes, from wherever it comes."""

import numpy as np
import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.base.memory import free_gpu_memory
from elmo_bench.encoders import cache
from elmo_bench.encoders.cache import LayerStore
from tests.word_encoder import WordEncoder, sentences

TEXTS = sentences(200)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """`store(mode, encoder=…, **options) -> LayerStore`, several files of about 300 tokens in `tmp_path / "layers"`."""
    monkeypatch.setattr(cache, "TOKENS_AT_ONCE", 300)

    def store(mode="disk", encoder=None, **options):
        if mode in ("auto", "disk"):
            options = {"folder": tmp_path / "layers"} | options
        return LayerStore(encoder or WordEncoder(), mode=mode, **options)

    return store


def batch_of(encoder, texts):
    """What a batch must be, put together by numpy."""
    expected = np.zeros((len(texts), encoder.layers, max(map(len, texts)), encoder.dim), dtype=np.float32)
    for row, layers in zip(expected, encoder.encode(texts), strict=True):
        row[:, : layers.shape[1]] = layers.numpy()
    return torch.from_numpy(expected)


@pytest.mark.parametrize("mode", ["auto", "disk", "ram", "off"])
def test_a_batch_is_what_the_encoder_computes_padded_with_zeros(store, mode):
    encoder = WordEncoder()
    layers = store(mode, encoder)
    layers.fill(iter(TEXTS[:150] + TEXTS[:10]))
    layers.fill(TEXTS[100:])
    layers.batch(TEXTS)
    assert sorted(encoder.asked) == sorted(TEXTS)  # nothing is computed twice
    for texts in (TEXTS[:32], TEXTS[32:33], [TEXTS[5], TEXTS[5], TEXTS[6]], sentences(3, seed=9)):
        batch = layers.batch(texts)
        assert batch.dtype == torch.float32
        assert torch.equal(batch, batch_of(WordEncoder(), texts))


@pytest.mark.parametrize("mode", ["auto", "disk"])
def test_another_process_finds_what_is_on_disk(store, mode):
    store(mode).fill(TEXTS)
    encoder = WordEncoder()
    later = store(mode, encoder)
    later.fill(reversed(TEXTS))
    assert torch.equal(later.batch(TEXTS), batch_of(WordEncoder(), TEXTS))
    assert encoder.asked == []


@pytest.mark.parametrize(
    "change",
    [
        {"encoder": WordEncoder(checksum="other weights")}, {"encoder": WordEncoder(dim=4)},
        {"variant": "another option"},
    ],
    ids=["weights", "options", "variant"],
)  # fmt: skip
def test_other_weights_or_options_are_other_layers(store, change):
    store().fill(TEXTS[:9])
    encoder = change.pop("encoder", WordEncoder())
    for expected in (TEXTS[:9], []):  # computed, then found
        encoder.asked = []
        store("disk", encoder, **change).fill(TEXTS[:9])
        assert sorted(encoder.asked) == sorted(expected)
    store("disk", plain := WordEncoder()).fill(TEXTS[:9])
    assert plain.asked == []  # the others are still there


def test_sentences_that_look_alike_are_told_apart(store):
    pairs = [("a", "b"), ("a b",), ("ab",), ("b", "a"), ("a", "", "b"), ("a", "b", ""), ("1:a", "b"), ("a\n1:b",)]
    pairs += [("\U0001f600",), ("\ud83d\ude00",), ("\udcff\udcfe",), ("\ud83d", "\ude00"), ("é",), ("e\u0301",)]
    pairs += [("\0",), ("\0", "\0"), ("?",), ("??",)]
    for pair in pairs:
        store().fill([pair])
    for pair in pairs:
        found = store("disk", encoder := WordEncoder())
        found.fill([pair])
        assert encoder.asked == []
        assert torch.equal(found.batch([pair]), batch_of(WordEncoder(), [pair]))


def test_processes_with_the_same_work_share_it(store):
    """What another process writes while this one computes is not computed here."""
    other = WordEncoder()

    class Interrupted(WordEncoder):
        def encode(self, texts):
            if not self.asked:
                store("disk", other).fill(TEXTS)
            return super().encode(texts)

    encoder = Interrupted()
    layers = store("disk", encoder)
    layers.fill(TEXTS)
    assert sorted(other.asked) == sorted(TEXTS)
    assert 0 < sum(map(len, encoder.asked)) <= 300  # the first pool
    assert torch.equal(layers.batch(TEXTS), batch_of(WordEncoder(), TEXTS))


def test_an_encoder_that_gives_no_vector_for_each_token_is_refused(store):
    layers = store("off")
    layers.encoder.encode = lambda texts: [torch.zeros(2, len(words) - 1, 8) for words in texts]
    with pytest.raises(UserError, match=r"^WordEncoder: encode gives .*float32 \[2, \d+, 8\] for a sentence"):
        layers.batch(TEXTS[:8])


def test_half_of_a_runs_share_of_a_card_is_counted_without_a_card(monkeypatch):
    """torch's own function is called: it refuses a device without a number, which encoders have."""
    for place, name, value in (
        (torch.cuda.memory, "_lazy_init", None), (torch.cuda, "current_device", 0),
        (torch.cuda, "mem_get_info", (60, 80)), (torch._C, "_cuda_getMemoryFraction", 0.25),
        (torch.cuda, "memory_reserved", 5),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, lambda *_, value=value: value, raising=False)
    assert free_gpu_memory(torch.device("cuda")) == free_gpu_memory(torch.device("cuda:0")) == 15  # 80 / 4 - 5
