"""TF-IDF of the n-grams of tokens and of characters, with scikit-learn's rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.text.batch import Text

LONGEST = 10  # tokens or characters of an n-gram: a text has as many of each length
# What scikit-learn says where no term is left.
NOTHING_LEFT = ("empty vocabulary", "no terms remain", "< documents than min_df")


def token_counter(longest: int, **options: Any) -> CountVectorizer:
    """Counts n-grams of one to `longest` tokens, in lower case. Raises UserError."""
    _check_lengths([1, longest], f"n-grams of 1 to {longest} tokens")
    return CountVectorizer(
        tokenizer=str.split, token_pattern=None, ngram_range=(1, longest), **options
    )


def character_counter(lengths: Sequence[int], **options: Any) -> CountVectorizer:
    """Counts n-grams of [shortest, longest] characters, in lower case.

    They are inside of a token, which has a space before it and one behind it. Raises
    UserError.
    """
    _check_lengths(lengths, f"n-grams of {list(lengths)} characters")
    return CountVectorizer(
        analyzer="char_wb", ngram_range=(lengths[0], lengths[1]), **options
    )


def _check_lengths(lengths: Sequence[int], what: str) -> None:
    are_whole = len(lengths) == 2 and all(type(length) is int for length in lengths)
    if not are_whole or not 1 <= lengths[0] <= lengths[1] <= LONGEST:
        raise UserError(
            f"the floor counts {what}. Give whole numbers from 1 to {LONGEST}, the "
            "smaller first."
        )


def terms_of(texts: Sequence[Text], counter: CountVectorizer) -> list[str]:
    """The terms that a counter finds in texts, sorted; there may be none.

    Raises UserError for options that it refuses.
    """
    try:
        counter.fit(map(" ".join, texts))
    except ValueError as error:
        # No text has a token, or all terms are too rare.
        if any(nothing in str(error) for nothing in NOTHING_LEFT):
            return []
        raise UserError(f"the floor: {error}. See task.head.") from None
    return counter.get_feature_names_out().tolist()


class TfIdf(nn.Module):
    """Vectors of texts: how often a term occurs in a text, and in how few texts.

    An entry is (1 + log count) · (1 + log((1 + N) / (1 + n))) for a term that n of the
    N texts have, and the vector is divided by its length: scikit-learn's
    TfidfVectorizer with `sublinear_tf`.

    counter: of these terms, made by `token_counter` or `character_counter`. Raises
    UserError for a term that occurs twice.
    """

    idf: Tensor

    def __init__(self, counter: CountVectorizer, terms: Sequence[str]):
        super().__init__()
        self.dim = len(terms)
        if len(set(terms)) < self.dim:
            raise UserError("the floor has a term twice. Give each term once.")
        self.counter = counter.set_params(vocabulary=list(terms))
        self.register_buffer("idf", torch.ones(len(terms)))

    def fit(self, texts: Sequence[Text]) -> None:
        """Take the weights of the terms from texts."""
        have = np.bincount(self._counts(texts).indices, minlength=self.dim)
        idf = 1 + np.log((1 + len(texts)) / (1 + have))
        self.idf.copy_(torch.from_numpy(idf))

    def forward(self, texts: Sequence[Text]) -> Any:
        """scipy's csr [N, F] of N texts."""
        counts = self._counts(texts)
        if not self.dim:
            return counts
        counts.data = 1 + np.log(counts.data)
        weighted = counts @ sparse.diags_array(self.idf.double().cpu().numpy())
        return normalize(weighted.tocsr(), copy=False)

    def _counts(self, texts: Sequence[Text]) -> Any:
        if not self.dim:
            return sparse.csr_array((len(texts), 0), dtype=np.float64)
        counts = self.counter.transform(map(" ".join, texts))
        return sparse.csr_array(counts, dtype=np.float64)
