"""What a run and a sweep print: when a run ends its scores, the published row, and what comes next; then tables.

Tables are markdown that also reads well in a terminal. They have no verdicts, which take tests: `compare` and
`report` have them. `report` writes the published runs to a file of the package. Imports no pandas and no torch.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base import include
from elmo_bench.base.errors import redacted
from elmo_bench.base.json import read_json
from elmo_bench.base.metric import measure
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.reporting.rows import BASELINE, DAGGER, NOT_CHECKED, NOT_CONVERGED, UNCHECKED, score_of, select
from elmo_bench.reporting.rows import Row as Current
from elmo_bench.spec.config import choices
from elmo_bench.spec.run_spec import RunSpec

FILE = Path(__file__).parents[1] / "data" / "published.json"
SUITE = "open"
NEAR = 0.5  # points from the score of the same seed on the same kind of processor
DEVIATIONS = 3  # standard deviations from the mean, elsewhere
SEEDS = 3  # of the sweep that is suggested
LEDGER = Path("results/runs")  # of commands that name none


def overviews(records: Sequence[Record]) -> Iterator[str]:
    """Tasks by encoders: a table of test scores for each suite, a dash where there is no run, and notes below it.

    Tasks and encoders are in the order of `records`. Changes that all runs have in common are in the title.
    """
    hashes, selection = [record["hash"] for record in records], select(records)
    rows = sorted(selection.rows, key=lambda row: hashes.index(row.newest["hash"]))
    for suite in dict.fromkeys(row.spec.suite for row in rows):
        own = [row for row in rows if row.spec.suite == suite]
        varied = [(row, row.changes | row.spec.columns | {"size": row.spec.size}) for row in own]
        common = set.intersection(*(set(options.items()) for _, options in varied))
        changed = ", ".join(f"{key}={value}" for key, value in sorted(common) if key != "size")
        labels, lines = dict[str, None](), dict[str, dict[str, str]]()
        for row, options in varied:
            rest = [f"{key}={value}" for key, value in options.items() if (key, value) not in common]
            labels[label := ", ".join([row.name, *rest])] = None
            for name, score in ((row.measure, row.summary("test")), ("macro-F1", row.macro_f1)):
                if score is not None:
                    lines.setdefault(f"{row.spec.task} ({name})", {})[label] = f"{score} {row.mark}".strip()
        body = [[line, *(cells.get(label, "-") for label in labels)] for line, cells in lines.items()]
        marks = {row.mark for row in own}
        note = f"\n\n{NOT_CONVERGED}" if DAGGER in marks else ""
        note += f"\n\n{UNCHECKED}" if NOT_CHECKED in marks else ""
        if suite not in choices("suite"):  # data of the user's own, of which the logs of the runs say this
            said = dict.fromkeys(each for row in own for record in row.records for each in record["data"]["notes"])
            note += "\n\nthe data:\n" + "\n".join(f"- {each}" for each in said)
        title = f"test scores on suite {suite}{f' ({changed})' * bool(changed)}"
        yield f"{title}:\n\n{fitted(['task', *labels], body)}{note}"
    yield from selection.notes


def markdown(header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()) -> str:
    """A markdown table. Columns marked in `words`, by default the first, are aligned left, the others right."""
    cells = [[" ".join(cell.replace("|", r"\|").splitlines()) for cell in line] for line in [header, *body]]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    left = words or [True] + [False] * (len(widths) - 1)
    rule = ["-" * width if to_left else "-" * (width - 1) + ":" for width, to_left in zip(widths, left, strict=True)]
    forms = [f"{'<' if to_left else '>'}{width}" for width, to_left in zip(widths, left, strict=True)]
    lines = [[format(cell, form) for cell, form in zip(line, forms, strict=True)] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def fitted(header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()) -> str:
    """The markdown table or, in a terminal that is too narrow for it, one whose cells have several lines."""
    text = markdown(header, body, words=words)
    width = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or len(text.partition("\n")[0]) <= width:
        return text
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table, console = Table(*header, box=box.MARKDOWN), Console(width=width, color_system=None, markup=False)
    for line in body:
        table.add_row(*line)
    with console.capture() as shown:
        console.print(table)
    return shown.get().strip("\n")


class Row(NamedTuple):
    """All seeds of one published run."""

    suite: str
    task: str
    encoder: str
    size: str
    hash: str
    label: str  # the options that differ from the default run
    data: str  # digest of all examples
    mean: float  # of the test scores, in percent
    sd: float | None  # None for a single seed
    minutes: float  # a run, mean over seeds
    seeds: dict[str, dict[str, Any]]  # by seed: test and dev score, and the processor (or GPU) of its run


def rows_of(rows: Iterable[Current]) -> list[dict[str, Any]]:
    """What is published of the rows of a report, as JSON."""
    published_rows = []
    for row in (row for row in rows if row.spec.suite == SUITE and row.checked):
        spec, scored = row.spec, row.summary("test")
        seeds = {
            str(record["seed"]): {
                **{split: score_of(record, split) for split in ("test", "dev")},
                "processor": processor(record["environment"]),
            }
            for record in row.records
        }
        own = (spec.suite, spec.task, spec.encoder, spec.size, row.newest["hash"], spec.label)
        data, minutes = (spec.contents or {}).get("data", ""), row.minutes
        published_rows.append(Row(*own, data, scored.mean, scored.sd, minutes, seeds)._asdict())
    return published_rows


def processor(environment: Any) -> str:
    """The kind of processor of a record's environment: the GPU, if it ran on one."""
    return environment["cpu"] if environment["device"] == "cpu" else environment["device"]


