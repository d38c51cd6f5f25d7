"""A document of 5,000 tokens at the paper's sizes stays within 4 GiB."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["predict", "train"])
@pytest.mark.parametrize("longest", [40, 160])  # with 160 a window of 50 sentences is most of the document
def test_5000_tokens_within_4_gib(what, longest):
    done = subprocess.run(
        [sys.executable, "-m", "tests.tasks.coref_memory", what, str(longest)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(f"{what} {longest}: {float(done.stdout):.0f} MiB")
    assert float(done.stdout) < 4096
