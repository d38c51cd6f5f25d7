"""`python -m elmo_bench report`, as a person runs it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.cli import report
from elmo_bench.ledger import RunPaths, write_failure
from tests.reporting.ledgers import add

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path):
    """`run(*flags) -> text of the README`, on the ledger of `store_record`."""

    def run(*flags):
        out = tmp_path / "results"
        assert report.main(["--ledger", str(tmp_path / "runs"), "--out", str(out), *flags]) == 0
        return (out / "README.md").read_text(encoding="utf-8")

    return run


def test_where_only_the_demo_was_run_the_pages_say_so(run, store_record, tmp_path):
    store_record(suite="mini")
    assert "holds no finished runs of these suites yet" in run()
    assert "holds no finished runs of these suites yet" in (tmp_path / "results/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("changed", ["mix.penalty=0.5", "data.max_train=100"])
def test_a_first_run_that_changed_something_is_shown(run, store_record, tmp_path, changed):
    store_record(overrides=[changed])
    text = run("--suite", "open")
    assert "### All runs" in text
    assert ("on part of the data, as no run on the whole is there" in text) == changed.startswith("data")
    assert f"| elmo, {changed} |" in text
    assert "At a glance" not in text
    assert "No mark: not tested" not in text.partition("## How to read this")[0]
    assert "legend" not in (tmp_path / "results/index.html").read_text(encoding="utf-8").partition("<main")[2]


def test_the_page(run, store_record, make_record, tmp_path):
    for seed in (0, 1, 2):
        store_record(seed=seed, test=50.0 + seed)
        store_record(encoder="glove", seed=seed, test=40.0 + seed, layer_weights=[])
    store_record(weights="old", created="2025-01-01T00:00:00+00:00")
    store_record(suite="mini", test=99.0)
    failing = make_record(encoder="none", seed=4)
    write_failure(RunPaths.of(tmp_path / "runs", failing), {}, "Traceback\nValueError: `no`\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/DISCUSSION-open.md").write_text("It *shows* <b>much</b>.\n", encoding="utf-8")
    text = run()
    for part in (
        "Rendered from the ledger by `python -m elmo_bench report`;",
        "A processor, 2 threads, float32, torch 2.13.0, commit cccccccccc: 6 runs, 0.1 hours",
        "open is not the paper's data",
        "| tagging | 41.00 ± 1.00 | 51.00 ± 1.00 | f1    | 3,394 examples |",
        "+10.00 ± 0.00",
        "Data of tagging: 3,394 train, 1,009 dev, 1,287 test (fingerprint ffffffffffff); version 1 of the task.",
        "| tagging | elmo    | input | 2.00 ± 0.00 | 0.25 ± 0.00 | 0.50 ± 0.00 | 0.25 ± 0.00 |",
        "(seed 0) by",
        "changed: weights",
        f"open/tagging/none/{failing['hash']}/seed4.failed.json",
        "`ValueError: 'no'`",
        "### What the figures show\n\nIt *shows* <b>much</b>.",
        "Not tested: outcomes named correct, guessed: no formula of the score for these;",
    ):
        assert part in text
    page = (tmp_path / "results/index.html").read_text(encoding="utf-8")
    assert "<p>It <em>shows</em> &lt;b&gt;much&lt;/b&gt;.</p>" in page
    assert "ValueError: &#39;no&#39;" in page
    assert "99.00" not in text + page
    assert str(tmp_path) not in text + page


def test_the_same_ledger_gives_the_same_bytes_and_what_is_no_longer_shown_goes(run, tmp_path):
    for encoder in ("glove", "elmo"):
        add(tmp_path / "runs", "ner", encoder, 0)
        add(tmp_path / "runs", "ner", encoder, 0, train_fraction=0.1)
    run()
    first = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.*")}
    assert {path.suffix for path in first} == {".md", ".html", ".csv", ".tex", ".svg", ".png"}
    run()
    assert {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.*")} == first
    own = {tmp_path / "results" / name for name in ("figures/mine.png", "tables/mine.csv", "tables/linked.csv")}
    for path in own:
        path.write_text("a person's")
    (tmp_path / "results/DISCUSSION-open.md").write_text("See [mine](tables/linked.csv).")
    run()
    add(tmp_path / "runs", "ner", "elmo", 0, suite="mini")
    shutil.rmtree(tmp_path / "runs/open")
    run()
    left = {path.name for path in (tmp_path / "results").rglob("*.*")}
    assert left == {"README.md", "index.html", "DISCUSSION-open.md"} | {path.name for path in own}


def test_a_slip_of_the_pen_ends_in_one_line_and_leaves_the_page_alone(run, store_record, tmp_path):
    store_record()
    before = run()
    (tmp_path / "file").touch()
    for flags, said in (
        (["--ledger", str(tmp_path / "run")], "run: no such folder"),
        (["--ledger", str(tmp_path / "file")], "file: no such folder"),
        (["--ledger", str(tmp_path)], "no run in it; give the folder of the records"),
        (["--suite", "open", "opne"], "--suite opne: no run in .*, which has open$"),
        (["--out", str(tmp_path / "file")], "file: cannot be a folder"),
        (["--out", str(tmp_path / "file" / "below")], "below: cannot be a folder"),
    ):
        with pytest.raises(UserError, match=said):
            run(*flags)
    (tmp_path / "results/DISCUSSION-open.md").write_bytes("naïve".encode("latin-1"))
    with pytest.raises(UserError, match=r"DISCUSSION-open.md:1: not UTF-8"):
        run()
    assert (tmp_path / "results/README.md").read_text(encoding="utf-8") == before


def test_a_discussion_stands_under_its_suite_and_no_other(run, store_record, tmp_path):
    for suite in ("mini", "open"):
        store_record(suite=suite)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/DISCUSSION-open.md").write_text("Of open.\n", encoding="utf-8")
    page = tmp_path / "results/index.html"
    for flags, shown in ((["mini"], False), (["mini", "open"], True)):
        for text in (run("--suite", *flags), page.read_text(encoding="utf-8")):
            assert ("Of open." in text) == ("What the figures show" in text) == shown
            assert not shown or text.index("Suite mini") < text.index("Suite open") < text.index("Of open.")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # wandb's own
def test_tables_and_figures_go_to_wandb_offline(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "w"))
    (tmp_path / "w").mkdir()
    for encoder in ("glove", "elmo"):
        add(tmp_path / "runs", "ner", encoder, 0)
    run("--wandb", "a-project")
    [folder] = (tmp_path / "w").glob("wandb/offline-run-*")
    kept = {path.name.partition("_")[0] for path in folder.rglob("media/*/*")}
    assert kept == {"open-glance", "open-gains", "open-ner-runs", "open-figure2", "figure open-gains"} | {
        "figure open-figure2-elmo"
    }
    assert f"wandb: {folder}" in capsys.readouterr().out


def test_mini_only_when_asked_for(run, store_record):
    store_record(suite="mini", test=99.0)
    assert "99.00" not in run()
    text = run("--suite", "mini")
    assert "99.00" in text
    assert "`python -m elmo_bench report --suite mini`" in text


def test_rows_on_other_data_are_kept_apart_unless_asked_and_then_labelled(run, store_record, capsys):
    store_record()
    store_record(
        encoder="glove", data={"fingerprint": "0" * 64, "counts": {"train": 10, "dev": 2, "test": 3}, "note": "cut"}
    )
    text = run()
    assert "--unlike puts them together" in capsys.readouterr().err
    assert "| tagging, 3,394 examples |" in text
    assert "| tagging, 10 examples    |" in text
    assert "+10.00" not in text
    text = run("--unlike")
    assert "`python -m elmo_bench report --unlike`" in text
    assert (
        "not the same for all rows: 10 train, 2 dev, 3 test (fingerprint 000000000000; cut): glove, 10 examples" in text
    )
    assert "+10.00" not in text  # nothing is held against what is unlike it


def test_json(tmp_path, capsys):
    runs = tmp_path / "runs"
    for seed in (0, 1, 2):
        add(runs, "snli", "glove", seed)
        add(runs, "snli", "elmo", seed)
    assert report.main(["--ledger", str(runs), "--json", "--out", str(tmp_path / "no")]) == 0
    elmo, glove = json.loads(capsys.readouterr().out)
    assert (elmo["encoder"], elmo["test"]["n"], elmo["seeds"]) == ("elmo", 3, [0, 1, 2])
    against = elmo["against"]
    assert against["mean"] == pytest.approx(elmo["test"]["mean"] - glove["test"]["mean"])
    for summary in (against, elmo["test"], glove["dev"]):
        assert summary["interval"][0] < summary["mean"] < summary["interval"][1]
    assert (against["label"], against["items"], against["test"]) == ("glove", 3000, "approximate randomisation")
    assert (against["verdict"], against["p"], against["untested"]) == ("ahead", against["p_holm"], None)
    assert glove["against"] is None
    assert not (tmp_path / "no").exists()


def test_json_says_why_a_gain_was_not_tested(tmp_path, capsys):
    runs = tmp_path / "runs"
    paths = [RunPaths.of(runs, add(runs, "snli", encoder, 0)) for encoder in ("glove", "elmo")]
    paths[1].outcomes.unlink()
    assert report.main(["--ledger", str(runs), "--json"]) == 0
    against = next(row["against"] for row in json.loads(capsys.readouterr().out) if row["encoder"] == "elmo")
    assert (against["p"], against["verdict"]) == (None, None)
    assert "seed0.npz" in against["untested"]


def test_a_damaged_record_ends_in_one_line_and_leaves_the_page_alone(run, store_record, tmp_path):
    paths = store_record()
    before = run()
    paths.record.write_text("{")
    with pytest.raises(UserError, match="overwrite=true"):
        run()
    assert (tmp_path / "results/README.md").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("command", ["report", "clean"])
@pytest.mark.parametrize("flags", [["--help"], []])
def test_without_torch(store_record, tmp_path, command, flags):
    store_record()
    arguments = [command, *(flags or ["--ledger", str(tmp_path / "runs")])]
    arguments += ["--out", str(tmp_path / "results")] if command == "report" and not flags else []
    code = (
        "import sys\nfrom elmo_bench.__main__ import main\n"
        f"try:\n    assert main({arguments!r}) == 0\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'torch', 'pytorch_lightning', 'hydra', 'omegaconf'} & sys.modules.keys()\n"
        "ours = [name for name in sys.modules if name.startswith(('elmo_bench.', 'tasks'))]\n"
        "allowed = ('__main__', 'errors', 'files', 'notes', 'progress', 'ledger', 'reporting', 'commands')\n"
        "strangers = [name for name in ours if name.split('.')[1:2] and name.split('.')[1] not in allowed]\n"
        "assert not heavy and not strangers, (heavy, strangers)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
