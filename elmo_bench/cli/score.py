"""`elmo-bench score TASK FILE… [--json]`: the official figures of a file of predictions, without torch."""

import json
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import table_of
from elmo_bench.cli import parser
from elmo_bench.spec.names import task_class


def main(arguments: list[str]) -> int:
    """Print the scores of a file as a table, or as JSON. Raises UserError for an unknown task or a malformed file."""
    add = (command := parser("score")).add_argument
    add("task", help="the name of a task, for instance one of conf/task/*.yaml")
    add("files", type=Path, nargs="*", metavar="FILE", help="gold and predictions, in the formats of the task's card")
    add("--json", action="store_true", help="print every figure, unrounded, as one line of JSON")
    given = command.parse_args(arguments)
    metric: Any = task_class(given.task, "metric")()
    if len(given.files) != len(metric.files):
        raise UserError(f"{given.task}: give {len(metric.files)} file(s): {' '.join(metric.files)}")
    scores = metric.score_files(*given.files)
    print(json.dumps(scores) if given.json else table_of(metric, scores))
    return 0
