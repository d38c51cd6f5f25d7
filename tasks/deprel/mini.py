"""The mini suite: sentences from templates in which the relation of a word follows from its context, not its form.

A template is a sequence of word/relation/head, with heads counted from 1. Names are subject, object or oblique; {n} is
one of NOUNS, of which a fifth never occurs in train.
"""

import random
import re

from elmo_bench.tasks.deprel.sentence import Sentence
from elmo_bench.world import names
from elmo_bench.world.draws import distinct, pick

SIZES = {"train": 600, "dev": 200, "test": 200}
SEEN = 0.8  # share of NOUNS that train uses
NOUNS = (
    "report", "plan", "visit", "answer", "change", "plant", "offer", "order", "promise", "record", "repair", "request",
    "result", "return", "search", "sign", "start", "talk", "test", "tour", "trade", "turn", "vote", "watch", "claim",
    "cook", "cover", "demand", "design", "display", "dream", "drink", "joke", "look", "notice",
)  # fmt: skip
VERBS = ("surprised", "helped", "praised", "followed", "called", "thanked", "saw", "met", "remembered", "trusted")
ADJECTIVES = ("old", "new", "small", "quiet", "young", "wide", "cold", "early", "long", "warm")
TEMPLATES = (
    "{man}/nsubj/2 {v}/root/0 {woman}/obj/2 ./punct/2",
    "{woman}/nsubj/2 {v}/root/0 {man}/obj/2 in/case/6 the/det/6 {n}/obl/2 ./punct/2",
    "{man}/nsubj:pass/3 was/aux:pass/3 {v}/root/0 by/case/5 {woman}/obl:agent/3 ./punct/3",
    "The/det/3 {a}/amod/3 {n}/nsubj/4 {v}/root/0 the/det/6 {job}/obj/4 ./punct/4",
    "The/det/2 {n}/nsubj/5 of/case/4 {man}/nmod/2 {v}/root/0 {woman}/obj/5 ./punct/5",
    "{man}/nmod:poss/3 's/case/1 {n}/nsubj/4 {v}/root/0 the/det/6 {job}/obj/4 ./punct/4",
    "The/det/2 {job}/nsubj/3 {v}/root/0 {woman}/obj/3 and/cc/6 {man}/conj/4 ./punct/3",
    "{woman}/nsubj/5 and/cc/3 {man}/conj/1 never/advmod/5 {v}/root/0 the/det/7 {n}/obj/5 ./punct/5",
    "The/det/2 {job}/nsubj/6 who/nsubj/4 {v}/acl:relcl/2 {man}/obj/4 {v}/root/0 the/det/8 {n}/obj/6 ./punct/6",
    "On/case/2 {day}/obl/5 the/det/4 {job}/nsubj/5 {v}/root/0 {man}/obj/5 ./punct/5",
    "Who/nsubj/2 {v}/root/0 the/det/5 {a}/amod/5 {n}/obj/2 ?/punct/2",
    "The/det/2 {n}/nsubj/4 was/cop/4 {a}/root/0 in/case/6 {month}/obl/4 ./punct/4",
)
WORDS = {
    "a": ADJECTIVES, "v": VERBS, "job": names.JOBS, "day": names.DAYS, "month": names.MONTHS, "man": names.MEN,
    "woman": names.WOMEN,
}  # fmt: skip


def generate(*, seed: int = 0) -> dict[str, list[Sentence]]:
    """{"train": 600, "dev": 200, "test": 200 sentences}, none of them twice; equal for equal seeds everywhere."""
    return distinct(SIZES, seed, lambda rng, split, _: _fill(rng.choice(TEMPLATES), rng, unseen=split != "train"))


def _fill(template: str, rng: random.Random, *, unseen: bool) -> Sentence:
    cells = [part.rsplit("/", 2) for part in template.split()]
    tokens = tuple(_word(word, rng, unseen=unseen) for word, _, _ in cells)
    return Sentence(tokens, tuple(int(head) - 1 for _, _, head in cells), tuple(relation for _, relation, _ in cells))


def _word(word: str, rng: random.Random, *, unseen: bool) -> str:
    slot = re.fullmatch(r"{(\w+)}", word)
    if slot is None:
        return word
    return pick(NOUNS, rng, unseen=unseen, seen=SEEN) if slot[1] == "n" else rng.choice(WORDS[slot[1]])
