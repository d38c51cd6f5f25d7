"""`elmo-bench slices task=ner encoder=none,glove,elmo`: what finished runs score on slices of test."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import canonical
from elmo_bench.ledger import SLICES, Record, RunPaths, read_all, read_slices, settings_key
from elmo_bench.runner.plan import PlannedRun, plan
from elmo_bench.spec.config import compose


def main(arguments: list[str]) -> int:
    """Make the slices that the runs of a sweep lack, then print a table; 2 if some could not be made.

    Raises UserError for options that a run refuses, and if no run has a record.
    """
    parser = argparse.ArgumentParser(
        prog="elmo-bench slices",
        description="Score finished runs on slices of test: words unseen in training, words without a static vector, "
        "and 5 % of the letters mistyped. Prints a table, which `report` shows too.",
    )
    parser.add_argument("options", nargs="*", metavar="key=value", help="as for the sweep that made the runs")
    planned = plan(parser.parse_args(arguments).options)
    found = read_all(planned.ledger)
    records = {(settings_key(r["spec"]), r["seed"]): r for r in sorted(found.records, key=lambda r: r["created"])}
    done = [(run, records[run.spec.key, run.seed]) for run in planned.runs if (run.spec.key, run.seed) in records]
    if not done:
        raise UserError(f"{planned.ledger}: no record of these runs ({len(planned.runs)}). Make them first.")
    problems: dict[str, list[str]] = {}  # the runs of each
    splits: dict[str, Any] = {}
    for run, record in done:
        paths = RunPaths.of(planned.ledger, record)
        for why in _make(run, record, paths, splits, overwrite=planned.overwrite):
            problems.setdefault(why, []).append(run.title)
    print(_table(planned.ledger, [record for _, record in done]))
    if len(done) < len(planned.runs):
        print(f"{len(planned.runs) - len(done)} of {len(planned.runs)} runs have no record yet.", file=sys.stderr)
    for why in found.problems:
        print(f"elmo-bench slices: {why}", file=sys.stderr)
    for why, runs in problems.items():
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        print(f"elmo-bench slices: {runs[0]}{more}: {why}", file=sys.stderr)
    return 2 if problems or found.problems else 0


def _make(run: PlannedRun, record: Record, paths: RunPaths, splits: dict[str, Any], *, overwrite: bool) -> list[str]:
    """What could not be made; nothing is made again without `overwrite`. `splits`: the test split read last."""
    try:
        if not overwrite and SLICES[-1] in read_slices(paths):
            return []
        from elmo_bench.runner.slices import ScoredSplit, make_slices  # imports torch

        config = compose("config", run.options)
        if (key := _key(config)) not in splits:
            splits.clear()
            splits[key] = ScoredSplit.of(config)
        return make_slices(config, record, paths, splits[key])
    except UserError as error:
        return [str(error)]


def _key(config: DictConfig) -> str:
    """Of everything that a ScoredSplit depends on."""
    return canonical(OmegaConf.to_container(config, resolve=True) | {"encoder": None, "seed": None, "mix": None})  # type: ignore[operator]


def _table(ledger: Path, made: Sequence[Record]) -> str:
    """Markdown, a table for each suite."""
    from elmo_bench.reporting.formats import to_markdown
    from elmo_bench.reporting.groups import groups
    from elmo_bench.reporting.layouts import slices
    from elmo_bench.reporting.rows import select

    tables = []
    found = groups(select(made).rows)
    for suite in dict.fromkeys(group.suite for group in found):
        if sliced := slices.read([group for group in found if group.suite == suite], ledger, every=True):
            table = slices.table(suite, sliced)
            tables.append("\n\n".join([table.title, to_markdown(table), *table.notes]))
    return "\n\n".join(tables) or "no slices"
