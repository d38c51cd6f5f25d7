"""The tables of each layout: which rows they have, and what each row is compared with."""

import pkgutil
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from elmo_bench.reporting import layouts
from elmo_bench.reporting.frame import runs, systems
from elmo_bench.reporting.layouts.fractions import needed
from elmo_bench.reporting.layouts.weights import learned, mixes_of
from elmo_bench.reporting.tables import layout_of
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.variants import LAYOUTS
from tests.reporting.frames import (
    board_of,
    experiment_in,
    figures_in,
    orders,
    sections_of,
    tables_in,
    texts,
)
from tests.reporting.ledgers import add, fill, full


def first_column(table):
    return [row[0] for row in table.texts()]


def test_the_layouts_that_an_experiment_may_name_are_the_modules_of_layouts():
    assert tuple(module.name for module in pkgutil.iter_modules(layouts.__path__)) == LAYOUTS
    assert all(layout_of(replace(Experiment.load("table1"), layout=name)) for name in LAYOUTS)


# Tasks by encoders


def test_no_fraction_and_no_variation_among_the_encoders(tmp_path):
    for options in ({}, {"train_fraction": 0.1, "lift": 0.3}, {"max_train": 100, "lift": 0.3}):
        fill(tmp_path, "ner", "glove elmo", **options)
    add(tmp_path, "ner", "none", 0, train_fraction=0.1)
    add(tmp_path, "ner", "elmo_only", 0)
    add(tmp_path, "ner", "elmo", 0, mix="last", lift=0.3)
    [shown] = texts(tables_in(tmp_path, "table1")[0])
    assert list(shown) == ["task", "score", "glove", "elmo"]
    whole, *parts = sections_of(board_of(tmp_path))["runs"].tables
    assert {row[0]: row[-1] for row in whole.texts()} == {
        "elmo": "92.22 ± 0.10", "elmo, mix=last": "", "elmo_only": "", "glove": "90.15",
    }  # fmt: skip
    assert whole.title == "Named entities (ner), suite open: all runs on all of the data"
    assert {part.title.partition("all runs on ")[2] for part in parts} == {
        "at most 100 training examples", "10 % of the training data, at least 100 steps an epoch",
    }  # fmt: skip


# A table a task


@pytest.fixture(scope="module")
def sections(tmp_path_factory):
    """Of the experiments on snli, with table 1 of two tasks."""
    folder = tmp_path_factory.mktemp("experiments")
    full(folder, tasks=("snli", "ner"), light=("snli",), seeds=1)
    return sections_of(board_of(folder))


@pytest.fixture(scope="module")
def snli(sections):
    return {name: section.tables for name, section in sections.items()}


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


def test_a_section_says_what_the_runs_took_that_it_shows_and_no_others(sections):
    for name in ("table2", "table3", "ablation_inputs", "gamma", "regularisation", "figure1"):
        [table] = sections[name].tables
        assert sections[name].spent.startswith(f"{len(table.lines)} runs took ")
    assert sections["table1"].spent.startswith("9 runs took ")  # 4 encoders on 2 tasks, and another on one


def test_the_papers_figures_are_in_a_column_headed_with_their_data(snli):
    [table] = snli["table2"]
    assert table.columns[-1].startswith("paper: SNLI dev (other data")
    assert [row[-1] for row in table.texts()] == ["88.1", "89.1", "89.3", "89.5"]
    assert not any(column.startswith("paper") for column in snli["gamma"][0].columns)


@pytest.mark.parametrize("other", ["mybert", "elmo_only"])
def test_every_encoder_takes_elmos_position_and_has_no_figures_of_the_paper(tmp_path, other):
    for options in ({}, {"mix": "last"}):
        fill(tmp_path, "snli", f"{other} elmo", **options)
    add(tmp_path, "snli", "glove", 0)
    [table] = tables_in(tmp_path, "table2")
    assert {row[0]: row[-1] for row in table.texts()} == {
        "baseline: static vectors": "88.1",
        "elmo: last layer only": "89.1",
        f"{other}: last layer only": "",
        "elmo: all layers, λ = 0.001": "89.5",
        f"{other}: all layers, λ = 0.001": "",
    }


def test_a_fraction_of_the_data_has_its_own_table_and_baseline(tmp_path):
    for options in ({}, {"train_fraction": 0.3}):
        add(tmp_path, "srl", "glove", 0, **options)
        for mix in ({}, {"mix": "last"}):
            add(tmp_path, "srl", "elmo", 0, **options, **mix)
    whole, part = tables_in(tmp_path, "table2")
    assert whole.title == "Which layers: Semantic roles (srl), suite open"
    assert part.title.startswith("Which layers: Semantic roles (srl, 30 % of the training data, ")
    for table in (whole, part):
        baseline, *others = orders(table)
        for score, gain in (("dev F1", "dev gain over glove"), ("test F1", "test gain")):
            assert [row[gain] for row in others] == pytest.approx([row[score] - baseline[score] for row in others])
    assert whole.texts()[0][2] != part.texts()[0][2]


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
    points = pd.DataFrame({"encoder_label": "glove", "share": [0.01, 0.1, 1.0], "test_mean": [10.0, 20.0, 40.0]})
    assert needed(score, points) == need


