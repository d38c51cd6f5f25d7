"""The runs of one sweep over several tasks at a glance: a line a task, a column an encoder."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from elmo_bench.ledger import Record
from elmo_bench.reporting.select import Row, select
from elmo_bench.reporting.tables import markdown


def overviews(records: Iterable[Record], hashes: Sequence[str]) -> Iterator[str]:
    """A table of test scores for each suite in which the runs with these hashes are of several tasks.

    Tasks and encoders stand in the order of `hashes`; a run that is not there (it failed, say) is a dash.
    """
    place = {run: number for number, run in reversed(list(enumerate(hashes)))}  # of its first mention
    rows = select(record for record in records if record["hash"] in place).rows
    rows.sort(key=lambda row: place[row.newest["hash"]])
    for suite in dict.fromkeys(row.newest["suite"] for row in rows):
        of_suite = [row for row in rows if row.newest["suite"] == suite]
        if len({row.newest["task"] for row in of_suite}) > 1:
            common = sorted(set.intersection(*(set(row.newest["overrides"]) for row in of_suite)))
            title = f"test scores on suite {suite}" + (f" ({', '.join(common)})" if common else "")
            yield f"{title}:\n\n{_table(of_suite, common)}"


def _table(rows: Sequence[Row], common: Sequence[str]) -> str:
    """`common` overrides, which all rows have, stand in no column's name."""
    tasks = dict.fromkeys((row.newest["task"], row.newest["metric"]) for row in rows)
    named = [(row, reduce(lambda label, said: label.replace(f", {said}", ""), common, row.label)) for row in rows]
    labels = list(dict.fromkeys(label for _, label in named))
    cells = {(row.newest["task"], label): str(row.summary("test")) for row, label in named}
    body = [[f"{task} ({metric})", *(cells.get((task, label), "-") for label in labels)] for task, metric in tasks]
    return markdown(["task", *labels], body)
