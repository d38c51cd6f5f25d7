"""What dev says of a task's budget of epochs, learning rate and dropout: the tables of docs/protocol.md.

    python benchmarks/choices.py                # all tasks, or one: choices.py ner; --ledger FOLDER --suite open

Compares runs that differ from their task's default run in one option alone with the default run, over the seeds that
both have. The default stays unless the other value is better on dev by more than one point and by more than twice the
standard error of the difference of the two means. The exit code is 1 if a default changes: `campaign.sh` stops there.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from elmo_bench.ledger import read_all
from elmo_bench.reporting.frame import runs
from elmo_bench.reporting.significance import summarise
from elmo_bench.spec.run_spec import RunSpec

CHOSEN = ("task.training.epochs", "task.training.optimizer.lr", "task.head.dropout.input")
POINTS, ERRORS = 1.0, 2.0  # percentage points, and standard errors, that a change has to exceed


def main() -> int:
    """0 if every default stays."""
    parser = argparse.ArgumentParser(description="Compare each choice with the default on dev.")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="these tasks alone")
    parser.add_argument("--ledger", type=Path, default=Path("results/runs"))
    parser.add_argument("--suite", default="open")
    parser.add_argument("--size", default="cpu")
    options = parser.parse_intermixed_args()
    found = scores(options.ledger, options.suite, options.size)
    shown = lines({key: value for key, value in found.items() if key[0] in options.tasks or not options.tasks})
    print("| task | encoder | option | dev | the default's dev | seeds | difference | standard error | default |")
    print("|---|---|---|---:|---:|---:|---:|---:|---|")
    print("\n".join(shown))
    if changed := [line for line in shown if line.endswith("| changes |")]:
        print(f"{len(changed)} defaults change: docs/protocol.md says what to do.", file=sys.stderr)
    return int(bool(changed))


def scores(ledger: Path, suite: str, size: str = "cpu") -> dict[tuple[str, str], dict[str, dict[int, float]]]:
    """{(task, encoder): {option=value, or "" for the default run: {seed: dev score}}}; newest records win."""
    by_label: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    frame = runs(ledger, read_all(ledger, [suite]).records)
    frame = frame[(frame["size"] == size) & (frame.left_out == "")]
    for run in frame.sort_values("created").itertuples():
        changes = run.spec.changes
        if len(changes) <= 1 and changes.keys() <= {*CHOSEN} and _is_current(run.spec):
            by_label[run.task, run.spec.encoder][run.label][run.seed] = run.dev
    return by_label


def _is_current(spec: RunSpec) -> bool:
    usual = spec.default().settings
    return all(spec.settings.get(key) == usual.get(key) for key in ("protocol", "task.version"))


def lines(found: dict[tuple[str, str], dict[str, dict[int, float]]]) -> list[str]:
    """A line of the table for each value that has two seeds or more in common with the default run."""
    rows = []
    for (task, encoder), by_label in sorted(found.items()):
        usual = by_label.get("", {})
        for label, scores_ in sorted(by_label.items()):
            seeds = sorted(usual.keys() & scores_.keys())
            if label and len(seeds) > 1:
                new, old = (summarise(each[seed] for seed in seeds) for each in (scores_, usual))
                gain, error = new.mean - old.mean, (((new.sd or 0) ** 2 + (old.sd or 0) ** 2) / len(seeds)) ** 0.5
                verdict = "changes" if gain > POINTS and gain > ERRORS * error else "stays"
                rows.append(
                    f"| {task} | {encoder} | {label} | {new} | {old} | {len(seeds)} | {gain:+.2f} | "
                    f"{error:.2f} | {verdict} |"
                )
    return rows


if __name__ == "__main__":
    sys.exit(main())
