"""Tokens found again in the text that they were cut from."""

import random

import pytest

from elmo_bench.tasks.squad.build import align
from elmo_bench.text.vocabulary import tokeniser


def test_tokens_and_what_stands_between_them():
    assert align(["a", "b", "c"], " a\tb\u3000c\n") == [(1, 2), (3, 4), (5, 6)]
    assert align([], " ") == []


def test_quotes_that_the_tokeniser_rewrote():
    text = "He said \"it isn't ''so''\" and ``left''."
    tokens = tokeniser("treebank")(text)
    assert tokens.count("``") + tokens.count("''") == 6
    found = [text[start:end] for start, end in align(tokens, text)]
    assert found == ["He", "said", '"', "it", "is", "n't", "''", "so", "''", '"', "and", "``", "left", "''", "."]


def test_every_character_of_any_text_is_in_one_token():
    """Random strings of all that the tokeniser has rules for."""
    rng, treebank = random.Random(0), tokeniser("treebank")
    pieces = [
        "a",
        "cannot",
        "don't",
        "'s",
        '"',
        "''",
        "``",
        "'",
        "...",
        ".",
        "--",
        "(",
        "]",
        "$5",
        "%",
        ":",
        "1,000",
        "«",
    ]
    for _ in range(300):
        text = "".join(rng.choice(pieces) + rng.choice(["", "", " ", "\u00a0 "]) for _ in range(rng.randint(1, 15)))
        spans = align(treebank(text), text)
        covered = [place for start, end in spans for place in range(start, end)]
        assert covered == [place for place, character in enumerate(text) if not character.isspace()]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["b"], "'b' is not at character 0"),
        (["a", "c"], "'c' is not at"),
        (["a"], "no token for the text from character 1"),
    ],
)
def test_tokens_of_another_text(tokens, message):
    with pytest.raises(ValueError, match=message):
        align(tokens, "a b")
