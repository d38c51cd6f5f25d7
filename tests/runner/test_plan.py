"""What an experiment runs: as many runs as the paper's table has cells, none twice, some shared with others."""

import subprocess
import sys
from functools import cache

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.runner.sweep import plan
from elmo_bench.spec.config import choices, compose, sweep
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import ROOT

# (tasks, columns): a run for each task, column and three seeds (FIVE: or five)
TABLES = {
    "table1": (6, 3), "table2": (3, 4), "table3": (3, 3), "ablation_inputs": (2, 5), "gamma": (2, 4),
    "regularisation": (2, 4), "figure1": (2, 2 * 5), "figure2": (6, 1), "table5": (1, 3), "table6": (1, 3),
    "layers": (3, 3 * 3), "ladder": (3, 5), "tune": (3, 3), "speed": (6, 3),
}  # fmt: skip
FIVE = {"table1", "figure2", "speed"}  # on ner, snli and sst5


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
    products = sweep([f"experiment={experiment}"])
    seeds = [len(values) for product in products for values in product if values[0].startswith("seed=")]
    if experiment != "tune":
        assert seeds == ([5, 3] if experiment in FIVE else [3] * len(products))
    if (shown := Experiment.load(experiment)).caption and experiment != "figure2":
        known = [shown._at(value) for value in shown.values(shown.axis)] or shown.variants
        variants = [shown.variant_of(run.spec) for run in found.values()]
        assert None not in variants
        assert {each.key for each in variants if each} == {each.key for each in known} - {"mean"}


def test_experiments_share_runs():
    """Table 2's baseline is table 1's; where a task's own λ is 0.001 (SNLI) so is its best column; so is figure 2, the
    end of figure 1's curves, table 3's own place, and what the ablation has with static vectors."""
    first = set(runs("table1"))
    assert len(first & set(runs("table2"))) == 2 + 1
    assert set(runs("figure2")) < first == set(runs("speed"))
    assert len(first & set(runs("tune"))) == 3  # where the factor is 1
    assert len(first & set(runs("figure1"))) == 2 * 2
    steps = {run.spec.settings.get("data.least_steps") for run in runs("figure1").values()}
    assert steps == {None, 100}
    assert not first & set(runs("regularisation"))  # it has no task's own λ
    assert len(first & set(runs("table3"))) == 2
    assert len(first & set(runs("ablation_inputs"))) == 2 * 3
    assert len(set(runs("table2")) & set(runs("gamma"))) == 2 + 1  # the last layer; λ=0.001
    assert {*runs("table5"), *runs("table6")} < set(runs("layers"))


def test_a_run_that_two_sweeps_share_is_planned_once():
    """Both have the first three seeds of ner."""
    found = [(run.spec.encoder, run.seed) for run in plan(["experiment=table1", "task=ner"]).runs]
    assert len(found) == len(set(found)) == 3 * 5


def test_the_controls_of_table1():
    tasks = ("ner", "snli", "sst5", "coref", "squad", "srl")
    wanted = {(task, encoder, seed) for task in tasks for encoder in ("random", "none") for seed in (0, 1, 2)}
    wanted |= {(task, "minilm", seed) for task in tasks[:3] for seed in (0, 1, 2)}
    assert {(run.spec.task, run.spec.encoder, run.seed) for run in plan(["experiment=controls"]).runs} == wanted


def test_the_ladder_has_one_set_of_vectors_whatever_the_suites():
    for suite in ("open", "paper"):
        found = plan(["experiment=ladder", "task=ner", "seed=0", f"suite={suite}"]).runs
        vectors = {run.spec.encoder: run.spec.settings["encoder.vectors"] for run in found}
        assert set(vectors.values()) == {"glove-mini", "fasttext-mini"}
        assert vectors["none"] == "glove-mini"
    own = plan(["encoder=none,glove,elmo", "task=ner", "suite=paper"]).runs
    assert not {run.spec.key for run in own} & {run.spec.key for run in found}


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


def test_two_experiments_at_once_are_refused():
    with pytest.raises(UserError, match=r"experiment=…: more than one"):
        plan(["experiment=table1,table2"])


def test_planning_imports_no_torch():
    code = "from elmo_bench.runner.sweep import plan; plan([]); import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