def test_a_table_of_fractions_has_each_of_them(tmp_path):
    for options in ({}, {"train_fraction": 0.1}, {"train_fraction": 0.01}):
        fill(tmp_path, "sst5", "glove elmo", **options)
    fill(tmp_path, "ner", "glove elmo")
    add(tmp_path, "sst5", "elmo", 0, place="input", train_fraction=0.1)  # differs in more than its data
    [table], figures = tables_in(tmp_path, "figure1"), figures_in(tmp_path, "figure1")
    assert table.stem == "open-sst5-figure1"
    assert [row[:3] for row in table.texts()] == [
        ["1 %", "936", "elmo"], ["1 %", "936", "glove"], ["10 %", "9,357", "elmo"], ["10 %", "9,357", "glove"],
        ["100 %", "93,567", "elmo"], ["100 %", "93,567", "glove"],
    ]  # fmt: skip
    assert any(note.startswith("Tests on a fraction are paired by seed and by item") for note in table.notes)
    assert [bool(line["verdict"]) for line in texts(table)] == [True, False] * 3
    assert [line["glove needs"].startswith(">") for line in texts(table)[::2]] == [False, True, True]
    needs = [line["glove needs"] for line in orders(table)[::2]]
    assert 0.01 < needs[0] < needs[1] == needs[2] == 1  # sorted by share, with and without a bound
    assert [figure.stem for figure in figures] == ["open-sst5-figure1"]
    low, high = (line["test accuracy"] for line in orders(table)[1::-1])
    assert f"elmo gains {high - low:.1f} points (not tested) with 1 %, " in figures[0].message


def test_the_heading_of_learning_curves_leaves_out_a_share_with_a_tie(tmp_path):
    fill(tmp_path, "sst5", "glove", 3, train_fraction=0.01)
    fill(tmp_path, "sst5", "elmo", 3, train_fraction=0.01, lift=-0.1)  # about what it gains there
    for options in ({"train_fraction": 0.1}, {}):
        fill(tmp_path, "sst5", "glove elmo", 3, **options)
    [table], [figure] = tables_in(tmp_path, "figure1"), figures_in(tmp_path, "figure1")
    assert texts(table)[0]["verdict"].startswith("= tie")
    assert re.search(r"elmo gains [\d.]+ points with 10 %, [\d.]+ points with 100 % ", figure.message)


# The weights of the layers


def test_the_share_of_a_layer_is_that_of_weight_times_norm(tmp_path, make_record):
    best = {"weights": [0.75, 0.25], "gamma": 1.0}
    norms = ([4.0, 12.0], [1.0, 9.0], [0.0, 0.0])  # of the last one no layer adds anything
    records = [
        make_record(seed=seed, layer_weights=[{"input elmo": best | {"norms": of_seed}}], epochs={"run": 1, "best": 1})
        for seed, of_seed in enumerate(norms)
    ]
    [system] = systems(runs(tmp_path, records)).itertuples()
    [mix] = mixes_of(system)
    assert (mix["place"], mix["gamma_mean"]) == ("input elmo", 1.0)
    assert (mix["layer 0_mean"], mix["layer 1_mean"], mix["layer 0_n"]) == (0.75, 0.25, 3)
    shares = {key.removeprefix("share of "): value for key, value in mix.items() if key.startswith("share of ")}
    assert shares == pytest.approx({  # 3 : 3, 0.75 : 2.25 and 0 : 0
        "layer 0_mean": 0.25, "layer 0_sd": 0.25, "layer 0_n": 3,
        "layer 1_mean": 1.25 / 3, "layer 1_sd": 0.3818813, "layer 1_n": 3,
    })  # fmt: skip


def test_the_figure_of_a_long_option_has_a_short_file_name(tmp_path):
    for letter in "ab":
        add(tmp_path, "ner", "elmo", 0, settings={"encoder.precision": 300 * "x" + letter})
    stems = {figure.stem for figure in figures_in(tmp_path, "figure2")}
    assert len(stems) == 2 and max(map(len, stems)) < 120


def test_the_weights_are_those_of_the_default_run(tmp_path):
    plain = add(tmp_path, "ner", "elmo", 0)
    add(tmp_path, "ner", "elmo", 0, place="both")
    add(tmp_path, "ner", "elmo", 0, mix="last")  # learns no weights
    selected, _, _ = experiment_in(tmp_path, "figure2")
    [mix] = learned(selected).itertuples()
    assert mix.place == "input" and mix.anchor.endswith(plain.hash)
    [table], [figure] = tables_in(tmp_path, "figure2"), figures_in(tmp_path, "figure2")
    assert [line["place"] for line in texts(table)] == ["input"]
    assert "Named entities, input: layer 0 " in figure.alt
    axes = figure.canvas(figure.size, phone=False).axes[0]
    corners = axes.collections[0].get_coordinates()  # of the cells, of a single row too
    assert np.ptp(corners[..., 1]) == 1 and np.ptp(corners[..., 0]) == 3
