"""Fine-grained sentiment: the suites as phrases with a label from 0 to 4.

Trees of the Stanford Sentiment Treebank are `(3 (2 It) (4 (3 works) (2 .)))`, a label
on every node.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, data_file
from elmo_bench.text.columns import (
    NO_GOLD,
    check_ended,
    filled_lines,
    line_of,
    tokens_of,
)
from elmo_bench.text.vocabulary import BRACKETS

LABELS = ("very negative", "negative", "neutral", "positive", "very positive")  # 0 to 4


@dataclass(frozen=True)
class Phrase:
    """A phrase, or a whole sentence, and its label."""

    tokens: tuple[str, ...]
    label: int | None  # None: unknown, in a file to predict
    # That the phrase is from, if known.
    sentence: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def group(self) -> tuple[str, ...]:
        """The phrases of a sentence stay together in a fraction of the data."""
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
    """A sentence with a label for each of its phrases."""

    tokens: tuple[str, ...]  # the leaves as written
    # In pre-order: label, first token, token after the last.
    nodes: tuple[tuple[int, int, int], ...]

    def phrases(self, *, shortest: int | None) -> Iterator[Phrase]:
        """The phrases of at least `shortest` tokens in pre-order, with repetitions.

        None: the whole sentence only. Treebank escapes are replaced, as encoders and
        vectors were trained on plain text.
        """
        tokens = tuple(map(plain, self.tokens))
        nodes = self.nodes if shortest is not None else self.nodes[:1]
        for label, start, end in nodes:
            if shortest is None or end - start >= shortest:
                yield Phrase(tokens[start:end], label, tokens)


def plain(token: str) -> str:
    r"""A token without treebank escapes.

    -LRB- is ( and so on, `\/` is `/`, `\*` is `*`.
    """
    return BRACKETS.get(token) or token.replace("\\/", "/").replace("\\*", "*")


@dataclass
class _Open:
    """A node that is not closed yet."""

    place: int  # among all nodes
    label: int
    start: int  # its first token
    words: int = 0  # directly in it, so far
    nodes: int = 0


# A bracket with its label, a closing bracket, or a word, which may hold other white
# space.
_PART = re.compile(r"\([ \t]*([^ \t()]*)|\)|[^ \t()]+")


def parse(line: str) -> Tree:
    """The tree on a line; a node has one word, or nodes. Raises ValueError."""
    tokens: list[str] = []
    nodes: list[tuple[int, int, int]] = []
    unclosed: list[_Open] = []
    for part in _PART.finditer(line):
        text, label = part[0], part[1]
        if not unclosed and (nodes or label is None):
            raise ValueError(f"unbalanced parentheses: {text!r} is outside of the tree")
        if label is not None:
            if not re.fullmatch("[0-4]", label):
                labels = f"0 to {len(LABELS) - 1}"
                raise ValueError(
                    f"{label!r} is not a label: expected {labels} after each ("
                )
            if unclosed:
                unclosed[-1].nodes += 1
            unclosed.append(_Open(len(nodes), int(label), len(tokens)))
            nodes.append((-1, -1, -1))  # its end is not known yet
        elif text == ")":
            node = unclosed.pop()
            _check_node(node)
            nodes[node.place] = (node.label, node.start, len(tokens))
        else:
            unclosed[-1].words += 1
            tokens.append(text)
    if not nodes:
        raise ValueError("no tree")
    if unclosed:
        raise ValueError(
            f"unbalanced parentheses: {len(unclosed)} still open at the end"
        )
    return Tree(tuple(tokens), tuple(nodes))


def _check_node(node: _Open) -> None:
    """Raises ValueError unless a node has one word, or nodes."""
    is_leaf = node.words == 1 and node.nodes == 0
    is_inner = node.words == 0 and node.nodes > 0
    if not (is_leaf or is_inner):
        raise ValueError(
            f"a node of {node.words} words and {node.nodes} nodes: "
            "expected one word, or nodes"
        )


def read_trees(path: Path) -> list[Tree]:
    """The trees of a file, one a line. Raises UserError, with file and line."""
    check_ended(path)
    trees = []
    for number, line in filled_lines(path):
        try:
            trees.append(parse(line))
        except ValueError as error:
            raise UserError(f"{path}:{number}: {error}. Fix this line.") from None
    if not trees:
        raise UserError(f"{path}: no trees. Download the file again.")
    return trees


class Data(SuiteData):
    """Reads the suites that `conf/task/sst5.yaml` names.

    They also have `phrases`: the minimum tokens of the labelled phrases that training
    reads (null: whole sentences only). Dev and test are whole sentences.
    """

    schema = "sst5-1"
    ending = ".tsv"
    sources = ("files",)

    def read(self, suite: str, root: Path | None) -> dict[str, list[Phrase]]:
        shortest = self.options(suite)["phrases"]
        where = f"task.data.{suite}.phrases={shortest}"
        if shortest is not None and (not isinstance(shortest, int) or shortest < 1):
            raise UserError(f"{where}: give a number of tokens from 1, or null")
        trees = super().read(suite, root)
        train = _phrases(trees["train"], shortest)
        if not train:
            raise UserError(f"{where}: no training phrase is as long. Lower it.")
        return {
            "train": train,
            "dev": _phrases(trees["dev"], None),
            "test": _phrases(trees["test"], None),
        }

    def from_files(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Tree]:
        return read_trees(data_file(root, options["folder"], options[split]))

    def canonical(self, example: Phrase) -> dict[str, Any]:
        return {"tokens": example.tokens, "label": example.label}

    def vocabulary(self, train: Sequence[Phrase]) -> dict[str, int]:
        """{"labels": 5}, even if the training data lacks one."""
        return {"labels": len(LABELS)}

    def read_file(self, path: Path) -> list[Phrase]:
        """The sentences of a file, one a line.

        They are trees, what `write` wrote, or tokenised sentences without labels, whose
        treebank escapes are replaced. Raises UserError, with file and line.
        """
        first = next((line for _, line in read_lines(path) if line.strip()), "")
        # A text may begin with "(3 stars)".
        if re.match(r"\([0-4] *(\(|[^() ]+\)\s*$)", first):
            return _phrases(read_trees(path), None)
        if not first:
            raise UserError(f"{path}: no sentences. Give one a line.")
        phrases = []
        unlabelled = 0
        for number, line in filled_lines(path):
            if _TREE.match(line):
                raise UserError(
                    f"{path}:{number}: a tree, but the first line is none. "
                    "Give trees alone, or none."
                )
            phrase = _written(line)
            if phrase is None:
                unlabelled += 1
                phrase = Phrase(tuple(map(plain, tokens_of(line))), None)
            phrases.append(phrase)
        if unlabelled:
            form = "one a line, their tokens separated by spaces"
            note(f"read as {unlabelled:,} sentences without gold, {form}", path)
        return phrases

    def write(
        self, path: Path, examples: Sequence[Phrase], predicted: Sequence[int]
    ) -> None:
        """Write gold, predicted label and text, separated by tabs, a line a sentence.

        Gold is `-` if unknown.
        """
        with atomic_write(path, "w") as handle:
            for phrase, label in zip(examples, predicted, strict=True):
                gold = NO_GOLD if phrase.label is None else phrase.label
                handle.write(f"{gold}\t{label}\t{line_of(phrase.tokens)}\n")


# The start of a tree of several nodes.
_TREE = re.compile(r"\([0-4] *\([0-4] ")


def _written(line: str) -> Phrase | None:
    """The sentence of a line that `write` wrote; None for any other line."""
    cells = re.fullmatch(r"([-0-4])\t[0-4]\t(.*)", line)
    if cells is None:
        return None
    gold, text = cells.groups()
    return Phrase(tuple(tokens_of(text)), None if gold == NO_GOLD else int(gold))


def _phrases(trees: Iterable[Tree], shortest: int | None) -> list[Phrase]:
    phrases: list[Phrase] = []
    for tree in trees:
        phrases += tree.phrases(shortest=shortest)
    return phrases
