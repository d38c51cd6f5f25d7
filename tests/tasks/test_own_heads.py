"""The other heads of the tasks on data of the user's own: one linear layer, and floors without vectors."""

import numpy as np
import pytest
import torch

from elmo_bench.runner import contract
from elmo_bench.runner.heads import vocabulary_of
from elmo_bench.spec.names import head_class
from elmo_bench.tasks.tagging.features import features_of, shape_of
from elmo_bench.tasks.tagging.names import names_of, numbers_of, tags_of
from tests.heads import built
from tests.runs import GOLDEN, VECTORS, first_ones

FLOORS = {"classification": "tfidf", "pairs": "tfidf", "tagging": "features"}
ELMO = ("encoder=elmo", f"encoder.weights={GOLDEN}", f"suite.vectors={VECTORS}")


@pytest.fixture(scope="module", params=first_ones(["tagging", "classification", "pairs"], 2))
def linear(request):
    """One linear layer over GloVe and ELMo."""
    return built(request.param, "head=linear", *ELMO, f"data.max_train={contract.FEW}")


@pytest.fixture(scope="module", params=first_ones(["tagging", "classification", "pairs"], 2))
def floor(request):
    """A floor that was fitted to 60 examples, most loosely at last."""
    trial = built(request.param, f"encoder={FLOORS[request.param]}", f"suite.vectors={VECTORS}", "data.max_train=60")
    trial.fits = list(trial.head.fits(trial.train, 4))
    return trial


def test_a_linear_head_keeps_the_contract(linear):
    contract.check_gradients(linear)
    contract.check_training(linear)
    contract.check_learning(linear)
    contract.check_saving(linear)
    contract.check_batches(linear)
    contract.check_gold(linear)


def test_a_linear_head_trains_one_layer_and_the_mix(linear):
    trained = [name for name, p in linear.head.named_parameters() if p.requires_grad]
    assert sorted(trained) == [
        "embedder.mixes.input.gamma", "embedder.mixes.input.scalars", "probe.scores.bias", "probe.scores.weight",
    ]  # fmt: skip
    [vectors] = {"classification": [1], "pairs": [4], "tagging": [1]}[linear.spec.task]
    assert linear.head.probe.scores.in_features == vectors * linear.head.embedder.dim


def test_a_floor_keeps_the_contract(floor):
    contract.check_saving(floor)
    contract.check_batches(floor)
    contract.check_gold(floor)


def test_a_floor_learns_what_it_was_fitted_to(floor):
    """More of it with every C."""
    losses = [fit.loss for fit in floor.fits]
    assert losses == sorted(losses, reverse=True)
    assert all(fit.steps > 0 for fit in floor.fits)
    predicted = [list(answer) for answer in floor.predict(floor.train)]
    right = np.mean([answer == list(example.gold) for answer, example in zip(predicted, floor.train, strict=True)])
    assert right > 0.9


def check_probabilities(trial):
    """The most probable label, or tag of a token, is the one that the head predicts.

    BIO tags may differ: an I that continues no span becomes a B of the same type.
    """
    some = trial.train[:8]
    head = trial.head.eval()
    with torch.no_grad():
        found = head.probabilities(head.collate(some, trial.index))
    for shares, answer in zip(found, trial.predict(some), strict=True):
        tokens = shares if isinstance(shares, list) else [shares]
        answers = answer if isinstance(answer, list) else [answer]
        for token, label in zip(tokens, answers, strict=True):
            assert sum(token.values()) == pytest.approx(1)
            best = max(token, key=token.get)
            assert label.removeprefix("U-") == best or label == best.replace("I-", "B-")


def test_a_linear_head_gives_probabilities(linear):
    check_probabilities(linear)


def test_a_floor_gives_probabilities(floor):
    check_probabilities(floor)


def test_a_floor_is_the_same_in_every_run(floor):
    again = floor.again(seed=7)
    list(again.fits(floor.train, 4))
    for name, tensor in floor.head.state_dict().items():
        assert np.array_equal(tensor.numpy(), again.state_dict()[name].numpy()), name


def test_the_terms_of_a_floor_are_those_of_its_training_examples(floor):
    numbers = {key: value for key, value in floor.spec.part("task.head").items() if key != "name"}
    cls = head_class(floor.spec.task, "floor")
    few = cls.vocabulary(floor.train, **numbers | {"most": 5})
    assert all(len(terms) == 5 for terms in few.values())
    known = vocabulary_of(floor.spec, floor.data, floor.train)
    assert all({*terms} <= {*known[name]} for name, terms in few.items())
    rare = cls.vocabulary(floor.train, **numbers | {"least": 10_000})
    assert not any(rare.values())


def test_a_floor_without_a_term_gives_the_most_frequent_answer(floor):
    trial = built(floor.spec.task, f"encoder={floor.spec.encoder}", "task.head.least=10000", train=floor.train)
    assert len(list(trial.head.fits(trial.train, 2))) == 2
    answers = {str(answer) for example in trial.predict(trial.others) for answer in np.ravel(example)}
    golds = [str(gold) for example in trial.train for gold in np.ravel(example.gold)]
    assert answers == {max(golds, key=golds.count)}


@pytest.mark.parametrize(
    ("tags", "labels", "predicted"),
    [
        ("B-P I-P O I-L B-L", ["O", "B-L", "I-L", "U-L", "L-L", "B-P", "I-P", "U-P", "L-P"], "B-P I-P O B-L B-L"),
        ("U-NN U-VB U-NN", ["U-NN", "U-VB"], "U-NN U-VB U-NN"),
    ],
)
def test_tags_without_transitions(tags, labels, predicted):
    """An I that continues no span opens one; plain tags stay as they are."""
    names = names_of(labels)
    numbers = [names.index(tag) for tag in tags.split()]
    assert tags_of(numbers, names) == predicted.split()


def test_a_tag_that_training_lacks_has_a_number_too():
    class New:
        gold, tokens = ("B-X", "O"), ("a", "b")

    assert numbers_of(New, ["B-P", "I-P", "O"]) == [0, 2]
    New.gold = ()
    assert numbers_of(New, ["O"]) == [0, 0]


def test_features_of_a_token_are_its_spelling_and_its_neighbours():
    first, second = features_of(("Ada", "10-12"))
    assert {"token Ada", "lower ada", "shape Xx", "starts ad", "ends da", "-1 ", "-2 ", "+1 10-12", "+1 shape d-d"} <= {
        *first
    }
    assert "starts ada" not in first  # it would be the token
    assert {"-1 ada", "-1 shape Xx", "+1 "} <= {*second}
    assert len({*first}) == len(first)
    assert [shape_of(token) for token in ("USA", "McCoy", "e-mail", "")] == ["X", "XxXx", "x-x", ""]
