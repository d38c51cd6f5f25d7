"""What dev says of a task's budget of epochs, learning rate and dropout: the tables of docs/protocol.md.

    python benchmarks/choices.py                # all tasks, or one: choices.py ner; --ledger FOLDER --suite open

The first table compares runs that differ from their task's default run in one choice alone with the default run, over
the seeds that both have. The default stays unless the other value is better on dev by more than one point and by more
than twice the standard error of the difference of the two means. The exit code is 1 if a default changes:
`campaign.sh` stops there.

The second table has the gain of ELMo over the baseline at the budget and at twice the budget. It chooses nothing.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from elmo_bench.ledger import read_all
from elmo_bench.reporting.frame import runs
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import summarise
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec

EPOCHS = "task.training.epochs"
DROPOUTS = ("recurrent", "aligned", "classifier")  # of inference, changed together
CHOICES = (
    {EPOCHS},
    {"task.training.optimizer.lr"},
    {"task.head.dropout.input"},
    {f"task.head.dropout.{name}" for name in DROPOUTS},
)
POINTS, ERRORS = 1.0, 2.0  # percentage points, and standard errors, that a change has to exceed

BySeed = dict[int, float]
# {(task, encoder): {option=value, or "" for the default run: {seed: score}}}
Scores = dict[tuple[str, str], dict[str, BySeed]]


def main() -> int:
    """0 if every default stays."""
    parser = argparse.ArgumentParser(description="Compare each choice with the default on dev.")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="these tasks alone")
    parser.add_argument("--ledger", type=Path, default=Path("results/runs"))
    parser.add_argument("--suite", default="open")
    parser.add_argument("--size", default="cpu")
    options = parser.parse_intermixed_args()
    records = read_all(options.ledger, [options.suite], metrics=metric_of).records
    of_all = scores(runs(options.ledger, records), options.size)
    dev, test = (_of_tasks(found, options.tasks) for found in of_all)
    shown = lines(dev)
    print("| task | encoder | option | dev | the default's dev | seeds | difference | standard error | default |")
    print("|---|---|---|---:|---:|---:|---:|---:|---|")
    print("\n".join(shown))
    print()
    print("| task | epochs | seeds | gain of elmo over glove on dev | on test |")
    print("|---|---:|---|---:|---:|")
    print("\n".join(budgets(dev, test)))
    changed = [line for line in shown if line.endswith("| changes |")]
    if changed:
        print(f"{len(changed)} defaults change: docs/protocol.md says what to do.", file=sys.stderr)
    return int(bool(changed))


def _of_tasks(found: Scores, tasks: list[str]) -> Scores:
    return {key: value for key, value in found.items() if key[0] in tasks or not tasks}


def scores(frame: pd.DataFrame, size: str = "cpu") -> tuple[Scores, Scores]:
    """(dev, test) scores of the default runs and of those with one choice changed; newest records win.

    frame: `runs` of one suite.
    """
    dev: Scores = defaultdict(lambda: defaultdict(dict))
    test: Scores = defaultdict(lambda: defaultdict(dict))
    frame = frame[(frame["size"] == size) & (frame.left_out == "")]
    for run in rows_of(frame.sort_values("created")):
        if _is_choice(run.spec) and _is_current(run.spec):
            dev[run.task, run.spec.encoder][run.label][run.seed] = run.dev
            test[run.task, run.spec.encoder][run.label][run.seed] = run.test
    return dev, test


def _is_choice(spec: RunSpec) -> bool:
    """Whether a run is a default run, or differs from it in one of the choices."""
    return not spec.changes or spec.changes.keys() in CHOICES


def _is_current(spec: RunSpec) -> bool:
    usual = spec.default().settings
    return all(spec.settings.get(key) == usual.get(key) for key in ("protocol", "task.version"))


def lines(found: Scores) -> list[str]:
    """A line of the first table for each value that has two seeds or more in common with the default run."""
    rows = []
    for (task, encoder), by_label in sorted(found.items()):
        usual = by_label.get("", {})
        for label, by_seed in sorted(by_label.items()):
            seeds = sorted(usual.keys() & by_seed.keys())
            if label and len(seeds) > 1:
                new = summarise(by_seed[seed] for seed in seeds)
                old = summarise(usual[seed] for seed in seeds)
                gain = new.mean - old.mean
                error = (((new.sd or 0) ** 2 + (old.sd or 0) ** 2) / len(seeds)) ** 0.5
                verdict = "changes" if gain > POINTS and gain > ERRORS * error else "stays"
                rows.append(
                    f"| {task} | {encoder} | {label} | {new} | {old} | {len(seeds)} | {gain:+.2f} | "
                    f"{error:.2f} | {verdict} |"
                )
    return rows


def budgets(dev: Scores, test: Scores) -> list[str]:
    """A line of the second table for each budget of a task that glove and elmo both have, over the seeds in common.

    The default budget has the seeds that twice the budget has too.
    """
    rows = []
    for task in sorted({task for task, _ in dev}):
        ours, theirs = dev.get((task, "elmo"), {}), dev.get((task, "glove"), {})
        for label in sorted(ours.keys() & theirs.keys()):
            if not label.startswith(EPOCHS):
                continue
            arms = [ours[label], theirs[label], ours.get("", {}), theirs.get("", {})]
            seeds = sorted(set(arms[0]).intersection(*arms[1:]))
            for name, budget in (("", "default"), (label, label.removeprefix(f"{EPOCHS}="))):
                gains = [_gain(found, task, name, seeds) for found in (dev, test)]
                if seeds:
                    rows.append(f"| {task} | {budget} | {', '.join(map(str, seeds))} | {gains[0]} | {gains[1]} |")
    return rows


def _gain(found: Mapping[tuple[str, str], Mapping[str, BySeed]], task: str, label: str, seeds: list[int]) -> str:
    if not seeds:
        return ""
    ours, theirs = found[task, "elmo"][label], found[task, "glove"][label]
    return f"{sum(ours[seed] - theirs[seed] for seed in seeds) / len(seeds):+.2f}"


if __name__ == "__main__":
    sys.exit(main())
