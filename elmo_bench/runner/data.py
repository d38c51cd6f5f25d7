"""A run's data: the splits of its suite, their digest, and the fraction of the training
split that it uses."""

import hashlib
import json
import random
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, MissingData
from elmo_bench.runner.finished import data_files_of
from elmo_bench.spec.budget import EPOCHS, LEAST, epochs_of, steps_of
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import FLOOR, task_yaml
from elmo_bench.text.batch import Text
from elmo_bench.text.columns import line_of
from elmo_bench.text.vocabulary import LONGEST_TEXT, LONGEST_WORD
from elmo_bench.training.contracts import Data

Splits = dict[str, list[Any]]


def build_data(spec: RunSpec, setup: Setup) -> Data:
    """The reader of the task's data, with the options of every suite."""
    return task_class(spec.task, "data")(**setup.data)


def read_splits(data: Data, spec: RunSpec, setup: Setup) -> Splits:
    """{"train", "dev", "test"}: the examples of the suite.

    All of them, or of dev and test at most `data.max_eval`. Raises UserError, which
    says how to get missing files, and for predictions of a part of a gold file.
    """
    limit = spec.settings.get("data.max_eval")
    try:
        splits = data.read(spec.suite, setup.data_root)
    except MissingData:
        data_files_of(spec, setup)  # raises the error that says how to get them
        raise
    for split in SPLITS:
        examples = splits.get(split)
        if not examples:
            raise UserError(
                f"task={spec.task}: Data.read gives no {split} examples. "
                "Each split needs some."
            )
        for number, example in enumerate(examples, 1):
            _check_example(example, f"task={spec.task}: {split}, example {number}")
    if limit is None:
        return splits
    capped = {name: _capped(name, splits[name], limit) for name in SPLITS}
    is_cut = any(len(capped[name]) < len(splits[name]) for name in SPLITS)
    if is_cut and setup.predictions:
        _check_gold_file(spec.task)
    return capped


def _check_gold_file(task: str) -> None:
    """Raise UserError if predictions are scored with a gold file of all examples."""
    if len(task_class(task, "metric").files) > 1:
        raise UserError(
            f"task={task}: with data.max_eval, predictions=true would write a part of "
            "what the gold file has, which cannot be scored. Leave one of them out."
        )


def _capped(split: str, examples: list[Any], limit: int) -> list[Any]:
    """At most `limit` examples of dev or test, the same for every run and seed."""
    if split == "train" or len(examples) <= limit:
        return examples
    note(f"{split}: {limit:,} of {len(examples):,} examples (data.max_eval)")
    return training_fraction(examples, seed=0, limit=limit)


def _check_example(example: Any, where: str) -> None:
    missing = [name for name in ("texts", "gold") if not hasattr(example, name)]
    if missing:
        raise UserError(f"{where}: it has no {', '.join(missing)}. Add it.")
    if not all(isinstance(text, tuple) for text in example.texts):
        raise UserError(f"{where}: texts is not a tuple of tuples of words.")


def data_digest(data: Data, splits: Splits) -> str:
    """SHA-256 over every example of every split as canonical JSON, in the schema that
    the task names.

    It is computed from the examples themselves at every start. So it is the digest of
    what the run holds, whatever happens to the files before, meanwhile and afterwards.
    """
    hasher = hashlib.sha256(f"{data.schema}\n".encode())
    encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
    for split in SPLITS:
        hasher.update(f"{split} {len(splits[split])}\n".encode())
        for example in splits[split]:
            try:
                text = encoder.encode(data.canonical(example))
            except (TypeError, ValueError) as error:
                raise UserError(
                    f"Data.canonical: {error}. Return plain JSON."
                ) from None
            hasher.update(f"{text}\n".encode())
    return hasher.hexdigest()


def training_fraction(
    train: list[Any], *, seed: int, fraction: float = 1.0, limit: int | None = None
) -> list[Any]:
    """A fraction of the examples, in their order, and at most `limit` of them, drawn by
    the run's seed.

    With one seed, a smaller fraction is contained in every larger one, and every
    encoder has the same examples. A fraction is cut between groups (`Example.group`)
    and has as few whole groups as it needs; a limit is cut anywhere.
    """
    if fraction == 1 and (limit is None or limit >= len(train)):
        return train
    groups: dict[Any, list[int]] = {}
    for number, example in enumerate(train):
        group = getattr(example, "group", number)
        groups.setdefault(group, []).append(number)
    wanted = max(1, round(fraction * len(train)))
    chosen: list[int] = []
    shuffled = random.Random(seed).sample(list(groups.values()), len(groups))
    for members in shuffled:
        if len(chosen) >= wanted:
            break
        chosen += members
    return [train[number] for number in sorted(chosen[:limit])]


