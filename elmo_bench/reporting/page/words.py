"""What a reader must know to believe the figures; the same on every page."""

from collections import Counter
from collections.abc import Iterable

from elmo_bench.ledger import Failure, Record, RunPaths
from elmo_bench.reporting.compare import COVERS
from elmo_bench.reporting.gains import LEGEND
from elmo_bench.reporting.like import Group
from elmo_bench.reporting.select import BASELINE, Row

SUITES = {
    "mini": "mini is text that a generator of this project makes: it shows that all works, nothing about language.",
    "open": "open is not the paper's data: do not hold these scores against the published ones.",
    "paper": "paper is the paper's data; the paper's own figures stand beside ours.",
}
ENCODERS = f"{BASELINE}: static vectors, the paper's baseline; none: learned words; elmo: {BASELINE} and ELMo."
HOW = [
    "Scores are mean ± sample standard deviation over n seeds, never the best of them; a single seed has no ±. The "
    "epoch is selected on dev; test is scored once, after that.",
    LEGEND,
    *(" ".join(item.split()) for item in COVERS.removeprefix("- ").split("\n- ")),
    "fewer errors: the share of the baseline's errors that are gone, 100 · gain / (100 − baseline), as the paper "
    "counts relative increases.",
    f"A gain over {BASELINE} is over its run with the same changes, other gains over what the column says; always on "
    "the same data, over the seeds that both have. Where there is no such run, or no such seed, there is no gain.",
    "A column holds runs on the same data, of one version of the task and one size; others have rows and tables of "
    "their own (report --unlike puts them together, and labels them). A run on part of the training data has no place "
    "among those on all of it.",
    "The paper's figures are those of arXiv 1802.05365v2, each headed with what it was scored on. “other data”: not "
    "what is scored here, so the two do not compare. Its encoder was trained on the 1 Billion Word Benchmark.",
]  # fmt: skip


def machines(records: Iterable[Record]) -> list[str]:
    """How many runs came from which hardware and code, and the hours they took."""
    hardware: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for record in records:
        environment = record["environment"]
        device = (
            environment["cpu"] if environment["device"] == "cpu" else f"{environment['device']} ({environment['cpu']})"
        )
        torch = f", torch {environment['packages']['torch']}" if "torch" in environment["packages"] else ""
        code = f"commit {environment['commit'][:10]}" if environment["commit"] else "no git commit"
        code += " with uncommitted changes" if environment["dirty"] else ""
        threads = f"{environment['threads']} thread{'s' if environment['threads'] != 1 else ''}"
        text = f"{device}, {threads}, {environment['precision']}{torch}, {code}"
        hardware[text] += 1
        seconds[text] += round(record["cost"]["seconds"])
    told = [f"{text}: {_runs(count)}, {seconds[text] / 3600:.1f} hours" for text, count in sorted(hardware.items())]
    total = f"All together: {_runs(hardware.total())}, {seconds.total() / 3600:.1f} hours one after the other"
    return [*told, total] if len(told) > 1 else told


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def data_of(group: Group) -> list[str]:
    """What a group's runs on all of the data were trained and scored on: one line, or more where unlike rows were asked
    for."""
    seen: dict[str, list[str]] = {}
    for row in group.whole:
        data = row.newest["data"]
        counts = ", ".join(f"{data['counts'][split]:,} {split}" for split in ("train", "dev", "test"))  # type: ignore[literal-required]
        note = f"; {data['note']}" if "note" in data else ""
        seen.setdefault(f"{counts} (fingerprint {data['fingerprint'][:12]}{note})", []).append(row.label)
    if len(seen) == 1:
        like = group.likes[0]
        told = f"; size {like.size}" if like.size and len(group.likes) == 1 else ""
        return [f"Data of {group.name}: {next(iter(seen))}{told}; version {like.version} of the task."]
    head = f"Data of {group.name}, not the same for all rows"
    return [f"{head}: {text}: {'; '.join(labels)}" for text, labels in seen.items()]


def superseded(old: Row, new: Row) -> tuple[str, str]:
    """(path of the old run, what came in its place and why)."""
    before, after = old.newest["identity"]["contents"], new.newest["identity"]["contents"]
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    name = "/".join([*old.place, old.newest["encoder"], old.newest["hash"]])
    seeds = f"seed{'s' if len(old.seeds) > 1 else ''} {', '.join(map(str, old.seeds))}"
    return name, f"({seeds}) by {new.newest['hash']}; changed: {', '.join(changed)}"


def failed(run: RunPaths, failure: Failure) -> tuple[str, str, str]:
    """(path inside the ledger, when, the last line of what was said)."""
    lines = failure["traceback"].strip().splitlines() or ["no traceback"]
    return run.failure.relative_to(run.ledger).as_posix(), failure["created"], lines[-1].strip().replace("`", "'")
