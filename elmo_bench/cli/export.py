"""`elmo-bench export WEIGHTS OUT`: a biLM under its published names, in HDF5 or safetensors."""

import argparse
from pathlib import Path

EPILOG = """\
OUT gets options.json, weights.hdf5 (or weights.safetensors) and README.md, a card; the softmax and the vocabulary are
copied if they are next to the weights. AllenNLP loads options.json and weights.hdf5 without changes."""


def main(arguments: list[str]) -> int:
    """Export weights to a folder and print the files. Raises UserError."""
    parser = argparse.ArgumentParser(
        prog="elmo-bench export",
        description="Write the weights of a biLM to a folder, under their published names.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("weights", help="mini, small, medium, original, …, a folder, a weights file, or user/repo")
    parser.add_argument("out", type=Path, help="the folder to write to")
    parser.add_argument("--options-file", metavar="FILE", help="options.json of the weights, if it is not next to them")
    parser.add_argument("--format", choices=["hdf5", "safetensors"], default="hdf5", help="of the weights (hdf5)")
    parser.add_argument(
        "--dtype",
        choices=["float32", "float16", "int8"],
        default="float32",
        help="float32 (the default), as published; float16: half the size, but slightly less accurate in AllenNLP; "
        "int8 with a scale for each output: a quarter of the size, only with --format safetensors",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files of an earlier export")
    options = parser.parse_args(arguments)

    from elmo_bench.elmo.export import export  # imports torch; --help should not wait for it

    files = export(
        options.weights,
        options.out,
        options=options.options_file,
        kind=options.format,
        dtype=options.dtype,
        overwrite=options.overwrite,
    )
    for file in files:
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0
