"""What a sweep runs; the runs of most experiments are in tests/golden/hashes.json."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.runner.plan import plan
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import first_rows


@pytest.mark.parametrize(("experiment", "count"), first_rows([("figure2", 6 * 1), ("speed", 6 * 3)], 1))
def test_an_experiment_outside_the_golden_hashes_has_a_run_for_every_task_and_column(experiment, count):
    found = plan([f"experiment={experiment}", "seed=0"]).runs
    assert len({run.spec.key for run in found}) == count
    assert {run.spec.suite for run in found} == {"open"} and len({run.spec.task for run in found}) == 6


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


@pytest.mark.parametrize("wrong", ["launcher.jobs=abc", "launcher.jobs=0", "launcher.logs=null"])
def test_an_option_of_the_launcher_that_is_none_is_one_line(wrong):
    with pytest.raises(UserError, match=rf"^{wrong}: give "):
        plan(["seed=0,1", wrong])


def test_a_sweep_that_is_started_as_a_run_is_one_line(main_job, capsys):
    for given, why in (
        ("experiment=table2", "experiment=table2 has several sweeps"),
        ("seed=0,1", "seed has 2 values"),
    ):
        assert main_job(given) == 2
        assert f"{why}: use `sweep` (run.py -m), which makes" in capsys.readouterr().err
