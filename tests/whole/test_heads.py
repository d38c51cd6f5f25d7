"""One test for every head: each task of conf/task with each kind of encoder, on four examples and twelve others."""

import pytest
import torch

from elmo_bench.runner import contract, contract_parts
from elmo_bench.spec.conf_files import choices
from elmo_bench.training.module import HeadTraining
from tests.heads import built, has_layers
from tests.runs import OWN, first_ones, small

# Static vectors are fixed for some tasks and trained for others.
STATIC = [("ner", "glove"), ("sst5", "glove")]
# Tasks on data of the user's own have heads of the suite's tasks: learned words show that theirs are built.
KINDS = [("ner", "none"), *((task, "none") for task in OWN)]
KINDS += [(task, "elmo") for task in choices("task") if task not in OWN]
# These have the head and the data of another that is among them.
REUSED = [("pairs", "none"), ("classification", "none"), ("deprel", "elmo")]
# The embedder gives the other heads learned words as it gives them ELMo.
LEARNED = [(task, "none") for task in choices("task") if (task, "none") not in KINDS]

FAST = [kind for kind in [*KINDS, *STATIC] if kind not in REUSED]
# A head that looks at single words cannot learn words that occur once, so most read ELMo. These take a second each:
LONG = [("coref", "elmo"), ("snli", "elmo"), ("squad", "elmo"), ("sst5", "elmo")]
LEARNING = [each for each in KINDS if (each[1] == "elmo" or each[0] == "ner") and each not in [*LONG, *REUSED]]
LEARNING += first_ones(LONG, 0)


@pytest.fixture(scope="module", params=[*FAST, *first_ones([*REUSED, *LEARNED], 0)], ids="-".join)
def bench(request):
    """A head with narrow layers."""
    task, encoder = request.param
    given = small(f"data.max_train={contract.FEW}", encoder=encoder)
    return built(task, *(said for said in given if has_layers(task) or not said.startswith("task.head.hidden=")))


def test_gradient_reaches_every_parameter_and_nothing_frozen(bench):
    contract.check_gradients(bench)
    frozen = {name for name, p in bench.head.named_parameters() if not p.requires_grad}
    # A head may use the embedder unchanged, but then all of it.
    assert frozen in (set(), {f"embedder.{name}" for name, _ in bench.head.embedder.named_parameters()})
    for part, encoder in bench.frozen.encoders.items():
        contract_parts.check_weights(encoder, bench.setup.encoders[part])
        assert not {id(p) for p in encoder.bilm.parameters()} & {id(p) for p in bench.head.parameters()}


def test_the_penalty_of_the_mixes_is_relative_to_one_item_whatever_the_size_of_the_batch(bench):
    """Twice the examples make a sum twice as large and a mean no larger, loss and penalty alike."""
    module = HeadTraining(bench.head.eval(), None, {}, {})
    [one, two] = [bench.head.collate(examples, bench.index) for examples in (bench.train, bench.train * 2)]
    with torch.no_grad():
        loss = [bench.head.loss(batch).item() for batch in (one, two)]
        for mix in bench.head.embedder.mixes.values():
            mix.scalars += 1
            mix.penalty += 1
        penalty = [module.objective(batch).item() - bench.head.loss(batch).item() for batch in (one, two)]
        for mix in bench.head.embedder.mixes.values():
            mix.scalars -= 1
            mix.penalty -= 1
    assert penalty[1] * loss[0] == pytest.approx(penalty[0] * loss[1], rel=1e-3)
    assert (penalty[0] > 0.5) == bool(bench.head.embedder.mixes)
    summed = bench.spec.task in ("ner", "coref", "tagging")
    assert (penalty[0] > 10) == (summed and bool(bench.head.embedder.mixes))


@pytest.mark.parametrize("bench", LEARNING, indirect=True, ids="-".join)
def test_it_learns_four_examples(bench):
    contract.check_learning(bench)


def test_it_saves_and_loads_to_equal_predictions(bench):
    contract.check_saving(bench)


def test_neither_features_nor_predictions_depend_on_batch_mates(bench):
    contract.check_batches(bench)
    contract.check_gold(bench)
    contract.check_training(bench)
    texts = [text for example in bench.others for text in example.texts]
    with torch.no_grad():
        together, backwards = (bench.head.embedder(bench.index(each)) for each in (texts, texts[::-1]))
        assert together.shape[2] == bench.head.embedder.dim
        for row, text in enumerate(texts):
            single = bench.head.embedder(bench.index([text]))[0]
            for batch in (together, backwards.flip(0)):
                torch.testing.assert_close(batch[row, : len(text)], single, atol=5e-6, rtol=0)


def test_data_metric_and_files_keep_the_contract(bench, tmp_path):
    found = bench.predict(bench.others)
    contract_parts.check_data(bench.data, bench.splits, bench.splits)
    contract_parts.check_metric(bench.metric, bench.others, found)
    contract_parts.check_files(bench.data, bench.metric, bench.others, found, tmp_path / f"found{bench.data.ending}")
