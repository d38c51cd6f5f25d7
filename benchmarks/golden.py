"""What later changes have to keep: the hashes of all planned runs, and the first two epochs of some of them.

    python benchmarks/golden.py hashes --root DATA             # compare with tests/golden/hashes.json
    python benchmarks/golden.py fingerprints --root DATA ner   # with tests/golden/fingerprints.json; or all tasks
    python benchmarks/golden.py hashes --root DATA --write        # replace the file: the old runs are orphaned

DATA is the folder with the data of the open suite. A fingerprint is the dev score and the mean training loss of each of
two epochs on 200 training examples (20 documents for coreference), on one thread. The loss may differ by a thousandth
of its value, since processors round differently, and the dev score by one item. Coreference's loss may differ by a
hundredth: it prunes spans, and layers that differ in their last bit give one of two losses, half a hundredth apart.
"""

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from elmo_bench.base.metric import units_of
from elmo_bench.runner.plan import PlannedRun, plan
from elmo_bench.runner.prepare import prepare
from elmo_bench.runner.train import train
from elmo_bench.spec.config import compose
from elmo_bench.spec.describe import command_of
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.training.quiet import quiet

CAMPAIGN = Path(__file__).with_name("campaign.sh")
GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
TASKS = ("ner", "snli", "sst5", "coref", "squad", "srl")
LOSS = {"coref": 1e-2}  # of its value; of the other tasks 1e-3


def main() -> int:
    """0 if everything is equal or was written."""
    parser = argparse.ArgumentParser(description="Compare hashes or fingerprints with the committed ones.")
    parser.add_argument("what", choices=["hashes", "fingerprints"])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="fingerprints of these tasks alone")
    parser.add_argument("--root", required=True, type=Path, help="the data of the open suite")
    parser.add_argument("--write", action="store_true", help="replace the committed file")
    options = parser.parse_intermixed_args()
    path = GOLDEN / f"{options.what}.json"
    known = json.loads(path.read_text()) if path.is_file() else {}
    if options.what == "hashes":
        found = hashes(contents(options.root))
        problems = [] if found == known else ["the hashes differ: the runs that were made are other runs than these"]
    else:
        found, problems = dict(known), []
        for task, encoder in selected(options.tasks):
            name = f"{task} {encoder}"
            found[name] = fingerprint(task, encoder, options.root)
            problems += differences(name, known.get(name), found[name])
            print(name, json.dumps(found[name]), flush=True)
    if options.write:
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        return 0
    print("\n".join(problems) or "equal")
    return int(bool(problems))


@cache
def planned(step: int = 1, start: int = 0) -> list[PlannedRun]:
    """Every run of campaign.sh, one seed for each spec.

    step, start: of every so many of its sweeps, from this one on; the first is 0.
    """
    found: dict[str, PlannedRun] = {}
    sweeps = re.findall(r"^sweep (.*)$", CAMPAIGN.read_text(), re.MULTILINE)
    for line in sweeps[start::step]:
        for run in plan([*shlex.split(line), "suite=open", "size=cpu", "seed=0"]).runs:
            found.setdefault(run.spec.key, run)
    return list(found.values())


def group(spec: RunSpec) -> str:
    """Runs of one group have the same contents."""
    settings = spec.settings
    parts = (spec.task, spec.encoder, settings.get("encoder.vectors"), settings.get("task.data.labels"))
    return " ".join(str(part) for part in parts if part)


def contents(root: Path) -> dict[str, dict[str, Any]]:
    """The contents of each group of planned runs."""
    found: dict[str, dict[str, Any]] = {}
    for run in planned():
        if group(run.spec) not in found:
            config = compose("config", [*run.options, f"data.root={root}"])
            found[group(run.spec)] = prepare(run.spec, Setup.of(config)).spec.contents or {}
    return found


def hashes(found: dict[str, dict[str, Any]], step: int = 1, start: int = 0) -> dict[str, Any]:
    """{"contents": by group, "runs": {the run's command: its hash}}. step, start: see `planned`."""
    runs = {}
    for run in planned(step, start):
        runs[command_of(run.spec, 0)] = run.spec.with_contents(found[group(run.spec)]).hash
    return {"contents": found, "runs": runs}


def selected(tasks: list[str]) -> Iterator[tuple[str, str]]:
    """(task, encoder) of the fingerprints."""
    for task in tasks or TASKS:
        yield from ((task, encoder) for encoder in ("glove", "elmo"))
        if task == "ner":
            yield from ((task, encoder) for encoder in ("elmo_alone", "random", "minilm", "mpnet"))


def fingerprint(task: str, encoder: str, root: Path | None) -> dict[str, Any]:
    """{"dev": [two scores], "loss": [two], "item": what one item of dev is worth, in points}.

    root: None for a task whose data ship with the package.
    """
    examples = 20 if task == "coref" else 200
    config = compose(
        "config",
        [f"task={task}", f"encoder={encoder}", "suite=open", f"data.root={root or 'null'}",
         f"data.max_train={examples}", "task.training.epochs=2", "trainer.threads=1", "logger=none",
         "store=ram"],  # layers of an earlier run would hide a change of the encoder
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, quiet():
        prepared = prepare(RunSpec.of(config), Setup.of(config))
        trained = train(prepared, Path(folder))
    module, curves = trained.module, trained.history.curves
    item = 100 / units_of(module.metric, module.counts)
    return {"dev": curves["dev"], "loss": curves["train_loss"], "item": item}


def differences(name: str, known: dict[str, Any] | None, found: dict[str, Any]) -> list[str]:
    """A line for each figure that is not within its tolerance."""
    if known is None:
        return [f"{name}: no fingerprint is committed"]
    wrong, loss = [], LOSS.get(name.partition(" ")[0], 1e-3)
    for epoch in range(2):
        if abs(found["loss"][epoch] - known["loss"][epoch]) > loss * abs(known["loss"][epoch]):
            wrong.append(f"{name}: loss of epoch {epoch + 1} {found['loss'][epoch]}, not {known['loss'][epoch]}")
        # 41.4 - 41.3 is a little over 0.1.
        if abs(found["dev"][epoch] - known["dev"][epoch]) > known["item"] + 1e-6:
            wrong.append(f"{name}: dev of epoch {epoch + 1} {found['dev'][epoch]}, not {known['dev'][epoch]}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
