"""The rows as plain JSON, for programs."""

from typing import Any

from elmo_bench.reporting.gains import Gain, Gains, holm_over, over_baseline
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import Row, Selection
from elmo_bench.reporting.statistics import Summary


def json_rows(selection: Selection, gain: Gains) -> list[dict[str, Any]]:
    """The current rows, each with its gain over the baseline as `against`.

    p is adjusted over the rows of a group of comparable runs, as in the page's tables of all runs.
    """
    found = []
    for group in groups(selection.rows):
        gains = {one.ours.anchor: one for one in holm_over(over_baseline(group.rows, gain))}
        found += [_row(row, gains.get(row.anchor)) for row in group.rows]
    return found


def _row(row: Row, gain: Gain | None) -> dict[str, Any]:
    newest = row.newest
    return {
        **{key: getattr(row.spec, key) for key in ("suite", "task", "encoder", "size")},
        **{key: newest[key] for key in ("hash", "metric")},  # type: ignore[literal-required]
        "label": row.label,
        "changes": row.changes,
        "command": row.spec.command(newest["seed"]),
        "partial": bool(row.basis.fraction),
        "train": row.train,
        "seeds": row.seeds,
        "dev": _numbers(row.summary("dev")),
        "test": _numbers(row.summary("test")),
        "trainable": newest["parameters"]["trainable"],
        "tokens_per_second": row.cost("tokens_per_second"),
        "seconds": row.cost("seconds"),
        "against": gain and _against(gain),
    }


def _against(gain: Gain) -> dict[str, Any]:
    """The test's entries are null if there was none; `untested` gives the reason."""
    found = gain.test
    return {
        "label": gain.theirs.label,
        **_numbers(gain.summary),
        "reduction": gain.reduction,
        **(
            {"test": found.name, "items": found.items, "p": found.p} if found else dict.fromkeys(("test", "items", "p"))
        ),
        "p_holm": gain.p_holm,
        "verdict": gain.verdict or None,
        "untested": gain.untested or None,
    }


def _numbers(summary: Summary) -> dict[str, Any]:
    return {"n": summary.n, "mean": summary.mean, "sd": summary.sd, "interval": summary.interval}
