"""The drop-in `ElmoEmbedder` of AllenNLP 0.9 against the recorded figures of its network."""

import numpy as np
import pytest

from elmo_bench import ElmoEmbedder, ElmoEncoder
from elmo_bench.base.errors import UserError
from tests.elmo.recorded import FILES, LAYERS, SENTENCES, TOLERANCE


def test_every_call_gives_the_recorded_layers():
    embedder = ElmoEmbedder(*FILES)
    for call in (
        [embedder.embed_sentence(SENTENCES[0])],
        embedder.embed_batch(SENTENCES[:4]),
        embedder.embed_sentences(iter(SENTENCES), batch_size=5),
    ):
        for found, wanted in zip(call, LAYERS, strict=False):
            assert isinstance(found, np.ndarray) and found.dtype == np.float32
            np.testing.assert_allclose(found, wanted, atol=TOLERANCE, rtol=0)


def test_names_stand_for_files_and_mistakes_are_named():
    [layers] = ElmoEncoder(weights="mini").encode([["A", "sentence"]])
    found = ElmoEmbedder(weight_file="mini").embed_sentence(["A", "sentence"])
    np.testing.assert_allclose(found, layers, atol=5e-6, rtol=0)
    with pytest.raises(UserError, match="weight_file: missing"):
        ElmoEmbedder(FILES[0])
    with pytest.raises(UserError, match="'A sentence' is a str, expected a list of tokens"):
        ElmoEmbedder(*FILES).embed_batch(["A sentence"])
    with pytest.raises(UserError, match=r"original.*not downloaded yet|not downloaded"):
        ElmoEmbedder()
