"""Every head learns a few real examples by heart, with its own optimiser at `size=cpu`: `make test-all`."""

import hydra
import pytest
import pytorch_lightning as pl
import torch

from elmo_bench.config import choices, compose
from elmo_bench.encoders.features import LayerStore
from elmo_bench.runner.parts import build_embedder, build_indexer, load_frozen, read_data
from tests.runs import DATA

EXAMPLES, SCORE = 32, 98.0
DOCUMENTS = {"coref": (4, 93.0)}  # tasks whose examples are whole documents: how many, and the score
PASSES, LOOK = 400, 10  # at most; how often the score is looked at


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the open suite's data in $ELMO_BENCH_DATA")
@pytest.mark.parametrize("encoder", ["glove", "elmo"])
@pytest.mark.parametrize("task", choices("task"))
def test_it_learns_real_examples_by_heart(task, encoder):
    count, wanted = DOCUMENTS.get(task, (EXAMPLES, SCORE))
    given = [f"task={task}", f"encoder={encoder}", "suite=open", f"data.root={DATA}", f"data.max_train={count}"]
    config = compose("config", given)
    adapter = hydra.utils.instantiate(config.task.data)
    splits = read_data(config, adapter)
    train, frozen = splits["train"], load_frozen(config, splits)
    assert len(train) == count
    pl.seed_everything(0, verbose=False)
    embedder = build_embedder(config, frozen, train)
    head = hydra.utils.instantiate(config.task.head)(embedder, **adapter.vocabulary(train))
    index = build_indexer(embedder, LayerStore(frozen.encoder, mode="off") if frozen.encoder else None)
    metric = hydra.utils.instantiate(config.task.metric)
    optimizer = hydra.utils.instantiate(config.task.training.optimizer)(head.parameters())
    size = config.task.training.batch
    batches = [head.collate(train[start : start + size], index) for start in range(0, count, size)]
    gold, best = [example.gold for example in train], 0.0
    for number in range(1, PASSES + 1):
        for batch in batches:
            head.train()
            optimizer.zero_grad()
            (head.loss(batch) + head.embedder.regularisation()).backward()
            if config.task.training.clip:
                torch.nn.utils.clip_grad_norm_(head.parameters(), config.task.training.clip)
            optimizer.step()
        if number % LOOK == 0:
            with torch.no_grad():
                found = [answer for batch in batches for answer in head.eval().predict(batch)]
            best = max(best, metric.score(gold, found)["overall"][metric.main])
            if best >= wanted:
                break
    assert best >= wanted
