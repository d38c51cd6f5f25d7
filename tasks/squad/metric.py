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

from elmo_bench.base.errors import UserError, plain
from elmo_bench.base.metric import Counts, Sums, scores_of
from elmo_bench.tasks.squad.squad_json import entries, read_json
from elmo_bench.text.figures import percent, ratio

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# ASCII only, as in the official script.
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
COUNTED = ("exact", "common", "guessed", "gold")


def normalise(answer: str) -> str:
    """Lower case, without punctuation, then without articles, with single spaces."""
    plain = answer.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


class Metric:
    """The best exact match and the best F1 of a prediction over the gold answers."""

    main = "f1"
    formula = "mean-f1"  # the mean over questions of the F1 of the best gold answer
    summed = ("f1",)
    files = ("DEV.json", "PREDICTIONS.json")

    def counts(
        self, gold: Sequence[Sequence[str]], predicted: Sequence[str | None]
    ) -> dict[str, np.ndarray]:
        """By question, uint32: exact (0 or 1), common, guessed, gold.

        The last three are words, of the answer with the highest F1. A prediction that
        is None counts nothing. Raises ValueError if gold and predicted differ in length
        or are empty, or if a question has no gold answer.
        """
        if len(gold) != len(predicted) or not all(gold) or not gold:
            raise ValueError(
                f"{len(gold)} gold answers and {len(predicted)} predicted ones, "
                "or a question without gold"
            )
        pairs = zip(gold, predicted, strict=True)
        compared = [_compared(answers, answer) for answers, answer in pairs]
        table = np.array([*itertools.chain(*compared)], np.uint32)
        exact, common, guessed, wanted = table.T
        f1 = np.where(guessed + wanted > 0, _f1(common, guessed, wanted), -1).tolist()
        ends = itertools.accumulate(map(len, compared), initial=0)
        # The rows of each question.
        places = [range(*between) for between in itertools.pairwise(ends)]
        best = table[[max(rows, key=f1.__getitem__) for rows in places]]
        best[:, 0] = [exact[rows].max() for rows in places]
        return dict(zip(COUNTED, best.T, strict=True))

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
        """{exact_match, f1} of a SQuAD 1.1 file and a file of predictions {id: text}.

        They are named as by the official scorer. As there, a question without a
        prediction counts as wrong, with a warning on standard error, and predictions
        for unknown questions are ignored. Raises UserError with the file.
        """
        data = read_json(dev)
        answers = read_json(predictions)
        values = answers.values() if isinstance(answers, dict) else [None]
        if not all(isinstance(text, str) for text in values):
            raise UserError(
                f"{predictions}: expected one object {{question's id: answer}}, "
                "both text. Fix it."
            )
        version = data.get("version") if isinstance(data, dict) else "1.1"
        if version != "1.1":
            warning = f"Evaluation expects v-1.1, but got dataset with v-{version}"
            print(plain(warning), file=sys.stderr)
        gold: list[list[str]] = []
        predicted: list[str | None] = []
        for entry in entries(data, dev):
            where = f"{dev}: question {entry.id}"
            if not entry.answers:
                raise UserError(f"{where}: no answers to compare with. Remove it.")
            gold.append([text for text, _ in entry.answers])
            predicted.append(answers.get(entry.id))
            if entry.id not in answers:
                warning = f"Unanswered question {entry.id} will receive score 0."
                print(plain(warning), file=sys.stderr)
        figures = scores_of(self, self.counts(gold, predicted))["overall"]
        return {"exact_match": figures["exact_match"], "f1": figures["f1"]}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text."""
        figures = scores.get("overall", scores)
        return f"exact match {figures['exact_match']:.2f} %, F1 {figures['f1']:.2f} %"


def _compared(
    answers: Sequence[str], predicted: str | None
) -> list[tuple[int, int, int, int]]:
    """For each answer COUNTED, if it were the only one."""
    if predicted is None:
        return [(0, 0, 0, 0)]
    prediction = normalise(predicted)
    words = Counter(prediction.split())
    rows = []
    for answer in dict.fromkeys(answers):
        wanted = normalise(answer)
        others = Counter(wanted.split())
        common = (words & others).total()
        exact = int(wanted == prediction)
        rows.append((exact, common, words.total(), others.total()))
    return rows


def _f1(common: np.ndarray, guessed: np.ndarray, gold: np.ndarray) -> np.ndarray:
    precision, recall = ratio(common, guessed), ratio(common, gold)
    return ratio(2 * precision * recall, precision + recall)
