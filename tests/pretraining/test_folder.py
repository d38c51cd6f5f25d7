"""The card of a training says what it was given, leaves out the rest, and the Hub can read it."""

import json

import pytest
from huggingface_hub import ModelCard

from elmo_bench.pretraining.trainer import save_trained
from tests.pretraining.corpora import made_up, train, write

FIGURES = {
    "forward": 103.64, "backward": 102.27, "average": 102.954, "average_without_unknown": 116.88,
    "unknown_percent": 5.478, "targets": 733308,
}  # fmt: skip


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    write(folder)
    return train(folder, folder / "elmo-lake", "recipe.steps=10")


def saved(training, licence, **more):
    training.config.licence = licence
    return save_trained(training, command="pretrain", arguments=["corpus=text/*.xz", "out=elmo-lake"], **more)


def test_a_full_card(training):
    out = saved(training, "cc-by-sa-3.0", measured={"heldout.txt.xz": FIGURES})
    card = ModelCard.load(out / "README.md")
    assert (card.data.license, card.data.library_name) == ("cc-by-sa-3.0", "elmo-bench")
    assert json.loads((out / "options.json").read_text())["lstm"]["dim"] == 16
    words = sum(map(len, made_up(400)))
    for said in (
        "# elmo-lake\n",
        "| LSTMs | 2 in each direction, 16 cells projected to 8 |",
        f"| text | part-0.txt, part-1.txt, {words:,} tokens, 400 sentences; its licence: cc-by-sa-3.0 |",
        "| softmax | 15 words |",
        "  name: adamw\n  lr: 0.02\n",
        f"| read | 10 steps, {training.read} predictions in each direction, 0.1",
        " 1 threads, torch 2.",
        "| perplexity, heldout.txt.xz | average **102.95**, forward 103.64, backward 102.27; 116.88 without `<UNK>`, "
        "which is 5.48 % of 733,308 targets |",
        "To make them again:\n\n    python -m elmo_bench pretrain 'corpus=text/*.xz' out=elmo-lake\n",
    ):
        assert said in card.content
    assert str(out.parent) not in card.content


def test_any_text_may_be_the_licence(training):
    card = ModelCard.load(saved(training, "Ours alone: ask | us") / "README.md")
    assert card.data.license == "Ours alone: ask | us"
    assert r"its licence: Ours alone: ask \| us |" in card.text
