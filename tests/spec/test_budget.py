"""Which runs count as converged: by their limits, their best epoch and their dev scores."""

import pytest

from elmo_bench.ledger import converged


@pytest.mark.parametrize(
    ("limits", "run", "best", "expected"),
    [
        ((75, 15), 40, 25, True),
        ((75, 15), 75, 60, True),  # patience and limit at once; its best epoch is the last before the last fifth
        ((75, 15), 40, 26, False),  # ended by something else
        ((75, 15), 75, 61, False),  # the limit ended it
        ((75, 5), 66, 61, False),  # patience ended it, in the last fifth
        ((12, 3), 12, 9, True),
        ((36, 6), 35, 29, False),  # 28.8 epochs are four fifths
        ((4, 4), 4, 4, False),
        ((10, 0), 2, 1, True),
        ((10, 0), 1, 1, False),
        ((None, 3), 4, 1, False),  # nothing is known of its limits
    ],
)
def test_converged(make_record, limits, run, best, expected):
    settings = dict(zip(("task.training.epochs", "task.training.patience"), limits, strict=True))
    record = make_record(settings=settings, epochs={"run": run, "best": best}, layer_weights=[])
    assert converged(record) is expected
    assert converged(record | {"scores": {"dev": {"overall": {"f1": 0.0}}, "test": {"overall": {"f1": 0.0}}}}) is False


@pytest.mark.parametrize(
    ("dev", "expected"),
    [
        ([33.1, 32.8, 32.8, 32.8], False),  # one answer to everything
        ([32.8, 33.1, 33.1, 33.1], False),
        ([33.1, 32.8, 32.9, 32.8], True),
        ([96.0, 100.0, 100.0, 100.0], True),  # nothing is left to learn
        ([55.0, 50.0], True),  # one epoch after the first shows nothing
    ],
)
def test_a_run_whose_dev_score_does_not_move_is_not_converged(make_record, dev, expected):
    best = dev.index(max(dev)) + 1
    record = make_record(epochs={"run": len(dev), "best": best}, layer_weights=[])
    assert converged(record | {"curves": {**record["curves"], "dev": dev}}) is expected
