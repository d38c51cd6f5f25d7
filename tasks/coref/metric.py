"""MUC, B³, CEAFe and mention scores; imports no torch.

They equal the scores of the CoNLL-2012 reference scorer, version 8.01. Spans match
exactly, singletons count, and numerators and denominators are summed over documents.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import TYPE, Sums, scores_of
from elmo_bench.base.progress import console
from elmo_bench.tasks.coref.conll import Part, read_parts
from elmo_bench.text.figures import figure_table, ratio


def best_alignment(weights: csr_array) -> float:
    """The highest sum of weights such that no two of them share a row or a column.

    weights: positive numbers by row and column; the others are zero. An extra column
    for each row makes every row aligned, which scipy's sparse solver needs; 1 more for
    each weight cancels out.
    """
    rows, columns = weights.shape
    shifted = weights.copy()
    shifted.data += 1
    square = hstack([shifted, eye_array(rows)]).tocsr()
    aligned, to = min_weight_full_bipartite_matching(square, maximize=True)
    inside = to < columns
    return math.fsum(weights[aligned[inside], to[inside]])


Chains = Sequence[Sequence[Sequence[int]]]  # spans of one document by chain
Mention = tuple[int, int]  # first and last token
Parts = Mapping[tuple[str, int], Part]  # by name and number
AVERAGED = ("muc", "bcub", "ceafe")
METRICS = (*AVERAGED, "mentions")
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
# The reference scorer refuses more copies of the key's mentions, over all documents.
TOO_MANY = 10


class Metric:
    """Selects by the mean F1 of MUC, B³ and CEAFe."""

    main = "average_f1"
    formula = "conll-2012"  # from numerators and denominators
    summed = tuple(
        f"{metric}_{side}" for metric, side in itertools.product(AVERAGED, SIDES)
    )
    files = ("KEY", "RESPONSE")

    def counts(
        self, gold: Sequence[Chains], predicted: Sequence[Chains]
    ) -> dict[str, np.ndarray]:
        """By document: METRIC_SIDE, such as `muc_recall_num`.

        Numerators are float64, denominators int64.
        """
        documents = [_document(*pair) for pair in zip(gold, predicted, strict=True)]
        table = np.array(documents).reshape(-1, len(METRICS), len(SIDES))
        counts: dict[str, np.ndarray] = {}
        for row, metric in enumerate(METRICS):
            for column, side in enumerate(SIDES):
                values = table[:, row, column]
                if not side.endswith("_num"):
                    values = values.astype(np.int64)
                counts[f"{metric}_{side}"] = values
        return counts

    def figures(self, sums: Sums) -> dict[str, Any]:
        """average_f1, METRIC_f1, documents; of each metric SIDES and its rates.

        The figures of a metric (rates: recall, precision, f1) are named as of a type.
        The average is over MUC, B³ and CEAFe, as in the shared task (Pradhan et al.
        2012).
        """
        rows = {}
        for name in METRICS:
            rows[name] = _rates({side: sums[f"{name}_{side}"] for side in SIDES})
        figures = {"average_f1": sum(rows[name]["f1"] for name in AVERAGED) / 3}
        for name, row in rows.items():
            figures[f"{name}_f1"] = row["f1"]
        figures["documents"] = sums["items"]
        for name, row in rows.items():
            for figure, value in row.items():
                figures[f"{TYPE}{name}.{figure}"] = value
        return figures

    def units(self, sums: Sums) -> Any:
        """Gold mentions."""
        return sums["bcub_recall_den"]

    def score_files(self, key: Path, response: Path) -> dict[str, Any]:
        """The scores of CoNLL-2012 files.

        {"scores": {"muc", "bcub", "ceafe", "mentions": {recall_num, ..., f1},
        "average_f1"}}. Chains are scored as written, singletons included. A document
        missing from the response counts as empty, and one missing from the key is
        ignored; a message names both. Raises UserError.
        """
        wanted, answers = _by_name(key), _by_name(response)
        _check_tokens(key, wanted, response, answers)
        missing = wanted.keys() - answers.keys()
        if missing:
            text = f"{len(missing)} documents of {key} are missing and count as empty"
            console.print(f"{response}: {text}", style="yellow")
        surplus = answers.keys() - wanted.keys()
        if surplus:
            text = f"{len(surplus)} documents are not in {key} and are ignored"
            console.print(f"{response}: {text}", style="yellow")
        _check_copies(wanted, response, answers)
        keys = [part.chains for part in wanted.values()]
        responses = [answers[name].chains if name in answers else [] for name in wanted]
        return {"scores": _rows(scores_of(self, self.counts(keys, responses)))}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a metric."""
        rows = scores.get("scores") or _rows(scores)
        columns = {"recall": "recall", "precision": "precision", "F1": "f1"}
        table = figure_table({name: rows[name] for name in METRICS}, columns)
        return f"{table}\naverage F1 of muc, bcub and ceafe: {rows['average_f1']:.2f}"


