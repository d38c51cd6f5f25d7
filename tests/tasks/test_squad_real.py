"""The real SQuAD files: as many questions as the raw text has, each answer in its span, no passage in two parts."""

import pytest
from omegaconf import OmegaConf

from elmo_bench.spec.config import compose
from elmo_bench.tasks.squad.data import Data
from tests.runs import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "squad").is_dir(), reason="needs squad in $ELMO_BENCH_DATA"),
]
SQUAD = Data(**OmegaConf.to_container(compose("config", ["task=squad"]).task.data, resolve=True))


def test_the_real_training_part():
    """4,370 questions on 12 articles as counted in the raw file; every answer is in its span."""
    path = DATA / "squad/train-v1.1.part.json"
    examples = SQUAD.read_file(path)
    assert len(examples) == path.read_text(encoding="utf-8").count('"question":') == 4370
    for example in examples:
        [(answer, span)] = zip(example.answers, example.spans, strict=True)
        assert answer.strip() in example.passage.cut(*span)
        assert len(example.passage.cut(*span)) < len(answer) + 30
    same = [example.passage.cut(*example.spans[0]) == example.answers[0] for example in examples]
    assert sum(same) > 4300


def test_the_open_suite_holds_every_question_and_splits_share_no_passage():
    splits = SQUAD.read("open", DATA)
    train, dev, test = (len(splits[name]) for name in ("train", "dev", "test"))
    assert (train + dev, test, 0.1 <= dev / 12308 < 0.15) == (7938 + 4370, 10570, True)
    one, two, three = ({example.passage.text for example in splits[name]} for name in ("train", "dev", "test"))
    assert not (one & two or three & (one | two))
