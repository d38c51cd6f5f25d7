"""Files and folders that a record would call by a published name."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.runner.named_parts import check_names
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec, Setup


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
