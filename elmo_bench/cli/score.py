"""`elmo-bench score TASK FILE… [--json]`: the official figures of a file of predictions, without torch."""

import argparse
import json
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.spec.names import task_class


def main(arguments: list[str]) -> int:
    """Print the scores of a file as a table, or as JSON. Raises UserError for an unknown task or a malformed file."""
    parser = argparse.ArgumentParser(prog="elmo-bench score", description="Official figures of predictions.")
    parser.add_argument("task", help="the name of a task, for instance one of conf/task/*.yaml")
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="FILE", help="gold and predictions, in the formats of the task's card"
    )
    parser.add_argument("--json", action="store_true", help="print every figure, unrounded, as one line of JSON")
    options = parser.parse_args(arguments)
    metric: Any = task_class(options.task, "metric")()
    if len(options.files) != len(metric.files):
        raise UserError(f"{options.task}: give {len(metric.files)} file(s): {' '.join(metric.files)}")
    scores = metric.score_files(*options.files)
    print(json.dumps(scores) if options.json else metric.table(scores))
    return 0
