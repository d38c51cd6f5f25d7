"""Files and folders that a record would call by a published name."""

import re

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.runner.named_parts import check_names, check_plain, encoders_of, parts_to_give
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec


def checked(*options):
    config = compose("config", ["task=ner", *options])
    check_names(RunSpec.of(config), Setup.of(config))


@pytest.mark.parametrize(
    "options",
    [
        ("encoder=elmo", "encoder.weights=./mini"),
        ("encoder=elmo", "encoder.weights=models/small/"),
        ("encoder=hf", "encoder.name=models/bert-mini"),
        ("encoder=glove", "encoder.vectors=mine/glove-6b"),
    ],
)
def test_a_path_with_a_published_name_is_refused(options):
    with pytest.raises(UserError, match=r"records and tables would take it for the published .*\. Rename it\."):
        checked(*options)


def test_a_published_name_that_a_folder_has_too_is_refused_where_it_may_mean_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checked("encoder=hf", "encoder.name=bert-mini")
    (tmp_path / "bert-mini").mkdir()
    (tmp_path / "mini").mkdir()
    with pytest.raises(UserError, match=r"^encoder\.name=bert-mini: a folder here, and the name of published weights"):
        checked("encoder=hf", "encoder.name=bert-mini")
    checked("encoder=bert_mini")  # which means what ships
    checked("encoder=elmo")
    checked("encoder=elmo", "encoder.weights=models/mine")


def spec_of(*options):
    return RunSpec.of(compose("config", ["task=ner", *options]))


@pytest.mark.parametrize("value", ["mean+max", "'last 4'", "{first: 1}", "[[1],[2]]"])
def test_an_option_that_predict_would_refuse_is_noted_before_the_run(value):
    options = ["encoder=hf", "encoder.name=bert-mini", f"+encoder.contextual.pool={value}"]
    with noted() as notes:
        checked(*options)
    [line] = notes
    assert re.match(r"encoder\.contextual\.pool=.*: no trained head can be used again with it\. `predict` and ", line)
    assert line.endswith("A path belongs in `weights`.")
    with pytest.raises(UserError, match="the record's encoder has pool="):
        encoders_of(spec_of(*options), None, None)


def test_an_option_without_a_name_hides_no_other():
    with pytest.raises(UserError, match="the record's encoder has ="):
        check_plain("encoder", {"": {}, "pool": {}})


def test_an_option_that_predict_takes_is_none_that_is_noted():
    with noted() as notes:
        for value in ("[first,2,null]", "''"):
            options = ["encoder=hf", "encoder.name=bert-mini", f"+encoder.contextual.pool={value}"]
            checked(*options)
            encoders_of(spec_of(*options), None, None)
        for encoder in ("elmo", "random", "elmo_bert_mini", "minilm", "tfidf"):
            checked("task=classification", "data.file=a.csv", f"encoder={encoder}")
    assert notes == []


def test_a_file_of_vectors_may_have_any_name():
    """Only the others of an encoder's options are numbers and words; predict is told where the file is."""
    options = ["encoder=cove", "encoder.weights=a b.pth", "encoder.contextual.inputs=c d.txt"]
    checked(*options)
    found = encoders_of(spec_of(*options), "a b.pth", "c d.txt")
    assert found[""] == {"kind": "cove", "weights": "a b.pth", "inputs": "c d.txt"}


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (("encoder=elmo",), {}),
        (("encoder=glove", "suite.vectors=my/vectors.txt"), {"vectors": "PATH"}),
        (("encoder=hf", "encoder.name=my/bert"), {"weights": "PATH"}),
        (("encoder=elmo", "encoder.weights=my-elmo"), {"weights": "PATH"}),
        (("encoder=none", "encoder.vectors=my.txt"), {}),
        (("encoder=cove", "encoder.contextual.inputs=my.txt"), {"weights": "PATH", "vectors": "PATH"}),
        (("encoder=elmo_bert_mini", "suite.weights=my-elmo"), {"weights": "elmo=PATH"}),
        (
            ("encoder=elmo_bert_mini", "suite.weights=mine", "encoder.contextual.parts.bert_mini.weights=b"),
            {"weights": "elmo=PATH,bert_mini=PATH"},
        ),
    ],
)
def test_predict_is_given_what_is_not_published(options, given):
    spec = spec_of(*options)
    assert parts_to_give(spec) == given
    encoders_of(spec, given.get("weights"), given.get("vectors"))
