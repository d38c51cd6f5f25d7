"""A run's training data: fractions are nested and cut between groups; long texts are left out."""

import shlex
from collections import Counter
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.runner.data import (
    build_data,
    data_digest,
    distinct_texts,
    note_epochs,
    read_splits,
    training_fraction,
    training_split,
    without_long_texts,
)
from elmo_bench.runner.heads import lexicon_of
from elmo_bench.spec.budget import readings
from elmo_bench.spec.describe import command_of
from elmo_bench.tasks.sst5.data import Phrase
from elmo_bench.text.vocabulary import LONGEST_TEXT
from tests.runs import VECTORS, described, first_ones

FRACTIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
# What stays together, told from the examples without their own word for it.
TOGETHER = {
    "snli": lambda pair: pair.texts[0],
    "srl": lambda proposition: proposition.texts[0],
    "squad": lambda question: question.texts[1],
    "coref": lambda document: document.name,
    "ner": lambda sentence: sentence.texts[0],
}


@cache
def whole_of(task):
    """The training split of the small data."""
    run = described(f"task={task}")
    return read_splits(build_data(*run), *run)["train"]


@pytest.mark.parametrize("task", first_ones(TOGETHER, 2))
def test_a_fraction_is_contained_in_every_larger_one_and_takes_whole_groups(task):
    key, whole = TOGETHER[task], whole_of(task)
    parts = [training_fraction(whole, seed=7, fraction=fraction) for fraction in FRACTIONS]
    assert parts[-1] == whole
    for part, larger in pairwise(parts):
        assert set(map(key, part)) <= set(map(key, larger))
        inside = set(map(key, part))
        assert part == [example for example in whole if key(example) in inside]
    largest = max(Counter(map(key, whole)).values())
    for fraction, part in zip(FRACTIONS, parts, strict=True):
        assert 0 <= len(part) - round(fraction * len(whole)) < max(largest, 2)


@pytest.mark.parametrize(
    ("least", "fraction", "part", "expected"),
    [
        (None, 0.01, 34, 1),
        (100, 0.01, 34, 95),  # 100 steps of 32
        (100, 0.1, 339, 10),  # 9.4 would do: a reading is whole
        (100, 0.3, 1018, 3),  # the whole has 107 steps, three readings 96
        (100, 0.5, 5000, 1),
        (100, 1.0, 60, 1),
    ],
)
def test_a_small_part_is_read_again_until_an_epoch_has_its_steps(least, fraction, part, expected):
    options = ["task=ner", f"data.train_fraction={fraction}", f"data.least_steps={'null' if least is None else least}"]
    assert readings(described(*options)[0], part) == expected


def test_a_text_too_long_to_train_on_is_left_out_with_a_note():
    short, long = (SimpleNamespace(texts=(("a",), ("a",) * length)) for length in (LONGEST_TEXT, LONGEST_TEXT + 1))
    assert without_long_texts([short, short], "train") == [short, short]
    with noted() as notes:
        assert without_long_texts([short, long], "train") == [short]
    assert notes == ["train: 1 of 2 examples left out: texts of over 5,000 tokens"]
    with pytest.raises(UserError, match=r"^train: every example has over 5,000 tokens. Split the texts.$"):
        training_split([long], *described("task=ner", f"suite.vectors={VECTORS}"))


def test_the_vocabulary_counts_a_text_once_and_of_phrases_the_sentence():
    passage, sentence = ("the", "old", "cat"), ("a", "very", "old", "hat")
    asked = [SimpleNamespace(texts=(("who", "?"), passage)), SimpleNamespace(texts=(("what", "?"), passage))]
    phrases = [Phrase(sentence[i:], 2, sentence) for i in range(3)]
    assert distinct_texts([*asked, *phrases]) == [("who", "?"), passage, ("what", "?"), sentence]
    words, repeated, characters = lexicon_of([*asked, *phrases]).values()
    assert words[:repeated] == ["?", "old"]
    assert set(words[repeated:]) == {"the", "cat", "who", "what", "a", "very", "hat"}
    assert set(characters) == set("?oldhatew")  # c, y, r and v occur once


