"""What identifies a run: what changes its hash and what does not, its label, its command, its JSON."""

import copy
import json
import os
import re
import shlex
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.spec.conf_files import choices
from elmo_bench.spec.config import compose
from elmo_bench.spec.describe import command_of, label_of, rate_factor
from elmo_bench.spec.options import spelled
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec, computed_changes
from elmo_bench.spec.settings import RATE, check_run, name_of
from tests.runs import first_ones
from tests.spec.test_config import FIXED

FLOORS = {"tfidf": "classification", "features": "tagging"}  # and a task with this floor
CONTENTS = {"data": "0" * 64, "weights": "1" * 64, "vectors": "2" * 64}


@cache
def spec(*options):
    return RunSpec.of(compose("config", options))


def runs():
    """Options of many different runs: every task, encoder, mix and suite, and options of every kind."""
    for group in ("task", "encoder", "mix", "suite"):
        for choice in sorted({*choices(group)} - FLOORS.keys()):
            yield [f"{group}={choice}", *FIXED.get(choice, [])]
    for encoder, task in FLOORS.items():
        yield [f"task={task}", "data.file=a.csv", f"encoder={encoder}"]
    yield ["task=pairs", "data.file=a.csv", "head=linear", "encoder=hf", "encoder.name=bert"]
    yield ["task=tagging", "data.file=a", "head=linear", "encoder=glove", "task.training.optimizer.lr=0.1"]
    yield from (["size=paper"], ["trainer=gpu"], ["store=off"])
    yield ["task=snli", "suite=open", "task.data.open.cut.pairs=7", "task.data.open.tokenizer=treebank"]
    yield ["task=sst5", "suite=open", "task.data.open.phrases=null", "task.training.epochs=10"]
    yield ["task=squad", "task.training.ema=null"]
    yield ["task=ner", "+task.training.ema.decay=0.9", "+task.training.ema.warming=true"]
    yield ["task=snli", "task.training.schedule=null", "task.training.clip=null"]
    yield ["task=srl", "data.train_fraction=0.1", "data.least_steps=100", "data.max_train=50"]
    yield ["encoder.weights=models/two words", "encoder.vectors='5'", "encoder.precision=bfloat16"]
    yield from (["encoder=hf", f"encoder.name=models/{name}"] for name in ("two words", "bert@2"))
    yield ["place=both", "mix.gamma=false", "mix.penalty=1e-5", "vectors.trainable=false"]
    yield ["task.sizes.cpu.hidden=[4,4]", "encoder=elmo_only"]
    yield ["experiment=debug"]


SEVERAL = [*runs()]


@pytest.mark.parametrize(
    "options",
    first_ones([*SEVERAL[::4], *SEVERAL[1::4], *SEVERAL[2::4], *SEVERAL[3::4]], len(SEVERAL[::4])),
    ids=" ".join,
)
def test_the_command_of_a_spec_makes_an_equal_spec(options):
    made = spec(*options)
    words = shlex.split(command_of(made, 3))
    assert words[:2] == ["elmo-bench", "run"]
    assert words[-1] == "seed=3"
    assert spec(*words[2:]) == made
    assert RunSpec(**json.loads(json.dumps(made.to_json()))) == made


def test_different_runs_have_different_hashes_that_hold_no_python_name_no_repr_and_no_path():
    hashes = []
    for options in runs():
        text = json.dumps((made := spec(*options)).to_json())
        assert not re.search(r"_target_|torch|elmo_bench|tasks\.|object at|<class|\(|/", text), options
        hashes.append(made.with_contents(CONTENTS).hash)
    assert all(re.fullmatch("[0-9a-f]{12}", each) for each in hashes)
    # One choice of four groups is the default run, and so is one without a store.
    assert len({*hashes}) == len(hashes) - 4


def test_a_pinned_hash():
    """Fails if any key, default or the way of hashing changes: then every record in the world is another run."""
    found = spec("task=ner", "encoder=elmo").with_contents(CONTENTS)
    assert (found.key, found.hash) == ("121aad88963d", "35947f5b8a78")


