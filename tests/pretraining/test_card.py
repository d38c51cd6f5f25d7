"""The card of a run says what it was given, leaves out the rest, and the Hub can read it."""

import dataclasses
import json

import pytest
from huggingface_hub import ModelCard

from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining.card import card, hardware
from elmo_bench.pretraining.perplexity import Perplexity
from tests.runs import GOLDEN

OPTIONS = BiLMOptions.from_file(GOLDEN / "options.json")
FIGURES = Perplexity(
    forward=103.64, backward=102.27, average=102.954, forward_without_unknown=1.0, backward_without_unknown=1.0,
    average_without_unknown=116.88, unknown_percent=5.478, sentences=29714, skipped=0, targets=733308, words=50003,
)  # fmt: skip
ABOUT = {
    "options": OPTIONS,
    "checksum": "51c5 options b874",
    "title": "elmo-lake",
    "licence": "cc-by-sa-3.0",
    "files": ["/home/me/text/train-00.txt.xz", "/home/me/text/train-01.txt.xz"],
    "tokens": 20_000_000,
    "sentences": 800_000,
    "words": 50_003,
    "stored": "int8 with a scale for each output",
    "recipe": {"name": "fast", "learning_rate": 0.002},
    "steps": 6200,
    "tokens_read": 30_000_000,
    "hours": 1.333,
    "hardware": "AMD EPYC",
    "threads": 2,
    "torch": "2.13.0",
    "perplexity": [{**dataclasses.asdict(FIGURES), "corpus": "heldout.txt.xz"}],
    "command": "elmo-bench pretrain corpus='text/*.xz' out=elmo-lake",
}


def test_a_full_card():
    found = ModelCard(card(ABOUT))
    assert (found.data.license, found.data.library_name) == ("cc-by-sa-3.0", "elmo-bench")
    lstm = json.loads((GOLDEN / "options.json").read_text())["lstm"]
    for said in (
        "# elmo-lake\n",
        f"| LSTMs | {lstm['n_layers']} in each direction, {lstm['dim']} cells projected to {lstm['projection_dim']} |",
        "| checksum | `51c5 options b874` |",
        "| text | train-00.txt.xz, train-01.txt.xz, 20,000,000 tokens, 800,000 sentences |",
        "| licence of the text | cc-by-sa-3.0 |",
        "| softmax | 50,003 words |",
        "| recipe | name fast, learning_rate 0.002 |",
        "| read | 6,200 steps, 30,000,000 predictions in each direction, 1.44 passes over the text |",
        "| cost | 1.33 hours, AMD EPYC, 2 threads, torch 2.13.0 |",
        "| perplexity, heldout.txt.xz | forward 103.64, backward 102.27, average **102.95**, each sentence alone",
        "`<UNK>` is 5.48 % of 733,308 targets, without them 116.88 |",
        "To make them again:\n\n    elmo-bench pretrain corpus='text/*.xz' out=elmo-lake\n",
        "| `softmax.safetensors` |",
    ):
        assert said in found.content
    assert "/home/me" not in found.content


@pytest.mark.parametrize(
    ("licence", "code", "name"),
    [("mit", "mit", None), ("not stated", "unknown", None), ("Ours alone: ask | us", "other", "Ours alone: ask | us")],
)
def test_a_licence_is_a_code_of_the_hub_or_named(licence, code, name):
    found = ModelCard(card({**ABOUT, "licence": licence}))
    assert (found.data.license, found.data.license_name) == (code, name)
    assert licence.replace("|", r"\|") in found.text


def test_the_machine_has_a_name():
    assert hardware()
    assert "\n" not in hardware()
