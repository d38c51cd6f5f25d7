"""Probes in reports: control labels and selectivity, every layer of every encoder."""

import numpy as np
import pytest

from elmo_bench.reporting.layouts.variants import with_selectivity
from tests.reporting.frames import board_of, figures_in, sections_of, systems_in, tables_in, texts
from tests.reporting.ledgers import add

CONTROL = {"settings": {"task.data.labels": "control"}, "data": "control"}


def layer(ledger, task, encoder, number, *, seed=0, **options):
    return add(ledger, task, encoder, seed, mix="layer", layer=number, gamma=False, **options)


def test_selectivity_is_over_the_seeds_of_both_on_the_same_layer(tmp_path):
    true = [layer(tmp_path, "pos", "elmo_only", 1, seed=seed, lift=0.05 * seed) for seed in (0, 1, 2)]
    control = [layer(tmp_path, "pos", "elmo_only", 1, seed=seed, lift=-0.2, **CONTROL) for seed in (1, 2, 3)]
    layer(tmp_path, "pos", "elmo_only", 2, lift=-0.4, **CONTROL)  # another layer
    systems = systems_in(tmp_path)
    table = with_selectivity(systems, systems)
    scores = [[record.scores.test.overall["accuracy"] for record in records] for records in (true, control)]
    wanted = [scores[0][1] - scores[1][0], scores[0][2] - scores[1][1]]
    [row] = table[table.labels == ""].itertuples()
    assert (row.selectivity_n, row.selectivity_mean) == (2, pytest.approx(np.mean(wanted)))
    assert table[table.labels == "control"].selectivity_mean.isna().all()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probes")
    for task in ("wsd", "deprel", "pos"):
        for encoder, depth in (("elmo_only", 3), ("random_only", 3), ("bert_mini_only", 7)):
            for number in range(depth):
                layer(folder, task, encoder, number, lift=0.02 * number)
                if task == "pos":
                    layer(folder, task, encoder, number, lift=-0.3, **CONTROL)
        add(folder, task, "glove", 0)
    add(folder, "pos", "elmo_only", 0)  # of all layers: no part of it
    add(folder, "ner", "glove", 0)
    return folder


@pytest.mark.slow
def test_every_layer_of_every_probe_and_encoder(ledger):
    tables, [figure] = tables_in(ledger, "layers"), figures_in(ledger, "layers")
    assert figure.phone_size[0] < figure.size[0]
    assert {table.lines[0]["task"] for table in tables} == {"pos", "deprel", "wsd"}
    for table in tables:
        rows = texts(table)
        names = [f"elmo_only: layer {k}" for k in range(3)] + [f"bert_mini_only: layer {k}" for k in range(7)]
        assert [row["variant"] for row in rows] == [*names, *(f"random_only: layer {k}" for k in range(3))]
        paper = {"pos": ["", "97.3", "96.8"], "deprel": [""] * 3, "wsd": ["", "67.4", "69.0"]}[table.lines[0]["task"]]
        printed = [row.get(next((name for name in row if name.startswith("paper")), ""), "") for row in rows]
        assert printed == paper + [""] * (len(rows) - 3)
        assert all(bool(row.get("selectivity")) == (table.lines[0]["task"] == "pos") for row in rows)
        assert [row["dev gain over layer 0"] == "" for row in rows] == [row["variant"].endswith(" 0") for row in rows]


@pytest.mark.slow
def test_a_probe_is_in_the_tables_of_its_own_experiments_alone(ledger):
    tasks = {}
    for name, section in sections_of(board_of(ledger)).items():
        tasks[name] = {line.get("task") for table in section.tables for line in table.lines}
    assert (tasks["table1"], tasks["layers"]) == ({"ner"}, {"wsd", "pos", "deprel"})
    assert tasks["runs"] >= {"pos", "deprel", "wsd"}


def test_probes_alone_have_no_table_1(tmp_path):
    for number in range(2):
        layer(tmp_path, "pos", "elmo_only", number)
    board = board_of(tmp_path)
    assert set(sections_of(board)) == {"layers", "runs"}
    assert board.suites.table1[0] is None and board.suites.picture[0] is None
    assert board.suites.headline[0] == "What is ELMo worth over GloVe?"
