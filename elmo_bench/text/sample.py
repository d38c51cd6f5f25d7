"""Sentences that ship with the package, the same everywhere: words as frequent as in Wikipedia.

What an encoder costs depends on the lengths of sentences and words and on how soon words come again, and not on what is
said. The word counts come from the text that the shipped weights read. A word that is not among the 50,000 most
frequent ones becomes two of them with a hyphen. Lengths follow a gamma distribution with the mean and the standard
deviation of the sentences of held-out Wikipedia articles, 23.7 and 12.5 tokens.
"""

import itertools
import random
from pathlib import Path

from elmo_bench.base.files import read_lines

COUNTS = Path(__file__).parents[1] / "weights" / "elmo-mini-vocabulary.txt.xz"
MARKERS, UNKNOWN = ("<S>", "</S>"), "<UNK>"
SHAPE, SCALE = 3.6, 6.55  # of the gamma distribution: mean SHAPE * SCALE, variance SHAPE * SCALE²
SHORTEST, LONGEST = 3, 120  # tokens, as in that text


def sample_sentences(count: int) -> list[list[str]]:
    """The first `count` tokenised sentences."""
    counts = (line.split("\t") for _, line in read_lines(COUNTS))
    weights = {word: int(number) for word, number in counts if word not in MARKERS}
    words, totals = list(weights), list(itertools.accumulate(weights.values()))
    rng = random.Random(0)

    def word() -> str:
        [drawn] = rng.choices(words, cum_weights=totals)
        return drawn if drawn != UNKNOWN else f"{word()}-{word()}"

    lengths = (round(rng.gammavariate(SHAPE, SCALE)) for _ in range(count))
    return [[word() for _ in range(min(max(length, SHORTEST), LONGEST))] for length in lengths]
