"""The table of slices: scores and shares by hand, which runs it has, and where it is shown."""

import numpy as np
import pytest
from elmo_bench.reporting.layouts import slices

from elmo_bench.__main__ import main
from elmo_bench.ledger import CLUSTER, RunPaths, of_split, read_outcomes, write_slices
from elmo_bench.ledger.formulas import FORMULAS
from elmo_bench.reporting.significance import Difference, over_items, over_seeds
from tests.reporting.ledgers import add, today


def cut(ledger, record, *, keep=slice(0, 100), mistyped=0):
    """Slices of a made-up run: some of its items; and all of them with `mistyped` fewer correct in each."""
    paths = RunPaths.of(ledger, record)
    stored = of_split(read_outcomes(paths), "test")
    noisy = {**stored, "correct": np.maximum(stored["correct"].astype(int) - mistyped, 0)}
    own = {"unseen": {name: values[keep] for name, values in stored.items()}, "mistyped": noisy}
    write_slices(paths, own)
    return own


def test_scores_shares_and_gains_by_hand(tmp_path, found):
    own = {
        encoder: [cut(tmp_path, add(tmp_path, "ner", encoder, seed), mistyped=1) for seed in range(3)]
        for encoder in ("elmo", "glove")
    }
    table = slices.table("open", slices.read(found()[0], tmp_path))
    rows = [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows]
    assert [(row["slice"].text, row["encoder"].text) for row in rows] == [
        (name, encoder)
        for name in ("all of test", "a word unseen in training", "5 % of the letters mistyped")
        for encoder in ("glove", "elmo")
    ]
    assert [row["share"].text for row in rows] == ["100.0 %"] * 2 + ["7.8 %"] * 2 + ["100.0 %"] * 2  # 100 of 1,287
    how = FORMULAS["f1-counts"]
    for at, name in ((2, "unseen"), (4, "mistyped")):
        scores = {
            encoder: [
                200 * s[name]["correct"].sum() / (s[name]["guessed"].sum() + s[name]["gold"].sum()) for s in seeds
            ]
            for encoder, seeds in own.items()
        }
        for row, encoder in zip(rows[at : at + 2], ("glove", "elmo"), strict=True):
            assert row["score"].values[0] == pytest.approx(np.mean(scores[encoder]))
        gain = rows[at + 1]["gain over glove"]
        assert gain.values[0] == pytest.approx(np.mean(scores["elmo"]) - np.mean(scores["glove"]))
        arms = [np.stack([how.counts_of(s[name]) for s in own[encoder]]) for encoder in ("elmo", "glove")]
        glove, elmo = (over_seeds(scores[encoder]) for encoder in ("glove", "elmo"))
        interval = Difference.of(over_items(*arms, how.score), (elmo, glove)).interval
        assert rows[at + 1]["95 %"].values == pytest.approx(interval)
        assert rows[at]["gain over glove"].text == rows[at]["95 %"].text == ""


def test_items_of_one_cluster_count_as_one(tmp_path, found):
    how, clusters = FORMULAS["accuracy"], np.arange(3000) // 300
    arms, scores = {}, {}
    for encoder in ("elmo", "glove"):
        records = [add(tmp_path, "snli", encoder, seed) for seed in range(2)]
        own = [of_split(read_outcomes(RunPaths.of(tmp_path, record)), "test")["correct"] for record in records]
        for record, correct in zip(records, own, strict=True):
            outcomes = {"correct": np.sort(correct), CLUSTER: clusters}  # a cluster is easy or hard as a whole
            write_slices(RunPaths.of(tmp_path, record), {"seen": outcomes})
        arms[encoder] = np.stack([how.counts_of({"correct": np.sort(correct)}) for correct in own])
        scores[encoder] = [100 * correct.mean() for correct in own]
    table = slices.table("open", slices.read(found()[0], tmp_path))
    [shown] = [row[-1].values for row in table.rows if row[1].text != "all of test" and row[-1].text]
    glove, elmo = (over_seeds(scores[encoder]) for encoder in ("glove", "elmo"))
    over = {each is None: over_items(arms["elmo"], arms["glove"], how.score, each) for each in (clusters, None)}
    assert shown == pytest.approx(Difference.of(over[False], (elmo, glove)).interval)
    assert shown != pytest.approx(Difference.of(over[True], (elmo, glove)).interval)


