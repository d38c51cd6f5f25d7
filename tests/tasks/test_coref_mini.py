"""The mini suite: chains by construction, what a pronoun means is settled, and simple rules do not find it."""

import re
from itertools import chain
from pathlib import Path

import pytest

from elmo_bench import world
from elmo_bench.tasks.coref import mini
from elmo_bench.tasks.coref.metric import Metric
from elmo_bench.tasks.coref.teller import SPEECH

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def suite():
    return mini.generate(seed=0)


def mentions(document):
    """Every gold mention with its words."""
    tokens = document.tokens
    return {span: " ".join(tokens[span[0] : span[1] + 1]) for cluster in document.clusters for span in cluster}


def test_sizes_and_shapes(suite):
    assert {split: len(documents) for split, documents in suite.items()} == {"train": 120, "dev": 40, "test": 40}
    documents = list(chain(*suite.values()))
    assert len({document.name for document in documents}) == len(documents) == len({d.sentences for d in documents})
    for document in documents:
        assert 95 <= len(document.tokens) <= 115
        assert len(document.speakers) == len(document.tokens)
        assert not any(re.search(r"[{}\s]", token) or not token for token in document.tokens)
        assert document.texts == document.sentences
        assert (len(set(document.speakers)) == 2) == (document.genre == "tc")
        spans = [span for cluster in document.clusters for span in cluster]
        assert len(set(spans)) == len(spans)
        assert all(len(cluster) > 1 and list(cluster) == sorted(cluster) for cluster in document.clusters)
        ends = [sum(map(len, document.sentences[: n + 1])) for n in range(len(document.sentences))]
        assert all(sum(start >= end for end in ends) == sum(last >= end for end in ends) for start, last in spans)


def test_templates(suite):
    groups = mini.templates()
    assert list(groups) == ["first", "second", "story", "talk"]
    lines = [line for line in chain(*groups.values())]
    assert len({line.removeprefix("* ") for line in lines}) == len(lines) >= 60

    def phrases(kept):
        """The words between slots of the templates that are kept from train, or of the others."""
        chosen = [line.removeprefix("* ") for line in lines if line.startswith("*") == kept]
        return {phrase.strip() for line in chosen for phrase in re.split(r"{[\w.]+}", line) if len(phrase.split()) > 1}

    unseen = {phrase for phrase in phrases(True) if not any(phrase in other for other in phrases(False))}
    text = {split: "\n".join(" ".join(s) for d in suite[split] for s in d.sentences) for split in suite}
    assert len(unseen) > 15
    assert not any(phrase in text["train"] for phrase in unseen)
    assert sum(phrase in text["test"] for phrase in unseen) > 10


def test_chains_speak_of_one_thing(suite):
    """Names in a chain are parts of one longest name, and its pronouns have one gender."""
    here = world.build(seed=0)
    genders = {person.name: person.woman for person in here.people}
    for document in chain(*suite.values()):
        words = mentions(document)
        for cluster in document.clusters:
            called = [words[span] for span in cluster]
            people = {name for name in called if name in genders}
            assert len(people) <= 1
            pronouns = {word.lower() for word in called} & {"he", "him", "his", "she", "her"}
            assert not (pronouns & {"he", "him", "his"} and pronouns & {"she", "her"})
            for name in people:
                assert not pronouns or genders[name] == bool(pronouns & {"she", "her"})
                rest = {word for word in called if word[0].isupper() and word.lower() not in {*pronouns}} - {name}
                rest = {word for word in rest if not word.startswith("The ") and word.lower() not in SPEECH}
                assert rest <= set(name.split())


def test_in_a_talk_i_is_whoever_speaks(suite):
    for document in chain(*suite.values()):
        of = {span: number for number, cluster in enumerate(document.clusters) for span in cluster}
        said = {}
        for (start, end), number in of.items():
            if start == end and document.tokens[start].lower() in ("i", "me", "my"):
                assert said.setdefault(document.speakers[start], number) == number
        assert len(set(said.values())) == len(said)
        assert document.genre == "tc" or not said


def linked(document, antecedent):
    """The clusters that a rule makes: antecedent(place, spans, words) is the place of an earlier mention, or None."""
    words = mentions(document)
    spans = sorted(words)
    cluster = {}
    for place, span in enumerate(spans):
        before = antecedent(place, spans, words)
        cluster[span] = cluster[spans[before]] if before is not None else [span]
        if before is not None:
            cluster[span].append(span)
    return [list(spans) for spans in {id(spans): spans for spans in cluster.values()}.values() if len(spans) > 1]


def test_rules_that_see_the_gold_mentions_score_low(suite):
    def same_words(place, spans, words):
        equal = [p for p in range(place) if words[spans[p]].lower() == words[spans[place]].lower()]
        return equal[-1] if equal else None

    def nearest(place, spans, words):
        return place - 1 if place else None

    gold = [document.gold for document in suite["test"]]
    score = {
        rule.__name__: Metric().score(gold, [linked(document, rule) for document in suite["test"]])["overall"]
        for rule in (same_words, nearest)
    }
    assert Metric().score(gold, gold)["overall"]["average_f1"] == 100
    assert 30 < score["same_words"]["average_f1"] < 60
    assert 30 < score["nearest"]["average_f1"] < 60


def test_names_and_rivals(suite):
    train = {word for document in suite["train"] for word in document.tokens}
    people = [document for document in suite["test"] if any(w[0].isupper() and w not in train for w in document.tokens)]
    assert len(people) > 20
    # A surname in one document is a town or a firm too.
    lasts = [{name.split()[1] for name in mentions(d).values() if len(name.split()) == 2} for d in suite["test"]]
    others = [
        {w for name in mentions(d).values() for w in name.split() if len(name.split()) != 2} for d in suite["test"]
    ]
    assert sum(bool(a & b) for a, b in zip(lasts, others, strict=True)) > 8
