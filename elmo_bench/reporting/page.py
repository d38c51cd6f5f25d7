"""The page: every table of the ledger with what a reader must know to believe it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from elmo_bench.ledger import Failure, Record, RunPaths
from elmo_bench.reporting.select import Row, Selection, baseline_of
from elmo_bench.reporting.statistics import Summary, difference
from elmo_bench.reporting.tables import is_best, layer_table, paired_table, score_table

SUITES = {
    "mini": "`mini` is text that a generator of this project makes: it shows that all works, nothing about language.",
    "open": "`open` is **not the paper's data**: do not hold these scores against the published ones.",
    "paper": "`paper` is the paper's data; published scores stand in the tasks' own cards.",
}
INTRODUCTION = """\
- A row is an encoder with the options that were changed. Scores are mean ± sample standard deviation over `n` seeds,
  never the best of them; a single seed has no ±.
- The epoch is selected on dev; test is scored once, after that.
- Ahead (or behind) by more than the spread: the difference of two means over the same seeds is larger than the larger
  of the two standard deviations.
- What each record holds stands, key by key, in `elmo_bench/ledger/record.py`."""


def page(selection: Selection, failures: Sequence[tuple[RunPaths, Failure]], *, command: str) -> str:
    """The whole page as markdown; the same ledger and command give the same text."""
    parts = [f"# Results\n\nRendered from the ledger by `{command}`; edits made here are lost.", INTRODUCTION]
    if selection.rows:
        parts.append(_machines([record for row in selection.rows for record in row.records]))
    else:
        parts.append("The ledger holds no finished runs of these suites yet.")
    last_suite = None
    for (suite, task), rows in selection.tables().items():
        if suite != last_suite:
            parts += [f"## Suite {suite}", *([SUITES[suite]] if suite in SUITES else [])]
            last_suite = suite
        parts += [f"### {task} ({suite})", score_table(rows), _data(rows)]
        if paired := paired_table(rows):
            parts += ["Against static vectors, seed by seed:", paired]
        if layers := layer_table(rows):
            parts += ["Layer weights at the best epoch, means over seeds:", layers]
    if selection.stale:
        parts += [
            "## Superseded",
            "Weights, data or the task's version changed since; `python -m elmo_bench clean --stale` removes them.",
        ]
        parts.append("\n".join(f"- {_superseded(old, new)}" for old, new in selection.stale))
    if failures:
        parts += ["## Failed", "\n".join(f"- {_failed(run, failure)}" for run, failure in failures)]
    return "\n\n".join(parts) + "\n"


def aggregated(selection: Selection) -> list[dict[str, Any]]:
    """The current rows as plain JSON."""
    return [_plain(row, rows) for rows in selection.tables().values() for row in rows]


def _plain(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    newest, baseline = row.newest, baseline_of(row, rows)
    gap = baseline and difference(row.scores("test"), baseline.scores("test"))
    return {
        **{key: newest[key] for key in ("suite", "task", "encoder", "overrides", "hash", "metric")},  # type: ignore[literal-required]
        "label": row.label,
        "seeds": row.seeds,
        "dev": _numbers(row.summary("dev")),
        "test": _numbers(row.summary("test")),
        "best": is_best(row, rows),
        "trainable": newest["parameters"]["trainable"],
        "tokens_per_second": row.cost("tokens_per_second"),
        "seconds": row.cost("seconds"),
        "against": {"label": baseline.label, **_numbers(gap.summary), "verdict": gap.verdict}
        if baseline and gap
        else None,
    }


def _numbers(summary: Summary) -> dict[str, Any]:
    return {"n": summary.n, "mean": summary.mean, "sd": summary.sd}


def _machines(records: Sequence[Record]) -> str:
    """How many runs came from which hardware and code."""
    hardware: Counter[str] = Counter()
    for environment in (record["environment"] for record in records):
        device = (
            environment["cpu"] if environment["device"] == "cpu" else f"{environment['device']} ({environment['cpu']})"
        )
        torch = f", torch {environment['packages']['torch']}" if "torch" in environment["packages"] else ""
        code = f"commit {environment['commit'][:10]}" if environment["commit"] else "no git commit"
        code += " with uncommitted changes" if environment["dirty"] else ""
        threads = f"{environment['threads']} thread{'s' if environment['threads'] != 1 else ''}"
        hardware[f"{device}, {threads}, {environment['precision']}{torch}, {code}"] += 1
    return "Made on:\n\n" + "\n".join(
        f"- {text}: {count} run{'s' if count != 1 else ''}" for text, count in sorted(hardware.items())
    )


def _data(rows: Sequence[Row]) -> str:
    """One line where all rows saw the same data; else one line for each, with the rows that saw it."""
    seen: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        data = row.newest["data"]
        counts = ", ".join(f"{data['counts'][split]:,} {split}" for split in ("train", "dev", "test"))  # type: ignore[literal-required]
        note = f"; {data['note']}" if "note" in data else ""
        seen[f"{counts} (fingerprint {data['fingerprint'][:12]}{note})"].append(row.label)
    if len(seen) == 1:
        return f"Data: {next(iter(seen))}."
    return "Data, **not the same for all rows**:\n\n" + "\n".join(
        f"- {text}: {'; '.join(labels)}" for text, labels in seen.items()
    )


def _superseded(old: Row, new: Row) -> str:
    before, after = old.newest["identity"]["contents"], new.newest["identity"]["contents"]
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    name = "/".join([*old.place, old.newest["encoder"], old.newest["hash"]])
    seeds = f"seed{'s' if len(old.seeds) > 1 else ''} {', '.join(map(str, old.seeds))}"
    return f"`{name}` ({seeds}) by `{new.newest['hash']}`; changed: {', '.join(changed)}"


def _failed(run: RunPaths, failure: Failure) -> str:
    lines = failure["traceback"].strip().splitlines() or ["no traceback"]
    reason = lines[-1].strip().replace("`", "'")
    return f"`{run.failure.relative_to(run.ledger).as_posix()}` ({failure['created']}): `{reason}`"
