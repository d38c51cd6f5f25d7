"""Questions about passages: the suites, with dev cut from training by article."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, SuiteData, as_list, data_file, hub_table
from elmo_bench.tasks.squad.build import Builder, Question
from elmo_bench.tasks.squad.squad_json import Entry, entries, read_json

Files = list[tuple[Path | str, list[Entry]]]  # where the entries came from, and they


class Data(SuiteData):
    """Reads the suites that `conf/task/squad.yaml` names. Several files of `train` are joined.

    In files and on the Hub, `dev` may be {share, seed}. It is then cut from training: whole articles, drawn with
    `seed` until they hold `share` of the questions.
    longest_answer, longest_word: limits of the head (tokens, characters), for notes about what exceeds them.
    """

    schema = "squad-1"
    ending = ".json"

    def __init__(self, *, longest_answer: int, longest_word: int, **suites: Mapping[str, Any]):
        super().__init__(**suites)
        self.longest_answer, self.longest_word = longest_answer, longest_word

    def read(self, suite: str, root: Path | None) -> dict[str, list[Question]]:
        options = self.options(suite)
        build = Builder()
        read = _from_files if options["source"] == "files" else _from_hub
        cut = options["dev"] if isinstance(options["dev"], Mapping) else None
        if cut is not None and not (isinstance(cut["share"], float) and 0 < cut["share"] < 1):
            raise UserError(f"task.data.{suite}.dev.share={cut['share']}: give a number between 0 and 1")
        if cut is not None and type(cut["seed"]) is not int:
            raise UserError(f"task.data.{suite}.dev.seed={cut['seed']}: give a whole number")
        read_pairs = {
            split: [
                pair
                for where, given in read(options, split, root)
                for pair in zip(given, build.questions(given, where), strict=True)
            ]
            for split in _given(options)
        }
        if cut is not None:
            train = read_pairs["train"]
            kept_out = _articles([entry for entry, _ in train], cut["share"], cut["seed"])
            read_pairs["dev"] = [pair for pair in train if pair[0].article in kept_out]
            read_pairs["train"] = [pair for pair in train if pair[0].article not in kept_out]
        splits = {split: [example for _, example in read_pairs[split]] for split in SPLITS}
        for split, questions in splits.items():
            self._note_limits(split, questions)
        return splits

    def files(self, suite: str, root: Path | None) -> list[Path]:
        options = self.options(suite)
        if options["source"] == "files":
            return [path for split in _given(options) for path in _paths(options, split, root)]
        return super().files(suite, root)

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
        """The questions of a SQuAD 1.1 file, in their order; answers may be missing. Raises UserError."""
        return Builder().questions(entries(read_json(path), path), path, answered=False)

    def write(self, path: Path, examples: Sequence[Question], predicted: Sequence[str]) -> None:
        """Write {id: answer}, which the official scorer compares with the gold file."""
        answers = {example.id: answer for example, answer in zip(examples, predicted, strict=True)}
        with atomic_write(path, "w") as handle:
            handle.write(json.dumps(answers, ensure_ascii=False) + "\n")

    def _note_limits(self, split: str, questions: Sequence[Question]) -> None:
        long = sum(all(last - first >= self.longest_answer for first, last in each.spans) for each in questions)
        if long and split != "train":
            note(
                f"{split}: {long} of {len(questions)} questions have no answer of {self.longest_answer} tokens or "
                "fewer. They count, but the whole answer is never found"
            )
        words = {word for each in questions for text in each.texts for word in text}
        cut = sum(len(word) > self.longest_word for word in words)
        if cut:
            note(
                f"{split}: {cut} of {len(words)} words have over {self.longest_word} characters: the character CNN "
                f"reads the first {self.longest_word}"
            )


def _given(options: Mapping[str, Any]) -> list[str]:
    """The splits that have files of their own."""
    return [split for split in SPLITS if not isinstance(options[split], Mapping)]


def _articles(given: Sequence[Entry], share: float, seed: int) -> set[str]:
    """Titles of articles, drawn with the seed until they hold `share` of the questions; at least one is left."""
    sizes: dict[str, int] = {}
    for entry in given:
        sizes[entry.article] = sizes.get(entry.article, 0) + 1
    if len(sizes) < 2:
        raise UserError(
            "the training files hold one article, and dev is cut from them by article. Use files with more articles."
        )
    titles = random.Random(seed).sample(sorted(sizes), len(sizes))
    chosen: set[str] = set()
    while sum(sizes[title] for title in chosen) < share * len(given) and len(chosen) < len(titles) - 1:
        chosen.add(titles[len(chosen)])
    return chosen


def _from_files(options: Mapping[str, Any], split: str, root: Path | None) -> Files:
    return [(path, list(entries(read_json(path), path))) for path in _paths(options, split, root)]


def _paths(options: Mapping[str, Any], split: str, root: Path | None) -> list[Path]:
    return [data_file(root, options["folder"], name) for name in as_list(options[split])]


def _from_hub(options: Mapping[str, Any], split: str, root: Path | None) -> Files:
    hub = options["hub"]
    table = hub_table(hub["repo"], hub[split], revision=hub["revision"])
    where = f"{hub['repo']}/{hub[split]}"
    columns = ("title", "context", "id", "question", "answers")
    if missing := [name for name in columns if name not in table.column_names]:
        raise UserError(f"{where}: no column {missing[0]}. Check hub in conf/task/squad.yaml")
    rows = []
    for row in table:
        texts, starts = row["answers"]["text"], row["answers"]["answer_start"]
        answers = list(zip(texts, starts, strict=True))
        rows.append(Entry(row["title"], row["context"], row["id"], row["question"], answers))
    return [(where, rows)]
