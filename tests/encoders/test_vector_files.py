"""Files of word vectors: read back as written in every precision, only what is wanted, and malformed files named."""

import json
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.static import load_static
from elmo_bench.encoders.vector_files import NGrams, Rows, hash_of, read_compact

GOLDEN = Path(__file__).parents[1] / "golden" / "fasttext.npz"
WORDS = ["the", "Paris", "paris", ". . .", "naïve"]
VECTORS = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
NGRAMS = np.random.default_rng(1).normal(size=(7, 4)).astype(np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "v.safetensors"


def test_a_compact_file_is_read_back_as_written(path):
    save_file({"vectors": VECTORS, "words": _packed("\n".join(WORDS).encode())}, path)
    words, rows, ngrams = read_compact(path)
    assert (words, ngrams) == (WORDS, None)
    assert rows.take().dtype == np.float32
    assert np.array_equal(rows.take(), VECTORS)
    table = load_static(str(path), keep={"naïve", "Paris", "unknown"})
    assert table.words == ["Paris", "paris", "naïve"]  # in the order of the file
    assert np.array_equal(table.vectors, VECTORS[[1, 2, 4]])
    assert load_static(str(path), keep=set()).vectors.shape == (0, 4)


@pytest.mark.parametrize("scales", [None, np.full(7, 0.01, np.float32)], ids=["float32", "int8"])
def test_ngrams_are_read_and_give_rows_to_unseen_words_alone(path, scales):
    rows = NGRAMS if scales is None else (NGRAMS * 40).astype(np.int8)
    about = {"about": json.dumps({"shortest": 2, "longest": 3})}
    scaled = {} if scales is None else {"ngrams.scales": scales}
    save_file({"vectors": VECTORS, "words": _packed("\n".join(WORDS).encode()), "ngrams": rows, **scaled}, path, about)
    table = load_static(str(path), keep=["THE", "naïve", "Zürich", "zürich"])
    assert table.words == ["the", "naïve", "Zürich", "zürich"]
    assert np.array_equal(table.vectors[table.lookup("THE")], VECTORS[0])
    assert np.array_equal(table.vectors[2:], NGrams(Rows(rows, scales), 2, 3).vectors(["Zürich", "zürich"]))
    assert load_static(str(path)).words == WORDS
    assert load_static(str(path), keep=["THE"]).words == ["the"]


def _packed(text):
    return np.frombuffer(lzma.compress(text), np.uint8)


INT8 = np.ones((5, 4), np.int8)
SCALES = np.ones(5, np.float32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vectors": np.ones((5, 4))}, "vectors is float64 [5, 4], expected float32 or float16 or int8, 2-d"),
        ({"vectors": np.full((5, 4), np.nan, np.float16)}, "a number is not finite"),
        ({"vectors": np.ones((5, 0), np.float32)}, "vectors has no numbers for its 5 rows"),
        ({"vectors": INT8}, "vectors.scales"),
        ({"vectors": INT8, "vectors.scales": SCALES[:4]}, "4 scales for 5 rows of vectors"),
        ({"vectors": INT8, "vectors.scales": SCALES * np.nan}, "a number is not finite"),
        ({"words": np.frombuffer(b"alpha\nbeta\ngamma\ndelta\nepsilon", np.uint8)}, "format not supported"),
        ({"words": _packed(b"a\nb\nc\nd\ne")[:-8]}, "the words are cut off or too long"),
        ({"words": _packed(b"a" * 10**6)}, "the words are cut off or too long"),
        ({"ngrams": NGRAMS}, "no 'shortest'"),
        ({"ngrams": NGRAMS, "about": {"shortest": 3, "longest": 2}}, "shortest and longest are not lengths"),
        ({"ngrams": NGRAMS[:, :3], "about": {"shortest": 2, "longest": 3}}, "7 n-gram vectors of 3 numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_file_is_one_clear_line(path, changes, message):
    about = changes.pop("about", {})
    about = about if isinstance(about, str) else json.dumps(about)
    tensors = {"vectors": VECTORS, "words": _packed(b"a\nb\nc\nd\ne")} | changes
    present = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items() if tensor is not None}
    save_file(present, path, metadata={"about": about})
    for keep in (None, ["a", "new"]):
        with pytest.raises(UserError, match=f"^{path}: .*{re.escape(message)}"):
            load_static(str(path), keep)


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


def test_hashes_equal_those_of_gensim(golden):
    assert [hash_of(text.encode()) for text in golden["hashed"].tolist()] == golden["hashes"].tolist()


@pytest.mark.parametrize("lengths", ["1-4", "3-6", "5-5"])
def test_unseen_words_get_the_vectors_of_gensim(golden, lengths):
    shortest, longest = map(int, lengths.split("-"))
    ngrams = NGrams(Rows(golden[f"{lengths}.ngrams"]), shortest, longest)
    words = golden["unseen"].tolist()
    np.testing.assert_allclose(ngrams.vectors(words), golden[f"{lengths}.vectors"], rtol=0, atol=1e-8)
    assert not ngrams.vectors([]).size
