"""Table 1, its picture and its headline: which encoders they show, and what they say."""

import re
from types import SimpleNamespace

import pytest

from elmo_bench.reporting import encoders, picture
from elmo_bench.spec.experiments import Experiment
from tests.reporting.ledgers import PAPER, fill, texts

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
    of = SimpleNamespace
    picked = [
        of(group=of(info=of(title=title)), gains={"elmo": of(verdict=verdict, mean=mean)}, rows={})
        for title, (verdict, mean) in verdicts.items()
    ]
    assert picture.headline("elmo", picked) == said


def test_table_1_has_few_encoders_and_the_picture_the_parts_of_the_gain(tmp_path, compared):
    fill(tmp_path, "ner snli", "none random glove elmo_word elmo mybert", seeds=2)
    fill(tmp_path, "ner", "bert_mini", seeds=2)
    fill(tmp_path, "sst5", "glove elmo", seeds=2)
    own, gain = compared()
    picked = encoders.picked(TABLE1, own, gain)
    table = encoders.table1(TABLE1, "open", picked)
    assert table.notes[0] == "Seeds: 2 (Named entities, Inference, Sentiment)."
    assert table.notes[1] == "Holm's adjustment is over the 7 tests that have runs, of 18 that are planned."
    assert "No runs yet on sentiment: elmo_word." in table.notes
    assert "No runs yet on coreference: glove, elmo_word, elmo." in table.notes
    assert table.columns[2:6] == ["glove", "elmo_word", "elmo", "mybert"]  # no control, nor what has fewer tasks
    drawn = picture.picture(TABLE1, "open", picked)
    for line in texts(table):
        word, context, whole = (line[name].split(" ")[0] for name in (
            "word vector: elmo_word − glove", "context: elmo − elmo_word", "gain: elmo − glove"))  # fmt: skip
        assert f"{whole} " in drawn.svg
        for name, one in (("word vector", drawn), ("word", drawn.narrow)):
            split = rf"{re.escape(word)} [▲▼=] {name}, {re.escape(context)} [▲▼=] context"
            assert bool(re.search(split, one.svg)) == bool(word)
    assert drawn.svg.count("not split: no run of elmo_word") == 1 and "paper 21.0" in drawn.svg


def test_the_papers_share_of_errors():
    """As the paper prints them, table 1: increase, relative."""
    of = {task: encoders.printed_reduction(TABLE1, SimpleNamespace(group=SimpleNamespace(task=task))) for task in PAPER}
    printed = {"squad": 25.0, "snli": 5.8, "srl": 17.2, "coref": 9.8, "ner": 21.0, "sst5": 6.8}
    assert {task: round(share, 1) for task, share in of.items()} == printed
