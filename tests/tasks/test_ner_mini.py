"""The mini suite: consistent gold, names and templates kept from train, and memorising does not pay."""

import re
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest

from elmo_bench import world
from elmo_bench.tasks.ner import mini
from elmo_bench.tasks.ner.metric import Metric
from elmo_bench.text.tags import spans, to_bio
from elmo_bench.world import names
from elmo_bench.world.draws import SEEN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def suite():
    return mini.generate(seed=0)


def test_sizes_and_shapes(suite):
    assert {split: len(sentences) for split, sentences in suite.items()} == {"train": 1000, "dev": 250, "test": 250}
    for sentence in chain(*suite.values()):
        assert 5 <= len(sentence.tokens) <= 25
        assert to_bio(sentence.tags) == list(sentence.tags)
        assert not any(re.search(r"[{}\s]", token) or not token for token in sentence.tokens)
        assert sentence.texts == (sentence.tokens,)
    for sentences in suite.values():
        assert {kind for s in sentences for kind, *_ in spans(s.tags)} == {"PER", "LOC", "ORG", "MISC"}


def test_gold_never_contradicts_itself_and_no_sentence_comes_twice():
    gold = defaultdict(set)
    for seed in range(4):
        for sentence in chain(*mini.generate(seed=seed).values()):
            gold[sentence.tokens].add(sentence.tags)
    assert all(len(tags) == 1 for tags in gold.values())
    everything = [s.tokens for sentences in mini.generate(seed=0).values() for s in sentences]
    assert len(set(everything)) == len(everything)


def test_templates_are_disjoint_but_for_their_names():
    groups = mini.templates()
    assert list(groups) == ["train", "shared", "unseen"]
    bare = [re.sub(r"{[A-Z]+}", "NAME", line) for lines in groups.values() for line in lines]
    assert len(bare) == len(set(bare)) >= 100
    slots = {slot for line in sum(groups.values(), ()) for slot in re.findall(r"{(\w+)}", line)}
    assert slots <= set(mini.FORMS) | set(mini.NAMES)
    assert {slot for slot in slots if slot.isupper()} == set(mini.TYPES)


def test_dev_and_test_hold_names_and_words_unseen_in_train(suite):
    seen = {token for s in suite["train"] for token in s.tokens}
    kept = set(names.SHARED[round(SEEN * len(names.SHARED)) :])
    assert not kept & seen
    for split in ("dev", "test"):
        entity = [token for s in suite[split] for token, tag in zip(s.tokens, s.tags, strict=True) if tag != "O"]
        assert 0.3 < sum(token not in seen for token in entity) / len(entity) < 0.7
        assert kept & set(entity)


def test_one_name_is_person_place_and_organisation(suite):
    types = defaultdict(set)
    for sentence in suite["train"]:
        for kind, start, end in spans(sentence.tags):
            if start == end:
                types[sentence.tokens[start]].add(kind)
    assert sum({"PER", "LOC", "ORG"} <= kinds for kinds in types.values()) > 30


def test_memorising_does_not_pay(suite):
    counts = defaultdict(Counter)
    for sentence in suite["train"]:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            counts[token][tag] += 1
    known = {token: tags.most_common(1)[0][0] for token, tags in counts.items()}
    gold = [s.tags for s in suite["test"]]
    predicted = [[known.get(token, "O") for token in s.tokens] for s in suite["test"]]
    assert 10 < Metric().score(gold, predicted)["overall"]["f1"] < 55
    assert Metric().score(gold, gold)["overall"]["f1"] == 100


def test_the_world_hangs_together():
    one = world.build(seed=5)
    assert one == world.build(seed=5) != world.build(seed=6)
    assert len({person.name for person in one.people}) == len(one.people) == 200
    assert all(person.home in one.places and person.employer in one.organisations for person in one.people)
    assert all(firm.seat in one.places for firm in one.organisations)
    assert all(event.place in one.places and event.place.name in event.name for event in one.events)
    assert not set(names.MEN) & set(names.WOMEN)
    lexicons = (names.SURNAMES, names.SHARED, names.WORDLIKE, names.TOWNS, names.REGIONS, names.FIRM_NAMES)
    assert max(Counter(sum(lexicons, ())).values()) == 1