def test_only_runs_that_compare_encoders_on_all_of_the_data_unless_every(tmp_path, found):
    for options in ({}, {"mix": "last"}, {"train_fraction": 0.1}):
        cut(tmp_path, add(tmp_path, "ner", "elmo", 0, **options))
    add(tmp_path, "ner", "glove", 0)  # without slices
    [shown] = slices.read(found()[0], tmp_path)
    assert [row[3].text for row in slices.table("open", [shown]).rows] == ["elmo"] * 3
    every = slices.table("open", slices.read(found()[0], tmp_path, every=True))
    assert [row[3].text for row in every.rows] == ["elmo", "elmo, mix=last"] * 3 + ["elmo"] * 3


def test_a_slice_without_a_unit_and_other_units_than_the_baseline(tmp_path, found):
    cut(tmp_path, add(tmp_path, "ner", "elmo", 0), keep=slice(0, 0))
    for seed in range(2):
        cut(tmp_path, add(tmp_path, "snli", "elmo", seed))
        cut(tmp_path, add(tmp_path, "snli", "glove", seed), keep=slice(0, 99))
    table = slices.table("open", slices.read(found()[0], tmp_path))
    rows = [[cell.text for cell in row] for row in table.rows]
    assert not [row for row in rows if "ner" in row[0] and "unseen" in row[1]]
    [elmo] = [row for row in rows if "snli" in row[0] and "unseen" in row[1] and row[3] == "elmo"]
    assert elmo[6] != ""
    assert elmo[7] == ""  # no paired test of different units


@pytest.mark.usefixtures("undrawn")
def test_both_pages_have_the_section_and_a_damaged_file_is_named(tmp_path, capsys):
    ledger, out = tmp_path / "runs", tmp_path / "out"
    for encoder in ("glove", "elmo"):
        record = add(ledger, "ner", encoder, 0)
        cut(ledger, record)
    arguments = ["report", "--ledger", str(ledger), "--out", str(out)]
    assert main(arguments) == 0
    page, html = (out / "README.md").read_text(), (out / "index.html").read_text()
    assert f"### Slices of test (protocol {today()[1]})" in page
    assert "| a word unseen in training" in page
    assert 'id="section-open-slices"' in html
    assert (out / "tables" / "open-slices.csv").read_text().startswith("task,slice,share,encoder,seeds,score mean")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert main(arguments) == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    RunPaths.of(ledger, record).slices.write_bytes(b"junk")
    assert main(arguments) == 0
    page = (out / "README.md").read_text()
    assert "Left out: open/ner/elmo" in page
    assert str(tmp_path) not in page
    for path in ledger.rglob("*.slices.npz"):
        path.unlink()
    assert main(arguments) == 0
    assert "Slices of test" not in (out / "README.md").read_text()
    assert not (out / "tables" / "open-slices.csv").exists()


@pytest.mark.parametrize("name", FORMULAS)
def test_the_share_is_of_gold_units(name):
    counts = {
        "accuracy": ({"correct": [1, 0, 1]}, 3),
        "token-accuracy": ({"correct": [1, 3], "tokens": [4, 5]}, 9),
        "f1-counts": ({"correct": [1, 1], "guessed": [7, 8], "gold": [2, 3]}, 5),
        "f1-errors": ({"correct": [1, 1], "excess": [7, 8], "missed": [2, 3]}, 7),
        "mean-f1": ({"common": [1, 1], "guessed": [7, 8], "gold": [2, 3]}, 2),
        "conll-2012": ({key: [number] for number, key in enumerate(FORMULAS["conll-2012"].outcomes)}, 5),
    }
    outcomes, gold = counts[name]
    assert FORMULAS["conll-2012"].outcomes[5] == "bcub_recall_den"  # of B³: the mentions of the key
    assert FORMULAS[name].gold_of({key: np.array(values) for key, values in outcomes.items()}) == gold
