"""What a record says of how its run differs from the plain one."""

import pytest
from elmo_bench.runner.identity import overrides_of

from elmo_bench.spec.config import compose


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["encoder=elmo", "seed=3", "predictions=true", "trainer.threads=1"], []),
        (["encoder=elmo", "mix=scalar", "mix.penalty=1", "mix.gamma=true"], ["mix.penalty=1"]),
        (["encoder=elmo", "mix=last", "mix.penalty=1"], ["mix=last"]),  # nothing is learned that λ could hold back
        (["encoder=glove", "mix=last", "place=both", "suite.weights=mine"], []),  # glove has none of them
        (["encoder=elmo", "suite.weights=/home/me/mine"], ["encoder.weights=mine"]),
        (["encoder=elmo", "encoder.precision=bfloat16"], ["encoder.precision=bfloat16"]),
        (["encoder=elmo_characters"], []),  # its mix is its own
        (["encoder=elmo", "trainer=gpu"], []),
        (["encoder=elmo", "trainer=gpu", "trainer.precision=32-true"], ["trainer.precision=32-true"]),
        (["encoder=elmo", "size=paper", "suite=open"], []),
        (["encoder=elmo", "task.sizes.cpu.hidden=[4,4]"], ["task.sizes.cpu.hidden=[4,4]"]),
        (["encoder=elmo", "task.data.mini.seed=1", "suite=mini"], ["task.data.mini.seed=1"]),
        (["encoder=elmo", "task.data.open.train=mine.conll", "suite=mini"], []),  # another suite's
        (["encoder=elmo", "experiment=debug"], ["data.max_train=32", "task.training.epochs=1"]),  # by what it does
        (
            ["encoder=elmo", "experiment=figure1", "data.train_fraction=0.1"],
            ["data.least_steps=100", "data.train_fraction=0.1"],
        ),
        (["encoder=elmo", "experiment=figure1", "data.train_fraction=1"], []),  # the whole is read once
    ],
)
def test_told_by_what_they_do(given, expected):
    given = ["task=ner", *given]
    assert overrides_of(compose("config", given), given) == expected
