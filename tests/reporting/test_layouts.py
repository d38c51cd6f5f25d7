"""The tables of each layout: which rows they have, and what each row is compared with."""

import re

import pandas as pd
import pytest

from elmo_bench.reporting import curves, encoders, layers, variants
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import Row
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec
from tests.reporting.ledgers import add, fill, full, texts

TABLE1, FIGURE1, FIGURE2 = (Experiment.load(name) for name in ("table1", "figure1", "figure2"))


def tables(name, own, gain):
    return variants.made(Experiment.load(name), "open", own, gain)[0]


def first_column(table):
    return [row[0].text for row in table.rows]


# Tasks by encoders


def test_no_fraction_and_no_variation_among_the_encoders(tmp_path, compared, board):
    for options in ({}, {"train_fraction": 0.1, "lift": 0.3}, {"max_train": 100, "lift": 0.3}):
        fill(tmp_path, "ner", "glove elmo", **options)
    add(tmp_path, "ner", "none", 0, train_fraction=0.1)
    add(tmp_path, "ner", "elmo_only", 0)
    add(tmp_path, "ner", "elmo", 0, mix="last", lift=0.3)
    [shown] = texts(encoders.made(TABLE1, "open", *compared())[0][0])
    assert list(shown) == ["task", "score", "glove", "elmo"]
    whole, *parts = board(tmp_path).suites[0].sections[-1].tables
    assert {row[0].text: row[-1].text for row in whole.rows} == {
        "elmo": "92.22 ± 0.10", "elmo, mix=last": "", "elmo_only": "", "glove": "90.15",
    }  # fmt: skip
    assert whole.title == "Named entities (ner), suite open: all runs on all of the data"
    assert {part.title.partition("all runs on ")[2] for part in parts} == {
        "at most 100 training examples", "10 % of the training data, at least 100 steps an epoch",
    }  # fmt: skip


# A table a task


@pytest.fixture(scope="module")
def snli(tmp_path_factory, board):
    folder = tmp_path_factory.mktemp("experiments")
    full(folder, tasks=("snli",), light=("snli",), seeds=1)
    return {section.name: section.tables for section in board(folder).suites[0].sections}


@pytest.mark.parametrize(
    ("name", "rows", "references"),
    [
        ("table2", ["baseline: static vectors", "last layer only", "all layers, λ = 1", "all layers, λ = 0.001"],
         ["baseline: static vectors"]),
        ("table3", ["input only", "input and output", "output only"], ["input and output"]),  # the task's place
        ("ablation_inputs", ["static vectors only", "character layer only", "ELMo only",
                             "static vectors and character layer", "static vectors and ELMo"], ["static vectors only"]),
        ("gamma", ["all layers, with γ", "all layers, without γ", "last layer, with γ", "last layer, without γ"],
         ["all layers, with γ", "last layer, with γ"]),  # each "without" against its "with"
        ("regularisation", ["0.0001", "0.001", "0.01", "0.1", "1", "10"], ["0.001"]),
    ],
)  # fmt: skip
def test_variants_in_order_each_compared_with_its_reference(snli, name, rows, references):
    [table] = snli[name]
    assert table.stem == f"open-snli-{name}"
    assert first_column(table) == rows
    verdicts = {next(iter(line.values())): line["verdict"] for line in texts(table)}
    assert [name for name, verdict in verdicts.items() if not verdict] == references


def test_a_section_says_what_the_runs_took_that_it_shows_and_no_others(tmp_path, board):
    full(tmp_path, tasks=("snli", "ner"), light=("snli",), seeds=1)
    sections = {section.name: section for section in board(tmp_path).suites[0].sections}
    for name in ("table2", "table3", "ablation_inputs", "gamma", "regularisation", "figure1"):
        [table] = sections[name].tables
        assert sections[name].spent.startswith(f"{len(table.rows)} runs took ")
    assert sections["table1"].spent.startswith("9 runs took ")  # 4 encoders on 2 tasks, and another on one


def test_the_papers_figures_are_in_a_column_headed_with_their_data(snli):
    [table] = snli["table2"]
    assert table.columns[-1].startswith("paper: SNLI dev (other data")
    assert [row[-1].text for row in table.rows] == ["88.1", "89.1", "89.3", "89.5"]
    assert not any(column.startswith("paper") for column in snli["gamma"][0].columns)


@pytest.mark.parametrize("other", ["mybert", "elmo_only"])
def test_every_encoder_takes_elmos_position_and_has_no_figures_of_the_paper(tmp_path, compared, other):
    for options in ({}, {"mix": "last"}):
        fill(tmp_path, "snli", f"{other} elmo", **options)
    add(tmp_path, "snli", "glove", 0)
    [table] = tables("table2", *compared())
    assert {row[0].text: row[-1].text for row in table.rows} == {
        "baseline: static vectors": "88.1",
        "elmo: last layer only": "89.1",
        f"{other}: last layer only": "",
        "elmo: all layers, λ = 0.001": "89.5",
        f"{other}: all layers, λ = 0.001": "",
    }


