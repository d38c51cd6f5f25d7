"""Exact match and F1, equal to evaluate-v1.1.py; imports no torch."""

import itertools
import re
import string
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Counts, Sums, scores_of
from elmo_bench.tasks.squad.squad_json import entries, read_json
from elmo_bench.text.figures import percent, ratio

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)  # ASCII only, as in the official script


def normalise(answer: str) -> str:
    """Lower case, without punctuation, then without articles, with single spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).split())


class Metric:
    """The best exact match and the best F1 of a prediction over the gold answers."""

    main = "f1"
    formula = "mean-f1"  # the mean over questions of the F1 of the best gold answer
    summed = ("f1",)
    files = ("DEV.json", "PREDICTIONS.json")

    def counts(self, gold: Sequence[Sequence[str]], predicted: Sequence[str | None]) -> dict[str, np.ndarray]:
        """By question, uint32: exact (0 or 1); words of the answer with the highest F1: common, guessed, gold.

        A prediction that is None counts nothing. Raises ValueError if gold and predicted differ in length or are
        empty, or if a question has no gold answer.
        """
        if len(gold) != len(predicted) or not all(gold) or not gold:
            said = f"{len(gold)} gold answers and {len(predicted)} predicted ones, or a question without gold"
            raise ValueError(said)
        each = [_compared(answers, answer) for answers, answer in zip(gold, predicted, strict=True)]
        table = np.array([*itertools.chain(*each)], np.uint32)
        exact, common, guessed, wanted = table.T
        f1 = np.where(guessed + wanted > 0, _f1(common, guessed, wanted), -1).tolist()
        ends = itertools.accumulate(map(len, each), initial=0)
        places = [range(*between) for between in itertools.pairwise(ends)]  # the rows of each question
        best = table[[max(rows, key=f1.__getitem__) for rows in places]]
        best[:, 0] = [exact[rows].max() for rows in places]
        return dict(zip(("exact", "common", "guessed", "gold"), best.T, strict=True))

    def per_item(self, counts: Counts) -> dict[str, np.ndarray]:
        """The F1 of each question, from 0 to 1."""
        return {"f1": _f1(counts["common"], counts["guessed"], counts["gold"])}

    def figures(self, sums: Sums) -> dict[str, Any]:
        """f1, exact_match, questions: the first two in percent, unrounded."""
        questions = sums["items"]
        return {
            "f1": percent(sums["f1"], questions),
            "exact_match": percent(sums["exact"], questions),
            "questions": questions,
        }

    def score_files(self, dev: Path, predictions: Path) -> dict[str, Any]:
        """{exact_match, f1} of a SQuAD 1.1 file and a file of predictions {id: text}, named as by the official scorer.

        As there, a question without a prediction counts as wrong, with a warning on standard error, and predictions for
        unknown questions are ignored. Raises UserError with the file.
        """
        data = read_json(dev)
        answers = read_json(predictions)
        if not isinstance(answers, dict) or not all(isinstance(text, str) for text in answers.values()):
            raise UserError(f"{predictions}: expected one object {{question's id: answer}}, both text. Fix it.")
        if isinstance(data, dict) and data.get("version") != "1.1":
            print(f"Evaluation expects v-1.1, but got dataset with v-{data.get('version')}", file=sys.stderr)
        gold: list[list[str]] = []
        predicted: list[str | None] = []
        for entry in entries(data, dev):
            if not entry.answers:
                raise UserError(f"{dev}: question {entry.id}: no answers to compare with. Remove it.")
            gold.append([text for text, _ in entry.answers])
            predicted.append(answers.get(entry.id))
            if entry.id not in answers:
                print(f"Unanswered question {entry.id} will receive score 0.", file=sys.stderr)
        figures = scores_of(self, self.counts(gold, predicted))["overall"]
        return {"exact_match": figures["exact_match"], "f1": figures["f1"]}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text."""
        figures = scores.get("overall", scores)
        return f"exact match {figures['exact_match']:.2f} %, F1 {figures['f1']:.2f} %"


def _compared(answers: Sequence[str], predicted: str | None) -> list[tuple[int, int, int, int]]:
    """With each answer: whether it is matched exactly; common words, predicted words, and words of the answer."""
    if predicted is None:
        return [(0, 0, 0, 0)]
    said, rows = normalise(predicted), []
    words = Counter(said.split())
    for answer in dict.fromkeys(answers):
        wanted = normalise(answer)
        others = Counter(wanted.split())
        rows.append((int(wanted == said), (words & others).total(), words.total(), others.total()))
    return rows


def _f1(common: np.ndarray, guessed: np.ndarray, gold: np.ndarray) -> np.ndarray:
    precision, recall = ratio(common, guessed), ratio(common, gold)
    return ratio(2 * precision * recall, precision + recall)
