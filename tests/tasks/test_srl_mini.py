"""The mini suite: gold that follows from the sentence, words and templates kept from train, memorising does not pay."""

import re
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest

from elmo_bench.tasks.srl import mini
from elmo_bench.tasks.srl.lexicon import VERBS
from elmo_bench.tasks.srl.metric import Metric
from elmo_bench.text.tags import spans, to_bio
from elmo_bench.world.draws import SEEN

ROOT = Path(__file__).parents[2]
CLASS = {lemma: kind for kind, verbs in VERBS.items() for lemma, *_ in verbs}


@pytest.fixture(scope="module")
def suite():
    return mini.generate(seed=0)


def told(example):
    """{role: text} of a proposition."""
    tokens = example.sentence.tokens
    return {role: " ".join(tokens[start : end + 1]) for role, start, end in spans(example.tags)}


def test_sizes_and_shapes(suite):
    assert {split: len({p.sentence for p in found}) for split, found in suite.items()} == {
        "train": 1500, "dev": 150, "test": 150
    }  # fmt: skip
    assert len(suite["train"]) > 2000
    assert min(len(suite["dev"]), len(suite["test"])) > 250
    for example in chain(*suite.values()):
        tokens = example.sentence.tokens
        assert 3 <= len(tokens) <= 70
        assert not any(re.search(r"[{}*()\s]", token) or not token for token in tokens)
        assert to_bio(example.tags) == list(example.tags)
        assert [(start, end) for role, start, end in spans(example.tags) if role == "V"] == [(example.predicate,) * 2]
        assert tokens[example.predicate].lower() in {
            form for verbs in VERBS.values() for verb in verbs for form in verb
        }
    everything = [tokens for found in suite.values() for tokens in {p.sentence.tokens for p in found}]
    assert len(set(everything)) == len(everything) == 1800
    roles = Counter(role for p in suite["train"] for role, *_ in spans(p.tags))
    assert min(roles[role] for role in ("ARG2", "ARGM-TMP", "ARGM-LOC", "ARGM-NEG", "R-ARG0", "C-ARG1")) > 50


def test_gold_follows_from_the_sentence(suite):
    """Voice, prepositions and the verb's class, by rules of this test."""
    checked = Counter()
    for example in chain(*suite.values()):
        roles, kind = told(example), CLASS[example.lemma]
        place = {role: start for role, start, _ in spans(example.tags)}
        after = {role for role, start in place.items() if start > example.predicate}
        if kind in ("give", "get", "meet", "open") and "ARG0" in after:
            assert roles["ARG0"].startswith("by ")
            assert kind == "open" or "ARG1" in roles
            checked["passive"] += 1
        elif kind in ("give", "get", "meet") and "ARG0" in roles:
            assert not roles["ARG0"].startswith("by ")
            assert place["ARG0"] < example.predicate
            checked["active"] += 1
        if kind == "get" and "ARG2" in roles:
            assert roles["ARG2"].lower().startswith("from ")
            checked["source"] += 1
        if kind == "give" and roles.get("ARG2", "").startswith("to "):
            checked["recipient with a preposition"] += 1
        elif kind == "give" and "ARG2" in after:
            assert place["ARG2"] < place["ARG1"] or place["ARG1"] < example.predicate
            checked["recipient without one"] += 1
        if kind == "open":
            assert "ARG1" in roles
            checked["opened by somebody" if "ARG0" in roles else "opened by itself"] += 1
        if kind in ("work", "fall"):
            assert set(roles) & {"ARG0", "ARG1"} == {"ARG0" if kind == "work" else "ARG1"}
        for role in ("ARG0", "ARG1", "ARG2"):
            if f"R-{role}" in roles:
                assert re.fullmatch("who|whom|that|which|to whom", roles[f"R-{role}"])
                assert place[role] < place[f"R-{role}"]
                checked["relative clause"] += 1
        if "ARGM-NEG" in roles:
            assert roles["ARGM-NEG"] in ("not", "never")
    assert len(checked) == 8
    assert min(checked.values()) > 50, checked


def test_one_sentence_has_several_predicates_with_roles_of_their_own(suite):
    sentences = defaultdict(list)
    for example in suite["train"]:
        sentences[example.sentence].append(example)
    assert sum(len(found) > 1 for found in sentences.values()) > 500
    assert max(map(len, sentences.values())) >= 4
    shared = Counter()  # one token, two roles
    for found in sentences.values():
        assert len({p.tags for p in found}) == len(found)
        assert [p.predicate for p in found] == sorted({p.predicate for p in found})
        for column in zip(*(p.tags for p in found), strict=True):
            shared[len({tag[2:] for tag in column} - {"", "V"})] += 1
    assert shared[2] > 500


def test_anybody_has_any_role(suite):
    roles = defaultdict(Counter)
    for example in suite["train"]:
        for token, tag in zip(example.sentence.tokens, example.tags, strict=True):
            roles[token][tag[2:]] += 1
    names = [name for name, counts in roles.items() if name[0].isupper() and counts.total() > 100]
    assert len(names) > 30
    assert sum({"ARG0", "ARG1", "ARG2"} <= roles[name].keys() for name in names) > 0.8 * len(names)


def test_templates_and_words_of_dev_and_test_that_train_never_shows(suite):
    groups = mini.templates()
    assert {*mini.CLAUSES, "sentence", "person", "thing", "opened", "time", "scene"} == groups.keys()
    starred = [line for lines in groups.values() for line in lines if line.startswith("*")]
    assert 0.3 < len(starred) / sum(map(len, groups.values())) < 0.37
    seen = {example.lemma for example in suite["train"]}
    kept = {verb[0] for verbs in VERBS.values() for verb in verbs[round(SEEN * len(verbs)) :]}
    assert not kept & seen
    for split in ("dev", "test"):
        assert len(kept & {example.lemma for example in suite[split]}) > 10
        assert (
            len({example.sentence.tokens for example in suite[split]} & {p.sentence.tokens for p in suite["train"]})
            == 0
        )


def by_heart(train, test, key):
    """F1 of giving each token its most frequent training tag, tokens told apart by `key(example, place)`."""
    counts = defaultdict(Counter)
    for example in train:
        for place, tag in enumerate(example.tags):
            counts[key(example, place)][tag] += 1
    best = {item: count.most_common(1)[0][0] for item, count in counts.items()}
    predicted = [[best.get(key(p, place), "O") for place in range(len(p.tags))] for p in test]
    return Metric().score([p.tags for p in test], predicted)["overall"]["f1"]


def test_memorising_words_does_not_pay(suite):
    def word(example, place):
        return example.sentence.tokens[place], place == example.predicate

    def word_and_side(example, place):
        return example.sentence.tokens[place], (place > example.predicate) - (place < example.predicate)

    def distance(example, place):
        return example.lemma, place - example.predicate

    found = {key.__name__: by_heart(suite["train"], suite["test"], key) for key in (word, word_and_side, distance)}
    assert found["word"] < 12
    assert found["word_and_side"] < 12
    assert found["distance"] < 12
