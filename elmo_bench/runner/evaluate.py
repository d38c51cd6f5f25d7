"""Step 3 of a run: score its best epoch on dev, and then, once, on test; and count the
outcomes of every item.

The outcomes say which units of a split have a rare word, so that slices of dev and test
follow from a record alone:

| slice | units |
|---|---|
| `unseen`, `seen` | with a word that the run's training examples lack in any case of
  its letters; all others |
| `novector`, `vector` | with a word that the suite's static vectors lack, as their
  lookup finds it; all others |

A unit is what `Data.within` of the task keeps, such as an entity, and else an example,
with its `slice_words`, or without these the words of all its texts. A word is a token
with a letter. The vectors are the suite's for every encoder.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import encoded
from elmo_bench.encoders.static import StaticVectors
from elmo_bench.ledger import PAIRS, Scores
from elmo_bench.ledger.outcomes import check_figures
from elmo_bench.runner.data import Splits, held_out_words, words_of
from elmo_bench.runner.prepare import Prepared
from elmo_bench.runner.train import Trained, fill
from elmo_bench.training.contracts import Data, Metric

Outcomes = dict[str, np.ndarray]  # numbers [items] by name
Rare = Mapping[str, frozenset[str]]  # words by slice


def evaluate(
    prepared: Prepared, trained: Trained, work: Path
) -> tuple[dict[str, Any], Outcomes]:
    """Score dev, then test: {split: what the metric reports}, and the outcomes of both
    as `ledger.joined` gives them.

    With predictions=true, write the predictions to `work`.

    Raises UserError if a metric's counts have a name of the ledger's, or do not give
    its figures once they are stored.
    """
    module, data = trained.module, prepared.data
    trainer = trained.trainer
    assert trainer is not None
    rare = rare_words(prepared.splits, prepared.suite_vectors)
    scores, outcomes = {}, {}
    for split, run in (("dev", trainer.validate), ("test", trainer.test)):
        if split == "test":
            fill(trained, prepared, ["test"])
        run(module, dataloaders=trained.loaders.loader(split), verbose=False)
        scores[split] = module.scores
        predicted = module.predictions
        examples = prepared.splits[split]
        if prepared.setup.predictions:
            path = work / f"{split}.predictions{data.ending}"
            data.write(path, examples, predicted)
        counted = encoded(module.counts)
        added = _clusters(examples) | marks_of(examples)
        added |= slice_outcomes(
            data, module.metric, examples, predicted, rare=rare, whole=counted
        )
        _check_names(counted, added, prepared.spec.task)
        outcomes[split] = counted | added
    stored = ledger.joined(outcomes)
    check_figures(stored, module.metric, Scores.read(scores, "Metric.figures"))
    return scores, stored


def _check_names(counted: Outcomes, added: Outcomes, task: str) -> None:
    for name in counted:
        has_dot = "." in name and not name.startswith(ledger.TYPE)
        if name in added or has_dot:
            raise UserError(
                f"task={task}: Metric.counts has {name}: give it another name, without "
                "a dot."
            )


def rare_words(splits: Splits, vectors: StaticVectors) -> Rare:
    """{"unseen", "novector"}: words of dev and test that training lacks, and that the
    static vectors lack.

    `splits` has the training examples that the run reads, and no others.
    """
    seen = {word.lower() for word in words_of(splits["train"])}
    words = set(held_out_words(splits))
    return {
        "unseen": frozenset(word for word in words if word.lower() not in seen),
        "novector": frozenset(word for word in words if vectors.lookup(word) is None),
    }


def slice_outcomes(
    data: Data,
    metric: Metric,
    examples: Sequence[Any],
    predicted: Sequence[Any],
    *,
    rare: Rare,
    whole: Outcomes,
) -> Outcomes:
    """What the ledger keeps of a split: flags of examples, or what is counted of the
    units of each slice.

    rare: see `rare_words`. whole: what the metric counts of all units. A complement
    that is the rest of it is left out.
    """
    if not hasattr(data, "within"):
        return {name: _flags(examples, rare[name]) for name in PAIRS}
    outcomes = {}
    for name, other in PAIRS.items():
        count = partial(_within, data, metric, examples, predicted)
        part = count(partial(_has_word, rare[name]))
        rest = count(rare[name].isdisjoint)
        for key, values in part.items():
            outcomes[f"{name}.{key}"] = values
        is_rest = [(whole[key] - part[key] == rest[key]).all() for key in rest]
        if not all(is_rest):
            for key, values in rest.items():
                outcomes[f"{other}.{key}"] = values
    return outcomes


def _flags(examples: Sequence[Any], rare: frozenset[str]) -> np.ndarray:
    """Whether each example has a rare word."""
    flags = []
    for example in examples:
        words = getattr(example, "slice_words", None) or words_of([example])
        flags.append(_has_word(rare, words))
    return np.array(flags, bool)


def _has_word(rare: frozenset[str], words: Any) -> bool:
    return not rare.isdisjoint(words)


def _within(
    data: Any,
    metric: Metric,
    examples: Sequence[Any],
    predicted: Sequence[Any],
    keeps: Callable[[Any], bool],
) -> Outcomes:
    """By example, what the metric's main figure sums over its units whose words `keeps`
    accepts.

    Zeros for an example that `within` leaves out.
    """
    numbers = []
    gold = []
    answers = []
    for number, pair in enumerate(zip(examples, predicted, strict=True)):
        cut = data.within(*pair, keeps)
        if cut is not None:
            numbers.append(number)
            gold.append(cut[0])
            answers.append(cut[1])
    summed = {name: np.zeros(len(examples), np.int64) for name in metric.summed}
    if numbers:
        counted = encoded(metric.counts(gold, answers))
        for name, values in summed.items():
            values[numbers] = counted[name]
    return summed


def marks_of(examples: Sequence[Any]) -> Outcomes:
    """The examples' marks, by name; those that some of them lack are left out."""
    marks = [getattr(example, "marks", {}) for example in examples]
    outcomes = {}
    for name in marks[0]:
        if all(name in of_example for of_example in marks):
            values = [of_example[name] for of_example in marks]
            outcomes[name] = np.array(values, bool)
    return outcomes


def _clusters(examples: Sequence[Any]) -> Outcomes:
    """CLUSTER numbers the groups of examples in the order of their first example, where
    there are some."""
    groups = [getattr(example, "group", None) for example in examples]
    if None in groups:
        return {}
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return {ledger.CLUSTER: np.array([numbers[group] for group in groups])}
