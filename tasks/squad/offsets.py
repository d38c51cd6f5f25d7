"""The characters of each token."""

from collections.abc import Sequence

QUOTES = ('"', "``", "''")  # treebank tokenisers replace one by another


def align(tokens: Sequence[str], text: str) -> list[tuple[int, int]]:
    """(start, end) of each token in the text that it is from; only white space may be between tokens.

    Double quotes may have become `` or ''. Raises ValueError if the tokens do not match the text.
    """
    found: list[tuple[int, int]] = []
    place = 0
    for token in tokens:
        while place < len(text) and text[place].isspace():
            place += 1
        spellings = (token, *QUOTES) if token in QUOTES else (token,)
        here = [spelling for spelling in spellings if text.startswith(spelling, place)]
        if not here or not token:
            raise ValueError(f"token {token!r} is not at character {place} of the text")
        found.append((place, place + len(here[0])))
        place += len(here[0])
    if text[place:].strip():
        raise ValueError(f"no token for the text from character {place}")
    return found
