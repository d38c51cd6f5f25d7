"""One test for every head: each task of conf/task with each kind of encoder, on four examples and twelve others."""

from functools import partial

import pytest
import pytorch_lightning as pl
import torch
from safetensors.torch import load, save

from elmo_bench.spec.config import choices
from elmo_bench.spec.names import task_class
from elmo_bench.training.module import HeadTraining
from tests.heads import built, has_layers
from tests.runs import small

STEPS = 400


class Bench:
    """A head with narrow layers, on four training examples and twelve others."""

    def __init__(self, task: str, encoder: str):
        given = small("data.max_train=4", encoder=encoder)
        given = given if has_layers(task) else [said for said in given if not said.startswith("task.head.hidden=")]
        self.built = built(task, *given)
        self.head, self.others = self.built.head, self.built.splits["dev"][:12]
        self.everything = self.collate(self.built.train)

    def collate(self, examples):
        return self.head.collate(examples, self.built.index)

    def loss(self):
        return self.head.loss(self.everything) + self.head.embedder.regularisation()


# Static vectors are fixed for some tasks and trained for others.
STATIC = [("ner", "glove"), ("sst5", "glove")]


@pytest.fixture(
    scope="module", params=[*((t, e) for t in choices("task") for e in ("none", "elmo")), *STATIC], ids="-".join
)
def bench(request):
    return Bench(*request.param)


def test_gradient_reaches_every_parameter_and_nothing_frozen(bench):
    bench.head.train().zero_grad()
    bench.loss().backward()
    trained = {name: p for name, p in bench.head.named_parameters() if p.requires_grad}
    # A head may use the embedder unchanged, but then all of it.
    assert {*dict(bench.head.named_parameters())} - trained.keys() in (
        set(), {f"embedder.{name}" for name, _ in bench.head.embedder.named_parameters()}
    )  # fmt: skip
    assert [name for name, p in trained.items() if p.grad is None or not p.grad.abs().sum() > 0] == []
    for encoder in bench.built.frozen.encoders.values():
        bilm = encoder.bilm
        assert not bilm.training
        assert not any(p.requires_grad or p.grad is not None for p in bilm.parameters())
        assert not {id(p) for p in bilm.parameters()} & {id(p) for p in bench.head.parameters()}


def test_the_penalty_of_the_mixes_is_relative_to_one_item_whatever_the_size_of_the_batch(bench):
    """Twice the examples make a sum twice as large and a mean no larger, loss and penalty alike."""
    module = HeadTraining(bench.head.eval(), None, {}, {})
    [one, two] = [bench.collate(examples) for examples in (bench.built.train, bench.built.train * 2)]
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
    assert (penalty[0] > 10) == (
        bench.built.spec.task in ("ner", "coref", "tagging") and bool(bench.head.embedder.mixes)
    )


def test_it_learns_four_examples(bench):
    if bench.built.config.encoder.words == "learned" and not has_layers(bench.built.spec.task):
        pytest.skip("a head that looks at single words cannot learn words that occur once")
    pl.seed_everything(0, verbose=False)
    bench.head.eval()
    before = bench.loss().item()
    optimizer = torch.optim.Adam(bench.head.parameters(), lr=0.01)
    now = before
    for step in range(1, STEPS + 1):
        bench.head.train()
        optimizer.zero_grad()
        bench.loss().backward()
        optimizer.step()
        if step % 5 == 0:
            with torch.no_grad():
                bench.head.eval()
                now = bench.loss().item()
            if now < 0.5 * before:
                break
    assert now < 0.5 * before


def test_it_saves_and_loads_to_equal_predictions(bench):
    saved = save({name: tensor.contiguous() for name, tensor in bench.head.state_dict().items()})
    again = bench.built.again(seed=1).eval()
    batch = bench.collate(bench.others)
    with torch.no_grad():
        again.load_state_dict(load(saved))
        assert again.predict(batch) == bench.head.eval().predict(batch)
        torch.testing.assert_close(again.loss(batch), bench.head.loss(batch))


def test_neither_features_nor_predictions_depend_on_batch_mates(bench):
    head, index = bench.head.eval(), bench.built.index
    texts = [text for example in bench.others for text in example.texts]
    with torch.no_grad():
        together = head.predict(bench.collate(bench.others))
        backwards = head.predict(bench.collate(bench.others[::-1]))[::-1]
        alone = [head.predict(bench.collate([example]))[0] for example in bench.others]
        assert together == backwards == alone
        together, backwards = head.embedder(index(texts)), head.embedder(index(texts[::-1])).flip(0)
        assert together.shape[2] == head.embedder.dim
        close = partial(torch.testing.assert_close, atol=5e-6, rtol=0)
        for row, text in enumerate(texts):
            alone = head.embedder(index([text]))[0]
            close(together[row, : len(text)], alone)
            close(backwards[row, : len(text)], alone)


def test_metric_and_files_keep_the_contract(bench, tmp_path):
    data = bench.built.data
    metric, path = task_class(bench.built.spec.task, "metric")(), tmp_path / f"found{data.ending}"
    gold = [example.gold for example in bench.others]
    with torch.no_grad():
        found = bench.head.eval().predict(bench.collate(bench.others))
    scores = metric.score(gold, found)
    assert 0 <= scores["overall"][metric.main] <= 100
    outcomes = metric.outcomes(gold, found)
    assert {len(values) for values in outcomes.values()} == {len(gold)}
    summed = metric.formula.score_of(outcomes)
    assert summed == pytest.approx(scores["overall"][metric.main], abs=1e-3)
    for name, counted in outcomes.items():
        kind, _, count = name.removeprefix("type:").rpartition(".")
        assert not kind or counted.sum() == scores["by_type"][kind][count]
    assert metric.table(scores)
    data.write(path, bench.others, found)
    if len(metric.files) == 1:  # otherwise the gold is a file of its own, which mini does not have
        assert metric.score_files(path)["overall"] == scores["overall"]
