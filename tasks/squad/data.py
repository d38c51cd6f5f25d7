"""Questions about passages: the suites, with dev cut from training by article."""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import index
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.hub import hub_split
from elmo_bench.base.notes import note
from elmo_bench.base.sources import (
    SPLITS,
    SuiteData,
    as_list,
    check_texts,
    data_file,
)
from elmo_bench.tasks.squad.build import Builder, Question
from elmo_bench.tasks.squad.squad_json import Entry, entries, read_json

Files = list[tuple[Path | str, list[Entry]]]  # where the entries came from, and they


class Data(SuiteData):
    """Reads the suites that `conf/task/squad.yaml` names.

    Several files of `train` are joined. In files and on the Hub, `dev` may be
    {share, seed}. It is then cut from training: whole articles, drawn with `seed` until
    they hold `share` of the questions. longest_answer, longest_word: limits of the head
    (tokens, characters), for notes about what exceeds them.
    """

    schema = "squad-1"
    ending = ".json"

    def __init__(
        self, *, longest_answer: int, longest_word: int, **suites: Mapping[str, Any]
    ):
        super().__init__(**suites)
        self.longest_answer = longest_answer
        self.longest_word = longest_word

    def read(self, suite: str, root: Path | None) -> dict[str, list[Question]]:
        options = self.options(suite)
        build = Builder()
        read = _from_files if options["source"] == "files" else _from_hub
        cut = options["dev"] if isinstance(options["dev"], Mapping) else None
        if cut is not None:
            _check_cut(f"task.data.{suite}.dev", cut)
        splits: dict[str, list[Question]] = {split: [] for split in SPLITS}
        titles: list[str] = []  # of the articles of the training questions
        for split in _splits_read(options):
            for where, read_entries in read(options, split, root):
                splits[split] += build.questions(read_entries, where)
                if split == "train":
                    titles += [entry.article for entry in read_entries]
        if cut is not None:
            of_dev = _articles(titles, cut["share"], cut["seed"])
            pairs = list(zip(titles, splits["train"], strict=True))
            splits["dev"] = [question for title, question in pairs if title in of_dev]
            splits["train"] = [
                question for title, question in pairs if title not in of_dev
            ]
        for split, questions in splits.items():
            self._note_limits(split, questions)
        return splits

    def files(self, suite: str, root: Path | None) -> list[Path]:
        options = self.options(suite)
        if options["source"] != "files":
            return super().files(suite, root)
        paths: list[Path] = []
        for split in _splits_read(options):
            paths += _paths(options, split, root)
        return paths

    def canonical(self, example: Question) -> dict[str, Any]:
        return {
            "id": example.id,
            "question": example.tokens,
            "passage": example.passage.text,
            "tokens": example.passage.tokens,
            "offsets": example.passage.offsets,
            "answers": example.answers,
            "spans": example.spans,
        }

    def vocabulary(self, train: Sequence[Question]) -> dict[str, Any]:
        """{}: the head needs nothing but the words."""
        return {}

    def read_file(self, path: Path) -> list[Question]:
        """The questions of a SQuAD 1.1 file, in their order; answers may be missing.

        Raises UserError.
        """
        return Builder().questions(entries(read_json(path), path), path, answered=False)

    def write(
        self, path: Path, examples: Sequence[Question], predicted: Sequence[str]
    ) -> None:
        """Write {id: answer}, which the official scorer compares with the gold file."""
        numbers = [example.id for example in examples]
        answers = dict(zip(numbers, predicted, strict=True))
        with atomic_write(path, "w") as handle:
            handle.write(json.dumps(answers, ensure_ascii=False) + "\n")

    def _note_limits(self, split: str, questions: Sequence[Question]) -> None:
        longest = self.longest_answer
        long = 0
        words: set[str] = set()
        for question in questions:
            if all(last - first >= longest for first, last in question.spans):
                long += 1
            words.update(*question.texts)
        if long and split != "train":
            note(
                f"{split}: {long} of {len(questions)} questions have no answer of "
                f"{longest} tokens or fewer. They count, but the whole answer is never "
                "found"
            )
        cut = sum(len(word) > self.longest_word for word in words)
        if cut:
            note(
                f"{split}: words of over {self.longest_word} characters: {cut} of "
                f"{len(words)}; the character CNN reads the first {self.longest_word} "
                "of each"
            )


def _check_cut(where: str, cut: Mapping[str, Any]) -> None:
    """Raises UserError unless dev can be cut so from training."""
    share, seed = cut["share"], cut["seed"]
    if not (isinstance(share, float) and 0 < share < 1):
        raise UserError(f"{where}.share={share}: give a number between 0 and 1")
    if type(seed) is not int:
        raise UserError(f"{where}.seed={seed}: give a whole number")


def _splits_read(options: Mapping[str, Any]) -> list[str]:
    """The splits that are files."""
    return [split for split in SPLITS if not isinstance(options[split], Mapping)]


def _articles(articles: Sequence[str], share: float, seed: int) -> set[str]:
    """Titles of articles, drawn with the seed until they hold `share` of the questions.

    At least one article is left. articles: of each question.
    """
    sizes = Counter(articles)
    if len(sizes) < 2:
        raise UserError(
            "the training files hold one article, and dev is cut from them by article. "
            "Use files with more articles."
        )
    titles = random.Random(seed).sample(sorted(sizes), len(sizes))
    chosen: set[str] = set()
    questions = 0
    for title in titles[:-1]:
        if questions >= share * len(articles):
            break
        chosen.add(title)
        questions += sizes[title]
    return chosen


def _from_files(options: Mapping[str, Any], split: str, root: Path | None) -> Files:
    paths = _paths(options, split, root)
    return [(path, list(entries(read_json(path), path))) for path in paths]


def _paths(options: Mapping[str, Any], split: str, root: Path | None) -> list[Path]:
    names = as_list(options[split])
    return [data_file(root, options["folder"], name) for name in names]


def _from_hub(options: Mapping[str, Any], split: str, root: Path | None) -> Files:
    columns = ("title", "context", "id", "question", "answers")
    where, table = hub_split(options["hub"], split, columns=columns)
    rows = []
    for number, row in enumerate(table):
        try:
            rows.append(_entry(row, f"{where}: row {number}"))
        except (KeyError, TypeError, ValueError) as error:
            why = f"row {number} is not as expected ({error!r})"
            raise UserError(f"{where}: {why}. Use your own files instead.") from None
    return [(where, rows)]


def _entry(row: Mapping[str, Any], where: str) -> Entry:
    """The question of a row of the Hub's table.

    Raises UserError for a cell without text, and KeyError, TypeError or ValueError for
    a row of another shape.
    """
    texts = row["answers"]["text"]
    starts = map(index, row["answers"]["answer_start"])
    check_texts(
        [row["title"], row["context"], row["id"], row["question"], *texts], where
    )
    return Entry(
        article=row["title"],
        passage=row["context"],
        id=row["id"],
        question=row["question"],
        answers=list(zip(texts, starts, strict=True)),
    )
