"""What dev says of a task's budget of epochs, learning rate and dropout: the tables of docs/choices.md.

    python benchmarks/choices.py                # all tasks, or one: choices.py ner; --ledger FOLDER --suite open

The first table compares runs that differ from their task's default run in one choice alone with the default run, over
the seeds that both have. The default stays unless the other value is better on dev by more than one point and by more
than twice the standard error of the difference of the two means. The exit code is 1 if a default changes:
`campaign.sh` stops there.

The second table has the gain of ELMo over the baseline at the default and at each value that both were run with. It
chooses nothing.

The third has the dev score of each rate that a tuned encoder was tried with, on ner and one seed, and the chosen one:
the rate with the highest score, of equal ones the lowest. With --tuned, the exit code is also 1 if a rate of an encoder
in conf/experiment/tuned.yaml has no run, or that file has another than the chosen one.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from elmo_bench.ledger import read_all
from elmo_bench.reporting.frame import runs
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import summarise
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.tuning import TRIED_RATES, TUNE, TUNED_RATE

EPOCHS = "task.training.epochs"
DROPOUTS = ("recurrent", "aligned", "classifier")  # of inference, changed together
CHOICES = (
    {EPOCHS},
    {"task.training.optimizer.lr"},
    {"task.head.dropout.input"},
    {f"task.head.dropout.{name}" for name in DROPOUTS},
)
RATES_TASK, RATES_SEED = "ner", 0  # that choose the rates of tuned encoders
POINTS, ERRORS = 1.0, 2.0  # percentage points, and standard errors, that a change has to exceed

BySeed = dict[int, float]
# {(task, encoder): {option=value, or "" for the default run: {seed: score}}}
Scores = dict[tuple[str, str], dict[str, BySeed]]


def main() -> int:
    """0 if every default stays and, with --tuned, each tuned encoder has its chosen rate."""
    parser = argparse.ArgumentParser(description="Compare each choice with the default on dev.")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="these tasks alone")
    parser.add_argument("--ledger", type=Path, default=Path("results/runs"))
    parser.add_argument("--suite", default="open")
    parser.add_argument("--size", default="cpu")
    parser.add_argument("--tuned", action="store_true", help="the rates of tuned encoders must be chosen, too")
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
    print("| task | option | seeds | gain of elmo over glove on dev | on test |")
    print("|---|---|---|---:|---:|")
    print("\n".join(gains(dev, test)))
    print()
    print("| task | encoder | what is trained | dev of each rate, seed 0 | chosen |")
    print("|---|---|---|---|---:|")
    tuned = rates(frame, options.size)
    print("\n".join(choice.line for choice in tuned if choice.line))
    problems = []
    changed = [line for line in shown if line.endswith("| changes |")]
    if changed:
        problems.append(f"{len(changed)} defaults change: docs/choices.md says what to do.")
    if options.tuned:
        problems += [choice.problem for choice in tuned if choice.problem]
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


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


def gains(dev: Scores, test: Scores) -> list[str]:
    """A line of the second table for each value that glove and elmo both have, over the seeds in common.

    Before it comes the default, over the same seeds.
    """
    rows = []
    for task in sorted({task for task, _ in dev}):
        ours, theirs = dev.get((task, "elmo"), {}), dev.get((task, "glove"), {})
        for label in sorted(ours.keys() & theirs.keys()):
            if not label:
                continue
            arms = [ours[label], theirs[label], ours.get("", {}), theirs.get("", {})]
            seeds = sorted(set(arms[0]).intersection(*arms[1:]))
            if not seeds:
                continue
            for name, option in (("", "default"), (label, label)):
                on_dev, on_test = (_gain(found, task, name, seeds) for found in (dev, test))
                rows.append(f"| {task} | {option} | {', '.join(map(str, seeds))} | {on_dev} | {on_test} |")
    return rows


def _gain(found: Mapping[tuple[str, str], Mapping[str, BySeed]], task: str, label: str, seeds: list[int]) -> str:
    ours, theirs = found[task, "elmo"][label], found[task, "glove"][label]
    return f"{sum(ours[seed] - theirs[seed] for seed in seeds) / len(seeds):+.2f}"


def best_rate(dev: Mapping[float, float]) -> float:
    """The rate with the highest score, of equal ones the lowest."""
    return max(sorted(dev), key=dev.__getitem__)


class RateChoice(NamedTuple):
    """What dev says of the rate of one way of tuning an encoder."""

    line: str  # of the third table; empty while a rate has no run
    problem: str  # why experiment=tuned must wait; empty if it need not


def rates(frame: pd.DataFrame, size: str = "cpu") -> list[RateChoice]:
    """The choice for each way of tuning an encoder that conf/experiment/tuned.yaml has.

    frame: `runs` of one suite.
    """
    dev: dict[tuple[str, str], dict[float, float]] = defaultdict(dict)
    for run in rows_of(_newest_last(frame, size)):
        settings = run.spec.settings
        tuned_alone = TUNE in settings and run.spec.changes.keys() <= {TUNE, TUNED_RATE}
        chooses = run.task == RATES_TASK and run.seed == RATES_SEED and _is_current(run.spec)
        if tuned_alone and chooses:
            dev[run.spec.encoder, settings[TUNE]][settings[TUNED_RATE]] = run.dev
    found = []
    for variant in Experiment.load("tuned").variants:
        if TUNE in variant.options and variant.encoder:
            way, planned = variant.options[TUNE], float(variant.options[TUNED_RATE])
            found.append(_rate_choice(variant.encoder, way, planned, dev[variant.encoder, way]))
    return found


def _rate_choice(encoder: str, way: str, planned: float, dev: Mapping[float, float]) -> RateChoice:
    """planned: the rate in conf/experiment/tuned.yaml. dev: the score of each rate that has a run."""
    without_run = [rate for rate in TRIED_RATES[way] if rate not in dev]
    if without_run:
        rates_ = ", ".join(map(str, without_run))
        return RateChoice("", f"{encoder}, {way}: no run with encoder.tune_lr={rates_}, so no rate is chosen.")
    tried = {rate: dev[rate] for rate in TRIED_RATES[way]}
    chosen = best_rate(tried)
    scores_ = ", ".join(f"{rate}: {score:.2f}" for rate, score in tried.items())
    problem = ""
    if chosen != planned:
        problem = (
            f"{encoder}, {way}: dev chose {chosen}; conf/experiment/tuned.yaml has {planned}: "
            "change it there, in sweep and variants."
        )
    return RateChoice(f"| {RATES_TASK} | {encoder} | {way} | {scores_} | {chosen} |", problem)


if __name__ == "__main__":
    sys.exit(main())
