"""`python -m elmo_bench score TASK FILE… [--json]`: the official figures of a file of predictions, without torch."""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from elmo_bench.errors import UserError

CLONE = Path(__file__).resolve().parents[2]  # the folder of conf/ and tasks/


def main(arguments: list[str]) -> int:
    """Print the scores of a file as a table, or as JSON. Raises UserError for an unknown task or a malformed file."""
    parser = argparse.ArgumentParser(prog="python -m elmo_bench score", description="Official figures of predictions.")
    parser.add_argument("task", help="the name of a task, for instance one of conf/task/*.yaml")
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="gold and predictions, in the formats of the task's card"
    )
    parser.add_argument("--json", action="store_true", help="print every figure, unrounded, as one line of JSON")
    options = parser.parse_args(arguments)
    metric = metric_of(options.task)
    if len(options.files) != len(metric.files):
        raise UserError(f"score {options.task}: give {len(metric.files)} file(s): {' '.join(metric.files)}")
    scores = metric.score_files(*options.files)
    print(json.dumps(scores) if options.json else metric.table(scores))
    return 0


def metric_of(task: str) -> Any:
    """The metric of `conf/task/<task>.yaml`; plain yaml, because composing the whole config costs more than scoring."""
    known = {path.stem: path for path in sorted((CLONE / "conf" / "task").glob("*.yaml"))}
    if task not in known:
        raise UserError(f"unknown task '{task}'; choose one of: {', '.join(known) or 'none (run from a clone)'}")
    options = dict(yaml.safe_load(known[task].read_text(encoding="utf-8"))["metric"])
    module, name = options.pop("_target_").rsplit(".", 1)
    if str(CLONE) not in sys.path:
        sys.path.insert(0, str(CLONE))  # tasks/ is not part of the wheel
    return getattr(importlib.import_module(module), name)(**options)
