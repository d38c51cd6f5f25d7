"""Rare words, the units with such words, marks and clusters, by hand."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.static import StaticVectors
from elmo_bench.runner.data import build_data
from elmo_bench.runner.evaluate import _clusters, marks_of, rare_words, slice_outcomes
from elmo_bench.runner.prepare import prepare
from elmo_bench.tasks.coref.conll import Document
from elmo_bench.tasks.deprel.data import Sentence as Arcs
from elmo_bench.tasks.ner.metric import Metric as Entities
from elmo_bench.tasks.squad.build import Passage, Question
from elmo_bench.tasks.wsd.evaluation import Sentence as Senses
from elmo_bench.tasks.wsd.evaluation import Target
from elmo_bench.text.tags import TaggedSentence
from tests.runs import described

VECTORS = StaticVectors(["anna", "saw", "rome"], np.zeros((3, 2), np.float32), "x")


@dataclass
class Example:
    text: str
    gold: str = "a"
    marks: dict = field(default_factory=dict)

    @property
    def texts(self):
        return (tuple(self.text.split()),)


def listed(outcomes):
    return {name: values.tolist() for name, values in outcomes.items()}


def splits(train, *test):
    return {"train": [Example(train)], "dev": [Example("Anna")], "test": [*map(Example, test)]}


def data_of(task):
    return build_data(*described(f"task={task}"))


def has(*words):
    return lambda found: not set(words).isdisjoint(found)


def test_a_word_is_rare_whatever_its_case_and_signs_never_are():
    rare = rare_words(splits("ANNA left 7", "anna saw Bo , 8", "Left Rome"), VECTORS)
    assert rare == {"unseen": {"saw", "Bo", "Rome"}, "novector": {"Bo", "Left"}}


def test_examples_have_flags_and_their_own_words_count():
    rare = rare_words(splits("anna left", "anna saw", "Bo"), VECTORS)
    examples = [Example("anna saw"), SimpleNamespace(texts=(("Bo",),), slice_words=("anna",)), Example("Bo anna")]
    assert listed(slice_outcomes(None, None, examples, [], rare=rare, whole={})) == {
        "unseen": [True, False, True],
        "novector": [False, False, True],
    }


def test_units_are_counted_where_they_are_and_the_rest_is_not_kept():
    examples = [
        TaggedSentence(("Bo", "met", "Anna"), ("B-P", "O", "B-P")),
        TaggedSentence(("it", "rained"), ("O", "O")),
        TaggedSentence(("Rome",), ("B-L",)),
    ]
    predicted = [["B-P", "O", "O"], ["O", "B-P"], ["B-P"]]
    rare, metric = {"unseen": frozenset({"Bo", "Rome"}), "novector": frozenset()}, Entities()
    whole = metric.counts([each.gold for each in examples], predicted)
    assert listed(slice_outcomes(data_of("ner"), metric, examples, predicted, rare=rare, whole=whole)) == {
        "unseen.correct": [1, 0, 0], "unseen.guessed": [1, 0, 1], "unseen.gold": [1, 0, 1],
        "novector.correct": [0, 0, 0], "novector.guessed": [0, 0, 0], "novector.gold": [0, 0, 0],
    }  # fmt: skip


def test_the_units_of_a_task():
    sentence = TaggedSentence(("Anna", "Lee", "met", "Bo", "in", "Rome"), ("B-P", "I-P", "O", "B-P", "O", "B-L"))
    predicted = ["B-P", "O", "B-P", "I-P", "O", "B-L"]
    entities = data_of("ner").within
    assert entities(sentence, predicted, has("Lee", "Rome")) == (
        ["B-P", "I-P", "O", "O", "O", "B-L"],
        ["O", "O", "O", "O", "O", "B-L"],
    )
    assert entities(sentence, predicted, has("Bo"))[1] == ["O", "O", "B-P", "I-P", "O", "O"]
    gold = (((0, 0), (4, 4)), ((2, 2), (5, 6)))
    document = Document("d", "0", "x", (("Anna", "saw", "Bo", "."), ("She", "left", ".")), ("-",) * 7, gold)
    chains, predicted = data_of("coref").within, [[(0, 0), (2, 2)], [(4, 4), (5, 5)]]
    assert chains(document, predicted, has("Bo")) == ([gold[1]], [predicted[0]])
    assert chains(document, predicted, lambda words: "Bo" not in words) == ([gold[0]], [predicted[1]])
    arcs, words = Arcs(("I", "saw", "Bo"), (1, -1, 1), ("nsubj", "root", "obj")), data_of("deprel").within
    assert words(arcs, ["a", "b", "c"], has("Bo", "I")) == (["nsubj", "obj"], ["a", "c"])
    assert words(arcs, ["a", "b", "c"], has("none")) is None
    targets = (Target("1", 0, 1, "i", "NOUN", ("k",)), Target("2", 1, 3, "see", "VERB", ("l",)))
    senses, words = Senses(("I", "saw", "Bo"), targets), data_of("wsd").within
    assert words(senses, [("k",), ()], has("Bo")) == ([targets[1]], [()])
    assert words(senses, [("k",), ()], has("none")) is None
    passage = Passage("Bo lives in Rome", ("Bo", "lives", "in", "Rome"), ((0, 2), (3, 8), (9, 11), (12, 16)))
    question = Question("1", ("Where", "is", "he", "?"), passage, ("Rome",), ((3, 3),))
    assert set(question.slice_words) == {"Where", "is", "he", "?", "Rome"}


def test_marks_that_all_examples_have():
    marks = [{"is_verb": True, "long": False}, {"is_verb": False}]
    assert listed(marks_of([Example("a", marks=each) for each in marks])) == {"is_verb": [True, False]}
    assert marks_of([SimpleNamespace(texts=(("a",),))]) == {}


def test_a_suite_without_vectors_is_one_line():
    with pytest.raises(UserError, match=r"^suite\.vectors: none\. Name static vectors, such as glove-6b"):
        prepare(*described("task=ner", "encoder=none", "encoder.words=null", "suite.vectors=null"))


def test_items_of_one_group_are_drawn_together():
    assert listed(_clusters([SimpleNamespace(group=name) for name in "bab"])) == {"cluster": [0, 1, 0]}


def test_slices_are_by_the_vectors_of_the_suite_not_of_the_encoder(tmp_path):
    """Else slices of two encoders would be of different items."""
    for name, word in (("suite", "was"), ("encoder", "London")):
        (tmp_path / f"{name}.txt").write_text(f"{word} 0.1 0.2\n", encoding="utf-8")
    vectors = [f"{name}.vectors={tmp_path / name}.txt" for name in ("suite", "encoder")]
    known = prepare(*described("task=ner", "encoder=glove", *vectors)).suite_vectors
    assert known.lookup("was") is not None and known.lookup("London") is None
