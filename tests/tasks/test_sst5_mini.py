"""The mini suite: gold that follows from the sentence, words and templates kept from train, memorising does not pay."""

import math
import re
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest

from elmo_bench import world
from elmo_bench.tasks.sst5 import mini
from elmo_bench.tasks.sst5.lexicon import CLEAR, MIXED, STRONGER, WEAKER
from elmo_bench.tasks.sst5.trees import Tree
from elmo_bench.world.draws import SEEN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def suite():
    return mini.generate(seed=0)


def test_sizes_and_shapes(suite):
    assert {split: len(trees) for split, trees in suite.items()} == {"train": 4000, "dev": 250, "test": 250}
    for tree in chain(*suite.values()):
        assert 4 <= len(tree.tokens) <= 45
        assert not any(re.search(r"[{}*\s]", token) or not token for token in tree.tokens)
        assert tree.nodes[0][1:] == (0, len(tree.tokens))
        assert all(0 <= label <= 4 and 0 <= start < end <= len(tree.tokens) for label, start, end in tree.nodes)
        spans = [(start, -end) for _, start, end in tree.nodes]
        assert spans == sorted(spans)  # pre-order
    for trees in suite.values():
        assert set(Counter(tree.nodes[0][0] for tree in trees).values()) == {len(trees) // 5}
    everything = [tree.tokens for trees in suite.values() for tree in trees]
    assert len(set(everything)) == len(everything)


def told(text: str, judgement: int) -> int:
    """The value of a sentence with one judgement, by rules of this test."""
    text = f" {text.lower()} "
    if re.search(" whether | if ", text):
        return 0
    sign = (judgement > 0) - (judgement < 0)
    denied = text.replace("nobody can deny", "").replace("it is not true", "").replace("there is no", "")
    if re.search(" not | nobody | neither | never thought | anything but | by no means ", denied):
        judgement = sign = -sign
    return -sign if re.search(" not true that | a lie | fool | no truth in | always lies ", text) else judgement


def test_gold_follows_from_the_words(suite):
    worth = {word: value for value, words in CLEAR.items() for word in words}
    checked = Counter()
    for tree in chain(*suite.values()):
        found = [worth[token] for token in tree.tokens if token in worth]
        mixed = [token for token in tree.tokens if token in MIXED]
        if len(found) + len(mixed) != 1:
            continue  # facts, and sentences of two halves
        if mixed:
            good, bad = MIXED[mixed[0]]
            [found] = [[1 if token in good else -1 for token in tree.tokens if token in {*good, *bad}]]
        [value] = found
        if {*STRONGER} & {*tree.tokens}:
            value *= 2
        elif {*WEAKER} & {*tree.tokens}:
            value //= abs(value)
        assert tree.nodes[0][0] == told(" ".join(tree.tokens), value) + 2, tree
        checked[tree.nodes[0][0]] += 1
    assert min(checked[label] for label in range(5)) > 50


def test_the_half_that_decides(suite):
    halves = Counter()
    for tree in chain(*suite.values()):
        whole, *inner = tree.nodes
        outer = [n for n in inner if n[2] - n[1] >= 4 and not any(o[1] <= n[1] < n[2] <= o[2] for o in inner if o != n)]
        values = [label - 2 for label, *_ in outer]
        if len(values) == 2 and values[0] * values[1] < 0:
            first, second = values
            decides = first if re.search(" , though ", " ".join(tree.tokens)) else second
            assert whole[0] - 2 == (1 if decides > 0 else -1), tree
            halves[whole[0]] += 1
        elif len(values) == 2 and values[0] * values[1] > 0:
            assert whole[0] - 2 == (2 if values[0] > 0 else -2)
            halves[whole[0]] += 1
    assert halves.keys() == {0, 1, 3, 4}
    assert min(halves.values()) > 20


def test_templates_and_words_of_dev_and_test_that_train_never_shows(suite):
    groups = mini.templates()
    assert list(groups) == ["state", "denied", "contrast", "agreement", "right", "wrong", "open", "facts"]
    starred = [line for lines in groups.values() for line in lines if line.startswith("*")]
    assert 0.35 < len(starred) / sum(map(len, groups.values())) < 0.45
    seen = {token for tree in suite["train"] for token in tree.tokens}
    kept = {word for words in CLEAR.values() for word in words[round(SEEN * len(words)) :]}
    for split in ("dev", "test"):
        assert kept & {token for tree in suite[split] for token in tree.tokens}
    assert not kept & seen
    assert {person.name for person in world.build(seed=0).people[-60:]} & {
        f"{a} {b}" for tree in suite["test"] for a, b in zip(tree.tokens, tree.tokens[1:], strict=False)
    }


def test_one_word_is_good_and_bad(suite):
    labels = defaultdict(set)
    for tree in suite["train"]:
        for token in tree.tokens:
            labels[token].add(tree.nodes[0][0])
    words = {*MIXED, *(word for words in CLEAR.values() for word in words)} & labels.keys()
    words -= {*CLEAR[0]}
    assert len(words) > 30
    assert all(labels[word] & {0, 1} and labels[word] & {3, 4} for word in words)


def naive_bayes(train: list[Tree], test: list[Tree]) -> float:
    """Accuracy of the words alone, whatever their order."""
    phrases = [phrase for tree in train for phrase in tree.phrases(shortest=4)]
    counts = {label: Counter() for label in range(5)}
    for phrase in phrases:
        counts[phrase.label].update(token.lower() for token in phrase.tokens)
    vocabulary = set().union(*counts.values())
    sizes = {label: counts[label].total() + 0.5 * len(vocabulary) for label in counts}

    def score(label, tree):
        known = [token.lower() for token in tree.tokens if token.lower() in vocabulary]
        return sum(math.log((counts[label][token] + 0.5) / sizes[label]) for token in known)

    right = sum(max(counts, key=lambda label: score(label, tree)) == tree.nodes[0][0] for tree in test)
    return 100 * right / len(test)


def test_memorising_words_does_not_pay(suite):
    assert 20 < naive_bayes(suite["train"], suite["test"]) < 45
