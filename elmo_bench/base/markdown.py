"""Text of a stranger in a page of Markdown."""

import re

from elmo_bench.base.errors import plain


def cell(text: str) -> str:
    """The cell of a table whose characters stand for themselves; `literal` does the
    rest.
    """
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"\\(?=[*_`~])", r"\\\\", text)
    # Within a word GitHub leaves _ alone.
    return re.sub(r"[*`~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)


def literal(text: str) -> str:
    """One line without HTML, links, images or control characters.

    GitHub makes a link of a bare address too.
    """
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", plain(re.sub(r"[\r\n]+", " ", text)))
    text = re.sub(r"(?<=\w):(?=//)", "&#58;", text)
    text = re.sub(r"(?i)\bwww\.", "www&#46;", text)
    text = re.sub(r"(?<=[\w.+-])@(?=\w)", "&#64;", text)
    return re.sub(r"(?<!\\)\\*([\[\]])", r"\\\1", text)
