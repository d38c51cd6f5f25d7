"""The user's data: which columns, which rows, and the missing splits.

What is guessed is noted. Imports no torch.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.text.columns import unescaped
from elmo_bench.text.csv_rows import note_quoted
from elmo_bench.text.cut import cut_missing
from elmo_bench.text.labelled import Labelled
from elmo_bench.text.own_checks import (
    GOLD,
    PREDICTED,
    check_lists,
    check_number_of_labels,
    folded,
    is_missing,
    note_contradictions,
    note_labels,
)
from elmo_bench.text.own_columns import usual_columns
from elmo_bench.text.own_texts import rows_of_texts, write_predicted
from elmo_bench.text.sizes import Total
from elmo_bench.text.split_files import files_of, note_files
from elmo_bench.text.tables import (
    Row,
    check_table_name,
    ending_of,
    marks_are_text,
    read_table,
)
from elmo_bench.text.vocabulary import tokeniser

MERGE = "merge"  # of `data.alike`


class OwnData:
    """A `contracts.Data` of rows with a label.

    A task on own data adds `schema` and `parts`. Built with the options of `data` in
    the task's yaml: the files, the tokeniser of raw text, and the column of each part
    where the user names it.
    """

    schema: str
    ending = ".jsonl"
    # Of an example, keys of `own_columns.USUAL`: texts, and last the gold.
    parts: tuple[str, ...]
    unit = "rows"
    # Of the files of a folder that it reads; None: all but .md.
    endings: tuple[str, ...] | None = TABLES
    # What to do about labels that may be one.
    merge = f"Each counts in macro-F1; data.alike={MERGE} makes them one"
    leaves_blank = True  # `predict` writes no prediction for an example without text
    # Whether each label is an answer of its own; of a span, several tags are one.
    plain = True
    labels_tokens = False  # whether each token has a label
    column_advice = ""  # ends the error of a file where no column fits
    check_output = staticmethod(check_table_name)  # of the path that `write` gets

    def __init__(
        self,
        *,
        file: str | None = None,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        tokenizer: str = "spaces",
        alike: str | None = None,
        **columns: str | None,
    ):
        """Raises UserError for an unknown tokeniser, and for an unknown `alike`.

        alike: `merge`: labels are read as `folded` writes them.
        """
        if alike not in (None, MERGE):
            raise UserError(
                f"data.alike={alike:.40}: unknown. Give {MERGE}, or nothing."
            )
        self.merges = alike == MERGE
        self.file = file
        self.by_split = {"train": train, "dev": dev, "test": test}
        self.tokenizer = tokenizer
        self.cut = tokeniser(tokenizer)
        self.columns = columns
        # The column of each part that the training data were read from.
        self.columns_of_train: dict[str, str] = {}
        self.read_last: Path | None = None  # by `read_file`
        self.marks_are_text = False  # in TSV files, as one of those of `read` shows

    def files(self, suite: str, root: Path | None) -> list[Path]:
        paths: list[Path] = []
        for of_split in self.paths().values():
            paths += of_split
        return paths

    def paths(self) -> dict[str, list[Path]]:
        """The files of each split. Raises UserError."""
        return files_of(self.file, self.by_split, self.reads)

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        """{"train", "dev", "test"}; a split without a file is cut from train.

        Raises UserError.
        """
        paths = self.paths()
        if self.file is not None:
            note_files(self.file, paths, self.reads)
        self.marks_are_text = marks_are_text(chain.from_iterable(paths.values()))
        rows: dict[str, list[Row]] = {}
        total = Total()
        for split, of_split in paths.items():
            rows[split] = []
            for path in of_split:
                rows[split] += total.counted(path, self.read_rows(path))
        splits = cut_missing(self.examples_of(rows), self.stratum)
        self.check_labels(splits)
        return splits

    def read_file(self, path: Path) -> list[Any]:
        rows = self.read_rows(path)
        names = self.names(rows, gold=False)
        check_lists(rows, names.values())
        examples = self.every_example(rows, names, str(path))
        empty = sum(not all(example.texts) for example in examples)
        if empty == len(examples):
            raise UserError(f"{path}: no row has text. Name another column.")
        if empty:
            which = f"{empty:,} of {len(examples):,} {self.unit} have no text"
            note(f"{which}, so they get no prediction", path)
        # Tagged sentences may have a token a line, where no cell is quoted.
        if self.endings is not None and ending_of(path) == ".tsv":
            note_quoted(path)
        self.read_last = path
        return examples

    def of_texts(self, texts: Sequence[Any]) -> list[Any]:
        """The examples of texts that are in memory. Raises UserError."""
        rows = rows_of_texts(texts, self.parts[:-1])
        return self.every_example(rows, {part: part for part in self.parts}, "texts")

    def canonical(self, example: Any) -> dict[str, Any]:
        return {"texts": example.texts, "gold": example.gold}

    def vocabulary(self, train: Sequence[Any]) -> dict[str, list[str]]:
        """{"labels": the labels of the training data, in order}."""
        return {"labels": sorted({example.gold for example in train})}

    def answers(self, labels: Sequence[str]) -> list[str]:
        """The labels of `vocabulary`, as `probabilities` names them."""
        return list(labels)

    def write(
        self, path: Path, examples: Sequence[Any], predicted: Sequence[Any]
    ) -> None:
        """Write the rows with two more columns, gold and predicted.

        The path's ending names the form; CSV is written as in the file that `read_file`
        read last. A guess is None for an example without text.
        """
        # A column `gold` of the user stays if no label was read.
        has_gold = any(example.gold is not None for example in examples)
        rows: list[Row] = []
        for example, guess in zip(examples, predicted, strict=True):
            row = {**example.row}
            if has_gold or GOLD not in row:
                row[GOLD] = example.gold
            rows.append(row | {PREDICTED: guess})
        write_predicted(path, examples, rows, like=self.read_last)

    def read_rows(self, path: Path) -> list[Row]:
        """The rows of a file. Raises UserError."""
        return read_table(path, marks_are_text=self.marks_are_text)

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Any:
        """The example of a row; `names` as from `names`.

        Gold is None without a label. Raises UserError.
        """
        cells = [row.get(names[part]) for part in self.parts[:-1]]
        texts = tuple(self.text(cell, where) for cell in cells)
        label = row.get(names[self.parts[-1]]) if self.parts[-1] in names else None
        if not isinstance(label, str | int | float | None):
            what = f"has {label!r:.60} where a label belongs"
            raise UserError(f"{where} {what}. Name another column, or fix the row.")
        if is_missing(label):
            return Labelled(texts, None, row)
        text = str(label).strip()
        if self.merges:
            text = folded(text)
        return Labelled(texts, text or None, row)

    def every_example(
        self, rows: Sequence[Row], names: Mapping[str, str], where: str
    ) -> list[Any]:
        """The examples of all rows, as `example` makes them. Raises UserError."""

        def numbered(number: int, row: Row) -> Any:
            return self.example(row, names, f"{where}, row {number}")

        return every(enumerate(rows, 1), numbered)

    def text(self, cell: Any, where: str) -> tuple[str, ...]:
        """The tokens of a cell: raw text, or a list of tokens. Raises UserError."""
        if isinstance(cell, list) and all(isinstance(token, str) for token in cell):
            return tuple(cell)
        if isinstance(cell, float) and is_missing(cell):
            return ()
        if not isinstance(cell, str | None):
            what = f"has {cell!r:.60} where text belongs"
            raise UserError(f"{where} {what}. Name another column, or fix the row.")
        return tuple(map(unescaped, self.cut(cell or "")))

    def labels_of(self, example: Any) -> Sequence[str]:
        """The labels of an example, as `check_labels` counts them."""
        return (example.gold,)

    def stratum(self, example: Any) -> str:
        """What a split keeps the shares of: the label."""
        return str(example.gold)

    def names(self, rows: Sequence[Row], *, gold: bool = True) -> dict[str, str]:
        """The column of each part, from the options or by a usual name; noted.

        Without `gold` the last part may be missing. Raises UserError.
        """
        columns = list(dict.fromkeys(chain.from_iterable(rows)))
        chosen: dict[str, str] = {}
        listed: list[str] = []
        missing: list[str] = []
        for part in self.parts:
            fit = self.columns_for(part, columns, taken=chosen.values())
            if fit:
                chosen[part] = fit[0]
                others = f" (not {', '.join(fit[1:])})" if fit[1:] else ""
                listed.append(f"{part}={fit[0]}{others}")
            elif gold or part != self.parts[-1]:
                missing.append(part)
        if missing:
            raise self.no_column(missing, columns)
        texts = [rows[0].get(chosen[part]) for part in self.parts[:-1]]
        tokenised = ""
        if any(isinstance(text, str) for text in texts):
            tokenised = f"; texts are tokenised by {self.tokenizer}"
        note(f"columns: {', '.join(listed)}{tokenised}")
        return chosen

    def columns_for(
        self, part: str, columns: Sequence[str], *, taken: Iterable[str] = ()
    ) -> list[str]:
        """The columns that a part may be, best first.

        The named one; or that of the training data, then those of usual names.
        """
        column = self.columns.get(part)
        if column is not None:
            return [column] if column in columns else []
        fit = usual_columns(part, columns)
        trained = self.columns_of_train.get(part, "")
        if trained in columns:
            fit = list(dict.fromkeys([trained, *fit]))
        named = set(self.columns.values())  # also of parts that come later
        return [name for name in fit if name not in taken and name not in named]

    def no_column(self, missing: Sequence[str], columns: Sequence[str]) -> UserError:
        """The error for parts without a column.

        Its reason is that of the first one with a name that no column has, or else of
        the first.
        """
        named = [part for part in missing if self.columns.get(part) is not None]
        part = [*named, *missing][0]
        what = f"no column that is named as {part} usually is"
        for name in usual_columns(part, columns):
            for other, taken in self.columns.items():
                if taken == name:
                    what = f"column {name} is already data.{other}"
        column = self.columns.get(part)
        if column is not None:
            what = f"no column {column!r}"
        names = ", ".join(columns)
        how = "Name one:" if len(missing) == 1 else "Name them:"
        for part in missing:
            how += f" data.{part}=COLUMN"
        return UserError(f"{what}. The columns are {names}. {how}{self.column_advice}")

    def examples_of(self, splits: Mapping[str, Sequence[Row]]) -> dict[str, list[Any]]:
        """The examples of the rows of each split.

        Those without text or gold are left out, with a note. Raises UserError.
        """
        names = self.names(next(iter(splits.values())))
        examples: dict[str, list[Any]] = {}
        for split, rows in splits.items():
            check_lists(rows, names.values())
            examples[split] = self.complete(
                self.every_example(rows, names, split), split
            )
            if not examples[split]:
                columns = " and ".join(names.values())
                raise UserError(
                    f"{split}: no {self.unit} with {columns}. "
                    "Check the columns, or leave this split out: data.train=FILE"
                )
        self.columns_of_train = names
        return examples

    def complete(self, examples: Sequence[Any], split: str) -> list[Any]:
        """The examples that have text and gold; the others are noted."""
        with_text = [example for example in examples if all(example.texts)]
        complete = [example for example in with_text if example.gold]
        lacking = {
            "no text": len(examples) - len(with_text),
            f"no {self.parts[-1]}": len(with_text) - len(complete),
        }
        for what, count in lacking.items():
            if count:
                which = f"{count:,} of {len(examples):,} {self.unit}"
                note(f"{split}: {which} left out, because they have {what}")
        return complete

    def check_labels(self, splits: Mapping[str, Sequence[Any]]) -> None:
        """Note the labels, and texts that have several.

        Raises UserError for too many labels, and for a single one.
        """
        part = self.parts[-1]
        check_number_of_labels(
            splits, self.labels_of, self.columns_of_train[part], part
        )
        note_labels(splits, self.labels_of, chance=self.plain, merge=self.merge)
        note_contradictions(splits, self.unit)

    def reads(self, path: Path) -> bool:
        """Whether a file of a folder may hold data, by its name."""
        # The folder's maker describes it in dataset_info.
        if path.name.startswith((".", "dataset_info")):
            return False
        if self.endings is None:
            return ending_of(path) != ".md"
        return ending_of(path) in self.endings
