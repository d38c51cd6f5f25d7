"""A report is the same byte for byte on two machines: text, tables, figures."""

import locale
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.reporting.ledgers import fill
from tests.runs import ROOT

# Locale, time zone, the order of sets, and which instructions numpy and its library of matrices use.
HERE = {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0"}
ELSEWHERE = {
    "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "12345", "COLUMNS": "40",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F", "OPENBLAS_CORETYPE": "Prescott", "MPLBACKEND": "svg",
}  # fmt: skip


# Python takes the locale of the environment only if it is told to, as a program that embeds it may.
REPORT = """
import locale, sys
locale.setlocale(locale.LC_ALL, "")
from elmo_bench.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def other_locale():
    """A locale with a decimal comma where one is installed, else C.UTF-8."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "tr_TR.UTF-8"):
            with suppress(locale.Error):
                return locale.setlocale(locale.LC_ALL, name)
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return "C.UTF-8"


def rendered(folder, environment, matplotlibrc):
    """Every file that another process writes there."""
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "matplotlibrc").write_text(matplotlibrc, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", REPORT, "report", "--ledger", "../runs", "--out", "out"]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "MPL"))}
    variables = inherited | {"PYTHONPATH": str(ROOT), "MPLCONFIGDIR": str(folder / "config")} | environment
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    out = folder / "out"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.*")}


@pytest.mark.slow
def test_another_locale_time_zone_hash_seed_and_processor_give_the_same_bytes(tmp_path):
    fill(tmp_path / "runs", "ner", "glove elmo_word elmo_alone elmo", seeds=2)
    here = rendered(tmp_path / "here", HERE, "")
    elsewhere = rendered(
        tmp_path / "elsewhere", ELSEWHERE | {"LC_ALL": other_locale()}, "font.size: 30\naxes.grid: False\n"
    )
    assert {path.rpartition(".")[2] for path in here} == {"md", "html", "csv", "tex", "svg"}
    assert here.keys() == elsewhere.keys()
    assert [path for path in here if here[path] != elsewhere[path]] == []
