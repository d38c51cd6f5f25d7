"""The mini suite: answers that stand in the passage, rivals of the same kind, and baselines that do not pay."""

import random
import re
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest

from elmo_bench import world
from elmo_bench.tasks.squad import mini
from elmo_bench.tasks.squad.metric import Metric

ROOT = Path(__file__).parents[2]
HERE = world.build(seed=0)
MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}"
KINDS = {
    "person": [p.name for p in HERE.people],
    "place": [p.name for p in HERE.places],
    "firm": [o.name for o in HERE.organisations],
    "job": sorted({p.job for p in HERE.people}),
}


@pytest.fixture(scope="module")
def suite():
    return mini.generate(seed=0)


RIVALS = re.compile(
    rf"\b(?:{'|'.join(sorted({*(e.name for e in HERE.events), *chain(*KINDS.values())}, key=len, reverse=True))})\b"
)


def candidates(entry):
    """(start, text) of what is of the answer's kind in the passage, in order, as this test finds it."""
    answer = entry.answers[0][0]
    if re.fullmatch(MONTH, answer):
        return [(found.start(), found[0]) for found in re.finditer(MONTH, entry.passage)]
    [kind] = [kind for kind, names in KINDS.items() if answer in names]
    return [(match.start(), match[0]) for match in RIVALS.finditer(entry.passage) if match[0] in KINDS[kind]]


def test_sizes_and_shapes(suite):
    assert {split: len(entries) for split, entries in suite.items()} == {"train": 2000, "dev": 250, "test": 250}
    everything = list(chain(*suite.values()))
    assert len({entry.id for entry in everything}) == len(everything)
    assert len({(entry.passage, entry.question) for entry in everything}) == len(everything)
    for entry in everything:
        [(answer, start)] = entry.answers
        assert entry.passage.startswith(answer, start)
        assert entry.question.endswith("?")
        assert not re.search(r"[{}*]|\s\s", entry.passage + entry.question)
        assert 40 < len(entry.passage.split()) < 130


def test_answers_are_not_given_away(suite):
    """Gwen Paisley may live in Paisley, as people of this world do."""
    everything = list(chain(*suite.values()))
    assert sum(entry.answers[0][0] in entry.question for entry in everything) < 0.01 * len(everything)


NAME = "|".join(KINDS["person"])
PLACE = "|".join(KINDS["place"])
JOB = "|".join(KINDS["job"])
HOME = re.compile(rf"(?:lives in|has a house in|to|settled in|flat in|found a house in) ({PLACE})(?=[.,]| now)")
HOME_BEFORE = re.compile(rf"lives in ({PLACE}) now|now lives in ({PLACE})")


def told(passage):
    """{person: {home, job}} and {contest: (date, winner)}, read sentence by sentence with rules of this test."""
    people, contests, subject = {}, {}, None
    for sentence in re.findall(r".+?[a-z\d]\.(?= |$)", passage):
        event = re.search(r"(?:the|The) ((?:\w+ )+(?:Cup|Marathon|Regatta|Derby|Prize|Games))", sentence)
        named = re.findall(NAME, sentence)
        if event:
            second = re.search(rf"({NAME}) (?:came second|lost)|beat ({NAME})|in the .+ while ({NAME})", sentence)
            losers = {name for name in (second.groups() if second else ()) if name}
            losers |= set(re.findall(rf"while ({NAME})", sentence))
            [winner] = set(named) - losers
            contests[event[1]] = (re.search(MONTH, sentence)[0], winner)
            continue
        subject = named[0] if named else subject
        known = people.setdefault(subject, {})
        if job := re.search(rf"\ban? ({JOB})\b", sentence):
            known["job"] = job[1]
        elif home := HOME_BEFORE.search(sentence) or HOME.search(sentence):
            known["home"] = home[1] or home[2]
    return people, contests


