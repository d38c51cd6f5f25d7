"""How much longer a run's last epochs took than its first."""

from benchmarks.subnormals import late_over_early


def test_the_first_epoch_does_not_count():
    assert late_over_early([99.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0]) == 1.5


def test_medians_of_each_fifth():
    seconds = [9.0, 1.0, 50.0, 1.0] + [7.0] * 8 + [2.0, 2.0, 80.0]
    assert late_over_early(seconds) == 2.0
