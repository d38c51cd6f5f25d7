"""The mini suite: inference about the people, firms and events of the invented world, with gold by construction.

A third of the names and two fifths of the templates never occur in train. Each premise has a hypothesis of each label,
and each form of hypothesis has each label about equally often, so that neither sentence alone nor its words reveal the
label. It depends on who does what to whom, on denial and doubt, on whether there can be two of a kind, and on
quantifiers. The facts in a premise are invented for this premise, so there is nothing to memorise.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from elmo_bench import world
from elmo_bench.tasks.snli.logic import QUANTIFIERS, SUBJECTS, VALUES, Claim, Fact, Statement, independent, label
from elmo_bench.tasks.snli.pair import LABELS, Pair
from elmo_bench.world import names
from elmo_bench.world.draws import Writer, distinct
from elmo_bench.world.templates import templates_beside

SIZES = {"train": 800, "dev": 100, "test": 100}  # premises, of three pairs each
GROUPS = 0.25  # share of the premises that are about groups
OTHER = 0.5  # share of the neutral hypotheses about a topic that the premise does not mention


def generate(*, seed: int = 0) -> dict[str, list[Pair]]:
    """{"train": 2,400, "dev": 300, "test": 300 pairs}, no premise twice; equal for equal seeds everywhere."""
    here, writers = world.build(seed=seed), dict[str, _Writer]()

    def draw(rng: random.Random, split: str, _: int) -> list[Pair]:
        return writers.setdefault(split, _Writer(rng, here, unseen=split != "train")).three()

    splits = distinct(SIZES, seed, draw, key=lambda three: three[0].premise)
    return {split: [pair for three in threes for pair in three] for split, threes in splits.items()}


templates = templates_beside(__file__)


class _Writer(Writer):
    def __init__(self, rng: random.Random, here: world.World, *, unseen: bool):
        super().__init__(rng, here, unseen=unseen)
        self.used: Counter[tuple[str, str]] = Counter()  # (form, label) of the hypotheses so far

    def three(self) -> list[Pair]:
        """A premise with a hypothesis of each label; [] if some label is impossible."""
        make = self._statement if self.rng.random() < GROUPS else self._fact
        claims = [make()]
        if self.rng.random() < 0.5:
            claims.append(make(beside=claims[0]))
            if not independent(*claims):
                return []
        found: dict[str, list[Claim]] = defaultdict(list)
        for claim in self._variations(claims):
            found[label(claims, claim)].append(claim)
        other = [claim for claim in found["neutral"] if _topic(claim) not in map(_topic, claims)]
        if other and self.rng.random() < OTHER:
            found["neutral"] = other
        if not all(found[name] for name in LABELS):
            return []
        said = [self._said(claim) for claim in claims]
        premise = _sentence(self._fill("joined", first=said[0], second=said[1]) if len(said) > 1 else said[0])
        return [Pair(premise, _sentence(self._plainly(self._rarest(found[name], name))), name) for name in LABELS]

    def _fact(self, beside: Claim | None = None) -> Claim:
        """A fact. With `beside`: of its kind about somebody else, or of any kind about its subject."""
        kind, subject = self.rng.choice(list(VALUES)), None
        if isinstance(beside, Fact):
            kind = beside.kind
            if self.rng.random() < 0.5:
                kind, subject = self._kind(SUBJECTS[kind]), beside.subject
        subject = subject or self._name(SUBJECTS[kind])
        value = self._name(VALUES[kind])
        if value == subject:
            return self._fact(beside)
        return Fact(kind, subject, value, self.rng.choice([1, 1, 1, -1, 0]))

    def _statement(self, beside: Claim | None = None) -> Claim:
        group = f"{self.pick(names.JOBS)} from {self._name('place')}"
        return Statement(self.rng.choice(QUANTIFIERS), group, self._did())

    def _variations(self, claims: Sequence[Claim]) -> Iterator[Claim]:
        """Hypotheses from the words of the premise, with at most one new word."""
        statements = [claim for claim in claims if isinstance(claim, Statement)]
        for group in dict.fromkeys(claim.group for claim in statements):
            for did in dict.fromkeys([*(claim.did for claim in statements), self._did()]):
                yield from (Statement(quantifier, group, did) for quantifier in QUANTIFIERS)
        facts = [claim for claim in claims if isinstance(claim, Fact)]
        for fact in facts:
            own, more = SUBJECTS[fact.kind], self._kind(SUBJECTS[fact.kind])
            for kind in dict.fromkeys([fact.kind, more]):
                things = [(SUBJECTS[f.kind], f.subject) for f in facts] + [(VALUES[f.kind], f.value) for f in facts]
                subjects = dict.fromkeys(name for what, name in things if what == own)
                values = dict.fromkeys(
                    [name for what, name in things if what == VALUES[kind]] + [self._name(VALUES[kind])]
                )
                for truth in (1, -1):
                    yield from (Fact(kind, s, v, truth) for s in subjects for v in values if s != v)

    def _kind(self, subject: str) -> str:
        return self.rng.choice([kind for kind in VALUES if SUBJECTS[kind] == subject])

    def _rarest(self, claims: Sequence[Claim], name: str) -> Claim:
        """The claim whose form has had this label least often compared with the other labels."""

        def excess(claim: Claim) -> int:
            return 3 * self.used[_form(claim), name] - sum(self.used[_form(claim), other] for other in LABELS)

        claim = min(self.rng.sample(claims, len(claims)), key=excess)
        self.used[_form(claim), name] += 1
        return claim

    def _said(self, claim: Claim) -> str:
        """A claim of a premise, plain or embedded in what somebody knows, denies or asks."""
        if isinstance(claim, Statement):
            return self._plainly(claim)
        around = {1: "sure", -1: "denied", 0: "open"}[claim.truth]
        if claim.truth and self.rng.random() < 0.7:
            return self._plainly(claim)
        return self._fill(around, c=self._plainly(claim._replace(truth=1)), o=self._name("person"))

    def _plainly(self, claim: Claim) -> str:
        if isinstance(claim, Statement):
            job, place = claim.group.split(" from ")
            return self._fill(claim.quantifier, g=claim.group, gs=f"{job}s from {place}", p=claim.did)
        return self._fill(claim.kind, denied=claim.truth < 0, s=claim.subject, v=claim.value)

    def _did(self) -> str:
        event, product, firm, person, place = map(self._name, ("event", "product", "firm", "person", "place"))
        return self._fill("did", event=event, product=product, firm=firm, person=person, place=place)

    def _fill(self, group: str, *, denied: bool = False, **slots: str) -> str:
        """A template of that group with its slots filled."""
        line = self.rng.choice(self.lines(templates()[group])).removeprefix("* ")
        return line.split(" | ")[denied].format_map(slots)

    def _name(self, kind: str) -> str:
        things: dict[str, Sequence[str]] = {
            "person": [person.name for person in self.here.people],
            "place": [place.name for place in self.here.places],
            "firm": [firm.name for firm in self.here.organisations],
            "event": [event.name for event in self.here.events],
            "product": names.PRODUCTS,
            "month": names.MONTHS,
            "job": [f"{'an' if job[0] in 'aeiou' else 'a'} {job}" for job in names.JOBS],
        }
        return self.pick(things[kind])


def _topic(claim: Claim) -> str:
    return claim.did if isinstance(claim, Statement) else claim.kind


def _form(claim: Claim) -> str:
    return claim.quantifier if isinstance(claim, Statement) else f"{claim.kind} {claim.truth}"


def _sentence(text: str) -> tuple[str, ...]:
    return tuple(f"{text[:1].upper()}{text[1:]} .".split())
