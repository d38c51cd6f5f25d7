"""Hashes of all planned runs, and fingerprints of the first epochs: runs that were made stay the same runs."""

import json

import pytest

from benchmarks.golden import GOLDEN, TASKS, differences, fingerprint, group, hashes, planned, selected
from elmo_bench.base.errors import UserError
from elmo_bench.encoders import hf_files
from elmo_bench.spec.task_files import suite_tasks
from tests.runs import DATA

KNOWN = json.loads((GOLDEN / "hashes.json").read_text())
SAMPLE = (4, 1)  # every fourth sweep of the campaign, from the second: every task is in one of them
DOWNLOADED = {"minilm": "all-MiniLM-L6-v2", "mpnet": "all-mpnet-base-v2"}  # weights that do not ship
FINGERPRINTS = json.loads((GOLDEN / "fingerprints.json").read_text())


def test_planned_runs_of_every_task_and_kind_have_their_hashes():
    """A change of a setting, a default or a version shows here: it would orphan the runs behind results/."""
    runs = hashes(KNOWN["contents"], *SAMPLE)["runs"]
    assert runs.items() <= KNOWN["runs"].items()
    assert {run.spec.task for run in planned(*SAMPLE)} == {*suite_tasks()}
    assert len(runs) > 30


@pytest.mark.slow
def test_every_planned_run_has_its_hash():
    assert {group(run.spec) for run in planned()} == KNOWN["contents"].keys()
    assert hashes(KNOWN["contents"]) == KNOWN


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("task", "encoder"), [*selected([*TASKS])])
def test_two_epochs_are_what_they_were(task, encoder):
    root = DATA if DATA.is_dir() else None
    if root is None and task in ("coref", "sst5"):
        pytest.skip("needs the data of the open suite, which do not all ship")
    if encoder in DOWNLOADED:
        try:
            hf_files.find(DOWNLOADED[encoder])
        except UserError as error:
            pytest.skip(str(error))
    name = f"{task} {encoder}"
    assert differences(name, FINGERPRINTS[name], fingerprint(task, encoder, root)) == []


def test_dev_may_differ_by_one_item_and_no_more():
    known = {"dev": [33.9, 41.4], "item": 0.1, "loss": [1.0, 1.0]}
    assert differences("snli elmo", known, known | {"dev": [33.9, 41.3]}) == []
    (problem,) = differences("snli elmo", known, known | {"dev": [33.9, 41.2]})
    assert problem == "snli elmo: dev of epoch 2 41.2, not 41.4"


@pytest.mark.parametrize("name", sorted(FINGERPRINTS))
def test_the_loss_may_differ_by_rounding_and_no_more(name):
    """Coreference, which prunes spans, has ten times the tolerance of the other tasks."""
    known = {"dev": [33.9, 41.4], "item": 0.1, "loss": [1.0, 1.0]}
    within, beyond = (1.009, 1.011) if name.startswith("coref ") else (1.0009, 1.0011)
    assert differences(name, known, known | {"loss": [1.0, within]}) == []
    assert differences(name, known, known | {"loss": [1.0, beyond]}) == [f"{name}: loss of epoch 2 {beyond}, not 1.0"]
