"""`elmo-bench score TASK FILE… [--json]`: the official figures of predictions.

It imports no torch.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import table_of
from elmo_bench.cli import parser
from elmo_bench.spec.names import task_class


def main(arguments: list[str]) -> int:
    """Print the scores of a file as a table, or as JSON.

    Raises UserError for an unknown task or a malformed file.
    """
    options = _parse(arguments)
    metric: Any = task_class(options.task, "metric")()
    if len(options.files) != len(metric.files):
        count = len(metric.files)
        raise UserError(
            f"{options.task}: give {count} file(s): {' '.join(metric.files)}"
        )
    scores = metric.score_files(*options.files)
    print(json.dumps(scores) if options.json else table_of(metric, scores))
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("score")
    command.add_argument(
        "task", help="the name of a task, for instance one of conf/task/*.yaml"
    )
    command.add_argument(
        "files",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="gold and predictions, in the formats of the task's card",
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="print every figure, unrounded, as one line of JSON",
    )
    return command.parse_args(arguments)
