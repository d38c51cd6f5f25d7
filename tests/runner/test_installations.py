"""A sweep runs the code of the process that started it, also where another installation comes first."""

import os
import subprocess
import sys

import pytest

from tests.runs import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("where", ["environment", "here"])
def test_the_runs_of_a_clone_s_sweep_use_the_clone_s_code(tmp_path, where):
    for folder in ("elmo_bench", "elmo_bench/cli", "elmo_bench/runner"):
        (tmp_path / "other" / folder).mkdir(parents=True)
        (tmp_path / "other" / folder / "__init__.py").touch()
    for folder in ("cli", "runner"):
        (tmp_path / "other" / "elmo_bench" / folder / "run.py").write_text("print('another installation')\n")
    (tmp_path / "empty").mkdir()
    folder = tmp_path / ("other" if where == "here" else "empty")
    given = ["task=ner", "suite=open", f"data.root={tmp_path / 'empty'}", f"ledger={tmp_path / 'runs'}"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "run.py"), "-m", *given],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "other")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "wnut17train.conll not found" in done.stderr, done.stdout + done.stderr
    assert done.returncode == 2
