"""Mistyped text: the same seeded noise for every encoder and task, and as many tokens as before.

Each letter is mistyped with a probability of RATE, in one of four ways of equal probability: a neighbouring key in its
place, a neighbouring key after it, swapped with the next character, or left out. Source of the four: Pruthi, Dhingra
and Lipton (2019), Combating adversarial misspellings with robust word recognition, section 3, there one for each word.
"""

import random

from elmo_bench.text.batch import Text

RATE = 0.05  # of the letters
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # each row of a keyboard is half a key to the right of the one above


def _neighbours() -> dict[str, str]:
    """The keys left, right, above and below of each key."""
    places = {(row, at): key for row, keys in enumerate(_ROWS) for at, key in enumerate(keys)}
    steps = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    return {
        key: "".join(places[row + down, at + right] for down, right in steps if (row + down, at + right) in places)
        for (row, at), key in places.items()
    }


NEIGHBOURS = _neighbours()


def mistype(text: Text, *, seed: int = 0) -> Text:
    """The tokens of a text with mistyped letters; none becomes empty. Equal texts and seeds give equal results."""
    rng = random.Random(f"{seed} {' '.join(text)}")
    return tuple(_mistyped(token, rng) for token in text)


def _mistyped(token: str, rng: random.Random) -> str:
    typed: list[str] = []
    letters = iter(token)
    for letter in letters:
        if not letter.isalpha() or rng.random() >= RATE:
            typed.append(letter)
            continue
        kind, key = rng.choice(("replace", "insert", "swap", "drop")), _near(letter, rng)
        after = next(letters, "") if kind == "swap" else ""
        if after:
            typed += [after, letter]
        elif kind == "insert":
            typed += [letter, key]
        elif kind != "drop" or len(token) == 1:  # a swap with nothing after it is a replacement, too
            typed.append(key)
    return "".join(typed) or token


def _near(letter: str, rng: random.Random) -> str:
    """A neighbouring key, in the letter's case; of a letter that is on no key (é, я), any key."""
    key = rng.choice(NEIGHBOURS.get(letter.lower()) or "".join(_ROWS))
    return key.upper() if letter.isupper() else key
