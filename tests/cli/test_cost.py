"""`elmo-bench cost`: figures of an encoder, and what is refused before one starts."""

import json
import os

import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.json import digest
from elmo_bench.cli import cost
from elmo_bench.cli.cost import BATCHES, PASSES, measure, sample_sentences
from elmo_bench.ledger.costs import encoder_part, read_costs
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import GOLDEN, printed_folder

TINY = ("encoder=elmo_only", f"encoder.weights={GOLDEN}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["encoder=glove", "seed=1"], "seed=1: not an option of an encoder"),
        (["glove"], "glove: not an option of an encoder"),
        (["encoder=glov"], "unknown encoder"),
        (["encoder=glove", "device=tpu"], "device=tpu: no such device"),
        (["encoder=elmo", "encoder.contextual.tune=full"], "tune=full: cost is for frozen encoders"),
        (["encoder=glove,none"], "encoder=none: has no frozen vectors. Choose another encoder."),
        (["encoder=glove,tfidf"], "encoder=tfidf: has no frozen vectors. Choose another encoder."),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_measured(refused, tmp_path, arguments, said):
    assert said in refused("cost", *arguments, "--out", str(tmp_path / "costs"))
    assert not (tmp_path / "costs").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(refused, monkeypatch):
    monkeypatch.delattr(cost, "_in_own_process")
    assert "--out /proc/no: cannot be made (" in refused("cost", "encoder=glove", "--out", "/proc/no")


def test_the_sentences_are_the_same_everywhere():
    """Costs of different text are not comparable, so a change here makes every measurement stale."""
    assert digest(sample_sentences(640))[:12] == "36b3034c0c44"
    assert sample_sentences(9) == sample_sentences(20)[:9]


def test_the_file_has_the_figures_of_its_processes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cost, "LEAST", 0)  # short: the figures are not looked at
    monkeypatch.setattr(cost, "PASSAGE", 4)
    out, child = tmp_path / "costs", measure(TINY)
    monkeypatch.setattr(cost, "_in_own_process", lambda options: child if options == [*TINY] else None)
    assert main(["cost", *TINY, "--out", str(out)]) == 0
    assert capsys.readouterr().out.count("| elmo_only ") == 1
    [found], problems = read_costs(out)
    assert problems == []
    assert found.settings == encoder_part(RunSpec.of(compose("config", [*TINY])).settings)
    assert (found.environment.threads, found.environment.device) == (1, "cpu")
    assert [(int(size), len(each)) for size, each in found.tokens_per_second.items()] == [
        (size, PASSES) for size in BATCHES
    ]
    assert found.load_seconds > 0 and 1 < found.memory_mib < 2000
    assert str(GOLDEN.parent) not in json.dumps(found.to_json())  # no path of this machine


@pytest.mark.slow
def test_a_child_that_fails_ends_in_its_own_words(refused, tmp_path):
    words = ("cost", "encoder=hf", f"encoder.name={tmp_path}", "--out", tmp_path / "costs")
    assert "no config.json there" in refused(*words)


@pytest.mark.slow
@pytest.mark.usefixtures("forgotten")
def test_an_encoder_of_an_included_folder_is_measured_in_its_own_process(tmp_path, capfd):
    printed_folder(tmp_path)
    assert main(["--include", str(tmp_path), "cost", "encoder=length", "--out", str(tmp_path / "costs")]) == 0
    assert "| length " in capfd.readouterr().out
    [found], problems = read_costs(tmp_path / "costs")
    assert (found.encoder, problems) == ("length", [])


def die(*_):
    os._exit(1)


@pytest.mark.slow
def test_a_child_that_dies_is_one_line(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "measure", die)
    line = refused("cost", "encoder=glove", "--out", tmp_path / "costs")
    assert line == "elmo-bench cost: encoder=glove: the measuring process was ended. Is there enough memory?"
    assert not (tmp_path / "costs").exists()
