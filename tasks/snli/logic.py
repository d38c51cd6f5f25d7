"""What follows from what in the mini suite: facts, statements about groups, and a hypothesis's label."""

from collections.abc import Iterable
from typing import NamedTuple

# What a value is: a subject has one at most (one home, one month), so that another value denies it.
ONE = {"home": "place", "employer": "firm", "job": "job", "seat": "place", "month": "month", "won": "person"}
MANY = {"product": "product", "attended": "event"}  # or any number
# Between two people: if one then also the other way round, if one then not the other, or neither follows.
BOTH_WAYS, ONE_WAY, EITHER_WAY = ("met", "cousin"), ("beat", "older"), ("thanked", "hired")
PEOPLE = (*BOTH_WAYS, *ONE_WAY, *EITHER_WAY)
VALUES = ONE | MANY | dict.fromkeys(PEOPLE, "person")
SUBJECTS = dict.fromkeys(VALUES, "person") | {"seat": "firm", "product": "firm", "month": "event", "won": "event"}

# Statements about a group that is not empty: what the truth of the first says of the second.
QUANTIFIERS = ("every", "some", "none", "not every")
_FOLLOWS = {
    "every": {"every": 1, "some": 1, "none": -1, "not every": -1},
    "some": {"every": 0, "some": 1, "none": -1, "not every": 0},
    "none": {"every": -1, "some": -1, "none": 1, "not every": 1},
    "not every": {"every": -1, "some": 0, "none": 0, "not every": 1},
}


class Fact(NamedTuple):
    """`truth` is 1, -1 (it is denied) or 0 (it is left open)."""

    kind: str
    subject: str
    value: str
    truth: int


class Statement(NamedTuple):
    """One of QUANTIFIERS says which of a group ("teacher from Ashford") did something."""

    quantifier: str
    group: str
    did: str


Claim = Fact | Statement


def label(premise: Iterable[Claim], hypothesis: Claim) -> str:
    """entailment, neutral or contradiction."""
    known = next((truth for claim in premise if (truth := says(claim, hypothesis))), 0)
    return ("neutral", "entailment", "contradiction")[known]


def independent(one: Claim, other: Claim) -> bool:
    """Whether neither says anything of the other, nor both of one thing: they can stand side by side in a premise."""
    return one[:3] != other[:3] and one[1:] != other[1:] and not says(one, other) and not says(other, one)


def says(claim: Claim, other: Claim) -> int:
    """1 where the claim makes the other true, -1 where it makes it false, 0 where it says nothing of it."""
    if isinstance(claim, Statement) and isinstance(other, Statement):
        same = (claim.group, claim.did) == (other.group, other.did)
        return _FOLLOWS[claim.quantifier][other.quantifier] if same else 0
    if isinstance(claim, Fact) and isinstance(other, Fact) and claim.kind == other.kind:
        return _says(claim, other) * other.truth
    return 0


def _says(fact: Fact, other: Fact) -> int:
    if (fact.subject, fact.value) == (other.subject, other.value):
        return fact.truth
    if (fact.subject, fact.value) == (other.value, other.subject):
        if fact.kind in BOTH_WAYS:
            return fact.truth
        return -1 if fact.kind in ONE_WAY and fact.truth == 1 else 0
    return -1 if fact.kind in ONE and fact.subject == other.subject and fact.truth == 1 else 0
