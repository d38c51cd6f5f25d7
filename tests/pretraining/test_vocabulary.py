"""The target vocabulary and its file."""

from collections import Counter

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.encode import TargetVocabulary

GOOD = "<S>\t4\n</S>\t4\n<UNK>\t2\nthe\t7\na\t3\n"


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
        (GOOD.replace("the\t7", "a\t7"), r":5: 'a' occurs a second time"),
        (GOOD.replace("<UNK>\t2\n", ""), r":3: expected <UNK>. The markers come first"),
        (GOOD[: GOOD.index("<UNK>")], r": ends before its 3 markers"),
        (GOOD[:-1], r":5: the last line has no end"),
    ],
)
def test_a_damaged_file(tmp_path, text, says):
    (tmp_path / "vocabulary.txt").write_text(text)
    with pytest.raises(UserError, match=f"vocabulary.txt{says}"):
        TargetVocabulary.read(tmp_path / "vocabulary.txt")
