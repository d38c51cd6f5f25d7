import pytest

from elmo_bench.reporting.figures import Drawing
from tests.reporting.frames import board_of


@pytest.fixture(scope="session")
def board():
    """`board(ledger, costs) -> Leaderboard`."""
    return board_of


@pytest.fixture
def undrawn(monkeypatch):
    """Blank figures, for tests of a report's text: drawing takes most of the time of a report."""
    blank = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
    monkeypatch.setattr(Drawing, "_files", (blank, b""))
    monkeypatch.setattr(Drawing, "phone_svg", blank)