@cache
def rows() -> dict[str, Row]:
    """Every published run, by hash; none in a checkout without the file."""
    return {each["hash"]: Row(**each) for each in read_json(FILE)} if FILE.exists() else {}


def verdict(score: float, seed: int, processor: str, row: Row) -> str:
    """Whether a test score of the same hash reproduces the published run, and else by how much not; in words.

    On the same kind of processor a seed reproduces its own score, but for the order of sums. Elsewhere, or with another
    seed, a score is one more draw.
    """
    own = row.seeds.get(str(seed))
    if own and own["processor"] == processor:
        off, most = abs(score - own["test"]), NEAR
        where = f"the published {own['test']:.2f} of seed {seed} on the same processor"
    elif row.sd is None:
        return f"not comparable: published {row.mean:.2f} for one seed on another processor or seed"
    else:
        off, most = abs(score - row.mean), DEVIATIONS * row.sd
        where = f"the published mean {row.mean:.2f}; {DEVIATIONS} standard deviations are {most:.2f}"
    return f"{'' if off <= most else 'not '}reproduced: {off:.2f} from {where}"


def outcome(ledger: Path, record: Record, state: str) -> str:
    """One line about a run that is done or skipped: its scores, its record."""
    main, dev, test = record["metric"], score_of(record, "dev"), score_of(record, "test")
    main = measure(main, record["scores"]["test"]["overall"])
    return f"{state}: dev {main} {dev:.2f}, test {main} {test:.2f}  {RunPaths.of(ledger, record).record}"


def already(record: Record, *more: str) -> str:
    """The state of a run that was in the ledger, and what else is to be said of it."""
    known = record["environment"].get("code", {})
    edited = ["with other code than its folder has now"] * (known != {} and known != RunSpec(**record["spec"]).code)
    return f"{', '.join(['already in the ledger', *more, *edited])} (overwrite=true runs it again)"


