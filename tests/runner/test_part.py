"""A part of the training data: nested, the same for every seed, cut between groups."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import hydra
import pytest
from elmo_bench.runner.parts import read_data, readings
from elmo_bench.runner.values import check_values

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import compose

FRACTIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
# What stays together, told from the examples without their own word for it.
TOGETHER = {
    "snli": lambda pair: pair.texts[0],
    "srl": lambda proposition: proposition.texts[0],
    "squad": lambda question: question.texts[1],
    "coref": lambda document: document.name,
    "ner": lambda sentence: sentence.texts[0],
}


class Read:
    """An adapter that reads its data once."""

    def __init__(self, task):
        self.splits = hydra.utils.instantiate(compose("config", [f"task={task}"]).task.data).read("mini", None)

    def read(self, suite, root):
        return dict(self.splits)


def train(adapter, **data):
    config = compose("config")
    config.data.update(data)
    return read_data(config, adapter)["train"]


@pytest.mark.parametrize("task", TOGETHER)
def test_a_fraction_is_contained_in_every_larger_one_and_takes_whole_groups(task):
    key, adapter = TOGETHER[task], Read(task)
    whole = train(adapter)
    parts = [train(adapter, train_fraction=fraction) for fraction in FRACTIONS]
    assert parts[-1] == whole
    for part, larger in pairwise(parts):
        assert set(map(key, part)) <= set(map(key, larger))
        inside = set(map(key, part))
        assert part == [example for example in whole if key(example) in inside]
    largest = max(Counter(map(key, whole)).values())
    for fraction, part in zip(FRACTIONS, parts, strict=True):
        assert 0 <= len(part) - round(fraction * len(whole)) < max(largest, 2)


def test_the_phrases_of_a_sentence_stay_together():
    adapter = Read("sst5")
    whole, part = train(adapter), train(adapter, train_fraction=0.1)
    kept = {example.sentence for example in part}
    assert len(kept) < len(part) < len(whole)
    assert part == [example for example in whole if example.sentence in kept]
    assert all(" ".join(example.tokens) in " ".join(example.sentence) for example in whole)


@dataclass(frozen=True)
class Item:
    group: str
    number: int


class Adapter:
    def read(self, suite, root):
        return {"train": [Item(group, number) for group in "abcdefghij" for number in range(3)], "dev": [], "test": []}


def test_a_limit_is_exact_and_cuts_anywhere():
    found = train(Adapter(), max_train=4)
    assert len(found) == 4
    assert sorted(sum(item.group == group for item in found) for group in {item.group for item in found}) == [1, 3]
    assert len(train(Adapter(), max_train=4, train_fraction=0.1)) == 3


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
    config = compose("config", ["task=ner", f"data.train_fraction={fraction}"])
    config.data.least_steps = least
    assert readings(config, range(part)) == expected


@pytest.mark.parametrize("least", [0, 2.5, "many"])
def test_steps_that_are_no_number_are_one_line(least):
    config = compose("config")
    config.data.least_steps = least
    with pytest.raises(UserError, match=f"data.least_steps={least}: give a whole number from 1, or null"):
        check_values(config)