def test_a_fraction_of_the_data_has_its_own_table_and_baseline(tmp_path, compared):
    for options in ({}, {"train_fraction": 0.3}):
        add(tmp_path, "srl", "glove", 0, **options)
        for mix in ({}, {"mix": "last"}):
            add(tmp_path, "srl", "elmo", 0, **options, **mix)
    whole, part = tables("table2", *compared())
    assert whole.title == "Which layers: Semantic roles (srl), suite open"
    assert part.title.startswith("Which layers: Semantic roles (srl, 30 % of the training data, ")
    for table in (whole, part):
        baseline, *others = table.rows
        for score, gain in ((1, "dev gain over glove"), (2, "test gain")):
            assert [row[table.columns.index(gain)].order for row in others] == pytest.approx(
                [row[score].order - baseline[score].order for row in others]
            )
    assert whole.rows[0][2].text != part.rows[0][2].text


# Less training data


@pytest.mark.parametrize(
    ("score", "need"),
    [
        (10.0, (0.01, "")),
        (15.0, (pytest.approx(0.1**1.5), "")),  # half way between 1 and 10 on a log axis: the root of 10
        (40.0, (1.0, "")),
        (40.1, (1.0, ">")),
        (9.9, (0.01, "<")),
    ],
)
def test_needed(score, need):
    """The baseline scores 10, 20, 40 with 1, 10, 100 % of the data."""
    points = pd.DataFrame({"encoder": "glove", "share": [0.01, 0.1, 1.0], "score": [10.0, 20.0, 40.0]})
    assert curves.needed(score, points) == need


def test_a_table_of_fractions_has_each_of_them(tmp_path, compared):
    for options in ({}, {"train_fraction": 0.1}, {"train_fraction": 0.01}):
        fill(tmp_path, "sst5", "glove elmo", **options)
    fill(tmp_path, "ner", "glove elmo")
    add(tmp_path, "sst5", "elmo", 0, place="input", train_fraction=0.1)  # differs in more than its data
    [table], figures = curves.fractions(FIGURE1, "open", *compared())
    assert table.stem == "open-sst5-figure1"
    assert [[cell.text for cell in row][:3] for row in table.rows] == [
        ["1 %", "936", "elmo"], ["1 %", "936", "glove"], ["10 %", "9,357", "elmo"], ["10 %", "9,357", "glove"],
        ["100 %", "93,567", "elmo"], ["100 %", "93,567", "glove"],
    ]  # fmt: skip
    assert any(note.startswith("Tests on a fraction are paired by seed and by item") for note in table.notes)
    assert [bool(line["verdict"]) for line in texts(table)] == [True, False] * 3
    needs = [row[table.columns.index("glove needs")] for row in table.rows[::2]]
    assert [cell.text.startswith(">") for cell in needs] == [False, True, True]
    assert 0.01 < needs[0].order < needs[1].order == needs[2].order == 1  # sorted by share, with and without a bound
    assert [figure.stem for figure in figures] == ["open-sst5-figure1"]
    low, high = (row[table.columns.index("test accuracy")].order for row in table.rows[1::-1])
    assert f"elmo gains {high - low:.1f} points with 1 %, " in figures[0].message


def test_the_heading_of_learning_curves_leaves_out_a_share_with_a_tie(tmp_path, compared):
    fill(tmp_path, "sst5", "glove", 3, train_fraction=0.01)
    fill(tmp_path, "sst5", "elmo", 3, train_fraction=0.01, lift=-0.1)  # about what it gains there
    for options in ({"train_fraction": 0.1}, {}):
        fill(tmp_path, "sst5", "glove elmo", 3, **options)
    [table], [figure] = curves.fractions(FIGURE1, "open", *compared())
    assert texts(table)[0]["verdict"].startswith("= tie")
    assert re.search(r"elmo gains [\d.]+ points with 10 %, [\d.]+ points with 100 % ", figure.message)


# The weights of the layers


def test_the_share_of_a_layer_is_that_of_weight_times_norm_where_a_record_has_norms(make_record):
    best = {"weights": [0.75, 0.25], "gamma": 1.0}
    norms = ({"norms": [4.0, 12.0]}, {"norms": [1.0, 9.0]}, {})  # the last one of an earlier version
    records = [
        make_record(seed=seed, layer_weights=[{"input elmo": best | more}], epochs={"run": 1, "best": 1})
        for seed, more in enumerate(norms)
    ]
    [group] = groups([Row(RunSpec(**records[0]["spec"]), tuple(records), "elmo")])
    [mix] = layers.mixes_of(group, group.rows[0])
    assert (mix.place, mix.gamma.mean, [weight.mean for weight in mix.weights]) == ("input elmo", 1.0, [0.75, 0.25])
    assert [str(share) for share in mix.shares] == ["0.38 ± 0.18", "0.62 ± 0.18"]  # 3 : 3 and 0.75 : 2.25


def test_the_weights_are_those_of_the_default_run(tmp_path, compared):
    plain = add(tmp_path, "ner", "elmo", 0)
    add(tmp_path, "ner", "elmo", 0, place="both")
    add(tmp_path, "ner", "elmo", 0, mix="last")  # learns no weights
    own, gain = compared()
    assert {mix.place: mix.row.newest["hash"] for mix in layers.learned(own)} == {"input": plain["hash"]}
    [table], [figure] = layers.weights(FIGURE2, "open", own, gain)
    assert [row[2].text for row in table.rows] == ["input"]
    assert "Named entities, input: layer 0 " in figure.alt
