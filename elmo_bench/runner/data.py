"""A run's data: the splits of its suite, checked, their digest, and the fraction of the training split that it uses."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, MissingData
from elmo_bench.runner.finished import data_files, sources_of
from elmo_bench.runner.outcome_size import check_outcomes_fit
from elmo_bench.spec.config import task_yaml
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.text.batch import Text
from elmo_bench.text.columns import line_of
from elmo_bench.text.vocabulary import LONGEST_TEXT, LONGEST_WORD
from elmo_bench.training.contracts import Data

Splits = dict[str, list[Any]]
NORMAL = 0.01  # the share of short sentences, such as "Thanks .", that any data repeats; a larger one is printed


def build_data(spec: RunSpec, setup: Setup) -> Data:
    """The reader of the task's data, with the options of every suite."""
    return task_class(spec.task, "data")(**setup.data)


def read_splits(data: Data, spec: RunSpec, setup: Setup) -> Splits:
    """{"train", "dev", "test"}: all examples of the suite. Raises UserError, which says how to get missing files."""
    try:
        splits = data.read(spec.suite, setup.data_root)
    except MissingData:
        data_files(sources_of(spec, setup))  # raises the error that says how to get them
        raise
    for split in SPLITS:
        if not splits.get(split):
            raise UserError(f"task={spec.task}: Data.read gives no {split} examples. Each split needs some.")
        for number, example in enumerate(splits[split], 1):
            where = f"task={spec.task}: {split}, example {number}"
            if lacking := [name for name in ("texts", "gold") if not hasattr(example, name)]:
                raise UserError(f"{where}: it has no {', '.join(lacking)}. Add it.")
            if not all(isinstance(text, tuple) for text in example.texts):
                raise UserError(f"{where}: texts is not a tuple of tuples of words.")
    check_outcomes_fit(spec.task, splits)
    return splits


def data_digest(data: Data, splits: Splits) -> str:
    """SHA-256 over every example of every split as canonical JSON, in the schema that the task names.

    It is computed from the examples themselves at every start and remembered nowhere. So it is the digest of what the
    run holds, whatever happens to the files before, meanwhile and afterwards.
    """
    hasher = hashlib.sha256(f"{data.schema}\n".encode())
    encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
    for split in SPLITS:
        hasher.update(f"{split} {len(splits[split])}\n".encode())
        for example in splits[split]:
            try:
                hasher.update(f"{encode(data.canonical(example))}\n".encode())
            except (TypeError, ValueError) as error:
                raise UserError(f"Data.canonical: {error}. Return plain JSON.") from None
    return hasher.hexdigest()


def training_fraction(train: list[Any], *, seed: int, fraction: float = 1.0, limit: int | None = None) -> list[Any]:
    """A fraction of the examples, in their order, and at most `limit` of them, drawn by the run's seed.

    With one seed, a smaller fraction is contained in every larger one, and every encoder has the same examples. A
    fraction is cut between groups (`Example.group`) and has as few whole groups as it needs; a limit is cut anywhere.
    """
    if fraction == 1 and (limit is None or limit >= len(train)):
        return train
    groups: dict[Any, list[int]] = {}
    for number, example in enumerate(train):
        groups.setdefault(getattr(example, "group", number), []).append(number)
    wanted = max(1, round(fraction * len(train)))
    chosen: list[int] = []
    for group in random.Random(seed).sample(list(groups.values()), len(groups)):
        if len(chosen) >= wanted:
            break
        chosen += group
    return [train[number] for number in sorted(chosen[:limit])]


def readings(spec: RunSpec, train: Sequence[Any]) -> int:
    """How often an epoch reads its training examples.

    Usually once. With task.training.least_steps, so often that all epochs together have these steps. With
    data.least_steps, so often that an epoch on a fraction has these steps, or as many as one on the whole split.
    """
    settings = spec.settings
    if (least := settings.get("task.training.least_steps")) is not None:
        read = settings["task.training.epochs"] * len(train)  # examples in all epochs
        return max(1, ceil(least * settings["task.training.batch"] / read))
    least = settings.get("data.least_steps")
    if least is None:
        return 1
    whole = max(1, round(1 / settings["data.train_fraction"]))
    return min(ceil(least * settings["task.training.batch"] / len(train)), whole)


def note_epochs(spec: RunSpec, train: Sequence[Any]) -> None:
    """Note what a run on data of the user's own has in place of its least number of steps, if epochs were given."""
    key = "task.training.least_steps"
    usual = task_yaml(spec.task, spec.head).get("training", {}).get(key.rpartition(".")[2])
    epochs = spec.settings.get("task.training.epochs")
    if usual is not None and spec.settings.get(key) is None and isinstance(epochs, int):
        steps = epochs * ceil(len(train) / spec.settings["task.training.batch"])
        note(f"epochs: {epochs:,}, about {steps:,} steps, which task.training.least_steps does not raise to {usual:,}")


def words_of(examples: Iterable[Any]) -> list[str]:
    """Every token of every text, repeated as it occurs."""
    return [word for example in examples for text in example.texts for word in text]


def distinct_texts(examples: Sequence[Any]) -> list[Text]:
    """What the vocabulary counts: every text once, and for a part of a text (`Example.whole`) the whole."""
    return list(dict.fromkeys(text for example in examples for text in getattr(example, "whole", example.texts)))


def training_split(train: Sequence[Any], spec: RunSpec, setup: Setup) -> list[Any]:
    """The examples that a run trains on: those without long texts, and of these what its `data` options say."""
    fraction, limit = spec.settings["data.train_fraction"], spec.settings["data.max_train"]
    return training_fraction(without_long_texts(train), seed=setup.seed, fraction=fraction, limit=limit)


