"""F1 of answers; imports no torch.

They are counted as by the scorer of the unified evaluation framework.

Source: Raganato, Camacho-Collados and Navigli (2017), and its Scorer.java.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import TYPE, Sums, scores_of
from elmo_bench.base.notes import note
from elmo_bench.tasks.wsd.evaluation import Target, entry, read_keys
from elmo_bench.text.figures import by_type, figure_table, percent, ratio

Answers = tuple[str, ...]  # sense keys of a target; () if there is no answer
Gold = Sequence[Sequence[Target]]
COUNTED = ("correct", "guessed", "gold")


class Metric:
    """F1 over targets.

    An answer is right if it is one of the gold keys; several answers share one point,
    and equal ones are one answer. A target without gold keys does not count.
    """

    main = "f1"
    formula = "f1-counts"  # from correct answers, answers and targets
    summed = COUNTED
    files = ("GOLD", "ANSWERS")

    def counts(
        self, gold: Gold, predicted: Sequence[Sequence[Answers]]
    ) -> dict[str, np.ndarray]:
        """By sentence: correct, guessed (targets with an answer), gold (targets).

        Also by part of speech. Whole numbers, unless a target has several answers, as
        in files alone. Raises ValueError if gold and predicted differ in length or are
        empty.
        """
        lengths = [*map(len, gold)]
        if lengths != [*map(len, predicted)] or not sum(lengths):
            raise ValueError("gold and predicted senses must be as many, and some")
        shape = (len(COUNTED), len(gold))
        tables: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(shape))
        for place, pair in enumerate(zip(gold, predicted, strict=True)):
            for target, answer in zip(*pair, strict=True):
                if not target.senses:
                    continue
                counted = (_right(target, answer), bool(answer), 1)
                # A set: a part of speech that is unknown is "", the name of the total.
                for kind in {"", _part_of_speech(target)}:
                    tables[kind][:, place] += counted
        total = tables.pop("", np.zeros(shape))
        counts = dict(zip(COUNTED, map(_whole, total), strict=True))
        for kind in sorted(tables):
            named = zip(COUNTED, map(_whole, tables[kind]), strict=True)
            counts |= {f"{TYPE}{kind}.{count}": values for count, values in named}
        return counts

    def figures(self, sums: Sums) -> dict[str, Any]:
        """f1, precision, recall, correct, guessed, gold.

        The same of each part of speech. Percentages are unrounded.
        """
        return _target_figures(sums) | by_type(sums, _target_figures)

    def units(self, sums: Sums) -> Any:
        return sums["gold"]

    def score_files(self, gold: Path, answers: Path) -> dict[str, Any]:
        """The scores of a file of answers: a target a line, then sense keys.

        As in the scorer of the framework, gold lines without keys do not count, and
        neither do answers to targets that gold lacks; a note counts both. Raises
        UserError if no gold line has keys, or if no answer is to a target of gold.
        """
        right = _with_keys(read_keys(gold), gold)
        answered = read_keys(answers)
        targets = []
        for name, keys in right.items():
            lemma, pos = entry(keys[0])
            targets.append(Target(name, 0, 1, lemma, pos, keys))
        _check_answered(answered, right, gold, answers)
        predicted = [answered.get(target.name, ()) for target in targets]
        scores = scores_of(self, self.counts([targets], [predicted]))
        for row in (scores["overall"], *_by_part_of_speech(scores).values()):
            whole = int(row["correct"])
            if row["correct"] == whole:
                row["correct"] = whole
        return scores

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a part of speech."""
        columns = {"precision": "precision", "recall": "recall", "F1": "f1"}
        columns |= {"correct": "correct", "answers": "guessed", "targets": "gold"}
        rows = {"all": scores["overall"], **_by_part_of_speech(scores)}
        return figure_table(rows, columns, least=7)


def _by_part_of_speech(scores: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of each part of speech; none for keys that do not name it (`bn:`)."""
    by_part: Mapping[str, Any] = scores.get("by_type", {})
    return by_part


def _with_keys(right: Mapping[str, Answers], gold: Path) -> dict[str, Answers]:
    """The targets that have gold keys; the others are noted. Raises UserError."""
    with_keys = {name: keys for name, keys in right.items() if keys}
    if not with_keys:
        raise UserError(f"{gold}: no target has a sense key. Give the gold of a suite.")
    without = len(right) - len(with_keys)
    if without:
        which = f"{without:,} of {len(right):,}"
        note(f"targets without a sense key, which do not count: {which}", gold)
    return with_keys


def _check_answered(
    answered: Mapping[str, Answers], right: Collection[str], gold: Path, answers: Path
) -> None:
    """Note the answers to targets that gold lacks. Raises UserError if all are so."""
    foreign = [name for name in answered if name not in right]
    if len(foreign) == len(answered):
        raise UserError(
            f"{answers}: none of its {len(answered):,} targets has a key in {gold}. "
            "Give the gold of these answers."
        )
    if foreign:
        which = f"{len(foreign):,} of {len(answered):,}, the first is {foreign[0]:.60}"
        note(f"targets without a key in gold, which are ignored: {which}", answers)


def _part_of_speech(target: Target) -> str:
    """Of the first sense key, else of the target."""
    return entry(target.senses[0])[1] or target.pos


def _right(target: Target, answer: Answers) -> float:
    """The share of the answer's keys that are right."""
    if not answer:
        return 0
    keys = set(answer)
    return sum(key in target.senses for key in keys) / len(keys)


def _whole(values: np.ndarray) -> np.ndarray:
    """Whole numbers as such."""
    whole = np.rint(values)
    return whole.astype(np.int64) if (whole == values).all() else values


def _target_figures(sums: Sums) -> dict[str, Any]:
    correct, guessed, gold = (sums[name] for name in COUNTED)
    return {
        "f1": ratio(200 * correct, guessed + gold),
        "precision": percent(correct, guessed),
        "recall": percent(correct, gold),
        "correct": correct,
        "guessed": guessed,
        "gold": gold,
    }