@pytest.mark.parametrize(
    ("options", "more"),
    [
        (["encoder=elmo", "mix=last"], ["mix.penalty=3"]),  # no weights are learned that λ could hold back
        (["encoder=glove"], ["mix=last", "place=both", "suite.weights=mine"]),
        (["encoder=none"], ["vectors.trainable=true", "mix.gamma=false"]),
        (["encoder=elmo"], ["data.least_steps=100"]),  # all of the data is read once an epoch
        (["encoder=elmo"], ["task.data.paper.columns=5"]),  # another suite's
        (["task=pairs", "data.file=a.csv", "data.train_fraction=0.1"], ["data.least_steps=9"]),  # its own
        (["encoder=elmo"], ["task.data.open.columns=2", "mix.penalty=1.5625e-3", "task.training.optimizer.lr=1e-3"]),
        (["encoder=elmo"], ["seed=4", "logger=none", "trainer.threads=1", "ledger=elsewhere", "predictions=true"]),
        (["encoder=elmo"], ["store=off", "data.root=elsewhere", "overwrite=true", "launcher=ray"]),
        (["encoder=elmo", "encoder.weights=/a/mine"], ["encoder.weights=/b/mine"]),
    ],
)
def test_an_option_without_effect_makes_no_other_run(options, more):
    assert spec(*options, *more) == spec(*options)
    assert label_of(spec(*options, *more)) == label_of(spec(*options))


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (["encoder=elmo", "seed=3", "predictions=true", "trainer.threads=1"], ""),
        (["mix=scalar", "mix.penalty=1", "mix.gamma=true"], "mix.penalty=1"),
        (["suite.weights=/home/me/mine"], "encoder.weights=mine"),
        (["encoder=hf", "encoder.name=models/two words"], ""),  # `two_words` in the ledger
        (["encoder=elmo_characters"], ""),  # its mix is its default
        (["encoder=elmo_word", "mix.gamma=false"], "mix.gamma=false"),
        (["trainer=gpu"], "trainer.precision=bf16-mixed"),
        (["experiment=debug"], "data.max_train=32, task.training.epochs=1"),  # by what it does
        (["experiment=figure1", "task=ner", "encoder=elmo", "seed=0", "data.train_fraction=0.1"],
         "data.least_steps=100, data.train_fraction=0.1"),
        (["task=pairs", "data.file=a.csv", "head=linear", "data.max_train=9"], "data.max_train=9, head=linear"),
        (["task=pairs", "data.file=a.csv", "encoder=tfidf", "task.head.c=0.5"], "task.head.c=0.5"),
        (["task=classification", "data.file=a.csv", "task.head.dropout.input=0.2"], "task.head.dropout.input=0.2"),
    ],
)  # fmt: skip
def test_the_label_is_what_differs_from_the_default_run(options, label):
    assert label_of(spec(*options)) == label
    head = {"head": spec(*options).head} if "head=linear" in options else {}
    assert spec(*options).default().changes == head


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["encoder=elmo", "mix=first"], "encoder=elmo mix=first: the same run as encoder=elmo_word."),
        (["encoder=elmo_word", "mix=last"], "encoder=elmo_word mix=last: the same run as encoder=elmo mix=last."),
        (["mix=first", "encoder=elmo_only"], "encoder=elmo_only mix=first: the same run as encoder=elmo_characters."),
    ],
)
def test_no_run_has_two_names(given, said):
    with pytest.raises(UserError, match=f"^{said} Use that name"):
        check_run(compose("config", given))
    for other in (["encoder=random", "mix=first"], ["encoder=elmo_word"], ["encoder=elmo", "mix=layer", "mix.layer=0"]):
        check_run(compose("config", other))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["task=ner", "head=linear"], "head=linear: task=ner has its own head alone. Leave out the option, or choose "),
        (["task=ner", "encoder=tfidf"], "encoder=tfidf: a floor, which task=ner lacks. It is for: classification, "),
        (["task=tagging", "data.file=a", "encoder=tfidf"], "not the floor of task=tagging, which is encoder=features"),
        (["task=pairs", "data.file=a", "encoder=elmo", "head=floor"], "not the floor of task=pairs, which is encoder="),
        (["task=pairs", "data.file=a", "encoder=tfidf", "head=linear"], "a floor has no vectors for another head."),
        (["task=ner", "head=lineal"], "head=lineal: unknown head; choose one of: floor, linear, strong (did you mean"),
        (["task=pairs", "task.heads.linear.place=both"], "unknown option 'task.heads.linear.place'"),
        (["task=pairs", "head=linear", "task.head.hidden=3"], "unknown option 'task.head.hidden'"),
        (["task=pairs", "head=linear", "task.head.name=esim"], "task.head.name=esim: comes with the code"),
    ],
)  # fmt: skip
def test_a_head_that_a_run_cannot_have_is_one_line(given, said):
    with pytest.raises(UserError, match=re.escape(said)) as raised:
        check_run(compose("config", given))
    assert "\n" not in str(raised.value)


