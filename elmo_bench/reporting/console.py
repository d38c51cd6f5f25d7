"""Tables that commands print: markdown that also reads well in a terminal.

They have no verdicts, which take tests: `compare` and `report` give verdicts. Importing
this imports no pandas and no torch.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base.metric import MACRO_F1
from elmo_bench.ledger import Record
from elmo_bench.reporting.names import notes_on_marks, short
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import summarise
from elmo_bench.spec.sweeps import LEDGER
from elmo_bench.spec.task_files import reads_own_data


def overviews(records: Sequence[Record], ledger: Path = LEDGER) -> Iterator[str]:
    """Tasks by encoders: a table of test scores for each suite, a dash where there is
    no run, and notes below it.

    Tasks and encoders are in the order of `records`. Changes that all runs have in
    common are in the title.
    """
    from elmo_bench.reporting.frame import runs, shown, systems
    from elmo_bench.reporting.remarks import remarks

    frame = runs(ledger, records)
    order = list(frame.hash)
    table = systems(shown(frame))
    table = table.sort_values("hash", key=lambda hashes: hashes.map(order.index))
    for suite, group in table.groupby("suite", sort=False):
        rows = list(rows_of(group))
        options = [
            row.spec.changes | row.spec.columns | {"size": row.spec.size}
            for row in rows
        ]
        common = set.intersection(*(set(of_row.items()) for of_row in options))
        changed = ", ".join(
            f"{key}={value}" for key, value in sorted(common) if key != "size"
        )
        title = (
            f"test scores on suite {suite} ({changed})"
            if changed
            else f"test scores on suite {suite}"
        )
        labels = [
            _label(row.encoder, of_row, common)
            for row, of_row in zip(rows, options, strict=True)
        ]
        paragraphs = [f"{title}:", _scores(rows, labels), *notes_on_marks(group)]
        if all(map(reads_own_data, set(group.task))):
            # Data of the user's own, of which the logs of the runs say this.
            notes = dict.fromkeys(chain(*frame[frame.suite == suite].notes))
            paragraphs.append("the data:\n" + "\n".join(f"- {note}" for note in notes))
            paragraphs += _advice(frame, group)
        yield "\n\n".join(paragraphs)
    yield from remarks(frame)


def _advice(frame: Any, systems: Any) -> Iterator[str]:
    """Which system to use, for each data set of a suite."""
    from elmo_bench.reporting.advice import advice, advice_pairs
    from elmo_bench.reporting.comparisons import compare

    several = systems.basis.nunique() > 1
    for _, group in systems.groupby("basis", sort=False):
        comparisons = compare(frame, advice_pairs(group))
        title = f"{group.group_name.iloc[0]}: " if several else ""
        for sentence in advice(group, comparisons):
            yield f"{title}{sentence}"


def _label(
    encoder: str, options: Mapping[str, str], common: set[tuple[str, str]]
) -> str:
    """The encoder with the options that not all runs have."""
    rest = [
        f"{key}={value}" for key, value in options.items() if (key, value) not in common
    ]
    return ", ".join([encoder, *rest])


def _scores(rows: Sequence[Any], labels: Sequence[str]) -> str:
    """Tasks by labels of systems."""
    from elmo_bench.reporting.frame import summary

    lines: dict[str, dict[str, str]] = {}
    for row, label in zip(rows, labels, strict=True):
        figures: list[tuple[str, Any]] = [(row.measure, summary(row))]
        is_main = row.metric == MACRO_F1
        if not is_main and not any(map(isnan, row.macro_f1_scores)):
            figures.append(("macro-F1", summarise(row.macro_f1_scores)))
        if not isnan(row.ship_mib):
            figures.append(("MiB to ship", short(row.ship_mib)))
        if not isnan(row.text_ms):
            figures.append(("ms a text", short(row.text_ms)))
        for name, score in figures:
            cells = lines.setdefault(f"{row.task} ({name})", {})
            mark = "" if isinstance(score, str) else row.mark
            cells[label] = f"{score} {mark}".strip()
    columns = list(dict.fromkeys(labels))
    body = [
        [line, *(cells.get(label, "-") for label in columns)]
        for line, cells in lines.items()
    ]
    return fitted(["task", *columns], body)


def markdown(
    header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()
) -> str:
    """A markdown table. Columns marked in `words`, by default the first, are aligned
    left, the others right.
    """
    cells = [
        [" ".join(cell.replace("|", r"\|").splitlines()) for cell in line]
        for line in [header, *body]
    ]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    left = words or [True] + [False] * (len(widths) - 1)
    rule = [
        "-" * width if to_left else "-" * (width - 1) + ":"
        for width, to_left in zip(widths, left, strict=True)
    ]
    forms = [
        f"{'<' if to_left else '>'}{width}"
        for width, to_left in zip(widths, left, strict=True)
    ]
    lines = [
        [format(cell, form) for cell, form in zip(line, forms, strict=True)]
        for line in cells
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def fitted(
    header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()
) -> str:
    """The markdown table or, in a terminal that is too narrow for it, one whose cells
    have several lines.
    """
    text = markdown(header, body, words=words)
    width = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or len(text.partition("\n")[0]) <= width:
        return text
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table, console = (
        Table(*header, box=box.MARKDOWN),
        Console(width=width, color_system=None, markup=False),
    )
    for line in body:
        table.add_row(*line)
    with console.capture() as shown:
        console.print(table)
    return shown.get().strip("\n")
