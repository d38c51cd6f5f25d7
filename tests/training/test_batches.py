"""Batches: every example once an epoch, within the limits, in an order that seed and epoch alone decide."""

import random

import pytest
from torch.utils.data import DataLoader

from elmo_bench.text.tags import TaggedSentence as Sentence
from elmo_bench.training.batches import Batcher, DataModule

LENGTHS = [random.Random(0).randint(1, 40) for _ in range(1000)]


def batches(*, size=8, tokens=160, seed=0, epoch=0, lengths=LENGTHS):
    batcher = Batcher(lengths, size=size, tokens=tokens, seed=seed)
    batcher.set_epoch(epoch)
    return list(batcher)


@pytest.mark.parametrize(("seed", "epoch"), [(None, 0), (0, 0), (1, 7)])
@pytest.mark.parametrize(("size", "tokens"), [(8, 160), (1, 160), (64, 40), (32, 10_000)])
def test_every_example_once_an_epoch_within_the_limits_of_size_and_padded_tokens(seed, epoch, size, tokens):
    found = batches(seed=seed, epoch=epoch, size=size, tokens=tokens)
    assert sorted(number for batch in found for number in batch) == list(range(len(LENGTHS)))
    for batch in found:
        assert 1 <= len(batch) <= size
        assert len(batch) * max(LENGTHS[number] for number in batch) <= tokens


def test_the_order_depends_on_seed_and_epoch_alone():
    random.seed(1)
    first = batches(seed=3, epoch=2)
    random.seed(2)
    assert batches(seed=3, epoch=2) == first
    assert batches(seed=3, epoch=3) != first
    assert batches(seed=4, epoch=2) != first
    assert batches(seed=None, epoch=0) == batches(seed=None, epoch=5)


def test_loaders_give_numbered_collated_batches():
    sentences = [Sentence(("a",) * length, ("O",) * length) for length in (1, 5, 2)]
    data = DataModule(
        {"train": sentences, "dev": sentences[:2], "test": sentences[2:]},
        lambda examples, index: {"lengths": [index(example.tokens) for example in examples]},
        len,
        batch=2, tokens=100, seed=0,
    )  # fmt: skip
    assert isinstance(data.train_dataloader(), DataLoader)
    found = list(data.train_dataloader())
    assert sorted(number for batch in found for number in batch["numbers"]) == [0, 1, 2]
    for batch in found:
        assert batch["lengths"] == [len(sentences[number].tokens) for number in batch["numbers"]]
    assert [batch["numbers"] for batch in data.val_dataloader()] == [[0, 1]]
    assert [batch["lengths"] for batch in data.loader("test")] == [[2]]
    data.readings = 3
    assert sum(len(batch["numbers"]) for batch in data.train_dataloader()) == 9
    assert [batch["numbers"] for batch in data.val_dataloader()] == [[0, 1]]
