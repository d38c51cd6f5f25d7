"""Arguments of a proposition and which of them are correct, as in srl-eval.pl (CoNLL-2005)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from elmo_bench.tasks.srl.brackets import Phrase

Span = tuple[int, int]  # first and last token


class Argument(NamedTuple):
    """From the start of its first piece to the end of its last; `pieces` is empty where it is one phrase."""

    start: int
    end: int
    label: str
    pieces: list[Span]


def arguments(phrases: Iterable[Phrase]) -> list[Argument]:
    """The arguments of phrases. C-X continues the latest X (or C-X without an X); otherwise it is an X itself."""
    found: list[Argument] = []
    latest: dict[str, int] = {}
    for start, end, label, inner in phrases:
        kind = label.removeprefix("C-")
        if kind != label and kind in latest:
            before = found[latest[kind]]
            before.pieces.extend([(start, end)] if before.pieces else [(before.start, before.end), (start, end)])
            found[latest[kind]] = before._replace(end=end)
        else:
            latest[kind] = len(found)
            found.append(Argument(start, end, kind, list(inner)))
    return found


def compare(gold: Sequence[Argument], predicted: Sequence[Argument]) -> tuple[list[str], list[str], list[str]]:
    """The labels of the correct, the excess and the missed arguments.

    An argument is correct if label, span and every piece match. Of gold arguments with one span the last counts.
    """
    wanted = {(a.start, a.end): a for a in gold}
    correct, excess = [], []
    for a in predicted:
        other = wanted.get((a.start, a.end))
        if other and other.label == a.label and sorted(set(other.pieces)) == sorted(a.pieces):
            correct.append(a.label)
            del wanted[a.start, a.end]
        else:
            excess.append(a.label)
    return correct, excess, [a.label for a in wanted.values()]
