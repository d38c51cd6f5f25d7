"""Learning rates by factor, dev scores by step, runs that are not converged, and records of two protocols."""

import pandas as pd
import pytest

from elmo_bench.ledger import RunPaths, read_outcomes, write_record
from elmo_bench.spec.settings import RATE
from tests.ledger.records import changed
from tests.reporting.frames import board_of, experiment_in, figures_in, sections_of, tables_in, texts
from tests.reporting.ledgers import add, default, fill, stuck, today
from tests.runs import first_ones


def test_rates_are_compared_with_todays_and_encoders_each_at_their_best(tmp_path):
    lifts = {"glove": {0.5: 0.05, 1: 0.0, 2: -0.05}, "elmo": {0.5: -0.05, 1: 0.0, 2: 0.1}}
    dev, dropout = {}, {"task.head.dropout.input": 0.25}
    for encoder, by_factor in lifts.items():
        rate = default("sst5", encoder, "open", "cpu").settings[RATE]
        for factor, lift in by_factor.items():
            record = add(tmp_path, "sst5", encoder, 0, lift=lift, settings={RATE: factor * rate})
            dev[encoder, factor] = record.scores.dev.overall["accuracy"]
    other = add(tmp_path, "sst5", "glove", 0, lift=-0.1, settings=dropout)
    add(tmp_path, "sst5", "elmo", 0, place="both")
    add(tmp_path, "ner", "glove", 0)  # one rate: no table
    [table], [_] = tables_in(tmp_path, "tune"), figures_in(tmp_path, "tune")
    rows = {row["learning rate ×"]: row for row in texts(table)}
    names = ["0.5", "1", "1, task.head.dropout.input=0.25", "2"]
    assert sorted(rows) == ["elmo: 0.5", "elmo: 1", "elmo: 2", *(f"glove: {name}" for name in names)]
    for name, row in rows.items():
        encoder, factor = ("elmo" if "elmo" in name else "glove"), float(name.split(": ")[-1].split(",")[0])
        mean = other.scores.dev.overall["accuracy"] if "dropout" in name else dev[encoder, factor]
        over = "" if name in ("glove: 1", "elmo: 1") else f"{mean - dev[encoder, 1]:+.2f}".replace("-", "−")
        assert (row["dev accuracy"], row["dev gain over the default rate"]) == (f"{mean:.2f}", over)
    best = dev["elmo", 2] - dev["glove", 0.5]
    assert f"Each at its best on dev: elmo (at 2) is {best:+.2f} over glove (at 0.5)." in table.notes
    systems, _, _ = experiment_in(tmp_path, "table1")
    [glove] = systems[(systems.task == "sst5") & (systems.name == "glove")].itertuples()
    assert glove.n == 1 and not glove.label  # table 1 has no other rate


def with_curve(ledger, encoder, seed, steps, dev):
    record = add(ledger, "ner", encoder, seed, best=1)
    layers = record.to_json()["layer_weights"]
    changes = {
        "scores/dev/overall/f1": max(dev),
        "epochs": {"run": len(dev), "best": dev.index(max(dev)) + 1},
        "layer_weights": layers * len(dev),
        "curves": {"dev": dev, "steps": [steps] * len(dev)},
    }
    record = changed(record, changes)
    write_record(RunPaths.of(ledger, record), record, read_outcomes(RunPaths.of(ledger, record)))


