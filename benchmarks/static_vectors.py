"""Word similarity and analogies of static vectors, on the lists that gensim ships among its test data.

    python benchmarks/static_vectors.py gensim/test/test_data glove-mini my-vectors.safetensors

Reads `questions-words.txt` (Mikolov et al. 2013), `wordsim353.tsv` (Finkelstein et al. 2002) and `simlex999.txt` (Hill
et al. 2015) from the folder. Words are looked up as the heads look them up: as written, then in lower case.

Analogies: a : b as c : ?, answered by the word whose unit vector is nearest to b - a + c, among all words of the table
but a, b and c. A question with a word that has no vector counts as wrong. Similarity: Spearman's correlation of the
cosine with the human scores, over the pairs that have vectors.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from elmo_bench.encoders.static import StaticVectors, load_static

SIMILARITY = ("wordsim353.tsv", "simlex999.txt")
QUESTIONS_AT_ONCE = 512


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def similarity(table: StaticVectors, file: Path) -> tuple[float, int, int]:
    """Spearman's correlation, pairs with vectors, and all pairs."""
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pairs = [(table.lookup(left), table.lookup(right), float(score)) for left, right, score in lines]
    known = [pair for pair in pairs if None not in pair]
    lefts, rights, scores = (list(column) for column in zip(*known, strict=True))
    cosines = np.sum(unit(table.vectors[lefts]) * unit(table.vectors[rights]), axis=1)
    return float(spearmanr(cosines, scores).statistic), len(known), len(pairs)


def questions(file: Path) -> Iterator[tuple[bool, list[str]]]:
    """Whether a question is syntactic, and its four words."""
    section = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            section = line[2:]
        else:
            yield section.startswith("gram"), line.split()


def analogies(table: StaticVectors, file: Path) -> dict[str, tuple[float, float]]:
    """By kind of question: the share answered correctly, and the share whose four words have vectors."""
    vectors = unit(table.vectors)
    asked = list(questions(file))
    rows = np.array([[-1 if (row := table.lookup(word)) is None else row for word in words] for _, words in asked])
    known = np.all(rows >= 0, axis=1)
    right = np.zeros(len(rows), bool)
    for some in np.array_split(np.flatnonzero(known), -(-len(rows) // QUESTIONS_AT_ONCE)):
        a, b, c, answer = rows[some].T
        scores = (vectors[b] - vectors[a] + vectors[c]) @ vectors.T
        scores[np.arange(len(some))[:, None], rows[some, :3]] = -np.inf
        right[some] = scores.argmax(1) == answer
    syntactic = np.array([kind for kind, _ in asked])
    kinds = {"all": np.ones(len(rows), bool), "semantic": ~syntactic, "syntactic": syntactic}
    return {name: (float(right[kind].mean()), float(known[kind].mean())) for name, kind in kinds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, help="the folder of the three lists")
    parser.add_argument("vectors", nargs="+", help="names or files, as encoder.vectors= takes them")
    options = parser.parse_args()
    for name in options.vectors:
        table = load_static(name)
        print(f"{name}: {len(table.words):,} words x {table.dim}")
        for kind, (right, known) in analogies(table, options.lists / "questions-words.txt").items():
            print(f"  analogies, {kind}: {right:.1%} correct, {known:.1%} have vectors")
        for file in SIMILARITY:
            correlation, known, total = similarity(table, options.lists / file)
            print(f"  {file}: Spearman {correlation:.3f} over {known} of {total} pairs")


if __name__ == "__main__":
    main()
