"""What a run changed, read off its record."""

import pytest

from elmo_bench.ledger import Identity, run_hash
from elmo_bench.reporting.differences import changes, settings_apart
from elmo_bench.reporting.select import select

CONFIG = {
    "task": {"place": "input", "mix": {"penalty": 0.1, "layer_norm": "none"}, "vectors": {"trainable": True}},
    "suite": {"weights": "mini", "vectors": "glove-mini"},
}
PLAIN = {
    "mix": {"kind": "scalar", "penalty": 0.1, "layer_norm": "none"},
    "place": "input",
    "vectors": {"trainable": True},
    "data": {"train_fraction": 1.0, "max_train": None},
    "encoder": {"weights": "mini", "vectors": "glove-mini"},
    "size": "cpu",
}


@pytest.fixture
def record_of(make_record):
    """`record_of(settings, overrides=()) -> Record` of a task with the defaults of CONFIG."""

    def record_of(settings, overrides=(), **options):
        identity = Identity(settings={**PLAIN, **settings}, contents={"data": "d", "task_version": 1})
        extra = {"identity": identity, "hash": run_hash(identity), "config": CONFIG}
        return make_record(overrides=overrides, **extra, **options)

    return record_of


@pytest.mark.parametrize(
    ("settings", "overrides", "expected"),
    [
        ({}, (), {}),
        ({"size": "paper"}, ("size=paper",), {}),  # tells columns apart, not rows
        ({"mix": {"kind": "scalar", "penalty": 1}}, (), {"mix.penalty": "1"}),
        ({"mix": {"kind": "last"}}, ("mix=last",), {"mix": "last"}),
        ({"mix": {"kind": "last"}}, ("experiment=mine",), {"mix": "last"}),
        ({"mix": {"kind": "first"}}, (), {}),  # nobody asked for it: the encoder's own
        ({"mix": {"kind": "scalar", "penalty": 0.1, "gamma": False}}, (), {"mix.gamma": "false"}),
        ({"mix": {"kind": "layer", "layer": 2}}, ("mix=layer",), {"mix": "layer", "mix.layer": "2"}),
        ({"place": "both"}, ("experiment=table3",), {"place": "both"}),
        ({"data": {"train_fraction": 0.01, "max_train": None}}, (), {"data.train_fraction": "0.01"}),
        ({"data": {"train_fraction": 1.0, "max_train": 100}}, (), {"data.max_train": "100"}),
        (
            {"data": {"train_fraction": 0.1, "max_train": None, "least_steps": 100}},
            ("experiment=figure1",),
            {"data.least_steps": "100", "data.train_fraction": "0.1"},
        ),
        ({"encoder": {"weights": "small", "vectors": "glove-mini"}}, (), {"encoder.weights": "small"}),
        ({"encoder": {"weights": "a" * 64}}, ("encoder.weights=mine",), {"encoder.weights": "mine"}),
        ({"vectors": {"trainable": False}}, (), {"vectors.trainable": "false"}),
        ({}, ("+task.head.hidden=7",), {"task.head.hidden": "7"}),  # known from the override alone
    ],
)
def test_changes(record_of, settings, overrides, expected):
    assert changes(record_of(settings, overrides)) == expected


def test_the_row_says_what_is_the_encoders_and_what_is_not(record_of):
    [row] = select([record_of({"encoder": {"weights": "small"}, "place": "both"})]).rows
    assert (row.encoder, row.variation, row.partial) == ("elmo, encoder.weights=small", {"place": "both"}, False)
    assert row.label == "elmo, encoder.weights=small, place=both"
    [part] = select([record_of({"data": {"train_fraction": 0.1}})]).rows
    assert part.partial


def test_settings_apart(record_of):
    pair = [record_of({"task": {"epochs": epochs}}) for epochs in (1, 30)]
    assert settings_apart(pair) == [{"task.epochs": "1"}, {"task.epochs": "30"}]
    assert [row.label for row in select(pair).rows] in (
        ["elmo, task.epochs=1", "elmo, task.epochs=30"],
        ["elmo, task.epochs=30", "elmo, task.epochs=1"],
    )


def test_rows_of_two_sizes_are_labelled_in_one_table(record_of):
    pair = [
        record_of({"size": "cpu", "task": {"a": 1, "b": 1}}),
        record_of({"size": "paper", "task": {"a": 2, "b": 2}}),
    ]
    assert {row.label for row in select(pair).rows} == {"elmo, size=cpu", "elmo, size=paper"}
