"""`elmo-bench embed sentences.txt out.h5`: the vectors of a whole file, as AllenNLP's `elmo` wrote them."""

import argparse
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.threads import choose_threads

EPILOG = """\
out.h5 (or .hdf5) gets the float32 data sets "0", "1", …, one for each line of the input, of shape (3, T, D), and
sentence_to_index. A folder (out/) gets the same arrays in shards 00000.npz, 00001.npz, … and an index.json.
A killed run resumes when the same command is given again."""


def main(arguments: list[str]) -> int:
    """Embed a file and print a summary. Returns 0, or 130 after Ctrl-C. Raises UserError."""
    options = _parse(arguments)
    try:
        print(_run(options))
    except KeyboardInterrupt:
        print("elmo-bench embed: stopped. The same command resumes after the last complete part.", file=sys.stderr)
        return 130
    return 0


def _run(options: argparse.Namespace) -> str:
    # Imported here, so that --help and wrong options do not wait for torch.
    import torch

    from elmo_bench.elmo.embed.lines import STATEFUL_BATCH, count
    from elmo_bench.elmo.embed.modes import Mode
    from elmo_bench.elmo.embed.outputs import Hdf5Output, NpzOutput

    if options.batch_size is not None and options.batch_size < 1:
        raise UserError(f"--batch-size {options.batch_size}: too small. Give 1 or more.")
    mode = Mode.mix(options.mix) if options.mix is not None else Mode(options.mode)
    weights = _weights(options)
    kind = _kind(options.out)
    output = (Hdf5Output if kind == "hdf5" else NpzOutput)(Path(options.out))
    output.check_free(overwrite=options.overwrite)
    source = Path(options.sentences)
    totals = count(source)

    from elmo_bench.elmo.embed.job import Job
    from elmo_bench.elmo.embed.parts import open_parts
    from elmo_bench.elmo.encoder import ElmoEncoder

    encoder = ElmoEncoder(
        **weights, stateful=options.stateful, device=_device(options.device), precision=options.precision
    )
    mode.check(encoder.layers)
    if encoder.device.type == "cpu":
        torch.set_num_threads(choose_threads(None, "embed"))
    batch = options.batch_size or (STATEFUL_BATCH if options.stateful else None)
    settings = {
        "output": output.name,
        "mode": str(mode),
        "weights": encoder.checksum,
        "precision": options.precision,
        "batch-size": batch,
        "stateful": options.stateful,
    }
    with open_parts(output.parts, settings, suffix=output.suffix, overwrite=options.overwrite) as parts:
        return Job(source, output, encoder, mode, batch, totals).run(parts)


def _weights(options: argparse.Namespace) -> dict[str, str]:
    """The encoder's keywords for its weights."""
    if (options.options_file is None) != (options.weight_file is None):
        raise UserError("--options-file, --weight-file: one of them is missing. Give both, or --weights.")
    if options.weight_file is None:
        return {"weights": options.weights or "mini"}
    if options.weights is not None:
        raise UserError("--weights, --weight-file: both name weights. Give one of them.")
    return {"weights": options.weight_file, "options": options.options_file}


def _kind(out: str) -> str:
    suffix = Path(out).suffix
    if suffix in (".h5", ".hdf5") and not out.endswith("/"):
        return "hdf5"
    if out.endswith("/") or not suffix or Path(out).is_dir():
        return "npz"
    raise UserError(
        f"{out}: unknown extension '{suffix}'. Name a file .h5 or .hdf5, or a folder for npz shards (out/)."
    )


def _device(name: str) -> str:
    import torch

    try:
        kind = torch.device(name).type
    except RuntimeError:
        raise UserError(f"--device {name}: no such device. Use cpu or cuda.") from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"--device {name}: no CUDA device found. Use --device cpu.")
    return name


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="elmo-bench embed",
        description="Write the ELMo vectors of a text: a tokenised sentence per line, tokens separated by white space.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sentences", help="UTF-8 text: .txt, .gz, .xz, .zst, or - for standard input")
    parser.add_argument("out", help="out.h5, or a folder (out/) for npz shards")
    what = parser.add_mutually_exclusive_group()
    for mode, text in {
        "all": "all layers, (3, T, D): the default",
        "top": "the top layer, (T, D)",
        "average": "the average of the layers, (T, D)",
    }.items():
        what.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, default="all", help=text)
    what.add_argument(
        "--mix",
        metavar="W0,W1,W2,GAMMA",
        help="a fixed mix, (T, D): gamma * sum of softmax(w) * layers; give the weights before the softmax",
    )
    parser.add_argument("--weights", metavar="NAME", help="mini (the default), small, medium, original, …, or a folder")
    parser.add_argument("--options-file", metavar="FILE", help="options.json of the weights in --weight-file")
    parser.add_argument("--weight-file", metavar="FILE", help="weights, .hdf5 or .safetensors")
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="N sentences at once, in file order (default: pools of similar lengths and about 16,000 tokens)",
    )
    parser.add_argument(
        "--stateful",
        action="store_true",
        help="start sentence i of a batch where sentence i of the last one ended, as in bilm-tf",
    )
    parser.add_argument(
        "--precision",
        default="float32",
        help="of the computation: float32 (the default), bfloat16, int8; what is written is float32",
    )
    parser.add_argument("--device", default="cpu", help="cpu (the default) or cuda")
    parser.add_argument("--overwrite", action="store_true", help="replace an output, and parts made with other options")
    # A mix may start with a minus sign, which argparse would take for an option.
    rest = iter(arguments)
    return parser.parse_args([f"--mix={next(rest, '')}" if each == "--mix" else each for each in rest])
