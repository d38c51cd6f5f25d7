import pytest

from elmo_bench.ledger import read_all
from elmo_bench.reporting.canvas import Drawing
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.leaderboard import leaderboard
from elmo_bench.reporting.rows import select


@pytest.fixture
def compared(tmp_path):
    """`compared() -> (groups, gain)` of the ledger in `tmp_path`."""

    def compared():
        return groups(select(read_all(tmp_path).records).rows), gains_from(tmp_path)

    return compared


@pytest.fixture(scope="session")
def board():
    """`board(ledger, costs) -> Leaderboard`."""

    def board(ledger, costs=()):
        return leaderboard(select(read_all(ledger).records), ledger=ledger, command="", costs=costs)

    return board


@pytest.fixture
def undrawn(monkeypatch):
    """Blank figures, for tests of a report's text: drawing takes most of the time of a report."""
    monkeypatch.setattr(Drawing, "_files", ('<svg xmlns="http://www.w3.org/2000/svg"></svg>', b""))
