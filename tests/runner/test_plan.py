"""What an experiment runs: as many runs as the paper's table has cells."""

from functools import cache

import pytest

from elmo_bench.runner.sweep import plan
from elmo_bench.spec.config import choices, compose
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec

# (tasks, columns): a run for each task, column and three seeds (FIVE: or five)
TABLES = {
    "table1": (6, 3), "table2": (3, 4), "table3": (3, 3), "ablation_inputs": (2, 5), "gamma": (2, 4),
    "regularisation": (2, 4), "figure1": (2, 2 * 5), "figure2": (6, 1), "table5": (1, 3), "table6": (1, 3),
    "layers": (3, 3 * 3), "ladder": (3, 5), "tune": (3, 3), "speed": (6, 3),
}  # fmt: skip


@cache
def runs(experiment, *options):
    return {run.spec.key: run for run in plan([f"experiment={experiment}", "seed=0", *options]).runs}


def test_every_experiment_has_its_size_here():
    assert set(choices("experiment")) == {*TABLES, "controls", "debug"}


@pytest.mark.parametrize("experiment", TABLES)
def test_an_experiment_has_a_run_for_every_cell(experiment):
    """Each of its runs is one of its variants; one variant is not in the paper, and not run."""
    tasks, columns = TABLES[experiment]
    found = runs(experiment)
    assert len({run.spec.task for run in found.values()}) == tasks
    assert len(found) == tasks * columns + (3 if experiment == "tune" else 0)  # SST-5 has two rates of dropout
    assert {run.spec.suite for run in found.values()} == {"open"}
    if (shown := Experiment.load(experiment)).caption and experiment != "figure2":
        known = [shown._at(value) for value in shown.values(shown.axis)] or shown.variants
        variants = [shown.variant_of(run.spec) for run in found.values()]
        assert None not in variants
        assert {each.key for each in variants if each} == {each.key for each in known} - {"mean"}


def test_given_options_replace_those_of_the_experiment():
    found = runs("table2", "task=ner", "suite=open", "encoder=elmo", "data.train_fraction=1")
    assert {(run.spec.suite, run.spec.task, run.spec.encoder) for run in found.values()} == {("open", "ner", "elmo")}
    assert len(found) == 3
    both = [run.spec.settings["data.train_fraction"] for run in plan(["experiment=table2", "task=sst5", "seed=5"]).runs]
    assert both == [1.0] * 4 + [0.3] * 4


def test_the_options_of_a_planned_run_make_it():
    for run in plan(["experiment=table2", "task=ner", "place=both", "seed=2", "launcher.jobs=2"]).runs:
        config = compose("config", run.options)
        assert (RunSpec.of(config), config.seed) == (run.spec, run.seed)
        assert not [option for option in run.options if option.startswith("launcher")]


def test_what_changes_no_score_makes_no_other_run():
    assert len(plan(["trainer.threads=1,2", "store=off,ram", "logger=none,csv"]).runs) == 1
    assert len(plan(["seed=0,1", "mix.gamma=true,false"]).runs) == 4


@pytest.mark.parametrize(
    "swept",
    [
        "task.data.open.columns=2,3", "data.root=a,b", "encoder.precision=float32,bfloat16",
        "encoder.weights=a/model,b/model", "encoder.vectors=a/v.txt,b/v.txt",
    ],
)  # fmt: skip
def test_other_data_weights_and_vectors_are_other_runs_of_a_sweep(swept):
    """Paths with the same last component too; learned words are as wide as the vectors."""
    assert len(plan([swept]).runs) == 2
    if swept.startswith("encoder.vectors"):
        assert len(plan(["encoder=none", swept]).runs) == 2


def test_a_sweep_that_is_started_as_a_run_is_one_line(main_job, capsys):
    assert main_job("experiment=table2") == 2
    assert "task has 2 values: use `sweep` (run.py -m), which makes a run of each\n" in capsys.readouterr().err
