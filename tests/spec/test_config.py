"""Every configuration composes to what Hydra makes of it; options that are given replace an experiment's."""

import itertools

import hydra
import pytest
from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining import CONF as PRETRAINING
from elmo_bench.spec.conf_files import CONF, choices
from elmo_bench.spec.config import compose
from elmo_bench.spec.sweeps import sweep

GROUPS = ("task", "encoder", "suite", "mix", "size", "trainer", "logger", "store", "launcher")
# What a choice needs besides.
FIXED = {"fixed": ["mix.scalars=[0,1,0]"], "layer": ["mix.layer=1"], "hf": ["encoder.name=hf"],
         "precomputed": ["encoder.name=precomputed"],
         "tfidf": ["head=strong"], "features": ["head=strong"]}  # fmt: skip  # few tasks have their head


def options(chosen):
    """What to give for `{group: choice}`."""
    needed = [option for choice in chosen.values() for option in FIXED.get(choice, [])]
    return [f"{group}={choice}" for group, choice in chosen.items()] + needed


def rounds():
    """Combinations of all groups in which every choice occurs."""
    known = {group: choices(group) for group in GROUPS}
    for turn in range(max(map(len, known.values()))):
        yield {group: names[turn % len(names)] for group, names in known.items()}


@pytest.mark.parametrize("chosen", list(rounds()), ids=lambda chosen: "-".join(chosen.values()))
def test_every_choice_composes(chosen):
    config = compose("config", options(chosen))
    for group, value in chosen.items():
        named = config[group].get("name") or config[group].get("kind") or config[group].get("mode")
        assert named == (None if group == "trainer" else value)  # the yaml of a trainer has no name


@pytest.mark.parametrize(
    "chosen",
    [
        {"size": "cpu", "suite": "paper", "task": "squad"},
        {"encoder": "bert_mini_only", "task": "coref", "trainer": "gpu"},
    ],
)
def test_a_config_is_what_hydra_composes(chosen):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        by_hydra = hydra.compose("config", options(chosen))
    assert OmegaConf.to_yaml(compose("config", options(chosen))) == OmegaConf.to_yaml(by_hydra, resolve=True)


def test_every_command_has_its_config_and_asks_for_what_it_needs():
    for name, needs in (("pretrain", ["corpus", "out"]), ("evaluate", ["weights", "corpus"])):
        compose(name, [f"{key}=x" for key in needs], folder=PRETRAINING)
        with pytest.raises(UserError, match="has no value; give"):
            compose(name, [f"{needs[0]}=x"], folder=PRETRAINING)


def test_an_option_that_is_given_replaces_the_experiments():
    assert sweep(["experiment=layers", "task=pos", "encoder=elmo", "seed=1,2", "mix.gamma=true"]) == [[
        ["+experiment=layers"], ["task=pos"], ["encoder=elmo"], ["mix=layer"],
        ["mix.layer=0", "mix.layer=1", "mix.layer=2"], ["mix.gamma=true"], ["seed=1", "seed=2"],
    ]]  # fmt: skip
    assert compose("config", ["experiment=debug", "data.max_train=5"]).data.max_train == 5


def test_an_option_replaces_that_of_each_of_several_sweeps_and_is_added_where_it_is_missing():
    given = ["experiment=table3", "seed=7", "place=both,input", "encoder=elmo_only", "mix.penalty=1"]
    same = [["encoder=elmo_only"], ["place=both", "place=input"], ["seed=7"]]
    assert sweep(given) == [
        [["+experiment=table3"], ["task=ner", "task=snli"], *same, ["mix.penalty=1"]],
        [["+experiment=table3"], ["task=srl"], *same, ["data.train_fraction=0.3"], ["mix.penalty=1"]],
    ]
    assert sweep(["seed=0,1"]) == [[["seed=0", "seed=1"]]]


def test_options_select_among_several_sweeps_that_list_them_and_replace_others():
    def products(*options):
        return [run for product in sweep(["experiment=table1", *options]) for run in itertools.product(*product)]

    def tasks_and_seeds(*options):
        runs = {tuple(option for option in run if option[:4] in ("task", "seed")) for run in products(*options)}
        return sorted(runs)

    assert len(products("task=coref", "encoder=elmo")) == 3
    assert len(products("task=coref,ner", "encoder=elmo")) == 3 + 5
    for options in (("seed=3,4", "task=ner,coref"), ("task=ner,coref", "seed=3,4")):
        with pytest.raises(UserError, match="experiment=table1: no run with task=coref and the other options"):
            products(*options)
    assert tasks_and_seeds("task=coref", "seed=1") == [("task=coref", "seed=1")]
    assert {task for task, _ in tasks_and_seeds("seed=4")} == {"task=ner", "task=snli", "task=sst5"}
    assert {seed for _, seed in tasks_and_seeds("seed=7")} == {"seed=7"}
    assert {task for task, _ in tasks_and_seeds("task=pos,ner")} == {"task=pos", "task=ner"}
    [part] = sweep(["experiment=table3", "data.train_fraction=0.3"])  # no run on all of the data fits
    assert ["task=srl"] in part


@pytest.mark.parametrize(
    ("experiment", "given", "listed"),
    [
        ("table2", "data.train_fraction=0.30", "data.train_fraction=0.3"),
        ("table2", "data.train_fraction=3e-1", "data.train_fraction=0.3"),
        ("tuned", "encoder.tune_lr=3e-4", "encoder.tune_lr=0.0003"),
    ],
)
def test_options_select_by_their_value_however_it_is_written(experiment, given, listed):
    selected = sweep([f"experiment={experiment}", listed])
    assert sweep([f"experiment={experiment}", given]) == selected
    assert [option for product in selected for option in product if listed in option]


def test_the_folder_of_the_data_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("ELMO_BENCH_DATA", "somewhere")
    assert compose("config").data.root == "somewhere"
    assert compose("config", ["data.root=here"]).data.root == "here"
    monkeypatch.setenv("ELMO_BENCH_DATA", "")
    assert compose("config").data.root is None
    monkeypatch.delenv("ELMO_BENCH_DATA")
    assert compose("config").data.root is None


@pytest.mark.parametrize("flags", [["--help"], ["--cfg", "job"]])
def test_a_sweep_that_only_prints_starts_nothing(capsys, main_job, flags):
    assert main_job(*flags, "seed=1") == 0
    usual = capsys.readouterr().out
    assert main_job("-m", *flags, "seed=1") == 0
    assert capsys.readouterr().out == usual


def test_help_is_short_and_names_every_group_of_the_main_job(capsys, main_job):
    main_job("--help")
    shown = capsys.readouterr().out
    assert len(lines := shown.splitlines()) <= 77 and max(map(len, lines)) <= 120
    for group in (*GROUPS, "experiment"):
        assert f" {group}: {', '.join(choices(group))} " in f"{' '.join(shown.split())} "
    assert "recipe" not in shown and "shape" not in shown
    for option in ("seed: ", "encoder.weights=", "place: ", "data.root=", "store.max_gb=", "ledger: ", "overwrite="):
        assert option in shown
