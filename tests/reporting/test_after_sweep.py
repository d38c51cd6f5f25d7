"""The commands that a sweep prints at its end."""

import shlex
from pathlib import Path

import pytest

from elmo_bench.cli.compare import main as compare
from elmo_bench.ledger import RunPaths, score_of
from elmo_bench.ledger.record import Refit
from elmo_bench.reporting.after_sweep import after_sweep, best_on_dev
from elmo_bench.reporting.endings import ending
from elmo_bench.runner.named_parts import flags_to_give
from elmo_bench.spec.sweeps import LEDGER
from tests.reporting.ledgers import add


def commands(records, ledger=LEDGER):
    return [shlex.join(words) for words, _ in after_sweep(records, ledger, flags_to_give)]


def test_a_sweep_on_a_suite_is_followed_by_its_comparison_and_the_page(tmp_path):
    records = [add(tmp_path, "ner", encoder, seed) for encoder in ("glove", "elmo") for seed in (0, 1)]
    assert commands(records) == ["compare elmo glove --suite open", "report"]
    ledger = Path("mine/runs")
    assert commands(records, ledger) == [
        "compare elmo glove --suite open --ledger mine/runs", "report --ledger mine/runs"
    ]  # fmt: skip
    assert commands(records[:2]) == ["report"]
    assert commands([add(tmp_path, "ner", "elmo", 0, mix="last"), *records]) == ["report"]


def test_a_sweep_on_own_data_is_followed_by_the_use_of_the_best(tmp_path, capsys):
    made = [("tfidf", 0), ("glove", 0), ("glove", 1), ("elmo", 0), ("elmo", 1)]
    records = [add(tmp_path, "classification", encoder, seed, suite="reviews") for encoder, seed in made]
    first, second, third, fourth = commands(records, tmp_path)
    assert first == f"compare elmo glove tfidf --suite reviews --ledger {tmp_path}"
    assert compare(shlex.split(first)[1:]) == 0 and "mean rank" in capsys.readouterr().out
    assert second == f"report --ledger {tmp_path}"
    best = best_on_dev(records)
    assert third == f"predict {RunPaths.of(tmp_path, best).record} NEW.csv OUT.csv"
    means = {
        run: [score_of(record, "dev") for record in records if record.hash == run] for run in {r.hash for r in records}
    }
    assert fourth == f"predict {RunPaths.of(tmp_path, records[0]).record} NEW.csv OUT.csv"  # the floor
    assert len(commands(records[:1], tmp_path)) == 2
    assert best.seed == 0 and max(means, key=lambda run: sum(means[run]) / len(means[run])) == best.hash


@pytest.mark.parametrize(
    ("settings", "ending"),
    [
        ({"data.file": "mine.jsonl"}, "jsonl"),
        ({"data.file": None, "data.train": "a.tsv"}, "tsv"),
        ({"data.file": "mine.csv.gz"}, "csv"),
        ({"data.file": "FOLDER"}, "csv"),
    ],
)
def test_the_file_to_predict_has_the_form_of_the_file_that_was_read(tmp_path, settings, ending):
    made = [add(tmp_path, "classification", "glove", 0, suite="a", settings=settings)]
    assert commands(made, tmp_path)[-1].endswith(f" NEW.{ending} OUT.{ending}")


def test_of_equal_ones_on_dev_the_quickest_is_used_whatever_their_order(tmp_path):
    """As in the answer above the command (`advice`)."""
    slow, quick = (add(tmp_path, "classification", encoder, 0, suite="a") for encoder in ("glove", "elmo"))
    quick = quick.model_copy(update={"scores": slow.scores})
    cost = slow.cost.model_copy(update={"cpu_seconds": quick.cost.cpu_seconds + 60})
    slow = slow.model_copy(update={"cost": cost})
    assert {best_on_dev(records).hash for records in ([slow, quick], [quick, slow])} == {quick.hash}


def test_runs_selected_by_two_scores_have_a_best_each(tmp_path):
    """A higher macro-F1 is not better than a lower accuracy."""
    made = []
    for settings in ({}, {"task.metric": "macro_f1"}):
        for encoder, lift in (("tfidf", 0.0), ("elmo", 0.3)):
            made.append(add(tmp_path, "classification", encoder, 0, suite="a", settings=settings, lift=lift))
    use = [(words[1], about) for words, about in after_sweep(made, tmp_path, flags_to_give) if words[0] == "predict"]
    tfidf, elmo, macro_tfidf, macro_elmo = (str(RunPaths.of(tmp_path, record).record) for record in made)
    why = "if the answer above is to use it"
    assert use == [
        (elmo, "the best on dev (accuracy), in use; another system: its record"),
        (tfidf, f"the floor (accuracy), {why}"),
        (macro_elmo, "the best on dev (macro_f1), in use; another system: its record"),
        (macro_tfidf, f"the floor (macro_f1), {why}"),
    ]


def test_two_columns_of_labels_have_a_best_each(tmp_path):
    made = []
    for label, lift in (("tone", 0.0), ("topic", 0.3)):
        for encoder in ("tfidf", "elmo"):
            more = {"data": label, "settings": {"data.label": label}}
            made.append(add(tmp_path, "classification", encoder, 0, suite="a", lift=lift, **more))
    use = [(words[1], about) for words, about in after_sweep(made, tmp_path, flags_to_give) if words[0] == "predict"]
    for name, of_label in (("tone", made[:2]), ("topic", made[2:])):
        record = str(RunPaths.of(tmp_path, best_on_dev(of_label)).record)
        assert (record, f"the best on dev (data.label={name}), in use; another system: its record") in use


def test_fractions_of_the_data_have_a_best_together(tmp_path):
    made = [add(tmp_path, "classification", "elmo", 0, suite="a", train_fraction=part) for part in (0.1, 1)]
    assert [words[0] for words, _ in after_sweep(made, tmp_path, flags_to_give)].count("predict") == 1


def test_parts_without_a_published_name_are_given_to_predict(tmp_path):
    record = add(tmp_path, "classification", "glove", 0, suite="a", settings={"encoder.vectors": "mine.txt"})
    [*_, (command, _)] = after_sweep([record], tmp_path, flags_to_give)
    assert shlex.join(command).endswith(" NEW.csv OUT.csv --vectors PATH")
    refitted = record.model_copy(update={"refit": Refit(examples=9, epochs=1, cpu_seconds=1)})
    lines = [*ending(refitted, tmp_path, flags=flags_to_give)]
    assert any(" NEW.csv OUT.csv --vectors PATH " in line for line in lines)


def test_a_head_that_cannot_predict_is_not_offered(tmp_path):
    """tf32 needs a GPU, and prediction is on the CPU."""
    record = add(tmp_path, "classification", "elmo", 0, suite="a", settings={"encoder.precision": "tf32"})
    assert [words[0] for words, _ in after_sweep([record], tmp_path, flags_to_give)] == ["report"]
    refitted = record.model_copy(update={"refit": Refit(examples=9, epochs=1, cpu_seconds=1)})
    assert not any("predict " in line or "export " in line for line in ending(refitted, tmp_path, flags=flags_to_give))


@pytest.mark.parametrize("tasks", [["classification", "ner"], ["classification"]])
def test_two_data_sets_have_no_best(tmp_path, tasks):
    records = [add(tmp_path, "classification", "glove", 0, suite="a")]
    records += [add(tmp_path, task, "elmo", 0, suite="b") for task in tasks if task != "ner"]
    records += [add(tmp_path, task, "elmo", 0) for task in tasks if task == "ner"]
    assert commands(records) == ["report"]
