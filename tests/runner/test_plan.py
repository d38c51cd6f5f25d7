"""What an experiment runs: as many runs as the paper's table has cells, none twice, some shared with others."""

import json
import subprocess
import sys
from functools import cache

import pytest
from elmo_bench.runner.settings import portable, settings_of

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import canonical, run_hash
from elmo_bench.runner.plan import Planned, place_of, planned
from elmo_bench.spec.config import check, choices, compose, sweep
from tests.runs import ROOT

# (tasks, columns): a run for each task, column and three seeds
TABLES = {
    "table1": (6, 3), "table2": (3, 4), "table3": (3, 3), "ablation_inputs": (3, 4), "gamma": (2, 4),
    "regularisation": (3, 7), "figure1": (2, 2 * 5), "figure2": (6, 1), "table6": (1, 3),
}  # fmt: skip


@cache
def runs(experiment, *overrides):
    return {run.key: run for run in planned([f"experiment={experiment}", "seed=0", *overrides])}


def test_every_experiment_has_its_size_here():
    assert set(choices("experiment")) == {*TABLES, "debug"}


@pytest.mark.parametrize("experiment", TABLES)
def test_an_experiment_has_a_run_for_every_cell(experiment):
    tasks, columns = TABLES[experiment]
    found = runs(experiment)
    assert len({run.task for run in found.values()}) == tasks
    assert len(found) == tasks * columns
    assert {run.suite for run in found.values()} == {"mini"}
    seeds = [values for values in sweep("config", [f"experiment={experiment}"]) if values[0].startswith("seed=")]
    assert seeds == [["seed=0", "seed=1", "seed=2"]]


def test_experiments_share_runs():
    """Table 2's baseline is table 1's; where a task's own λ is 0.001 (SNLI, SRL) so is its best column; so is figure
    2, the end of figure 1's curves, the middle of λ's, table 3's own place, and (a), (c), (d) of the ablation."""
    first = set(runs("table1"))
    assert len(first & set(runs("table2"))) == 3 + 2
    assert set(runs("figure2")) < first
    assert len(first & set(runs("figure1"))) == 2 * 2
    assert {json.loads(run.settings)["data"].get("least_steps") for run in runs("figure1").values()} == {None, 100}
    assert len(first & set(runs("regularisation"))) == 2
    assert len(first & set(runs("table3"))) == 3
    assert len(first & set(runs("ablation_inputs"))) == 3 * 2
    assert len(set(runs("table2")) & set(runs("gamma"))) == 2 * 2  # the last layer; λ=0.001


def test_what_is_given_takes_the_place_of_the_experiments_own():
    found = runs("table2", "task=ner", "suite=open", "encoder=elmo")
    assert {(run.suite, run.task, run.encoder) for run in found.values()} == {("open", "ner", "elmo")}
    assert len(found) == 3
    assert len(planned(["experiment=table2", "task=ner", "seed=5,6"])) == 4 * 2


def test_a_plan_is_what_composing_every_run_would_give():
    for run in planned(["experiment=table2", "task=ner", "place=both", "seed=2"]):
        assert Planned.of(compose("config", run.overrides), run.overrides) == run


def test_other_settings_suites_seeds_and_ledgers_are_other_runs_and_the_rest_is_not():
    [plain] = planned([])
    for other in ("suite=open", "task=sst5", "encoder=glove", "seed=1", "ledger=elsewhere", "mix=last"):
        assert planned([other])[0].key != plain.key
    for same in ("trainer.threads=1", "store=off", "task.training.epochs=30", "mix.gamma=true"):
        assert planned([same])[0].key == plain.key


@pytest.mark.parametrize(
    "swept",
    [
        "task.data.mini.seed=0,1", "data.root=a,b", "task.version=1,2", "encoder.precision=float32,bfloat16",
        "encoder.weights=a/model,b/model", "encoder.vectors=a/v.txt,b/v.txt",
    ],
)  # fmt: skip
def test_other_data_weights_and_vectors_are_other_runs_of_a_sweep(swept):
    """Paths of one last name too; learned words are as wide as the vectors."""
    assert len(planned([swept])) == 2
    if swept.startswith("encoder.vectors"):
        assert len(planned(["encoder=none", swept])) == 2


def test_a_key_that_a_tasks_data_get_later_makes_no_other_run():
    config = portable(compose("config", ["suite=open"]))
    before = place_of(config)
    del config["task"]["data"]["open"]["columns"], config["task"]["data"]["open"]["fetch"]
    assert place_of(config) == before
    config["task"]["data"]["open"]["columns"] = 3
    assert place_of(config) != before


def test_a_sweep_that_is_started_as_a_run_is_one_line(main_job, capsys):
    assert main_job("experiment=table2") == 2
    assert (
        capsys.readouterr().err == "run.py: task has 3 values: add -m (python run.py -m …), which makes a run of each\n"
    )


def test_two_experiments_at_once_are_refused():
    with pytest.raises(UserError, match="one experiment"):
        check("config", ["experiment=table1,table2"])


def test_a_misspelt_value_of_an_own_experiment_is_found(tmp_path, monkeypatch):
    import shutil

    conf = tmp_path / "conf"
    shutil.copytree(ROOT / "conf", conf)
    text = "# @package _global_\nhydra: {sweeper: {params: {encoder: 'none,glvoe'}}}\n"
    (conf / "experiment" / "mine.yaml").write_text(text)
    assert sweep("config", ["experiment=mine"], folder=conf)[0] == ["encoder=none", "encoder=glvoe"]
    with pytest.raises(UserError, match="unknown encoder"):
        compose("config", ["encoder=glvoe"], folder=conf)


def test_records_of_the_past_are_found_again():
    """The committed ledger: their settings can be told from their config, though the configs have grown since."""
    found = sorted((ROOT / "results" / "runs").rglob("seed*.json"))
    assert found
    for path in found:
        record = json.loads(path.read_text(encoding="utf-8"))
        identity = record["identity"]
        assert canonical(settings_of(record["config"])) == canonical(identity["settings"])
        assert run_hash(identity) == record["hash"] == path.parent.name
        assert place_of(record["config"])[:3] == (record["suite"], record["task"], record["encoder"])


def test_planning_imports_no_torch():
    code = "from elmo_bench.runner.plan import planned; planned([]); import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
