"""Cards of encoders and the overview: who is ranked, what an encoder is, what chance scores."""

from pathlib import Path

import pytest

from elmo_bench.reporting import cards, encoders
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import Row
from elmo_bench.spec.config import choices
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec
from tests.reporting.ledgers import default, fill, stuck, texts

TABLE1 = Experiment.load("table1")


def test_an_encoder_is_ranked_if_it_is_converged_on_every_task_of_elmo(tmp_path, compared):
    fill(tmp_path, "ner snli", "glove none", seeds=3)
    fill(tmp_path, "ner snli", "elmo", seeds=3, lift=0.1)
    fill(tmp_path, "ner", "mybert random", seeds=3)
    fill(tmp_path, "squad", "glove none", seeds=3)  # whose runs of elmo are yet to come
    for seed in range(3):
        stuck(tmp_path, "snli", "random", seed)
    own, gain = compared()
    every = cards.cards(TABLE1, encoders.picked(TABLE1, own, gain), gain, [])
    assert [(card.name, card.rank and card.rank.mean) for card in every] == [
        ("elmo", 1), ("glove", 2), ("none", 3), ("mybert", None), ("random", None),
    ]  # fmt: skip
    assert every[0].rank.low == 1 and every[0].rank.high < 2
    lines = {line["encoder"]: line for line in texts(cards.overview("open", every))}
    assert lines["elmo"]["Inference (snli)"].endswith("▲") and lines["random"]["Inference (snli)"].endswith("†")
    assert lines["mybert"]["Inference (snli)"] == "" == lines["mybert"]["mean rank"]
    assert lines["chance"]["Named entities (ner)"] == "0.00"
    assert lines["elmo"]["Question answering (squad)"] == ""


@pytest.mark.parametrize("name", sorted({*choices("encoder")} - {"hf", "precomputed", "cove"}))  # these take files
def test_every_encoder_that_ships_says_what_it_is_and_has_a_card_that_exists(name, make_record):
    row = Row(default("ner", name, "open", "cpu"), (make_record(),), name)
    assert cards.about(row).endswith(".") and "elmo-bench run" not in cards.about(row)
    without = ("none", "random", "random_only", "minilm", "elmo_bert_mini")
    assert Path(cards.link(row)).is_file() if name not in without else cards.link(row) == ""


def test_chance_is_the_most_frequent_gold_label_or_no_answer(make_record):
    def chance(metric, **gold):
        test = {"overall": {metric: 1.0}, "by_type": {name: {"gold": count} for name, count in gold.items()}}
        record = make_record(metric=metric, scores={"dev": test, "test": test})
        [group] = groups([Row(RunSpec(**record["spec"]), (record,), "elmo")])
        return group.chance

    assert chance("accuracy", yes=30, no=70) == (70, "always “no”")
    assert chance("f1", PER=3) == (0, "no answer")
    assert chance("accuracy") == chance("bleu") == (None, "")
