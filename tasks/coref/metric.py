"""MUC, B³, CEAFe and mention scores, equal to the CoNLL-2012 reference scorer, version 8.01; imports no torch.

Spans match exactly, singletons count, and numerators and denominators are summed over documents.
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
AVERAGED = ("muc", "bcub", "ceafe")
METRICS = (*AVERAGED, "mentions")
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
TOO_MANY = 10  # copies of mentions in the key, over all documents, above which the reference scorer refuses


class Metric:
    """Selects by the mean F1 of MUC, B³ and CEAFe."""

    main = "average_f1"
    formula = "conll-2012"  # from numerators and denominators
    summed = tuple(f"{metric}_{side}" for metric, side in itertools.product(AVERAGED, SIDES))
    files = ("KEY", "RESPONSE")

    def counts(self, gold: Sequence[Chains], predicted: Sequence[Chains]) -> dict[str, np.ndarray]:
        """By document: METRIC_SIDE, such as `muc_recall_num`. Numerators are float64, denominators int64."""
        documents = [_document(*pair) for pair in zip(gold, predicted, strict=True)]
        table = np.array(documents).reshape(-1, len(METRICS), len(SIDES))
        counts: dict[str, np.ndarray] = {}
        for row, metric in enumerate(METRICS):
            for column, side in enumerate(SIDES):
                values = table[:, row, column]
                counts[f"{metric}_{side}"] = values if side.endswith("_num") else values.astype(np.int64)
        return counts

    def figures(self, sums: Sums) -> dict[str, Any]:
        """average_f1, METRIC_f1, documents; of each metric, as of a type: SIDES, recall, precision, f1.

        The average is over MUC, B³ and CEAFe, as in the shared task (Pradhan et al. 2012).
        """
        rows = {name: _rates({side: sums[f"{name}_{side}"] for side in SIDES}) for name in METRICS}
        f1 = {f"{name}_f1": row["f1"] for name, row in rows.items()}
        figures = {"average_f1": sum(rows[name]["f1"] for name in AVERAGED) / 3, **f1, "documents": sums["items"]}
        for name, row in rows.items():
            figures |= {f"{TYPE}{name}.{figure}": value for figure, value in row.items()}
        return figures

    def units(self, sums: Sums) -> Any:
        """Gold mentions."""
        return sums["bcub_recall_den"]

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
        keys = [part.chains for part in wanted.values()]
        responses = [given[name].chains if name in given else [] for name in wanted]
        scores = scores_of(self, self.counts(keys, responses))
        return {"scores": {**scores["by_type"], "average_f1": scores["overall"]["average_f1"]}}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a metric."""
        rows = scores.get("scores") or {**scores["by_type"], "average_f1": scores["overall"]["average_f1"]}
        columns = {"recall": "recall", "precision": "precision", "F1": "f1"}
        table = figure_table({name: rows[name] for name in METRICS}, columns)
        return f"{table}\naverage F1 of muc, bcub and ceafe: {rows['average_f1']:.2f}"


def _document(key: Chains, response: Chains) -> np.ndarray:
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


def _rates(sums: Sums) -> dict[str, Any]:
    """The sums of SIDES, and recall, precision and F1 in percent."""
    recall = ratio(sums["recall_num"], sums["recall_den"])
    precision = ratio(sums["precision_num"], sums["precision_den"])
    f1 = ratio(2 * precision * recall, precision + recall)
    return {**sums, "recall": 100 * recall, "precision": 100 * precision, "f1": 100 * f1}
