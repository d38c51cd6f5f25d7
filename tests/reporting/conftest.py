import pytest

from elmo_bench.cli import report
from elmo_bench.ledger import RunPaths, read_all
from elmo_bench.ledger.costs import read_costs
from elmo_bench.ledger.store import rewrite_record
from elmo_bench.reporting.frame import runs
from elmo_bench.reporting.leaderboard import leaderboard
from elmo_bench.spec.names import metric_of
from tests.reporting.ledgers import add, fill, full
from tests.runs import ROOT


@pytest.fixture(scope="session")
def committed():
    """(ledger with what was wrong in it, board) of the committed records, for tests that only read them."""
    folder = ROOT / "results" / "runs"
    ledger = read_all(folder, metrics=metric_of)
    costs, _ = read_costs(ROOT / "results" / "costs")
    return ledger, leaderboard(runs(folder, ledger.records), command="", costs=costs)


def correct(ledger):
    """Say of the first run of GloVe that its cost was corrected."""
    record = add(ledger, "ner", "glove", 0)
    changed = record.model_copy(update={"corrected": {"cost": "halved <by> hand"}})
    rewrite_record(RunPaths.of(ledger, record), changed)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a rendered ledger with all experiments, for tests that only read it."""
    folder = tmp_path_factory.mktemp("site")
    full(folder / "runs", tasks=("ner", "snli"), light=("ner",), seeds=1)
    add(folder / "runs", "ner", "elmo", 0, size="paper")
    correct(folder / "runs")
    assert report.main(["--ledger", str(folder / "runs"), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def small_site(tmp_path_factory):
    """The same of a ledger with the sections encoders, regularisation, speed and all runs."""
    folder = tmp_path_factory.mktemp("small_site")
    fill(folder / "runs", "ner snli", "glove elmo")
    add(folder / "runs", "ner", "elmo", 0, penalty=1.0)
    correct(folder / "runs")
    assert report.main(["--ledger", str(folder / "runs"), "--out", str(folder)]) == 0
    return folder
