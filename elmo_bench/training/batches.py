"""The batches of every head.

Similar lengths are in one batch; the order of the batches is new in each epoch.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset, Sampler

from elmo_bench.text.batch import by_length, pools

POOL = 32  # batches whose examples are sorted by length together

# `contracts.Head.collate`: examples and what turns their texts into tensors to a batch.
Collate = Callable[[Sequence[Any], Any], dict[str, Any]]


class Batcher(Sampler[list[int]]):
    """Lists of example numbers: at most `size` examples and (padded) `tokens` tokens.

    Each has at least one example. With a seed the order depends on the seed and the
    epoch alone (Lightning sets the epoch, and restores it from a checkpoint). Without a
    seed the examples are sorted by length.
    """

    def __init__(
        self, lengths: Sequence[int], *, size: int, tokens: int, seed: int | None
    ):
        self.lengths = lengths
        self.size = size
        self.tokens = tokens
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        if self.seed is None:
            yield from self._cut(by_length(self.lengths))
            return
        rng = random.Random(f"{self.seed} {self.epoch}")
        order = list(range(len(self.lengths)))
        rng.shuffle(order)
        pool_size = POOL * self.size
        batches: list[list[int]] = []
        for start in range(0, len(order), pool_size):
            pool = order[start : start + pool_size]
            pool.sort(key=lambda number: self.lengths[number])
            batches += self._cut(pool)
        rng.shuffle(batches)
        yield from batches

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _cut(self, order: Sequence[int]) -> Iterator[list[int]]:
        return pools(order, self.lengths, size=self.size, tokens=self.tokens)


class Examples(Dataset):
    """A split, read one batch at a time.

    A list of numbers gives {"numbers": the list, **collate(those examples, index)}.
    "token count" in it is the number of tokens of all its sequences: on a GPU, counting
    them would wait for the card.
    """

    def __init__(self, examples: Sequence[Any], collate: Collate, index: Any):
        self.examples = examples
        self.collate = collate
        self.index = index

    def __getitem__(self, numbers: list[int]) -> dict[str, Any]:
        examples = [self.examples[number] for number in numbers]
        batch = self.collate(examples, self.index)
        tokens = 0
        for value in batch.values():
            if hasattr(value, "mask"):
                tokens += int(value.mask.sum())
        return {"numbers": numbers, "token count": tokens, **batch}


class DataModule(pl.LightningDataModule):
    """Loaders of the training, development and test splits.

    The runner asks for the test loader last.

    readings: how often an epoch reads the training split.
    """

    def __init__(
        self,
        splits: dict[str, list[Any]],
        collate: Collate,
        index: Any,
        *,
        batch: int,
        tokens: int,
        seed: int,
        readings: int = 1,
    ):
        super().__init__()
        self.splits = splits
        self.collate = collate
        self.index = index
        self.batch = batch
        self.tokens = tokens
        self.seed = seed
        self.readings = readings

    def loader(
        self, split: str, *, seed: int | None = None, readings: int = 1
    ) -> DataLoader:
        """Batches of a split; in random order if a seed is given."""
        examples = list(self.splits[split]) * readings
        lengths = [sum(map(len, example.texts)) for example in examples]
        batcher = Batcher(lengths, size=self.batch, tokens=self.tokens, seed=seed)
        dataset = Examples(examples, self.collate, self.index)
        return DataLoader(dataset, sampler=batcher, batch_size=None)

    def train_dataloader(self) -> DataLoader:
        loader = self.loader("train", seed=self.seed, readings=self.readings)
        if self.trainer is not None:
            # A resumed run draws its first batches before Lightning sets the epoch.
            assert isinstance(loader.sampler, Batcher)
            # Its type hides `processed`.
            done: Any = self.trainer.fit_loop.epoch_progress.current
            loader.sampler.set_epoch(done.processed)
        return loader

    def val_dataloader(self) -> DataLoader:
        return self.loader("dev")
