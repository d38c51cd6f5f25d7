"""Windows over a corpus: what they hold, and going on from any of them."""

import io
import pickle
import random
from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.corpus import Corpus, count_words
from elmo_bench.pretraining.stream import Lexicon, Stream
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.chars import words_ids

SENTENCES = 120
ROWS, STEPS = 3, 7
MODES = pytest.mark.parametrize("shared", [True, False], ids=["shared", "separate"])


@pytest.fixture
def corpus(tmp_path):
    """Distinct sentences of 1 to 20 words in four files."""
    draw = random.Random(0)
    lines = [" ".join([f"n{number}", *draw.choices("abcdefgh", k=draw.randrange(20))]) for number in range(SENTENCES)]
    for part in range(4):
        (tmp_path / f"{part}.txt").write_text("\n".join(lines[part::4]) + "\n")
    return Corpus(tuple(sorted(tmp_path.glob("*.txt"))))


def sentences(corpus):
    return [line.split() for file in corpus.files for line in file.read_text().splitlines()]


@pytest.fixture
def vocabulary(corpus):
    """Eight letters and forty of the numbers."""
    counts = count_words(corpus)
    return TargetVocabulary.of(counts.words, 48, sentences=counts.sentences)


def stream(corpus, vocabulary, **settings):
    return Stream(
        corpus, vocabulary, **({"rows": ROWS, "steps": STEPS, "seed": 0, "shared": True, "buffer": 25} | settings)
    )


def read(batches, corpus, vocabulary):
    """For each direction: the sentences [(words, targets)] in the order in which they were begun."""
    spelt = sorted({"<S>", "</S>", *(word for sentence in sentences(corpus) for word in sentence)})
    names = dict(zip(map(tuple, words_ids(spelt).tolist()), spelt, strict=True))
    found = []
    for direction in (0, 1):
        begun, inside = [], {}
        for number, batch in enumerate(batches):
            words = [names[tuple(row)] for row in batch.ids.tolist()]
            assert len(set(words)) == len(words)
            for row in range(batch.words.shape[2]):
                for t in range(batch.words.shape[1]):
                    if not batch.keep[direction, t, row]:
                        inside[row] = ([], [])
                        begun.append(((number, row, t), inside[row]))
                    inside[row][0].append(words[batch.words[direction, t, row]])
                    inside[row][1].append(vocabulary.words[batch.targets[direction, t, row]])
        found.append([sentence for _, sentence in sorted(begun)])
    return found


@MODES
def test_windows_hold_every_sentence_with_its_targets_in_both_directions(corpus, vocabulary, shared):
    batches = list(islice(stream(corpus, vocabulary, shared=shared), 150))
    for batch in batches:
        assert batch.tokens == ROWS * STEPS
        assert batch.words.shape == batch.targets.shape == batch.keep.shape == (2, STEPS, ROWS)
        assert [str(array.dtype) for array in (batch.ids, batch.words, batch.targets, batch.keep)] == [
            "int64", "int64", "int64", "float32"
        ]  # fmt: skip
    known = set(vocabulary.words)
    passes = []
    for direction, found in enumerate(read(batches, corpus, vocabulary)):
        first, second = found[:SENTENCES], found[SENTENCES : 2 * SENTENCES]
        for words, targets in (*first, *second):
            inner = words[1:] if direction == 0 else words[:0:-1]
            ahead = ["<S>", *inner, "</S>"][:: -1 if direction else 1]
            assert words == ahead[:-1]
            assert targets == [word if word in known else "<UNK>" for word in ahead[1:]]
        passes.append([words[:0:-1] if direction else words[1:] for words, _ in first])
        for one in (first, second):
            assert sorted(sorted(words[1:]) for words, _ in one) == sorted(map(sorted, sentences(corpus)))
        assert [words for words, _ in first] != [words for words, _ in second]
    assert sorted(passes[0]) == sorted(passes[1]) == sorted(sentences(corpus))
    assert (passes[0] == passes[1]) is shared


