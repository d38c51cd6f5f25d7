"""Character ids of the published biLM: a word is a row of 50 ids.

Sources: bilm-tf `UnicodeCharsVocabulary`, AllenNLP `ELMoCharacterMapper`.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

# After the shift by one that the published code applies at inference: bytes are 1-256,
# 0 is a padded position.
BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
PAD_CHARACTER = 261
CHARACTERS = 262
WORD_LENGTH = 50
SENTENCE_START = "<S>"
SENTENCE_END = "</S>"


MARKERS = {SENTENCE_START: BEGIN_SENTENCE, SENTENCE_END: END_SENTENCE}


def words_ids(words: Sequence[str]) -> np.ndarray:
    """Ids int64 [N, C=50] of words.

    Begin-word, at most 48 UTF-8 bytes of the word, end-word, then the pad character.
    The literal tokens `<S>` and `</S>` give the rows of the sentence markers, as in
    AllenNLP.
    """
    spelt = [_bytes(word) for word in words]
    lengths = np.array([len(word) for word in spelt], dtype=np.int64)
    ids = np.full((len(words), WORD_LENGTH), PAD_CHARACTER, dtype=np.int64)
    ids[:, 0] = BEGIN_WORD
    inside = np.arange(WORD_LENGTH - 2) < lengths[:, None]
    values = np.frombuffer(b"".join(spelt), np.uint8)
    ids[:, 1:-1][inside] = values.astype(np.int64) + 1
    ids[np.arange(len(words)), lengths + 1] = END_WORD
    for row, word in enumerate(words):
        if word in MARKERS:
            ids[row, 1] = MARKERS[word]
    return ids


def _bytes(word: str) -> bytes:
    """The bytes of a word that are read; of a marker, one that keeps its place."""
    if word in MARKERS:
        return b"?"
    return word.encode("utf-8", "ignore")[: WORD_LENGTH - 2]


def batch_ids(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Ids int64 [B, T, C=50] of tokenised sentences, without sentence markers.

    Padded positions are rows of zeros.
    """
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]  # BT
    ids = np.zeros((*inside.shape, WORD_LENGTH), dtype=np.int64)
    ids[inside] = words_ids([*chain.from_iterable(sentences)])
    return ids
