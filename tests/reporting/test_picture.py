"""Table 1, its picture and its headline: which encoders they show, and what they say."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from elmo_bench.reporting import picture
from elmo_bench.reporting.layouts.encoders import papers_reduction
from elmo_bench.reporting.table1 import table1
from elmo_bench.spec.experiments import Experiment
from tests.reporting.frames import experiment_in, texts
from tests.reporting.ledgers import PAPER, fill

TABLE1 = Experiment.load("table1")


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({}, "What is ELMo worth over GloVe?"),
        ({"Inference": ("", 3.0)}, "What is ELMo worth over GloVe?"),
        ({"Inference": ("tie", 3.0)}, "No difference was shown between ELMo and GloVe on inference."),
        (
            {"Inference": ("tie", 0.6), "Roles": ("ahead", 6.69), "Coreference": ("ahead", 2.0)},
            "ELMo gains 2.0 to 6.7 points over GloVe on roles and coreference; on inference no difference was shown.",
        ),
        (
            {"Sentiment": ("behind", -1.0), **{name: ("ahead", 2.0) for name in "ABCD"}},
            "ELMo gains 2.0 points over GloVe on 4 of 5 tasks; ELMo loses 1.0 points to GloVe on sentiment.",
        ),
    ],
)
def test_the_headline_says_which_gains_hold(verdicts, said):
    spec = SimpleNamespace(settings={})
    rows = [(title, title, verdict, mean, spec) for title, (verdict, mean) in verdicts.items()]
    gains = pd.DataFrame(rows, columns=["task", "title", "verdict", "gain", "spec"])
    assert picture.headline("elmo", gains) == said


def test_table_1_has_few_encoders_and_the_picture_the_parts_of_the_gain(tmp_path):
    fill(tmp_path, "ner snli", "none random glove elmo_word elmo mybert", seeds=2)
    fill(tmp_path, "ner", "bert_mini", seeds=2)
    fill(tmp_path, "sst5", "glove elmo", seeds=2)
    main = experiment_in(tmp_path, "table1")
    table = table1(*main)
    assert table.notes[0] == "Seeds: 2 (Inference, Named entities, Sentiment)."
    assert table.notes[1] == "Holm's adjustment is over the 7 tests that have runs, of 18 that are planned."
    assert "No runs yet on sentiment: elmo_word." in table.notes
    assert "No runs yet on coreference: glove, elmo_word, elmo." in table.notes
    assert table.columns[2:6] == ["glove", "elmo_word", "elmo", "mybert"]  # no control, nor what has fewer tasks
    drawn = picture.picture(*main)
    for line in texts(table):
        word, context, whole = (line[name].split(" ")[0] for name in (
            "word vector: elmo_word − glove", "context: elmo − elmo_word", "gain: elmo − glove"))  # fmt: skip
        assert f"{whole} " in drawn.svg
        for name, svg in (("word vector", drawn.svg), ("word", drawn.phone_svg)):
            split = rf"{re.escape(word)} [▲▼=] {name}, {re.escape(context)} [▲▼=] context"
            assert bool(re.search(split, svg)) == bool(word)
    assert drawn.svg.count("not split: no run of elmo_word") == 1 and "paper 21.0" in drawn.svg


def test_the_papers_share_of_errors():
    """As the paper prints them, table 1: increase, relative."""
    of = {task: papers_reduction(TABLE1, task) for task in PAPER}
    printed = {"squad": 25.0, "snli": 5.8, "srl": 17.2, "coref": 9.8, "ner": 21.0, "sst5": 6.8}
    assert {task: round(share, 1) for task, share in of.items()} == printed