def note_quick(spec: RunSpec, train: Sequence[Any]) -> None:
    """Note that a run has a fifth of the steps."""
    if spec.settings.get(QUICK) and spec.head != FLOOR:
        note(
            f"quick=true: {epochs_of(spec)} epochs, about "
            f"{steps_of(spec, len(train)):,} steps, a fifth of the usual ones. "
            "Compared with quick runs alone, and never tested"
        )


def note_epochs(spec: RunSpec, train: Sequence[Any]) -> None:
    """Note what a run on data of the user's own has in place of its least number of
    steps, if epochs were given."""
    training = task_yaml(spec.task, spec.head).get("training", {})
    usual = training.get("least_steps")
    if usual is None or spec.settings.get(LEAST) is not None:
        return
    if isinstance(spec.settings.get(EPOCHS), int):
        note(
            f"epochs: {epochs_of(spec):,}, about {steps_of(spec, len(train)):,} steps, "
            f"which {LEAST} does not raise to {usual:,}"
        )


def words_of(examples: Iterable[Any]) -> list[str]:
    """Every token of every text, repeated as it occurs."""
    words: list[str] = []
    for example in examples:
        for text in example.texts:
            words += text
    return words


def all_words(splits: Splits) -> set[str]:
    """The distinct tokens of all splits."""
    words = set[str]()
    for examples in splits.values():
        words.update(words_of(examples))
    return words


def held_out_words(splits: Splits) -> list[str]:
    """Every token of dev and test that has a letter, repeated as it occurs."""
    held_out = words_of([*splits["dev"], *splits["test"]])
    return [word for word in held_out if any(map(str.isalpha, word))]


def distinct_texts(examples: Sequence[Any]) -> list[Text]:
    """What the vocabulary counts: every text once.

    For a part of a text (`Example.whole`) the whole.
    """
    texts: dict[Text, None] = {}
    for example in examples:
        texts |= dict.fromkeys(getattr(example, "whole", example.texts))
    return list(texts)


def training_split(train: Sequence[Any], spec: RunSpec, setup: Setup) -> list[Any]:
    """The examples that a run trains on: those without long texts, and of these what
    its `data` options say."""
    short = without_long_texts(train, "train")
    if not short:
        raise UserError(
            f"train: every example has over {LONGEST_TEXT:,} tokens. Split the texts."
        )
    return training_fraction(
        short,
        seed=setup.seed,
        fraction=spec.settings["data.train_fraction"],
        limit=spec.settings["data.max_train"],
    )


def without_long_texts(examples: Sequence[Any], split: str) -> list[Any]:
    """The examples to train on: those that have no text of over LONGEST_TEXT tokens.

    Notes how many others there are.
    """
    short = []
    for example in examples:
        if max(map(len, example.texts), default=0) <= LONGEST_TEXT:
            short.append(example)
    left_out = len(examples) - len(short)
    if left_out:
        note(
            f"{split}: {left_out} of {len(examples)} examples left out: texts of over "
            f"{LONGEST_TEXT:,} tokens"
        )
    return short


def write_texts(path: Path, spec: RunSpec, setup: Setup, names: Sequence[str]) -> int:
    """Write the distinct texts that a run reads in these splits, a line each
    (text/columns.py); how many there are.

    Raises UserError.
    """
    splits = read_splits(build_data(spec, setup), spec, setup)
    splits["train"] = training_split(splits["train"], spec, setup)
    lines: dict[str, None] = {}
    for name in names:
        for example in splits[name]:
            lines |= dict.fromkeys(map(line_of, example.texts))
    lines.pop("", None)
    with atomic_write(path, "w") as handle:
        handle.writelines(f"{line}\n" for line in lines)
    return len(lines)


def note_long_words(words: Collection[str]) -> None:
    """Note how many distinct words a character CNN reads the beginning of."""
    long = {word for word in words if len(word) > LONGEST_WORD}
    if long:
        note(
            f"words of over {LONGEST_WORD} characters: {len(long)}; the character CNN "
            f"reads the first {LONGEST_WORD} of each"
        )
