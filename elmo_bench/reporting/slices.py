"""Slices of test: each encoder on words that training or the static vectors lack, from
the outcomes of its records.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import (
    Counting,
    Counts,
    columns,
    main_figure,
    summed_names,
    summed_types,
    units_of,
)
from elmo_bench.ledger import of_split, read_outcomes, slices_of
from elmo_bench.reporting.comparisons import difference_of, scoring
from elmo_bench.reporting.formats import number, seeds, signed, spread, words
from elmo_bench.reporting.frame import rows_where
from elmo_bench.reporting.names import BASELINE
from elmo_bench.reporting.outcomes import ReadOutcomes
from elmo_bench.reporting.pairs import baseline_pairs
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import over_seeds, summarise
from elmo_bench.reporting.tables import Format, Line, Table, make_table, present
from elmo_bench.spec.experiments import MAIN, Experiment
from elmo_bench.spec.settings import VECTORS
from elmo_bench.spec.tuning import TUNE

WHOLE = "all of test"
FEWEST = 10  # decisions or gold units of a slice with an interval
TITLES = {
    WHOLE: WHOLE,
    "unseen": "a word unseen in training",
    "seen": "no word unseen in training",
    "novector": "a word without a static vector",
    "vector": "every word has a static vector",
}


class Sliced(NamedTuple):
    """A system whose outcomes tell slices apart."""

    system: Any
    metric: Counting
    slices: dict[str, dict[str, Counts]]  # by slice, by seed


def slices(
    systems: pd.DataFrame, runs: pd.DataFrame, read: ReadOutcomes = read_outcomes
) -> list[Table]:
    """A row for each task, slice and encoder; none without slices.

    Only systems that compare frozen encoders on all of the data. A note names each file
    that cannot be read.
    """
    notes: list[str] = []
    rows: list[dict[str, Any]] = []
    comparing = systems[
        (systems.fraction == "") & (systems.labels == "") & (systems.variation == "")
    ]
    comparing = rows_where(
        comparing,
        (
            VECTORS not in spec.changes and TUNE not in spec.settings
            for spec in comparing.spec
        ),
    )
    position = Experiment.load(MAIN).position
    for _, group in comparing.groupby("basis", sort=False):
        ordered = group.sort_values(
            "encoder_label", key=lambda names: names.map(position), kind="stable"
        )
        sliced = _sliced(ordered, runs, read, notes)
        baselines = baseline_pairs(ordered)
        for name in TITLES:
            rows.extend(
                _rows(
                    name,
                    sliced,
                    dict(zip(baselines.ours, baselines.theirs, strict=True)),
                )
            )
    if not rows:
        return []
    suite = systems.suite.iloc[0]
    formats = [
        words("task", "heading"),
        words("slice", "slice"),
        number("share", "slice_share", ".1f", suffix=" %"),
        words("encoder", "run_label"),
        seeds(),
        spread("score", "score", count="score_n", mark="mark"),
        number(f"gain over {BASELINE}", "gain", "+.2f"),
        Format("95 %", _interval, {"low": "low", "high": "high", "": "too_few"}),
    ]
    frame = pd.DataFrame(rows)
    return [
        make_table(
            f"{suite}-slices",
            f"Slices of test, suite {suite}",
            frame,
            formats,
            notes=notes,
        )
    ]


def _interval(line: Line) -> str:
    if present(line["low"]) is None:
        return present(line["too_few"]) or ""
    return f"{signed(line['low'])} … {signed(line['high'])}"


def _sliced(
    group: pd.DataFrame, runs: pd.DataFrame, read: ReadOutcomes, notes: list[str]
) -> list[Sliced]:
    """The systems of a group that have slices; adds a note for a file that cannot be
    read.
    """
    sliced = []
    metrics = cache(scoring)
    runs = runs[["hash", "seed", "paths"]]
    for system in rows_of(group):
        try:
            metric = metrics(system.task, system.metric)
            of_hash = runs[runs.hash == system.hash].sort_values("seed")
            by_slice = _slices(
                [read(paths) for paths in of_hash.paths], list(of_hash.seed), metric
            )
        except UserError as error:
            notes.append(
                f"Left out: {str(error).replace(f'{system.paths.ledger}/', '')}"
            )
            continue
        if by_slice:
            sliced.append(Sliced(system, metric, by_slice))
    return sliced


def _slices(
    stored: list[dict[str, np.ndarray]], seeds_: list[int], metric: Counting
) -> dict[str, dict[str, Counts]]:
    """The outcomes of runs on test, by slice with a gold unit and by seed; with WHOLE
    if there is one.
    """
    types = summed_types(metric)
    by_slice: dict[str, dict[str, Counts]] = {}
    for outcomes, seed in zip(stored, seeds_, strict=True):
        parts = {
            name: part
            for name, part in slices_of(outcomes, "test", types).items()
            if units_of(metric, part)
        }
        if parts:
            parts[WHOLE] = of_split(outcomes, "test", types)
        for name, part in parts.items():
            by_slice.setdefault(name, {})[f"seed {seed}"] = part
    return by_slice


def _scores(outcomes: Mapping[str, Counts], metric: Counting) -> list[float]:
    """The main score of each run."""
    names = summed_names(metric, outcomes.values())
    score = main_figure(metric, names)
    return [
        float(score(columns(metric, counts, names).sum(axis=0)))
        for counts in outcomes.values()
    ]


def _rows(
    name: str, sliced: list[Sliced], baselines: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A row for each system that has this slice."""
    having = {one.system.hash: one for one in sliced if name in one.slices}
    rows = []
    for run_hash, one in having.items():
        system, metric = one.system, one.metric
        outcomes = one.slices[name]
        scores = _scores(outcomes, metric)
        gold, whole = (
            units_of(metric, next(iter(one.slices[part].values())))
            for part in (name, WHOLE)
        )
        summary = summarise(scores)
        row = system._asdict() | {
            "slice": TITLES[name],
            "slice_share": 100 * gold / whole if whole else None,
            "score_mean": summary.mean,
            "score_sd": summary.sd,
            "score_n": summary.n,
        }
        row |= {"gain": None, "low": None, "high": None, "too_few": None}
        baseline = having.get(baselines.get(run_hash, ""))
        if baseline:
            theirs = baseline.slices[name]
            their_scores = _scores(theirs, metric)
            row["gain"] = fmean(scores) - fmean(their_scores)
            if gold < FEWEST:
                row["too_few"] = "too few"
            else:
                base = baseline.system.spec
                with suppress(UserError):  # a single seed, other units, too few of them
                    variances = [
                        over_seeds(scores, is_drawn=not system.spec.deterministic),
                        over_seeds(their_scores, is_drawn=not base.deterministic),
                    ]
                    tested = difference_of((outcomes, theirs), variances, metric)
                    row["low"], row["high"] = tested.interval
        rows.append(row)
    return rows
