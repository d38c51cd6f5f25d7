"""Binary files of word2vec and fastText: the vectors equal what their tools read."""

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import static
from elmo_bench.encoders.binary_vectors import read_fasttext
from elmo_bench.encoders.static import load_static

pytestmark = pytest.mark.usefixtures("own_cache")
GOLDEN = Path(__file__).parents[1] / "golden" / "fasttext"
RECORDED = np.load(GOLDEN / "vectors.npz")
SEEN, UNSEEN = RECORDED["seen"].tolist(), RECORDED["unseen"].tolist()
WORDS = ["</s>", "the", "Paris", "naïve", "new_york"]
VECTORS = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)


def original(words=WORDS, vectors=VECTORS, *, end=b"\n"):
    """As word2vec.c writes it."""
    lines = (word.encode() + b" " + row.tobytes() + end for word, row in zip(words, vectors, strict=True))
    return b"%d %d\n" % vectors.shape + b"".join(lines)


@pytest.mark.parametrize("end", [b"\n", b""], ids=["with new lines", "without"])
@pytest.mark.parametrize("name", ["v.bin", "v.bin.gz"])
def test_word2vec_is_read_as_it_was_written(tmp_path, monkeypatch, name, end):
    content = original(end=end)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    table = load_static(str(tmp_path / name))
    assert table.words == WORDS
    assert np.array_equal(table.vectors, VECTORS)
    for _ in range(2):  # from the file, then from the cache
        some = load_static(str(tmp_path / name), keep=["THE", "Paris", "nowhere"])
        assert some.words == ["the", "Paris"]
        assert np.array_equal(some.vectors, VECTORS[1:3])
        monkeypatch.setattr(static, "read_word2vec", None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no line with the numbers"),
        (b"5 0\n", "0 dimensions"),
        (original()[:-9], "cut off at word 5 of 5"),
        (original().replace(b"5 7", b"9 7"), "cut off at word 6 of 9"),
        (b"1 2\n" + b"a" * 20_000 + b" 12345678", "more than 16,384 bytes"),
        (original(vectors=VECTORS * np.float32(np.nan)), "not finite"),
    ],
)
def test_a_malformed_word2vec_file_is_one_line(tmp_path, content, said):
    (tmp_path / "v.bin").write_bytes(content)
    with pytest.raises(UserError, match=f"^{tmp_path}/v.bin: .*{said}"):
        load_static(str(tmp_path / "v.bin"))


@pytest.mark.parametrize("name", ["skipgram", "classifier", "plain"])
def test_fasttext_vectors_are_those_that_fasttext_computes(name):
    words, vectors, ngrams = read_fasttext(GOLDEN / f"{name}.bin")
    assert set(words) == set(SEEN) - ({"東京", "cafés"} if name == "classifier" else set())
    expected = RECORDED[f"{name}.seen"][[SEEN.index(word) for word in words]]
    np.testing.assert_allclose(vectors, expected, atol=1e-7, rtol=0)
    unseen = np.zeros((len(UNSEEN), 5)) if ngrams is None else ngrams.vectors(UNSEEN)
    np.testing.assert_allclose(unseen, RECORDED[f"{name}.unseen"], atol=1e-7, rtol=0)
    assert (ngrams is None) == (name == "plain")


def test_unseen_words_get_rows_and_known_words_keep_theirs(monkeypatch):
    for _ in range(2):  # from the file, then from the cache
        table = load_static(str(GOLDEN / "skipgram.bin"), keep=["The", *UNSEEN])
        assert table.words[0] == "the"  # reached by The and THE in lower case
        assert set(table.words[1:]) == {*UNSEEN} - {"THE"}
        for word in table.words[1:]:
            expected = RECORDED["skipgram.unseen"][UNSEEN.index(word)]
            np.testing.assert_allclose(table.vectors[table.lookup(word)], expected, atol=1e-7, rtol=0)
        monkeypatch.setattr(static, "read_fasttext", None)
    monkeypatch.undo()
    assert load_static(str(GOLDEN / "plain.bin"), keep=["the", "rivers"]).words == ["the"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[:4] + b"\x0d" + content[5:], "version 13 of fastText's format"),
        (lambda content: content[:30], "damaged"),
        (lambda content: content[:8] + b"\xff" * 4 + content[12:], "expected 69 of -1"),
        (lambda content: content[:8] + b"\x06" + content[9:], "expected 69 of 6"),
    ],
)
def test_a_malformed_fasttext_model_is_one_line(tmp_path, change, said):
    (tmp_path / "v.bin").write_bytes(change((GOLDEN / "skipgram.bin").read_bytes()))
    with pytest.raises(UserError, match=f"^{tmp_path}/v.bin: .*{said}"):
        load_static(str(tmp_path / "v.bin"), keep=["the"])


def test_a_quantised_model_is_refused_with_a_reason(tmp_path):
    shutil.copy(GOLDEN / "quantised.ftz", tmp_path / "v.ftz")
    with pytest.raises(UserError, match="quantised, which is not supported"):
        load_static(str(tmp_path / "v.ftz"))