def test_each_seed_draws_its_own_subset():
    whole = whole_of("ner")
    first, again, other = (training_fraction(whole, seed=seed, limit=50) for seed in (0, 0, 1))
    assert first == again
    assert {each.texts for each in first} != {each.texts for each in other}


def test_small_data_of_the_users_own_are_read_until_there_are_enough_steps():
    settings = {"task.training.least_steps": 1500, "task.training.epochs": 10, "task.training.batch": 32}
    assert readings(SimpleNamespace(settings=settings), 60) == 80  # 10 epochs of 80 · 60 / 32 steps


@pytest.mark.parametrize(
    ("options", "least", "times"),
    [
        ((), 3000, 40),
        (("task.training.epochs=1",), None, 1),
        (("task.training.epochs=64",), None, 1),
        (("task.training.epochs=32",), 3000, 40),  # the usual number
        (("task.training.epochs=1", "task.training.least_steps=300"), 300, 128),
        (("task.training.least_steps=null",), None, 1),
        (("size=paper", "task.training.epochs=2"), None, 1),
        (("size=paper",), 3000, 35),
    ],
)
def test_epochs_that_are_given_on_data_of_the_users_own_are_the_epochs(options, least, times):
    spec, _ = described("task=tagging", "data.file=x.conll", "encoder=none", *options)
    assert spec.settings["task.training.least_steps"] == least
    assert readings(spec, 75) == times
    again, _ = described(*shlex.split(command_of(spec, 0))[2:])
    assert again == spec
    with noted() as notes:
        note_epochs(spec, range(75))
    assert bool(notes) == (least is None)
    if options == ("task.training.epochs=1",):
        assert notes == ["epochs: 1, about 3 steps, which task.training.least_steps does not raise to 3,000"]


def test_dev_and_test_are_capped_alike_for_every_seed_and_a_cap_of_nothing_changes_no_hash():
    plain, capped = described("task=ner"), described("task=ner", "data.max_eval=7", "seed=3")
    data = build_data(*plain)
    whole = read_splits(data, *plain)
    with noted() as notes:
        few = read_splits(data, *capped)
    assert [line for line in notes if "max_eval" in line] == [
        f"{split}: 7 of {len(whole[split]):,} examples (data.max_eval)" for split in ("dev", "test")
    ]
    again = read_splits(data, *described("task=ner", "data.max_eval=7", "encoder=glove"))
    assert few == again and few["train"] == whole["train"]
    for split in ("dev", "test"):
        assert len(few[split]) == 7 < len(whole[split])
        assert [example for example in whole[split] if example in few[split]] == few[split]
    assert data_digest(data, few) != data_digest(data, whole)
    assert "data.max_eval" not in plain[0].settings and plain[0].key != capped[0].key
    assert described("task=ner", "data.max_eval=null")[0].key == plain[0].key
    with noted() as notes:
        assert read_splits(data, *described("task=ner", "data.max_eval=1000000")) == whole
    assert not any("max_eval" in line for line in notes)


@pytest.mark.parametrize(("task", "limit", "is_refused"), [("srl", 7, True), ("srl", 9, False), ("ner", 7, False)])
def test_predictions_of_a_part_are_refused_where_a_gold_file_has_the_whole(task, limit, is_refused):
    run = described(f"task={task}", f"data.max_eval={limit}", "predictions=true")
    splits = dict.fromkeys(("train", "dev", "test"), [SimpleNamespace(texts=(("a",),), gold=("O",))] * 9)
    data = SimpleNamespace(read=lambda *_: splits)
    if not is_refused:
        assert len(read_splits(data, *run)["test"]) == limit
        return
    with pytest.raises(UserError, match=r"^task=srl: with data\.max_eval, predictions=true .* Leave one"):
        read_splits(data, *run)
