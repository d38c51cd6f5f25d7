"""Arguments of a proposition and which of them are right, as srl-eval.pl (CoNLL-2005) has it; facts sheet 5.3."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from elmo_bench.tasks.srl.brackets import Phrase

Span = tuple[int, int]  # first and last token


class Argument(NamedTuple):
    """From the start of its first piece to the end of its last; `pieces` is empty where it is one phrase."""

    start: int
    end: int
    label: str
    pieces: tuple[Span, ...]


def arguments(phrases: Iterable[Phrase]) -> list[Argument]:
    """C-X continues the latest X (or C-X that stood for one); without one it is an X itself."""
    found: list[Argument] = []
    latest: dict[str, int] = {}
    for start, end, label, inner in phrases:
        kind = label.removeprefix("C-")
        if kind != label and kind in latest:
            before = found[latest[kind]]
            pieces = (*(before.pieces or [(before.start, before.end)]), (start, end))
            found[latest[kind]] = Argument(before.start, end, kind, pieces)
        else:
            latest[kind] = len(found)
            found.append(Argument(start, end, kind, inner))
    return found


def compare(gold: Sequence[Argument], predicted: Sequence[Argument]) -> tuple[list[str], list[str], list[str]]:
    """The labels of the correct, the excess and the missed arguments.

    Right are label, span, and every piece. Of gold arguments with the same span the last counts (as there).
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
