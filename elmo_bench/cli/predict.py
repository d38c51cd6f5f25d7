"""`elmo-bench predict RECORD FILE OUT`: a trained head on new text."""

from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.cli import parser
from elmo_bench.ledger import read_record


def main(arguments: list[str]) -> int:
    """Predict a file in the task's native format and print where the predictions are. Raises UserError."""
    add = (command := parser("predict")).add_argument
    add("record", type=Path, help="seed<k>.json of a run, next to the folder with its head")
    add("file", type=Path, help="text in the format of the task's card; gold may be missing")
    add("out", type=Path, help="where to write the predictions, in the official format")
    add("--weights", help="of the encoder, if not published ones; of a stack PART=WEIGHTS,…")
    add("--vectors", help="the static vectors, if not published ones")
    add(
        "columns",
        nargs="*",
        default=[],
        metavar="data.text=COLUMN",
        help="of your own data, where the file calls them otherwise",
    )
    given = command.parse_intermixed_args(arguments)
    read_record(given.record)  # a missing file is named before torch is imported
    if not given.file.exists():
        raise UserError(f"{given.file}: no such file")
    from elmo_bench.runner.predict import predict  # imports torch; --help should not wait for it
    from elmo_bench.training.quiet import quiet

    with quiet():
        files = given.record, given.file, given.out
        count = predict(*files, *given.columns, weights=given.weights, vectors=given.vectors)
    print(f"{given.out}: {count:,} examples")
    return 0
