"""A mistake in the options is one line that lists the good ones."""

import re
import textwrap
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.nn.mix import NORMS
from elmo_bench.runner.plan import plan
from elmo_bench.spec import config
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import check_run
from elmo_bench.spec.sweeps import sweep
from elmo_bench.training.loggers import LOGGERS
from elmo_bench.training.optimisers import LINEAR, SCHEDULES
from tests.runs import ROOT


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("task=nre", "(did you mean 'ner'?)"),
        ("mix=scaler", "choose one of: first, fixed, last, layer, mean, scalar (did you mean 'scalar'?)"),
        ("sed=1", "unknown option 'sed' (did you mean 'seed'?); the options are:"),
        ("mix.penlty=1", "unknown option 'mix.penlty' (did you mean 'mix.penalty'?); 'mix' has:"),
        ("task.training.epoch=1", "(did you mean 'task.training.epochs'?); 'task.training' has:"),
        ("epoch=1", "unknown option 'epoch' (did you mean 'task.training.epochs'?); the options are:"),
        ("training.epoch=1", "unknown option 'training.epoch' (did you mean 'task.training.epochs'?)"),
        ("encoder=[a,b]", "one name is wanted, and this is a list. `sweep encoder=a,b` makes a run of each."),
        ("Seed=1", "unknown option 'Seed' (did you mean 'seed'?); the options are:"),
        ("task=NER", "(did you mean 'ner'?)"),
        ("epochs=2", "unknown option 'epochs' (did you mean 'task.training.epochs'?)"),
        ("task.epochs=2", "unknown option 'task.epochs' (did you mean 'task.training.epochs'?)"),
        ("Optimizer.lr=1", "unknown option 'Optimizer.lr' (did you mean 'task.training.optimizer.lr'?)"),
        ("precision=x", "(did you mean 'encoder.precision' or 'trainer.precision'?)"),
        ("seed=[1", "is not a valid option: write key=value"),
        (f"task.head.hidden={'[' * 200}1{']' * 200}", "too many lists or mappings inside each other"),
        (f"task.head.hidden={'[' * 2000}1{']' * 2000}", "is not a valid option: write key=value"),
        ("logger=nan", "logger=nan: unknown logger"),
        ("task.head.name=other", "task.head.name=other: comes with the code, with task= or with head="),
        ("=1", "is not a valid option: write key=value"),
        ("~mix.penalty", "is not a valid option: write key=value"),
        ("encoder=glob(elmo_*)", "encoder=glob(elmo_*): unknown encoder"),
        ("seed=interval(0,1)", "is not a valid option: write key=value"),
        ("protocol=7", "protocol=7: comes with the code"),
        ("head.name=linear", "head.name=linear: comes with the code, with task= or with head="),
        ("task.head={name: esim}", "task.head={name: esim}: comes with the code, with task= or with head="),
        ("+encoder.contextual={version: 7}", "+encoder.contextual={version: 7}: comes with the code"),
        ("task.version=1", "task.version=1: comes with the code"),
        ("+encoder.contextual.version=9", "+encoder.contextual.version=9: comes with the code"),
        ("+foo=1", "unknown option 'foo'"),
        ("+task.training.least_step=5", "least_step: nothing reads it (did you mean 'least_steps'?)"),
        ("+task@x=ner", "+task: nothing reads it"),
        ("+encoder.pooling=mean", "+encoder.pooling: nothing reads it"),
        ("+mix.scale=[1,2,3]", "+mix.scale: nothing reads it (did you mean 'scalars'?)"),
        ("task.metric=macro_f1", "task.metric: task=ner has one main score, which selects the epoch. Leave out"),
        ("++task.metric=f1", "task.metric: task=ner has one main score, which selects the epoch. Leave out"),
        ("+mix.layer=1", "+mix.layer: mix=scalar does not read it. Choose mix=layer."),
        ("+task.report.foo=1", "unknown option 'task.report.foo'"),
        ("+launcher.extr.account=x", "unknown option 'launcher.extr.account'"),
        ("task.data=null", "task.data=null: every run reads its parts. Remove the option."),
        ("task.head=null", "task.head=null: every run reads its parts. Remove the option."),
        ("encoder.contextual=null", "encoder.contextual=null: leaves an encoder without its layers. Choose encoder="),
        ("encoder.name=mine", "encoder.name=mine: encoder.name is for encoder=hf. Other encoders are named by"),
        ("experiment=[table1,table2]", "experiment=…: more than one. Start one sweep for each."),
        ("experiment={table1:1}", "unknown experiment; choose one of: "),
        (r"data.file='\${x}.csv'", "has ${…}, which is read as the value of another key. Give a value without it"),
        ("data.file='${x}.csv'", "data.file='${x}.csv': has ${…}, which is read as the value of another key."),
        ("data.file='${x.csv'", "data.file='${x.csv': has ${…}, which is read as the value of another key."),
        ("++data.max_trian=5", "unknown option 'data.max_trian' (did you mean 'data.max_train'?)"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_lists_the_good_ones(given, said):
    with pytest.raises(UserError, match=re.escape(said)):
        compose("config", [given])


@pytest.mark.parametrize("command", ["texts out.txt", "neighbours a --in a README.md", "pretrain corpus=README.md"])
def test_only_where_a_sweep_is_meant_several_values_name_it(refused, command):
    option = "out=a,b" if command.startswith("pretrain") else "encoder=glove,elmo"
    key = option.partition("=")[0]
    assert f"{key} has 2 values: choose one. A list" in refused(*command.split(), option)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["mix=fixed", "mix.scalars=1"], "mix.scalars=1: give a number for each layer, such as [0,1,0]"),
        (["mix=fixed", "mix.scalars=[a,b,c]"], "mix.scalars=['a', 'b', 'c']: give a number for each layer"),
        (["mix=layer", "mix.layer=-1"], "mix.layer=-1: give a whole number from 0"),
        (["encoder=none", "mix.layer_norm=x"], "mix.layer_norm=x: give one of: none, token, batch"),
        (["schedule.name=x"], "schedule.name=x: give one of: cosine, exponential, linear, plateau, step"),
        (["logger.name=csv+nosuch"], "logger.name=csv+nosuch: give one of csv, none, tensorboard, wandb"),
        (["task.training.epochs=null"], "task.training.epochs=null: give a whole number from 1"),
        (
            ["data.least_steps=5", "data.max_train=9"],
            "data.least_steps=5: goes with data.train_fraction, not with data.max_train",
        ),
        (["ledger="], "ledger=: the value is empty. Give a folder, such as ./runs."),
        (["task=classification", "data.file="], "data.file=: the value is empty. Give a file or a folder, such as"),
    ],
)
def test_a_value_that_no_run_can_have_is_refused_before_torch_is_imported(options, said):
    with pytest.raises(UserError, match=f"^{re.escape(said)}"):
        check_run(compose("config", options))


