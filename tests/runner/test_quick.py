"""quick=true: a fifth of the steps on data of the user's own, which every place says."""

import re

import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_all
from elmo_bench.reporting.frame import runs, systems
from elmo_bench.spec.budget import converged, epochs_of, least_steps_of, readings
from elmo_bench.spec.describe import command_of
from elmo_bench.spec.run_spec import RunSpec, described
from tests.runs import OWN, VECTORS

FILE = ["task=classification", "data.file=a.csv"]


@pytest.mark.parametrize(
    ("options", "epochs", "steps"),
    [
        (["task=classification"], (8, 2), (1500, 300)),
        (["task=tagging"], (32, 7), (3000, 600)),
        (["task=pairs", "head=linear"], (10, 2), (1500, 300)),
        (["task=classification", "task.training.epochs=20"], (20, 4), (None, None)),
        (["task=classification", "encoder=tfidf"], (4, 4), (None, None)),  # takes seconds
    ],
)
def test_a_quick_run_has_a_fifth_of_the_epochs_and_of_the_least_steps(options, epochs, steps):
    found = []
    for more in ([], ["quick=true"]):
        spec, _ = described(*options, "data.file=a.csv", *more)
        found.append((epochs_of(spec), least_steps_of(spec)))
    assert found == list(zip(epochs, steps, strict=True))


@pytest.mark.parametrize("examples", [100, 1280, 4000])
def test_all_epochs_of_a_quick_run_have_its_least_steps(examples):
    spec, _ = described(*FILE, "quick=true")
    batches = epochs_of(spec) * readings(spec, examples) * examples / 32
    assert 300 <= batches < 300 + 2 * examples / 32


def test_quick_is_a_setting_of_quick_runs_alone_and_of_its_command():
    usual, _ = described(*FILE, "quick=false")
    assert "quick" not in usual.settings and usual.key == described(*FILE)[0].key
    spec, _ = described(*FILE, "quick=true")
    assert spec.key != usual.key and spec.changes == {"quick": "true"}
    assert "quick=true" in command_of(spec, 0).split()


def test_a_task_of_a_suite_cannot_be_quick():
    with pytest.raises(UserError, match=r"^quick=true: task=ner reads a suite\. For data of your own: task="):
        described("task=ner", "quick=true")


@pytest.mark.slow
def test_quick_runs_are_a_group_of_their_own_which_output_record_and_tables_say(tmp_path, capsys):
    options = ["task=classification", *OWN["classification"], "encoder=none", "head=linear", f"ledger={tmp_path}"]
    options += ["trainer.threads=1", "logger=none", f"suite.vectors={VECTORS}", "data.max_eval=20"]
    for more in (["quick=true"], ["task.training.epochs=1"]):
        assert main(["run", *options, *more]) == 0
    said = capsys.readouterr()
    assert "quick=true: 2 epochs, about" in said.err
    assert re.search(r"best epoch on dev: \d of 2 \(quick=true: a fifth of the steps, so no verdict\)", said.out)
    records = read_all(tmp_path).records
    [record] = [record for record in records if record.spec.encoder == "none" and "quick" in record.spec.settings]
    assert record.changes is not None and record.changes["quick"] == "true"
    assert any(note.startswith("quick=true: 2 epochs") for note in record.data.notes)
    assert not converged(record.spec, learned=True) and record.epochs.run == 2
    assert RunSpec.of_record(record).settings["task.training.epochs"] == 10
    table = systems(runs(tmp_path, records))
    quick = table[table.fraction == "quick=true"]
    assert sorted(quick.encoder) == ["none", "tfidf"] and {*quick.amount} == {"a fifth of the steps"}
    assert {*quick.basis}.isdisjoint(table[table.fraction == ""].basis)
    assert (quick["mark"] == "†").all()
