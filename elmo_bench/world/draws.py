"""Drawing the sentences of a generated suite."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

SEEN = 0.8  # share of a list of words that train uses; dev and test take half of their words from the rest


def distinct(sizes: Mapping[str, int], seed: int, draw: Callable[[random.Random, str, int], Any]) -> dict[str, list]:
    """{split: as many sentences as `sizes` says}, no two of which have the same `tokens`.

    `draw(rng, split, number)` makes one; `number` is how many the split has. Equal for equal seeds on every machine.
    """
    rng, done, splits = random.Random(seed), set(), {}
    for split, size in sizes.items():
        sentences: list[Any] = []
        while len(sentences) < size:
            sentence = draw(rng, split, len(sentences))
            if sentence.tokens not in done:
                done.add(sentence.tokens)
                sentences.append(sentence)
        splits[split] = sentences
    return splits


def pick(words: Sequence[str], rng: random.Random, *, unseen: bool) -> str:
    """One of the words that train uses; with `unseen`, half of the time one that it does not."""
    cut = round(SEEN * len(words))
    return rng.choice(words[cut:] if unseen and rng.random() < 0.5 else words[:cut])
