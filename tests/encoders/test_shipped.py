"""What ships with the package: small enough, whole, and what its cards say."""

import hashlib

import numpy as np
import pytest
import torch

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.pretrained import SHIPPED_FOLDER
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.static import load_static

SENTENCES = [("The", "bank", "of", "the", "river", "."), ("She", "went", "to", "the", "bank", ".")]


@pytest.mark.parametrize(
    ("name", "card", "limit"),
    [
        ("glove-6b.safetensors", "glove-6b.md", 24 * 2**20),
        ("glove-mini.safetensors", "glove-mini.md", 16 * 2**20),
        ("fasttext-mini.safetensors", "fasttext-mini.md", 10 * 2**20),
        ("elmo-mini-weights.safetensors", "elmo-mini.md", 16 * 2**20),
        ("elmo-mini-softmax.safetensors", "elmo-mini.md", 13 * 2**20),
        ("elmo-mini-vocabulary.txt.xz", "elmo-mini.md", 2**20),
        ("elmo-mini-options.json", "elmo-mini.md", 2**10),
        ("bert-mini/model.int8.safetensors", "bert-mini.md", 16 * 2**20),
        ("bert-mini/tokenizer.json", "bert-mini.md", 2**19),
        ("bert-mini/config.json", "bert-mini.md", 2**10),
    ],
)
def test_a_file_is_the_one_of_its_card_and_small_enough(name: str, card: str, limit: int):
    content = (SHIPPED_FOLDER / name).read_bytes()
    assert len(content) <= limit
    text = (SHIPPED_FOLDER / card).read_text(encoding="utf-8")
    assert hashlib.sha256(content).hexdigest() in text
    assert f"{len(content):,} bytes" in text


def test_the_shipped_bilm_tells_two_banks_apart():
    encoder = ElmoEncoder()
    river, money = encoder.encode(SENTENCES)
    assert river.shape == (3, 6, encoder.dim) == (3, 6, 512)
    torch.testing.assert_close(river[0, 1], money[0, 4], atol=5e-6, rtol=0)  # one word, one character vector
    similar = torch.cosine_similarity(river[2, 1], money[2, 4], dim=0)
    assert similar < 0.95


def test_the_shipped_bert_is_the_one_of_its_card_and_works_offline():
    encoder = HfEncoder(weights="bert-mini")
    assert (encoder.layers, encoder.dim) == (7, 320)
    _, pieces = encoder.checksum.split(" pieces ")
    assert pieces == "ef29ec2e236cc13bd2122f51a43b4551e7b1e32e37b7208f924c63f5f5641051"  # with transformers 5.24
    river, money = encoder.encode(SENTENCES)
    assert river.shape == (7, 6, 320)
    similar = torch.cosine_similarity(river[:, 1], money[:, 4], dim=1)
    assert similar[-1] < similar[0]


def test_the_shipped_glove_has_published_rows_in_the_published_order():
    assert load_static("glove-6b").words[:5] == ["the", ",", ".", "of", "to"]
    table = load_static("glove-6b", keep=("The", "I", "1.5", "Zxqvk"))
    assert table.words == ["the", "i", "1.5"] and table.dim == 100
    published = {"The": [-0.038194, -0.24487, 0.72812, -0.39961], "I": [-0.046539, 0.61966, 0.56647, -0.46584]}
    for word, numbers in published.items():  # the first of each row of glove.6B.100d.txt
        row = table.vectors[table.lookup(word)]
        np.testing.assert_allclose(row[:4], numbers, atol=np.abs(row).max() / 127 / 2 + 1e-6)


def test_the_shipped_subwords_know_every_word():
    words = ("London", "football", "footballishness", "Lndon")
    table = load_static("fasttext-mini", keep=words)
    football, strange = (table.vectors[table.lookup(word)] for word in ("football", "footballishness"))
    assert table.vectors.shape[1] == 96 and all(table.lookup(word) is not None for word in words)
    assert football @ strange > 0.3 * np.linalg.norm(football) * np.linalg.norm(strange)
