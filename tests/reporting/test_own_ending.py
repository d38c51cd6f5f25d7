"""What the end of a sweep on own data says: cost beside score, what to use, how, and where the page is."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import read_all
from elmo_bench.reporting.names import short
from elmo_bench.runner.serving import frozen_bytes
from tests.runs import OWN, VECTORS

COMPARE = ["compare", "tfidf", "--encoder", "glove", "encoder.vectors=vectors.safetensors", "head=linear"]


@pytest.mark.slow
def test_a_sweep_ends_with_the_cost_of_use_a_command_that_uses_the_winner_and_the_page(tmp_path, capsys):
    ledger = tmp_path / "runs"
    options = ["task=classification", *OWN["classification"], f"suite.vectors={VECTORS}", "logger=none"]
    options += ["encoder=glove,none", "head=linear", "seed=0,1", "trainer.threads=1", f"ledger={ledger}"]
    assert main(["sweep", *options]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\| classification \(MiB to ship\) +\| +[\d.]+ \| +[\d.]+ \| +[\d.]+ \|", said)
    assert re.search(r"\| classification \(ms a text\) +\| +[\d.]+ \| +[\d.]+ \| +[\d.]+ \|", said)
    record, *_floor = re.findall(r"elmo-bench predict (\S+seed\d\.json) NEW\.jsonl OUT\.jsonl", said)
    assert Path(record).is_file()
    [page] = re.findall(r"the page, to open in a browser: (\S+)", said)
    text = Path(page).read_text(encoding="utf-8")
    assert Path(page) == tmp_path / "runs-report/pages/snli_1.0_dev/index.html" and "linear" in text
    by_encoder = {record.spec.encoder: record for record in read_all(ledger).records}
    assert by_encoder["glove"].serving.frozen_bytes == VECTORS.stat().st_size
    assert by_encoder["none"].serving.frozen_bytes == 0
    assert all(record.serving.text_ms > 0 for record in by_encoder.values())
    assert main([*COMPARE, "--ledger", str(ledger)]) == 0
    assert "MiB to ship" in capsys.readouterr().out


@pytest.mark.parametrize(("stated", "size"), [({}, 0), ({"files": ["model.bin", "gone.bin"]}, 5)])
def test_a_name_that_an_encoder_resolves_by_itself_has_the_size_of_the_files_that_it_states(
    tmp_path, monkeypatch, stated, size
):
    monkeypatch.chdir(tmp_path)
    Path("model.bin").write_bytes(b"12345")
    prepared = SimpleNamespace(
        spec=SimpleNamespace(settings={}),
        setup=SimpleNamespace(encoders={"": {"kind": "mine", "weights": "user/repo"}}),
        frozen=SimpleNamespace(encoders={"": SimpleNamespace(**stated)}),
    )
    assert frozen_bytes(prepared) == size


def test_small_figures_have_two_digits_and_large_ones_none_behind_the_point():
    assert [short(figure) for figure in (0.0362, 3.14159, 9.96, 91.3, 1234.5)] == ["0.036", "3.1", "10", "91", "1,234"]