def test_every_schedule_logger_and_norm_is_a_value_that_a_run_can_have():
    values = [f"schedule.name={name}" for name in (LINEAR, *SCHEDULES)]
    values += [f"logger.name={name}" for name in LOGGERS]
    values += [f"mix.layer_norm={name}" for name in NORMS]
    for value in values:
        check_run(compose("config", [value]))


@pytest.mark.parametrize("root", ["/home/josé/данные", "~/data", "runs=2", "a;b", "data (1)", "two words"])
def test_a_path_needs_no_quotes_for_its_letters_and_signs(root, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert compose("config", [f"data.root={root}"]).data.root == root.replace("~", "/home/me")
    [[[passed_on]]] = sweep([f"data.root={root}"])
    assert compose("config", [passed_on]).data.root == root.replace("~", "/home/me")


def test_a_ledger_in_quotes_is_in_the_home_folder_too(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    config = compose("config", ["ledger='~/runs'"])
    assert Setup.of(config).ledger == plan(["ledger='~/runs'"]).ledger == Path("/home/me/runs")
    assert config.launcher.logs == "/home/me/runs-sweeps"


def test_a_file_with_a_comma_in_its_name_is_given_as_the_error_says():
    assert compose("config", ["data.file='reviews,v2.csv'"]).data.file == "reviews,v2.csv"
    with pytest.raises(UserError, match=re.escape("Several files are a folder (data.file=FOLDER).")):
        compose("config", ["data.file=reviews,v2.csv"])


def test_a_folder_with_the_name_of_another_encoder_is_refused():
    compose("config", ["encoder=hf", "encoder.name=models/hf"])
    for folder in ("elmo", "models/glove/"):
        with pytest.raises(UserError, match="tables would take it for encoder="):
            compose("config", ["encoder=hf", f"encoder.name={folder}"])


# Nine lists of ten of the list before: a billion values.
BOMB = b"a0: &a0 1\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"name: bad\n  x: [1\n", "bad.yaml:2 cannot be read as YAML (mapping values are not allowed here)"),
        (b"name: caf\xe9\n", "bad.yaml cannot be read as YAML ('utf-8' codec can't decode"),
        (b"- name\n", "bad.yaml: a list, not a mapping"),
        (BOMB, "bad.yaml: its aliases stand for more than 100,000 values. Write them out."),
        (b"name: &a\n  x: *a\n", "bad.yaml: its aliases stand for more than 100,000 values"),
        (b"name: " + b"[" * 500 + b"]" * 500, "bad.yaml cannot be read as YAML (too many lists or mappings"),
        (
            b"name: bad\nvectors: null\n",
            "encoder=bad: its yaml has no words, contextual. See others in conf/encoder.",
        ),
        (
            b"defaults: [hf]\nname: bad\ncontextual: models/my-bert\n",
            "encoder=bad: contextual of its yaml is models/my-bert. Give a mapping. See others in conf/encoder.",
        ),
        (
            b"defaults: [minilm]\nname: bad\nweights: models/my-minilm\n",
            "encoder=bad: nothing reads weights at the top of its yaml. Options of an encoder belong below contextual.",
        ),
    ],
)
def test_a_damaged_yaml_is_one_line_and_concerns_no_other_choice(tmp_path, forgotten, text, said):
    folder = tmp_path / "it's mine, café"
    (folder / "conf" / "encoder").mkdir(parents=True)
    (folder / "conf" / "encoder" / "bad.yaml").write_bytes(text)
    forgotten.append(folder)
    config._choice.cache_clear()
    config._composed.cache_clear()
    with pytest.raises(UserError, match=re.escape(said)):
        compose("config", ["encoder=bad"])
    compose("config", ["encoder=glove"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "my_task"}, "task=mytask: its yaml has name: my_task. Give file and name one name."),
        ({"training": {"schedule": "linear"}}, "task=mytask: training.schedule of its yaml is linear. Give a mapping."),
        ({"report": ["My task"]}, "task=mytask: report of its yaml is ['My task']. Give a mapping."),
        ({"report": {"budget": 10}}, "task=mytask: report.budget of its yaml is 10. Give a mapping."),
        ({"head": "mine"}, "task=mytask: head of its yaml is mine. Give a mapping."),
    ],
)
def test_a_task_whose_yaml_has_another_name_or_no_mapping_is_refused(tmp_path, forgotten, more, said):
    text = (ROOT / "conf/task/sst5.yaml").read_text(encoding="utf-8")
    content = OmegaConf.to_container(OmegaConf.create(text)) | {"name": "mytask"}
    content["training"] |= more.pop("training", {})
    (tmp_path / "conf" / "task").mkdir(parents=True)
    OmegaConf.save(OmegaConf.create(content | more), tmp_path / "conf/task/mytask.yaml")
    forgotten.append(tmp_path)
    config._choice.cache_clear()
    config._composed.cache_clear()
    with pytest.raises(UserError, match=re.escape(said)):
        compose("config", ["task=mytask"])


