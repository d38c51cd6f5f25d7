"""F1 of answers, counted as by the scorer of the unified evaluation framework; imports no torch.

Source: Raganato, Camacho-Collados and Navigli (2017), and its Scorer.java.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.wsd.evaluation import Target, entry, read_keys
from elmo_bench.text.figures import F1_COUNTS, count_types, figure_table

Answers = tuple[str, ...]  # sense keys of a target; () if there is no answer
Gold = Sequence[Sequence[Target]]


class Metric:
    """F1 over targets: an answer is right if it is one of the gold keys, and several answers share one point."""

    main = "f1"
    formula = F1_COUNTS
    files = ("GOLD", "ANSWERS")

    def score(self, gold: Gold, predicted: Sequence[Sequence[Answers]]) -> dict[str, Any]:
        """{"overall": {f1, precision, recall, correct, guessed, gold}, "by_type": the same for each part of speech}.

        guessed: targets with an answer; gold: all targets. Percentages are unrounded. Raises ValueError if gold and
        predicted differ in length or are empty.
        """
        if [*map(len, gold)] != [*map(len, predicted)] or not sum(map(len, gold)):
            raise ValueError("gold and predicted senses must be as many, and some")
        counts: dict[str, dict[str, float]] = {}
        for targets, answers in zip(gold, predicted, strict=True):
            for target, answer in zip(targets, answers, strict=True):
                for kind in ("overall", _part_of_speech(target)):
                    tally = counts.setdefault(kind, {"correct": 0, "guessed": 0, "gold": 0})
                    tally["correct"] += _right(target, answer)
                    tally["guessed"] += bool(answer)
                    tally["gold"] += 1
        overall = _figures(counts.pop("overall"))
        return {"overall": overall, "by_type": {kind: _figures(counts[kind]) for kind in sorted(counts)}}

    def outcomes(self, gold: Gold, predicted: Sequence[Sequence[Answers]]) -> dict[str, np.ndarray]:
        """For paired tests, by sentence: right answers, answers, targets. Each target has one answer at most.

        And the same by part of speech.
        """
        pairs = [list(zip(*pair, strict=True)) for pair in zip(gold, predicted, strict=True)]
        chosen = {
            "correct": lambda *pair: int(_right(*pair)),
            "guessed": lambda _, answer: answer,
            "gold": lambda *_: True,
        }
        kinds = {
            name: [[_part_of_speech(pair[0]) for pair in sentence if counts(*pair)] for sentence in pairs]
            for name, counts in chosen.items()
        }
        return {name: np.array([*map(len, items)]) for name, items in kinds.items()} | count_types(kinds)

    def score_files(self, gold: Path, answers: Path) -> dict[str, Any]:
        """The scores of a file of answers: a target a line, then sense keys. Raises UserError."""
        right, given = read_keys(gold), read_keys(answers)
        if unknown := next((name for name in given if name not in right), None):
            raise UserError(f"{answers}: {unknown[:60]} is not in {gold}. Give the gold of these answers.")
        targets = [Target(name, 0, 1, *entry(keys[0] if keys else ""), keys) for name, keys in right.items()]
        return self.score([targets], [[given.get(target.name, ()) for target in targets]])

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a part of speech."""
        columns = {"precision": "precision", "recall": "recall", "F1": "f1"}
        columns |= {"correct": "correct", "answers": "guessed", "targets": "gold"}
        return figure_table({"all": scores["overall"], **scores["by_type"]}, columns, least=7)


def _part_of_speech(target: Target) -> str:
    return entry(target.senses[0])[1] or target.pos if target.senses else target.pos


def _right(target: Target, answer: Answers) -> float:
    return sum(key in target.senses for key in answer) / len(answer) if answer else 0


def _figures(counts: Mapping[str, float]) -> dict[str, float]:
    correct, guessed, gold = counts["correct"], counts["guessed"], counts["gold"]
    return {
        "f1": 200 * correct / (guessed + gold),
        "precision": 100 * correct / guessed if guessed else 0.0,
        "recall": 100 * correct / gold,
        "correct": int(correct) if correct == int(correct) else correct,
        "guessed": int(guessed),
        "gold": int(gold),
    }
