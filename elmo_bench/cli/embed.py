"""`elmo-bench embed sentences.txt out.h5`: vectors, as AllenNLP's `elmo` wrote them."""

import argparse
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import choose_threads
from elmo_bench.cli import parser
from elmo_bench.cli.inputs import check_file, check_output
from elmo_bench.elmo.pretrained import locate

STATEFUL_BATCH = 64  # the default of AllenNLP's command
MODES = {
    "all": "all layers, (3, T, D): the default",
    "top": "the top layer, (T, D)",
    "average": "the average of the layers, (T, D)",
}
EPILOG = """out.h5 gets the float32 data sets "0", "1", …, one for each line, and
sentence_to_index."""


def main(arguments: list[str]) -> int:
    """Embed a text and print a summary.

    Returns 0, or 130 after Ctrl-C. Raises UserError.
    """
    options = _parse(arguments)
    _check(options)
    try:
        print(_embed(options))
    except KeyboardInterrupt:
        print("elmo-bench embed: stopped, and nothing is written", file=sys.stderr)
        return 130
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("embed", EPILOG)
    add = command.add_argument
    add("sentences", help="UTF-8 text: .txt, .gz, .xz, or - for standard input")
    add("out", type=Path, help="out.h5, which appears when it is complete")
    modes = command.add_mutually_exclusive_group()
    for mode, about in MODES.items():
        modes.add_argument(
            f"--{mode}",
            dest="mode",
            action="store_const",
            const=mode,
            default="all",
            help=about,
        )
    add(
        "--weights",
        metavar="NAME",
        default="mini",
        help="mini (the default), original, …, a folder or a file",
    )
    add(
        "--options-file",
        metavar="FILE",
        help="options.json of the weights, if it is not next to them",
    )
    add(
        "--batch-size",
        type=int,
        metavar="N",
        help="sentences at once, in file order (default: about 16,000 tokens)",
    )
    add(
        "--stateful",
        action="store_true",
        help="carry the states from batch to batch, by sentence, as bilm-tf does",
    )
    add(
        "--precision",
        default="float32",
        help="of the computation: float32 (the default), bfloat16, int8, tf32",
    )
    add("--device", default="cpu", help="cpu (the default) or cuda")
    add("--overwrite", action="store_true", help="replace an output")
    return command.parse_args(arguments)


def _check(options: argparse.Namespace) -> None:
    """Raise UserError for options that need no torch to be refused."""
    out = options.out
    if options.sentences != "-":
        check_file(options.sentences)
    locate(options.weights, options.options_file)
    if options.batch_size is not None and options.batch_size < 1:
        raise UserError(
            f"--batch-size {options.batch_size}: too small. Give 1 or more."
        )
    if out.suffix not in (".h5", ".hdf5") or out.is_dir():
        raise UserError(
            f"{out}: not the name of an HDF5 file. "
            "Name a file that ends in .h5 or .hdf5."
        )
    check_output(out, overwrite=options.overwrite)


def _embed(options: argparse.Namespace) -> str:
    """Write the vectors; the summary."""
    import torch

    from elmo_bench.elmo.embed import embed
    from elmo_bench.elmo.encoder import ElmoEncoder

    encoder = ElmoEncoder(
        weights=options.weights,
        options=options.options_file,
        stateful=options.stateful,
        device=options.device,
        precision=options.precision,
    )
    if encoder.device.type == "cpu":
        torch.set_num_threads(choose_threads(None, "embed"))
    usual_batch = STATEFUL_BATCH if options.stateful else None
    return embed(
        Path(options.sentences),
        options.out,
        encoder,
        options.mode,
        batch=options.batch_size or usual_batch,
    )
