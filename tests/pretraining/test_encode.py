"""Text to train on: its files, its vocabulary, its numbers (known by their content), and batches of all sentences."""

import gzip
import lzma
import os
import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining import encode as encode_module
from elmo_bench.pretraining import heldout as heldout_module
from elmo_bench.pretraining.batches import OUTSIDE, Batches
from elmo_bench.pretraining.encode import (
    LONGEST,
    Corpus,
    Encoded,
    encode,
    encode_once,
    shard_files,
)
from elmo_bench.pretraining.heldout import check_heldout, encode_heldout
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.chars import words_ids
from elmo_bench.text.vocabulary import TOKENISERS, tokeniser
from tests.pretraining.corpora import write

ARRAYS = ("tokens", "starts", "characters", "targets")
LINES = [f"sentence {number} has {'very ' * (number % 5)}many words ." for number in range(3000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
GOOD = "<S>\t4\n</S>\t4\n<UNK>\t2\nthe\t7\na\t3\n"


def sentences(path, data=None):
    if data is not None:
        path.write_bytes(data)
    return list(Corpus((path,)).sentences(path))


@pytest.mark.parametrize("ending", PACK)
def test_every_kind_of_file_is_read_and_one_that_is_cut_is_one_line_with_its_place(tmp_path, ending):
    path, half, pack = tmp_path / f"text{ending}", len(TEXT) // 2, PACK[ending]
    whole = pack(TEXT)
    assert sentences(path, whole) == [line.split() for line in LINES]
    joined = pack(TEXT[:half]) + pack(TEXT[half:]) + pack(b"")  # packed files that were put together
    assert sentences(path, joined) == [line.split() for line in LINES]
    for part in (0.3, 0.999) if ending else ():
        with pytest.raises(UserError, match=r"text\.\w+: damaged or cut off after line \d+ \(.+\)"):
            sentences(path, whole[: int(part * len(whole))])


def test_a_file_that_is_no_text_or_missing_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"text\.txt:2: not UTF-8 text \(.* at byte 3\)"):
        sentences(tmp_path / "text.txt", "good\ncafé\n".encode("latin-1"))
    with pytest.raises(UserError, match="no file matches"):
        shard_files(str(tmp_path / "*.text"))
    with pytest.raises(UserError, match=r"gone\.txt: no such file"):
        sentences(tmp_path / "gone.txt")
    with pytest.raises(UserError, match="not a regular file"):
        shard_files("/dev/null")


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("letter", ["x", "😀"])
def test_a_line_of_a_megabyte_is_skipped_and_counted(tmp_path, ending, letter, capsys):
    edge = letter * LONGEST
    text = f"a b\n{edge}\n{letter * 2**20}\nc\n{edge}{letter}\r\n{edge}\r\n{letter * 2**20}"
    path = tmp_path / f"text{ending}"
    assert sentences(path, PACK[ending](text.encode())) == [["a", "b"], [edge], ["c"], [edge]]
    said = capsys.readouterr().err.replace("\n", "")
    assert f"{path.name}: 3 line(s) of over 20,000 characters left out, the first is line 3" in said


@pytest.mark.parametrize("name", TOKENISERS)
def test_a_blank_line_has_no_token_and_no_token_has_white_space(name):
    assert tokeniser(name)(" \t\u3000") == []
    assert not [token for token in tokeniser(name)("a\u00a0b\u2028c d\te.") if not token or token.split() != [token]]


def test_markers_in_the_text_count_as_unknown_and_take_no_word_s_place():
    vocabulary = TargetVocabulary.of(Counter({"<UNK>": 9, "</S>": 8, "a": 3, "b": 2, "c": 1}), 2, sentences=5)
    assert [*vocabulary.items()] == [("<S>", 5), ("</S>", 5), ("<UNK>", 18), ("a", 3), ("b", 2)]


def test_the_file_says_everything(tmp_path):
    vocabulary = TargetVocabulary.of(Counter({"é": 2, "\u2028x": 3, "#": 1}), 9, sentences=4)
    vocabulary.write(tmp_path / "vocabulary.txt")
    assert TargetVocabulary.read(tmp_path / "vocabulary.txt") == vocabulary
    (tmp_path / "good.txt").write_text(GOOD)
    good = TargetVocabulary.read(tmp_path / "good.txt")
    assert [*good.items()] == [("<S>", 4), ("</S>", 4), ("<UNK>", 2), ("the", 7), ("a", 3)]
    assert good.ids(["a", "an"]) == [4, 2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("the\t7", "the 7"), r":4: expected word<TAB>count"),
        (GOOD.replace("the\t7", "the\t-7"), r":4: expected word<TAB>count"),
        (GOOD.replace("the\t7", "a\t7"), r":5: expected word<TAB>count, each word once"),
        (GOOD.replace("<UNK>\t2\n", ""), r": does not begin with <S>, </S>, <UNK>"),
        (GOOD[: GOOD.index("<UNK>")], r": does not begin with <S>, </S>, <UNK>"),
        (GOOD[:-1], r":5: the last line has no end"),
    ],
)
def test_a_damaged_file(tmp_path, text, says):
    (tmp_path / "vocabulary.txt").write_text(text)
    with pytest.raises(UserError, match=f"vocabulary.txt{says}"):
        TargetVocabulary.read(tmp_path / "vocabulary.txt")


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path)
    return Corpus((tmp_path / "part-0.txt", tmp_path / "part-1.txt"))


