"""A task that gives examples that no run can use: one line for whoever writes it. Parts: tests/cli/test_test.py."""

from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.runner.data import read_splits
from tests.runs import described


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dev": []}, "gives no dev examples"),
        ({"test": [SimpleNamespace(texts=("word", "word"), gold=1)]}, "not a tuple of tuples of words"),
        ({"train": [SimpleNamespace(texts=(("word",),))]}, "train, example 1: it has no gold"),
    ],
)
def test_splits_that_no_run_can_use(changed, said):
    one = [SimpleNamespace(texts=(("word",),), gold=1)]
    data = SimpleNamespace(read=lambda suite, root: {"train": one, "dev": one, "test": one} | changed)
    with pytest.raises(UserError, match=said):
        read_splits(data, *described())
