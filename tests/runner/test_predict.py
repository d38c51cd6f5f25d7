"""`predict`: a kept head gives on a file what its run gave on the same text."""

import json

import pytest
from elmo_bench.runner.parts import read_data
from safetensors import safe_open
from safetensors.torch import save_file

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths
from elmo_bench.spec.config import compose
from elmo_bench.tasks.ner.data import Data
from tests.runs import GOLDEN, run_small


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The test split as a file of token and tag."""
    config = compose("config", ["task=ner"])
    path = tmp_path_factory.mktemp("text") / "test.conll"
    with path.open("w", encoding="utf-8") as file:
        for sentence in read_data(config, Data(**config.task.data))["test"]:
            file.writelines(f"{token} {tag}\n" for token, tag in zip(sentence.tokens, sentence.tags, strict=True))
            file.write("\n")
    return path


@pytest.mark.parametrize("encoder", ["none", "glove", "elmo", "elmo_only"])
def test_predictions_are_those_of_the_run(tmp_path, text, encoder, capsys):
    record = run_small(tmp_path, "predictions=true", encoder=encoder)
    paths = RunPaths.of(tmp_path, record)
    given = ["--weights", str(GOLDEN)] if encoder.startswith("elmo") else []
    assert main(["predict", str(paths.record), str(text), str(tmp_path / "out.conll"), *given]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/out.conll: 250 examples\n"
    assert (tmp_path / "out.conll").read_bytes() == (paths.work / "test.predictions.conll").read_bytes()
    assert main(["score", "ner", str(tmp_path / "out.conll"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["overall"] == pytest.approx(record["scores"]["test"]["overall"])
    new = tmp_path / "new.txt"
    new.write_text("Marvolo\nsailed\nto\nQuibbleton\n\nZzyzx\n", encoding="utf-8")
    assert main(["predict", str(paths.record), str(new), str(tmp_path / "new.conll"), *given]) == 0
    rows = [line.split() for line in (tmp_path / "new.conll").read_text(encoding="utf-8").splitlines()]
    assert [row[:2] for row in rows if row] == [
        ["Marvolo", "O"], ["sailed", "O"], ["to", "O"], ["Quibbleton", "O"], ["Zzyzx", "O"],
    ]  # fmt: skip


def test_mistakes_are_one_line(tmp_path, text, capsys):
    record = run_small(tmp_path)
    paths = RunPaths.of(tmp_path, record)
    capsys.readouterr()  # what the run said
    cases = [
        ([str(paths.record), str(text), "--weights", "mini"], "the head was trained with weights of checksum"),
        ([str(paths.record), str(tmp_path / "nothing.conll"), "--weights", str(GOLDEN)], "nothing.conll: no such file"),
        ([str(tmp_path / "no.json"), str(text)], "no.json"),
    ]
    for (record_file, file, *more), message in cases:
        assert main(["predict", record_file, file, str(tmp_path / "out"), *more]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
    kept = paths.work / "head.safetensors"
    with safe_open(kept, framework="pt") as file:
        save_file({f"once.{name}": file.get_tensor(name) for name in file.keys()}, kept, file.metadata())  # noqa: SIM118
    assert main(["predict", str(paths.record), str(text), str(tmp_path / "out"), "--weights", str(GOLDEN)]) == 2
    assert "kept by another version of this program, whose ner head has other parts" in capsys.readouterr().err
    kept.unlink()
    assert main(["predict", str(paths.record), str(text), str(tmp_path / "out")]) == 2
    assert "the head of this run is not here; run it again with overwrite=true" in capsys.readouterr().err