def _rows(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of each metric, and their average."""
    return {**scores["by_type"], "average_f1": scores["overall"]["average_f1"]}


def _check_tokens(key: Path, wanted: Parts, response: Path, answers: Parts) -> None:
    """Raises UserError if a document is not as long in both files."""
    for name, part in answers.items():
        right = wanted.get(name)
        if right is not None and part.tokens != right.tokens:
            raise UserError(
                f"{response}:{part.line}: {part.tokens} tokens where "
                f"{key}:{right.line} has {right.tokens}. "
                "Score predictions of the same document."
            )


def _check_copies(wanted: Parts, response: Path, answers: Parts) -> None:
    """Raises UserError if the response repeats mentions of the key too often."""
    copies = 0
    for name, part in answers.items():
        if name not in wanted:
            continue
        in_key = set(itertools.chain.from_iterable(wanted[name].chains))
        mentions = itertools.chain.from_iterable(part.chains)
        spans = [span for span in mentions if span in in_key]
        copies += len(spans) - len(set(spans))
        if copies > TOO_MANY:
            raise UserError(
                f"{response}:{part.line}: up to here over {TOO_MANY} mentions of the "
                "key are repeated. Remove the copies: the official scorer refuses them."
            )


def _document(key: Chains, response: Chains) -> np.ndarray:
    """What one document counts: float64 [4, 4].

    Numerator and denominator of recall, then of precision, for each of METRICS. A span
    in two chains of the key belongs to the last of them where a mention has one chain:
    the links of MUC, and the chain that B³ compares with the mention's chain in the
    response. The sizes and overlaps of chains count it in both. "mentions" counts
    distinct spans. Only pairs of chains that share a mention are kept, so memory grows
    with the mentions.
    """
    key_chains, response_chains = _in_order(key), _in_order(response)
    chains_of: defaultdict[Mention, list[int]] = defaultdict(list)
    for row, chain in enumerate(key_chains):
        for span in set(chain):
            chains_of[span].append(row)
    response_chains = _unrepeated(response_chains, chains_of)
    in_both = 0
    shared: Counter[tuple[int, int]] = Counter()  # mentions that two chains share
    once: Counter[tuple[int, int]] = Counter()  # each with its last chain in the key
    for column, chain in enumerate(response_chains):
        for span in chain:
            in_key = chains_of.get(span)
            if in_key:
                in_both += 1
                once[in_key[-1], column] += 1
                for row in in_key:
                    shared[row, column] += 1
    rows, columns = np.array([*shared], dtype=int).reshape(-1, 2).T
    both = np.array([*shared.values()], dtype=float)
    last = np.array([once[pair] for pair in shared], dtype=float)
    k, r = _sizes(key_chains), _sizes(response_chains)
    links = (last - 1).clip(min=0).sum()
    similar = 2 * both / (k[rows] + r[columns])
    best = best_alignment(csr_array((similar, (rows, columns)), shape=(len(k), len(r))))
    bcub_recall = (last * both / k[rows]).sum()
    bcub_precision = (last * both / r[columns]).sum()
    mentions = len(set(itertools.chain.from_iterable(response_chains)))
    return np.array(
        [
            [links, (k - 1).sum(), links, (r - 1).sum()],
            [bcub_recall, k.sum(), bcub_precision, r.sum()],
            [best, len(k), best, len(r)],
            [in_both, len(chains_of), in_both, mentions],
        ]
    )


def _sizes(chains: Sequence[Sequence[Mention]]) -> np.ndarray:
    return np.array([len(chain) for chain in chains], dtype=float)


def _in_order(chains: Chains) -> list[list[Mention]]:
    """Chains in the order of their first tokens, as in files.

    "Last" and "later copies" refer to this order.
    """
    spans = [[(span[0], span[1]) for span in chain] for chain in chains]
    return sorted(spans, key=_first_token)


def _first_token(chain: Sequence[Mention]) -> int:
    return min((start for start, _ in chain), default=0)


def _unrepeated(
    response: Sequence[Sequence[Mention]], in_key: Container[Mention]
) -> list[list[Mention]]:
    """The response without later copies of mentions in the key.

    Copies of other mentions stay.
    """
    seen: set[Mention] = set()
    chains = []
    for chain in response:
        new = []
        for span in chain:
            if span not in seen or span not in in_key:
                new.append(span)
            seen.add(span)
        if new:
            chains.append(new)
    return chains


def _by_name(path: Path) -> dict[tuple[str, int], Part]:
    parts = read_parts(path, single_first=True)
    return {(part.name, int(part.number)): part for part in parts}


def _rates(sums: Sums) -> dict[str, Any]:
    """The sums of SIDES, and recall, precision and F1 in percent."""
    recall = ratio(sums["recall_num"], sums["recall_den"])
    precision = ratio(sums["precision_num"], sums["precision_den"])
    f1 = ratio(2 * precision * recall, precision + recall)
    rates = {"recall": recall, "precision": precision, "f1": f1}
    return {**sums, **{name: 100 * rate for name, rate in rates.items()}}
