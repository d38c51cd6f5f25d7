"""`elmo-bench embed sentences.txt out.h5`: the vectors of a text, as AllenNLP's `elmo` wrote them."""

import argparse
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import choose_threads

STATEFUL_BATCH = 64  # the default of AllenNLP's command


def main(arguments: list[str]) -> int:
    """Embed a text and print a summary. Returns 0, or 130 after Ctrl-C. Raises UserError."""
    options = _parse(arguments)
    out = Path(options.out)
    if options.batch_size is not None and options.batch_size < 1:
        raise UserError(f"--batch-size {options.batch_size}: too small. Give 1 or more.")
    if (options.options_file is None) != (options.weight_file is None):
        raise UserError("--options-file, --weight-file: one of them is missing. Give both, or --weights.")
    if options.weights is not None and options.weight_file is not None:
        raise UserError("--weights, --weight-file: both name weights. Give one of them.")
    if out.suffix not in (".h5", ".hdf5") or out.is_dir():
        raise UserError(f"{out}: not the name of an HDF5 file. Name a file that ends in .h5 or .hdf5.")
    if out.exists() and not options.overwrite:
        raise UserError(f"{out}: exists already. Give another path, or --overwrite to replace it.")

    # Imported here, so that --help and wrong options do not wait for torch.
    import torch

    from elmo_bench.elmo.embed import embed
    from elmo_bench.elmo.encoder import ElmoEncoder

    encoder = ElmoEncoder(
        weights=options.weight_file or options.weights or "mini", options=options.options_file,
        stateful=options.stateful, device=options.device, precision=options.precision,
    )  # fmt: skip
    if encoder.device.type == "cpu":
        torch.set_num_threads(choose_threads(None, "embed"))
    batch = options.batch_size or (STATEFUL_BATCH if options.stateful else None)
    try:
        print(embed(Path(options.sentences), out, encoder, options.mode, batch=batch))
    except KeyboardInterrupt:
        print("elmo-bench embed: stopped, and nothing is written", file=sys.stderr)
        return 130
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="elmo-bench embed",
        description="Write the ELMo vectors of a text: a tokenised sentence per line, tokens separated by white space.",
        epilog='out.h5 gets the float32 data sets "0", "1", …, one for each line, and sentence_to_index.',
    )
    add = parser.add_argument
    add("sentences", help="UTF-8 text: .txt, .gz, .xz, .zst, or - for standard input")
    add("out", help="out.h5, which appears when it is complete")
    what = parser.add_mutually_exclusive_group()
    for mode, text in {
        "all": "all layers, (3, T, D): the default",
        "top": "the top layer, (T, D)",
        "average": "the average of the layers, (T, D)",
    }.items():
        what.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, default="all", help=text)
    add("--weights", metavar="NAME", help="mini (the default), small, medium, original, …, or a folder")
    add("--options-file", metavar="FILE", help="options.json of the weights in --weight-file")
    add("--weight-file", metavar="FILE", help="weights, .hdf5 or .safetensors")
    text = "N sentences at once, in file order (default: about 16,000 tokens)"
    add("--batch-size", type=int, metavar="N", help=text)
    text = "start sentence i of a batch where sentence i of the last one ended, as in bilm-tf"
    add("--stateful", action="store_true", help=text)
    text = "of the computation: float32 (the default), bfloat16, int8; what is written is float32"
    add("--precision", default="float32", help=text)
    add("--device", default="cpu", help="cpu (the default) or cuda")
    add("--overwrite", action="store_true", help="replace an output")
    return parser.parse_args(arguments)
