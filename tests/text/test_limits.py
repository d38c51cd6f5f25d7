"""Memory is bounded whatever the text: a long token is cut, and many long tokens are read in blocks."""

import tracemalloc

from elmo_bench.encoders.vector_files import ngrams_of
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import LONGEST_WORD, Vocabulary


def test_a_token_of_a_million_characters_adds_no_memory():
    texts = [("a", "b") * 10, ("a" * 1_000_000,)]
    tracemalloc.start()
    batch = Indexer(words=None, characters=Vocabulary("ab"), layers={})(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert batch.characters.shape == (4, LONGEST_WORD)  # padding and three distinct words
    assert peak < 5e6  # the list of its characters' numbers would take 8 MB
    assert len(ngrams_of("a" * 1_000_000, 3, 6)) == len(ngrams_of("a" * LONGEST_WORD, 3, 6))
