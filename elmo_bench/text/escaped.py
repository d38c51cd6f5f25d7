r"""The spelling of tokens in files that separate tokens by white space: white space inside a token is escaped.

`\u{a0}` is a no-break space (its number in hexadecimal digits), `\u{}` an empty token, and `\u{5c}u{` the text `\u{`.
Every other character is written unchanged, and text without `\u{` is read unchanged.
"""

import re
from collections.abc import Container, Iterable

_SPECIAL = re.compile(r"[\s\ufeff]|\\(?=u\{)")  # readers drop a byte order mark at the start of a file
_WRITTEN = re.compile(r"\\u\{([0-9a-f]{0,6})\}")


def escaped(token: str, *, reserved: Container[str] = ()) -> str:
    """The spelling of a token: at least one character, and no white space.

    reserved: words with another meaning in the file. A token that equals one has its first character escaped.
    """
    first = 0 if token and token not in reserved else 1
    start = [_code(token[:1])] if first else []
    return "".join([*start, _SPECIAL.sub(lambda found: _code(found[0]), token[first:])])


def unescaped(text: str) -> str:
    """The token of a spelling."""
    return _WRITTEN.sub(_character, text) if "\\u{" in text else text


def line_of(tokens: Iterable[str]) -> str:
    """Tokens on a line, separated by spaces."""
    return " ".join(map(escaped, tokens))


def tokens_of(line: str) -> list[str]:
    """The tokens of a line, separated by white space of any kind."""
    return [unescaped(text) for text in line.split()]


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}" if character else "\\u{}"


def _character(found: re.Match[str]) -> str:
    code = int(found[1] or "0", 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return found[0]  # no character has this number
    return chr(code) if found[1] else ""
