"""Batches: examples of similar length together, in a new order each epoch that depends only on seed and epoch."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset, Sampler

from elmo_bench.text.pools import by_length, pools

POOL = 32  # batches whose examples are sorted by length together

Collate = Callable[[Sequence[Any]], dict[str, Any]]


class Batcher(Sampler[list[int]]):
    """Lists of example numbers: at most `size` examples and (padded) `tokens` tokens each, at least one example.

    With a seed the order depends on the seed and the epoch alone (Lightning sets the epoch, and restores it from a
    checkpoint). Without a seed the examples are sorted by length.
    """

    def __init__(self, lengths: Sequence[int], *, size: int, tokens: int, seed: int | None):
        self.lengths, self.size, self.tokens, self.seed, self.epoch = lengths, size, tokens, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        if self.seed is None:
            yield from self._cut(by_length(self.lengths))
            return
        rng = random.Random(f"{self.seed} {self.epoch}")
        order = list(range(len(self.lengths)))
        rng.shuffle(order)
        pool = POOL * self.size
        batches = [
            batch
            for start in range(0, len(order), pool)
            for batch in self._cut(sorted(order[start : start + pool], key=lambda number: self.lengths[number]))
        ]
        rng.shuffle(batches)
        yield from batches

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _cut(self, order: Sequence[int]) -> Iterator[list[int]]:
        return pools(order, self.lengths, size=self.size, tokens=self.tokens)


class Examples(Dataset):
    """A split, read one batch at a time: a list of numbers gives {"numbers": the list, **collate(those examples)}."""

    def __init__(self, examples: Sequence[Any], collate: Collate):
        self.examples, self.collate = examples, collate

    def __getitem__(self, numbers: list[int]) -> dict[str, Any]:
        return {"numbers": numbers, **self.collate([self.examples[number] for number in numbers])}


class DataModule(pl.LightningDataModule):
    """Loaders of the training, development and test splits; the runner asks for the test loader last.

    readings: how often an epoch reads the training split.
    """

    def __init__(
        self,
        splits: dict[str, list[Any]],
        collate: Collate,
        *,
        batch: int,
        tokens: int,
        seed: int,
        readings: int = 1,
    ):
        super().__init__()
        self.splits, self.collate, self.batch, self.tokens, self.seed = splits, collate, batch, tokens, seed
        self.readings = readings

    def loader(self, split: str, *, seed: int | None = None, readings: int = 1) -> DataLoader:
        """Batches of a split; in random order if a seed is given."""
        examples = list(self.splits[split]) * readings
        lengths = [sum(map(len, example.texts)) for example in examples]
        batcher = Batcher(lengths, size=self.batch, tokens=self.tokens, seed=seed)
        return DataLoader(Examples(examples, self.collate), sampler=batcher, batch_size=None)

    def train_dataloader(self) -> DataLoader:
        loader = self.loader("train", seed=self.seed, readings=self.readings)
        if self.trainer is not None:  # a resumed run draws its first batches before Lightning sets the epoch
            assert isinstance(loader.sampler, Batcher)
            done: Any = self.trainer.fit_loop.epoch_progress.current  # its type hides `processed`
            loader.sampler.set_epoch(done.processed)
        return loader

    def val_dataloader(self) -> DataLoader:
        return self.loader("dev")
