"""Character ids of the published biLM: a word is a row of 50 ids.

Sources: bilm-tf `UnicodeCharsVocabulary`, AllenNLP `ELMoCharacterMapper`.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

# After the shift by one that the published code applies at inference: bytes are 1-256, 0 is a padded position.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PAD_CHARACTER = 257, 258, 259, 260, 261
CHARACTERS = 262
WORD_LENGTH = 50
SENTENCE_START, SENTENCE_END = "<S>", "</S>"


def _row(characters: Sequence[int]) -> np.ndarray:
    row = np.full(WORD_LENGTH, PAD_CHARACTER, dtype=np.int64)
    row[: len(characters) + 2] = [BEGIN_WORD, *characters, END_WORD]
    row.flags.writeable = False
    return row


@lru_cache(maxsize=2**15)  # 700 bytes each
def word_ids(word: str) -> np.ndarray:
    """Ids int64 [C=50] of one word: begin-word, at most 48 of its UTF-8 bytes, end-word, then the pad character.

    The literal tokens `<S>` and `</S>` give the rows of the sentence markers, as in AllenNLP.
    """
    if word == SENTENCE_START:
        return _row([BEGIN_SENTENCE])
    if word == SENTENCE_END:
        return _row([END_SENTENCE])
    return _row([byte + 1 for byte in word.encode("utf-8", "ignore")[: WORD_LENGTH - 2]])


def words_ids(words: Sequence[str]) -> np.ndarray:
    """Ids int64 [N, C=50] of a list of words."""
    return np.stack([word_ids(word) for word in words]) if words else np.empty((0, WORD_LENGTH), dtype=np.int64)


def batch_ids(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Ids int64 [B, T, C=50] of tokenised sentences, without sentence markers; padded positions are rows of zeros."""
    longest = max((len(sentence) for sentence in sentences), default=0)
    ids = np.zeros((len(sentences), longest, WORD_LENGTH), dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = words_ids(sentence)
    return ids
