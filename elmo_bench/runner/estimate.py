"""How long a run on data of the user's own takes, before it starts: from the numbers of
steps and tokens. Imports no torch.

The milliseconds of a training step are in the yaml of the task (`report.cost`): those
of a step, of each of its tokens, and of each token more if the head reads a contextual
encoder's layers. They and the rates below were measured on one core of an AMD EPYC and
of an Intel Xeon server, which differ by less than a half. A busy machine takes longer.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from elmo_bench.base.progress import console
from elmo_bench.encoders.kinds import kind_of
from elmo_bench.spec.budget import epochs_of, steps_of
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.task_files import FLOOR, task_yaml
from elmo_bench.spec.tuning import tokens_read

SCORING = 1 / 3  # of a training step: no gradients
START = 5.0  # seconds to read vectors, data and weights


class Amounts(NamedTuple):
    """What decides how long a run takes, of its data."""

    train: int  # examples
    dev: int
    train_tokens: int
    dev_tokens: int
    test_tokens: int

    @classmethod
    def of(cls, splits: Mapping[str, Sequence[Any]]) -> "Amounts":
        tokens = {}
        for split, examples in splits.items():
            tokens[split] = sum(sum(map(len, example.texts)) for example in examples)
        return cls(
            len(splits["train"]),
            len(splits["dev"]),
            tokens["train"],
            tokens["dev"],
            tokens["test"],
        )

    def part(self, spec: RunSpec) -> "Amounts":
        """The amounts of a run that trains on a part of the data."""
        wanted = spec.settings["data.train_fraction"] * self.train
        limit = spec.settings["data.max_train"] or self.train
        train = max(1, min(round(wanted), limit))
        tokens = round(self.train_tokens * train / self.train)
        return self._replace(train=train, train_tokens=tokens)


def say_how_long(
    title: str, spec: RunSpec, splits: Mapping[str, Sequence[Any]]
) -> None:
    """Print how long a run takes, unless its head was not measured.

    splits: of which it trains on the whole training split.
    """
    amounts = Amounts.of(splits)
    seconds = seconds_of(spec, amounts)
    if seconds is not None:
        console.print(
            f"{title}: about {readable(seconds)} on one idle core, by its "
            f"{steps_of(spec, amounts.train):,} steps and their tokens",
            highlight=False,
        )


def readable(seconds: float) -> str:
    """Such as `3 h 20 min`, `12 min`, `40 s`."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    if seconds >= 60:
        return f"{minutes} min"
    return f"{round(seconds)} s"


def seconds_of(spec: RunSpec, amounts: Amounts) -> float | None:
    """Processor seconds of a run, within a factor of two on an idle machine.

    amounts: of what it trains on (`part`). None for a floor, which takes seconds, and
    for a head or a size that was not measured.
    """
    cost = task_yaml(spec.task, spec.head)["report"].get("cost")
    if cost is None or spec.head == FLOOR or spec.size != "cpu":
        return None
    encoders = spec.encoders().values()
    of_token = cost["token"] + (cost["layers"] if encoders else 0)
    steps = steps_of(spec, amounts.train)
    read = steps * spec.settings["task.training.batch"] / amounts.train
    training = steps * cost["step"] + read * amounts.train_tokens * of_token
    batches = ceil(amounts.dev / spec.settings["task.training.batch"])
    of_dev = batches * cost["step"] + amounts.dev_tokens * of_token
    epochs = epochs_of(spec)
    scoring = epochs * of_dev * SCORING
    encoding = 0.0
    for options in encoders:
        tokens = tokens_read(
            options,
            train=amounts.train_tokens,
            dev=amounts.dev_tokens,
            test=amounts.test_tokens,
            passes=read,
            epochs=epochs,
        )
        encoding += tokens / kind_of(options).rate
    return START + (training + scoring) / 1000 + encoding
