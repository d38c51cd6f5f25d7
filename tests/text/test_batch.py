"""Batches of texts as tensors: word rows and character ids by hand, padding zero."""

import torch

from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary, tokeniser

TEXTS = [("ab", "a", "zebra"), ("b",)]  # the alphabet is a and b: 2 and 3; every other character is 1


def test_words_characters_and_padding():
    index = Indexer(words=len, characters=Vocabulary("ab"), layers={"": lambda texts: torch.zeros(len(texts), 3, 3, 5)})
    batch = index(TEXTS)
    assert batch.mask.tolist() == [[True, True, True], [True, False, False]]
    assert batch.lengths.tolist() == [3, 1]
    assert batch.words.tolist() == [[2, 1, 5], [1, 0, 0]]
    spelt = [[2, 3, 0, 0, 0], [2, 0, 0, 0, 0], [1, 1, 3, 1, 2], [3, 0, 0, 0, 0]]
    assert batch.characters.tolist() == [[0, 0, 0, 0, 0], *spelt]
    assert batch.spellings.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert batch.layers[""].shape == (2, 3, 3, 5)


def test_raw_text_is_cut_sentence_by_sentence():
    assert tokeniser("treebank")("I liked it. It was great! Mr. Smith didn't.") == [
        "I", "liked", "it", ".", "It", "was", "great", "!", "Mr.", "Smith", "did", "n't", ".",
    ]  # fmt: skip


def test_a_batch_of_empty_texts_has_no_rows():
    batch = Indexer(words=len, characters=Vocabulary("ab"), layers={})([(), ()])
    assert batch.mask.shape == batch.words.shape == batch.spellings.shape == (2, 0)
