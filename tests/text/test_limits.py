"""Memory is bounded whatever the text: a long token is cut, and many long tokens are read in blocks."""

import tracemalloc

import torch

from elmo_bench.encoders.vector_files import ngrams_of
from elmo_bench.nn import character_cnn
from elmo_bench.nn.character_cnn import CharacterCnn
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


def test_blocks_of_words_have_the_same_vectors_and_gradients(monkeypatch):
    cnn = CharacterCnn(Vocabulary("abc"), dim=4, filters=[[2, 3], [3, 5]]).double()
    characters = torch.randint(1, 5, (21, 6), generator=torch.manual_seed(0))
    characters[::2, 2:] = 0
    found = []
    for most in (2**20, 20):
        monkeypatch.setattr(character_cnn, "AT_ONCE", most)
        vectors = cnn(characters)
        cnn.zero_grad()
        vectors.square().sum().backward()
        with torch.no_grad():
            torch.testing.assert_close(cnn(characters), vectors)
        found.append([vectors, *(p.grad.clone() for p in cnn.parameters())])
    torch.testing.assert_close(*found)
