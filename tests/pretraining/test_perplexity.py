"""`evaluate`: perplexity by its definition, from the encoder's own layers and a plain cross-entropy."""

import json
import lzma
import math
import random
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.softmax_files import softmax_of
from elmo_bench.pretraining.network import load_language_model
from tests.runs import GOLDEN

WORDS = ["<S>", "</S>", "<UNK>", "the", ".", "of", "naïve", *(f"w{number}" for number in range(2993))]
PROJECTION = json.loads((GOLDEN / "options.json").read_text())["lstm"]["projection_dim"]


@pytest.fixture
def folder(tmp_path):
    """A folder of the golden weights and a softmax of 3,000 words, in half precision."""
    folder = shutil.copytree(GOLDEN, tmp_path / "my-elmo")
    torch.manual_seed(0)
    softmax = {"weight": 0.1 * torch.randn(len(WORDS), PROJECTION), "bias": torch.randn(len(WORDS))}
    save_file({name: tensor.half() for name, tensor in softmax.items()}, folder / "softmax.safetensors")
    (folder / "vocabulary.txt").write_text("".join(f"{word}\t1\n" for word in WORDS), encoding="utf-8")
    return folder


@pytest.fixture
def text(tmp_path):
    draw = random.Random(0)
    lines = [" ".join(draw.choices([*WORDS[3:200], "unseen", "words"], k=draw.randint(1, 30))) for _ in range(160)]
    path = tmp_path / "heldout.txt.xz"
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join([*lines[:20], "", *lines[20:]]) + "\n")
    return path, [line.split() for line in lines]


def expected(folder, sentences):
    """By the definition: the top layer of each sentence with its markers, and a cross-entropy over all words."""
    softmax = {name: tensor.double() for name, tensor in load_file(folder / "softmax.safetensors").items()}
    found: dict = {"forward": [], "backward": []}
    for sentence, layers in zip(
        sentences, ElmoEncoder(weights=str(folder)).encode(sentences, markers=True), strict=True
    ):
        forward, backward = layers[-1].double().chunk(2, dim=1)
        row = torch.tensor([WORDS.index(word) if word in WORDS else 2 for word in ["<S>", *sentence, "</S>"]])
        for name, top, targets in (("forward", forward[:-1], row[1:]), ("backward", backward[1:], row[:-1])):
            losses = functional.cross_entropy(top @ softmax["weight"].T + softmax["bias"], targets, reduction="none")
            found[name] += zip(losses.tolist(), targets.tolist(), strict=True)
    means = {name: sum(loss for loss, _ in pairs) / len(pairs) for name, pairs in found.items()}
    known = [[loss for loss, target in pairs if target != 2] for pairs in found.values()]
    return {
        **{name: math.exp(mean) for name, mean in means.items()},
        "average": math.exp(sum(means.values()) / 2),
        "average_without_unknown": math.exp(sum(sum(some) / len(some) for some in known) / 2),
        "unknown_percent": 100 * (1 - len(known[0]) / len(found["forward"])),
        "targets": len(found["forward"]),
        "sentences": len(sentences),
        "words": len(WORDS),
    }


def test_figures_are_those_of_the_definition(folder, text, capsys):
    assert main(["evaluate", f"weights={folder}", f"corpus={text[0]}", "format=json", "threads=1"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = expected(folder, text[1])
    assert wanted["targets"] > 2048  # several batches
    assert wanted["unknown_percent"] > 0
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-5)
    assert main(["evaluate", f"weights={folder}", f"corpus={text[0]}", "threads=1"]) == 0
    said = capsys.readouterr().out
    assert f"160 sentences, {wanted['targets']:,} targets in each direction, softmax of 3,000 words" in said
    assert f"average   {wanted['average']:13.2f}   {wanted['average_without_unknown']:13.2f}" in said
    assert f"<UNK> is {wanted['unknown_percent']:.2f} % of the targets" in said


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [("weights.hdf5", "vocabulary.txt.xz"), ("x-weights.hdf5", "x-vocabulary.txt.gz"), ("any.hdf5", "vocabulary.txt")],
)
def test_softmax_and_vocabulary_are_found_beside_the_weights(tmp_path, name, vocabulary):
    softmax = vocabulary.partition("vocabulary")[0] + "softmax.safetensors"
    assert softmax_of(tmp_path / name) is None
    (tmp_path / softmax).touch()
    with pytest.raises(UserError, match=r"its vocabulary is missing\. Put \S*vocabulary\.txt next to it"):
        softmax_of(tmp_path / name)
    (tmp_path / vocabulary).touch()
    assert softmax_of(tmp_path / name) == (tmp_path / softmax, tmp_path / vocabulary)
    (tmp_path / "other.hdf5").touch()
    if name == "any.hdf5":
        with pytest.raises(UserError, match=r"softmax\.safetensors: of any\.hdf5 or of other\.hdf5\?"):
            softmax_of(tmp_path / name)
    else:
        assert softmax_of(tmp_path / name) is not None


def test_what_does_not_fit_is_said(folder, text, tmp_path):
    (folder / "vocabulary.txt").write_text("".join(f"{word}\t1\n" for word in WORDS[:9]), encoding="utf-8")
    with pytest.raises(UserError, match=rf"need weight \(9, {PROJECTION}\) and bias \(9,\)"):
        load_language_model(str(folder))
    (folder / "vocabulary.txt").write_text("the\t1\n", encoding="utf-8")
    with pytest.raises(UserError, match="does not begin with <S>"):
        load_language_model(str(folder))
    (folder / "softmax.safetensors").write_bytes(b"junk")
    (folder / "vocabulary.txt").write_text("<S>\t0\n</S>\t0\n<UNK>\t0\n", encoding="utf-8")
    with pytest.raises(UserError, match="not a readable safetensors file"):
        load_language_model(str(folder))
