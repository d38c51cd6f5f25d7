"""The defaults of the heads for data of the user's own, tried for the baseline on five folds of training data.

    python benchmarks/own_defaults.py OUT --data FOLDER              # trec, sst5 and genres, all settings and folds
    python benchmarks/own_defaults.py OUT --data FOLDER --sets trec --settings light --folds 3,4
    python benchmarks/own_defaults.py OUT --data FOLDER --table                           # runs nothing

A fold is a fifth of a training file, equal texts together. A run trains on the other four; the program cuts its dev
from these, as it does for a user, and dev chooses the epoch. The run is scored on the fold. No test file is read.
Each (set, fold, setting) is a run in the ledger OUT/runs: a killed job loses the run that it was making, and no more.

The table has the mean and the spread of the folds' scores, the difference to the floor and to today's default over
the same folds with its standard error (of the differences by fold), and processor minutes a run. The last lines say
which setting passes the rule of docs/choices.md over all sets of a task.
"""

import argparse
import csv
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from sklearn.model_selection import StratifiedGroupKFold

import elmo_bench
from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_all, score_of, work_minutes_of
from elmo_bench.tasks.sst5.data import read_trees

FOLDS = 5
SENTENCES = 2000  # of SST-5 and of the genres
SHORTEST = 8  # tokens of a sentence whose genre is to be told
POINTS, ERRORS = 1.0, 2.0  # percentage points, and standard errors, that a change has to exceed

FLOOR = "floor"
DEFAULT = "default"


def _input_dropout(rate: float) -> tuple[str, ...]:
    return (f"task.head.dropout.input={rate}", "task.head.dropout.output=0.25")


# {task: {setting: options}}
SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "classification": {
        FLOOR: ("encoder=tfidf",),
        DEFAULT: (),
        "light": _input_dropout(0.2),
        "light, half as wide": (
            *_input_dropout(0.2),
            "task.head.reduced=50",
            "task.head.hidden=[50,50]",
            "task.head.classifier=[50,50]",
        ),
        "light, twice the rate": (*_input_dropout(0.2), "task.training.optimizer.lr=0.002"),
        "lighter": (*_input_dropout(0.1), "task.head.dropout.reduced=0.1"),
    },
    "tagging": {
        FLOOR: ("encoder=features",),
        DEFAULT: (),
        "light": ("task.head.dropout=0.25",),
    },
}
TASKS = {"trec": "classification", "sst5": "classification", "genres": "classification", "upos": "tagging"}

Row = tuple[str, str]  # a text, or its tokens and their tags, joined by spaces; and what is to be told


class Item(NamedTuple):
    """One run."""

    data: str
    fold: int
    setting: str

    @property
    def suite(self) -> str:
        return f"{self.data}-fold{self.fold}"

    def options(self, out: Path) -> list[str]:
        """Of `elmo-bench run`."""
        task = TASKS[self.data]
        folder = out / "folds" / self.suite
        options = [f"task={task}", f"data.train={folder / 'train.jsonl'}", f"data.test={folder / 'test.jsonl'}"]
        options += [f"suite.name={self.suite}", f"ledger={out / 'runs'}", "trainer.threads=1"]
        chosen = SETTINGS[task][self.setting]
        if self.setting != FLOOR:
            options.append("encoder=glove")
        return [*options, *chosen]


def trec(data: Path) -> list[Row]:
    with (data / "trec/train.csv").open(encoding="utf-8", newline="") as file:
        return [(row["question"], row["label"]) for row in csv.DictReader(file)]


def sst5(data: Path) -> list[Row]:
    rows = []
    for tree in read_trees(data / "sst/train.txt"):
        sentence = next(iter(tree.phrases(shortest=None)))
        rows.append((" ".join(sentence.tokens), str(sentence.label)))
    return random.Random(0).sample(rows, SENTENCES)


