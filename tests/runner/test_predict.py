"""`predict`: a kept head gives on a file what its run gave on the same text."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from elmo_bench.__main__ import main
from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths
from elmo_bench.runner import trained
from elmo_bench.runner.data import build_data, read_splits
from elmo_bench.runner.predict import predict
from tests.runs import GOLDEN, VECTORS, described, first_ones, first_rows, run_small

WITH_VECTORS = ["--vectors", str(VECTORS)]
WITH_BOTH = ["--weights", str(GOLDEN), *WITH_VECTORS]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The test split as a file of token and tag."""
    run = described("task=ner")
    path = tmp_path_factory.mktemp("text") / "test.conll"
    with path.open("w", encoding="utf-8") as file:
        for sentence in read_splits(build_data(*run), *run)["test"]:
            file.writelines(f"{token} {tag}\n" for token, tag in zip(sentence.tokens, sentence.tags, strict=True))
            file.write("\n")
    return path


@pytest.fixture
def few(tmp_path):
    """Two sentences of token and tag."""
    path = tmp_path / "few.conll"
    path.write_text("Marvolo B-person\nsailed O\n\nto O\nQuibbleton B-location\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("encoder", first_ones(["elmo", "glove"], 1))
def test_predictions_are_those_of_the_run(tmp_path, text, encoder, capsys, elmo_run):
    runs = tmp_path / "runs"
    ledger, record = elmo_run if encoder == "elmo" else (runs, run_small(runs, "predictions=true", encoder=encoder))
    paths = RunPaths.of(ledger, record)
    capsys.readouterr()  # what the run said
    given = WITH_BOTH if encoder == "elmo" else WITH_VECTORS
    assert main(["predict", str(paths.record), str(text), str(tmp_path / "out.conll"), *given]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/out.conll: 60 examples\n"
    assert (tmp_path / "out.conll").read_bytes() == (paths.work / "test.predictions.conll").read_bytes()
    assert main(["score", "ner", str(tmp_path / "out.conll"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["overall"] == pytest.approx(record.scores.test.overall)
    new = tmp_path / "new.txt"
    new.write_text("Marvolo\nsailed\nto\nQuibbleton\n\nZzyzx\n", encoding="utf-8")
    assert main(["predict", str(paths.record), str(new), str(tmp_path / "new.conll"), *given]) == 0
    rows = [line.split() for line in (tmp_path / "new.conll").read_text(encoding="utf-8").splitlines()]
    assert [row[:2] for row in rows if row] == [
        ["Marvolo", "-"], ["sailed", "-"], ["to", "-"], ["Quibbleton", "-"], ["Zzyzx", "-"],
    ]  # fmt: skip
    plain = tmp_path / "plain.txt"
    plain.write_text("Marvolo sailed to Quibbleton\n\nZzyzx\n", encoding="utf-8")
    assert main(["predict", str(paths.record), str(plain), str(tmp_path / "plain.conll"), *given]) == 0
    assert "plain.txt: 1 empty lines skipped, the first is line 2" in capsys.readouterr().err
    assert (tmp_path / "plain.conll").read_bytes() == (tmp_path / "new.conll").read_bytes()
    assert main(["score", "ner", str(tmp_path / "plain.conll")]) == 2
    assert "plain.conll: no gold labels, so there is nothing to score." in capsys.readouterr().err


def test_mistakes_are_one_line(tmp_path, text, capsys, elmo_run, refused):
    shutil.copytree(elmo_run[0], tmp_path, dirs_exist_ok=True)
    paths = RunPaths.of(tmp_path, elmo_run[1])
    cases = [
        ([str(paths.record), str(text), *WITH_VECTORS, "--weights", "mini"], "trained with weights of checksum"),
        ([str(paths.record), str(tmp_path / "nothing.conll"), *WITH_BOTH], "nothing.conll: no such file"),
        ([str(paths.record), str(tmp_path / "blank"), *WITH_BOTH], "blank: no example in it."),
        ([str(paths.record), "/dev/null", *WITH_BOTH], "/dev/null: not a regular file."),
        ([str(tmp_path / "no.json"), str(text)], "no.json: no such file. Give one of a ledger: "),
        ([str(paths.record), str(tmp_path / "out")], "out: this file is read too, and would be overwritten."),
    ]
    (tmp_path / "out").write_text("Anna\n", encoding="utf-8")
    (tmp_path / "blank").write_text("\n \n", encoding="utf-8")
    for (record_file, file, *more), message in cases:
        assert message in refused("predict", record_file, file, tmp_path / "out", "--overwrite", *more)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "Anna\n"
    kept = paths.work / "head.safetensors"
    with safe_open(kept, framework="pt") as file:
        save_file({f"once.{name}": file.get_tensor(name) for name in file.keys()}, kept, file.metadata())  # noqa: SIM118
    assert main(["predict", str(paths.record), str(text), str(tmp_path / "out"), "--overwrite", *WITH_BOTH]) == 2
    assert "does not fit the ner head of this version" in capsys.readouterr().err
    kept.unlink()
    assert main(["predict", str(paths.record), str(text), str(tmp_path / "out"), "--overwrite"]) == 2
    assert "the head of this run is not here (heads are not committed)." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["out.jsonl.gz", "out.conll.XZ", "out.txt.bz2"])
def test_the_name_of_a_packed_file_is_refused_before_anything_is_read(tmp_path, name, refused):
    said = f"{name}: the name of a packed file, and it is written unpacked. Give a name without "
    with pytest.raises(UserError, match=said):
        predict(tmp_path / "no.json", tmp_path / "no.csv", tmp_path / name)
    assert said in refused("texts", tmp_path / name, "task=ner", "suite=open")


def test_texts_of_a_split_are_written_and_overwrite_no_data(tmp_path, refused):
    folder = tmp_path / "wnut17"
    folder.mkdir()
    for name in ("train.txt", "dev.txt", "test.txt"):
        (folder / name).write_text("Anna B-person\nlives O\n\n", encoding="utf-8")
    files = [f"task.data.open.{split}={split}.txt" for split in ("train", "dev", "test")]
    given = ["task=ner", "suite=open", f"data.root={tmp_path}", *files]
    assert "this file is read too, and would be overwritten." in refused("texts", folder / "test.txt", *given)
    assert {path.read_text(encoding="utf-8") for path in folder.iterdir()} == {"Anna B-person\nlives O\n\n"}
    (folder / "train.txt").write_text("Bob B-person\n\n", encoding="utf-8")
    assert main(["texts", str(tmp_path / "out.txt"), "--split", "train", *given]) == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "Bob\n"
    assert "out.txt: exists already." in refused("texts", tmp_path / "out.txt", "--split", "dev", *given)
    assert main(["texts", str(tmp_path / "out.txt"), "--split", "dev", "--overwrite", *given]) == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "Anna lives\n"


def setting(key, value):
    return lambda spec: spec["settings"].update({key: value})


TARGET = {"_target_": "pathlib.Path.write_text", "self": "owned", "data": "x"}


@pytest.mark.parametrize(
    ("change_spec", "change_about", "said"),
    [
        (None, lambda about: about.update(spec=about["spec"] | {"size": "paper"}),
         "head.safetensors: the head of another run or seed than "),
        (setting("task.head.name", TARGET), None, f"seed0.json: task.head.name={str(TARGET)[:60]}: not of the kind"),
        (setting("task.head.dropout", "${oc.env:SECRET}"), None, "dropout='${oc.env:SECRET}': not of the kind"),
        (setting("encoder.contextual.kind", "../../../owned"), None, "encoder.contextual.kind=../../../owned: unknown"),
        (setting("encoder.contextual.options", "/etc/passwd"), None, "options='/etc/passwd', which is not a number"),
        (lambda spec: spec.update(task="os.system"), None, "task os.system: not installed here. The tasks are: "),
        (None, lambda about: about.update(config=TARGET, vocabulary={"labels": TARGET}),
         "head.safetensors: metadata.vocabulary.labels.list[str]: {'_target_': "),
        (None, lambda about: about["lexicon"].update(words=[TARGET]),
         "head.safetensors: metadata.lexicon.words[0]: {'_target_': "),
        (None, lambda about: about["lexicon"].update(repeated=-1),
         "head.safetensors: metadata.lexicon.repeated: -1 should be greater than or equal to 0"),
    ],
)  # fmt: skip
def test_nothing_in_a_strangers_record_or_head_is_built_or_resolved(  # noqa: PLR0917
    stranger, few, tmp_path, monkeypatch, refused, change_spec, change_about, said
):
    """Both files fit each other. What looks like code, an interpolation or a path in them is refused."""
    monkeypatch.setenv("SECRET", "a secret")
    monkeypatch.chdir(tmp_path)
    file = stranger(change_spec or (lambda spec: None), change_about or (lambda about: None))
    line = refused("predict", file, few, tmp_path / "out", *WITH_BOTH)
    assert said in line and "a secret" not in line
    assert not (tmp_path / "owned").exists()


NO_VECTORS = f"--vectors {VECTORS}: the run has no static vectors. Leave it out."
UNFIT = "head.safetensors: does not fit the ner head of this version"
SHAPES = f"{UNFIT} (its tensors have other names or shapes). Run it again"
CONTRADICTIONS = [  # settings, of which ... removes one, and what is said of them
    ({"encoder.words": None}, NO_VECTORS),
    ({"place": "middle"}, SHAPES),
    ({"mix": "layer", "mix.layer": 99}, "mix.layer=99: mix=layer needs a whole number from 0 to 2"),
    ({"mix": 5}, "mix.kind=5: unknown. Choose one of: scalar, "),
    ({"encoder.words": "both"}, NO_VECTORS),
    ({"encoder.words": 5}, NO_VECTORS),
    ({"encoder.words": ...}, NO_VECTORS),
    ({"place": None}, SHAPES),
    ({"place": ...}, SHAPES),
    ({"mix": ...}, f"{UNFIT} ('mix')"),
    ({"mix": "layer"}, "mix.layer=None: mix=layer needs a whole number from 0 to 2"),
    ({"mix": "fixed", "mix.scalars": [1, 2]}, "mix.scalars=[1, 2]: mix=fixed needs 3 numbers"),
    ({"mix.dropout": 7}, f"{UNFIT} (dropout=7: must be at least 0 and below 1)"),
    ({"task.head.dropout": 9}, f"{UNFIT} (dropout=9: must be at least 0 and below 1)"),
    ({"task.head.hidden": "x"}, "seed0.json: task.head.hidden='x': not of the kind of [100, 50]"),
    ({"task.head.hidden": []}, f"{UNFIT} (list index out of range)"),
    ({"task.head.hidden": ...}, f"{UNFIT} (Head.__init__() missing 1 required "),
    ({"task.characters.filters": "x"}, f"{UNFIT} (not enough values to unpack "),
    ({"task.characters.filters": []}, SHAPES),
    ({"task.characters.dim": -1}, f"{UNFIT} (Trying to create tensor with negative dimension -1"),
    ({"task.characters.dim": ...}, f"{UNFIT} ('dim')"),
    (
        {"encoder.contextual.kind": ...},
        f"--weights {GOLDEN}: no part {GOLDEN}. Leave out --weights: it has no encoder.",
    ),
    ({"encoder.contextual.kind": None}, "encoder.contextual.kind=None: unknown. Give the folder that has it"),
    ({"encoder.contextual.kind": 5}, "encoder.contextual.kind=5: unknown. Give the folder that has it"),
    ({"encoder.contextual.kind": "stack"}, "encoder.contextual.parts: give each encoder of the stack a name"),
    ({"encoder.precision": "int3"}, "precision=int3: unknown. Choose one of: float32, "),
]
WITHOUT_EFFECT = [  # of training, of data, named by options of the command, or at the value that is the default
    {"encoder.words": "static", "encoder.vectors": None}, {"task.training.batch": 0}, {"encoder.vectors": ...},
    {"mix.dropout": ...}, {"mix.layer_norm": ...}, {"encoder.words": "static", "vectors.trainable": "x"},
    {"protocol": ...}, {"trainer.precision": "16"}, {"task.data.open": 3}, {"task.data.columns": 3},
]  # fmt: skip


def changed_settings(changes):
    """A change of a spec to these settings."""

    def change(spec):
        settings = spec["settings"] | changes
        spec["settings"] = {key: value for key, value in settings.items() if value is not ...}

    return change


@pytest.mark.parametrize(("changes", "said"), first_rows(CONTRADICTIONS, 4), ids=str)
def test_contradictory_settings_are_one_line(stranger, few, tmp_path, refused, changes, said):  # noqa: PLR0917
    assert said in refused("predict", stranger(changed_settings(changes)), few, tmp_path / "out", *WITH_BOTH)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("changes", first_ones(WITHOUT_EFFECT, 1), ids=str)
def test_settings_that_no_prediction_reads_change_none(elmo_run, stranger, text, tmp_path, changes):
    file = stranger(changed_settings(changes))
    assert main(["predict", str(file), str(text), str(tmp_path / "out"), *WITH_BOTH]) == 0
    kept = RunPaths.of(*elmo_run).work / "test.predictions.conll"
    assert (tmp_path / "out").read_bytes() == kept.read_bytes()


def test_a_number_of_the_head_of_another_kind_is_refused(stranger, few, tmp_path, refused):
    def change(spec):
        spec["settings"]["task.head.dropout"] = "x"

    line = refused("predict", str(stranger(change)), str(few), str(tmp_path / "out"), *WITH_BOTH)
    assert "task.head.dropout" in line and "not of the kind of" in line


def test_a_head_belongs_to_the_seed_of_its_record(stranger, few, tmp_path, refused):
    file = stranger()
    record = json.loads(file.read_text(encoding="utf-8")) | {"attempt": "0" * 32, "seed": 1}
    file.write_text(json.dumps(record), encoding="utf-8")
    line = refused("predict", str(file), str(few), str(tmp_path / "out"), *WITH_BOTH)
    assert "head.safetensors: the head of another run or seed than " in line


STRANGE = ("https://example.org/elmo_weights.hdf5", "/etc/passwd", "user/repo", "models")
NAMED = "are not published. Say where they are: --"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("task.head.hidden", [1] * 100_000, "its spec asks for far more tensors than it has"),
        *(("encoder.weights", name, f"{NAMED}weights") for name in STRANGE),
        ("encoder.vectors", "/etc/passwd", f"{NAMED}vectors"),
    ],
)
def test_no_endless_head_is_built_and_no_file_that_a_record_names_is_opened(  # noqa: PLR0917
    stranger, few, tmp_path, refused, key, value, said
):
    given = {"encoder.weights": WITH_VECTORS, "encoder.vectors": WITH_BOTH[:2]}.get(key, WITH_BOTH)
    assert said in refused("predict", str(stranger(setting(key, value))), few, tmp_path / "out", *given)


def test_a_head_with_other_drawn_numbers_in_its_encoder_is_refused(stranger, few, tmp_path, refused):
    file = stranger(change_about=lambda about: about.update(encoders={"": "another"}))
    said = refused("predict", str(file), few, tmp_path / "out", *WITH_BOTH)
    assert "trained with other random numbers in its encoder than are drawn here" in said
    assert not (tmp_path / "out").exists()


def test_a_refitted_head_whose_record_does_not_say_so_is_refused(stranger, few, tmp_path, refused):
    """A refit was killed between the two files: the scores are another head's."""
    file = stranger(change_about=lambda about: about.update(refit=True))
    said = refused("predict", str(file), few, tmp_path / "out", *WITH_BOTH)
    assert "head.safetensors: trained on train and dev, but " in said and "Run it again with refit=true." in said


def test_a_head_that_fails_on_a_text_is_one_line(elmo_run, few, tmp_path, refused, monkeypatch):
    def fail(*_):
        raise IndexError("index out of range\nin self")

    monkeypatch.setattr(trained, "_answers", fail)
    said = refused("predict", RunPaths.of(*elmo_run).record, few, tmp_path / "out", *WITH_BOTH)
    assert "head.safetensors: gives no answers (IndexError: index out of range). Run it again" in said
    monkeypatch.setattr(include, "folders", [Path(__file__).parent])  # now `fail` is the user's own code
    with pytest.raises(IndexError, match="in self"):
        predict(RunPaths.of(*elmo_run).record, few, tmp_path / "out", weights=str(GOLDEN), vectors=str(VECTORS))
