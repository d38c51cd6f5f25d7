"""Questions as a file has them made into examples: tokens, and answers as spans of them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.tasks.squad.question import Passage, Question
from elmo_bench.tasks.squad.squad_json import Entry, line_of
from elmo_bench.tasks.squad.tokens import Tokeniser


class Builder:
    """Makes examples; passages that were seen before are not cut again."""

    def __init__(self) -> None:
        self.tokeniser = Tokeniser()
        self.passages: dict[str, Passage] = {}

    def questions(self, entries: Iterable[Entry], where: Path | str, *, answered: bool = True) -> list[Question]:
        """The examples of the entries of `where`, a file or what to call it.

        Without `answered` some may have no answers.
        Answers that end within a token are widened to it: how many is noted. Raises UserError, with file, line and
        question, where an answer does not stand where it is said to, is missing or empty, where a text has no words,
        and where two questions have one id.
        """
        found, widened, answers = [], 0, 0
        seen: set[str] = set()
        for entry in entries:
            if entry.id in seen:
                raise UserError(f"{_at(where, entry)}: a second one of this id; remove one of them")
            seen.add(entry.id)
            passage = self._passage(entry.passage)
            tokens, _ = self.tokeniser.sentence(entry.question)
            if not tokens or not passage.tokens:
                raise UserError(
                    f"{_at(where, entry)}: its {'passage' if tokens else 'question'} has no words; remove it"
                )
            if answered and not entry.answers:
                raise UserError(f"{_at(where, entry)}: no answers; SQuAD 1.1 has one at least (2.0 is another task)")
            spans = []
            for text, start in entry.answers:
                if not text.strip() or start < 0 or not entry.passage.startswith(text, start):
                    there = entry.passage[max(start, 0) :][: len(text)]
                    raise UserError(
                        f"{_at(where, entry)}: answer {text!r} is not at character {start}, where {there!r} stands; "
                        "mend it"
                    )
                first, last = span = _tokens(passage, start, start + len(text))
                spans.append(span)
                answers += 1
                widened += passage.cut(first, last) != text.strip()
            found.append(Question(entry.id, tokens, passage, tuple(text for text, _ in entry.answers), tuple(spans)))
        if widened:
            note(f"{widened} of {answers} answers end within a token; in training they are whole tokens", Path(where))
        return found

    def _passage(self, text: str) -> Passage:
        if text not in self.passages:
            self.passages[text] = Passage(text, *self.tokeniser.passage(text))
        return self.passages[text]


def _at(where: Path | str, entry: Entry) -> str:
    line = f":{line_of(where, entry.id)}" if isinstance(where, Path) else ""
    return f"{where}{line}: question {entry.id}"


def _tokens(passage: Passage, start: int, end: int) -> tuple[int, int]:
    """First and last token of which characters lie in start:end (not white space alone)."""
    last = bisect_left(passage.offsets, end, key=lambda span: span[0]) - 1
    return min(bisect_right(passage.offsets, start, key=lambda span: span[1]), last), last
