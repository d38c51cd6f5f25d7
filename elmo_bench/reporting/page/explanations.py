"""What a reader needs to know to trust the numbers; the same on both pages."""

from collections import Counter
from collections.abc import Iterable, Sequence

from elmo_bench.ledger import Brief, Failure, RunPaths
from elmo_bench.reporting.gains import ALPHA
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row

SUITES = {
    "mini": "mini is text made by a generator. It shows that everything works, and nothing about language.",
    "open": "open is not the paper's data. Do not compare these scores with the published ones.",
    "paper": "paper is the paper's data. The paper's figures are next to ours.",
}
ENCODERS = f"{BASELINE}: static vectors, the paper's baseline. none: learned words. elmo: {BASELINE} and ELMo."
LEGEND = (
    f"▲ ahead, ▼ behind: the paired test finds a difference, p ≤ {ALPHA} after Holm's adjustment for its family of "
    "tests. = tie: it finds none. No mark: not tested."
)
HOW = [
    "Scores are mean ± sample standard deviation over n seeds, never the best seed; a single seed has no ±. The epoch "
    "is selected on dev. Test is scored once, after that.",
    LEGEND,
    "p answers: would these trained systems differ on other test items of the same kind? It comes from a paired test "
    "over the items, swapped between the systems in all seeds together (approximate randomisation; McNemar's exact "
    "test for a single seed if an item is right or wrong). It says nothing about other seeds.",
    "The interval (95 %, Student's t) answers: where would the mean gain be with other seeds, on the same test items? "
    "It comes from the differences seed by seed, so a single seed gives no interval. It says nothing about other "
    "items.",
    "p is adjusted (Holm) for its family of tests: the tests of one experiment over all tasks or, in “All runs”, of "
    "one table. So the same pair can have a different p in another table. Above 0.05 the two are a tie: no difference "
    "was shown, which does not show that there is none.",
    "fewer errors: the share of the baseline's errors that disappear, 100 · gain / (100 − baseline), as the paper "
    "counts relative increases.",
    f"A gain over {BASELINE} is over its run with the same changes. Other gains are over the run that the column "
    "names. Both are on the same data, over the seeds that both have. Without such a run, or a common seed, no gain "
    "is shown.",
    "Compared runs have the same data, the same version of the task, the same size and the same fraction of the "
    "training data. Others are in tables of their own, with the difference in the heading (report --combine puts "
    "different data, versions and sizes into one table, with labels).",
    "The paper's figures are from arXiv 1802.05365v2; the heading names the data set and split. “other data”: not the "
    "data that is scored here, so the figures are not comparable. The paper's encoder was trained on the 1 Billion "
    "Word Benchmark.",
]  # fmt: skip


def machines(records: Iterable[Brief]) -> list[str]:
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
    return f"{count} run{'s' if count != 1 else ''}"


def data_of(group: Group) -> list[str]:
    """What the runs of a group were trained and scored on: one line, or one for each data set of combined groups."""
    seen: dict[str, list[Row]] = {}
    for row in group.rows:
        data = row.newest["data"]
        counts = ", ".join(f"{data['counts'][split]:,} {split}" for split in ("train", "dev", "test"))  # type: ignore[literal-required]
        note = f"; {data['note']}" if "note" in data else ""
        basis = f"size {row.basis.size}; version {row.basis.version}"
        seen.setdefault(f"{counts} (digest {row.basis.data}{note}); {basis}", []).append(row)
    if len(seen) == 1:
        return [f"Data of {group.name}: {next(iter(seen))}."]
    head = f"Data of {group.name}, which differs between rows"
    return [f"{head}: {text}: {'; '.join(row.label for row in rows)}" for text, rows in seen.items()]


def superseded(old: Row, new: Row) -> tuple[str, str]:
    """(path of the old run, what replaced it and why)."""
    before, after = ({**row.spec.settings, **(row.spec.contents or {})} for row in (old, new))
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    path = "/".join([old.spec.suite, old.spec.task, old.spec.encoder, old.newest["hash"]])
    seeds = f"seed{'s' if len(old.seeds) > 1 else ''} {', '.join(map(str, old.seeds))}"
    return path, f"({seeds}) by {new.newest['hash']}; changed: {', '.join(changed)}"


def failed(failures: Sequence[tuple[RunPaths, Failure]]) -> list[tuple[str, str, str]]:
    """(path inside the ledger, when, the error) of each failure."""
    return [
        (run.failure.relative_to(run.ledger).as_posix(), failure["created"], failure["error"])
        for run, failure in failures
    ]
