"""Runs in which nothing is drawn: one record tells all, and it is tested although it has a single seed."""

from math import isnan
from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.frame import summary
from elmo_bench.reporting.significance import CERTAIN
from elmo_bench.runner.plan import plan
from elmo_bench.runner.prepare import Frozen, _check_draws
from tests.reporting.frames import compare_in, systems_in, tables_in, texts
from tests.reporting.ledgers import add, spec_of

LAYER = "{}, mix=layer, mix.gamma=false, mix.layer={}"


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


def test_two_single_records_are_tested_and_shown_without_a_deviation(tmp_path):
    layer(tmp_path, "elmo_only", 0, 0)
    layer(tmp_path, "elmo_only", 1, 0, lift=0.3)
    tested = compare_in(tmp_path, LAYER.format("elmo_only", 1), LAYER.format("elmo_only", 0))
    assert tested.verdict == "ahead" and tested.untested == ""
    assert tested.difference.seeds == (CERTAIN, CERTAIN)
    assert tested.difference.error == pytest.approx(tested.difference.items.value**0.5)
    [table] = tables_in(tmp_path, "layers")
    [_, shown] = texts(table)
    assert shown["verdict"] == "▲ ahead"
    assert "±" not in shown["test F1"]


def test_seeds_that_differ_by_rounding_are_no_deviation(tmp_path):
    layer(tmp_path, "elmo_only", 0, 0, 1, 2)
    [system] = systems_in(tmp_path).itertuples()
    assert isnan(system.test_sd) and isnan(system.dev_sd)
    assert summary(system).sd is None


def test_a_drawn_network_keeps_its_deviation_and_needs_two_seeds(tmp_path):
    layer(tmp_path, "elmo_only", 0, 0)
    layer(tmp_path, "random_only", 0, 0, lift=-0.2)
    layer(tmp_path, "random_only", 1, 0, 1, lift=-0.1)
    elmo, single = LAYER.format("elmo_only", 0), LAYER.format("random_only", 0)
    double = LAYER.format("random_only", 1)
    assert compare_in(tmp_path, elmo, single).untested == "a single seed"
    assert compare_in(tmp_path, elmo, double).verdict == "ahead"
    systems = systems_in(tmp_path).set_index("run_label")
    assert systems.test_sd[double] > 0


def test_an_encoder_that_draws_has_to_say_so():
    drawn = SimpleNamespace(identity="untrained", checksum="c")
    spec = spec_of("wsd", "elmo_only")
    with pytest.raises(UserError, match=r"Write draws: true beside its name\.$"):
        _check_draws(spec, Frozen({"": drawn}, None, 0))
    _check_draws(spec_of("wsd", "random_only"), Frozen({"": drawn}, None, 0))
    _check_draws(spec, Frozen({"": SimpleNamespace(checksum="c")}, None, 0))
