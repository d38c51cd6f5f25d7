"""A run's data: the splits of its suite, their digest, and the fraction of the training split that it uses."""

import hashlib
import json
import random
from collections.abc import Collection, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.text.batch import Text
from elmo_bench.text.vocabulary import LONGEST_TEXT, LONGEST_WORD
from elmo_bench.training.contracts import Data

Splits = dict[str, list[Any]]


def build_data(config: DictConfig) -> Data:
    """The reader of the task's data, with the options of every suite."""
    options: Any = OmegaConf.to_container(config.task.data, resolve=True)
    return task_class(config.task.name, "data")(**options)


def read_splits(config: DictConfig, data: Data) -> Splits:
    """{"train", "dev", "test"}: all examples of the suite. Raises UserError."""
    splits = data.read(config.suite.name, data_root(config))
    for split in ("train", "dev", "test"):
        if not splits.get(split):
            raise UserError(f"task={config.task.name}: Data.read gives no {split} examples. Each split needs some.")
        for number, example in enumerate(splits[split], 1):
            if not all(isinstance(text, tuple) for text in example.texts):
                raise UserError(
                    f"task={config.task.name}: {split}, example {number}: texts is not a tuple of tuples of words."
                )
    return splits


def data_root(config: DictConfig) -> Path | None:
    """The user's data folder, if there is one."""
    return Path(config.data.root).expanduser() if config.data.root else None


def data_digest(data: Data, splits: Splits) -> str:
    """SHA-256 over every example of every split as canonical JSON, in the schema that the task names.

    It is computed from the examples themselves at every start and remembered nowhere. So it is the digest of what the
    run holds, whatever happens to the files before, meanwhile and afterwards.
    """
    hasher = hashlib.sha256(f"{data.schema}\n".encode())
    last: dict[str, tuple[Any, str]] = {}
    for split in ("train", "dev", "test"):
        hasher.update(f"{split} {len(splits[split])}\n".encode())
        for example in splits[split]:
            try:
                text = _json(data.canonical(example), last)
            except (TypeError, ValueError) as error:
                raise UserError(f"Data.canonical: {error}. Return plain JSON.") from None
            hasher.update(f"{text}\n".encode())
    return hasher.hexdigest()


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def _json(value: Any, last: dict[str, tuple[Any, str]]) -> str:
    """Canonical JSON. Examples that follow each other share long parts, such as a passage: `last` has their JSON."""
    if not isinstance(value, dict) or not any(map(_is_long, value.values())):
        return _encode(value)
    parts = []
    for key, part in sorted(value.items()):
        if key not in last or last[key][0] is not part or not _is_long(part):
            last[key] = part, _encode({key: part})[1:-1]
        parts.append(last[key][1])
    return f"{{{','.join(parts)}}}"


def _is_long(part: Any) -> bool:
    return isinstance(part, tuple | str) and len(part) >= 50


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
    """How often an epoch reads a fraction of the training split, so that it has data.least_steps steps.

    It never has more steps than an epoch on the whole split, which is read once.
    """
    settings = spec.settings
    least = settings.get("data.least_steps")
    if least is None:
        return 1
    whole = max(1, round(1 / settings["data.train_fraction"]))
    return min(ceil(least * settings["task.training.batch"] / len(train)), whole)


def words_of(examples: Sequence[Any]) -> list[str]:
    """Every token of every text, repeated as it occurs."""
    return [word for example in examples for text in example.texts for word in text]


def distinct_texts(examples: Sequence[Any]) -> list[Text]:
    """What the vocabulary counts: every text once, and for a part of a text (`Example.whole`) the whole."""
    return list(dict.fromkeys(text for example in examples for text in getattr(example, "whole", example.texts)))


def without_long_texts(train: Sequence[Any]) -> list[Any]:
    """The examples that have no text of more than LONGEST_TEXT tokens, with a note about the others.

    Raises UserError if there are no more.
    """
    kept = [example for example in train if max(map(len, example.texts), default=0) <= LONGEST_TEXT]
    if len(kept) < len(train):
        note(
            f"train: {len(train) - len(kept)} of {len(train)} examples left out: texts of over {LONGEST_TEXT:,} tokens"
        )
    if not kept:
        raise UserError(f"train: every example has over {LONGEST_TEXT:,} tokens. Split the texts.")
    return kept


def note_long_words(spec: RunSpec, words: Collection[str]) -> None:
    """Note how many distinct words the task's character CNN, if it has one, reads the beginning of."""
    if spec.part("task.characters") and (long := {word for word in words if len(word) > LONGEST_WORD}):
        note(f"{len(long)} words have over {LONGEST_WORD} characters: the character CNN reads the first {LONGEST_WORD}")
