"""Data of the user's own: which columns, which rows, and a split of what is not split. Imports no torch.

What is guessed is noted.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.text.columns import unescaped
from elmo_bench.text.cut import cut_missing
from elmo_bench.text.split_files import files_of, unused_files
from elmo_bench.text.tables import Row, ending_of, read_table, write_table
from elmo_bench.text.vocabulary import tokeniser

USUAL = {  # names of columns, best first
    "text": ("text", "sentence", "review", "content", "document", "comment", "tweet", "question"),
    "label": ("label", "labels", "class", "category", "sentiment", "gold_label", "gold", "target"),
    "tokens": ("tokens", "words", "form", "token", "word"),
    "tags": ("tags", "ner_tags", "labels", "pos_tags", "gold", "upos", "tag", "ner_tag", "label"),
    "premise": ("premise", "sentence1", "text1", "question1", "first", "text_a"),
    "hypothesis": ("hypothesis", "sentence2", "text2", "question2", "second", "text_b"),
}
# A list in a cell, as Python, pandas and NumPy print it.
_PRINTED = re.compile(r"""\s*(array\()?\[(\s*['"].*['"]\s*|[-+\d.,\s]*+)\]\)?\s*""", re.DOTALL)
MOST_LABELS, SHOWN = 1000, 12  # labels of a column, and of a note
LOOKED_AT = 10_000  # rows, for lists in cells
GOLD, PREDICTED = "gold", "predicted"  # columns of a file of predictions


@dataclass(frozen=True)
class Labelled:
    """Tokenised texts and the label that they have together."""

    texts: tuple[tuple[str, ...], ...]
    gold: str | None  # None: unknown
    row: Row = field(default_factory=dict, repr=False, compare=False)  # that it was read from

    @property
    def group(self) -> tuple[str, ...]:
        """Examples with the same first text stay together, in splits and in fractions of the training data."""
        return self.texts[0]


def places(examples: Sequence[Labelled], labels: Sequence[str]) -> list[int]:
    """The place of each example's label; 0 for one that training lacks, of which no loss is computed."""
    of = {label: place for place, label in enumerate(labels)}
    return [of.get(example.gold or "", 0) for example in examples]


class OwnData:
    """A `contracts.Data` of rows with a label, without `schema` and `parts`, which a task on own data gives.

    Built with the options of `data` in the task's yaml: the files, the tokeniser of raw text, and the column of each
    part where the user names it.
    """

    schema: str
    ending = ".jsonl"
    parts: tuple[str, ...]  # of an example, keys of USUAL: texts, and last the gold
    unit = "rows"
    endings: tuple[str, ...] | None = TABLES  # of the files of a folder that it reads; None: all but .md
    plain = True  # whether each label is an answer of its own; of a span, several tags are one

    def __init__(
        self,
        *,
        file: str | None = None,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        tokenizer: str = "spaces",
        **columns: str | None,
    ):
        self.file, self.given = file, {"train": train, "dev": dev, "test": test}
        self.tokenizer, self.cut, self.columns = tokenizer, tokeniser(tokenizer), columns

    def files(self, suite: str, root: Path | None) -> list[Path]:
        return [path for paths in files_of(self.file, self.given, self.reads).values() for path in paths]

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        """{"train", "dev", "test"}; a split without a file is cut from train. Raises UserError."""
        paths = files_of(self.file, self.given, self.reads)
        if self.file is not None and [path.name for path in paths["train"]] != [Path(self.file).name]:
            more = {split: f" and {len(own) - 1} more" if len(own) > 1 else "" for split, own in paths.items()}
            note(f"files: {', '.join(f'{split}={own[0].name}{more[split]}' for split, own in paths.items())}")
        if unused := unused_files(self.file, paths, self.reads):
            listed = f"{', '.join(unused[:5])}{' …' if len(unused) > 5 else ''}"
            note(f"files that no split uses: {listed}. Give data.train=, data.dev= and data.test=FILE to use them")
        rows = {split: [row for path in own for row in self.read_rows(path)] for split, own in paths.items()}
        splits = cut_missing(self.examples_of(rows), self.stratum)
        self.check_labels(splits)
        return splits

    def read_file(self, path: Path) -> list[Any]:
        rows = self.read_rows(path)
        names = self.names(rows, gold=False)
        examples = self.every_example(rows, names, str(path))
        if empty := [number for number, example in enumerate(examples, 1) if not all(example.texts)]:
            raise UserError(f"{path}, row {empty[0]}: no text. Remove the row, or give it one.")
        return examples

    def canonical(self, example: Any) -> dict[str, Any]:
        return {"texts": example.texts, "gold": example.gold}

    def vocabulary(self, train: Sequence[Any]) -> dict[str, list[str]]:
        """{"labels": the labels of the training data, in order}."""
        return {"labels": sorted({example.gold for example in train})}

    def write(self, path: Path, examples: Sequence[Any], predicted: Sequence[Any]) -> None:
        """Write the rows with two more columns, gold and predicted, in the form that the path's ending names."""
        rows = [  # a column `gold` of the user's own stays where no label was read
            each.row | ({} if each.gold is None and GOLD in each.row else {GOLD: each.gold}) | {PREDICTED: guess}
            for each, guess in zip(examples, predicted, strict=True)
        ]
        write_table(path, rows)

    def read_rows(self, path: Path) -> list[Row]:
        """The rows of a file. Raises UserError."""
        return read_table(path)

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Any:
        """The example of a row; `names` as from `names`. Gold is None without a label. Raises UserError."""
        texts = tuple(self.text(row.get(names[part]), where) for part in self.parts[:-1])
        label = row.get(names.get(self.parts[-1], ""))
        if not isinstance(label, str | int | float | None):
            raise UserError(f"{where} has {label!r:.60} where a label belongs. Name another column, or fix the row.")
        unknown = label is None or (isinstance(label, float) and isnan(label))  # which pandas writes for a missing one
        return Labelled(texts, None if unknown else str(label).strip() or None, row)

    def every_example(self, rows: Sequence[Row], names: Mapping[str, str], where: str) -> list[Any]:
        """The examples of all rows, as `example` makes them. Raises UserError."""
        return every(enumerate(rows, 1), lambda number, row: self.example(row, names, f"{where}, row {number}"))

    def text(self, cell: Any, where: str) -> tuple[str, ...]:
        """The tokens of a cell: raw text, or a list of tokens. Raises UserError."""
        if isinstance(cell, list) and all(isinstance(token, str) for token in cell):
            return tuple(cell)
        if not isinstance(cell, str | None):
            raise UserError(f"{where} has {cell!r:.60} where text belongs. Name another column, or fix the row.")
        return tuple(map(unescaped, self.cut(cell or "")))

    def labels_of(self, example: Any) -> Sequence[str]:
        """The labels of an example, as `check_labels` counts them."""
        return (example.gold,)

    def stratum(self, example: Any) -> str:
        """What a split keeps the shares of: the label."""
        return str(example.gold)

    def names(self, rows: Sequence[Row], *, gold: bool = True) -> dict[str, str]:
        """The column of each part, as the options say or as it is usually named; noted. Raises UserError.

        Without `gold` the last part may be missing.
        """
        columns = list(dict.fromkeys(name for row in rows for name in row))
        lower = {name.lower(): name for name in reversed(columns)}
        chosen: dict[str, str] = {}
        told = []
        for part in self.parts:
            given = self.columns.get(part)
            usual = [lower[name] for name in USUAL[part] if name in lower and lower[name] not in chosen.values()]
            fit = usual if given is None else [given] if given in columns else []
            if fit:
                chosen[part] = fit[0]
                told.append(f"{part}={fit[0]}" + (f" (not {', '.join(fit[1:])})" if fit[1:] else ""))
            elif part != self.parts[-1] or gold:
                what = f"no column {given!r}" if given is not None else f"no column that is named as {part} usually is"
                raise UserError(f"{what}. The columns are {', '.join(columns)}. Name one: data.{part}=COLUMN")
        check_lists(rows, chosen.values())
        raw = any(isinstance(rows[0].get(chosen[part]), str) for part in self.parts[:-1])
        note(f"columns: {', '.join(told)}{f'; texts are tokenised by {self.tokenizer}' if raw else ''}")
        return chosen

    def examples_of(self, splits: Mapping[str, Sequence[Row]]) -> dict[str, list[Any]]:
        """The examples of the rows of each split; those without text or gold are left out, with a note.

        Raises UserError.
        """
        names = self.names(next(iter(splits.values())))
        examples: dict[str, list[Any]] = {}
        for split, rows in splits.items():
            read = self.every_example(rows, names, split)
            kept = [each for each in read if each.gold and all(each.texts)]
            empty = sum(not all(each.texts) for each in read)
            for count, lacking in ((empty, "no text"), (len(read) - len(kept) - empty, f"no {self.parts[-1]}")):
                if count:
                    note(f"{split}: {count:,} of {len(read):,} {self.unit} left out, because they have {lacking}")
            if not kept:
                raise UserError(
                    f"{split}: no {self.unit} with {' and '.join(names.values())}. Check the columns, or leave this "
                    "split out: data.train=FILE"
                )
            examples[split] = kept
        self.column = names[self.parts[-1]]
        return examples

    def check_labels(self, splits: Mapping[str, Sequence[Any]]) -> None:
        """Note the labels and their counts, those that may be one or occur once, and texts that have several.

        Raises UserError for labels that are none, and for a single one.
        """
        of = {split: Counter(label for each in own for label in self.labels_of(each)) for split, own in splits.items()}
        labels = sum(of.values(), Counter[str]())
        if len(labels) > MOST_LABELS:
            raise UserError(
                f"{self.column}: {len(labels):,} different values, of which at most {MOST_LABELS:,} can be labels. "
                f"Name another column: data.{self.parts[-1]}=COLUMN"
            )
        if len({tag for own in splits.values() for each in own for tag in getattr(each, "tags", (each.gold,))}) < 2:
            raise UserError(f"{self.column}: the only label is {min(labels, default='O')}, so nothing can be learned.")
        listed = ", ".join(f"{label:.40} ({count:,})" for label, count in labels.most_common(SHOWN))
        more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
        [(top, count)] = of["test"].most_common(1) or [("", 0)]
        chance = f"; always {top:.40} is right for {100 * count / (of['test'].total() or 1):.2f} % of test"
        note(f"{len(labels):,} labels: {listed}{more}{chance if self.plain else ''}")
        alike = defaultdict(list)
        for label in sorted(labels):
            spelt = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
            alike[re.sub(r"^0*(\d+?)(\.0+)?$", r"\1", spelt)].append(f"{label:.40}")
        if several := [" and ".join(map(repr, same)) for same in alike.values() if len(same) > 1]:
            which = "; ".join(several[:SHOWN])
            note(f"labels that only case, white space or the form of a number distinguish: {which}. Make them one")
        if once := sorted(label for label, count in labels.items() if count == 1):
            listed = f"{', '.join(once[:5])}{' …' if len(once) > 5 else ''}"
            note(f"labels that occur once, which no head can both learn and show: {len(once):,} ({listed})")
        for split, own in splits.items():
            golds = defaultdict(set)
            for each in own:
                golds[each.texts].add(each.gold)
            if torn := sum(len(golds[each.texts]) > 1 for each in own):
                which = f"{torn:,} of {len(own):,} {self.unit}"
                note(f"{split}: {which} occur with other labels too, so no head can be right about all of them")

    def reads(self, path: Path) -> bool:
        """Whether a file of a folder may hold data, by its name."""
        ending, described = ending_of(path), path.name.startswith((".", "dataset_info"))  # by the folder's maker
        return not described and (ending in self.endings if self.endings else ending != ".md")


def with_gold(rows: Sequence[Row], path: Path) -> Sequence[Row]:
    """The rows of a file of predictions. Raises UserError if they have no gold, or no predictions."""
    for name in (GOLD, PREDICTED):
        if lacking := [number for number, row in enumerate(rows, 1) if name not in row]:
            raise UserError(f"{path}, row {lacking[0]}: no {name}. `predict` writes files that have both columns.")
    if without := sum(row.get(GOLD) in (None, "", []) for row in rows):
        how = f"Fill in the column {GOLD}; of a column file, the last but one."
        raise UserError(f"{path}: {without:,} of {len(rows):,} rows have no gold label. {how}")
    return rows


def check_lists(rows: Sequence[Row], names: Iterable[str]) -> None:
    """Raise UserError for a column whose cells are all lists as a program prints them: they are not read as lists."""
    for name in names:
        cells = (row.get(name) for row in rows)
        texts = [cell for cell in islice(cells, LOOKED_AT) if cell not in (None, "")]
        if texts and all(isinstance(cell, str) and _PRINTED.fullmatch(cell) for cell in texts):
            how = "Write words and spaces, or JSON lines"
            raise UserError(f"{name} is a list in one cell, such as {texts[0].strip():.40}. {how}.")