def genres(data: Path) -> list[Row]:
    """Equally many sentences of each of the five genres of EWT."""
    texts = defaultdict(list)
    genre = ""
    for line in _conllu(data):
        if line.startswith("# newdoc id = "):
            genre = line.split(" = ")[1].split("-")[0]
        elif line.startswith("# text = "):
            text = line.removeprefix("# text = ").strip()
            if len(text.split()) >= SHORTEST:
                texts[genre].append(text)
    rows: list[Row] = []
    for genre, of_genre in sorted(texts.items()):
        chosen = random.Random(0).sample(of_genre, SENTENCES // len(texts))
        rows += [(text, genre) for text in chosen]
    return rows


def upos(data: Path) -> list[Row]:
    sentences: list[Row] = []
    tokens: list[str] = []
    tags: list[str] = []
    for line in _conllu(data):
        cells = line.rstrip("\n").split("\t")
        if len(cells) > 3 and cells[0].isdigit():
            tokens.append(cells[1].replace(" ", ""))
            tags.append(cells[3])
        elif not line.strip() and tokens:
            sentences.append((" ".join(tokens), " ".join(tags)))
            tokens, tags = [], []
    return random.Random(0).sample(sentences, SENTENCES)


def _conllu(data: Path) -> Iterable[str]:
    with (data / "ud_ewt/en_ewt-ud-train.conllu").open(encoding="utf-8") as file:
        yield from file


READERS = {"trec": trec, "sst5": sst5, "genres": genres, "upos": upos}


def write_folds(name: str, rows: Sequence[Row], out: Path) -> None:
    """OUT/folds/NAME-foldK/{train,test}.jsonl of each fold; existing ones stay."""
    texts = [text for text, _ in rows]
    strata = [gold for _, gold in rows]
    if TASKS[name] == "tagging":
        strata = ["" for _ in rows]
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    for number, (train, test) in enumerate(folds.split(texts, strata, groups=texts)):
        folder = out / "folds" / f"{name}-fold{number}"
        folder.mkdir(parents=True, exist_ok=True)
        for split, places in (("train", train), ("test", test)):
            path = folder / f"{split}.jsonl"
            if not path.exists():
                lines = [_line(name, *rows[place]) for place in places]
                path.write_text("".join(lines), encoding="utf-8")


def _line(name: str, text: str, gold: str) -> str:
    row: dict[str, Any] = {"text": text, "label": gold}
    if TASKS[name] == "tagging":
        row = {"tokens": text.split(" "), "tags": gold.split(" ")}
    return f"{elmo_bench.base.json.canonical(row)}\n"


def items(sets: Sequence[str], settings: Sequence[str], folds: Sequence[int]) -> list[Item]:
    """Fold by fold, so that a job that is stopped has compared all settings on some folds."""
    wanted = []
    for fold in folds:
        for name in sets:
            for setting in SETTINGS[TASKS[name]]:
                if setting in settings or not settings:
                    wanted.append(Item(name, fold, setting))
    return wanted


Scores = dict[tuple[str, str], dict[int, float]]  # {(set, setting): {fold: score}}


def scores(ledger: Path) -> tuple[Scores, dict[tuple[str, str], list[float]]]:
    """The scores of the finished runs, and their processor minutes."""
    found: Scores = defaultdict(dict)
    minutes = defaultdict(list)
    for record in read_all(ledger).records:
        name, _, fold = record.spec.suite.rpartition("-fold")
        setting = _setting_of(record)
        if setting:
            found[name, setting][int(fold)] = score_of(record, "test")
            minutes[name, setting].append(work_minutes_of(record))
    return found, minutes


def _setting_of(record: Any) -> str | None:
    """The setting of a run, by the options that its record states."""
    if record.spec.encoder in ("tfidf", "features"):
        return FLOOR
    changes = {f"{key}={value}".replace(" ", "") for key, value in (record.changes or {}).items()}
    for setting, options in SETTINGS[record.spec.task].items():
        if setting != FLOOR and set(options) == changes:
            return setting
    return None


def difference(one: dict[int, float], other: dict[int, float]) -> tuple[float, float] | None:
    """The mean difference over the folds of both, and its standard error; None of fewer than two folds."""
    folds = sorted(one.keys() & other.keys())
    if len(folds) < 2:
        return None
    gains = [one[fold] - other[fold] for fold in folds]
    return fmean(gains), stdev(gains) / len(gains) ** 0.5


def over_sets(found: Scores, task: str, setting: str) -> dict[int, float]:
    """The mean over the task's sets of a setting's score on each fold that all of them have."""
    sets = [name for name, of_task in TASKS.items() if of_task == task and (name, DEFAULT) in found]
    by_set = [found.get((name, setting), {}) for name in sets]
    folds = set(by_set[0]).intersection(*by_set[1:]) if by_set else set()
    return {fold: fmean(scores[fold] for scores in by_set) for fold in folds}


def passes(found: Scores, task: str, setting: str) -> bool:
    """Whether the setting becomes the default: the rule of docs/choices.md, "The defaults of their heads"."""
    whole = difference(over_sets(found, task, setting), over_sets(found, task, DEFAULT))
    if whole is None:
        return False
    for name in [name for name, of_task in TASKS.items() if of_task == task]:
        on_set = difference(found.get((name, setting), {}), found.get((name, DEFAULT), {}))
        if on_set is not None and on_set[0] < -POINTS:
            return False
    gain, error = whole
    return gain > POINTS and gain > ERRORS * error


def table(found: Scores, minutes: dict[tuple[str, str], list[float]]) -> list[str]:
    lines = [
        "| data | setting | folds | score | over the floor | over the default | minutes a run |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, task in TASKS.items():
        for setting in SETTINGS[task]:
            by_fold = found.get((name, setting), {})
            if len(by_fold) < 2:
                continue
            gains = []
            for other in (FLOOR, DEFAULT):
                gain = difference(by_fold, found.get((name, other), {}))
                if gain is None or setting in (FLOOR, other):
                    gains.append("")
                else:
                    gains.append(f"{gain[0]:+.2f} ± {gain[1]:.2f}")
            score = f"{fmean(by_fold.values()):.2f} ± {stdev(by_fold.values()):.2f}"
            took = fmean(minutes[name, setting])
            lines.append(f"| {name} | {setting} | {len(by_fold)} | {score} | {gains[0]} | {gains[1]} | {took:.1f} |")
    return lines


def verdicts(found: Scores) -> list[str]:
    lines = []
    for task, settings in SETTINGS.items():
        for setting in settings:
            gain = difference(over_sets(found, task, setting), over_sets(found, task, DEFAULT))
            if gain is None or setting in (FLOOR, DEFAULT):
                continue
            folds = len(over_sets(found, task, setting))
            answer = "becomes the default" if passes(found, task, setting) else "the default stays"
            lines.append(f"{task}, {setting}: {gain[0]:+.2f} ± {gain[1]:.2f} over all sets, {folds} folds: {answer}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Try defaults of the heads for own data, on folds of train.")
    parser.add_argument("out", type=Path, help="folder of folds and runs")
    parser.add_argument("--data", type=Path, required=True, help="with trec/train.csv, sst/train.txt and ud_ewt")
    parser.add_argument("--sets", default="trec,sst5,genres", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--settings", default="", help="names that are joined by ;")
    parser.add_argument("--folds", default="0,1,2,3,4")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    sets = given.sets.split(",")
    if not given.table:
        for name in sets:
            write_folds(name, READERS[name](given.data), given.out)
        settings = [setting for setting in given.settings.split(";") if setting]
        for item in items(sets, settings, [int(fold) for fold in given.folds.split(",")]):
            try:
                record = elmo_bench.run(*item.options(given.out))
            except UserError as error:
                print(f"{item}: {error}", file=sys.stderr)
                return 2
            took = work_minutes_of(record)
            print(f"{item.suite} {item.setting}: {score_of(record, 'test'):.2f}, {took:.1f} minutes", flush=True)
    found, minutes = scores(given.out / "runs")
    print("\n".join([*table(found, minutes), "", *verdicts(found)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
