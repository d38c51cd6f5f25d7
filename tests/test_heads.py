"""One test for every head: each task of conf/task with each kind of encoder, on four examples and twelve others."""

from functools import cache

import pytest
import pytorch_lightning as pl
import torch
from safetensors.torch import load, save

from elmo_bench.encoders.cache import LayerStore
from elmo_bench.reporting.formulas import score_of
from elmo_bench.runner.data import words_of
from elmo_bench.runner.model import Lexicon, build_embedder, build_head, build_indexer, load_frozen
from elmo_bench.runner.prepare import prepare
from elmo_bench.spec.config import choices, compose
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from tests.heads import has_layers
from tests.runs import small

STEPS = 400


def options(task, encoder):
    """Four examples and narrow layers, where the head has any."""
    given = small(f"task={task}", "data.max_train=4", encoder=encoder)
    return given if has_layers(task) else [said for said in given if not said.startswith("task.head.hidden=")]


@cache
def data(task):
    """(adapter, splits): making them takes longer than reading them with another encoder."""
    config = compose("config", options(task, "none"))
    prepared = prepare(config, RunSpec.of(config))
    return prepared.data, prepared.splits


class Bench:
    """A head on four training examples and twelve others."""

    def __init__(self, task, encoder):
        self.config = compose("config", options(task, encoder))
        self.adapter, splits = data(task)
        self.train, self.others = splits["train"], splits["dev"][:12]
        self.spec = RunSpec.of(self.config)
        self.frozen = load_frozen(self.config, words_of([example for split in splits.values() for example in split]))
        self.head = self.build(seed=0)
        self.everything = self.collate(self.train)

    def build(self, seed):
        pl.seed_everything(seed, verbose=False)
        embedder = build_embedder(self.spec, self.frozen, Lexicon.of(self.train))
        return build_head(self.spec, embedder, self.adapter.vocabulary(self.train))

    def collate(self, examples):
        store = LayerStore(self.frozen.encoder, mode="off") if self.frozen.encoder else None
        return self.head.collate(examples, build_indexer(self.head.embedder, store))

    def loss(self):
        return self.head.loss(self.everything) + self.head.embedder.regularisation()


@pytest.fixture(
    scope="module", params=[(t, e) for t in choices("task") for e in ("none", "glove", "elmo")], ids="-".join
)
def bench(request):
    return Bench(*request.param)


def test_gradient_reaches_every_parameter(bench):
    bench.head.train().zero_grad()
    bench.loss().backward()
    trained = {name: p for name, p in bench.head.named_parameters() if p.requires_grad}
    assert trained
    assert [name for name, p in trained.items() if p.grad is None or not p.grad.abs().sum() > 0] == []


def test_nothing_frozen_is_among_the_parameters(bench):
    assert all(p.requires_grad for p in bench.head.parameters())
    if bench.frozen.encoder is not None:
        frozen = list(bench.frozen.encoder.bilm.parameters())
        assert not any(p.requires_grad or p.grad is not None for p in frozen)
        assert not bench.frozen.encoder.bilm.training
        assert not {id(p) for p in frozen} & {id(p) for p in bench.head.parameters()}


def test_it_learns_four_examples(bench):
    if bench.config.encoder.words == "learned" and not has_layers(bench.config.task.name):
        pytest.skip("a head that looks at one word at a time knows nothing of words that are there once")
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
    again = bench.build(seed=1).eval()
    batch = bench.collate(bench.others)
    with torch.no_grad():
        again.load_state_dict(load(saved))
        assert again.predict(batch) == bench.head.eval().predict(batch)
        torch.testing.assert_close(again.loss(batch), bench.head.loss(batch))


def test_predictions_do_not_depend_on_batch_mates(bench):
    bench.head.eval()
    with torch.no_grad():
        together = bench.head.predict(bench.collate(bench.others))
        backwards = bench.head.predict(bench.collate(bench.others[::-1]))[::-1]
        alone = [bench.head.predict(bench.collate([example]))[0] for example in bench.others]
    assert together == backwards == alone


def test_metric_and_files_keep_the_contract(bench, tmp_path):
    metric, path = task_class(bench.spec.task, "metric")(), tmp_path / f"found{bench.adapter.ending}"
    gold = [example.gold for example in bench.others]
    with torch.no_grad():
        found = bench.head.eval().predict(bench.collate(bench.others))
    scores = metric.score(gold, found)
    assert 0 <= scores["overall"][metric.main] <= 100
    assert score_of(metric.outcomes(gold, found)) == pytest.approx(scores["overall"][metric.main], abs=1e-3)
    assert metric.table(scores)
    bench.adapter.write(path, bench.others, found)
    if len(metric.files) == 1:  # else the gold is a file of its own, which mini has not
        assert metric.score_files(path)["overall"] == scores["overall"]
    assert callable(bench.adapter.read_file)


def test_features_do_not_depend_on_batch_mates(bench):
    store = LayerStore(bench.frozen.encoder, mode="off") if bench.frozen.encoder else None
    embedder = bench.head.eval().embedder
    index = build_indexer(embedder, store)
    texts = [text for example in bench.others for text in example.texts]
    with torch.no_grad():
        together, backwards = embedder(index(texts)), embedder(index(texts[::-1])).flip(0)
        assert together.shape[2] == embedder.dim
        for row, text in enumerate(texts):
            alone = embedder(index([text]))[0]
            torch.testing.assert_close(together[row, : len(text)], alone, atol=5e-6, rtol=0)
            torch.testing.assert_close(backwards[row, : len(text)], alone, atol=5e-6, rtol=0)
