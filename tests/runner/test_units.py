"""Rare words and the units that have them, by hand; marks; and a record's slices against those that a head makes."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.encoders.static import StaticVectors
from elmo_bench.ledger import RunPaths, read_outcomes, read_slices, slices_of
from elmo_bench.runner.data import build_data
from elmo_bench.runner.evaluate import _known
from elmo_bench.runner.prepare import prepare
from elmo_bench.runner.units import Rare, marks_of, outcomes_within
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.tasks.ner.metric import Metric as Entities
from elmo_bench.tasks.pos.data import Data as WordData
from elmo_bench.tasks.pos.metric import Metric as Words
from elmo_bench.text.sentence import TaggedSentence
from tests.runs import run_small, small

VECTORS = StaticVectors(["anna", "saw", "rome"], np.zeros((3, 2), np.float32), "x")


@dataclass
class Example:
    text: str
    gold: str = "a"
    marks: dict = field(default_factory=dict)

    @property
    def texts(self):
        return (tuple(self.text.split()),)


def splits(train, *test):
    return {"train": [Example(train)], "dev": [Example("Anna")], "test": [*map(Example, test)]}


def test_a_word_is_rare_whatever_its_case_and_signs_never_are():
    rare = Rare.of(splits("ANNA left 7", "anna saw Bo , 8", "Left Rome"), VECTORS)
    assert rare.unseen == {"saw", "Bo", "Rome"}
    assert rare.novector == {"Bo", "Left"}
    keeps = rare.keeps
    assert list(keeps) == ["unseen", "seen", "novector", "vector"]
    assert [keeps[name](["Anna", "Bo"]) for name in keeps] == [True, False, True, False]
    assert [keeps[name](["Anna", ","]) for name in keeps] == [False, True, False, True]


def test_examples_have_flags_and_their_own_words_count():
    rare = Rare.of(splits("anna left", "anna saw", "Bo"), VECTORS)
    examples = [Example("anna saw"), SimpleNamespace(texts=(("Bo",),), slice_words=("anna",)), Example("Bo anna")]
    found = rare.outcomes(None, None, examples, [], {})
    assert {name: values.tolist() for name, values in found.items()} == {
        "unseen": [True, False, True],
        "novector": [False, False, True],
    }


def test_units_are_counted_where_they_are_and_the_rest_is_not_kept():
    data = build_data(compose("config", ["task=ner"]))
    examples = [
        TaggedSentence(("Bo", "met", "Anna"), ("B-P", "O", "B-P")),
        TaggedSentence(("it", "rained"), ("O", "O")),
        TaggedSentence(("Rome",), ("B-L",)),
    ]
    predicted = [["B-P", "O", "O"], ["O", "B-P"], ["B-P"]]
    rare, metric = Rare(frozenset({"Bo", "Rome"}), frozenset()), Entities()
    whole = metric.outcomes([each.gold for each in examples], predicted)
    found = rare.outcomes(data, metric, examples, predicted, whole)
    assert {name: values.tolist() for name, values in found.items()} == {
        "unseen.correct": [1, 0, 0], "unseen.guessed": [1, 0, 1], "unseen.gold": [1, 0, 1],
        "novector.correct": [0, 0, 0], "novector.guessed": [0, 0, 0], "novector.gold": [0, 0, 0],
    }  # fmt: skip


def test_an_example_that_is_left_out_counts_nothing():
    data, metric = WordData(), Words()
    examples = [TaggedSentence(("a", "b"), ("X", "Y")), TaggedSentence(("c",), ("X",))]
    found = outcomes_within(data, metric, examples, [["X", "X"], ["Y"]], {"b"}.issuperset)
    assert {name: values.tolist() for name, values in found.items()} == {"correct": [0, 0], "tokens": [1, 0]}
    nothing = outcomes_within(data, metric, examples, [["X", "X"], ["Y"]], lambda words: False)
    assert {name: values.tolist() for name, values in nothing.items()} == {"correct": [0, 0], "tokens": [0, 0]}


def test_marks_that_all_examples_have():
    marks = [{"is_verb": True, "long": False}, {"is_verb": False}]
    found = marks_of([Example("a", marks=each) for each in marks])
    assert {name: values.tolist() for name, values in found.items()} == {"is_verb": [True, False]}
    assert marks_of([SimpleNamespace(texts=(("a",),))]) == {}


@pytest.mark.parametrize("name", ["is_verb", "unseen", "by.type"])
def test_a_metric_cannot_use_the_names_of_the_runner(name):
    prepared = SimpleNamespace(
        spec=SimpleNamespace(task="mine"), data=None, rare=Rare(frozenset(), frozenset()),
        splits={"dev": [Example("a", marks={"is_verb": True})]},
    )  # fmt: skip
    trained = SimpleNamespace(module=SimpleNamespace(metric=None, predictions=["a"]))
    with pytest.raises(
        UserError, match=rf"^task=mine: Metric\.outcomes has {name}: give it another name, without a dot"
    ):
        _known(prepared, trained, "dev", {"correct": np.ones(1), name: np.ones(1)})


def test_unseen_is_what_the_run_did_not_train_on():
    """A fraction of the training split teaches fewer words; the encoder changes nothing."""

    def rare(*options):
        config = compose("config", ["task=ner", "suite=open", *options])
        return prepare(config, RunSpec.of(config)).rare

    whole, part = rare("encoder=none"), rare("encoder=none", "data.train_fraction=0.1")
    assert whole.unseen < part.unseen
    assert whole.novector == part.novector
    assert rare("encoder=glove") == whole


def test_a_suite_without_vectors_is_one_line():
    config = compose("config", ["task=ner", "suite=open", "encoder=none", "encoder.words=null", "suite.vectors=null"])
    with pytest.raises(UserError, match=r"^suite\.vectors: none\. Name static vectors, such as glove-6b"):
        prepare(config, RunSpec.of(config))


def test_a_record_alone_has_the_slices_that_the_command_makes(tmp_path):
    options = ["predictions=true", "data.max_train=300", "task.training.epochs=6", "task.training.optimizer.lr=0.02"]
    record = run_small(tmp_path, *options, encoder="none")
    assert main(["slices", "task=ner", *small(*options, f"ledger={tmp_path}", encoder="none")]) == 0
    paths = RunPaths.of(tmp_path, record)
    made, kept = read_slices(paths), slices_of(read_outcomes(paths), "test")
    assert made.pop("mistyped") and list(made) == list(kept)
    for name, outcomes in kept.items():
        assert outcomes["gold"].sum() > 0
        for key, values in outcomes.items():
            assert values.tolist() == made[name][key].tolist()