def test_a_floor_has_one_run_for_all_seeds_unless_they_draw_the_examples():
    options = ["task=pairs", "data.file=a.csv", "encoder=tfidf"]
    assert spec(*options).deterministic
    assert not spec(*options, "data.max_train=9").deterministic
    assert not spec(*options[:2], "head=linear").deterministic


def test_a_factor_on_the_learning_rate_is_in_the_spec_as_that_rate():
    assert spec("task=snli", "lr_scale=1") == spec("task=snli")
    twice = spec("task=snli", "lr_scale=2")
    assert twice == spec("task=snli", "task.training.optimizer.lr=0.004")
    assert label_of(twice) == "task.training.optimizer.lr=0.004"
    rate = "task.training.optimizer.lr"
    assert spec("task=snli", "lr_scale=3", f"{rate}=0.1").settings[rate] == 0.3
    with pytest.raises(UserError, match=r"^lr_scale=2: the task has no learning rate to multiply"):
        spec("task=snli", "lr_scale=2", "task.training.optimizer.lr=null")


@pytest.fixture(scope="module")
def ner():
    return compose("config", ["task=ner"])


@pytest.mark.parametrize(
    "wrong",
    ["lr_scale=0", "lr_scale=fast",
     "seed=-1", "seed=1.5", "seed=4294967296", "ledger=''", "place=middle", "mix.penalty=-1",
     "mix.penalty=.inf", "data.train_fraction=0",
     "data.train_fraction=1.5", "data.max_train=0", "data.max_eval=0",
     "data.least_steps=0", "data.least_steps=2.5", "encoder.words=some",
     "task.training.epochs=0", "task.training.patience=0", "task.training.batch=0", "task.training.batch=1.5",
     "task.training.tokens=0", "task.training.clip=-1", "task.training.clip=0", "mix.dropout=1.5", "store.max_gb=-1",
     "task.characters.dim=-1", "task.characters.filters=[[0,5]]", "task.characters.filters=[3,64]",
     "task.characters.filters=[]", "trainer.device=tpu", "trainer.precision=16",
     "encoder.vectors=null", "encoder.vectors=5",
     "encoder.contextual.stateful=true", "task.training.optimizer.lr=0", "task.training.optimizer.lr=.nan",
     "task.head.dropout=.inf", "data.max_train=99999999999999999999", "suite.name=[1]", "suite.name=a/b",
     "suite.name=a b", "suite.name=.a", "vectors.trainable=null",
     "task.training.schedule.name=[1]"],
)  # fmt: skip
def test_a_value_that_no_run_can_have_is_one_line_that_names_it(wrong, ner):
    config = copy.deepcopy(ner)
    key, _, value = wrong.partition("=")
    OmegaConf.update(config, key, yaml.safe_load(value))
    with pytest.raises(UserError, match=f"^{re.escape(key)}="):
        check_run(config)


def test_an_option_of_the_data_is_part_of_a_run_only_where_it_differs():
    usual = spec("task=coref").settings
    assert not [key for key in usual if key.startswith("task.data.")]
    assert not [key for key in spec("task=coref", "task.head.width=5").settings if key.startswith("task.data.")]
    assert spec("task=coref", "task.data.width=5").settings == usual | {"task.data.width": 5}
    assert spec("task=pos", "task.data.labels=control").settings["task.data.labels"] == "control"


@pytest.mark.parametrize(
    ("name", "source"),
    [("a/first/checkpoint-500", "a/first/checkpoint-500"), ("/w/x/y/z", "x/y/z"), ("bert-base-cased", "")],
)
def test_a_setup_knows_the_end_of_a_path_and_no_spec_does(name, source):
    config = compose("config", ["task=ner", "encoder=hf", f"encoder.name={name}"])
    assert Setup.of(config).source == source
    assert name.rpartition("/")[0] not in str(RunSpec.of(config).to_json()) or "/" not in name


def test_two_columns_of_one_file_are_two_runs():
    runs = [spec("task=classification", "data.file=a.csv", f"data.text={name}") for name in ("title", "body")]
    assert len({run.identity for run in runs}) == 2 and {label_of(run) for run in runs} == {""}


@pytest.mark.parametrize(
    ("path", "name"), [(os.fsdecode(b"/a/caf\xe9.csv"), "caf\\udce9.csv"), ("/a/é@1.csv", "é+1.csv")]
)
def test_a_file_name_is_text_in_a_record_also_if_it_is_not_utf_8(path, name):
    assert name_of(path) == name


@pytest.mark.parametrize("name", ["2024", "'2024'", "'007'", "'true'", "données"])
def test_a_suite_may_be_named_like_a_number(name):
    made = spec("task=classification", "data.file=a.csv", f"suite.name={name}")
    assert made.suite == name.strip("'")
    assert spec(*shlex.split(command_of(made, 0))[2:]) == made


