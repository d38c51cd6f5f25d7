"""Every head learns a few real examples by heart, with its own optimiser at `size=cpu`: `make test-all`."""

import hydra
import pytest
import torch

from elmo_bench.config import choices
from tests.heads import build
from tests.runs import DATA

TASKS = [task for task in choices("task") if task != "pos"]  # a linear softmax cannot know words without vectors apart
EXAMPLES, SCORE = 32, 98.0
DOCUMENTS = {"coref": (4, 93.0)}  # tasks whose examples are whole documents: how many, and the score
PASSES, LOOK = 400, 10  # at most; how often the score is looked at


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the open suite's data in $ELMO_BENCH_DATA")
@pytest.mark.parametrize("encoder", ["glove", "elmo"])
@pytest.mark.parametrize("task", TASKS)
def test_it_learns_real_examples_by_heart(task, encoder):
    count, wanted = DOCUMENTS.get(task, (EXAMPLES, SCORE))
    given = [f"encoder={encoder}", "suite=open", f"data.root={DATA}", f"data.max_train={count}"]
    config, train, head, index = build(task, *given)
    assert len(train) == count
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
