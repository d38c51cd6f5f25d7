"""Word similarity and analogies of static vectors, on the lists that gensim ships among its test data, and coverage.

    python benchmarks/static_vectors.py gensim/test/test_data glove-mini my-vectors.safetensors \\
        --text heldout.txt.xz --trees sst/test.txt

Reads `questions-words.txt` (Mikolov et al. 2013), `wordsim353.tsv` (Finkelstein et al. 2002) and `simlex999.txt` (Hill
et al. 2015) from the folder. Words are looked up as the heads look them up: as written, then in lower case.

Analogies: a : b as c : ?, answered by the word whose unit vector is nearest to b - a + c, among all words of the table
but a, b and c. A question with a word that has no row counts as wrong. Similarity: Spearman's correlation of the cosine
with the human scores, over the pairs that have vectors. Coverage: the share of the tokens and of the word types of a
text that have vectors (`--text` one tokenised sentence a line, `--trees` the Stanford Sentiment Treebank). Similarity
and coverage include the vectors that files with n-grams give to words without a row.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from elmo_bench.base.files import read_lines
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.tasks.sst5.trees import plain, read_trees

SIMILARITY = ("wordsim353.tsv", "simlex999.txt")
QUESTIONS_AT_ONCE = 512


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def scored_pairs(file: Path) -> list[tuple[str, str, float]]:
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [(left, right, float(score)) for left, right, score in lines]


def similarity(table: StaticVectors, file: Path) -> tuple[float, int, int]:
    """Spearman's correlation, pairs with vectors, and all pairs."""
    pairs = [(table.lookup(left), table.lookup(right), score) for left, right, score in scored_pairs(file)]
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


def coverage(table: StaticVectors, words: Counter[str]) -> tuple[float, float]:
    """The shares of tokens and of types that have vectors."""
    found = {word: count for word, count in words.items() if table.lookup(word) is not None}
    return sum(found.values()) / words.total(), len(found) / len(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, help="the folder of the three lists")
    parser.add_argument("vectors", nargs="+", help="names or files, as encoder.vectors= takes them")
    parser.add_argument("--text", type=Path, nargs="*", default=[])
    parser.add_argument("--trees", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    texts = {path: Counter(word for _, line in read_lines(path) for word in line.split()) for path in options.text}
    texts |= {path: Counter(plain(word) for tree in read_trees(path) for word in tree.tokens) for path in options.trees}
    for name in options.vectors:
        table = load_static(name)
        print(f"{name}: {len(table.words):,} words x {table.dim}")
        for kind, (right, known) in analogies(table, options.lists / "questions-words.txt").items():
            print(f"  analogies, {kind}: {right:.1%} correct, {known:.1%} have vectors")
        pairs = [pair for file in SIMILARITY for pair in scored_pairs(options.lists / file)]
        table = load_static(
            name, keep={word for left, right, _ in pairs for word in (left, right)}.union(*texts.values())
        )
        for file in SIMILARITY:
            correlation, known, total = similarity(table, options.lists / file)
            print(f"  {file}: Spearman {correlation:.3f} over {known} of {total} pairs")
        for path, words in texts.items():
            tokens, types = coverage(table, words)
            print(f"  {path.name}: {tokens:.1%} of the tokens and {types:.1%} of the {len(words):,} types have vectors")


if __name__ == "__main__":
    main()
