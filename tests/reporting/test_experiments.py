"""Tables of the paper from runs that say nothing of an experiment."""

import pytest

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.catalogue import EXPERIMENTS
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.like import groups
from elmo_bench.reporting.select import select
from tests.reporting.ledgers import add, full

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments")
    full(folder, tasks=("snli",), light=("snli",), seeds=1)
    return folder


def tables(name, ledger):
    found = groups(select(read_ledger(ledger)).rows)
    return BY_NAME[name].tables("open", found, gains_from(ledger))


def first_column(table):
    return [row[0].text for row in table.rows]


@pytest.mark.parametrize(
    ("name", "rows", "references"),
    [
        (
            "table2",
            ["baseline: static vectors", "last layer only", "all layers, λ = 1", "all layers, λ = 0.001"],
            ["baseline: static vectors"],
        ),
        ("table3", ["input only", "input and output", "output only"], ["input and output"]),  # its yaml's place
        (
            "ablation_inputs",
            ["static vectors only", "character layer only", "ELMo only", "static vectors and ELMo"],
            ["static vectors only"],
        ),
        (
            "gamma",
            ["all layers, with γ", "all layers, without γ", "last layer, with γ", "last layer, without γ"],
            ["all layers, with γ", "last layer, with γ"],  # each "without" against its own "with"
        ),
        ("regularisation", ["0.0001", "0.001", "0.01", "0.1", "1", "10"], ["0.001"]),
    ],
)
def test_variants_in_order_each_held_against_the_reference(ledger, name, rows, references):
    [table] = tables(name, ledger)
    assert table.stem == f"open-snli-{name}"
    assert first_column(table) == rows
    names = [column.name for column in table.columns]
    verdicts = {row[0].text: row[names.index("verdict")].text for row in table.rows}
    assert [name for name, verdict in verdicts.items() if not verdict] == references


def test_the_last_layer_without_gamma_is_held_against_the_last_layer_with_it(ledger):
    [table] = tables("gamma", ledger)
    gain = [column.name for column in table.columns].index("gain over the same with γ")
    with_, without = (row for row in table.rows if row[0].text.startswith("last layer"))
    assert without[gain].figures[0] == pytest.approx(without[2].figures[0] - with_[2].figures[0])


def test_the_papers_figures_stand_in_a_column_headed_with_their_data(ledger):
    [table] = tables("table2", ledger)
    assert table.columns[-1].name.startswith("paper: SNLI dev (other data")
    assert [row[-1].text for row in table.rows] == ["88.1", "89.1", "89.3", "89.5"]
    assert not any(column.name.startswith("paper") for column in tables("gamma", ledger)[0].columns)


def test_own_encoders_enter_and_have_no_figures_of_the_paper(ledger, tmp_path):
    for kind in ({}, {"kind": "last"}):
        add(tmp_path, "snli", "mybert", 0, **kind)
        add(tmp_path, "snli", "elmo", 0, **kind)
    add(tmp_path, "snli", "glove", 0)
    [table] = tables("table2", tmp_path)
    assert {row[0].text: row[-1].text for row in table.rows} == {
        "baseline: static vectors": "88.1",
        "last layer only": "89.1",
        "mybert: last layer only": "",
        "all layers, λ = 0.001": "89.5",
        "mybert: all layers, λ = 0.001": "",
    }


def test_another_encoder_is_named_where_it_stands_alone(tmp_path):
    for kind in ({}, {"kind": "last"}):
        add(tmp_path, "snli", "elmo_only", 0, **kind)
    add(tmp_path, "snli", "glove", 0)
    [table] = tables("table2", tmp_path)
    assert {row[0].text: row[-1].text for row in table.rows} == {
        "baseline: static vectors": "88.1",
        "elmo_only: last layer only": "",
        "elmo_only: all layers, λ = 0.001": "",
    }


def test_unlike_runs_are_labelled_and_none_is_held_against_another(tmp_path):
    for options in ({}, {"size": "paper"}):
        add(tmp_path, "snli", "elmo", 0, **options)
    add(tmp_path, "snli", "elmo", 0, gamma=False)
    add(tmp_path, "snli", "elmo", 0, kind="last", gamma=False, size="paper")
    found = groups(select(read_ledger(tmp_path)).rows, unlike=True)
    [table] = BY_NAME["gamma"].tables("open", found, gains_from(tmp_path))
    gain = [column.name for column in table.columns].index("gain over the same with γ")
    assert {row[0].text: bool(row[gain].text) for row in table.rows} == {
        "all layers, with γ, size=cpu": False,
        "all layers, with γ, size=paper": False,
        "all layers, without γ, size=cpu": True,
        "last layer, without γ, size=paper": False,
    }


def test_two_runs_make_no_curve_and_parts_of_the_data_no_table(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    for options in ({}, {"penalty": 1.0}):
        add(tmp_path, "ner", "elmo", 0, **options)
    add(tmp_path, "ner", "elmo", 0, penalty=10.0, train_fraction=0.1)
    add(tmp_path, "ner", "elmo", 0, place="both", train_fraction=0.1)
    assert tables("regularisation", tmp_path) == []
    assert tables("table3", tmp_path) == []
    assert tables("ablation_inputs", tmp_path) == []


def test_layers_by_themselves(make_record):
    from elmo_bench.ledger import Identity, run_hash

    records = []
    for layer in (2, 0, 1):
        mix = {"kind": "layer", "layer": layer, "gamma": False}
        identity = Identity(settings={"mix": mix}, contents={"data": "d"})
        records.append(
            make_record(
                task="pos", encoder="elmo_only", identity=identity, hash=run_hash(identity), overrides=("mix=layer",)
            )
        )
    [table] = BY_NAME["table6"].tables("open", groups(select(records).rows), lambda ours, theirs: None)
    assert first_column(table) == ["layer 0", "layer 1", "layer 2"]
    assert table.columns[-1].name == "paper: PTB WSJ test (other data)"
    assert [row[-1].text for row in table.rows] == ["", "97.3", "96.8"]
