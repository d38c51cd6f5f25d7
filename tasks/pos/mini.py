"""The mini suite: sentences from templates in which many words can be noun or verb and only the context shows which.

A template is a sequence of words with Penn tags; {n}, {nn} and {v} are ambiguous words as noun, plural and verb. A
fifth of them never occurs in train.
"""

import random
import re

from elmo_bench.text.sentence import TaggedSentence
from elmo_bench.world import names
from elmo_bench.world.draws import distinct, pick

SIZES = {"train": 600, "dev": 200, "test": 200}
SEEN = 0.8  # share of the ambiguous words that train uses
BOTH = (
    "walk", "play", "plan", "report", "visit", "answer", "change", "plant", "work", "help", "hope", "offer", "order",
    "paint", "promise", "record", "repair", "request", "rest", "result", "return", "search", "sign", "smile", "start",
    "stop", "talk", "test", "tour", "trade", "turn", "vote", "wait", "watch", "call", "claim", "cook", "cover",
    "demand", "design", "display", "doubt", "dream", "drink", "fear", "guess", "joke", "laugh", "look", "notice",
)  # fmt: skip
ADJECTIVES = ("old", "new", "small", "quiet", "young", "wide", "cold", "early", "long", "warm")
ADVERBS = ("often", "soon", "again", "slowly", "never", "rarely", "quickly")
TEMPLATES = (
    "The/DT {a}/JJ {n}/NN was/VBD {a}/JJ ./.",
    "The/DT {nn}/NNS of/IN the/DT {job}/NN were/VBD {a}/JJ ./.",
    "They/PRP {v}/VBP in/IN {town}/NNP ./.",
    "They/PRP {adv}/RB {v}/VBP before/IN the/DT {n}/NN ./.",
    "We/PRP will/MD {v}/VB on/IN {day}/NNP ./.",
    "{man}/NNP did/VBD not/RB {v}/VB the/DT {a}/JJ {n}/NN ./.",
    "{woman}/NNP {surname}/NNP wants/VBZ to/TO {v}/VB {adv}/RB ./.",
    "Her/PRP$ {n}/NN and/CC his/PRP$ {nn}/NNS surprised/VBD {man}/NNP ./.",
    "The/DT {job}/NN {vs}/VBZ {adv}/RB ,/, but/CC the/DT {a}/JJ {job}/NN {vs}/VBZ too/RB ./.",
    "{number}/CD {nn}/NNS from/IN {town}/NNP came/VBD in/IN {month}/NNP ./.",
    "Did/VBD you/PRP {v}/VB the/DT {nn}/NNS ?/.",
    "A/DT {n}/NN in/IN {town}/NNP helped/VBD the/DT {nn}/NNS ./.",
    "{Nn}/NNS {v}/VBP when/WRB the/DT {job}/NN {vs}/VBZ ./.",
    "{V}/VB the/DT {n}/NN on/IN {day}/NNP !/.",
)
WORDS = {
    "a": ADJECTIVES, "adv": ADVERBS, "job": names.JOBS, "town": names.TOWNS, "day": names.DAYS, "month": names.MONTHS,
    "man": names.MEN, "woman": names.WOMEN, "surname": names.SURNAMES, "number": tuple(map(str, range(12, 90))),
}  # fmt: skip


def generate(*, seed: int = 0) -> dict[str, list[TaggedSentence]]:
    """{"train": 600, "dev": 200, "test": 200 sentences}, none of them twice; equal for equal seeds everywhere."""
    return distinct(SIZES, seed, lambda rng, split, _: _fill(rng.choice(TEMPLATES), rng, unseen=split != "train"))


def _fill(template: str, rng: random.Random, *, unseen: bool) -> TaggedSentence:
    tokens: list[str] = []
    tags: list[str] = []
    for part in template.split():
        word, _, tag = part.rpartition("/")
        if slot := re.fullmatch(r"{(\w+)}", word):
            word = _word(slot[1], rng, unseen=unseen)
        tokens += word.split()
        tags += [tag] * len(word.split())
    return TaggedSentence(tuple(tokens), tuple(tags))


def _word(slot: str, rng: random.Random, *, unseen: bool) -> str:
    if slot.lower() not in ("n", "nn", "v", "vs"):
        return rng.choice(WORDS[slot])
    word = pick(BOTH, rng, unseen=unseen, seen=SEEN)
    if slot.lower() in ("nn", "vs"):  # the plural and the third person are one form
        word += "es" if word.endswith(("ch", "sh")) else "s"
    return word.capitalize() if slot[0].isupper() else word
