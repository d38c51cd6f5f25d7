"""`elmo-bench predict RECORD FILE OUT`: a trained head on new text."""

import argparse
from pathlib import Path

from elmo_bench.base.files import keep_inputs
from elmo_bench.cli import parser
from elmo_bench.cli.inputs import check_file, check_output, record_in
from elmo_bench.spec.options import check_once


def main(arguments: list[str]) -> int:
    """Predict a file in the task's native format and print where the predictions are.

    Raises UserError.
    """
    options = _parse(arguments)
    record_in(options.record)
    check_file(options.file)
    keep_inputs(options.out, (options.file, options.record))
    check_output(options.out, overwrite=options.overwrite)
    check_once(options.columns, single=True)

    # Imported here, so that --help is printed at once.
    from elmo_bench.runner.predict import predict
    from elmo_bench.training.quiet import quiet

    with quiet():
        count = predict(
            options.record,
            options.file,
            options.out,
            *options.columns,
            weights=options.weights,
            vectors=options.vectors,
            probabilities=options.probabilities,
        )
    print(f"{options.out}: {count:,} examples")
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("predict")
    add = command.add_argument
    add(
        "record",
        type=Path,
        help="seed<k>.json of a run, next to the folder with its head",
    )
    add(
        "file",
        type=Path,
        help="text in the format of the task's card; gold may be missing",
    )
    add(
        "out",
        type=Path,
        help="where to write the predictions, in the official format",
    )
    add(
        "--weights",
        help="of the encoder, if not published ones; of a stack PART=WEIGHTS,…",
    )
    add("--vectors", help="the static vectors, if not published ones")
    add(
        "--probabilities",
        action="store_true",
        help="a column for each label or tag, too (tasks on your own data)",
    )
    add("--overwrite", action="store_true", help="replace OUT")
    add(
        "columns",
        nargs="*",
        default=[],
        metavar="data.text=COLUMN",
        help="of your own data, where the file calls them otherwise",
    )
    return command.parse_intermixed_args(arguments)
