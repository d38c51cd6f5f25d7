"""What a run says when it ends."""

import json

import pytest

from elmo_bench.reporting import ending as module
from elmo_bench.reporting.ending import Row, ending
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
    return Row("open", "tagging", encoder, "cpu", hash_, "", mean, 0.5, 3.0, seeds)._replace(**changes)


def test_the_published_row_and_the_gain_and_what_is_next(publish):
    record = make_record(test=41.0)
    publish(row("elmo", 40.0, record["hash"]), row("glove", 33.0), row("glove", 90.0, "1" * 12, label="lr_scale=2"))
    text = "\n".join(ending(record))
    assert "best epoch on dev: " in text
    assert "published: test f1 40.00 ± 0.50 over 1 seeds. This run: reproduced: 1.00 from the published mean" in text
    assert "gain over the published glove, 33.00 ± 0.50 over 1 seeds: +8.00" in text
    assert "elmo-bench sweep task=tagging encoder=glove,elmo seed=0,1,2" in text
    assert "6 runs, about 18 minutes" in text
    assert "elmo-bench compare glove elmo " in text
    assert "not reproduced" in "\n".join(ending(make_record(test=42.0)))


def test_nothing_is_published_of_another_suite_or_hash(publish):
    publish(row("elmo", 40.0), row("glove", 33.0))
    text = "\n".join(ending(make_record(suite="paper", encoder="glove")))
    assert "published" not in text
    assert "sweep task=tagging suite=paper encoder=glove,elmo seed=0,1,2" in text
    assert "--suite paper" in text
