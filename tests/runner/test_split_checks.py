"""What splits have in common and lack: counted, noted in a line each, and refused where test is train."""

from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.ledger.outcomes import MOST_ITEMS
from elmo_bench.runner.data import build_data, read_splits
from elmo_bench.runner.first_look import check_items
from elmo_bench.runner.split_checks import check_splits
from tests.runs import described

NAMES = [
    "test_in_train", "dev_in_train", "test_in_dev", "repeated_in_train",
    "labels_in_train", "labels_not_in_train", "labels_only_in_train", "empty_texts",
]  # fmt: skip


def example(text, gold="x", *more):
    return SimpleNamespace(texts=(tuple(text.split()), *(tuple(each.split()) for each in more)), gold=gold)


def checked(train, dev, test):
    """(counts that are not 0, notes)"""
    with noted() as notes:
        counts = check_splits({"train": train, "dev": dev, "test": test}, "task=ner suite=mine")
    assert list(counts) == NAMES
    assert all(type(count) is int for count in counts.values())
    return {name: count for name, count in counts.items() if count}, notes


def other(number, gold="x"):
    """Examples that no other split has."""
    return [example(f"text {number}.{each}", gold) for each in range(3)]


def test_splits_without_anything_in_common_are_silent():
    train = [*other(0, "y"), *other(1)]
    assert checked(train, other(2, "y"), other(3)) == ({"labels_in_train": 2}, [])


@pytest.mark.parametrize("change", [lambda train: train, lambda train: train[::-1], lambda train: [*train, train[0]]])
def test_test_that_is_train_is_refused_in_any_order(change):
    train = [*other(0), example("a b", ("O", "B-X")), example("c", [(0, 1)])]  # one gold cannot be in a set
    with pytest.raises(UserError) as refused:
        checked(train, other(1), change(train))
    expected = "task=ner suite=mine: test has the same examples as train. Give other data for test."
    assert str(refused.value) == expected


def test_the_texts_of_train_with_other_gold_or_with_one_more_are_counted():
    train = [example("a b", "x"), example("c d", "y")]
    counts, notes = checked(train, other(0), [example("a b", "y"), example("c d", "x")])
    assert counts == {"test_in_train": 2, "labels_in_train": 2}
    assert notes == ["test: the texts of 2 of 2 examples are in train too"]
    counts, _ = checked(train, other(0), [*train, example("e f")])
    assert counts["test_in_train"] == 2


def test_all_texts_of_an_example_must_agree():
    train = [example("who ?", ("Ada",), "Ada saw it ."), example("what ?", ("it",), "Ada saw it .")]
    test = [example("who ?", ("Bob",), "Bob saw it ."), example("where ?", (), "Ada saw it .")]
    assert checked(train, [example("why ?", (), "No .")], test) == ({}, [])


def test_labels_that_one_split_has():
    train = [example("Ada in Paris", ("B-PER", "O", "I-LOC")), *[example("x", ("O",))] * 2]
    dev = [example("Ada Lovelace", ("B-PER", "I-PER")), example("Go", ("B-GAME",))]
    test = [example("in Rome", ("O", "B-LOC")), example("July", ("B-DATE",))]
    counts, notes = checked(train, dev, test)
    assert counts == {"repeated_in_train": 1, "labels_in_train": 3, "labels_not_in_train": 2}
    assert notes[1:] == ["train: lacks 2 of the labels of dev and test, which no head can learn (DATE, GAME)"]


def test_texts_without_a_token_are_counted_in_all_splits():
    train = [*other(0, "y"), *other(1), example("a", "x", "")]
    counts, notes = checked(train, [*other(2), example("")], [*other(3, "y"), example("", "x", "")])
    assert counts == {"labels_in_train": 2, "empty_texts": 4}
    assert notes == ["texts without a token: 4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "counts"),
    [  # counted with a few lines of Python over the columns of the files
        ("ner", {"repeated_in_train": 91, "labels_in_train": 7}),
        pytest.param("pos", {"test_in_train": 94, "dev_in_train": 68, "test_in_dev": 73, "repeated_in_train": 803,
                 "labels_in_train": 49}, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_the_open_suite_has_the_counts_of_its_files(task, counts):
    run = described(f"task={task}", "data.root=null")
    found = check_splits(read_splits(build_data(*run), *run), task)
    assert {name: count for name, count in found.items() if count} == counts


def test_more_items_than_a_record_keeps_are_refused_before_training():
    check_items({"dev": 1, "test": MOST_ITEMS}, "task=x suite=y")
    for split in ("dev", "test"):
        counts = {"dev": 1, "test": 1, split: MOST_ITEMS + 1}
        with pytest.raises(UserError, match=rf"^task=x suite=y: {split} has 1,000,001 examples"):
            check_items(counts, "task=x suite=y")
