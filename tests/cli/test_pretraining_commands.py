"""`pretrain`, `finetune` and `evaluate` as a user calls them, on a tiny corpus."""

import io
import json
import re
import shutil
from contextlib import chdir, redirect_stdout

import pytest
import torch
from huggingface_hub import ModelCard
from omegaconf import OmegaConf

from elmo_bench.__main__ import main
from elmo_bench.cli.pretrain import OTHER_SHAPE, alone, has_shape_of_mini
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import load_bilm
from elmo_bench.pretraining import CONF
from elmo_bench.spec.config import compose
from tests.pretraining.corpora import made_up, overrides, write
from tests.runs import GOLDEN

LICENCE = "Ours alone: ask | us"  # any text may be one
TINY = ("threads=1", "recipe.samples=10", "fit_steps=50")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a corpus, held-out text, other text, and `out`, which `pretrain` made."""
    folder = tmp_path_factory.mktemp("commands")
    write(folder)
    for name, seed in (("other", 6), ("dev", 7)):
        lines = (" ".join(sentence) for sentence in made_up(100, seed=seed))
        lines = (line.replace("the ", "some ").replace(".", "now .") for line in lines)
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    more = ("heldout=heldout.txt", f"licence='{LICENCE}'", "recipe.steps=80")
    with redirect_stdout(io.StringIO()) as said, chdir(folder):
        assert main(["pretrain", *overrides(".", "out", *more)]) == 0
    (folder / "said.txt").write_text(said.getvalue(), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["mini", "small"])
def test_a_folder_with_the_name_of_published_weights_is_refused_before_anything_is_read(refused, tmp_path, name):
    out = tmp_path / name
    for command in ("pretrain corpus=nowhere.txt", "finetune weights=mini corpus=nowhere.txt"):
        said = refused(*command.split(), f"out={out}")
        assert said.endswith("would take it for the published weights of this name. Give another name.")
    assert not out.exists()


def test_another_tokeniser_than_that_of_the_weights_is_noted(trained, capsys):
    for tokenizer, noted in (("spaces", False), ("treebank", True)):
        options = [f"weights={trained}/out", f"corpus={trained}/heldout.txt", f"tokenizer={tokenizer}", "threads=1"]
        assert main(["evaluate", *options]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert ("trained with tokenizer=spaces, but this text is read with tokenizer=treebank" in said) == noted
    assert "| tokenizer | spaces |" in (trained / "out" / "README.md").read_text(encoding="utf-8")


def evaluated(capsys, weights, corpus):
    capsys.readouterr()
    assert main(["evaluate", f"weights={weights}", f"corpus={corpus}", "format=json", "threads=1"]) == 0
    return json.loads(capsys.readouterr().out)


def test_pretrain_leaves_weights_softmax_vocabulary_and_a_card_with_what_evaluate_finds(trained, capsys):
    out = trained / "out"
    names = {"options.json", "weights.safetensors", "softmax.safetensors", "vocabulary.txt", "README.md", "curve.csv"}
    assert {path.name for path in out.iterdir()} == {*names, "checkpoints", "encoded"}
    found = evaluated(capsys, out, trained / "heldout.txt")
    assert found["average"] < 4  # guessing: 14
    card = ModelCard.load(out / "README.md")
    assert (card.data.license, card.data.library_name) == (LICENCE, "elmo-bench")
    words = sum(map(len, made_up(400)))
    for said in (
        "# out\n",
        "| LSTMs | 2 in each direction, 16 cells projected to 8 |",
        f"| text | part-0.txt, part-1.txt, {words:,} tokens, 400 sentences; its licence: Ours alone: ask \\| us |",
        "| softmax | 15 words |",
        "  name: adamw\n  lr: 0.02\n",
        "| read | 80 steps, ",
        " 1 threads, torch 2.",
        "To make them again:\n\n    python -m elmo_bench pretrain ",
    ):
        assert said in card.content
    assert str(trained) not in card.content
    [average, without] = re.findall(
        r"heldout.txt .* \| average \*\*(.+)\*\*, forward [\d.]+, backward [\d.]+; (.+) without `<UNK>`, which is ",
        card.text,
    )[0]
    assert float(average) == pytest.approx(found["average"], abs=0.006)
    assert float(without) == pytest.approx(found["average_without_unknown"], abs=0.006)
    encoder = ElmoEncoder.from_pretrained(str(out))
    assert encoder.encode([["the", "cats", "sleep", "."]])[0].shape == (3, 4, 16)


def test_what_is_next_compares_the_weights_with_those_that_ship(trained):
    said = (trained / "said.txt").read_text(encoding="utf-8")
    assert "  elmo-bench sweep task=ner encoder=elmo encoder.weights=mini,out seed=0,1,2 " in said
    assert "  elmo-bench compare elmo --encoder elmo encoder.weights=out " in said
    assert said.index(OTHER_SHAPE) < said.index("next:")


@pytest.mark.parametrize(("shape", "same"), [("wide", True), ("mini", False)])
def test_the_weights_that_ship_have_the_shape_that_is_said(shape, same):
    config = compose("pretrain", [f"shape={shape}", "corpus=_", "out=_"], folder=CONF)
    assert has_shape_of_mini(BiLMOptions.from_json(config.shape, "shape")) == same


def test_finetune_goes_on_from_the_weights_and_their_vocabulary(trained, tmp_path, capsys):
    more = [f"corpus={trained}/other.txt", f"heldout={trained}/dev.txt", "recipe.cells=20", "recipe.optimizer.lr=0.005"]
    before = evaluated(capsys, trained / "out", trained / "dev.txt")["average"]
    assert main(["finetune", f"weights={trained}/out", f"out={tmp_path}/tuned", *more, *TINY]) == 0
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    first, after = (float(words[1]) for words in said if words[0] == "average")
    assert first == pytest.approx(before, abs=0.01)
    assert after < before - 1
    assert evaluated(capsys, tmp_path / "tuned", trained / "dev.txt")["average"] == pytest.approx(after, rel=0.01)
    vocabularies = [(folder / "vocabulary.txt").read_text() for folder in (trained / "out", tmp_path / "tuned")]
    assert vocabularies[0] == vocabularies[1]
    old, new = (load_bilm(str(folder))[0] for folder in (trained / "out", tmp_path / "tuned"))
    assert not torch.equal(old.characters.embedding, new.characters.embedding)  # nothing is frozen
    card = (tmp_path / "tuned" / "README.md").read_text(encoding="utf-8")
    assert f"| trained further from | {trained}/out; its licence: unknown |" in card
    shutil.copytree(tmp_path / "tuned", tmp_path / "others")
    assert main(["finetune", f"weights={tmp_path}/others", f"out={tmp_path}/tuned", *more, *TINY]) == 2
    assert "from a training with other weights. Resume with the same" in capsys.readouterr().err
    assert (tmp_path / "tuned" / "README.md").read_text(encoding="utf-8") == card


@pytest.mark.slow
def test_weights_without_a_softmax_get_one_first_and_evaluate_refuses_them(trained, tmp_path, capsys, refused):
    more = [f"corpus={trained}/other.txt", f"heldout={trained}/dev.txt", "recipe.steps=2", "recipe.cells=20"]
    assert main(["finetune", f"weights={GOLDEN}", f"out={tmp_path}/tuned", *more, *TINY]) == 0
    captured = capsys.readouterr()
    assert "these weights have no softmax: fitting one of 16 words" in captured.err.replace("\n", " ")
    assert (tmp_path / "tuned" / "softmax.safetensors").is_file()
    assert "no softmax next to these weights" in refused("evaluate", f"weights={GOLDEN}", f"corpus={trained}/dev.txt")


@pytest.mark.parametrize("command", ["pretrain", "finetune weights=mini"])
def test_two_trainings_into_one_folder_are_refused(tmp_path, refused, command):
    """Each would overwrite the checkpoints of the other."""
    write(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with alone(OmegaConf.create({"out": str(tmp_path / "link")})):
        line = refused(*command.split(), f"corpus={tmp_path}/part-0.txt", f"out={tmp_path}/out")
    assert line.endswith(
        f"out={tmp_path}/out: another process trains there now. Wait for its end, or give another out=."
    )
    assert {path.name for path in tmp_path.iterdir()} == {"part-0.txt", "part-1.txt", "heldout.txt", "link"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["finetune", "weights=x", "out=./x", f"corpus={__file__}"], "out=./x: the folder of the weights"),
        (["pretrain", "out=x", "corpus=/"], "/: a folder. Give a pattern: '"),
        (["pretrain", "out=x"], "corpus has no value"),
        (["evaluate", "weights=mini", "corpus=a", "format=xml"], "format=xml: choose text or json"),
    ],
)
def test_mistakes(arguments, message, refused):
    assert message in refused(*arguments)
