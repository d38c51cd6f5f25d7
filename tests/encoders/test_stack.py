"""Several frozen encoders together: each has its own layers, mix and checksum; one encoder is the stack of one."""

import json

import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.encoders import elmo, hf
from elmo_bench.ledger import RunPaths
from elmo_bench.ledger.checks import check_record
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from elmo_bench.spec.settings import check_run, parts_of
from tests import heads
from tests.runs import GOLDEN, SMALL, VECTORS, first_ones
from tests.tiny_bert import BLOCKS, WIDTH

pytest.importorskip("transformers")
PARTS = ["elmo", "bert_mini"]


@pytest.fixture(scope="module")
def weights(tiny_bert):
    parts = "encoder.contextual.parts"
    return (f"{parts}.elmo.weights={GOLDEN}", f"{parts}.bert_mini.weights={tiny_bert}", "store=ram")


def run_stack(ledger, *options):
    record, skipped = run(compose("config", ["encoder=elmo_bert_mini", *SMALL, f"ledger={ledger}", *options]))
    assert not skipped
    return record


@pytest.mark.parametrize("place", first_ones(["both", "input", "output"], 1))
def test_the_head_sees_the_mix_of_each_encoder(weights, tiny_bert, place):
    built = heads.built("ner", "encoder=elmo_bert_mini", *weights, f"place={place}", "data.max_train=20")
    embedder = built.head.embedder.eval()
    with torch.no_grad():
        for number, mix in enumerate(embedder.mixes.values()):
            mix.gamma.fill_(number + 2.0)
            mix.scalars.copy_(torch.arange(float(len(mix.scalars))) * (number + 1) / 4)
    texts = [example.tokens for example in built.train[:5]]
    text = built.index(texts)
    alone = {"elmo": elmo.load(weights=str(GOLDEN)), "bert_mini": hf.load(weights=str(tiny_bert))}
    names = [name for name in embedder.mixes if name.startswith(("input", "output"))]
    places = ["input", "output"] if place == "both" else [place]
    assert names == [f"{each} {part}" for each in places for part in PARTS]
    seen = {"input": embedder(text), "output": embedder.output(text)}
    assert seen["output"].shape[2] == embedder.output_dim == (32 + WIDTH if "output" in places else 0)
    for each in places:
        ends = {"elmo": -32 - WIDTH, "bert_mini": -WIDTH}
        for part, encoder in alone.items():
            mix = embedder.mixes[f"{each} {part}"]
            shares = torch.softmax(mix.scalars.detach(), dim=0) * mix.gamma.detach()
            for row, layers in enumerate(encoder.encode(texts)):
                expected = (shares[:, None, None] * layers).sum(0)
                found = seen[each][row, : len(texts[row]), ends[part] :][:, : encoder.dim]
                torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)


@pytest.mark.slow
def test_a_record_names_weights_and_mixes_by_encoder_and_its_head_predicts(weights, tiny_bert, tmp_path, refused):
    record = run_stack(tmp_path / "runs", *weights)
    check_record(record)
    alone = {"elmo": elmo.load(weights=str(GOLDEN)), "bert_mini": hf.load(weights=str(tiny_bert))}
    checksums = {part: encoder.checksum for part, encoder in alone.items()}
    assert record.spec.contents["weights"] == checksums
    mixes = record.layer_weights[-1]
    depths = {name: len(mix.weights) for name, mix in mixes.items()}
    assert depths == {"input elmo": 3, "input bert_mini": BLOCKS + 1}
    assert mixes["input elmo"] != record.layer_weights[0]["input elmo"]
    settings = record.spec.settings
    assert settings["encoder.contextual.parts.bert_mini.weights"] == "tiny-bert"
    assert str(tiny_bert.parent) not in json.dumps(record.to_json())
    assert record.parameters.frozen > sum(encoder.parameters for encoder in alone.values())
    file = RunPaths.of(tmp_path / "runs", record).record
    (tmp_path / "text.conll").write_text("Anna O\nran O\n\n")
    given = ["predict", str(file), str(tmp_path / "text.conll"), str(tmp_path / "out.conll")]
    given += ["--overwrite", "--vectors", str(VECTORS), "--weights"]
    assert main([*given, f"elmo={GOLDEN},bert_mini={tiny_bert}"]) == 0
    assert len((tmp_path / "out.conll").read_text().split()) == 6
    for own in (f"elmo={GOLDEN}", f"x={GOLDEN}", str(GOLDEN)):  # weights that a record names are not opened
        said = refused(*given, own)
        assert "tiny-bert') are not published" in said or "Give PART=NAME of: elmo, bert_mini" in said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("+encoder.contextual.parts.x={weights: mini}", "parts.x: not the options of one encoder"),
        ("+encoder.contextual.parts.x={kind: stack}", "parts.x: not the options of one encoder"),
        ("encoder.contextual.parts.elmo.stateful=true", "add store=off"),
    ],
)
def test_a_stack_of_something_else_is_one_line(option, said):
    with pytest.raises(UserError, match=said):
        check_run(compose("config", ["encoder=elmo_bert_mini", option]))


@pytest.mark.parametrize("parts", [None, {}, [], "x", {"a b": {"kind": "elmo"}}, {"a": "elmo"}, {"a": {"kind": None}}])
def test_parts_without_names_or_kinds_are_refused(parts):
    with pytest.raises(UserError, match=r"^encoder\.contextual\.parts"):
        parts_of({"kind": "stack", "version": 1, "parts": parts})
