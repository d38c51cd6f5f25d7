"""The mini suite: nouns with two senses each, in contexts of which dev and test have some that train lacks.

`contexts.txt` has a line a sense, with its key, and contexts in which `*` is the noun. Dev and test also have nouns
that train lacks, so that their first sense is all there is to say.
"""

import random
from pathlib import Path

from elmo_bench.tasks.wsd.sentence import Sentence, Target, entry
from elmo_bench.world import names
from elmo_bench.world.draws import distinct

SIZES = {"train": 320, "dev": 160, "test": 160}
SEEN = 4  # contexts of each sense that train has; dev and test have the others, too
RARE = 0.1  # share of dev and test whose noun train lacks
_WORDS = {"job": names.JOBS, "town": names.TOWNS, "day": names.DAYS, "man": names.MEN, "woman": names.WOMEN}


def generate(*, seed: int = 0) -> dict[str, list[Sentence]]:
    """{"train": 320, "dev": 160, "test": 160 sentences}, none of them twice; equal for equal seeds everywhere."""
    contexts = read_contexts()
    first: dict[tuple[str, str], str] = {}
    for key in contexts:
        first.setdefault(entry(key), key)
    seen = [key for key in contexts if len(contexts[key]) > SEEN]
    rare = [key for key in contexts if key not in seen]

    def draw(rng: random.Random, split: str, number: int) -> Sentence:
        train = split == "train"
        key = rng.choice(rare if not train and rng.random() < RARE else seen)
        context = rng.choice(contexts[key][:SEEN] if train else contexts[key])
        return _fill(context, key, first[entry(key)], f"{split}.{number}", rng)

    return distinct(SIZES, seed, draw)


def read_contexts() -> dict[str, list[str]]:
    """{sense key: its contexts}, the first sense of each noun first."""
    lines = (Path(__file__).parent / "contexts.txt").read_text(encoding="utf-8").splitlines()
    cells = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return {key: contexts for key, *contexts in cells}


def _fill(context: str, key: str, first: str, name: str, rng: random.Random) -> Sentence:
    lemma, pos = entry(key)
    words = [rng.choice(_WORDS[word[1:-1]]) if word.startswith("{") else word for word in context.split()]
    tokens = [token for word in words for token in (lemma if word == "*" else word).split()]
    at = tokens.index(lemma)
    return Sentence(tuple(tokens), (Target(name, at, at + 1, lemma, pos, (key,), first),))
