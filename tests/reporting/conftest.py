import pytest

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.canvas import Drawing
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import select


@pytest.fixture
def found(tmp_path):
    """`found() -> (groups, gains)` of the ledger in `tmp_path`."""

    def found():
        rows = select(read_ledger(tmp_path)[0]).rows
        return groups(rows), gains_from(tmp_path)

    return found


@pytest.fixture
def undrawn(monkeypatch):
    """Blank figures, for tests of a report's text: drawing takes most of the time of a report."""
    monkeypatch.setattr(Drawing, "_files", ('<svg xmlns="http://www.w3.org/2000/svg"></svg>', b""))
