"""The examples of docs/encoder.md run as they stand and print what is shown; what it says of mini is so."""

import re
from pathlib import Path

import pytest
import torch

from elmo_bench import ElmoEncoder

PAGE = Path(__file__).parent.parent / "docs" / "encoder.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")

SENSES = {
    "bank": [
        [
            "She put her money in the bank .",
            "The bank raised its interest rates .",
            "He works for a large bank in London .",
            "The bank lent him the money to buy a house .",
            "They robbed a bank in the centre of the town .",
            "The central bank cut rates again last year .",
        ],
        [
            "They sat on the bank of the river .",
            "The river bank was flooded in spring .",
            "The village lies on the left bank of the river .",
            "They walked along the north bank of the Thames .",
            "The boat was pulled up on the bank .",
            "The east bank of the lake is covered with trees .",
        ],
    ],
    "bark": [
        [
            "The bark of the old tree is thick and brown .",
            "Birch trees have white bark .",
            "The bark is used in traditional medicine .",
            "The leaves and the bark of this tree are poisonous .",
            "The insects live under the bark of pine trees .",
            "Its bark is smooth and grey .",
        ],
        [
            "The dog 's bark was very loud .",
            "Dogs bark at strangers .",
            "We heard the bark of a dog in the night .",
            "The dog began to bark at the man .",
            "A loud bark woke the children .",
            "My dog does not bark .",
        ],
    ],
}


def test_the_examples_run_as_written_and_print_what_is_shown(capsys):
    namespace: dict = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert sum(kind == "text" for kind, _ in blocks) >= 5
    for number, (kind, text) in enumerate(blocks):
        if kind == "python":
            exec(compile(text, f"{PAGE.name}, block {number}", "exec"), namespace)
            continue
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", text)
        shown = [float(found) for found in NUMBER.findall(text)]
        assert [float(found) for found in NUMBER.findall(printed)] == pytest.approx(shown, abs=0.02)


def test_senses_of_a_word_are_as_far_apart_as_the_page_says():
    page, encoder = " ".join(PAGE.read_text(encoding="utf-8").split()), ElmoEncoder(weights="mini")
    said = re.search(
        r"are (0\.\d\d) in the same sense and (0\.\d\d) across .* (0\.\d\d) and (0\.\d\d) for \"bark\"", page
    )
    assert said
    means = []
    for word, senses in SENSES.items():
        sentences = [sentence.split() for sense in senses for sentence in sense]
        sense = torch.tensor([0] * 6 + [1] * 6)
        found = zip(encoder.encode(sentences), sentences, strict=True)
        vectors = torch.stack([layers.mean(dim=0)[sentence.index(word)] for layers, sentence in found])
        cosines = torch.cosine_similarity(vectors[:, None], vectors[None], dim=2)
        same = sense[:, None] == sense
        means += [cosines[same & ~torch.eye(12, dtype=torch.bool)].mean().item(), cosines[~same].mean().item()]
    assert means == pytest.approx([float(number) for number in said.groups()], abs=0.01)
