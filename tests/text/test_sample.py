"""The sentences that ship with the package."""

from elmo_bench.base.json import digest
from elmo_bench.text.sample import sample_sentences


def test_the_same_everywhere():
    """Costs of different text are not comparable, so a change here makes every measurement stale."""
    assert digest(sample_sentences(640))[:12] == "36b3034c0c44"
    assert sample_sentences(9) == sample_sentences(20)[:9]
