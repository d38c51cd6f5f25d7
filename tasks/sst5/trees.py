"""Trees of the Stanford Sentiment Treebank: `(3 (2 It) (4 (3 works) (2 .)))`, a label 0-4 on every node."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.text.columns import check_ended
from elmo_bench.text.vocabulary import BRACKETS

LABELS = ("very negative", "negative", "neutral", "positive", "very positive")  # 0 to 4


@dataclass(frozen=True)
class Phrase:
    """A phrase, or a whole sentence, and its label."""

    tokens: tuple[str, ...]
    label: int | None  # None: unknown, in a file to predict
    sentence: tuple[str, ...] = field(default=(), repr=False, compare=False)  # that the phrase is from, if known

    @property
    def group(self) -> tuple[str, ...]:
        """The phrases of a sentence stay together in a fraction of the training data."""
        return self.sentence or self.tokens

    @property
    def whole(self) -> tuple[tuple[str, ...], ...]:
        """The vocabulary counts a sentence once, not each of its phrases."""
        return (self.group,)

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.tokens,)

    @property
    def gold(self) -> int | None:
        return self.label


@dataclass(frozen=True)
class Tree:
    """The leaves of a tree as written, and its nodes in pre-order: (label, first token, token after the last)."""

    tokens: tuple[str, ...]
    nodes: tuple[tuple[int, int, int], ...]

    def phrases(self, *, shortest: int | None) -> Iterator[Phrase]:
        """The phrases of at least `shortest` tokens in pre-order, with repetitions; None: the whole sentence only.

        Treebank escapes are replaced, as encoders and vectors were trained on plain text.
        """
        tokens = tuple(map(plain, self.tokens))
        for label, start, end in self.nodes if shortest is not None else self.nodes[:1]:
            if shortest is None or end - start >= shortest:
                yield Phrase(tokens[start:end], label, tokens)


def plain(token: str) -> str:
    r"""A token without treebank escapes: -LRB- is ( and so on, `\/` is `/`, `\*` is `*`."""
    return BRACKETS.get(token) or token.replace("\\/", "/").replace("\\*", "*")


def parse(line: str) -> Tree:
    """The tree on a line; a node has one word, or nodes. Raises ValueError."""
    tokens: list[str] = []
    nodes: list[tuple[int, int, int]] = []
    unclosed: list[list[int]] = []  # index in `nodes`, label, first token, words so far, nodes so far
    for part in re.finditer(r"\([ \t]*([^ \t()]*)|\)|[^ \t()]+", line):  # a token may hold other white space
        if not unclosed and (nodes or part[1] is None):
            raise ValueError(f"unbalanced parentheses: {part[0]!r} is outside of the tree")
        if part[1] is not None:
            if not re.fullmatch("[0-4]", part[1]):
                raise ValueError(f"{part[1]!r} is not a label: expected 0 to {len(LABELS) - 1} after each (")
            if unclosed:
                unclosed[-1][4] += 1
            unclosed.append([len(nodes), int(part[1]), len(tokens), 0, 0])
            nodes.append((-1, -1, -1))  # its end is not known yet
        elif part[0] == ")":
            place, label, start, words, inner = unclosed.pop()
            if (words, inner > 0) not in ((1, False), (0, True)):
                raise ValueError(f"a node of {words} words and {inner} nodes: expected one word, or nodes")
            nodes[place] = (label, start, len(tokens))
        else:
            unclosed[-1][3] += 1
            tokens.append(part[0])
    if unclosed or not nodes:
        raise ValueError(f"unbalanced parentheses: {len(unclosed)} still open at the end" if nodes else "no tree")
    return Tree(tuple(tokens), tuple(nodes))


def read_trees(path: Path) -> list[Tree]:
    """The trees of a file, one a line. Raises UserError, with file and line."""
    check_ended(path)
    trees = []
    for number, line in read_lines(path):
        if line.strip(" \t"):
            try:
                trees.append(parse(line))
            except ValueError as error:
                raise UserError(f"{path}:{number}: {error}. Fix this line.") from None
    if not trees:
        raise UserError(f"{path}: no trees. Download the file again.")
    return trees
