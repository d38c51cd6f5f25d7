"""Tokens found again in the text that they were cut from."""

import random

from elmo_bench.tasks.squad.build import question_tokens


def test_quotes_that_the_tokeniser_rewrote():
    text = "He said \"it isn't ''so''\" and ``left''."
    found = [text[start:end] for start, end in question_tokens(text)[1]]
    assert found == ["He", "said", '"', "it", "is", "n't", "''", "so", "''", '"', "and", "``", "left", "''", "."]


def test_every_character_of_any_text_is_in_one_token():
    """Random strings of all that the tokeniser has rules for."""
    rng = random.Random(0)
    pieces = [
        "a", "cannot", "don't", "'s", '"', "''", "``", "'", "...", ".", "--", "(", "]", "$5", "%", ":", "1,000", "«",
    ]  # fmt: skip
    for _ in range(300):
        text = "".join(rng.choice(pieces) + rng.choice(["", "", " ", "\u00a0 "]) for _ in range(rng.randint(1, 15)))
        _, spans = question_tokens(text)
        covered = [place for start, end in spans for place in range(start, end)]
        assert covered == [place for place, character in enumerate(text) if not character.isspace()]
