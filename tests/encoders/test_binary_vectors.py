"""Binary files of word2vec and fastText: the vectors are those of the tools that wrote them."""

import gzip
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import fasttext, static, word2vec
from elmo_bench.encoders.fasttext import read_fasttext
from elmo_bench.encoders.static import load_static
from elmo_bench.encoders.word2vec import read_word2vec

GOLDEN = Path(__file__).parents[1] / "golden" / "fasttext"
RECORDED = np.load(GOLDEN / "vectors.npz")
SEEN, UNSEEN = RECORDED["seen"].tolist(), RECORDED["unseen"].tolist()
WORDS = ["</s>", "the", "Paris", "naïve", "new_york"]
VECTORS = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)


def original(words=WORDS, vectors=VECTORS, *, end=b"\n"):
    """As word2vec.c writes it."""
    lines = (word.encode() + b" " + row.tobytes() + end for word, row in zip(words, vectors, strict=True))
    return b"%d %d\n" % vectors.shape + b"".join(lines)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELMO_BENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("end", [b"\n", b""], ids=["with new lines", "without"])
@pytest.mark.parametrize("name", ["v.bin", "v.bin.gz"])
@pytest.mark.parametrize("buffer", [9, 2**20])
def test_word2vec_is_read_as_it_was_written(tmp_path, monkeypatch, name, end, buffer):
    monkeypatch.setattr(word2vec, "BUFFER", buffer)
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


def test_word2vec_files_of_gensim_are_read(tmp_path):
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(7)
    vectors.add_vectors(WORDS, VECTORS)
    vectors.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    words, found = read_word2vec(tmp_path / "v.bin")
    assert words == WORDS
    assert np.array_equal(found, VECTORS)
    (tmp_path / "w.bin").write_bytes(original())
    assert np.array_equal(models.KeyedVectors.load_word2vec_format(tmp_path / "w.bin", binary=True).vectors, VECTORS)


def test_memory_holds_only_the_wanted_words(tmp_path):
    words = [f"w{number}" for number in range(20_000)]
    (tmp_path / "v.bin").write_bytes(original(words, np.ones((20_000, 100), np.float32)))
    tracemalloc.start()
    found, _ = read_word2vec(tmp_path / "v.bin", {"w7", "w19999"})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ["w7", "w19999"]
    assert peak < 5e6  # of 8 MB


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no line with the numbers"),
        (b"the 1.0 2.0\n", "no line with the numbers"),
        (b"5 0\n", "0 dimensions"),
        (b"5 99999999999\n", "99999999999 dimensions"),
        (original()[:-9], "cut off at word 5 of 5"),
        (original().replace(b"5 7", b"9 7"), "cut off at word 6 of 9"),
        (b"1 2\n" + b"a" * 20_000 + b" 12345678", "more than 16,384 bytes"),
        (original(vectors=VECTORS * np.float32(np.nan)), "not finite"),
    ],
)
def test_a_malformed_word2vec_file_is_one_line(tmp_path, content, said):
    (tmp_path / "v.bin").write_bytes(content)
    with pytest.raises(UserError, match=said) as error:
        load_static(str(tmp_path / "v.bin"))
    assert str(error.value).startswith(f"{tmp_path / 'v.bin'}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["skipgram", "classifier", "plain"])
@pytest.mark.parametrize("buffer", [16, 2**20])
def test_fasttext_vectors_are_those_that_fasttext_computes(monkeypatch, name, buffer):
    monkeypatch.setattr(fasttext, "BUFFER", buffer)
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


def test_a_model_of_gensim_in_version_11_and_its_text_agree(tmp_path):
    models = pytest.importorskip("gensim.models")
    model = models.FastText([["the", "naïve", "café"], ["a", "river"]] * 20, vector_size=6, bucket=50, min_count=1)
    models.fasttext.save_facebook_model(model, str(tmp_path / "v.bin"))
    content = (tmp_path / "v.bin").read_bytes()
    (tmp_path / "v.bin").write_bytes(content[:4] + b"\x0b" + content[5:])
    table = load_static(str(tmp_path / "v.bin"), keep=["naïve", "rivers"])
    for word in ("naïve", "rivers"):
        np.testing.assert_allclose(table.vectors[table.lookup(word)], model.wv[word], atol=1e-6, rtol=0)
    model.wv.save_word2vec_format(str(tmp_path / "v.vec"))
    text = load_static(str(tmp_path / "v.vec"))
    np.testing.assert_allclose(text.vectors[text.lookup("naïve")], model.wv["naïve"], atol=1e-6, rtol=0)


def test_old_classifiers_have_no_ngrams(tmp_path):
    content = (GOLDEN / "classifier.bin").read_bytes()
    (tmp_path / "v.bin").write_bytes(content[:4] + b"\x0b" + content[5:])
    assert read_fasttext(tmp_path / "v.bin")[2] is None


def test_a_mapped_model_is_not_read_into_memory(tmp_path):
    rows = 400_000
    content = (GOLDEN / "skipgram.bin").read_bytes()
    # bucket is the ninth of fastText's arguments; the matrix begins 17 bytes after the last word.
    count = 9
    matrix = content.index(np.array([count + 60, 5], "<i8").tobytes())
    large = content[:40] + np.int32(rows).tobytes() + content[44:matrix] + np.array([count + rows, 5], "<i8").tobytes()
    (tmp_path / "v.bin").write_bytes(large + np.ones((count + rows, 5), "<f4").tobytes())
    tracemalloc.start()
    words, vectors, ngrams = read_fasttext(tmp_path / "v.bin", {"the"})
    unseen = ngrams.vectors(["unseen"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert words == ["the"]
    assert np.array_equal(np.concatenate([vectors, unseen]), np.ones((2, 5)))
    assert peak < 3e6  # of 8 MB; mapped memory does not count


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[:4] + b"\x0d" + content[5:], "version 13 of fastText's format"),
        (lambda content: content[:30], "cut off"),
        (lambda content: content[:100], "cut off"),
        (lambda content: content[:500], "cut off"),
        (lambda content: content[:8] + b"\xff" * 4 + content[12:], "-1 dimensions"),
        (lambda content: content[:8] + b"\x06" + content[9:], "expected 69 of 6"),
    ],
)
def test_a_malformed_fasttext_model_is_one_line(tmp_path, change, said):
    (tmp_path / "v.bin").write_bytes(change((GOLDEN / "skipgram.bin").read_bytes()))
    with pytest.raises(UserError, match=said) as error:
        load_static(str(tmp_path / "v.bin"), keep=["the"])
    assert str(error.value).startswith(f"{tmp_path / 'v.bin'}: ")
    assert "\n" not in str(error.value)


def test_a_quantised_model_is_refused_with_a_reason(tmp_path):
    shutil.copy(GOLDEN / "quantised.ftz", tmp_path / "v.ftz")
    with pytest.raises(UserError, match="quantised, which is not supported"):
        load_static(str(tmp_path / "v.ftz"))