def without_long_texts(train: Sequence[Any]) -> list[Any]:
    """The examples that have no text of more than LONGEST_TEXT tokens, with a note about the others.

    Raises UserError if there are no more.
    """
    kept = [example for example in train if max(map(len, example.texts), default=0) <= LONGEST_TEXT]
    if left_out := len(train) - len(kept):
        note(f"train: {left_out} of {len(train)} examples left out: texts of over {LONGEST_TEXT:,} tokens")
    if not kept:
        raise UserError(f"train: every example has over {LONGEST_TEXT:,} tokens. Split the texts.")
    return kept


def write_texts(path: Path, spec: RunSpec, setup: Setup, names: Sequence[str] = SPLITS) -> int:
    """Write the distinct texts that a run reads in these splits, a line each (text/columns.py); how many there are.

    Raises UserError, also if `path` is a file of the data.
    """
    data = build_data(spec, setup)
    keep_inputs(path, data.files(spec.suite, setup.data_root))
    splits = read_splits(data, spec, setup)
    splits["train"] = training_split(splits["train"], spec, setup)
    every = (line_of(text) for name in names for example in splits[name] for text in example.texts)
    texts = dict.fromkeys(filter(None, every))
    with atomic_write(path, "w") as handle:
        handle.writelines(f"{text}\n" for text in texts)
    return len(texts)


def note_long_words(spec: RunSpec, words: Collection[str]) -> None:
    """Note how many distinct words the task's character CNN, if it has one, reads the beginning of."""
    if spec.part("task.characters") and (long := {word for word in words if len(word) > LONGEST_WORD}):
        note(f"{len(long)} words have over {LONGEST_WORD} characters: the character CNN reads the first {LONGEST_WORD}")


def check_splits(splits: Mapping[str, Sequence[Any]], where: str) -> dict[str, int]:
    """Counts of what makes scores mean less, by name; 0 where there is nothing. `where` names task and suite.

    | name | counts |
    |---|---|
    | `test_in_train`, `dev_in_train`, `test_in_dev` | examples with the texts of one in the other split, in any order |
    | `repeated_in_train` | training examples with the texts and the gold of an earlier one |
    | `labels_in_train` | labels that train has; 0 for a task without labels, such as spans |
    | `labels_not_in_train` | labels that dev or test has and train lacks |
    | `labels_only_in_train` | labels that neither dev nor test has |
    | `empty_texts` | texts without a token, in all splits |

    All of a split counts, whatever fraction of it a run trains on. What matters is noted, a line for each count:
    `dev_in_train`, `test_in_dev` and `repeated_in_train` if they are more than NORMAL of their split, and
    `labels_only_in_train` if more than NORMAL of what is labelled in train has these labels; rare ones are normal.

    Raises UserError if test has the examples of train, texts and gold, in any order. A test split that is dev may be
    meant, where there is one held-out set: it is noted.
    """
    texts = {split: [tuple(sorted(each.texts)) for each in examples] for split, examples in splits.items()}
    train, test = ({(example.texts, repr(example.gold)) for example in splits[split]} for split in ("train", "test"))
    if train == test:
        raise UserError(f"{where}: test has the same examples as train. Give other data for test.")
    shared = {}
    for split, other, normal in (("test", "train", 0.0), ("dev", "train", NORMAL), ("test", "dev", NORMAL)):
        known, size = set(texts[other]), len(texts[split])
        shared[f"{split}_in_{other}"] = count = sum(each in known for each in texts[split])
        if count > normal * size:
            note(f"{split}: the texts of {count:,} of {size:,} examples are in {other} too")
    if (repeated := (size := len(texts["train"])) - len(train)) > NORMAL * size:
        note(f"train: {repeated:,} of {size:,} examples repeat an earlier one and its gold")
    labels = {split: _labels(examples) for split, examples in splits.items()}
    own, held_out = labels["train"], labels["dev"].keys() | labels["test"].keys()
    new, old = held_out - own.keys(), own.keys() - held_out
    if len(own) == 1:
        note(f"train: the only label is {_names(own)}, so there is nothing to learn")
    if new:
        note(f"train: lacks {len(new)} of the labels of dev and test, which no head can learn ({_names(new)})")
    if sum(own[label] for label in old) > NORMAL * sum(own.values()):
        which = f"{len(old)} of its {len(own)} labels"
        note(f"train: {which} are not in dev and test, so no score shows them ({_names(old)})")
    if empty := sum(not text for split in texts.values() for each in split for text in each):
        note(f"texts without a token: {empty:,}")
    return shared | {
        "repeated_in_train": repeated,
        "labels_in_train": len(own),
        "labels_not_in_train": len(new),
        "labels_only_in_train": len(old),
        "empty_texts": empty,
    }


def _labels(examples: Sequence[Any]) -> Counter[str]:
    """How often each label occurs. The letters of BIO, IOB1 and plain tags are left out: `B-PER` and `I-PER` are one.

    A label is a gold that is a text or a whole number, or part of a gold that has one text for each token.
    """
    counts: Counter[str] = Counter()
    for gold, texts in ((example.gold, example.texts) for example in examples):
        by_token = isinstance(gold, tuple | list) and [len(gold)] == [len(text) for text in texts]
        tags = [str(gold)] if isinstance(gold, str | int) else gold if by_token else ()
        if all(isinstance(tag, str) for tag in tags):
            counts.update(tag[2:] if tag.startswith(("B-", "I-", "U-")) else tag for tag in tags)
    return counts


def _names(labels: Iterable[str]) -> str:
    """The first labels, in order."""
    found = sorted(labels)
    return ", ".join(found[:5]) + (" …" if len(found) > 5 else "")
