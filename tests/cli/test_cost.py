"""`elmo-bench cost`: figures of real child processes, and what is refused before one starts."""

import json

import pytest

from elmo_bench.__main__ import main
from elmo_bench.base import include
from elmo_bench.cli import cost
from elmo_bench.cli.cost import BATCHES, SENTENCES, measure
from elmo_bench.encoders.static import path_of
from elmo_bench.ledger.costs import encoder_key, encoder_part, read_costs
from elmo_bench.runner.prepare import load_frozen
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec, Setup
from tests.runs import GOLDEN

TINY = ("encoder=elmo_only", f"encoder.weights={GOLDEN}")


def refused(capsys, *arguments):
    code = main(["cost", *arguments])
    captured = capsys.readouterr()
    assert code == 2 and captured.out == "" and captured.err.count("\n") == 1
    return captured.err


def test_what_has_nothing_frozen_is_refused_in_one_line(capsys, tmp_path):
    for encoders in ("none", "glove,none"):
        error = refused(capsys, f"encoder={encoders}", "--out", str(tmp_path / "costs"))
        assert error == "elmo-bench cost: encoder=none: has no frozen vectors. Choose another encoder.\n"
    assert not (tmp_path / "costs").exists()  # nothing was measured before the refusal


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["encoder=glove", "seed=1"], "seed=1: not an option of an encoder"),
        (["glove"], "glove: not an option of an encoder"),
        (["encoder=glov"], "unknown encoder"),
        (["encoder=glove", "device=tpu"], "device=tpu: no such device"),
    ],
)
def test_a_mistake_is_one_line(capsys, arguments, said):
    assert said in refused(capsys, *arguments)


def test_the_file_has_the_figures_of_its_processes(tmp_path, capsys, monkeypatch):
    out, child = tmp_path / "costs", cost._round([*TINY])
    monkeypatch.setattr(cost, "_round", lambda options: child if options == [*TINY] else None)
    assert main(["cost", *TINY, "--out", str(out)]) == 0
    assert capsys.readouterr().out.count("| elmo_only ") == 1
    [found], problems = read_costs(out)
    assert problems == []
    assert found["settings"] == encoder_part(RunSpec.of(compose("config", [*TINY])).settings)
    assert len(found["rounds"]) == 3 and found["machine"]["threads"] == 1 and found["machine"]["device"] == "cpu"
    for each in found["rounds"]:
        assert [*map(int, each["tokens_per_second"])] == [*BATCHES]
        assert each["load_seconds"] > 0 and 1 < each["memory_mib"] < 2000
    assert found["stored_bytes"] == sum((GOLDEN / name).stat().st_size for name in ("options.json", "weights.hdf5"))
    assert (found["text"]["name"], found["text"]["sentences"]) == ("sample", SENTENCES)
    assert str(GOLDEN.parent) not in json.dumps(found)  # no path of this machine


@pytest.fixture
def in_this_process(monkeypatch):
    """A round without a process, and short: speed, memory and load time say nothing, the rest is the same."""
    monkeypatch.setattr(cost, "LEAST", 0)
    return lambda options: measure(
        compose("config", options), [["a", "sentence", str(number)] for number in range(SENTENCES)]
    )


def test_several_encoders_in_a_row_have_the_identities_of_their_runs(tmp_path, capsys, monkeypatch, in_this_process):
    monkeypatch.setattr(cost, "_round", in_this_process)
    assert main(["cost", "encoder=glove,fasttext", "suite=open", "--out", str(tmp_path)]) == 0
    assert "| glove " in (table := capsys.readouterr().out) and "| fasttext " in table
    found = {each["encoder"]: each for each in read_costs(tmp_path)[0]}
    for name, vectors in (("glove", "glove-6b"), ("fasttext", "fasttext-mini")):
        config = compose("config", [f"encoder={name}", "task=snli", "suite=open", "trainer.threads=2"])
        contents = {"data": "d", **load_frozen(RunSpec.of(config), Setup.of(config), {"a"}).contents}
        own = RunSpec.of(config).with_contents(contents)
        assert encoder_key(found[name]["settings"], found[name]["contents"]) == encoder_key(own.settings, own.contents)
        assert found[name]["stored_bytes"] == path_of(vectors).stat().st_size
    assert found["fasttext"]["parameters"] == (40_000 + 50_000) * 96  # its card: words and n-gram buckets
    assert found["glove"]["parameters"] == 200_000 * 100


@pytest.mark.slow
def test_an_encoder_from_a_folder_outside_is_found_by_the_process(tmp_path, monkeypatch):
    (tmp_path / "encoders").mkdir()
    (tmp_path / "conf" / "encoder").mkdir(parents=True)
    (tmp_path / "encoders" / "length.py").write_text(
        "import torch\n\n\nclass Length:\n"
        "    checksum, layers, dim, parameters, device = 'length-1', 1, 1, 0, torch.device('cpu')\n\n"
        "    def encode(self, sentences):\n"
        "        return [torch.tensor([[[float(len(word))] for word in words]]) for words in sentences]\n\n\n"
        "def load():\n    return Length()\n"
    )
    (tmp_path / "conf" / "encoder" / "length.yaml").write_text(
        "{name: length, words: null, vectors: null, contextual: {kind: length, version: 1}}\n"
    )
    monkeypatch.setattr(include, "folders", [tmp_path])
    (tmp_path / "random.py").write_text("raise SystemExit('not the code of the parent')\n")
    monkeypatch.chdir(tmp_path)
    found = cost._round(["encoder=length"])
    assert found["contents"] == {"weights": "length-1"}
    assert (found["parameters"], found["stored_bytes"]) == (0, 0)


def test_a_child_that_fails_ends_in_its_own_words(capsys, tmp_path):
    error = refused(capsys, "encoder=hf", f"encoder.name={tmp_path}", "--out", str(tmp_path / "costs"))
    assert "no config.json there" in error
