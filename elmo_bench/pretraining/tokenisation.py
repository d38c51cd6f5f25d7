"""Notes on text that is tokenised in another way than its tokeniser's name says."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import safe_open

from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader, reading

# The share of tokens like `dog.` above which a text seems raw.
RAW = 0.03
PUNCTUATION = (".", ",", "?")
TOKENIZER = "tokenizer"  # the entry of the metadata of a softmax


def note_tokens(
    tokenizer: str, where: str, words: Sequence[str], counts: np.ndarray
) -> None:
    """Note tokens that are spelt as the markers of sentences; and a text, split at
    spaces, whose words keep their punctuation: `dog.`

    words: the two markers, then those of the text. counts: how often each word occurs
    in the text, int64 [W].
    """
    markers = counts[:2].sum()
    if markers:
        note(
            f"{where}: {markers:,} tokens are {words[0]} or {words[1]}, the markers "
            "that every line has anyway. Remove them from the text"
        )
    if tokenizer == "spaces":
        _note_raw(where, words, counts)


def _note_raw(where: str, words: Sequence[str], counts: np.ndarray) -> None:
    raw = []  # numbers of words
    for number, word in enumerate(words):
        if word.endswith(PUNCTUATION) and word[-2:-1].isalpha():
            raw.append(number)
    share = counts[raw].sum() / counts.sum()
    if share > RAW:
        frequent = max(raw, key=lambda number: counts[number])
        note(
            f"{where}: {share:.0%} of the tokens end in . , or ? after a letter, most "
            f"often '{words[frequent]:.40}'. For raw text give tokenizer=treebank"
        )


@reader
def read_tokenizer(softmax: Path) -> str | None:
    """The name of the tokeniser of the text that a softmax was trained on.

    None if the file does not have it: weights of earlier versions. Raises UserError.
    """
    with (
        reading(softmax, "a readable safetensors file"),
        safe_open(softmax, framework="pt") as file,
    ):
        metadata = file.metadata() or {}
    name: str | None = metadata.get(TOKENIZER)
    return name


def note_tokenizer(weights: str, softmax: Path, tokenizer: str) -> None:
    """Note that a text has another tokeniser than the weights were trained with."""
    trained = read_tokenizer(softmax)
    if trained not in (None, tokenizer):
        note(
            f"weights={weights}: trained with tokenizer={trained:.40}, but this text "
            f"is read with tokenizer={tokenizer}, which gives other tokens"
        )
