"""`elmo-bench predict RECORD FILE OUT`: a trained head on new text."""

import argparse
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Predict a file in the task's native format and print where the predictions are. Raises UserError."""
    parser = argparse.ArgumentParser(
        prog="elmo-bench predict",
        description="Predictions of the head that a run kept, for a file in the native format of its task.",
    )
    parser.add_argument("record", type=Path, help="seed<k>.json of a run, next to the folder with its head")
    parser.add_argument("file", type=Path, help="text in the format of the task's card; gold may be missing")
    parser.add_argument("out", type=Path, help="where to write the predictions, in the official format")
    parser.add_argument(
        "--weights",
        help="where the encoder's weights are, of a stack PART=WEIGHTS,…; needed if they are not published ones",
    )
    parser.add_argument(
        "--vectors", help="where the static vectors are; needed if the record does not name published ones"
    )
    options = parser.parse_args(arguments)
    from elmo_bench.runner.predict import predict  # imports torch; --help should not wait for it
    from elmo_bench.training.quiet import quiet

    with quiet():
        count = predict(options.record, options.file, options.out, weights=options.weights, vectors=options.vectors)
    print(f"{options.out}: {count:,} examples")
    return 0
