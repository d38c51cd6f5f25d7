"""`elmo-bench export WEIGHTS OUT`: a biLM in the published layout."""

from pathlib import Path

from elmo_bench.cli import parser

EPILOG = """OUT gets options.json, weights.hdf5 and README.md, a card; the softmax and the vocabulary are copied if they
are next to the weights. AllenNLP loads options.json and weights.hdf5 without changes."""


def main(arguments: list[str]) -> int:
    """Export weights to a folder and print the files. Raises UserError."""
    add = (command := parser("export", EPILOG)).add_argument
    add("weights", help="mini, small, medium, original, …, a folder, a weights file, or user/repo")
    add("out", type=Path, help="the folder to write to")
    add("--options-file", metavar="FILE", help="options.json of the weights, if it is not next to them")
    add("--overwrite", action="store_true", help="replace files of an earlier export")
    given = command.parse_args(arguments)

    from elmo_bench.elmo.export import export  # imports torch; --help should not wait for it

    for file in export(given.weights, given.out, options=given.options_file, overwrite=given.overwrite):
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0
