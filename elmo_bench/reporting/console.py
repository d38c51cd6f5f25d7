"""What a run and a sweep print: tables, and when a run ends its scores, the published row, and what comes next.

The tables are markdown that also reads well in a terminal. They have no verdicts, which take tests: `compare` and
`report` have them. `report` writes the published runs to a file of the package. Imports no pandas and no torch.
"""

import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.json import read_json
from elmo_bench.base.notes import print_problems
from elmo_bench.ledger import Record, RunPaths, read_all
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import BASELINE, NOT_CONVERGED, of_newest_protocol, score_of, select
from elmo_bench.reporting.rows import Row as Current
from elmo_bench.spec.config import choices
from elmo_bench.spec.run_spec import RunSpec

FILE = Path(__file__).parents[1] / "data" / "published.json"
SUITE = "open"
MOST = 30  # rows of a table
NEAR = 0.5  # points from the score of the same seed on the same kind of processor
DEVIATIONS = 3  # standard deviations from the mean, elsewhere
SEEDS = 3  # of the sweep that is suggested
REPORT = "elmo-bench report", "tables and a page from all runs that are done"


def task_table(records: Iterable[Record], *, suite: str, task: str, highlight: str | None = None) -> str:
    """Scores and cost of the best runs of a task, best test score first, and of the run with the hash `highlight`."""
    wanted = (r for r in records if (r["spec"]["suite"], r["spec"]["task"]) == (suite, task))
    own = groups(of_newest_protocol(select(wanted, prefer=highlight).rows))
    if not own:
        return f"No runs of {task} on suite {suite} yet."
    rows = [(row, ", ".join(filter(None, [row.label, group.note]))) for group in own for row in group.rows]
    rows.sort(key=lambda pair: -pair[0].summary("test").mean)
    metric = own[0].metric
    header = ["encoder", f"dev {metric}", f"test {metric}", "n (seeds)", "trainable", "tokens/s", "minutes per run"]
    shown = [pair for at, pair in enumerate(rows) if at < MOST or pair[0].newest["hash"] == highlight]
    body = [
        [
            label + (" ←" if row.newest["hash"] == highlight else ""),
            str(row.summary("dev")),
            f"{row.summary('test')} {row.mark}".strip(),
            f"{len(row.seeds)} ({', '.join(map(str, row.seeds))})",
            f"{row.newest['parameters']['trainable']:,}",
            f"{row.cost('tokens_per_second'):,.0f}",
            f"{row.minutes:.1f}",
        ]
        for row, label in shown
    ]
    notes = [NOT_CONVERGED] if any(row.mark for row, _ in shown) else []
    if len(shown) < len(rows):
        notes.append(f"{len(rows) - len(shown)} more rows: `elmo-bench report` shows all.")
    return "\n\n".join([fitted(header, body), *notes])


def overviews(records: Iterable[Record], hashes: Sequence[str]) -> Iterator[str]:
    """Tasks by encoders: a table of test scores for each suite that has several tasks among the runs with these hashes.

    Tasks and encoders are in the order of `hashes`; a run without a record is a dash. Changes that all runs have in
    common are in the title.
    """
    order = {run: position for position, run in reversed(list(enumerate(hashes)))}  # of its first mention
    rows = sorted(select(r for r in records if r["hash"] in order).rows, key=lambda row: order[row.newest["hash"]])
    for suite in dict.fromkeys(row.spec.suite for row in rows):
        own = [row for row in rows if row.spec.suite == suite]
        tasks = dict.fromkeys((row.spec.task, row.newest["metric"]) for row in own)
        if len(tasks) < 2:
            continue
        common = set.intersection(*(set(row.changes.items()) for row in own))
        said = ", ".join(f"{key}={value}" for key, value in sorted(common))
        cells: dict[str, dict[str, str]] = {}
        for row in own:
            rest = [f"{key}={value}" for key, value in row.changes.items() if (key, value) not in common]
            label = ", ".join([row.name, *rest])
            cells.setdefault(label, {})[row.spec.task] = f"{row.summary('test')} {row.mark}".strip()
        body = [[f"{task} ({metric})", *(own.get(task, "-") for own in cells.values())] for task, metric in tasks]
        yield f"test scores on suite {suite}{f' ({said})' * bool(said)}:\n\n{fitted(['task', *cells], body)}"


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
    for row in (row for row in rows if row.spec.suite == SUITE):
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
    return f"{state}: dev {main} {dev:.2f}, test {main} {test:.2f}  {RunPaths.of(ledger, record).record}"


