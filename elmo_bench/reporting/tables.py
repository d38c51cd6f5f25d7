"""Tables as aligned markdown: they read the same on a page and in a terminal."""

from collections.abc import Iterable, Sequence

from elmo_bench.ledger import Record
from elmo_bench.reporting.select import Row, select
from elmo_bench.reporting.statistics import ahead

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


def markdown(header: list[str], body: list[list[str]], *, words: Sequence[bool] = ()) -> str:
    """A markdown table, its columns aligned: figures to the right, the first column or those of `words` to the left."""
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
