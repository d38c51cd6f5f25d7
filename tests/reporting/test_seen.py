"""Encoders whose own training had examples of a task are marked on it."""

import csv
import re

import pytest

from elmo_bench.__main__ import main
from elmo_bench.reporting.cards import card, trained_on
from elmo_bench.reporting.names import TRAINED_ON_THE_TASK
from elmo_bench.spec.conf_files import choices
from tests.reporting.frames import board_of, sections_of, texts
from tests.reporting.ledgers import fill, spec_of


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seen") / "runs"
    fill(folder, "ner snli", "glove elmo minilm", seeds=2)
    return folder


def test_the_tasks_that_a_yaml_names_exist_and_a_name_alone_tells_nothing():
    for encoder in ("minilm", "mpnet"):
        assert trained_on(spec_of("ner", encoder)) == {
            "snli": "277,230 tuples of SNLI and MultiNLI",
            "squad": "87,599 tuples of SQuAD 2.0",
        }
        assert set(trained_on(spec_of("ner", encoder))) <= set(choices("task"))
    assert trained_on(spec_of("ner", "elmo")) == trained_on(spec_of("ner", "mybert")) == {}


def test_tables_the_picture_and_the_entry_of_the_encoder_say_so(ledger):
    board = board_of(ledger)
    [suite] = board.suites.itertuples()
    others = {line["task"].split(" (")[0]: line["minilm − glove"] for line in texts(suite.others)}
    assert " ‡" in others["Inference"] and "‡" not in others["Named entities"]
    assert TRAINED_ON_THE_TASK in suite.others.notes and TRAINED_ON_THE_TASK not in suite.table1.notes
    [overview] = sections_of(board)["encoders"].tables
    lines = {line["encoder"]: line for line in texts(overview)}
    assert lines["minilm"]["Inference (snli)"].endswith("‡") and "‡" not in "".join(lines["elmo"].values())
    assert "‡" not in lines["minilm"]["Named entities (ner)"]
    assert lines["minilm"]["mean rank"].split()[1] == "‡"  # the rank counts inference, too
    seen = dict(zip(suite.encoders.name, suite.encoders.trained_on, strict=True))
    assert seen["minilm"].startswith("inference (277,230 tuples of SNLI and MultiNLI), question answering (")
    assert seen["elmo"] == ""


@pytest.mark.slow
def test_a_page_has_the_mark_its_meaning_and_the_data(ledger, tmp_path):
    assert main(["report", "--ledger", str(ledger), "--out", str(tmp_path)]) == 0
    page, text = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "README.md"))
    for said in (page, text):
        assert TRAINED_ON_THE_TASK.replace("'", "&#39;") in said or TRAINED_ON_THE_TASK in said
        assert "examples of" in said and "(277,230 tuples of SNLI and MultiNLI)" in said
    ranks = re.findall(r'id="encoder-(\w+)">.*?<dt>mean rank</dt><dd>[\d.]+( ‡|) \(', page, re.DOTALL)
    assert dict(ranks) == {"minilm": " ‡", "elmo": "", "glove": ""}
    assert "trained on examples of the task" in (tmp_path / "figures/open-gains.svg").read_text(encoding="utf-8")
    tables = {
        path.stem: list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        for path in tmp_path.glob("tables/*.csv")
    }
    [minilm] = [line for line in tables["open-encoders"] if line["encoder"] == "minilm"]
    assert (minilm["Inference (snli) seen"], "Named entities (ner) seen" in minilm) == ("‡", False)
    assert {line["encoder"]: line["mean rank seen"] for line in tables["open-encoders"]}["minilm"] == "‡"
    assert {line["minilm − glove seen"] for line in tables["open-others"]} == {"", "‡"}
    assert {line["verdict seen"] for line in tables["open-snli-runs"] if line["run"] == "minilm"} == {"‡"}
    assert not any(name.endswith("seen") for line in tables["open-ner-runs"] for name in line)
    assert r"\ddag{}" in (tmp_path / "tables/open-others.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoders", [("minilm", "glove"), ("elmo", "minilm"), ("minilm", "elmo", "glove")])
def test_compare_marks_either_side_and_says_why_once(ledger, capsys, encoders):
    assert main(["compare", *encoders, "--ledger", str(ledger)]) == 0
    said = capsys.readouterr().out
    rows = {line.split(" | ")[0].strip("| "): line for line in said.splitlines() if line.startswith("| ")}
    marked = "minilm" if len(encoders) == 3 else "snli"
    assert [name for name, line in rows.items() if "‡" in line] == [marked] and said.count(TRAINED_ON_THE_TASK) == 1


@pytest.mark.parametrize(
    ("weights", "path"), [("mini", "elmo_bench/weights/elmo-mini.md"), ("x" * 300, ""), ("../../README", "")]
)
def test_only_a_card_that_ships_is_named(weights, path):
    spec = spec_of("ner", "elmo", settings={"encoder.weights": weights})
    assert card(spec) == path
