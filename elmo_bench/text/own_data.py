"""Data of the user's own: which files, which columns, and a split of what is not split. Imports no torch.

`data.file` is a file, a folder with a file for each split, or `hub:user/repo`; `data.train`, `data.dev` and `data.test`
are files. What is guessed is noted.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import note
from elmo_bench.base.sources import SPLITS, TABLES, hub_file
from elmo_bench.text.tables import Row, ending_of, read_table, write_table
from elmo_bench.text.vocabulary import tokeniser

USUAL = {  # names of columns, best first
    "text": ("text", "sentence", "review", "content", "document", "comment", "tweet", "question"),
    "label": ("label", "labels", "class", "category", "sentiment", "gold_label", "gold", "target"),
    "tokens": ("tokens", "words", "form"),
    "tags": ("tags", "ner_tags", "labels", "pos_tags", "gold"),
    "premise": ("premise", "sentence1", "text1", "question1", "first", "text_a"),
    "hypothesis": ("hypothesis", "sentence2", "text2", "question2", "second", "text_b"),
}
NAMES = {  # of the files of a split, as words in their names
    "train": {"train", "training"},
    "dev": {"dev", "devel", "development", "valid", "validation", "val", "testa"},
    "test": {"test", "testb", "testing"},
}
MOST_LABELS = 1000
SHARE, MOST_HELD_OUT, SEED = 0.2, 2000, 0  # of dev and of test where they are cut from the rest
GOLD, PREDICTED = "gold", "predicted"  # columns of a file of predictions
NO_GOLD = "-"  # the tag of a token whose gold is unknown


class OwnData:
    """What the `data.py` of the tasks on own data have in common; `columns` are the parts of an example.

    A task gives `schema`, `example`, `write` and `vocabulary`; `read_rows` if it reads other files than tables.
    """

    schema: str
    ending = ".jsonl"
    parts: tuple[str, ...]  # keys of USUAL: texts, and last the gold
    unit = "rows"
    endings: tuple[str, ...] | None = TABLES  # of the files of a folder that it reads; None: all but .md

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
        self.cut, self.columns = tokeniser(tokenizer), columns
        self.tokenizer = tokenizer

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads. Raises UserError where one is missing."""
        return [path for paths in self._by_split().values() for path in paths]

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        """{"train", "dev", "test"}. Raises UserError."""
        paths = self._by_split()
        splits = {split: [row for path in own for row in self.read_rows(path)] for split, own in paths.items()}
        examples = self.examples_of(splits)
        return cut_missing(examples, self.stratum)

    def examples_of(self, splits: Mapping[str, Sequence[Row]]) -> dict[str, list[Any]]:
        """The examples of the rows of each split; those without text or gold are left out, with a note."""
        some = next(iter(splits.values()))
        names = self.names(some[0], note_them=True)
        examples: dict[str, list[Any]] = {}
        for split, rows in splits.items():
            read = [self.example(row, names, f"{split}, row {number}") for number, row in enumerate(rows, 1)]
            kept = [each for each in read if each.gold not in (None, ()) and all(each.texts)]
            if len(kept) < len(read):
                note(f"{split}: {len(read) - len(kept)} of {len(read)} {self.unit} left out: no text, or no gold")
            if not kept:
                raise UserError(f"{split}: no {self.unit} with both {' and '.join(names.values())}. Check the columns.")
            examples[split] = kept
        self.check_labels(examples, names[self.parts[-1]])
        return examples

    def check_labels(self, examples: Mapping[str, Sequence[Any]], column: str) -> None:
        """Raise UserError for labels that are none; note a label that a single example has."""
        labels = Counter(label for own in examples.values() for each in own for label in self.labels_of(each))
        if len(labels) > MOST_LABELS:
            raise UserError(
                f"{column}: {len(labels):,} different values, of which at most {MOST_LABELS:,} can be labels. "
                f"Name another column: data.{self.parts[-1]}=COLUMN"
            )
        if len(labels) < 2:
            raise UserError(f"{column}: the only label is {min(labels, default='none')}, so there is nothing to learn.")
        if once := sorted(label for label, count in labels.items() if count == 1):
            note(
                f"{len(once)} labels occur once, so no head can both learn and show them ({', '.join(once[:5])}"
                f"{' …' if len(once) > 5 else ''})"
            )

    def labels_of(self, example: Any) -> Sequence[str]:
        """The labels of an example."""
        return (example.gold,)

    def stratum(self, example: Any) -> str:
        """What a split keeps the shares of: the label."""
        return str(example.gold)

    def read_file(self, path: Path) -> list[Any]:
        """The examples of one file, whose gold may be missing. Raises UserError."""
        rows = self.read_rows(path)
        names = self.names(rows[0], gold=False)
        examples = [self.example(row, names, f"{path}, row {number}") for number, row in enumerate(rows, 1)]
        for number, example in enumerate(examples, 1):
            if not all(example.texts):
                raise UserError(f"{path}, row {number}: no text. Remove the row, or give it one.")
        return examples

    def read_rows(self, path: Path) -> list[Row]:
        """The rows of a file. Raises UserError."""
        return read_table(path)

    def names(self, row: Row, *, gold: bool = True, note_them: bool = False) -> dict[str, str]:
        """The column of each part, as the options say or as it is usually named. Raises UserError.

        Without `gold` the last part may be missing.
        """
        lower = {str(name).lower(): str(name) for name in row}
        chosen: dict[str, str] = {}
        for part in self.parts:
            if (given := self.columns.get(part)) is not None:
                name = given if given in row else None
            else:
                free = (name for name in USUAL[part] if name in lower and lower[name] not in chosen.values())
                name = next((lower[name] for name in free), None)
            if name is not None:
                chosen[part] = name
            elif part != self.parts[-1] or gold:
                what = f"no column {given!r}" if given is not None else f"no column that is named as {part} usually is"
                raise UserError(f"{what}. The columns are {', '.join(map(str, row))}. Name one: data.{part}=COLUMN")
        if note_them:
            tokens = "" if "tokens" in chosen else f"; texts are tokenised by {self.tokenizer}"
            note(f"columns: {', '.join(f'{part}={name}' for part, name in chosen.items())}{tokens}")
        return chosen

    def text(self, cell: Any, where: str) -> tuple[str, ...]:
        """The tokens of a cell: raw text, or a list of tokens. Raises UserError."""
        if isinstance(cell, list) and all(isinstance(token, str) for token in cell):
            return tuple(cell)
        if not isinstance(cell, str | None):
            raise UserError(f"{where} has {cell!r:.60} where text belongs. Name another column, or fix the row.")
        return tuple(self.cut(cell or ""))

    def label(self, cell: Any, where: str) -> str | None:
        """The label of a cell; None for an empty one. Raises UserError."""
        if cell is None or cell == "":
            return None
        if not isinstance(cell, str | int | float):
            raise UserError(f"{where} has {cell!r:.60} where a label belongs. Name another column, or fix the row.")
        return str(cell).strip() or None

    def write_rows(self, path: Path, rows: Iterable[Row], gold: Iterable[Any], predicted: Iterable[Any]) -> None:
        """Write rows with two more columns, gold and predicted, in the form that the path's ending names."""
        made = zip(rows, gold, predicted, strict=True)
        write_table(path, [row | {GOLD: of_row, PREDICTED: guess} for row, of_row, guess in made])

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Any:
        """The example of a row, whose gold is None where it has none. Raises UserError."""
        raise NotImplementedError

    def _by_split(self) -> dict[str, list[Path]]:
        if self.file is None:
            return {split: [_existing(name)] for split, name in self.given.items() if name is not None}
        if str(self.file).startswith("hub:"):
            return _of_hub(str(self.file).removeprefix("hub:").strip("/"), self.reads)
        path = _existing(str(self.file))
        if path.is_file():
            return {"train": [path]}
        return by_split(sorted(each for each in path.rglob("*") if each.is_file() and self.reads(each)), path)

    def reads(self, path: Path) -> bool:
        """Whether a file of a folder may hold data, by its name."""
        ending = ending_of(path)
        return ending in self.endings if self.endings else ending != ".md" and not path.name.startswith(".")


