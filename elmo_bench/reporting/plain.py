"""The rows as plain JSON, for programs."""

from typing import Any

from elmo_bench.reporting.gains import Gain, Gains, holm_over, over_baseline
from elmo_bench.reporting.interval import interval
from elmo_bench.reporting.select import Row, Selection
from elmo_bench.reporting.statistics import Summary


def aggregated(selection: Selection, gain: Gains) -> list[dict[str, Any]]:
    """The current rows; what each learned from stands in `train` and `changes`, its gain in `against`.

    p is adjusted over the rows of a suite and task, as the table of all runs does on the page.
    """
    plain = []
    for rows in selection.tables().values():
        gains = {one.ours.anchor: one for one in holm_over(over_baseline(rows, gain))}
        plain += [_plain(row, gains.get(row.anchor)) for row in rows]
    return plain


def _plain(row: Row, gain: Gain | None) -> dict[str, Any]:
    newest = row.newest
    return {
        **{key: newest[key] for key in ("suite", "task", "encoder", "overrides", "hash", "metric")},  # type: ignore[literal-required]
        "label": row.label,
        "changes": row.changes,
        "partial": row.partial,
        "train": newest["data"]["counts"]["train"],
        "seeds": row.seeds,
        "dev": _numbers(row.summary("dev")),
        "test": _numbers(row.summary("test")),
        "trainable": newest["parameters"]["trainable"],
        "tokens_per_second": row.cost("tokens_per_second"),
        "seconds": row.cost("seconds"),
        "against": gain and _against(gain),
    }


def _against(gain: Gain) -> dict[str, Any]:
    """The test's figures are null where there was none; `untested` says why."""
    tested = gain.comparison
    return {
        "label": gain.theirs.label,
        **_numbers(gain.summary),
        "reduction": gain.reduction,
        "test": tested and tested.test,
        "items": tested and tested.items,
        "p": tested and tested.p,
        "p_holm": tested and tested.p_holm,
        "verdict": gain.verdict or None,
        "untested": gain.untested or None,
    }


def _numbers(summary: Summary) -> dict[str, Any]:
    return {"n": summary.n, "mean": summary.mean, "sd": summary.sd, "interval": interval(summary)}
