"""Text as numbers: it is the text, it is known by its content, and its batches hold every sentence once a pass."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.encode import OUTSIDE, Batches, Corpus, Encoded, TargetVocabulary, encode, encode_once
from elmo_bench.text.chars import words_ids
from tests.pretraining.corpora import write

ARRAYS = ("tokens", "starts", "characters", "targets")


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path)
    return Corpus((tmp_path / "part-0.txt", tmp_path / "part-1.txt"))


def test_the_encoded_text_is_the_text(corpus):
    text = encode(corpus, 7)
    spelt = {text.characters[number].tobytes(): number for number in range(len(text.characters))}
    sentences = [sentence for file in corpus.files for sentence in corpus.sentences(file)]
    assert (text.sentences, text.cells) == (400, sum(map(len, sentences)) + 400)
    for sentence, start, stop in zip(sentences, text.starts[:-1], text.starts[1:], strict=True):
        rows = words_ids(sentence).astype(np.int16)
        assert text.tokens[start:stop].tolist() == [spelt[row.tobytes()] for row in rows]
        assert text.targets[text.tokens[start:stop]].tolist() == text.vocabulary.ids(sentence)
    assert (np.diff((text.characters != 261).sum(axis=1)) >= 0).all()
    assert len(text.vocabulary) == 10
    given = encode(corpus, text.vocabulary)
    assert all(np.array_equal(getattr(given, name), getattr(text, name)) for name in ARRAYS)


def test_it_is_encoded_once_and_known_by_its_content(corpus, tmp_path, monkeypatch):
    folder, reads = tmp_path / "encoded", []
    sentences = Corpus.sentences
    monkeypatch.setattr(Corpus, "sentences", lambda self, *given: [reads.append(1), sentences(self, *given)][1])
    first = encode_once(corpus, folder, 7)
    again = encode_once(corpus, folder, 7)
    assert len(reads) == 2  # a file each, once
    assert all(np.array_equal(getattr(again, name), getattr(first, name)) for name in ARRAYS)
    assert (again.vocabulary, again.digest) == (first.vocabulary, first.digest)
    moved = corpus.files[0].rename(tmp_path / "moved.txt")
    assert encode_once(Corpus((moved, corpus.files[1])), folder, 7).digest == first.digest
    assert len(reads) == 2
    moved.write_bytes(moved.read_bytes().replace(b"cats sleep", b"dogs sleep"))  # of the same size
    changed = encode_once(Corpus((moved, corpus.files[1])), folder, 7)
    assert not np.array_equal(changed.tokens, first.tokens)
    assert len(encode_once(corpus.__class__((moved,)), folder, 8).vocabulary) == 11


def test_a_text_without_a_sentence_is_one_line(tmp_path):
    files = [tmp_path / f"{number}.txt" for number in range(5)]
    for file in files:
        file.write_text("\n  \n", encoding="utf-8")
    with pytest.raises(UserError, match=r"2\.txt, …: no sentence in the whole text"):
        encode(Corpus(tuple(files)), 7)


def test_an_encoded_text_that_does_not_fit_is_one_line(corpus, tmp_path):
    encode_once(corpus, tmp_path / "encoded", 7)
    TargetVocabulary.of(Counter("the"), 3).write(tmp_path / "encoded" / "vocabulary.txt")
    with pytest.raises(UserError, match=r"text\.safetensors: .*its numbers or its vocabulary were changed.*Remove it"):
        encode_once(corpus, tmp_path / "encoded", 7)


def test_a_pass_has_every_sentence_once_and_rows_are_read_from_both_ends(corpus):
    text = replace(
        encode(corpus, 7),
        tokens=np.arange(2, 12, dtype=np.int32),
        starts=np.array([0, 3, 4, 7, 10]),
        targets=np.arange(12, dtype=np.int32),
    )
    assert isinstance(text, Encoded)
    batches = Batches(text, cells=9)
    assert sorted(np.concatenate(batches.plan(0)).tolist()) == [0, 1, 2, 3]
    assert all(len(part) == 1 or (np.diff(text.starts)[part] + 1).max() * len(part) <= 9 for part in batches.plan(0))
    assert any(map(np.array_equal, batches.plan(0), Batches(text, cells=9).plan(0)))
    batch = batches.batch([1, 0])  # the words 5, and 2 3 4
    numbers = {row.tobytes(): number for number, row in enumerate(text.characters.astype(np.int32))}
    words = np.array([numbers[row.tobytes()] for row in batch.ids])[batch.words]
    assert words[0, :, 1].tolist() == [0, 2, 3, 4]
    assert words[1, :, 1].tolist() == [1, 4, 3, 2]
    assert words[:, :2, 0].tolist() == [[0, 5], [1, 5]]
    assert batch.targets[0].T.tolist() == [[5, 1, OUTSIDE, OUTSIDE], [2, 3, 4, 1]]
    assert batch.targets[1].T.tolist() == [[5, 0, OUTSIDE, OUTSIDE], [4, 3, 2, 0]]
    assert batch.cells == 6
