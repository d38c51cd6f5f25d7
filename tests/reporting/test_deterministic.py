"""Runs in which nothing is drawn: one record tells all, and it is tested although it has a single seed."""

from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.reporting import variants
from elmo_bench.reporting.significance import CERTAIN
from elmo_bench.runner.plan import plan
from elmo_bench.runner.prepare import Frozen, _check_draws
from elmo_bench.spec.experiments import Experiment
from tests.reporting.ledgers import add, spec_of, texts

LAYERS = Experiment.load("layers")


def layer(ledger, encoder, number, *seeds, lift=0.0):
    for seed in seeds:
        add(ledger, "wsd", encoder, seed, mix="layer", settings={"mix.layer": number, "mix.gamma": False}, lift=lift)


@pytest.mark.parametrize(
    ("task", "encoder", "options", "expected"),
    [
        ("wsd", "elmo_only", {}, True),
        ("wsd", "bert_mini_only", {}, True),
        ("wsd", "random_only", {}, False),  # a network for each seed
        ("wsd", "elmo_only", {"train_fraction": 0.1}, False),  # a subset for each seed
        ("wsd", "elmo_only", {"max_train": 100}, False),
        ("wsd", "mybert", {}, True),  # a transformer without a yaml
        ("pos", "elmo_only", {}, False),  # its head starts from drawn weights
        ("ner", "elmo", {}, False),
    ],
)
def test_a_run_is_deterministic_if_neither_head_nor_encoder_nor_data_are_drawn(task, encoder, options, expected):
    assert spec_of(task, encoder, **options).deterministic is expected


def test_a_sweep_makes_one_seed_of_it():
    runs = plan(["experiment=layers", "suite=open", "task=wsd", "mix.layer=1", "seed=3,4"]).runs
    seeds = [(run.spec.encoder, run.seed) for run in runs]
    assert seeds == [("random_only", 3), ("random_only", 4), ("bert_mini_only", 3), ("elmo_only", 3)]


def test_two_single_records_are_tested_and_shown_without_a_deviation(tmp_path, compared):
    layer(tmp_path, "elmo_only", 0, 0)
    layer(tmp_path, "elmo_only", 1, 0, lift=0.3)
    rows, gain = compared()
    lower, upper = sorted((row for group in rows for row in group.rows), key=lambda row: row.summary("test").mean)
    tested = gain(upper, lower)
    assert tested.verdict == "ahead" and tested.untested == ""
    assert tested.difference.seeds == (CERTAIN, CERTAIN)
    assert tested.difference.error == pytest.approx(tested.difference.items.value**0.5)
    [table] = variants.made(LAYERS, "open", rows, gain)[0]
    [_, shown] = texts(table)
    assert shown["verdict"] == "▲ ahead"
    assert "±" not in shown["test F1"]


def test_seeds_that_differ_by_rounding_are_no_deviation(tmp_path, compared):
    layer(tmp_path, "elmo_only", 0, 0, 1, 2)
    [group], _ = compared()
    assert group.rows[0].summary("test").sd is None


def test_a_drawn_network_keeps_its_deviation_and_needs_two_seeds(tmp_path, compared):
    layer(tmp_path, "elmo_only", 0, 0)
    layer(tmp_path, "random_only", 0, 0, lift=-0.2)
    layer(tmp_path, "random_only", 1, 0, 1, lift=-0.1)
    [group], gain = compared()
    by_label = {row.label: row for row in group.rows}
    elmo = by_label["elmo_only, mix=layer, mix.gamma=false, mix.layer=0"]
    single = by_label["random_only, mix=layer, mix.gamma=false, mix.layer=0"]
    double = by_label["random_only, mix=layer, mix.gamma=false, mix.layer=1"]
    assert gain(elmo, single).untested == "a single seed"
    assert gain(elmo, double).verdict == "ahead"
    assert double.summary("test").sd > 0


def test_an_encoder_that_draws_has_to_say_so():
    drawn = SimpleNamespace(identity="untrained", checksum="c")
    spec = spec_of("wsd", "elmo_only")
    with pytest.raises(UserError, match=r"Write draws: true beside its name\.$"):
        _check_draws(spec, Frozen({"": drawn}, None, 0))
    _check_draws(spec_of("wsd", "random_only"), Frozen({"": drawn}, None, 0))
    _check_draws(spec, Frozen({"": SimpleNamespace(checksum="c")}, None, 0))
