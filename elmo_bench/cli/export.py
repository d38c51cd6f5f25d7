"""`elmo-bench export WEIGHTS OUT`: a biLM in the published layout.

`elmo-bench export RECORD OUT`: the trained head of a run, which moves elsewhere.
"""

import argparse
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.cli import parser
from elmo_bench.cli.inputs import record_in
from elmo_bench.elmo.pretrained import locate

EPILOG = """Of weights, OUT gets options.json, weights.hdf5 and README.md, a card; the
softmax and the vocabulary are copied if they are next to the weights. AllenNLP loads
options.json and weights.hdf5 without changes. Of the record of a run (seed<k>.json),
OUT gets the record, the trained head and README.md, which says how to use them."""


def main(arguments: list[str]) -> int:
    """Export weights to a folder and print the files. Raises UserError."""
    options = _parse(arguments)
    is_record = options.weights.endswith(".json")
    for file in _head(options) if is_record else _bilm(options):
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0


def _bilm(options: argparse.Namespace) -> list[Path]:
    locate(options.weights, options.options_file)

    # Imported here, so that --help and a missing file do not wait for torch.
    from elmo_bench.elmo.export import export

    return export(
        options.weights,
        options.out,
        options=options.options_file,
        overwrite=options.overwrite,
    )


def _head(options: argparse.Namespace) -> list[Path]:
    if options.options_file:
        raise UserError(
            f"--options-file: goes with weights, and {options.weights} is the record "
            "of a run."
        )
    record = Path(options.weights)
    record_in(record)

    from elmo_bench.runner.export import export_head

    return export_head(record, options.out, overwrite=options.overwrite)


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("export", EPILOG)
    add = command.add_argument
    add(
        "weights",
        metavar="WEIGHTS|RECORD",
        help="mini, small, medium, original, …, a folder, a weights file, user/repo, "
        "or seed<k>.json of a run",
    )
    add("out", type=Path, help="the folder to write to")
    add(
        "--options-file",
        metavar="FILE",
        help="options.json of the weights, if it is not next to them",
    )
    add("--overwrite", action="store_true", help="replace files of an earlier export")
    return command.parse_args(arguments)
