"""How people write spans as tags, and the spans, as in seqeval's strict mode.

`tags.py` has the BIO that heads and metrics use. This module finds out how the tags of
a file are written (schemes, letters, separators) and turns them into that BIO. A span
is what seqeval 1.2 reads with `mode="strict"` and the scheme: a tag that breaks its
scheme belongs to no span.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from elmo_bench.text.own_checks import folded
from elmo_bench.text.tags import Span

NAMELESS = "_"  # the type of spans without one, as in seqeval
OUTSIDE = ("O", "o", "0", "-", "_")  # how a token outside all spans is written
SEPARATORS = ("-", "_", ":", ".", "/", "|")
# Before a plain tag: BILOU's letter of a span of one token, which BIO lacks.
SINGLE = "U-"
TO_BIO = {"U": "B", "L": "I"}  # letters of BIOUL, and what BIO has for them
MOST = 10_000  # distinct tags of spans; more are words
PLAIN = "plain"  # every tag is a label
TYPES = "IO"  # every tag but O is a type, without a letter
LETTERS = {  # of each scheme, in the order in which they are tried
    "BIO": "BI",
    "IOB1": "BI",
    "IOE2": "IE",
    "BIOES": "BIES",
    "BILOU": "BILU",
    "BMES": "BMES",
    "BMEWO": "BMEW",
}
ALIASES = {"IOB2": "BIO", "IOBES": "BIOES", "BIOUL": "BILOU", "BMESO": "BMES"}
_ROLES = str.maketrans("MLUW", "IESS")  # a letter's role: begin, inside, end, single
_BRACKETS = re.compile(r"\([^()]*\*\)?|\*\)?")
NAMES = (*LETTERS, TYPES, PLAIN)


@dataclass(frozen=True)
class Notation:
    """How the tags of a corpus are written."""

    scheme: str  # a key of LETTERS, or TYPES
    separator: str = "-"  # "" for tags without a type
    suffix: bool = False  # `PER-B`
    lower: bool = False  # `b-per`
    outside: tuple[str, ...] = ("O",)  # always has O
    folds: bool = False  # types are read as `own_checks.folded` writes them

    def parts(self, tag: str) -> tuple[str, str]:
        """(role, type) of a tag: B, I, E or S; ("O", "") outside.

        Raises ValueError for a tag of another form, and for a type that is empty once
        it is folded.
        """
        if tag in self.outside:
            return "O", ""
        if self.scheme == TYPES:
            return "I", self._kind(tag, tag)
        parts = _split(tag, self.separator, self.suffix, self.lower)
        if parts is None or parts[0] not in LETTERS[self.scheme]:
            raise ValueError(f"'{tag}' is not a tag of {self} as the others are")
        letter, kind = parts
        return letter.translate(_ROLES), self._kind(kind, tag)

    def _kind(self, kind: str, tag: str) -> str:
        """The type of a tag as its span has it. Raises ValueError as `parts`."""
        kind = folded(kind) if self.folds else kind
        if not kind:
            raise ValueError(f"'{tag}' has white space as its type. Name the type")
        return kind

    def spans(self, tags: Sequence[str]) -> list[Span]:
        """The spans of a sentence, in order. Raises ValueError as `parts`."""
        return _READERS.get(self.scheme, _bounded)([self.parts(tag) for tag in tags])

    def to_bio(self, tags: Sequence[str]) -> list[str]:
        """Valid BIO with the spans of a sentence. Raises ValueError as `parts`."""
        bio = ["O"] * len(tags)
        for kind, first, last in self.spans(tags):
            bio[first] = f"B-{kind}"
            for place in range(first + 1, last + 1):
                bio[place] = f"I-{kind}"
        return bio

    def misfits(self, tags: Sequence[str]) -> list[int]:
        """The places of the tags that are in no span although they are not outside."""
        pairs = enumerate(zip(tags, self.to_bio(tags), strict=True))
        return [
            place
            for place, (tag, bio) in pairs
            if bio == "O" and tag not in self.outside
        ]

    def __str__(self) -> str:
        """As a note says it: the scheme, and what is unusual."""
        unusual = []
        if self.scheme != TYPES and self.separator == "":
            unusual.append("without a type")
        elif self.separator not in ("-", ""):
            unusual.append(f"separator {self.separator}")
        if self.suffix:
            unusual.append("type first")
        if self.lower:
            unusual.append("lower-case letters")
        other = [tag for tag in self.outside if tag != "O"]
        if other:
            unusual.append(f"{' and '.join(other)} for O")
        return f"{self.scheme} ({', '.join(unusual)})" if unusual else self.scheme


def notation_of(
    sequences: Iterable[Sequence[str]], scheme: str | None = None
) -> Notation | None:
    """How the tags of a corpus are written; None for plain tags.

    scheme: a key of LETTERS, TYPES or PLAIN; None: the scheme whose spans leave out the
    fewest tags. Plain tags are such as parts of speech. Raises ValueError, which names
    a tag, if some tags look like spans and others do not, or if the tags are not in
    `scheme`.
    """
    corpus = Counter(map(tuple, sequences))
    tags = sorted(set(chain.from_iterable(corpus)))
    present = [tag for tag in OUTSIDE if tag in tags]
    others = [tag for tag in tags if tag not in present]
    outside = ("O", *(tag for tag in present if tag != "O"))
    is_plain = scheme is None and len(others) > MOST
    if scheme == PLAIN or is_plain:
        return None
    if scheme == TYPES:
        return Notation(TYPES, "", outside=outside)
    if not others:
        if scheme is None and "O" not in present:
            return None
        return Notation(scheme or "BIO", outside=outside)
    forms = _forms(others, present)
    for form in forms:
        if len(form.letters) == len(others):
            candidates = _candidates(form, outside, scheme)
            if candidates:
                return _best(candidates, corpus)
    _refuse(forms[0], others, present, scheme)
    return None


@dataclass(frozen=True)
class _Form:
    """A way to split tags into letter and type.

    And the letters of the tags that it splits.
    """

    separator: str
    suffix: bool
    lower: bool
    letters: dict[str, str]  # letter by tag


def _forms(tags: Sequence[str], outside: Sequence[str]) -> list[_Form]:
    """Every way to split these tags, best first.

    Best is the form of the most tags, and of equals `B-PER` before all others.
    """
    forms = []
    for lower in (False, True):
        for separator in (*SEPARATORS, ""):
            for suffix in (False, True) if separator else (False,):
                letters = {}
                for tag in tags:
                    parts = _split(tag, separator, suffix, lower)
                    if parts is not None:
                        letters[tag] = parts[0]
                form = _Form(separator, suffix, lower, letters)
                if not _is_usual(form, outside):
                    form = replace(form, letters={})
                forms.append(form)
    return sorted(forms, key=lambda form: -len(form.letters))


def _is_usual(form: _Form, outside: Sequence[str]) -> bool:
    """Whether tags in an unusual form are spans.

    Parts of speech may be called B or S, or x_B.
    """
    if (form.separator, form.suffix, form.lower) == ("-", False, False):
        return True
    letters = {*form.letters.values()}
    if {*outside} & {"O", "o", "0"}:
        return bool(letters & {"B", "I"}) or form.separator != ""
    return "B" in letters and bool(letters & {"I", "M", "E", "L"})


@lru_cache(2**16)  # a corpus repeats a few tags many times
def _split(
    tag: str, separator: str, suffix: bool, lower: bool
) -> tuple[str, str] | None:
    """(letter in upper case, type) of a tag, or None if it is not written so."""
    if separator == "":
        letter, kind = tag, NAMELESS
    elif suffix:
        kind, _, letter = tag.rpartition(separator)
    else:
        letter, _, kind = tag.partition(separator)
    if lower:
        letter = letter.upper() if letter.islower() else ""
    if len(letter) != 1 or letter not in "BIEMSLUW" or not kind:
        return None
    return letter, kind


def _candidates(
    form: _Form, outside: tuple[str, ...], scheme: str | None
) -> list[Notation]:
    """The schemes that have all letters of a form."""
    letters = {*form.letters.values()}
    names = LETTERS if scheme is None else (scheme,)
    return [
        Notation(name, form.separator, form.suffix, form.lower, outside)
        for name in names
        if letters <= {*LETTERS[name]}
    ]


def _best(candidates: Sequence[Notation], corpus: Counter[tuple[str, ...]]) -> Notation:
    """The notation whose spans leave out the fewest tags; of equals the first."""
    counts = []
    for notation in candidates:
        count = 0
        for tags, times in corpus.items():
            count += len(notation.misfits(tags)) * times
        if count == 0:
            return notation
        counts.append(count)
    return candidates[counts.index(min(counts))]


def _refuse(
    form: _Form, tags: Sequence[str], outside: Sequence[str], scheme: str | None
) -> None:
    """Raises ValueError if some of the tags look like spans, or for a scheme."""
    odd = [tag for tag in tags if tag not in form.letters]
    like = [tag for tag in tags if tag in form.letters]
    schemes = scheme or ", ".join(LETTERS)
    if scheme and not like:
        raise ValueError(f"{odd[0]}: not a tag of {scheme}")
    brackets = [tag for tag in tags if _BRACKETS.fullmatch(tag)]
    if "*" in brackets and len(brackets) > 1:
        what = "spans in brackets, which are not read"
        raise ValueError(f"{brackets[0]}: {what}. Write them as BIO")
    is_common = (form.separator, form.suffix, form.lower) == ("-", False, False)
    is_likely = bool(like) and is_common and "O" in outside
    if scheme or is_likely or len(like) > len(odd):
        name = odd[0] if odd else "letters of two"
        raise ValueError(
            f"{name}: not in one scheme ({schemes}) with {like[0]}. Use one"
        )


def _bio(tags: Sequence[tuple[str, str]]) -> list[Span]:
    """B begins a span; I of its type goes on with it."""
    spans: list[Span] = []
    inside = False
    for place, (role, kind) in enumerate(tags):
        if role == "B":
            spans.append((kind, place, place))
        elif role == "I" and inside and spans[-1][0] == kind:
            spans[-1] = (kind, spans[-1][1], place)
        goes_on = role == "I" and inside and spans[-1][0] == kind
        inside = role == "B" or goes_on
    return spans


def _iob1(tags: Sequence[tuple[str, str]]) -> list[Span]:
    """I begins a span unless it goes on with one of its type.

    B begins a span right behind a tag of its type. A B behind anything else begins
    none, and takes a span from a single B before it, as in seqeval.
    """
    spans: list[Span] = []
    inside = False
    before = ("O", "")
    for place, (role, kind) in enumerate(tags):
        if role == "I" and inside and spans[-1][0] == kind:
            spans[-1] = (kind, spans[-1][1], place)
        elif role == "I" or (role == "B" and before[0] != "O" and before[1] == kind):
            spans.append((kind, place, place))
            inside = True
        else:
            if role == "B" and before[0] == "B" and inside:
                spans.pop()
            inside = False
        before = (role, kind)
    return spans


def _ioe2(tags: Sequence[tuple[str, str]]) -> list[Span]:
    """E ends a span, which has the I of its type before it."""
    spans: list[Span] = []
    first = 0
    for place, (role, kind) in enumerate(tags):
        if place and tags[place - 1] != ("I", kind):
            first = place
        if role == "E":
            spans.append((kind, first, place))
    return spans


def _bounded(tags: Sequence[tuple[str, str]]) -> list[Span]:
    """S is a span; B begins one that needs its E, with I between them."""
    spans: list[Span] = []
    start: int | None = None
    for place, (role, kind) in enumerate(tags):
        goes_on = start is not None and role in "IE" and tags[place - 1][1] == kind
        if role == "S":
            spans.append((kind, place, place))
        if role == "E" and goes_on and start is not None:
            spans.append((kind, start, place))
        if role == "B":
            start = place
        elif role != "I" or not goes_on:
            start = None
    return spans


_READERS: dict[str, Callable[[Sequence[tuple[str, str]]], list[Span]]] = {
    "BIO": _bio,
    "IOB1": _iob1,
    TYPES: _iob1,
    "IOE2": _ioe2,
}


def written(labels: Sequence[str]) -> list[str]:
    """The tag that `predict` writes for each label of a tagging head: BIO, or plain.

    Of BIOUL labels two may be written as one.
    """
    if "O" not in labels:
        return [label.removeprefix(SINGLE) for label in labels]
    return [TO_BIO.get(label[0], label[0]) + label[1:] for label in labels]
