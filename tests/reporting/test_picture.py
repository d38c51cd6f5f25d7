"""Table 1, its picture and its headline: which encoders they show, and what they say."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.figure import Figure

from elmo_bench.reporting import picture
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.figures import FAINT
from elmo_bench.reporting.layouts.encoders import papers_reduction
from elmo_bench.reporting.selection import candidates
from elmo_bench.reporting.table1 import others_table, table1
from elmo_bench.reporting.tables import layout_of
from elmo_bench.spec.experiments import Experiment
from tests.reporting.frames import experiment_in, texts
from tests.reporting.ledgers import PAPER, fill, stuck
from tests.runs import first_ones

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


def test_table_1_has_the_steps_of_the_gain_that_have_runs(tmp_path):
    fill(tmp_path, "ner snli", "none random glove elmo_word elmo mybert", seeds=2)
    fill(tmp_path, "ner", "bert_mini elmo_alone", seeds=2)
    fill(tmp_path, "sst5", "glove elmo", seeds=2)
    main = experiment_in(tmp_path, "table1")
    table = table1(*main)
    assert table.notes[0] == "Seeds: 2 (Inference, Named entities, Sentiment)."
    assert table.notes[1] == (
        "Tests that are judged together: 7 (primary: gain, word vector, layers and context), "
        "2 (parts: layers, context)."
    )
    assert table.notes[2] == "Marks in the columns layers and context may change when their 10 missing tests have runs."
    assert table.notes[3] == "Holm's adjustment is over the 7 tests that have runs, of 18 that are planned."
    assert "No runs yet on sentiment: elmo_word." in table.notes
    assert "No runs yet on coreference: glove, elmo_word, elmo." in table.notes
    assert table.columns == [
        "task", "glove", "elmo", "gain: elmo − glove", "word vector: elmo_word − glove",
        "layers and context: elmo − elmo_word", "layers: elmo_alone − elmo_word", "context: elmo − elmo_alone",
    ]  # fmt: skip
    drawn = picture.picture(*main)
    lines = {line["task"].partition(" (")[0]: line for line in texts(table)}
    steps = {
        "Named entities": "word vector, layers and context, layers, context",
        "Inference": "word vector, layers and context",
    }
    for task, line in lines.items():
        filled = [heading.partition(":")[0] for heading, text in line.items() if "−" in heading and text]
        assert ", ".join(filled[1:]) == steps.get(task, "")
        gains = {}
        for heading, text in line.items():
            # Such as "+1.2 ▲ (0.3 to 2.1)"; without a test there is no mark.
            found = re.match(r"[+−][\d.]+( [▲▼=])?", text)
            gains[heading.partition(":")[0]] = found[0] if found else ""
        assert f"{gains['gain']} " in drawn.svg
        for names, svg in (({}, drawn.svg), (picture.SHORT, drawn.phone_svg)):
            flat = re.sub(r"</tspan>\s*<tspan[^>]*>", " ", svg)
            for step in filled[1:]:
                drawn_step = rf"\b{names.get(step, step)} {re.escape(gains[step])}"
                split = step == "layers and context" and "layers" in filled
                assert bool(re.search(drawn_step, flat)) != split, step
    assert drawn.svg.count("not split without elmo_word") == 1 and "paper 21.0" in drawn.svg


def test_steps_that_are_not_converged_are_not_drawn(tmp_path):
    fill(tmp_path, "ner", "glove elmo_alone elmo", seeds=2)
    for seed in range(2):
        stuck(tmp_path, "ner", "elmo_word", seed, lift=-0.4)
    drawn = picture.picture(*experiment_in(tmp_path, "table1"))
    assert "not split without elmo_word" in drawn.svg
    assert "word vector" not in drawn.svg


@pytest.mark.slow
def test_with_all_runs_the_gain_has_three_steps_everywhere(tmp_path):
    fill(tmp_path, "ner snli", "glove elmo_word elmo_alone elmo", seeds=2)
    table = table1(*experiment_in(tmp_path, "table1"))
    for line in table.lines:
        mean = {name.partition(":")[0]: line[name] for name in line if name.endswith(" gain")}
        assert mean["gain"] == pytest.approx(mean["word vector"] + mean["layers"] + mean["context"])
        assert mean["layers and context"] == pytest.approx(mean["layers"] + mean["context"])
    systems, comparisons, _ = experiment_in(tmp_path, "table1")
    primary = comparisons[comparisons.family == "primary"]
    assert not {"elmo_alone"} & {*primary.our_name, *primary.their_name}
    assert len(primary) == 6 and systems.name.nunique() == 4


def test_what_is_judged_does_not_change_when_elmo_alone_arrives(tmp_path):
    fill(tmp_path, "ner snli", "glove elmo_word elmo", seeds=2)
    before = experiment_in(tmp_path, "table1")[1].set_index(["ours", "theirs"])
    fill(tmp_path, "ner snli", "elmo_alone random minilm", seeds=2)
    after = experiment_in(tmp_path, "table1")[1].set_index(["ours", "theirs"]).loc[before.index]
    for column in ("p_holm", "verdict", "family_low", "family_high"):
        assert list(after[column]) == list(before[column])


@pytest.mark.slow
def test_other_encoders_have_a_table_and_a_mark_where_they_have_runs(tmp_path):
    fill(tmp_path, "ner snli sst5", "glove elmo", seeds=2)
    assert others_table(*experiment_in(tmp_path, "table1")) is None
    fill(tmp_path, "ner", "none random mpnet", seeds=2)
    fill(tmp_path, "ner snli", "minilm", seeds=2)
    main = experiment_in(tmp_path, "table1")
    table = others_table(*main)
    assert table.columns == ["task", "elmo − glove", "minilm − glove", "mpnet − glove", "random − glove"]
    assert [line["task"] for line in texts(table)] == ["Inference (snli), accuracy", "Named entities (ner), F1"]
    assert texts(table)[0]["mpnet − glove"] == ""
    drawn = picture.picture(*main)
    for name, count in {"minilm": 2, "mpnet": 1, "random": 1}.items():
        assert len(re.findall(rf">{name} [+−]", drawn.svg)) == count
    [style] = re.findall(r'style="([^"]*)"[^>]*>random ', drawn.svg)
    assert FAINT in style


@pytest.mark.parametrize(
    "encoders", first_ones(["glove elmo_word elmo_alone elmo minilm random mpnet none", "glove elmo"], 1)
)
def test_a_drawn_interval_contains_zero_exactly_beside_a_tie(tmp_path, encoders):
    fill(tmp_path, "ner snli", encoders, seeds=2)
    check_drawn(*experiment_in(tmp_path, "table1"))


@pytest.mark.slow
def test_so_does_each_committed_one(committed):
    _, board = committed
    experiment = Experiment.load("table1")
    layout = layout_of(experiment)
    selected = layout.select(candidates(board.systems, experiment), experiment)
    check_drawn(selected, compare(board.runs, layout.pairs(selected, experiment)), experiment)


def check_drawn(systems, comparisons, experiment):
    """Of the picture and of both tables: without zero in its interval, a gain has ▲ or ▼; a tie has zero in it."""
    drawn = picture.picture(systems, comparisons, experiment)
    for phone in (False, True):
        figure = Figure(layout="constrained")
        drawn.paint(figure.add_subplot(), phone)
        intervals = []
        for line in figure.axes[0].lines:
            if line.get_label() in ("_ahead", "_behind", "_tie"):
                intervals.append((line.get_label()[1:], *line.get_xdata()))
        assert len(intervals) >= systems.task.nunique()
        check_intervals(intervals)
        tested = comparisons[comparisons.verdict != ""]
        known = {tuple(row) for row in tested[["family_low", "family_high"]].round(9).to_numpy().tolist()}
        assert {(round(low, 9), round(high, 9)) for _, low, high in intervals} <= known
    shown = 0
    for table in (table1(systems, comparisons, experiment), others_table(systems, comparisons, experiment)):
        for line in table.lines if table else ():
            for name in [name.removesuffix(" family_low") for name in line if name.endswith(" family_low")]:
                if line[f"{name} verdict"] in ("ahead", "behind", "tie"):
                    check_intervals(
                        [tuple(line[f"{name} {part}"] for part in ("verdict", "family_low", "family_high"))]
                    )
                    shown += 1
    assert shown >= systems.task.nunique()


def check_intervals(intervals):
    for verdict, low, high in intervals:
        assert {"ahead": low + high > 0, "behind": low + high < 0, "tie": low < 0 < high}[verdict], (verdict, low, high)


def test_the_papers_share_of_errors():
    """As the paper prints them, table 1: increase, relative."""
    of = {task: papers_reduction(TABLE1, task) for task in PAPER}
    printed = {"squad": 25.0, "snli": 5.8, "srl": 17.2, "coref": 9.8, "ner": 21.0, "sst5": 6.8}
    assert {task: round(share, 1) for task, share in of.items()} == printed
