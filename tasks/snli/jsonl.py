"""SNLI files: a JSON object on each line, with raw sentences and, in the original files, their parses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.json import parse_json
from elmo_bench.text.columns import check_ended, tokens_of
from elmo_bench.text.vocabulary import BRACKETS, tokeniser

LABELS = ("entailment", "neutral", "contradiction")  # in the Hub's order: 0, 1, 2
NO_GOLD = "-"  # what SNLI writes where its annotators did not agree


@dataclass(frozen=True)
class Pair:
    """Two tokenised sentences, and one of LABELS or NO_GOLD: does the second follow from the first?"""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str

    @property
    def group(self) -> tuple[str, ...]:
        """Pairs of one premise stay together in a fraction of the training data."""
        return self.premise

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.premise, self.hypothesis)

    @property
    def gold(self) -> str:
        return self.label


def read_pairs(path: Path, *, tokenizer: str, labelled: bool = True) -> list[Pair]:
    """The pairs of a file, with or without gold label; other keys are ignored.

    A sentence is the leaves of its `sentence1_binary_parse` (`sentence2_…`) if the line has one, else `tokenizer`
    splits the raw text. Without `labelled` a line may lack `gold_label`. A file that `Data.write` wrote is read, too.
    Raises UserError with file and line.
    """
    check_ended(path)
    pairs = []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            pairs.append(_written(line) or _pair(parse_json(line, f"{path}:{number}"), tokenizer, labelled=labelled))
        except ValueError as error:
            raise UserError(f"{path}:{number}: {error}. Fix this line.") from None
    if not pairs:
        raise UserError(f"{path}: no pairs. Download the file again.")
    return pairs


def _written(line: str) -> Pair | None:
    """The pair of a line of predictions; None for any other line."""
    cells = line.split("\t")
    if len(cells) != 4 or cells[0] not in (*LABELS, NO_GOLD) or cells[1] not in LABELS:
        return None
    return Pair(tuple(tokens_of(cells[2])), tuple(tokens_of(cells[3])), cells[0])


def _pair(row: Any, tokenizer: str, *, labelled: bool) -> Pair:
    if not isinstance(row, dict):
        raise ValueError("expected an object with sentence1, sentence2 and gold_label")
    label = row.get("gold_label", None if labelled else NO_GOLD)
    if label not in (*LABELS, NO_GOLD):
        raise ValueError(f"gold_label is {label!r:.60}: expected {', '.join(LABELS)} or {NO_GOLD}")
    return Pair(_tokens(row, "sentence1", tokenizer), _tokens(row, "sentence2", tokenizer), label)


def _tokens(row: dict[str, Any], name: str, tokenizer: str) -> tuple[str, ...]:
    text, tree = row.get(name), row.get(f"{name}_binary_parse") or ""
    if not isinstance(text, str) or not isinstance(tree, str):
        raise ValueError(f"{name} is missing, or it or its parse is not text")
    tokens = leaves(tree) if tree.strip() else tokeniser(tokenizer)(text)
    if not tokens:
        raise ValueError(f"{name} is empty")
    return tuple(tokens)


def leaves(tree: str) -> list[str]:
    """The words of a binary parse such as `( ( Two women ) ( talk . ) )`, or of a single word without brackets.

    Treebank escapes are replaced: -LRB- by ( and so on. Raises ValueError if the brackets do not match.
    """
    parts = tree.split()
    depth = 0
    for place, part in enumerate(parts):
        depth += (part == "(") - (part == ")")
        if depth < 0 or (depth == 0 and place < len(parts) - 1):
            raise ValueError(f"a parse with unbalanced parentheses: {part!r} is outside of the tree")
    if depth:
        raise ValueError(f"a parse with unbalanced parentheses: {depth} still open at the end")
    return [BRACKETS.get(part, part) for part in parts if part not in ("(", ")")]
