"""Record flair itself: `tests/golden/flair/`, tiny language models as it saves them, and the vectors that it computes.

    pip install flair && python benchmarks/peer/make_flair.py

What the files hold is listed in tests/golden/README.md.
"""

from pathlib import Path
from typing import Any

import flair
import numpy as np
import torch
from flair.data import Dictionary, Sentence
from flair.embeddings import FlairEmbeddings, StackedEmbeddings
from flair.models import LanguageModel

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "flair"
SENTENCES = [["The", "cat", "sat", "."], ["Zürich"], ["naïve", "x😀y", "(", "a", ")"], ["long" * 90, "and", "w" * 700]]
CHARACTERS = "\n abcdefghijklmnopqrstuvwxyzTZü.()"


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    flair.device = torch.device("cpu")
    torch.manual_seed(0)
    dictionary = Dictionary()
    for character in CHARACTERS:
        dictionary.add_item(character)
    shapes: dict[str, Any] = {"forward": {"nlayers": 1, "nout": None}, "backward": {"nlayers": 2, "nout": 5}}
    for name, shape in shapes.items():
        model = LanguageModel(dictionary, name == "forward", hidden_size=6, embedding_size=4, **shape)
        for parameter in model.parameters():
            parameter.data.uniform_(-1, 1)
        model.eval().save(GOLDEN / f"{name}.pt")
    embeddings = StackedEmbeddings([FlairEmbeddings(GOLDEN / f"{name}.pt") for name in shapes])
    found: dict[str, Any] = {}
    for number, words in enumerate(SENTENCES):
        sentence = Sentence(words)
        embeddings.embed(sentence)
        assert [token.text for token in sentence] == words
        found[f"s{number}"] = np.stack([token.embedding.numpy() for token in sentence])
    np.savez_compressed(GOLDEN / "vectors.npz", **found)


if __name__ == "__main__":
    main()
