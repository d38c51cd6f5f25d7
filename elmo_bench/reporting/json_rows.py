"""The rows as plain JSON, for programs."""

from typing import Any

from elmo_bench.reporting.gains import Gain, Gains, family_of, over_baseline
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import Row, Selection
from elmo_bench.reporting.statistics import Summary


def json_rows(selection: Selection, gain: Gains) -> list[dict[str, Any]]:
    """The current rows, each with its gain over the baseline as `against`.

    p is adjusted over the rows of a group of comparable runs, as in the page's tables of all runs.
    """
    found = []
    for group in groups(selection.rows):
        gains = family_of(over_baseline(group.rows), gain)
        found += [_row(row, gains.get(row.anchor)) for row in group.rows]
    return found


def _row(row: Row, gain: Gain | None) -> dict[str, Any]:
    newest = row.newest
    return {
        **{key: getattr(row.spec, key) for key in ("suite", "task", "encoder", "size")},
        **{key: newest[key] for key in ("hash", "metric")},  # type: ignore[literal-required]
        "label": row.label,
        "changes": row.changes,
        "command": row.command,
        "partial": bool(row.basis.fraction),
        "train": row.train,
        "protocol": row.spec.protocol,
        "seeds": row.seeds,
        "converged": row.converged,
        "dev": _numbers(row.summary("dev")),
        "test": _numbers(row.summary("test")),
        "trainable": newest["parameters"]["trainable"],
        "tokens_per_second": row.cost("tokens_per_second"),
        "seconds": row.cost("seconds"),
        "against": gain and _against(gain),
    }


def _against(gain: Gain) -> dict[str, Any]:
    """The entries of the test are null if there was none; `untested` gives the reason."""
    found = gain.difference
    return {
        "label": gain.theirs.label,
        "mean": gain.mean,
        "se": found and found.error,
        "interval": found and found.interval,
        "detectable": found and found.detectable,
        "reduction": gain.reduction,
        "p": gain.p,
        "p_holm": gain.p_holm,
        "verdict": gain.verdict or None,
        "untested": gain.untested or None,
    }


def _numbers(summary: Summary) -> dict[str, Any]:
    return {"n": summary.n, "mean": summary.mean, "sd": summary.sd, "interval": summary.interval}
