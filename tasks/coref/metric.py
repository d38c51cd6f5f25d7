"""MUC, B³, CEAFe and mention scores, equal to the CoNLL-2012 reference scorer, version 8.01; imports no torch.

Spans match exactly, singletons count, and numerators and denominators are summed over documents.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import FINE, Formula, columns, ratio
from elmo_bench.base.progress import console
from elmo_bench.tasks.coref.conll import Part, read_parts
from elmo_bench.text.figures import figure_table


def best_alignment(weights: csr_array) -> float:
    """The highest sum of weights such that no two of them share a row or a column.

    weights: positive numbers by row and column; the others are zero. A column of its own for each row makes every row
    aligned, which scipy's sparse solver needs; 1 more for each weight cancels out.
    """
    rows, columns = weights.shape
    shifted = weights.copy()
    shifted.data += 1
    aligned, to = min_weight_full_bipartite_matching(hstack([shifted, eye_array(rows)]).tocsr(), maximize=True)
    inside = to < columns
    return math.fsum(weights[aligned[inside], to[inside]])


Chains = Sequence[Sequence[Sequence[int]]]  # of one document: spans (first token, last token) by chain
Mention = tuple[int, int]  # first and last token
METRICS = ("muc", "bcub", "ceafe", "mentions")
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
TOO_MANY = 10  # copies of mentions in the key, over all documents, above which the reference scorer refuses


def _average_f1(sums: np.ndarray) -> np.ndarray:
    """The mean F1 of MUC, B³ and CEAFe, in percent, as in the CoNLL-2012 shared task (Pradhan et al. 2012)."""
    by_metric = sums.reshape(*sums.shape[:-1], 3, len(SIDES))
    recall = ratio(by_metric[..., 0], FINE * by_metric[..., 1])
    precision = ratio(by_metric[..., 2], FINE * by_metric[..., 3])
    return 100 * ratio(2 * precision * recall, precision + recall).mean(axis=-1)


_SUMMED = tuple(f"{metric}_{side}" for metric in METRICS[:3] for side in SIDES)
CONLL_2012 = Formula(
    "conll-2012",
    _SUMMED,
    columns,
    _average_f1,
    lambda sums: sums[_SUMMED.index("bcub_recall_den")],  # gold mentions
)


class Metric:
    """Selects by the mean F1 of MUC, B³ and CEAFe."""

    main = "average_f1"
    formula = CONLL_2012
    files = ("KEY", "RESPONSE")

    def score(self, gold: Sequence[Chains], predicted: Sequence[Chains]) -> dict[str, Any]:
        """{"overall": {average_f1, muc_f1, ..., mentions_f1}, "by_type": {metric: {recall_num, ..., precision, f1}}}.

        One item a document. Percentages are unrounded; 0 where there is nothing to divide by.
        """
        sums = np.zeros((len(METRICS), len(SIDES)))
        for key, response in zip(gold, predicted, strict=True):
            sums += counts(key, response)
        rows = {name: _figures(*values) for name, values in zip(METRICS, sums.tolist(), strict=True)}
        average = sum(rows[name]["f1"] for name in METRICS[:3]) / 3
        overall = {"average_f1": average, **{f"{name}_f1": row["f1"] for name, row in rows.items()}}
        return {"overall": {**overall, "documents": len(gold)}, "by_type": rows}

    def outcomes(self, gold: Sequence[Chains], predicted: Sequence[Chains]) -> dict[str, np.ndarray]:
        """Numerators (in millionths) and denominators of each document, for paired tests: uint64 [documents].

        Names are METRIC_SIDE, such as `muc_recall_num`.
        """
        table = np.array([counts(*pair) for pair in zip(gold, predicted, strict=True)]).reshape(-1, len(METRICS), 4)
        table[:, :, [0, 2]] *= FINE
        whole = np.rint(table).astype(np.uint64)
        return {f"{name}_{side}": whole[:, i, j] for i, name in enumerate(METRICS) for j, side in enumerate(SIDES)}

    def score_files(self, key: Path, response: Path) -> dict[str, Any]:
        """{"scores": {"muc", "bcub", "ceafe", "mentions": {recall_num, ..., f1}, "average_f1"}} of CoNLL-2012 files.

        Chains are scored as written, singletons included. A document missing from the response counts as empty, and one
        missing from the key is ignored; a message names both. Raises UserError.
        """
        wanted, given = _by_name(key), _by_name(response)
        for name, part in given.items():
            if name in wanted and part.tokens != wanted[name].tokens:
                raise UserError(
                    f"{response}:{part.line}: {part.tokens} tokens where {key}:{wanted[name].line} has "
                    f"{wanted[name].tokens}. Score predictions of the same document."
                )
        if missing := wanted.keys() - given.keys():
            console.print(
                f"{response}: {len(missing)} documents of {key} are missing and count as empty", style="yellow"
            )
        if surplus := given.keys() - wanted.keys():
            console.print(f"{response}: {len(surplus)} documents are not in {key} and are ignored", style="yellow")
        copies = 0
        for name, part in ((name, part) for name, part in given.items() if name in wanted):
            known = {span for chain in wanted[name].chains for span in chain}
            spans = [span for chain in part.chains for span in chain if span in known]
            copies += len(spans) - len(set(spans))
            if copies > TOO_MANY:
                raise UserError(
                    f"{response}:{part.line}: up to here over {TOO_MANY} mentions of the key are repeated. Remove the "
                    "copies: the official scorer refuses them."
                )
        scores = self.score(
            [part.chains for part in wanted.values()],
            [given[name].chains if name in given else [] for name in wanted],
        )
        return {"scores": {**scores["by_type"], "average_f1": scores["overall"]["average_f1"]}}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a metric."""
        rows = scores.get("scores") or {**scores["by_type"], "average_f1": scores["overall"]["average_f1"]}
        columns = {"recall": "recall", "precision": "precision", "F1": "f1"}
        table = figure_table({name: rows[name] for name in METRICS}, columns)
        return f"{table}\naverage F1 of muc, bcub and ceafe: {rows['average_f1']:.2f}"


