"""The usual names of columns. Imports no torch."""

from collections.abc import Sequence

# Best first.
USUAL = {
    "text": (
        "text",
        "sentence",
        "review",
        "content",
        "document",
        "comment",
        "tweet",
        "question",
    ),
    "label": (
        "label",
        "labels",
        "class",
        "category",
        "sentiment",
        "gold_label",
        "gold",
        "target",
    ),
    "tokens": ("tokens", "words", "form", "token", "word"),
    "tags": (
        "tags",
        "ner_tags",
        "labels",
        "pos_tags",
        "gold",
        "upos",
        "tag",
        "ner_tag",
        "label",
    ),
    "premise": ("premise", "sentence1", "text1", "question1", "first", "text_a"),
    "hypothesis": ("hypothesis", "sentence2", "text2", "question2", "second", "text_b"),
}


def usual_columns(part: str, columns: Sequence[str]) -> list[str]:
    """The columns with a usual name of a part, a key of USUAL; best first.

    Upper and lower case do not matter.
    """
    lower = {name.lower(): name for name in reversed(columns)}
    return [lower[name] for name in USUAL[part] if name in lower]
