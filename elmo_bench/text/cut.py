"""Splits that data of the user's own lack, cut from the training split. Imports no torch."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS

SHARE, MOST_HELD_OUT, SEED = 0.2, 2000, 0  # of dev and of test where they are cut from the rest


def cut_missing(splits: dict[str, list[Any]], stratum: Callable[[Any], str]) -> dict[str, list[Any]]:
    """All three splits: a missing one is cut from train, a fifth of it and at most 2,000, each stratum by its share.

    Examples of one group (the same text, or premise) stay together, in the stratum of the first. Equal data give equal
    splits. Raises UserError.
    """
    wanted = min(round(SHARE * len(splits["train"])), MOST_HELD_OUT)
    for split in [split for split in ("test", "dev") if split not in splits]:
        train = splits["train"]
        chosen = _draw(train, wanted, stratum)
        if not 0 < len(chosen) < len(train):
            texts = len({getattr(each, "group", each.texts) for each in train})
            said = f"{split}: cannot be cut from {len(train):,} examples with {texts:,} different texts"
            raise UserError(
                f"{said} (of pairs, first texts), as equal ones stay together. Give more, or data.{split}=FILE."
            )
        splits["train"] = [each for number, each in enumerate(train) if number not in chosen]
        splits[split] = [train[number] for number in sorted(chosen)]
        swapped = ", swapped pairs too" if _mirrored(train) else ""
        note(f"{split}: {len(chosen):,} examples cut from train, equal texts together{swapped}, seed {SEED}")
    return {split: splits[split] for split in SPLITS}


def _mirrored(examples: Sequence[Any]) -> dict[Any, Any]:
    """{group: the first of the groups that it belongs with} of pairs that there are the other way round, too."""
    groups = {example.texts: getattr(example, "group", example.texts) for example in examples}
    first: dict[Any, Any] = {}
    for texts, group in groups.items():
        if len(texts) == 2 and texts[0] != texts[1] and texts[::-1] in groups:
            one, other = _root(first, group), _root(first, groups[texts[::-1]])
            first[other] = first[one] = one
    return {group: _root(first, group) for group in first}


def _root(first: Mapping[Any, Any], group: Any) -> Any:
    while first.get(group, group) != group:
        group = first[group]
    return group


def _draw(examples: Sequence[Any], wanted: int, stratum: Callable[[Any], str]) -> set[int]:
    """The places of about `wanted` examples: whole groups, from each stratum as many as its share."""
    groups: dict[Any, list[int]] = defaultdict(list)
    joined = _mirrored(examples)
    for number, example in enumerate(examples):
        group = getattr(example, "group", example.texts)
        groups[joined.get(group, group)].append(number)
    strata: dict[str, list[list[int]]] = defaultdict(list)
    for group in groups.values():
        strata[stratum(examples[group[0]])].append(group)
    chosen: set[int] = set()
    left = 0.0  # what rounding has not given to the strata before
    for name in sorted(strata):
        own = random.Random(SEED).sample(strata[name], len(strata[name]))
        left += wanted * sum(map(len, own)) / len(examples)
        for group in own:
            if left >= len(group) / 2:
                chosen.update(group)
                left -= len(group)
    return chosen
