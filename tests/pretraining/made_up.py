"""A language small enough to be learned in seconds."""

import random


def made_up(count, seed=0):
    """Sentences in which each noun has one verb."""
    draw = random.Random(seed)
    pairs = [("cats", "sleep"), ("dogs", "bark"), ("birds", "sing"), ("fish", "swim")]
    for _ in range(count):
        noun, verb = draw.choice(pairs)
        yield ["the", *draw.choice([[], ["old"], ["very", "old"]]), noun, verb, "."]
