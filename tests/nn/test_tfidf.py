"""What a floor of a stranger may not count; its numbers are compared in tests/tasks/test_own_heads.py."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.nn.tfidf import TfIdf, character_counter, token_counter


def test_n_grams_have_at_most_ten_tokens_or_characters():
    """A text of N tokens has N n-grams of each length, each as long as that."""
    said = r"the floor counts n-grams of .*\. Give whole numbers from 1 to 10, the smaller first\."
    for wrong in (11, 1_000_000):
        with pytest.raises(UserError, match=said):
            token_counter(wrong)
        with pytest.raises(UserError, match=said):
            character_counter([2, wrong])
    assert token_counter(10).ngram_range == character_counter([1, 10]).ngram_range == (1, 10)


def test_a_term_that_occurs_twice_is_refused():
    assert TfIdf(token_counter(1), ["a", "b"])([["a", "b"]]).shape == (1, 2)
    with pytest.raises(UserError, match="the floor has a term twice"):
        TfIdf(token_counter(1), ["a", "b", "a"])
