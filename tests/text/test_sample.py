"""The sentences that ship with the package."""

from statistics import fmean, stdev

from elmo_bench.base.json import digest
from elmo_bench.text.sample import sample_sentences


def test_the_same_everywhere():
    """Costs of different text are not comparable, so a change here makes every measurement stale."""
    assert digest(sample_sentences(640))[:12] == "36b3034c0c44"
    assert sample_sentences(9) == sample_sentences(20)[:9]


def test_lengths_and_words_are_like_wikipedias():
    """Figures of the held-out articles: mean 23.7 and deviation 12.5 tokens, 3 to 120; 5,063 words in 15,009 tokens."""
    found = sample_sentences(3_000)
    lengths = [*map(len, found)]
    assert abs(fmean(lengths) - 23.7) < 1 and abs(stdev(lengths) - 12.5) < 1
    assert min(lengths) >= 3 and max(lengths) <= 120
    first = [word for sentence in found for word in sentence][:15_009]
    assert 4_600 < len(set(first)) < 5_600
    assert not {"<S>", "</S>", "<UNK>"} & set(first) and not any(" " in word or not word for word in first)
