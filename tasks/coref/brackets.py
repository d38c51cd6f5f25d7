"""The coreference column of CoNLL-2012: `(3` opens a mention of chain 3, `3)` closes it, `(3)` is one token."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from elmo_bench.tasks.coref.document import Span

EMPTY = ("-", "_")
_PART = re.compile(r"(\()?([^()|]+)(\))?")


def parse_column(column: Iterable[tuple[int, str]]) -> dict[str, list[Span]]:
    """The chains of a column of (line number, cell), by their id in the order of their first brackets, spans sorted.

    A closing bracket ends the latest open one of its chain, whatever the order within a cell. Raises BracketError.
    """
    reader = _Reader()
    for token, (line, cell) in enumerate(column):
        if cell not in EMPTY:
            reader.read(token, line, cell)
    for chain, places in reader.opened.items():
        if places:
            raise BracketError(places[-1][1], f"'({chain}' is never closed in its document")
    return {chain: sorted(spans) for chain, spans in reader.chains.items()}


class _Reader:
    def __init__(self) -> None:
        self.chains: dict[str, list[Span]] = {}
        self.opened: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)  # token and line of open brackets

    def read(self, token: int, line: int, cell: str) -> None:
        opening: list[str] = []
        closing: list[str] = []
        for text in cell.split("|"):
            part = _PART.fullmatch(text)
            if part is None or not (part[1] or part[3]):
                raise BracketError(line, f"'{cell}' is not a cell of coreference brackets, such as -, (3, 3) or (3)|(5")
            spans = self.chains.setdefault(part[2], [])
            if part[1] and part[3]:
                spans.append((token, token))
            else:
                (opening if part[1] else closing).append(part[2])
        # Closing brackets refer to earlier mentions first; "(3|3)" without an open chain is one token.
        late = [chain for chain in closing if not self._close(chain, token)]
        for chain in opening:
            self.opened[chain].append((token, line))
        for chain in late:
            if not self._close(chain, token):
                raise BracketError(line, f"'{chain})' closes a chain that no '({chain}' opened")

    def _close(self, chain: str, token: int) -> bool:
        if not self.opened[chain]:
            return False
        self.chains[chain].append((self.opened[chain].pop()[0], token))
        return True


class BracketError(ValueError):
    """An error in a column, with its line."""

    def __init__(self, line: int, problem: str):
        super().__init__(problem)
        self.line = line


def format_column(clusters: Iterable[Sequence[Span]], tokens: int) -> list[str]:
    """The cells of `tokens` tokens, one number a cluster. Spans of one cluster must not cross."""
    opening: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)  # by token: what sorts it, and the part
    single: defaultdict[int, list[str]] = defaultdict(list)
    closing: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, spans in enumerate(clusters):
        for start, end in spans:
            if start == end:
                single[start].append(f"({number})")
            else:
                opening[start].append((-end, f"({number}"))
                closing[end].append((-start, f"{number})"))
    return [
        "|".join(
            [text for _, text in sorted(closing[token])] + [text for _, text in sorted(opening[token])] + single[token]
        )
        or "-"
        for token in range(tokens)
    ]
