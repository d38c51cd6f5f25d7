"""The mini suite: gold that follows from the premise, forms that tell nothing, words and templates kept from train."""

import math
import re
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest

from elmo_bench import world
from elmo_bench.tasks.snli import mini
from elmo_bench.tasks.snli.logic import QUANTIFIERS, Fact, Statement, label
from elmo_bench.tasks.snli.pair import LABELS
from elmo_bench.world.draws import SEEN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def suite():
    return mini.generate(seed=0)


def test_sizes_and_shapes(suite):
    assert {split: len(pairs) for split, pairs in suite.items()} == {"train": 2400, "dev": 300, "test": 300}
    for pair in chain(*suite.values()):
        assert 4 <= len(pair.hypothesis) <= 20
        assert 4 <= len(pair.premise) <= 45
        assert not any(re.search(r"[{}*|\s]", token) or not token for text in pair.texts for token in text)
    for pairs in suite.values():
        labels = defaultdict(list)
        for pair in pairs:
            labels[pair.premise].append(pair.label)
        assert all(sorted(found) == sorted(LABELS) for found in labels.values())
    premises = [{pair.premise for pair in pairs} for pairs in suite.values()]
    assert len(set.union(*premises)) == sum(map(len, premises)) == 1000


# What an eye says of a premise and a hypothesis.
E, N, C = LABELS
HOME = Fact("home", "Ann", "Ashford", 1)
FACTS = [
    (HOME, HOME, E),
    (HOME, HOME._replace(truth=-1), C),
    (HOME, HOME._replace(value="Burton"), C),  # one home
    (HOME, HOME._replace(value="Burton", truth=-1), E),
    (HOME, HOME._replace(subject="Bob"), N),
    (HOME, HOME._replace(kind="attended"), N),
    (HOME._replace(truth=-1), HOME, C),
    (HOME._replace(truth=-1), HOME._replace(truth=-1), E),
    (HOME._replace(truth=-1), HOME._replace(value="Burton"), N),
    (HOME._replace(truth=0), HOME, N),
    (HOME._replace(truth=0), HOME._replace(value="Burton", truth=-1), N),
    (Fact("product", "Altair", "coal", 1), Fact("product", "Altair", "salt", 1), N),  # or two
    (Fact("product", "Altair", "coal", 1), Fact("product", "Altair", "coal", -1), C),
    (Fact("won", "Cup", "Ann", 1), Fact("won", "Cup", "Bob", 1), C),
    (Fact("beat", "Ann", "Bob", 1), Fact("beat", "Bob", "Ann", 1), C),
    (Fact("beat", "Ann", "Bob", 1), Fact("beat", "Bob", "Ann", -1), E),
    (Fact("beat", "Ann", "Bob", -1), Fact("beat", "Bob", "Ann", 1), N),  # perhaps a draw
    (Fact("older", "Ann", "Bob", 1), Fact("older", "Bob", "Ann", 1), C),
    (Fact("met", "Ann", "Bob", 1), Fact("met", "Bob", "Ann", 1), E),
    (Fact("met", "Ann", "Bob", -1), Fact("met", "Bob", "Ann", 1), C),
    (Fact("met", "Ann", "Bob", 0), Fact("met", "Bob", "Ann", 1), N),
    (Fact("cousin", "Ann", "Bob", 1), Fact("cousin", "Bob", "Ann", -1), C),
    (Fact("thanked", "Ann", "Bob", 1), Fact("thanked", "Bob", "Ann", 1), N),
    (Fact("thanked", "Ann", "Bob", 1), Fact("thanked", "Ann", "Carl", 1), N),
    (Fact("thanked", "Ann", "Bob", 1), Fact("hired", "Ann", "Bob", -1), N),
]


@pytest.mark.parametrize(("premise", "hypothesis", "expected"), FACTS)
def test_what_follows_from_a_fact(premise, hypothesis, expected):
    assert label([premise], hypothesis) == expected
    other = Fact("month", "Siege", "May", 1)  # says nothing of it, wherever it stands
    assert label([other, premise], hypothesis) == label([premise, other], hypothesis) == expected