def show(ledger: Path, suite: str, task: str, hash_: str, *, command: str) -> list[Record]:
    """Print the table of a suite and task, with an arrow at the run; its records."""
    read = read_all(ledger, suite=suite, task=task, sums=True)
    print_problems(command, [*read.problems, *select(read.records).unknown])
    print(f"\n{task} on suite {suite}:\n\n{task_table(read.records, suite=suite, task=task, highlight=hash_)}")
    return read.records


def ending(record: Record) -> Iterator[str]:
    """Lines about a run that is in the ledger: why it ended, whether it reproduces its published row, what is next."""
    spec, epochs = record["spec"], record["epochs"]
    most = spec["settings"].get("task.training.epochs")
    why = "its budget" if epochs["run"] == most else f"then no better dev score; at most {most}"
    minutes = record["cost"]["seconds"] / 60
    yield f"best epoch on dev: {epochs['best']} of {epochs['run']} ({why}); {minutes:.1f} minutes"
    score = score_of(record, "test")
    if row := rows().get(record["hash"]):
        said = verdict(score, record["seed"], processor(record["environment"]), row)
        yield f"published: test {record['metric']} {_spread(row)}. This run: {said}."
    default = not RunSpec(**spec).changes
    if base := _baseline(record) if default else None:
        yield f"gain over the published {BASELINE}, {_spread(base)}: {score - base.mean:+.2f} (a single seed; no test)"
    yield "next:"
    for command, about in _next(record, row, base) if default else [REPORT]:
        yield f"  {command:<72} # {about}"


def _spread(row: Row) -> str:
    many = f" ± {row.sd:.2f} over {len(row.seeds)} seeds" if row.sd is not None else ""
    return f"{row.mean:.2f}{many}"


def _baseline(record: Record) -> Row | None:
    """The published default run of the baseline on the same data; None for the baseline itself."""
    spec = record["spec"]
    wanted = (spec["task"], BASELINE, spec["size"], "", (spec["contents"] or {}).get("data"))
    fits = (row for row in rows().values() if (row.task, row.encoder, row.size, row.label, row.data) == wanted)
    return None if spec["encoder"] == BASELINE else next(fits, None)


def _next(record: Record, row: Row | None, base: Row | None) -> Iterator[tuple[str, str]]:
    """(a command, what it is for), after a default run."""
    spec: Mapping[str, object] = record["spec"]
    if spec["encoder"] not in choices("encoder"):  # named by a folder or a repository
        yield REPORT
        return
    pair = [BASELINE, "elmo"] if spec["encoder"] == BASELINE else [BASELINE, str(spec["encoder"])]
    suite = RunSpec(**record["spec"]).own_data or [f"suite={spec['suite']}"]
    where = [f"task={spec['task']}", *([] if spec["suite"] == "open" else suite)]
    seeds = ",".join(map(str, range(SEEDS)))
    sweep = shlex.join(["elmo-bench", "sweep", *where, f"encoder={','.join(pair)}", f"seed={seeds}"])
    minutes = SEEDS * (row.minutes + base.minutes) if row and base else 0.0
    yield sweep, f"{2 * SEEDS} runs" + (f", about {minutes:.0f} minutes on one core" if minutes else "")
    own = [] if spec["suite"] == "open" else ["--suite", str(spec["suite"])]
    yield shlex.join(["elmo-bench", "compare", *pair, *own]), "the difference, its interval, a verdict"
