"""Vectors of unseen words equal fastText's."""

from pathlib import Path

import numpy as np
import pytest

from elmo_bench.encoders.vector_files import NGrams, Rows, hash_of

GOLDEN = Path(__file__).parents[1] / "golden" / "fasttext.npz"


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


def test_hashes_equal_those_of_gensim(golden):
    assert [hash_of(text.encode()) for text in golden["hashed"].tolist()] == golden["hashes"].tolist()


@pytest.mark.parametrize("lengths", ["1-4", "3-6", "5-5"])
def test_unseen_words_get_the_vectors_of_gensim(golden, lengths):
    shortest, longest = map(int, lengths.split("-"))
    ngrams = NGrams(Rows.of(golden[f"{lengths}.ngrams"], "float32"), shortest, longest)
    words = golden["unseen"].tolist()
    np.testing.assert_allclose(ngrams.vectors(words), golden[f"{lengths}.vectors"], rtol=0, atol=1e-8)
    assert not ngrams.vectors([]).size