def test_two_scores_of_one_file_are_two_runs():
    """Accuracy is the default, and part of no hash."""
    options = "task=classification", "data.file=a.csv"
    usual, macro = spec(*options), spec(*options, "task.metric=macro_f1")
    assert spec(*options, "task.metric=accuracy").key == spec(*options, "task.metric=null").key == usual.key
    assert usual.key != macro.key
    assert usual.identity != macro.identity and label_of(macro) == ""
    assert "task.metric=macro_f1" in command_of(macro, 0) and "task.metric" not in command_of(usual, 0)
    with pytest.raises(UserError, match=r"^task.metric=f2: give one of: accuracy, macro_f1"):
        check_run(compose("config", [*options, "task.metric=f2"]))


@pytest.mark.parametrize(
    "keys", [("task.head.name", "task.head"), ("task.head.name", "task.head.name.a"), ("task.head.a.b", "task.head.a")]
)
def test_a_setting_that_has_a_value_and_parts_is_one_line(keys):
    """The settings of a record may come in any order."""
    for order in (keys, keys[::-1]):
        made = RunSpec("open", "ner", "none", "cpu", dict.fromkeys(order, "x"))
        with pytest.raises(UserError, match="is a part of another, or has parts"):
            made.part("task")


def test_an_option_of_an_encoder_that_is_null_is_a_change():
    usual = spec("task=ner", "encoder=elmo")
    key = "encoder.contextual.stateful"
    without = replace(usual, settings={name: value for name, value in usual.settings.items() if name != key})
    assert computed_changes(without) == {key: "null"}
    assert computed_changes(usual) == {}


EVIL = {
    "ledger": "/home/victim",
    "overwrite": "true",
    "data.root": "/srv/evil",
    "logger": "wandb",
    "experiment": "table1",
}


@pytest.mark.parametrize(
    "stated",
    [EVIL, *({key: value} for key, value in EVIL.items()), {"encoder.contextual.a b": "null"}, {"mix": "first"},
     {"data.max_train": "many"}, {"data.max_train": "9" * 5000}, {"mix": "last", "ledger": "null"}],
)  # fmt: skip
def test_changes_that_the_settings_of_a_record_lack_are_not_taken(stated):
    made = spec("task=ner", "encoder=elmo", "mix=last")
    read = RunSpec.of_record(SimpleNamespace(spec=made, changes=stated))
    assert read.changes == {"mix": "last"}
    assert label_of(read) == "mix=last"
    assert command_of(read, 0) == command_of(made, 0)


@pytest.mark.parametrize(
    "stated",
    [{"head": "linear"}, {"mix": "last"}, {"mix": "last", "task.training.patience": "null"}, {"task.version": "0"},
     {"encoder.contextual.stateful": "null"}],
)  # fmt: skip
def test_changes_that_the_settings_of_a_record_have_are_taken_as_stated(stated):
    made = spec("task=ner", "encoder=elmo", "mix=last")
    settings = {key: value for key, value in made.settings.items() if key != "encoder.contextual.stateful"}
    settings |= {"task.training.patience": None}
    read = RunSpec.of_record(SimpleNamespace(spec=replace(made, settings=settings), changes=stated))
    assert read.changes == {key: value for key, value in stated.items() if key != "task.version"}


def test_a_learning_rate_beyond_all_numbers_has_no_factor():
    made = spec("task=ner", "encoder=elmo")
    far = replace(made, settings=made.settings | {RATE: 1e308})
    assert rate_factor(far) is None
    assert rate_factor(replace(far, settings=made.settings | {RATE: 2 * made.settings[RATE]})) == 2


@pytest.mark.parametrize(
    "value",
    ["a\\b", "a\\", "\\", "\\\\", "it's", "a\\'b", "a\\\\'", "'", "''", "\\'\\", "two words", "C:\\new data\\x.csv"],
)
def test_a_spelled_text_is_read_as_it_was(value):
    [override] = OverridesParser.create().parse_overrides([f"key={spelled(value)}"])
    assert override.value() == value


def test_an_option_of_layers_that_is_called_as_one_of_the_encoder_has_a_name_of_its_own():
    config = compose("config", ["task=ner", "encoder=elmo"])
    OmegaConf.update(config, "encoder.contextual.vectors", "mine.vec", force_add=True)
    settings = RunSpec.of(config).settings
    assert settings["encoder.contextual.vectors"] == "mine.vec" and settings["encoder.vectors"] != "mine.vec"