def same(ours, theirs):
    assert ours.position == theirs.position
    assert ours.tokens == theirs.tokens
    for name in ("ids", "words", "targets", "keep"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def saved(position):
    """As a checkpoint keeps it."""
    file = io.BytesIO()
    torch.save(position, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@MODES
@pytest.mark.parametrize(("rank", "world"), [(0, 1), (0, 2), (1, 2)])
def test_every_position_goes_on_with_the_windows_that_would_have_followed(corpus, vocabulary, shared, rank, world):
    settings = {"shared": shared, "rank": rank, "world": world}
    batches = list(islice(stream(corpus, vocabulary, **settings), 170))
    assert batches[-1].position["readers"][0]["pass"] > 1
    assert any(cells > STEPS for batch in batches for cells in batch.position["readers"][0]["cells"])
    for number in range(0, 160, 3):
        later = stream(corpus, vocabulary, **settings, position=saved(batches[number].position))
        for ours, theirs in zip(later, batches[number + 1 : number + 11], strict=False):
            same(ours, theirs)


@MODES
def test_going_on_twice_and_reading_one_stream_twice(corpus, vocabulary, shared):
    whole = list(islice(stream(corpus, vocabulary, shared=shared), 60))
    position = None
    for start in range(0, 60, 20):
        part = stream(corpus, vocabulary, shared=shared, position=position)
        for _ in range(2):  # an iteration starts where the stream does
            batches = list(islice(part, 20))
            for ours, theirs in zip(batches, whole[start : start + 20], strict=True):
                same(ours, theirs)
        position = batches[-1].position


@MODES
def test_processes_read_different_sentences_and_together_all(corpus, vocabulary, shared):
    shares = []
    for rank in range(2):
        batches = list(islice(stream(corpus, vocabulary, shared=shared, rank=rank, world=2), 60))
        ahead, back = read(batches, corpus, vocabulary)
        shares.append([[words[1:] for words, _ in some[: SENTENCES // 2]] for some in (ahead, back)])
    for direction in (0, 1):
        together = shares[0][direction] + shares[1][direction]
        assert Counter(word for words in together for word in words if word[0] == "n") == Counter(
            f"n{number}" for number in range(SENTENCES)
        )


def test_windows_of_a_pass(corpus, vocabulary):
    cells = sum(len(sentence) + 1 for sentence in sentences(corpus))
    number = cells // (ROWS * STEPS)
    batches = list(islice(stream(corpus, vocabulary), number + 5))
    assert {batch.position["readers"][0]["pass"] for batch in batches[: number - 5]} == {0}
    assert batches[-1].position["readers"][0]["pass"] == 1


@MODES
def test_what_is_remembered_of_rare_words_changes_nothing(corpus, vocabulary, shared, monkeypatch):
    whole = list(islice(stream(corpus, vocabulary, shared=shared), 100))
    monkeypatch.setattr("elmo_bench.pretraining.stream.REMEMBERED", 5)
    forgetful = iter(stream(corpus, vocabulary, shared=shared))
    for theirs in whole:
        same(next(forgetful), theirs)


def test_the_lexicon_forgets(vocabulary, monkeypatch):
    monkeypatch.setattr("elmo_bench.pretraining.stream.REMEMBERED", 5)
    lexicon = Lexicon(vocabulary)
    new = [f"new{number}" for number in range(40)]
    numbers = np.array([lexicon[word] for word in new])
    assert lexicon.full
    np.testing.assert_array_equal(lexicon.spell(numbers)[0], words_ids(new))
    lexicon.forget()
    assert not lexicon.full
    assert lexicon["another"] == len(vocabulary)
    assert list(lexicon)[:-1] == list(vocabulary.words)


def test_a_long_sentence_goes_over_many_windows_and_a_short_one_fills_part_of_one(tmp_path):
    (tmp_path / "a.txt").write_text(" ".join("w" * 50) + "\nx\n")
    text = Corpus((tmp_path / "a.txt",))
    known = TargetVocabulary.of(Counter(w=50, x=1), 2, sentences=2)
    batches = list(islice(stream(text, known, rows=1, steps=4), 53 * 2))
    keep = np.concatenate([batch.keep[0, :, 0] for batch in batches])
    lengths = np.diff(np.flatnonzero(keep == 0))
    assert set(lengths.tolist()) == {2, 51}
    assert abs((lengths == 2).sum() - (lengths == 51).sum()) <= 1


def test_a_sentence_marker_in_the_text_is_taken_for_one(tmp_path):
    (tmp_path / "a.txt").write_text("a </S> b\n")
    known = TargetVocabulary.of(Counter({"a": 1, "b": 1, "</S>": 1}), 2, sentences=1)
    batch = next(iter(stream(Corpus((tmp_path / "a.txt",)), known, rows=1, steps=4)))
    np.testing.assert_array_equal(batch.ids[batch.words[0, :, 0]], words_ids(["<S>", "a", "</S>", "b"]))
    assert batch.targets[0, :, 0].tolist() == [3, 1, 4, 1]


def test_a_stream_can_be_sent_to_another_process(corpus, vocabulary):
    ours = stream(corpus, vocabulary)
    theirs = pickle.loads(pickle.dumps(ours))
    for left, right in islice(zip(ours, theirs, strict=True), 5):
        same(left, right)


def test_a_position_of_another_corpus_or_other_settings_is_refused(corpus, vocabulary):
    position = next(iter(stream(corpus, vocabulary))).position
    for changed, says in (
        ({"rows": 4}, "rows was 3 and is 4"),
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"shared": False}, "shared was 1 and is 0"),
        ({"world": 2}, "world was 1 and is 2"),
    ):
        with pytest.raises(UserError, match=f"{says}: the place in the text is lost"):
            stream(corpus, vocabulary, position=position, **changed)
    next(iter(stream(corpus, vocabulary, position=position, steps=5)))  # a window may have another length
    with corpus.files[1].open("a") as file:
        file.write("one more\n")
    with pytest.raises(UserError, match="the place in the text is lost"):
        stream(corpus, vocabulary, position=position)


def test_a_file_that_is_gone(corpus, vocabulary):
    corpus.files[2].unlink()
    with pytest.raises(UserError, match=r"2\.txt: cannot be read"):
        stream(corpus, vocabulary)
