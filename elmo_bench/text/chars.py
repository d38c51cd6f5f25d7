"""Character ids of the published biLM: a word is a row of 50 ids.

Sources: bilm-tf `UnicodeCharsVocabulary`, AllenNLP `ELMoCharacterMapper`.
"""

from collections.abc import Sequence

import numpy as np

# After the shift by one that the published code applies at inference: bytes are 1-256, 0 is a padded position.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PAD_CHARACTER = 257, 258, 259, 260, 261
CHARACTERS = 262
WORD_LENGTH = 50
SENTENCE_START, SENTENCE_END = "<S>", "</S>"


MARKERS = {SENTENCE_START: BEGIN_SENTENCE, SENTENCE_END: END_SENTENCE}


def words_ids(words: Sequence[str]) -> np.ndarray:
    """Ids int64 [N, C=50]: begin-word, at most 48 UTF-8 bytes of the word, end-word, then the pad character.

    The literal tokens `<S>` and `</S>` give the rows of the sentence markers, as in AllenNLP.
    """
    # A marker is one character: b"?" keeps its place.
    spelt = [b"?" if word in MARKERS else word.encode("utf-8", "ignore")[: WORD_LENGTH - 2] for word in words]
    lengths = np.array([len(word) for word in spelt], dtype=np.int64)
    ids = np.full((len(words), WORD_LENGTH), PAD_CHARACTER, dtype=np.int64)
    ids[:, 0] = BEGIN_WORD
    inside = np.arange(WORD_LENGTH - 2) < lengths[:, None]
    ids[:, 1:-1][inside] = np.frombuffer(b"".join(spelt), np.uint8).astype(np.int64) + 1
    ids[np.arange(len(words)), lengths + 1] = END_WORD
    for row, word in enumerate(words):
        if word in MARKERS:
            ids[row, 1] = MARKERS[word]
    return ids


def batch_ids(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Ids int64 [B, T, C=50] of tokenised sentences, without sentence markers; padded positions are rows of zeros."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]  # BT
    ids = np.zeros((*inside.shape, WORD_LENGTH), dtype=np.int64)
    ids[inside] = words_ids([word for sentence in sentences for word in sentence])
    return ids
