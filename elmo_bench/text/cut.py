"""Splits that the user's data lacks, cut from the training split. Imports no torch."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS

# Of dev and of test where they are cut from the rest.
SHARE = 0.2
MOST_HELD_OUT = 2000
SEED = 0


def cut_missing(
    splits: dict[str, list[Any]], stratum: Callable[[Any], str]
) -> dict[str, list[Any]]:
    """All three splits; a missing one is cut from train.

    It is a fifth of train and at most 2,000 examples, each stratum by its share.
    Examples of one group (the same text, or premise) stay together, in the stratum of
    the first. Equal data give equal splits. Raises UserError.
    """
    wanted = min(round(SHARE * len(splits["train"])), MOST_HELD_OUT)
    for split in ("test", "dev"):
        if split in splits:
            continue
        train = splits["train"]
        chosen = _draw(train, wanted, stratum)
        if not 0 < len(chosen) < len(train):
            raise _not_cut(split, train)
        numbered = enumerate(train)
        splits["train"] = [
            example for number, example in numbered if number not in chosen
        ]
        splits[split] = [train[number] for number in sorted(chosen)]
        together = "equal texts together"
        if _mirrored(train):
            together += ", swapped pairs too"
        count = f"{len(chosen):,} examples cut from train"
        note(f"{split}: {count}, {together}, seed {SEED}")
    return {split: splits[split] for split in SPLITS}


def _not_cut(split: str, train: Sequence[Any]) -> UserError:
    """The error for a training split that has too few different texts."""
    texts = len({_group(example) for example in train})
    return UserError(
        f"{split}: cannot be cut from {len(train):,} examples with {texts:,} different "
        "texts (of pairs, first texts), as equal ones stay together. Give more, or "
        f"data.{split}=FILE."
    )


def _group(example: Any) -> Any:
    """What examples have in common that stay together."""
    return getattr(example, "group", example.texts)


def _mirrored(examples: Sequence[Any]) -> dict[Any, Any]:
    """{group: the first of the groups that it belongs with} of swapped pairs.

    Only groups with a pair that the examples have the other way round, too.
    """
    groups = {example.texts: _group(example) for example in examples}
    first: dict[Any, Any] = {}
    for texts, group in groups.items():
        swapped = texts[::-1]
        if len(texts) == 2 and texts != swapped and swapped in groups:
            one = _root(first, group)
            other = _root(first, groups[swapped])
            first[other] = one
            first[one] = one
    return {group: _root(first, group) for group in first}


def _root(first: dict[Any, Any], group: Any) -> Any:
    """The first of the groups; the way to it gets shorter, for the next time."""
    passed = []
    while first.get(group, group) != group:
        passed.append(group)
        group = first[group]
    for other in passed:
        first[other] = group
    return group


def _draw(
    examples: Sequence[Any], wanted: int, stratum: Callable[[Any], str]
) -> set[int]:
    """The places of about `wanted` examples.

    Whole groups, from each stratum as many as its share.
    """
    groups: dict[Any, list[int]] = defaultdict(list)
    joined = _mirrored(examples)
    for number, example in enumerate(examples):
        group = _group(example)
        groups[joined.get(group, group)].append(number)
    strata: dict[str, list[list[int]]] = defaultdict(list)
    for members in groups.values():
        strata[stratum(examples[members[0]])].append(members)
    chosen: set[int] = set()
    left = 0.0  # what rounding kept from the strata before
    for name in sorted(strata):
        drawn = random.Random(SEED).sample(strata[name], len(strata[name]))
        left += wanted * sum(map(len, drawn)) / len(examples)
        for members in drawn:
            if left >= len(members) / 2:
                chosen.update(members)
                left -= len(members)
    return chosen
