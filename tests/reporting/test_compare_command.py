"""`elmo-bench compare`: the tables of two and of several encoders on a made-up ledger."""

import re
import shutil
from contextlib import suppress
from statistics import fmean

import pytest

from elmo_bench.__main__ import main
from elmo_bench.cli import reproduced
from elmo_bench.ledger import RunPaths, read_all, read_outcomes, score_of, write_record
from elmo_bench.reporting.console import overviews
from elmo_bench.reporting.published import Published
from elmo_bench.reporting.significance import holm
from elmo_bench.spec.names import metric_of
from tests.ledger.records import changed
from tests.reporting.ledgers import add, fill
from tests.runs import first_rows


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger")
    fill(folder, "ner", "glove elmo", seeds=3)
    fill(folder, "sst5", "glove elmo")
    add(folder, "snli", "elmo", 0)
    return folder


def compare(ledger, capsys, *arguments):
    code = main(["compare", *arguments, "--ledger", str(ledger)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def cells(table, task):
    [row] = [line for line in table.splitlines() if line.startswith(f"| {task} ")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_every_task_with_runs_of_both_has_a_row(ledger, capsys):
    code, table, _ = compare(ledger, capsys, "elmo", "glove")
    ner = cells(table, "ner")
    assert code == 0 and ner[1] == "3 and 3" and ner[4] == "▲ ahead"
    low, high = map(float, ner[3].split(" … "))
    assert low < float(ner[2]) < high
    assert cells(table, "sst5")[4] == "not tested" and "Not tested: a single seed" in table
    assert "snli" not in table


def test_without_a_pair_one_line_names_the_encoders_that_there_are(ledger, capsys):
    code, _, error = compare(ledger, capsys, "elmo", "glov")
    assert code == 2 and error.count("\n") == 1
    assert error.strip().endswith("(did you mean 'glove'?). It has: elmo, glove.")


@pytest.mark.parametrize(
    ("order", "lift", "shown"),
    first_rows(
        [
            ("elmo glove", -0.015, ["▲ ahead", "= tie: p 0.059, adjusted for 3 tests"]),
            ("elmo glove", 0.0, ["▲ ahead"]),
            ("glove elmo", -0.015, ["▼ behind", "= tie: p 0.059, adjusted for 3 tests"]),
            ("elmo glove", -0.03, ["= tie"]),
        ],
        2,
    ),
)
def test_a_verdict_that_table_1_does_not_share_is_marked_in_its_row(tmp_path, capsys, order, lift, shown):
    """Table 1 adjusts for elmo_word too."""
    fill(tmp_path, "ner", "glove elmo_word", seeds=3)
    fill(tmp_path, "ner", "elmo", seeds=3, lift=lift)
    _, table, _ = compare(tmp_path, capsys, *order.split())
    assert cells(table, "ner")[4 : 4 + len(shown)] == shown
    assert ("in table 1" in table) == (len(shown) == 2)


def test_without_runs_of_table_1_no_row_is_marked(tmp_path, capsys):
    fill(tmp_path, "ner", "none random", seeds=3)
    _, table, _ = compare(tmp_path, capsys, "none", "random")
    assert "in table 1" not in table


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ELMo", "ELMo: no runs in"),
        ("ELMo", "(did you mean 'elmo'?)"),
        ("GloVe", "(did you mean 'glove'?)"),
        ("bert", "bert: no runs in"),
        ("some/where/bert", "bert: no runs in"),
    ],
)
def test_a_name_without_runs_is_refused_before_a_record_is_read(ledger, refused, monkeypatch, name, said):
    monkeypatch.setattr("elmo_bench.cli.compare.read_all", None)
    assert said in refused("compare", "elmo", name, "--ledger", ledger)


def test_several_have_ranks(tmp_path, capsys):
    fill(tmp_path, "ner snli", "none glove", seeds=3)
    fill(tmp_path, "ner snli", "elmo", seeds=3, lift=0.1)
    add(tmp_path, "sst5", "elmo", 0)
    code, table, _ = compare(tmp_path, capsys, "elmo", "glove", "none")
    assert code == 0 and "sst5" not in table
    assert cells(table, "encoder")[1:] == ["snli", "ner", "mean rank", "95 % interval"]
    elmo, none = cells(table, "elmo"), cells(table, "none")
    assert elmo[3:] == ["1.00", "1.00 to 1.00"] and none[3] == "3.00"
    assert [line.split()[1] for line in table.splitlines() if line.startswith("|")][2:] == ["elmo", "glove", "none"]


def test_each_label_column_of_a_file_is_a_task_and_a_task_has_its_newest_version(tmp_path, capsys):
    for label in ("tone", "topic"):
        fill(
            tmp_path, "classification", "glove elmo", seeds=3, suite="open", data=label, settings={"data.label": label}
        )
    fill(tmp_path, "ner", "glove elmo", created="2025-01-01T00:00:00+00:00", version=1)
    fill(tmp_path, "ner", "glove elmo", seeds=3)
    _, said, _ = compare(tmp_path, capsys, "elmo", "glove")
    assert [line.split(" | ")[0].strip("| ") for line in said.splitlines() if line.startswith("| ")][2:] == [
        "ner", "classification, data.label=tone", "classification, data.label=topic",
    ]  # fmt: skip
    assert cells(said, "ner")[1] == "3 and 3"


@pytest.mark.slow
def test_runs_selected_by_macro_f1_are_tested_by_it_and_stand_apart_from_those_by_accuracy(tmp_path, capsys):
    fill(tmp_path, "classification", "glove elmo", seeds=3, suite="reviews")
    fill(tmp_path, "classification", "glove elmo", seeds=3, suite="reviews", settings={"task.metric": "macro_f1"})
    assert main(["check", str(tmp_path)]) == 0
    _, said, _ = compare(tmp_path, capsys, "elmo", "glove")
    assert "classification, metric=macro_f1: F1 of each label on test" in said
    assert "task.metric=f1: an option of runs." in compare(tmp_path, capsys, "elmo", "glove", "task.metric=f1")[2]
    by_accuracy, by_macro = (cells(said, f"classification, metric={name}") for name in ("accuracy", "macro_f1"))
    runs = read_all(tmp_path, metrics=metric_of).records
    for (_, _, gain, interval, *_), name in ((by_accuracy, "accuracy"), (by_macro, "macro_f1")):
        scores = {
            encoder: fmean(score_of(run, "test") for run in runs if (run.spec.encoder, run.metric) == (encoder, name))
            for encoder in ("elmo", "glove")
        }
        assert float(gain.replace("−", "-")) == pytest.approx(scores["elmo"] - scores["glove"], abs=0.005)
        assert " … " in interval
        assert f"\nclassification, metric={name}: Use " in said
    for table in overviews(runs, tmp_path):
        assert "\nclassification, metric=macro_f1: Use " in table
    assert main(["report", "--ledger", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "metric=macro_f1" in page and " 0 superseded" in capsys.readouterr().out


@pytest.mark.parametrize("encoders", ["elmo glove", "elmo glove none"])
def test_of_runs_that_name_a_column_and_that_guess_it_the_newest_are_compared(tmp_path, capsys, encoders):
    """They have the same examples."""
    guessed, named = ({"suite": "reviews", "settings": columns} for columns in ({}, {"data.label": "label"}))
    fill(tmp_path, "classification", "glove tfidf", created="2025-01-01T00:00:00+00:00", lift=0.4, **guessed)
    fill(tmp_path, "classification", f"{encoders} tfidf", seeds=2, **named)
    code, said, error = compare(tmp_path, capsys, *encoders.split())
    assert code == 0 and "\n\nUse tfidf until more data show a gain: elmo is best on dev" in said
    assert error == (
        "elmo-bench compare: classification, glove: older runs on the same examples, with other options of how to "
        "read data, are left out.\n"
    )
    shutil.rmtree(tmp_path / "reviews")
    fill(tmp_path, "classification", f"{encoders} tfidf", seeds=2, **named)
    assert compare(tmp_path, capsys, *encoders.split()) == (0, said, "")


@pytest.mark.usefixtures("undrawn")
def test_data_of_ones_own_are_said_to_be_enough_or_how_many_more_are_needed(tmp_path, capsys):
    fill(tmp_path, "classification", "glove elmo", seeds=3, suite="reviews")
    _, said, _ = compare(tmp_path, capsys, "elmo", "glove")
    assert "suite reviews, size cpu" in said
    [line] = [line for line in said.splitlines() if " independent test items and these seeds, " in line]
    assert re.search(r"For 2 points, [\d.,]+ times as many seeds and about [\d,]+ items would be needed\.$", line)
    assert main(["report", "--ledger", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "\n## Your data: reviews\n" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_p_of_two_tasks_is_adjusted_for_both(tmp_path, capsys):
    for task, lift in (("ner", -0.04), ("sst5", -0.04)):
        fill(tmp_path, task, "glove", seeds=3)
        fill(tmp_path, task, "elmo", seeds=3, lift=lift)
    _, table, _ = compare(tmp_path, capsys, "elmo", "glove")
    adjusted = [float(cells(table, task)[5]) for task in ("ner", "sst5")]
    alone = []
    for task in ("ner", "sst5"):
        fill(tmp_path / task, task, "glove", seeds=3)
        fill(tmp_path / task, task, "elmo", seeds=3, lift=-0.04)
        alone.append(float(cells(compare(tmp_path / task, capsys, "elmo", "glove")[1], task)[5]))
    assert adjusted == pytest.approx(holm(alone), abs=0.002) and adjusted != alone


def test_runs_that_change_an_option_are_not_compared(tmp_path, capsys):
    for encoder in ("elmo", "glove"):
        add(tmp_path, "ner", encoder, 0, settings={"task.training.epochs": 1})
    code, _, error = compare(tmp_path, capsys, "elmo", "glove")
    assert code == 2 and "no run to compare. Runs that change an option are left out." in error


def test_the_one_suite_and_size_of_the_ledger_are_taken_and_several_are_named(tmp_path, capsys):
    fill(tmp_path, "ner", "glove elmo", suite="paper", size="paper")
    code, table, _ = compare(tmp_path, capsys, "elmo", "glove")
    assert code == 0 and "suite paper, size paper:" in table
    add(tmp_path, "ner", "glove", 0)
    code, _, error = compare(tmp_path, capsys, "elmo", "glove")
    assert code == 2 and error.count("\n") == 1 and "has runs of --suite open and paper" in error
    assert compare(tmp_path, capsys, "elmo", "glove", "--suite", "paper")[0] == 0


@pytest.mark.usefixtures("undrawn")
def test_a_copy_with_other_losses_and_another_attempt_is_no_second_seed(tmp_path, capsys):
    """A single run of each becomes two: no test, one line, and exit code 1. `check` names the copy and the original."""
    for encoder in ("glove", "elmo"):
        record = add(tmp_path, "ner", encoder, 0)
        first = RunPaths.of(tmp_path, record)
        curves = {"dev": record.curves.dev[:3], "steps": [7] * 3, "train_loss": [3.0, 2.0, 1.5]}
        other = {"seed": 1, "attempt": f"{record.hash:f<32}", "created": "2026-03-04T05:06:07+00:00"}
        record = changed(record, other | {"curves": curves, "epochs/run": 3})
        write_record(copy := RunPaths.of(tmp_path, record), record, read_outcomes(first))
    code, table, error = compare(tmp_path, capsys, "elmo", "glove")
    row = cells(table, "ner")
    assert (code, row[1], row[3]) == (1, "1 and 1", "not tested") and "Not tested: a single seed" in table
    assert f"{copy.record}: the same outcomes as seed 0 of {record.hash}, so one of the two is a copy" in error
    for path in (first.record, copy.record):
        assert main(["check", str(path)]) == 1
        assert re.search(rf"WRONG ({copy.record}: )?the same outcomes as seed 0", capsys.readouterr().out)
    assert main(["report", "--ledger", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "the same outcomes as seed 0" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["task.training.epochs=64", "glove"])
def test_only_changes_of_the_encoder_are_taken(tmp_path, capsys, change):
    fill(tmp_path, "ner", "glove elmo")
    code, _, error = compare(tmp_path, capsys, "glove", "--encoder", "elmo", change)
    assert code == 2 and f"--encoder elmo {change}: takes encoder.KEY=VALUE and head=NAME alone" in error


def test_an_encoder_with_changes_is_given_word_by_word(tmp_path, capsys):
    fill(tmp_path, "ner", "glove", seeds=2)
    changed = {"encoder.contextual.stateful": True, "encoder.precision": "float16"}
    fill(tmp_path, "ner", "elmo", seeds=2, settings=changed)
    options = ["--encoder", "elmo", "encoder.precision=float16", "encoder.contextual.stateful=true"]
    code, table, error = compare(tmp_path, capsys, "glove", *options)
    label = "elmo, encoder.contextual.stateful=true, encoder.precision=float16"
    assert code == 0, error
    assert f"test scores of glove minus {label}," in table
    assert "p (Holm): adjusted for the test above." in table


def test_heads_and_floors_are_compared_as_encoders_are(tmp_path, capsys):
    """A floor has one run, which counts as all of its seeds."""
    fill(tmp_path, "classification", "tfidf", suite="mine")
    fill(tmp_path, "classification", "glove", seeds=2, suite="mine")
    fill(tmp_path, "classification", "glove", seeds=2, suite="mine", head="linear")
    code, table, error = compare(tmp_path, capsys, "tfidf", "--encoder", "glove", "head=linear")
    assert code == 0, error
    assert "test scores of tfidf minus glove, head=linear, suite mine" in table
    assert "not tested" not in table
    code, table, error = compare(tmp_path, capsys, "tfidf", "glove", "--encoder", "glove", "head=linear")
    assert code == 0, error
    assert re.search(r"(?m)^\| glove, head=linear +\|", table)


def test_the_answer_depends_on_a_floor_that_is_not_named(tmp_path, capsys):
    """Else two encoders would get another answer than the sweep that made them."""
    fill(tmp_path, "classification", "elmo glove", seeds=3, suite="mine", lift=0.1)
    assert "\n\nUse elmo, which is best on dev." in compare(tmp_path, capsys, "elmo", "glove")[1]
    add(tmp_path, "classification", "tfidf", 0, suite="mine", lift=0.15)
    add(tmp_path, "classification", "tfidf", 0, suite="mine", lift=0.5, data="other")
    named = compare(tmp_path, capsys, "elmo", "glove", "tfidf")[1]
    code, said, _ = compare(tmp_path, capsys, "elmo", "glove")
    answer = "Use tfidf until more data show a gain: elmo is best on dev, but not shown to be better than this floor ("
    assert code == 0 and "| tfidf" not in said
    note = "The table is adjusted for the tests that it has, an answer below for its own:"
    assert note in said and note not in named
    assert said.splitlines()[-1].startswith(answer) and named.splitlines()[-1].startswith(answer)


def test_in_a_narrow_terminal_cells_have_several_lines(ledger, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, table, _ = compare(ledger, capsys, "elmo", "glove")
    lines = [line for line in table.splitlines() if line.startswith("|")]
    assert len(lines) > 4 and max(map(len, lines)) <= 70


@pytest.mark.parametrize("command", ["report", "compare", "cost", "status", "verify"])
def test_help_fits_a_narrow_terminal(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "64")
    with suppress(SystemExit):
        main([command, "--help"])
    longest = max(capsys.readouterr().out.splitlines(), key=len)
    assert len(longest) <= 64 or " " not in longest.strip()


def publish(monkeypatch, *records, off=0.0, sd=0.5):
    """`published` has these runs, `off` points higher, on another processor."""
    rows = {}
    for record in records:
        score = record.scores.test.overall[record.metric] + off
        seeds = {str(seed): {"test": score, "dev": score, "processor": "another"} for seed in range(3)}
        spec = record.spec
        row = Published("open", spec.task, spec.encoder, "cpu", record.hash, "", "d", score, sd, 1.0, seeds)
        rows[record.hash] = row
    monkeypatch.setattr(reproduced, "published", lambda: rows)


def test_runs_are_compared_with_the_published_ones(tmp_path, capsys, monkeypatch):
    records = [add(tmp_path, "ner", "elmo", 0), add(tmp_path, "sst5", "glove", 0)]
    add(tmp_path, "ner", "glove", 0)
    publish(monkeypatch, *records, off=1.2)
    code, said, _ = compare(tmp_path, capsys, "--published")
    score = records[0].scores.test.overall["f1"]
    assert code == 0
    assert cells(said, "ner") == ["ner", "elmo", "1", f"{score:.2f}", f"{score + 1.2:.2f} ± 0.50 (3 seeds)", "1 of 1"]
    assert "1 run with other settings or data: not published." in said
    publish(monkeypatch, *records, off=5.8)
    code, said, _ = compare(tmp_path, capsys, "--published")
    assert code == 1 and cells(said, "sst5")[-1] == "0 of 1"
    assert "ner elmo, seed 0: not reproduced: 5.80 from the published mean" in said
    publish(monkeypatch, records[0], sd=None)
    code, said, _ = compare(tmp_path, capsys, "--published")
    assert code == 1 and cells(said, "ner")[-1] == "" and "seed 0: not comparable" in said
    for more in (["elmo"], ["--size", "cpu"]):
        _, _, error = compare(tmp_path, capsys, "--published", *more)
        assert "Name no encoder and no --size." in error
    publish(monkeypatch, *records)
    assert compare(tmp_path, capsys, "--published")[0] == 0
    damaged = tmp_path / "open" / "ner" / "glove" / "0123456789ab"
    damaged.mkdir()
    (damaged / "seed0.json").write_text("{")
    assert compare(tmp_path, capsys, "--published")[0] == 1
    publish(monkeypatch)
    code, _, error = compare(tmp_path, capsys, "--published")
    assert code == 2 and "no run in it is a published one" in error
    code, _, error = compare(tmp_path, capsys, "--published", "--suite", "opn")
    assert code == 2 and f"--suite opn: no run in {tmp_path}, which has open" in error


def test_encoders_without_runs_of_their_own_are_named_as_the_command_takes_others(tmp_path, capsys):
    add(tmp_path, "classification", "tfidf", 0, suite="reviews")
    for seed in (0, 1):
        add(tmp_path, "classification", "elmo", seed, suite="reviews", head="linear")
    code, _, error = compare(tmp_path, capsys, "tfidf", "elmo")
    assert code == 2
    found = re.search(r"as they are given: (--encoder elmo head=linear), (tfidf)\.", error)
    code, said, _ = compare(tmp_path, capsys, found[2], *found[1].split())
    assert code == 0 and "test scores of tfidf minus elmo, head=linear" in said
