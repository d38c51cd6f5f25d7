"""What dev says of a task's budget of epochs, learning rate and dropout: the tables of docs/protocol.md.

    python benchmarks/choices.py                # all tasks, or one: choices.py ner; --ledger FOLDER --suite open

The first table compares runs that differ from their task's default run in one choice alone with the default run, over
the seeds that both have. The default stays unless the other value is better on dev by more than one point and by more
than twice the standard error of the difference of the two means. The exit code is 1 if a default changes:
`campaign.sh` stops there.

The second table has the gain of ELMo over the baseline at the budget and at twice the budget. It chooses nothing.

The third has the dev score of each rate that a tuned encoder was tried with, on one seed, and the chosen one: the rate
with the highest score, of equal ones the lowest. The exit code is 1 if conf/experiment/tuned.yaml has another.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from elmo_bench.ledger import read_all
from elmo_bench.reporting.frame import runs
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import summarise
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.tuning import TUNE, TUNED_RATE

EPOCHS = "task.training.epochs"
DROPOUTS = ("recurrent", "aligned", "classifier")  # of inference, changed together
CHOICES = (
    {EPOCHS},
    {"task.training.optimizer.lr"},
    {"task.head.dropout.input"},
    {f"task.head.dropout.{name}" for name in DROPOUTS},
)
RATES = 3  # that each way of tuning an encoder is tried with, on seed 0
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
    frame = runs(options.ledger, records)
    of_all = scores(frame, options.size)
    dev, test = (_of_tasks(found, options.tasks) for found in of_all)
    shown = lines(dev)
    print("| task | encoder | option | dev | the default's dev | seeds | difference | standard error | default |")
    print("|---|---|---|---:|---:|---:|---:|---:|---|")
    print("\n".join(shown))
    print()
    print("| task | epochs | seeds | gain of elmo over glove on dev | on test |")
    print("|---|---:|---|---:|---:|")
    print("\n".join(budgets(dev, test)))
    print()
    print("| task | encoder | what is trained | dev of each rate, seed 0 | chosen |")
    print("|---|---|---|---|---:|")
    tuned = rates(frame, options.size)
    print("\n".join(line for line, _ in tuned))
    changed = [line for line in shown if line.endswith("| changes |")]
    if changed:
        print(f"{len(changed)} defaults change: docs/protocol.md says what to do.", file=sys.stderr)
    others = sum(not planned for _, planned in tuned)
    if others:
        print(f"{others} chosen rates are not those of conf/experiment/tuned.yaml: put them there.", file=sys.stderr)
    return int(bool(changed or others))


def _of_tasks(found: Scores, tasks: list[str]) -> Scores:
    return {key: value for key, value in found.items() if key[0] in tasks or not tasks}


def scores(frame: pd.DataFrame, size: str = "cpu") -> tuple[Scores, Scores]:
    """(dev, test) scores of the default runs and of those with one choice changed; newest records win.

    frame: `runs` of one suite.
    """
    dev: Scores = defaultdict(lambda: defaultdict(dict))
    test: Scores = defaultdict(lambda: defaultdict(dict))
    for run in rows_of(_newest_last(frame, size)):
        if _is_choice(run.spec) and _is_current(run.spec):
            dev[run.task, run.spec.encoder][run.label][run.seed] = run.dev
            test[run.task, run.spec.encoder][run.label][run.seed] = run.test
    return dev, test


def _newest_last(frame: pd.DataFrame, size: str) -> pd.DataFrame:
    return frame[(frame["size"] == size) & (frame.left_out == "")].sort_values("created")


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


def best_rate(dev: Mapping[float, float]) -> float:
    """The rate with the highest score, of equal ones the lowest."""
    return max(sorted(dev), key=dev.__getitem__)


def rates(frame: pd.DataFrame, size: str = "cpu") -> list[tuple[str, bool]]:
    """The lines of the third table, and whether each line's chosen rate is that of conf/experiment/tuned.yaml.

    Of each way of tuning an encoder that seed 0 was run with three rates of. frame: `runs` of one suite.
    """
    tried: dict[tuple[str, str, str], dict[float, Any]] = defaultdict(dict)
    for run in rows_of(_newest_last(frame, size)):
        settings = run.spec.settings
        tuned_alone = TUNE in settings and run.spec.changes.keys() <= {TUNE, TUNED_RATE}
        if tuned_alone and run.seed == 0 and _is_current(run.spec):
            tried[run.task, run.spec.encoder, settings[TUNE]][settings[TUNED_RATE]] = run
    planned = Experiment.load("tuned")
    found = []
    for (task, encoder, way), by_rate in sorted(tried.items()):
        if len(by_rate) == RATES:
            ordered = sorted(by_rate)
            chosen = best_rate({rate: run.dev for rate, run in by_rate.items()})
            shown = ", ".join(f"{rate}: {by_rate[rate].dev:.2f}" for rate in ordered)
            line = f"| {task} | {encoder} | {way} | {shown} | {chosen} |"
            found.append((line, planned.variant_of(by_rate[chosen].spec) is not None))
    return found


if __name__ == "__main__":
    sys.exit(main())
