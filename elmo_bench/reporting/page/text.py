"""What a reader needs to know to trust the numbers, the same on both pages; and the page as markdown.

Markdown is what a visitor of the repository sees first. Records may come from strangers, so text that could be HTML, a
link or an image is escaped there. A discussion is not, since people of this project write it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from elmo_bench.ledger import Failure, Record, RunPaths
from elmo_bench.reporting.formats import to_markdown
from elmo_bench.reporting.gains import ALPHA
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.leaderboard import Leaderboard, Section, Suite
from elmo_bench.reporting.rows import BASELINE, Row, Superseded

MOST = 50  # superseded runs that are listed
SUITES = {
    "open": "open is public data, and not the paper's. Do not compare these scores with the published ones.",
    "paper": "paper is the paper's data. The paper's figures are next to ours.",
}
ENCODERS = (
    f"{BASELINE}: static vectors, in the place of the paper's baseline. elmo_word: {BASELINE} and ELMo's character "
    f"layer, a better word vector without context. elmo: {BASELINE} and all of ELMo. Controls: none learns its words; "
    "random is ELMo's network before training."
)
LEGEND = (
    f"▲ ahead, ▼ behind: the difference holds over seeds and test items, p ≤ {ALPHA} after Holm's adjustment for its "
    "family of tests. = tie: it was not shown. † not converged. No mark: not tested."
)
HOW = [
    "Scores are mean ± sample standard deviation over n seeds, never the best seed; a single seed has no ±. The epoch "
    "is selected on dev. Test is scored once, after that.",
    LEGEND,
    "A difference of two means has one standard error, from two sources. Seeds: the variance over the seeds of each of "
    "the two; a single seed is not tested. Items: the paired jackknife over the items that both were scored on; "
    "questions about one passage, or pairs of one premise, count as one. The interval (95 %) and p follow by "
    "Student's t with Satterthwaite's degrees of freedom (Welch's test, and the items). Seeds of two runs are not "
    "paired, except on a fraction of the training data: there seed k of both has the subset that seed k draws, and the "
    "variance is that of the differences of equal seeds.",
    "The primary family of tests is the experiment at the top: each difference that it names, on each task. Everything "
    "else is exploratory. Ablations are judged on dev, as the paper's tables 2 and 3.",
    "p is adjusted (Holm) for its family of tests: the tests of one experiment over all tasks or, in “All runs”, of "
    "one table. So the same pair can have a different p in another table. Above 0.05 the two are a tie: no difference "
    "was shown, which does not show that there is none. detectable: the smallest true difference that one such test "
    "would find in 80 % of repetitions.",
    "† Converged belongs to a task: its budget of epochs was measured (twice as many change little), and every encoder "
    "at that budget has it, unless a run learned nothing: a dev score of 0, or the same one after every epoch, is of a "
    "head that gives one answer to everything. With a seed that is not converged in either row a gain gets no verdict. "
    "The protocol is the version of the training schedule; runs of two protocols "
    "are never compared.",
    "fewer errors: the share of the baseline's errors that disappear, 100 · gain / (100 − baseline), as the paper "
    "counts relative increases.",
    "A gain is over the run that the table names, on the same data; in “All runs” over the baseline with the same "
    "changes. Without such a run no gain is shown. n of the two: how many seeds each has, where the numbers differ.",
    "width: the layers of the heads, as a fraction of the paper's.",
    "Compared runs have the same data, the same version of the task, the same size and the same fraction of the "
    "training data. Others are in tables of their own, with the difference in the heading (report --combine puts "
    "different data, versions and sizes into one table, with labels).",
    "The paper's figures are from arXiv 1802.05365v2; the heading names the data set and split. “other data”: not the "
    "data that is scored here, so the figures are not comparable. The paper's encoder was trained on the 1 Billion "
    "Word Benchmark.",
]  # fmt: skip


def machines(records: Iterable[Record]) -> list[str]:
    """How many runs came from which hardware and code, and the hours they took."""
    hardware: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for record in records:
        environment = record["environment"]
        device = environment["cpu"]
        if environment["device"] != "cpu":
            device = f"{environment['device']} ({environment['cpu']})"
        torch = f", torch {environment['packages']['torch']}" if "torch" in environment["packages"] else ""
        code = f"commit {environment['commit'][:10]}" if environment["commit"] else "no git commit"
        code += " with uncommitted changes" if environment["dirty"] else ""
        threads = f"{environment['threads']} thread{'s' if environment['threads'] != 1 else ''}"
        text = f"{device}, {threads}, {environment['precision']}{torch}, {code}"
        hardware[text] += 1
        seconds[text] += round(record["cost"]["seconds"])
    lines = [f"{text}: {_runs(count)}, {seconds[text] / 3600:.1f} hours" for text, count in sorted(hardware.items())]
    total = f"In total: {_runs(hardware.total())}, {seconds.total() / 3600:.1f} hours of computing"
    return [*lines, total] if len(lines) > 1 else lines


def _runs(count: int) -> str:
    return f"{count:,} run{'s' if count != 1 else ''}"


def more_runs(count: int) -> str:
    """How many runs a table or the page folds away: "1 more run", "1,200 more runs"."""
    return f"{count:,} more run{'s' if count != 1 else ''}"


def data_of(group: Group) -> list[str]:
    """What the runs of a group were trained and scored on: one line, or one for each data set of combined groups."""
    seen: dict[str, list[Row]] = {}
    for row in group.rows:
        data = row.newest["data"]
        counts = ", ".join(f"{data['counts'][split]:,} {split}" for split in ("train", "dev", "test"))  # type: ignore[literal-required]
        notes = "".join(f"; {note}" for note in data["notes"])
        basis = f"size {row.basis.size}; version {row.basis.version}"
        seen.setdefault(f"{counts} (digest {row.basis.data}{notes}); {basis}", []).append(row)
    if len(seen) == 1:
        return [f"Data of {group.name}: {next(iter(seen))}."]
    head = f"Data of {group.name}, which differs between rows"
    return [f"{head}: {text}: {'; '.join(row.label for row in rows)}" for text, rows in seen.items()]


def superseded(old: Superseded) -> tuple[str, str]:
    """(path of the old run, what replaced it and why)."""
    seeds = f"seed{'s' if len(old.seeds) > 1 else ''} {', '.join(map(str, old.seeds))}"
    path = "/".join([old.suite, old.task, old.encoder, old.hash])
    return path, f"({seeds}) by {old.by}; changed: {', '.join(old.changed)}"


def failed(failures: Sequence[tuple[RunPaths, Failure]]) -> list[tuple[str, str, str]]:
    """(path inside the ledger, when, the error) of each failure."""
    return [
        (run.failure.relative_to(run.ledger).as_posix(), failure["created"], failure["error"])
        for run, failure in failures
    ]


def markdown_page(board: Leaderboard, *, discussions: Mapping[str, str]) -> str:
    """The whole page. The same ledger, discussions (by suite) and command give the same text."""
    parts = [f"# Results\n\nRendered from the ledger by `{board.command}`. Do not edit: the next report overwrites it."]
    if board.suites:
        parts.append(
            "[index.html](index.html) has the same tables to sort and filter, with each number linked to its record. "
            "`tables/` contains each table as CSV and LaTeX, `figures/` each figure."
        )
    else:
        parts.append("The ledger has no finished runs of these suites yet.")
    for suite in board.suites:
        parts += _suite(suite, discussions.get(suite.name, ""))
    if board.suites:
        records = [record for row in board.selection.rows for record in row.records]
        parts += ["## How to read this", _list(HOW), "## Made on", _list(map(escape, machines(records)))]
    if board.selection.superseded:
        lines = [f"{_code(path)} {escape(why)}" for path, why in map(superseded, board.selection.superseded)]
        text = "Data, weights or a version have changed since. `elmo-bench clean --stale` removes these runs."
        rest = [f"{len(lines) - MOST:,} more: see [index.html](index.html)."] if len(lines) > MOST else []
        parts += ["## Superseded", text, _list(lines[:MOST]), *rest]
    if board.failures:
        lines = [f"{_code(path)} ({when}): {_code(why)}" for path, when, why in failed(board.failures)]
        parts += ["## Failed", _list(lines)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """One line of literal text: no HTML, links or images."""
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"[\r\n]+", " ", text))
    return re.sub(r"\\*([\[\]])", r"\\\1", text)


def _suite(suite: Suite, discussion: str) -> list[str]:
    parts = [f"## Suite {suite.name}", " ".join(filter(None, [SUITES.get(suite.name, ""), ENCODERS]))]
    for section in suite.sections:
        parts += _section(section)
        if section is suite.sections[0] and discussion:
            parts += ["### What the figures show", discussion.strip()]
    data = [escape(line) for group in suite.listed for line in data_of(group)]
    return [*parts, *([_list(data)] if data else [])]


def _section(section: Section) -> list[str]:
    drawings = [f"![{escape(figure.alt)}](figures/{figure.stem}.svg)" for figure in section.figures]
    tables = []
    for table in section.tables:
        shown = "\n".join(map(escape, to_markdown(table).split("\n")))
        lines = [f"**{escape(table.title)}**", shown, *map(escape, table.notes)]
        if table.folded:
            lines.append(f"{more_runs(table.folded)}: [CSV](tables/{table.stem}.csv).")
        tables.append("\n\n".join(lines))
    start = [f"### {section.heading}", section.about]
    if section.legend:
        return [*start, *tables[:1], LEGEND, *drawings, *tables[1:]]
    return [*start, *drawings, *tables]


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