def test_the_encoded_text_is_the_text(corpus, monkeypatch):
    monkeypatch.setattr(encode_module, "TOKENS_AT_ONCE", 7)
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
    before = moved.stat()
    moved.write_bytes(moved.read_bytes().replace(b"cats sleep", b"dogs sleep"))  # of the same size, and the same time
    os.utime(moved, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed = encode_once(Corpus((moved, corpus.files[1])), folder, 7)
    assert not np.array_equal(changed.tokens, first.tokens)
    assert len(encode_once(corpus.__class__((moved,)), folder, 8).vocabulary) == 11


def test_a_text_that_changes_while_it_is_read_is_refused(corpus, monkeypatch, tmp_path):
    """Its digest, by which a training knows its text, is of other bytes."""
    sentences = Corpus.sentences

    def read_and_change(self, file):
        yield from sentences(self, file)
        with file.open("a") as handle:
            handle.write("one more .\n")

    monkeypatch.setattr(Corpus, "sentences", read_and_change)
    with pytest.raises(UserError, match=r"part-0\.txt: changed while it was read"):
        encode_once(corpus, tmp_path / "encoded", 7)
    assert not (tmp_path / "encoded").exists()


def test_a_text_without_a_sentence_is_one_line(tmp_path):
    files = [tmp_path / f"{number}.txt" for number in range(5)]
    for file in files:
        file.write_text("\n  \n", encoding="utf-8")
    with pytest.raises(UserError, match=r"2\.txt, …: no sentence in the whole text"):
        encode(Corpus(tuple(files)), 7)


def test_a_file_that_is_not_utf8_is_refused_before_the_files_in_front_of_it_are_encoded(corpus, tmp_path, monkeypatch):
    (bad := tmp_path / "bad.txt").write_bytes("good\ncafé\n".encode("latin-1"))
    monkeypatch.setattr(Corpus, "sentences", lambda *_: pytest.fail("encoding has begun"))
    with pytest.raises(UserError, match=r"bad\.txt:2: not UTF-8 text"):
        encode_once(Corpus((*corpus.files, bad)), tmp_path / "encoded", 7)
    with pytest.raises(UserError, match=r"bad\.txt:2: not UTF-8 text"):
        check_heldout(Corpus((bad,)), corpus)


def test_a_held_out_text_is_checked_once(corpus, tmp_path, monkeypatch):
    calls = []
    for module in (encode_module, heldout_module):
        monkeypatch.setattr(module, "check_text", calls.append)
    heldout = Corpus((tmp_path / "heldout.txt",))
    heldout.files[0].write_text("a new sentence\n", encoding="utf-8")
    check_heldout(heldout, corpus)
    encode_heldout(heldout, encode_once(corpus, tmp_path / "encoded", 7))
    assert calls == [heldout, corpus]


def test_the_memory_of_a_token_is_that_of_its_number(tmp_path, monkeypatch):
    """4 bytes a token; an int64 of each, or a second array, would take 8 more or 4 more."""
    monkeypatch.setattr(encode_module, "TOKENS_AT_ONCE", 1000)
    (path := tmp_path / "text.txt").write_text(f"{'a b c d e ' * 40}\n" * 2000, encoding="utf-8")
    encode(Corpus((path,)), 7)
    tracemalloc.start()
    text = encode(Corpus((path,)), 7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(text.tokens) == 400_000
    assert peak < 7 * len(text.tokens)


RAW = "the dog, it ran . see (the) cat.\n" * 3  # 2 of 8 tokens


@pytest.mark.parametrize(
    ("lines", "tokenizer", "seems_raw"),
    [(RAW, "spaces", True), (RAW, "treebank", False), ("Mr. Ho " + "said so . " * 20, "spaces", False)],
)
def test_raw_text_that_is_split_at_spaces_is_noted(tmp_path, capsys, lines, tokenizer, seems_raw):
    (path := tmp_path / "text.txt").write_text(lines, encoding="utf-8")
    encode(Corpus((path,), tokenizer), 7)
    said = " ".join(capsys.readouterr().err.split())
    note = "text.txt: 25% of the tokens end in . , or ? after a letter, most often 'dog,'. For raw text give tokenizer="
    assert (note in said) == seems_raw
    assert bool(said) == seems_raw


def test_markers_in_the_text_are_noted(tmp_path, capsys):
    (path := tmp_path / "text.txt").write_text("<S> a b </S>\n<S> c </S>\nd\n", encoding="utf-8")
    encode(Corpus((path,)), 7)
    said = " ".join(capsys.readouterr().err.split())
    assert "text.txt: 4 tokens are <S> or </S>, the markers that every line has anyway. Remove them" in said


def test_an_encoded_text_that_does_not_fit_is_one_line(corpus, tmp_path):
    encode_once(corpus, tmp_path / "encoded", 7)
    path = tmp_path / "encoded" / "text.safetensors"
    path.write_bytes(path.read_bytes().replace(b"cats", b"dogs", 1))  # of the vocabulary
    with pytest.raises(UserError, match=r"text\.safetensors: .*its content has changed.*Remove it"):
        encode_once(corpus, tmp_path / "encoded", 7)


def test_a_pass_has_every_sentence_once_and_rows_are_read_from_both_ends(corpus):
    numbers = np.arange(12, dtype=np.int32)
    text = replace(encode(corpus, 7), tokens=numbers[2:], starts=np.array([0, 3, 4, 7, 10]), targets=numbers)
    assert isinstance(text, Encoded)
    batches = Batches(text, cells=9)
    assert sorted(np.concatenate(batches.plan(0)).tolist()) == [0, 1, 2, 3]
    assert all(len(part) == 1 or (np.diff(text.starts)[part] + 1).max() * len(part) <= 9 for part in batches.plan(0))
    again = Batches(text, cells=9).plan(0)
    assert all(np.array_equal(*each) for each in zip(batches.plan(0), again, strict=True))
    batch = batches.batch([1, 0])  # the words 5, and 2 3 4
    numbers = {row.tobytes(): number for number, row in enumerate(text.characters.astype(np.int32))}
    words = np.array([numbers[row.tobytes()] for row in batch.ids])[batch.words]
    assert words[0, :, 1].tolist() == [0, 2, 3, 4]
    assert words[1, :, 1].tolist() == [1, 4, 3, 2]
    assert words[:, :2, 0].tolist() == [[0, 5], [1, 5]]
    assert batch.targets[0].T.tolist() == [[5, 1, OUTSIDE, OUTSIDE], [2, 3, 4, 1]]
    assert batch.targets[1].T.tolist() == [[5, 0, OUTSIDE, OUTSIDE], [4, 3, 2, 0]]
    assert batch.cells == 6


def test_escapes_are_undone_as_in_every_other_reader(tmp_path):
    (path := tmp_path / "text.txt").write_text(r"a\u{a0}b c\u{9}" + "\n", encoding="utf-8")
    assert [*Corpus((path,)).sentences(path)] == [["a\xa0b", "c\t"]]
    vocabulary = TargetVocabulary.of(Counter({"c\t": 2, "a\xa0b": 1}), 2, sentences=1)
    vocabulary.write(tmp_path / "vocabulary.txt")
    assert TargetVocabulary.read(tmp_path / "vocabulary.txt") == vocabulary


def test_every_pass_and_every_seed_has_an_order_of_its_own(corpus):
    text = encode(corpus, 7)
    orders = [
        tuple(np.concatenate(Batches(text, cells=40, seed=seed).plan(number)).tolist())
        for seed in (0, 1)
        for number in (0, 1)
    ]
    assert len({*orders}) == 4


def test_words_that_are_as_frequent_are_taken_by_their_spelling():
    assert [*TargetVocabulary.of(Counter({"b": 1, "c": 1, "a": 1}), 2)][3:] == ["a", "b"]


def test_held_out_sentences_with_words_that_are_read_alike_are_counted(tmp_path):
    """Of a word 48 bytes count, and of several with one beginning any may be in the held-out text."""
    beginning = "http://example.org/" + "x" * 40
    lines = [f"see {beginning}{number} now" for number in range(3)]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "dev.txt").write_text("\n".join([*lines, "not there", ""]) + "\n", encoding="utf-8")
    corpus = Corpus((tmp_path / "train.txt",))
    heldout = encode_heldout(Corpus((tmp_path / "dev.txt",)), encode(corpus, 10))
    assert (heldout.repeated, heldout.sentences) == (3, 4)
    assert [file.name for file in heldout.files] == ["dev.txt"]


def test_no_file_at_all_is_one_line():
    with pytest.raises(UserError, match=r"^corpus=\[\]: no file\. Give a file or a pattern\.$"):
        shard_files([])
