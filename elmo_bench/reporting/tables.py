"""Tables as aligned markdown: they read the same on a page and in a terminal."""

from collections.abc import Iterable, Sequence

from elmo_bench.ledger import Record
from elmo_bench.reporting.select import BASELINE, Row, baseline_of, select
from elmo_bench.reporting.statistics import ahead, difference, summarise

AHEAD = "`*` ahead of every other row by more than the spread: the larger of the two standard deviations, same seeds."


def task_table(records: Iterable[Record], *, suite: str, task: str, highlight: str | None = None) -> str:
    """The table of one task, with its footnote; `highlight` is the hash of the run to point at.

    Plain text that is also markdown; one line that says so where there are no records.
    """
    chosen = select((r for r in records if (r["suite"], r["task"]) == (suite, task)), prefer=highlight)
    return score_table(chosen.rows, highlight=highlight) if chosen.rows else f"No runs of {task} on suite {suite} yet."


def score_table(rows: Sequence[Row], *, highlight: str | None = None) -> str:
    """Scores and cost, one line per row; the rows are of one suite and task."""
    metric = "/".join(sorted({row.newest["metric"] for row in rows}))
    header = ["encoder", f"dev {metric}", f"test {metric}", "n (seeds)", "trainable", "tokens/s", "minutes per run"]
    leads = [is_best(row, rows) for row in rows]
    body = [
        [
            row.label + (" ←" if row.newest["hash"] == highlight else ""),
            str(row.summary("dev")),
            str(row.summary("test")) + (" `*`" if leading else ""),
            f"{len(row.seeds)} ({', '.join(map(str, row.seeds))})",
            f"{row.newest['parameters']['trainable']:,}",
            f"{row.cost('tokens_per_second'):,.0f}",
            f"{row.cost('seconds') / 60:.1f}",
        ]
        for row, leading in zip(rows, leads, strict=True)
    ]
    return markdown(header, body) + (f"\n\n{AHEAD}" if any(leads) else "")


def is_best(row: Row, rows: Sequence[Row]) -> bool:
    """Whether this row is ahead, on test, of every other row (and there is one) by more than the spread."""
    others = [other for other in rows if other is not row]
    return bool(others) and all(ahead(row.scores("test"), other.scores("test")) for other in others)


def paired_table(rows: Sequence[Row]) -> str:
    """Every encoder's test score minus the baseline's, seed by seed; empty where there is nothing to compare."""
    body = []
    for row in rows:
        baseline = baseline_of(row, rows)
        gap = baseline and difference(row.scores("test"), baseline.scores("test"))
        if baseline and gap:
            sign = "+" if gap.summary.mean >= 0 else ""
            body.append([row.label, baseline.label, f"{sign}{gap.summary}", str(gap.summary.n), gap.verdict])
    return markdown(["encoder", f"against {BASELINE}", "test difference", "n", "verdict"], body) if body else ""


def layer_table(rows: Sequence[Row]) -> str:
    """Softmax weights and γ of every mix at the best epoch, means over seeds; empty where no row has a mix."""
    lines = []
    for row in rows:
        epochs = [r["layer_weights"][r["epochs"]["best"] - 1] for r in row.records if r["layer_weights"]]
        for place in sorted({place for epoch in epochs for place in epoch}):
            mixes = [epoch[place] for epoch in epochs if place in epoch]
            layers = zip(*(mix["weights"] for mix in mixes), strict=True)
            gamma = summarise(mix["gamma"] for mix in mixes).mean
            lines.append([row.label, place, f"{gamma:.2f}", *(f"{summarise(layer).mean:.2f}" for layer in layers)])
    if not lines:
        return ""
    width = max(map(len, lines))
    header = ["encoder", "place", "γ", *(f"layer {index}" for index in range(width - 3))]
    return markdown(header, [line + [""] * (width - len(line)) for line in lines])


def markdown(header: list[str], body: list[list[str]], *, words: Sequence[bool] = ()) -> str:
    """A markdown table with its columns aligned: figures to the right, to the left the first column or those of `words`."""
    cells = [[cell.replace("|", r"\|") for cell in line] for line in [header, *body]]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    left = words or [True] + [False] * (len(widths) - 1)
    rule = ["-" * width if to_left else "-" * (width - 1) + ":" for width, to_left in zip(widths, left, strict=True)]
    lines = [
        [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        ]
        for line in cells
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
