"""Every reader gives a result or a UserError for any file, in bounded time and memory; a short `make fuzz`."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.cases import Case, cases, sound
from tests.fuzz.outcome import outcome, write_mutant


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_damaged_file_ends_in_a_result_or_in_one_line(case: Case, tmp_path: Path):
    files = sound(case, tmp_path / "sound")

    @settings(
        max_examples=case.examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.randoms())
    def every_mutant(random):
        shutil.rmtree(tmp_path / "mutant", ignore_errors=True)
        (tmp_path / "mutant").mkdir()
        name = write_mutant(random, case, files, tmp_path / "mutant")
        _, fault = outcome(case, tmp_path / "mutant")
        assert fault is None, name

    every_mutant()