def test_gains_at_equal_steps(tmp_path):
    with_curve(tmp_path, "glove", 0, 10, [10.0, 20.0, 15.0, 30.0])
    with_curve(tmp_path, "glove", 1, 10, [20.0, 20.0])  # ends first: it keeps its 20
    with_curve(tmp_path, "elmo", 0, 10, [20.0, 30.0, 29.0])
    [table], figures = tables_in(tmp_path, "speed"), figures_in(tmp_path, "speed")
    [row] = texts(table)
    assert [row[f"epoch {epoch}"] for epoch in (1, 2, 4)] == ["+5.00", "+10.00", "+5.00"]
    assert row["end"].startswith("+5.00") and row["n of the two"] == "1 and 2"
    assert [figure.stem for figure in figures] == ["open-ner-speed"]
    assert figures[0].message.endswith("elmo is 10.0 points ahead of glove after epoch 2, 5.0 at the end")
    assert "glove: 15.00 at 10, 20.00 at 20, 20.00 at 30, 25.00 at 40" in figures[0].alt
    assert "elmo: 20.00 at 10, 30.00 at 20, 30.00 at 30" in figures[0].alt


def test_the_epoch_of_the_largest_lead_is_of_the_longest_seed(tmp_path):
    """The newest seed of the baseline ended first."""
    with_curve(tmp_path, "glove", 0, 10, [10.0, 10.0, 10.0, 10.0, 25.0])
    with_curve(tmp_path, "glove", 1, 10, [10.0, 10.0])
    with_curve(tmp_path, "elmo", 0, 10, [15.0, 15.0, 15.0, 30.0, 30.0])
    [table], [figure] = tables_in(tmp_path, "speed"), figures_in(tmp_path, "speed")
    [row] = texts(table)
    assert (row["most"], row["after epoch"]) == ("+20.00", "4")
    assert "20.0 points ahead of glove after epoch 4" in figure.message


@pytest.mark.parametrize("late", first_ones(["glove", "elmo"], 1))
def test_a_row_that_is_not_converged_is_marked_and_gets_no_verdict(tmp_path, late):
    for seed in range(3):
        for encoder in ("glove", "elmo", "none"):
            write = stuck if encoder == late and seed == 2 else add  # it learned nothing
            write(tmp_path, "ner", encoder, seed, lift=0.1 * (encoder == "elmo"))
    _, comparisons, _ = experiment_in(tmp_path, "table1")
    tests = comparisons.set_index("our_name")
    elmo = tests.loc["elmo"]
    assert (elmo.verdict, elmo.conclusion) == ("", "not converged") and pd.isna(elmo.p) and pd.isna(elmo.p_holm)
    assert elmo.low > 0  # which is shown
    assert (tests.verdict["none"] == "") is (late == "glove")
    glance, gains = tables_in(tmp_path, "table1")
    [shown] = texts(glance)
    assert [name for name in ("none", "glove", "elmo") if shown[name].endswith("†")] == [late]
    assert texts(gains)[0]["verdict"] == "not converged"
    assert not texts(gains)[0].get("p")  # a column that is empty in every row is left out
    assert any(note.startswith("† not converged") for note in glance.notes)


OLD = {"protocol": 1}  # settings of an earlier training protocol


@pytest.mark.slow
def test_a_section_shows_the_newest_protocol_and_names_it(tmp_path):
    fill(tmp_path, "ner srl", "glove elmo", seeds=2, settings=OLD, best=2)
    old = board_of(tmp_path)
    assert set(old.sections.protocol) == {"protocol 1"}
    assert len(old.suites.table1[0].lines) == 2
    fill(tmp_path, "ner", "glove elmo", created="2026-02-02T03:04:05+00:00")
    mixed = board_of(tmp_path)
    now = today()[1]
    sections = sections_of(mixed)
    superseded = mixed.runs[~mixed.runs.current]
    assert set(superseded.task) == {"ner"} and set(superseded.protocol) == {1}
    assert sorted(superseded.seed) == [0, 0, 1, 1]
    protocols = dict(zip(mixed.systems.anchor, mixed.systems.protocol, strict=True))
    assert sections.pop("runs").protocol == f"protocols 1 and {now}"
    for section in sections.values():
        assert section.protocol == f"protocol {now}"
        shown = {anchor for table in section.tables for anchor in table.anchors(table.lines)}
        assert {protocols[anchor] for anchor in shown} == {now}