def counts(key: Chains, response: Chains) -> np.ndarray:
    """Numerator and denominator of recall, then of precision, for each of METRICS: float64 [4, 4] of one document.

    A span in two chains of the key belongs to the last of them where a mention has one chain: the links of MUC, and the
    chain that B³ compares with the mention's chain in the response. The sizes and overlaps of chains count it in both.
    "mentions" counts distinct spans. Only pairs of chains that share a mention are kept, so memory grows with the
    mentions.
    """
    key_chains, response_chains = _in_order(key), _in_order(response)
    chains_of: defaultdict[Mention, list[int]] = defaultdict(list)
    for row, chain in enumerate(key_chains):
        for span in set(chain):
            chains_of[span].append(row)
    response_chains = _unrepeated(response_chains, chains_of)
    places = [(chains_of.get(span), column) for column, chain in enumerate(response_chains) for span in chain]
    known = [(rows, column) for rows, column in places if rows]
    shared = Counter((row, column) for rows, column in known for row in rows)  # mentions that two chains share
    owned = Counter((rows[-1], column) for rows, column in known)  # each mention once, with its last chain in the key
    rows, columns = np.array([*shared], dtype=int).reshape(-1, 2).T
    both = np.array([*shared.values()], dtype=float)
    own = np.array([owned[pair] for pair in shared], dtype=float)
    k, r = (np.array([len(chain) for chain in side], dtype=float) for side in (key_chains, response_chains))
    links = (own - 1).clip(min=0).sum()
    best = best_alignment(csr_array((2 * both / (k[rows] + r[columns]), (rows, columns)), shape=(len(k), len(r))))
    mentions = len({span for chain in response_chains for span in chain})
    return np.array(
        [
            [links, (k - 1).sum(), links, (r - 1).sum()],
            [(own * both / k[rows]).sum(), k.sum(), (own * both / r[columns]).sum(), r.sum()],
            [best, len(k), best, len(r)],
            [len(known), len(chains_of), len(known), mentions],
        ]
    )


def _in_order(chains: Chains) -> list[list[Mention]]:
    """Chains in the order of their first tokens, as files have them; "last" and "later copies" refer to this order."""
    spans = [[(span[0], span[1]) for span in chain] for chain in chains]
    return sorted(spans, key=lambda chain: min((start for start, _ in chain), default=0))


def _unrepeated(response: Sequence[Sequence[Mention]], known: Container[Mention]) -> list[list[Mention]]:
    """The response without later copies of mentions in the key; copies of other mentions stay."""
    seen: set[Mention] = set()
    kept = []
    for chain in response:
        new = []
        for span in chain:
            if span not in seen or span not in known:
                new.append(span)
            seen.add(span)
        if new:
            kept.append(new)
    return kept


def _by_name(path: Path) -> dict[tuple[str, int], Part]:
    return {(part.name, int(part.number)): part for part in read_parts(path, single_first=True)}


def _figures(recall_num: float, recall_den: float, precision_num: float, precision_den: float) -> dict[str, float]:
    recall = recall_num / recall_den if recall_den else 0.0
    precision = precision_num / precision_den if precision_den else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "recall_num": recall_num,
        "recall_den": int(recall_den),
        "precision_num": precision_num,
        "precision_den": int(precision_den),
        "recall": 100 * recall,
        "precision": 100 * precision,
        "f1": 100 * f1,
    }
