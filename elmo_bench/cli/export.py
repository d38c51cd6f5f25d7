"""`elmo-bench export WEIGHTS OUT`: a biLM in the published layout."""

import argparse
from pathlib import Path

from elmo_bench.cli import parser

EPILOG = """OUT gets options.json, weights.hdf5 and README.md, a card; the softmax and
the vocabulary are copied if they are next to the weights. AllenNLP loads options.json
and weights.hdf5 without changes."""


def main(arguments: list[str]) -> int:
    """Export weights to a folder and print the files. Raises UserError."""
    options = _parse(arguments)

    # Imported here, so that --help does not wait for torch.
    from elmo_bench.elmo.export import export

    files = export(
        options.weights,
        options.out,
        options=options.options_file,
        overwrite=options.overwrite,
    )
    for file in files:
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("export", EPILOG)
    add = command.add_argument
    add(
        "weights",
        help="mini, small, medium, original, …, a folder, a weights file, or user/repo",
    )
    add("out", type=Path, help="the folder to write to")
    add(
        "--options-file",
        metavar="FILE",
        help="options.json of the weights, if it is not next to them",
    )
    add("--overwrite", action="store_true", help="replace files of an earlier export")
    return command.parse_args(arguments)
