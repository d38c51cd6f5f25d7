"""What a run and a sweep print: when a run ends its scores, the published row, and what comes next; then tables.

Tables are markdown that also reads well in a terminal. They have no verdicts, which take tests: `compare` and
`report` have them. Importing this imports no pandas and no torch.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base import include
from elmo_bench.base.errors import redacted
from elmo_bench.base.metric import measure
from elmo_bench.ledger import Record, RunPaths, score_of
from elmo_bench.reporting.names import BASELINE, DAGGER, NOT_CHECKED, NOT_CONVERGED, UNCHECKED
from elmo_bench.reporting.published import Published, processor, published, verdict
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import summarise
from elmo_bench.spec.budget import learned
from elmo_bench.spec.config import choices
from elmo_bench.spec.describe import label_of
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.sweeps import LEDGER

SEEDS = 3  # of the sweep that is suggested


def overviews(records: Sequence[Record]) -> Iterator[str]:
    """Tasks by encoders: a table of test scores for each suite, a dash where there is no run, and notes below it.

    Tasks and encoders are in the order of `records`. Changes that all runs have in common are in the title.
    """
    from elmo_bench.reporting.frame import runs, shown, systems
    from elmo_bench.reporting.remarks import remarks

    frame = runs(LEDGER, records)
    order = list(frame.hash)
    table = systems(shown(frame))
    table = table.sort_values("hash", key=lambda hashes: hashes.map(order.index))
    for suite, group in table.groupby("suite", sort=False):
        rows = list(rows_of(group))
        options = [row.spec.changes | row.spec.columns | {"size": row.spec.size} for row in rows]
        common = set.intersection(*(set(of_row.items()) for of_row in options))
        changed = ", ".join(f"{key}={value}" for key, value in sorted(common) if key != "size")
        title = (
            f"test scores on suite {suite} ({changed})"
            if changed
            else f"test scores on suite {suite}"
        )
        labels = [
            _label(row.encoder, of_row, common) for row, of_row in zip(rows, options, strict=True)
        ]
        paragraphs = [f"{title}:", _scores(rows, labels)]
        marks = set(group["mark"])
        if DAGGER in marks:
            paragraphs.append(NOT_CONVERGED)
        if NOT_CHECKED in marks:
            paragraphs.append(UNCHECKED)
        if suite not in choices("suite"):
            # Data of the user's own, of which the logs of the runs say this.
            notes = dict.fromkeys(chain(*frame[frame.suite == suite].notes))
            paragraphs.append("the data:\n" + "\n".join(f"- {note}" for note in notes))
        yield "\n\n".join(paragraphs)
    yield from remarks(frame)


def _label(encoder: str, options: Mapping[str, str], common: set[tuple[str, str]]) -> str:
    """The encoder with the options that not all runs have."""
    rest = [f"{key}={value}" for key, value in options.items() if (key, value) not in common]
    return ", ".join([encoder, *rest])


def _scores(rows: Sequence[Any], labels: Sequence[str]) -> str:
    """Tasks by labels of systems."""
    from elmo_bench.reporting.frame import summary

    lines: dict[str, dict[str, str]] = {}
    for row, label in zip(rows, labels, strict=True):
        figures = [(row.measure, summary(row, "test"))]
        if not any(map(isnan, row.macro_f1_scores)):
            figures.append(("macro-F1", summarise(row.macro_f1_scores)))
        for name, score in figures:
            cells = lines.setdefault(f"{row.task} ({name})", {})
            cells[label] = f"{score} {row.mark}".strip()
    columns = list(dict.fromkeys(labels))
    body = [[line, *(cells.get(label, "-") for label in columns)] for line, cells in lines.items()]
    return fitted(["task", *columns], body)


def markdown(
    header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()
) -> str:
    """A markdown table. Columns marked in `words`, by default the first, are aligned left, the others right."""
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
        f"{'<' if to_left else '>'}{width}" for width, to_left in zip(widths, left, strict=True)
    ]
    lines = [
        [format(cell, form) for cell, form in zip(line, forms, strict=True)] for line in cells
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def fitted(
    header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()
) -> str:
    """The markdown table or, in a terminal that is too narrow for it, one whose cells have several lines."""
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


def outcome(ledger: Path, record: Record, state: str) -> str:
    """One line about a run that is done or skipped: its scores, its record."""
    main, dev, test = (
        record.metric,
        score_of(record, "dev"),
        score_of(record, "test"),
    )
    main = measure(main, record.scores.test.overall)
    if not learned(record):
        state += ", but the head learned nothing"
    return f"{state}: dev {main} {dev:.2f}, test {main} {test:.2f}  {RunPaths.of(ledger, record).record}"


def already(record: Record, *more: str) -> str:
    """The state of a run that was in the ledger, and what else is to be said of it."""
    code = record.environment.code
    states = ["already in the ledger", *more]
    if code and code != RunSpec.of_record(record).code:
        states.append("with other code than its folder has now")
    return f"{', '.join(states)} (overwrite=true runs it again)"


def ending(
    record: Record,
    ledger: Path = LEDGER,
    *,
    options: Sequence[str] = (),
    made: bool = True,
) -> Iterator[str]:
    """Lines about a run that is in the ledger: why it ended, whether it reproduces its published row, what is next.

    made: whether this command trained it; otherwise nothing is said of reproducing. options: of the run, as they were
    given. ledger: for the commands in it.
    """
    epochs = record.epochs
    why = _why_ended(record)
    took = f"{record.cost.seconds / 60:.1f} minutes; {record.parameters.trainable:,} numbers were trained"
    yield f"best epoch on dev: {epochs.best} of {epochs.run} ({why}); {took}"
    if not learned(record):
        yield (
            "the head learned nothing: it gives one answer to everything, or none that is right. "
            "Look at the losses in its log, and give a lower rate (lr_scale=0.1)."
        )
    score = score_of(record, "test")
    if (row := published().get(record.hash)) and made:
        said = verdict(score, record.seed, processor(record.environment), row)
        yield f"published: test {record.metric} {_spread(row)}. This run: {said}."
    default = not label_of(RunSpec.of_record(record))  # which a run without a default run has, too
    if base := _baseline(record) if default else None:
        yield f"gain over the published {BASELINE}, {_spread(base)}: {score - base.mean:+.2f} (a single seed; no test)"
    there = [] if ledger == LEDGER else ["--ledger", str(ledger)]
    last = ["report", *there], "tables and a page from all runs that are done"
    yield from next_lines((default and _next(record, row, base, ledger, options)) or [last])


def _why_ended(record: Record) -> str:
    """Why training ended, and whether it had fewer epochs than the default run may have."""
    spec = RunSpec.of_record(record)
    most = spec.settings.get("task.training.epochs")
    if record.epochs.run != most:
        return f"then no better dev score; at most {most}"
    usual = (spec.usual or {}).get("task.training.epochs", most)
    if most < usual:
        return f"its budget, shortened from {usual}: compare leaves it out"
    return "its budget"


def report_folder(ledger: Path) -> Path:
    """Where `report` writes if no folder is named: no other ledger takes the place of the committed results."""
    return (
        Path("results") if ledger == LEDGER else ledger.parent / f"{ledger.absolute().name}-report"
    )


def next_lines(commands: Iterable[tuple[Sequence[str], str]]) -> Iterator[str]:
    """Lines with commands, as a shell reads them here, and what each is for."""
    folders: list[str] = []
    for folder in include.folders:
        folders += [include.OPTION, str(folder)]
    yield "next:"
    for words, about in commands:
        yield f"  {redacted(shlex.join(['elmo-bench', *folders, *words])):<72} # {about}"


def _spread(row: Published) -> str:
    many = f" ± {row.sd:.2f} over {len(row.seeds)} seeds" if row.sd is not None else ""
    return f"{row.mean:.2f}{many}"


def _baseline(record: Record) -> Published | None:
    """The published default run of the baseline on the same data; None for the baseline itself."""
    spec = record.spec
    wanted = (
        spec.task,
        BASELINE,
        spec.size,
        "",
        (spec.contents or {}).get("data"),
    )
    fits = (
        row
        for row in published().values()
        if (row.task, row.encoder, row.size, row.label, row.data) == wanted
    )
    return None if spec.encoder == BASELINE else next(fits, None)


def _next(
    record: Record,
    row: Published | None,
    base: Published | None,
    ledger: Path,
    options: Sequence[str],
) -> list[tuple[list[str], str]]:
    """(a command, what it is for), after a default run; none for an encoder that a folder or a repository names."""
    spec = record.spec
    if spec.encoder not in choices("encoder") or any(
        each.startswith("experiment=") for each in options
    ):
        return []
    pair = [BASELINE, "elmo"] if spec.encoder == BASELINE else [BASELINE, spec.encoder]
    where = [
        each
        for each in options
        if re.split(r"[.=]", each)[0] not in ("encoder", "seed", "overwrite")
    ]
    if not any(option.startswith("task=") for option in options):
        where.insert(0, f"task={spec.task}")
    seeds = ",".join(map(str, range(SEEDS)))
    sweep = ["sweep", *where, f"encoder={','.join(pair)}", f"seed={seeds}"]
    minutes = SEEDS * (row.minutes + base.minutes) if row and base else 0.0
    runs = f"{2 * SEEDS} runs" + (f", about {minutes:.0f} minutes on one core" if minutes else "")
    own = [] if spec.suite == "open" else ["--suite", spec.suite]
    own += ["--ledger", str(ledger)] if ledger != LEDGER else []
    return [
        (sweep, runs),
        (
            ["compare", *pair[::-1], *own],
            f"{pair[1]} minus {pair[0]}, its interval, a verdict",
        ),
    ]
