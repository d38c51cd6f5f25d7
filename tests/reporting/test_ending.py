"""What a run says when it ends."""

import json

import pytest

from elmo_bench.ledger import run_hash
from elmo_bench.reporting import ending as module
from elmo_bench.reporting.ending import Row, ending
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import make_record


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Publishes these rows in place of the shipped ones."""

    def publish(*rows):
        path = tmp_path / "published.json"
        path.write_text(json.dumps([row._asdict() for row in rows]), encoding="utf-8")
        monkeypatch.setattr(module, "FILE", path)
        module.rows.cache_clear()

    yield publish
    module.rows.cache_clear()


def row(encoder, mean, hash_="0" * 12, **changes):
    seeds = {"0": {"test": mean, "dev": 50.0, "processor": "another"}}
    return Row("open", "ner", encoder, "cpu", hash_, "", "d1", mean, 0.5, 3.0, seeds)._replace(**changes)


def run(*options, test=50.0):
    spec = RunSpec.of(compose("config", ["task=ner", *options])).with_contents({"data": "d1", "weights": "w"}).to_json()
    return make_record(spec=spec, hash=run_hash(spec), test=test)


def test_the_published_row_and_the_gain_and_what_is_next(publish):
    record = run("encoder=elmo", test=41.0)
    others = row("glove", 90.0, "1" * 12, label="lr_scale=2"), row("glove", 80.0, "2" * 12, data="d2")
    publish(row("elmo", 40.0, record["hash"]), *others, row("glove", 33.0))
    text = "\n".join(ending(record))
    assert "best epoch on dev: " in text
    assert "published: test f1 40.00 ± 0.50 over 1 seeds. This run: reproduced: 1.00 from the published mean" in text
    assert "gain over the published glove, 33.00 ± 0.50 over 1 seeds: +8.00" in text
    assert "elmo-bench sweep task=ner encoder=glove,elmo seed=0,1,2" in text
    assert "6 runs, about 18 minutes" in text
    assert "elmo-bench compare glove elmo " in text
    assert "not reproduced" in "\n".join(ending(run("encoder=elmo", test=42.0)))


def test_a_run_that_changes_an_option_is_compared_with_nothing(publish):
    publish(row("glove", 33.0))
    text = "\n".join(ending(run("encoder=elmo", "task.training.epochs=1")))
    assert "gain" not in text and "sweep" not in text
    assert "elmo-bench report" in text


def test_nothing_is_published_of_another_suite(publish):
    publish(row("elmo", 40.0), row("glove", 33.0))
    text = "\n".join(ending(run("suite=paper", "encoder=glove")))
    assert "published" not in text
    assert "sweep task=ner suite=paper encoder=glove,elmo seed=0,1,2" in text
    assert "--suite paper" in text