def test_the_answer_is_what_the_passage_says(suite):
    checked = Counter()
    for entry in chain(*suite.values()):
        answer, question = entry.answers[0][0], entry.question
        people, contests = told(entry.passage)
        named = re.findall(NAME, question)
        if re.search(r"job of|for a living|kind of work", question):
            assert answer == people[named[0]]["job"], entry
            checked["job"] += 1
        elif named and re.search(r"live\?|home of|have a home", question) and "former" not in question:
            assert answer == people[named[0]]["home"], entry
            checked["home"] += 1
        elif found := re.fullmatch(rf".*(?:lives in|home in) ({PLACE})\?", question):
            assert people[answer]["home"] == found[1], entry
            checked["who"] += 1
        elif found := [contest for contest in contests if contest in question]:
            assert answer in contests[found[0]], entry
            checked["when" if re.fullmatch(MONTH, answer) else "winner"] += 1
    assert len(checked) == 5
    assert min(checked.values()) > 60


def test_every_question_has_rivals_for_its_answer(suite):
    for entry in chain(*suite.values()):
        found = candidates(entry)
        answer, start = entry.answers[0]
        assert (start, answer) in found, entry
        assert len({text for _, text in found}) >= (2 if re.fullmatch(MONTH, answer) else 3), entry


def f1(entries, predicted):
    return Metric().score([[entry.answers[0][0]] for entry in entries], predicted)["overall"]["f1"]


def test_dev_and_test_speak_of_others(suite):
    def named(split, kind):
        return {text for entry in suite[split] for text in kind if text in entry.passage}

    for split in ("dev", "test"):
        assert not named("train", KINDS["person"]) & named(split, KINDS["person"])
        assert not named("train", [e.name for e in HERE.events]) & named(split, [e.name for e in HERE.events])
    starred = [line[2:] for lines in mini.templates().values() for line in lines if line.startswith("*")]
    asked = [re.sub(r"{\w+}", ".+", re.escape(line).replace(r"\{", "{").replace(r"\}", "}")) for line in starred]
    asked = [pattern for pattern in asked if pattern.endswith(r"\?")]
    marked = {split: sum(any(re.fullmatch(p, e.question) for p in asked) for e in suite[split]) for split in suite}
    assert marked["train"] == 0
    assert 0.15 < marked["test"] / len(suite["test"]) < 0.35


def test_memorising_does_not_pay(suite):
    """The answer that train gives most often to this question, or to one that begins like it."""
    answers = defaultdict(Counter)
    for entry in suite["train"]:
        words = entry.question.rstrip("?").split()
        for size in range(len(words) + 1):
            answers[tuple(words[:size])][entry.answers[0][0]] += 1
    predicted = []
    for entry in suite["test"]:
        words = tuple(entry.question.rstrip("?").split())
        size = max(size for size in range(len(words) + 1) if words[:size] in answers)
        predicted.append(answers[words[:size]].most_common(1)[0][0])
    assert f1(suite["test"], predicted) < 15


@pytest.mark.parametrize("place", [0, 1, 2, -1, "any"])
def test_a_place_in_the_passage_does_not_pay_even_with_the_right_kind(suite, place):
    rng = random.Random(0)
    predicted = []
    for entry in suite["test"]:
        texts = list(dict.fromkeys(text for _, text in candidates(entry) if text not in entry.question))
        predicted.append(rng.choice(texts) if place == "any" else texts[min(place, len(texts) - 1)])
    assert f1(suite["test"], predicted) < 45


def test_what_stands_next_to_the_questions_words_does_not_pay(suite):
    """The candidate nearest to a name or word that the question shares with the passage."""
    predicted = []
    for entry in suite["test"]:
        words = [w for w in re.findall(r"\w+", entry.question) if w[0].isupper() or w in KINDS["job"]][1:]
        here = [m.start() for word in words for m in re.finditer(rf"\b{word}\b", entry.passage)] or [0]
        found = [
            (min(abs(start - h) for h in here), text) for start, text in candidates(entry) if text not in entry.question
        ]
        predicted.append(min(found)[1])
    assert f1(suite["test"], predicted) < 65