def test_the_yaml_of_an_encoder_in_the_docs_composes(tmp_path, forgotten):
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    [printed] = re.findall(r"(?m)^    # elmo-bench --include mine sweep experiment=table1.*\n((?:    .*\n)+)", text)
    (tmp_path / "conf" / "encoder").mkdir(parents=True)
    (tmp_path / "conf" / "encoder" / "mine.yaml").write_text(textwrap.dedent(printed))
    forgotten.append(tmp_path)
    made = RunSpec.of(compose("config", ["encoder=mine"]))
    assert (made.encoder, made.settings["encoder.contextual.weights"]) == ("mine", "my-bert")
    assert "encoder=mine" in made.base_options


def test_epochs_of_a_task_keep_its_least_steps_unless_these_are_null():
    def least_steps(*options):
        config = compose("config", ["task=classification", "data.file=a.csv", *options])
        return RunSpec.of(config).settings["task.training.least_steps"]

    usual = compose("config", ["task=classification"]).task.training.epochs
    assert least_steps() == least_steps(f"task.training.epochs={usual}") == 1500
    assert least_steps("task.training.epochs=3") is None
    assert least_steps(f"task.training.epochs={usual}", "task.training.least_steps=null") is None


def test_options_may_be_added_where_something_reads_them():
    assert plan(
        [
            "+data.max_train=5",
            "+mix.penalty=1",
            "+task.training.least_steps=9",
            "+launcher.extra.account=mine",
            "+task.training.ema.decay=0.9",
        ]
    ).runs


@pytest.mark.parametrize(("given", "count"), [("seed=range(0,3)", 3), ("seed=choice(1,2)", 2)])
def test_a_range_and_a_choice_are_sweeps(given, count):
    [[values]] = sweep([given])
    assert len(values) == count


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("task.sizes.cpu.hidden=50", "a list, such as task.sizes.cpu.hidden=[100,50]"),
        ("task.training.epochs=many", "a number, such as task.training.epochs=32"),
        ("task.training.clip=true", "a number, such as task.training.clip=5.0"),
        ("task.training.clip=[5]", "a number, such as task.training.clip=5.0"),
        ("mix.gamma=1", "true or false, such as mix.gamma=true"),
        ("task.training.optimizer=adam", 'values for its parts, such as task.training.optimizer.name="adam"'),
    ],
)
def test_a_value_of_another_kind_is_refused_and_a_good_one_shown(given, wanted):
    with pytest.raises(UserError, match=f"^{re.escape(f'{given}: give {wanted}')}$"):
        compose("config", ["task=ner", given])


def test_null_and_another_number_are_no_other_kind():
    compose("config", ["task=ner", "task.training.clip=null"])
    compose("config", ["task=ner", "task.training.clip=1", "ledger=5"])
