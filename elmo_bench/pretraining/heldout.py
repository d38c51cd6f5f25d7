"""A held-out text: checked before the long work, and encoded as the training text."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from elmo_bench.base.downloads import Content
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.pretraining.encode import Corpus, Encoded, check_text, encode

OTHER = -1  # the number of a word that another text lacks


def check_heldout(corpus: Corpus, trained: Corpus) -> None:
    """Check a held-out text before the long work with the text to train on.

    Raises UserError for a file that is in both, for one that cannot be read, and
    without a sentence.
    """
    _check_disjoint(corpus, trained)
    check_text(corpus)


def encode_heldout(corpus: Corpus, text: Encoded) -> Encoded:
    """Encode a text that `check_heldout` checked with the training text's vocabulary.

    Counts the sentences of both. Raises UserError as `encode` does.
    """
    heldout = encode(corpus, text.vocabulary)
    repeated = _repeated(heldout, text)
    if repeated:
        note(
            f"{repeated:,} of {heldout.sentences:,} held-out sentences are in the "
            "training text, which lowers perplexity"
        )
    return replace(heldout, repeated=repeated)


def _check_disjoint(corpus: Corpus, trained: Corpus) -> None:
    """Raise UserError for a file of a held-out text that is trained on."""
    by_content = {Content(file).sha256: file for file in trained.files}
    for file in corpus.files:
        same = by_content.get(Content(file).sha256)
        if same is not None:
            raise UserError(
                f"heldout={file}: the text of corpus={same}. Hold out other text."
            )


def _repeated(heldout: Encoded, text: Encoded) -> int:
    """How many sentences of a held-out text are in the training text."""
    # Words that the model reads alike, such as long ones with one beginning, are equal.
    spellings = [word.tobytes() for word in text.characters]
    numbers = {spelling: number for number, spelling in enumerate(spellings)}
    trained = np.array([numbers[spelling] for spelling in spellings], np.int32)
    numbers_there = [numbers.get(word.tobytes(), OTHER) for word in heldout.characters]
    tokens = np.array(numbers_there, np.int32)[heldout.tokens]
    parts = np.split(tokens, heldout.starts[1:-1])
    sentences = [part.tobytes() for part in parts]
    distinct = set(sentences)
    seen = set()
    for start, end in pairwise(text.starts):
        sentence = trained[text.tokens[start:end]].tobytes()
        if sentence in distinct:
            seen.add(sentence)
    return sum(sentence in seen for sentence in sentences)
