"""The tables that a run and a sweep print: markdown that also reads well in a terminal.

They show no tests of significance, which take time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from elmo_bench.ledger import Record
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import NOT_CONVERGED, Row, of_newest_protocol, select
from elmo_bench.reporting.significance import ahead

AHEAD = "`*` ahead of every other row by more than the larger of the two standard deviations, over common seeds."

MOST = 30  # rows of a table


def task_table(records: Iterable[Record], *, suite: str, task: str, highlight: str | None = None) -> str:
    """Scores and cost of the best runs of a task, best test score first, and of the run with the hash `highlight`."""
    wanted = (r for r in records if (r["spec"]["suite"], r["spec"]["task"]) == (suite, task))
    own = groups(of_newest_protocol(select(wanted, prefer=highlight).rows))
    if not own:
        return f"No runs of {task} on suite {suite} yet."
    rows = [replace(row, note=group.note) for group in own for row in group.rows]
    rows.sort(key=lambda row: -row.summary("test").mean)
    metric = own[0].metric
    header = ["encoder", f"dev {metric}", f"test {metric}", "n (seeds)", "trainable", "tokens/s", "minutes per run"]
    shown = [row for at, row in enumerate(rows) if at < MOST or row.newest["hash"] == highlight]
    leads = [_leads(row, rows) for row in shown]
    body = [
        [
            row.label + (" ←" if row.newest["hash"] == highlight else ""),
            str(row.summary("dev")),
            " ".join(filter(None, [str(row.summary("test")), "`*`" if leading else "", row.mark])),
            f"{len(row.seeds)} ({', '.join(map(str, row.seeds))})",
            f"{row.newest['parameters']['trainable']:,}",
            f"{row.cost('tokens_per_second'):,.0f}",
            f"{row.cost('seconds') / 60:.1f}",
        ]
        for row, leading in zip(shown, leads, strict=True)
    ]
    notes = [AHEAD] if any(leads) else []
    notes += [NOT_CONVERGED] if any(row.mark for row in shown) else []
    if len(shown) < len(rows):
        notes.append(f"{len(rows) - len(shown)} more rows: `elmo-bench report` shows all.")
    return "\n\n".join([markdown(header, body), *notes])


def overviews(records: Iterable[Record], hashes: Sequence[str]) -> Iterator[str]:
    """Tasks by encoders: a table of test scores for each suite that has several tasks among the runs with these hashes.

    Tasks and encoders are in the order of `hashes`; a run without a record is a dash. Changes that all runs have in
    common are in the title.
    """
    order = {run: position for position, run in reversed(list(enumerate(hashes)))}  # of its first mention
    rows = select(record for record in records if record["hash"] in order).rows
    rows.sort(key=lambda row: order[row.newest["hash"]])
    for suite in dict.fromkeys(row.spec.suite for row in rows):
        own = [row for row in rows if row.spec.suite == suite]
        if len({row.spec.task for row in own}) > 1:
            common = set.intersection(*(set(row.changes.items()) for row in own))
            said = ", ".join(f"{key}={value}" for key, value in sorted(common))
            title = f"test scores on suite {suite}" + (f" ({said})" if said else "")
            yield f"{title}:\n\n{_overview(own, common)}"


def _overview(rows: Sequence[Row], common: set[tuple[str, str]]) -> str:
    def label(row: Row) -> str:
        rest = [f"{key}={value}" for key, value in row.changes.items() if (key, value) not in common]
        return ", ".join([row.spec.encoder, *rest])

    tasks = dict.fromkeys((row.spec.task, row.newest["metric"]) for row in rows)
    labels = list(dict.fromkeys(label(row) for row in rows))
    cells = {(row.spec.task, label(row)): f"{row.summary('test')} {row.mark}".strip() for row in rows}
    body = [[f"{task} ({metric})", *(cells.get((task, label), "-") for label in labels)] for task, metric in tasks]
    return markdown(["task", *labels], body)


def _leads(row: Row, rows: Sequence[Row]) -> bool:
    """Whether this row is ahead, on test, of every other row (and there is one) by more than the spread."""
    others = [other for other in rows if other is not row]
    return bool(others) and all(ahead(row.scores("test"), other.scores("test")) for other in others)


def markdown(header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()) -> str:
    """A markdown table. Columns marked in `words`, by default the first, are aligned left, the others right."""
    cells = [[cell.replace("|", r"\|") for cell in line] for line in [header, *body]]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    left = words or [True] + [False] * (len(widths) - 1)
    rule = ["-" * width if to_left else "-" * (width - 1) + ":" for width, to_left in zip(widths, left, strict=True)]
    forms = [f"{'<' if to_left else '>'}{width}" for width, to_left in zip(widths, left, strict=True)]
    lines = [[format(cell, form) for cell, form in zip(line, forms, strict=True)] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
