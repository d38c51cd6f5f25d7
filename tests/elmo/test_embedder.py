"""The drop-in `ElmoEmbedder` of AllenNLP 0.9 against the recorded figures of its network."""

import json

import numpy as np
import pytest

from elmo_bench import ElmoEmbedder, ElmoEncoder
from elmo_bench.base.errors import UserError
from tests.runs import GOLDEN

FILES = GOLDEN / "options.json", GOLDEN / "weights.hdf5"
CASES = json.loads((GOLDEN / "sentences.json").read_text(encoding="utf-8"))
SENTENCES = CASES["sentences"]
RECORDED = np.load(GOLDEN / "expected_stateless.npz")
TOLERANCE = 2e-5


def is_recorded(found, number):
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, RECORDED[f"s{number:02d}"], atol=TOLERANCE, rtol=0)


@pytest.fixture(scope="module")
def embedder():
    return ElmoEmbedder(*FILES)


def test_every_call_gives_the_recorded_layers(embedder):
    is_recorded(embedder.embed_sentence(SENTENCES[0]), 0)
    for number, found in enumerate(embedder.embed_batch(SENTENCES[:4])):
        is_recorded(found, number)
    for number, found in enumerate(embedder.embed_sentences(iter(SENTENCES), batch_size=5)):
        is_recorded(found, number)


def test_names_stand_for_files_and_mistakes_are_named():
    [layers] = ElmoEncoder(weights="mini").encode([["A", "sentence"]])
    found = ElmoEmbedder(weight_file="mini").embed_sentence(["A", "sentence"])
    np.testing.assert_allclose(found, layers, atol=5e-6, rtol=0)
    with pytest.raises(UserError, match="original: no such file"):
        ElmoEmbedder(FILES[0])
    with pytest.raises(UserError, match="'A sentence' is a str, expected a list of tokens"):
        ElmoEmbedder(*FILES).embed_batch(["A sentence"])
    with pytest.raises(UserError, match=r"original.*not downloaded yet|not downloaded"):
        ElmoEmbedder()
