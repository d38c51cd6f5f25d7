"""The rows as plain JSON, for programs."""

from collections.abc import Sequence
from typing import Any

from elmo_bench.reporting.select import Row, Selection, baseline_of
from elmo_bench.reporting.statistics import Summary, difference
from elmo_bench.reporting.tables import is_best


def aggregated(selection: Selection) -> list[dict[str, Any]]:
    """The current rows; what each learned from stands in `train` and `changes`."""
    return [_plain(row, rows) for rows in selection.tables().values() for row in rows]


def _plain(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    newest, baseline = row.newest, baseline_of(row, rows)
    gap = baseline and difference(row.scores("test"), baseline.scores("test"))
    return {
        **{key: newest[key] for key in ("suite", "task", "encoder", "overrides", "hash", "metric")},  # type: ignore[literal-required]
        "label": row.label,
        "changes": row.changes,
        "partial": row.partial,
        "train": newest["data"]["counts"]["train"],
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