def test_what_follows_from_a_statement_about_a_group():
    """Every small group in which the first is true says what the second can be."""
    true = {
        "every": all,
        "some": any,
        "none": lambda did: not any(did),
        "not every": lambda did: not all(did),
    }
    worlds = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    for first in QUANTIFIERS:
        for second in QUANTIFIERS:
            found = {true[second](did) for did in worlds if true[first](did)}
            expected = N if len(found) == 2 else E if found == {True} else C
            assert label([Statement(first, "nurse", "sang")], Statement(second, "nurse", "sang")) == expected
            for other in (Statement(second, "pilot", "sang"), Statement(second, "nurse", "left")):
                assert label([Statement(first, "nurse", "sang")], other) == N


def test_the_text_says_what_the_labels_say(suite):
    """Sentences that repeat themselves follow; those that only add `not` are denied; questions leave all open."""
    seen = Counter()
    for pair in chain(*suite.values()):
        bare = [[token for token in text if token != "not"] for text in pair.texts]
        if pair.premise == pair.hypothesis:
            assert pair.label == E
            seen["same"] += 1
        elif bare[0] == bare[1]:
            assert pair.label == C, pair
            seen["denied"] += 1
        elif re.match("(Nobody knows whether|Perhaps) (.*)", " ".join(pair.premise)) and len(pair.premise) < 14:
            assert " ".join(pair.premise).endswith(" ".join(pair.hypothesis[1:])) <= (pair.label == N), pair
            seen["open"] += 1
    assert min(seen[kind] for kind in ("same", "denied")) > 20


def test_a_denied_hypothesis_has_each_label_equally_often(suite):
    counts = defaultdict(Counter)
    for pair in suite["train"]:
        words = {token.lower() for token in pair.hypothesis}
        counts[bool({"not", "no", "none"} & words)][pair.label] += 1
        for word in {"every", "some", "married", "lives", "beat", "is", "was"} & words:
            counts[word][pair.label] += 1
    for found in counts.values():
        assert max(found.values()) < 1.25 * min(found.values()) + 10, counts


def test_templates_and_words_of_dev_and_test_that_train_never_shows(suite):
    groups = mini.templates()
    starred = [line for lines in groups.values() for line in lines if line.startswith("*")]
    assert all(any(line.startswith("*") for line in lines) for lines in groups.values())
    assert 0.3 < len(starred) / sum(map(len, groups.values())) < 0.45
    seen = {token for pair in suite["train"] for text in pair.texts for token in text}
    people = world.build(seed=0).people
    kept = {person.name for person in people[round(SEEN * len(people)) :]}
    for split in ("dev", "test"):
        tokens = {token for pair in suite[split] for text in pair.texts for token in text}
        assert {"resides", "attended", "defeated"} <= tokens
        assert kept & {
            f"{a} {b}" for pair in suite[split] for a, b in zip(pair.premise, pair.premise[1:], strict=False)
        }
    assert not {"resides", "attended", "defeated"} & seen


def naive_bayes(train, test, words) -> float:
    """Accuracy of the words alone, whatever their order."""
    counts = {name: Counter() for name in LABELS}
    for pair in train:
        counts[pair.label].update(words(pair))
    vocabulary = set().union(*counts.values())
    sizes = {name: counts[name].total() + 0.5 * len(vocabulary) for name in LABELS}

    def score(name, pair):
        return sum(math.log((counts[name][word] + 0.5) / sizes[name]) for word in words(pair) if word in vocabulary)

    return 100 * sum(max(LABELS, key=lambda name: score(name, pair)) == pair.label for pair in test) / len(test)


BAGS = {
    "hypothesis": lambda pair: [token.lower() for token in pair.hypothesis],
    "premise": lambda pair: [token.lower() for token in pair.premise],
    "both": lambda pair: [f"{side} {token.lower()}" for side, text in enumerate(pair.texts) for token in text],
    "pairs of words of the hypothesis": lambda pair: list(zip(pair.hypothesis, pair.hypothesis[1:], strict=False)),
}


@pytest.mark.parametrize("bag", BAGS)
def test_words_alone_are_near_chance(suite, bag):
    unseen = suite["dev"] + suite["test"]
    assert naive_bayes(suite["train"], unseen, BAGS[bag]) < 40


def test_shared_words_alone_say_little(suite):
    """How many words of the hypothesis the premise lacks, the best label for each number learned in train."""

    def lacking(pair):
        return [len({token.lower() for token in pair.hypothesis} - {token.lower() for token in pair.premise})]

    assert naive_bayes(suite["train"], suite["dev"] + suite["test"], lacking) < 60
