"""Where the tokens of a text stand in it."""

from collections.abc import Sequence

QUOTES = ('"', "``", "''")  # a treebank tokeniser writes one for another


def align(tokens: Sequence[str], text: str) -> list[tuple[int, int]]:
    """(start, end) of each token in the text that it was cut from; between tokens stands white space alone.

    Double quotes may have become `` or ''. Raises ValueError where the tokens are not those of the text.
    """
    found: list[tuple[int, int]] = []
    place = 0
    for token in tokens:
        while place < len(text) and text[place].isspace():
            place += 1
        spellings = (token, *QUOTES) if token in QUOTES else (token,)
        here = [spelling for spelling in spellings if text.startswith(spelling, place)]
        if not here or not token:
            raise ValueError(f"token {token!r} does not stand at character {place} of the text")
        found.append((place, place + len(here[0])))
        place += len(here[0])
    if text[place:].strip():
        raise ValueError(f"no token stands at character {place} of the text")
    return found
