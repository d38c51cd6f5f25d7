"""Exact match and F1, equal to evaluate-v1.1.py; imports no torch."""

import re
import string
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import Formula, ratio, share, with_items
from elmo_bench.tasks.squad.squad_json import entries, read_json

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)  # ASCII only, as in the official script
# The mean over questions of F1 = 2 · common / (guessed + gold), in percent.
MEAN_F1 = Formula(
    "mean-f1",
    ("common", "guessed", "gold"),
    lambda common, guessed, gold: with_items(ratio(2 * common, guessed + gold)),
    share,
    lambda sums: sums[1],
)


def normalise(answer: str) -> str:
    """Lower case, without punctuation, then without articles, with single spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).split())


class Metric:
    """The best exact match and the best F1 of a prediction over the gold answers."""

    main = "f1"
    formula = MEAN_F1
    files = ("DEV.json", "PREDICTIONS.json")

    def score(self, gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, Any]:
        """{"overall": {f1, exact_match, questions}}, the first two in percent, unrounded.

        Raises ValueError if gold and predicted differ in length or are empty, or if a question has no gold answer.
        """
        counts = [_counts(answers, answer) for answers, answer in _pairs(gold, predicted)]
        return {"overall": _figures(counts, len(gold))}

    def outcomes(self, gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, np.ndarray]:
        """For paired tests, uint32 [questions] each: exact (0 or 1); words of the best answer: common, guessed, gold.

        The best gold answer has the highest F1, 2 · common / (guessed + gold).
        """
        counts = [_counts(answers, answer) for answers, answer in _pairs(gold, predicted)]
        table = np.array(counts, dtype=np.uint32).reshape(-1, 4)
        return dict(zip(("exact", "common", "guessed", "gold"), table.T, strict=True))

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
        counts, questions = [], 0
        for entry in entries(data, dev):
            questions += 1
            if not entry.answers:
                raise UserError(f"{dev}: question {entry.id}: no answers to compare with. Remove it.")
            if entry.id in answers:
                counts.append(_counts([text for text, _ in entry.answers], answers[entry.id]))
            else:
                print(f"Unanswered question {entry.id} will receive score 0.", file=sys.stderr)
        figures = _figures(counts, questions)
        return {"exact_match": figures["exact_match"], "f1": figures["f1"]}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text."""
        figures = scores.get("overall", scores)
        return f"exact match {figures['exact_match']:.2f} %, F1 {figures['f1']:.2f} %"


def _pairs(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> zip:
    if len(gold) != len(predicted) or not all(gold) or not gold:
        raise ValueError(f"{len(gold)} gold answers and {len(predicted)} predicted ones, or a question without gold")
    return zip(gold, predicted, strict=True)


def _counts(answers: Sequence[str], predicted: str) -> tuple[int, int, int, int]:
    """Exact match with any of the answers; common, predicted and gold words of the one with the best F1."""
    said = normalise(predicted)
    words, exact, best = Counter(said.split()), 0, (0, 0, 0)
    for answer in dict.fromkeys(answers):
        wanted = normalise(answer)
        exact |= wanted == said
        others = Counter(wanted.split())
        now = ((words & others).total(), words.total(), others.total())
        if not best[1] + best[2] or _f1(now) > _f1(best):
            best = now
    return exact, *best


def _f1(counts: tuple[int, int, int]) -> float:
    common, guessed, gold = counts
    if not common:
        return 0.0
    precision, recall = common / guessed, common / gold
    return 2 * precision * recall / (precision + recall)


def _figures(counts: Sequence[tuple[int, int, int, int]], questions: int) -> dict[str, float]:
    exact = sum(count[0] for count in counts)
    f1 = sum(_f1(count[1:]) for count in counts)
    return {"f1": 100 * f1 / questions, "exact_match": 100 * exact / questions, "questions": questions}