def ending(record: Record, ledger: Path = LEDGER, *, options: Sequence[str] = (), made: bool = True) -> Iterator[str]:
    """Lines about a run that is in the ledger: why it ended, whether it reproduces its published row, what is next.

    made: whether this command trained it; otherwise nothing is said of reproducing. options: of the run, as they were
    given. ledger: for the commands in it.
    """
    spec, epochs = record["spec"], record["epochs"]
    most = spec["settings"].get("task.training.epochs")
    why = "its budget" if epochs["run"] == most else f"then no better dev score; at most {most}"
    took = f"{record['cost']['seconds'] / 60:.1f} minutes; {record['parameters']['trainable']:,} numbers were trained"
    yield f"best epoch on dev: {epochs['best']} of {epochs['run']} ({why}); {took}"
    score = score_of(record, "test")
    if (row := rows().get(record["hash"])) and made:
        said = verdict(score, record["seed"], processor(record["environment"]), row)
        yield f"published: test {record['metric']} {_spread(row)}. This run: {said}."
    default = not RunSpec(**spec).label  # which a run without a default run has, too
    if base := _baseline(record) if default else None:
        yield f"gain over the published {BASELINE}, {_spread(base)}: {score - base.mean:+.2f} (a single seed; no test)"
    there = [] if ledger == LEDGER else ["--ledger", str(ledger)]
    last = ["report", *there], "tables and a page from all runs that are done"
    yield from next_lines((default and _next(record, row, base, ledger, options)) or [last])


def report_folder(ledger: Path) -> Path:
    """Where `report` writes if no folder is named: no other ledger takes the place of the committed results."""
    return Path("results") if ledger == LEDGER else ledger.parent / f"{ledger.absolute().name}-report"


def next_lines(commands: Iterable[tuple[Sequence[str], str]]) -> Iterator[str]:
    """Lines with commands, as a shell reads them here, and what each is for."""
    folders = [word for folder in include.folders for word in (include.OPTION, str(folder))]
    yield "next:"
    for words, about in commands:
        yield f"  {redacted(shlex.join(['elmo-bench', *folders, *words])):<72} # {about}"


def _spread(row: Row) -> str:
    many = f" ± {row.sd:.2f} over {len(row.seeds)} seeds" if row.sd is not None else ""
    return f"{row.mean:.2f}{many}"


def _baseline(record: Record) -> Row | None:
    """The published default run of the baseline on the same data; None for the baseline itself."""
    spec = record["spec"]
    wanted = (spec["task"], BASELINE, spec["size"], "", (spec["contents"] or {}).get("data"))
    fits = (row for row in rows().values() if (row.task, row.encoder, row.size, row.label, row.data) == wanted)
    return None if spec["encoder"] == BASELINE else next(fits, None)


def _next(
    record: Record, row: Row | None, base: Row | None, ledger: Path, options: Sequence[str]
) -> list[tuple[list[str], str]]:
    """(a command, what it is for), after a default run; none for an encoder that a folder or a repository names."""
    spec: Mapping[str, object] = record["spec"]
    if spec["encoder"] not in choices("encoder") or any(each.startswith("experiment=") for each in options):
        return []
    pair = [BASELINE, "elmo"] if spec["encoder"] == BASELINE else [BASELINE, str(spec["encoder"])]
    where = [each for each in options if re.split(r"[.=]", each)[0] not in ("encoder", "seed", "overwrite")]
    where = [f"task={spec['task']}"] * all(not each.startswith("task=") for each in options) + where
    seeds = ",".join(map(str, range(SEEDS)))
    sweep = ["sweep", *where, f"encoder={','.join(pair)}", f"seed={seeds}"]
    minutes = SEEDS * (row.minutes + base.minutes) if row and base else 0.0
    runs = f"{2 * SEEDS} runs" + (f", about {minutes:.0f} minutes on one core" if minutes else "")
    own = [] if spec["suite"] == "open" else ["--suite", str(spec["suite"])]
    own += ["--ledger", str(ledger)] if ledger != LEDGER else []
    return [(sweep, runs), (["compare", *pair[::-1], *own], f"{pair[1]} minus {pair[0]}, its interval, a verdict")]