def _existing(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    return path


def by_split(files: Sequence[Path], folder: Path) -> dict[str, list[Path]]:
    """The files of each split, by the words of their names; one file alone is all of the data. Raises UserError."""
    if len(files) == 1:
        return {"train": list(files)}
    chosen: dict[str, list[Path]] = defaultdict(list)
    for file in files:
        words = {*re.findall(r"[a-z]+", str(file.relative_to(folder)).lower())}
        of = [split for split in SPLITS if words & NAMES[split]] or [
            split for split in SPLITS if any(word.endswith(split) for word in words)
        ]
        if len(of) == 1:
            chosen[of[0]].append(file)
    if "train" not in chosen:
        listed = ", ".join(str(file.relative_to(folder)) for file in files[:5]) or "no data"
        raise UserError(f"{folder}: no file with train in its name ({listed}). Give data.train=FILE.")
    for split, own in chosen.items():
        if len({file.parent for file in own}) > 1 or len({ending_of(file) for file in own}) > 1:
            listed = ", ".join(str(file.relative_to(folder)) for file in own[:5])
            raise UserError(f"{folder}: more than one {split} ({listed}). Give data.train=FILE, or a folder inside.")
    return {split: chosen[split] for split in SPLITS if split in chosen}


def _of_hub(name: str, reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split of `user/repo`, or of a folder in it, downloaded to the Hub's cache. Raises UserError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    user, _, rest = name.partition("/")
    repo, _, folder = rest.partition("/")
    if not user or not repo:
        raise UserError(f"data.file=hub:{name}: give hub:user/repo")
    try:
        about = HfApi().dataset_info(f"{user}/{repo}")
    except (HfHubHTTPError, HTTPError, OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise UserError(f"hub:{name}: not on the Hub, or no network ({reason}). Use your own files instead.") from None
    listed = sorted(Path(each.rfilename) for each in about.siblings or ())
    inside = [path for path in listed if path.is_relative_to(folder) and reads(path)]
    if not inside:
        raise UserError(f"hub:{name}: no file of data ({', '.join(TABLES)}). Download it and convert it.")
    splits = by_split(inside, Path(folder))
    return {
        split: [hub_file(f"{user}/{repo}", str(path), revision=str(about.sha)) for path in paths]
        for split, paths in splits.items()
    }


def cut_missing(splits: dict[str, list[Any]], stratum: Callable[[Any], str]) -> dict[str, list[Any]]:
    """All three splits: a missing one is cut from train, a fifth of it and at most 2,000, with the shares of labels.

    Examples of one group (the same text, or premise) stay together. Equal data give equal splits. Raises UserError.
    """
    wanted = min(round(SHARE * len(splits["train"])), MOST_HELD_OUT)
    for split in [split for split in ("test", "dev") if split not in splits]:
        train = splits["train"]
        chosen = _draw(train, wanted, stratum)
        if not 0 < len(chosen) < len(train):
            raise UserError(f"{split}: cannot be cut from {len(train)} examples. Give more data, or data.{split}=FILE.")
        splits["train"] = [each for number, each in enumerate(train) if number not in chosen]
        splits[split] = [train[number] for number in sorted(chosen)]
        note(f"{split}: {len(chosen):,} examples cut from train with the shares of its labels, seed {SEED}")
    return {split: splits[split] for split in SPLITS}


def _draw(examples: Sequence[Any], wanted: int, stratum: Callable[[Any], str]) -> set[int]:
    """The places of about `wanted` examples: whole groups, from each stratum as many as its share."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        groups[getattr(example, "group", example.texts)].append(number)
    strata: dict[str, list[list[int]]] = defaultdict(list)
    for group in groups.values():
        strata[stratum(examples[group[0]])].append(group)
    chosen: set[int] = set()
    left = 0.0  # what rounding has not given to the strata before
    for name in sorted(strata):
        own = random.Random(SEED).sample(strata[name], len(strata[name]))
        left += wanted * sum(map(len, own)) / len(examples)
        for group in own:
            if left < len(group) / 2:
                break
            chosen.update(group)
            left -= len(group)
    return chosen
