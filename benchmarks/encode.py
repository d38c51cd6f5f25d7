"""Tokens per second of our encoder and of AllenNLP's, in turns, on the same weights, sentences and threads.

    make peer                                                        # once: AllenNLP in benchmarks/.peer
    python benchmarks/encode.py --shapes small,original --json encode.json
    python benchmarks/encode.py --device cuda --peer none            # without AllenNLP: checked against model.py

See benchmarks/README.md for the method and how to read the figures. It needs no Hydra.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gemm
import inputs
import numpy as np
import tables
import torch
from ours import Ours, Reference, Sentences, worst_and_rms
from peer_process import PYTHON, PeerProcess

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.environment import environment

LIMIT = 2e-5  # largest difference of a float32 layer from the peer's, relative to numbers larger than 1
COMPARED = 16  # sentences whose layers are compared


def listed(*choices: str) -> Callable[[str], list[str]]:
    """The type of an option that takes some of these names."""

    def read(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(choices):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose of: {', '.join(choices)}")
        return text.split(",")

    return read


def positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def numbers(text: str) -> list[int]:
    return [positive(number) for number in text.split(",")]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    parser.add_argument(
        "--shapes", type=listed(*inputs.SHAPES), default=["small", "original"], help=f"of: {' '.join(inputs.SHAPES)}"
    )
    parser.add_argument("--batches", type=numbers, default=[1, 32, 128], help="sentences a call of the peer: 1,32,128")
    parser.add_argument(
        "--pool",
        type=lambda text: text if text in ("own", "same") else positive(text),
        default="own",
        help="sentences a call of ours, above batch 1: own (all at once, it makes pools), same, or a number",
    )
    kinds = ["float32", "bfloat16", "int8"]
    parser.add_argument("--precision", type=listed(*kinds), default=["float32"], help=f"of ours: {' '.join(kinds)}")
    parser.add_argument("--sentences", type=Path, help="one tokenised sentence a line; .txt .gz .xz")
    parser.add_argument("--count", type=positive, default=2000, help="distinct sentences")
    parser.add_argument("--count-single", type=positive, default=60, help="distinct sentences at batch 1")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--device", default="cpu", help="of both sides: cpu or cuda")
    parser.add_argument("--peer", type=Path, default=PYTHON, help="the Python of the peer's environment, or none")
    parser.add_argument("--json", type=Path, help="write all figures here")
    return parser.parse_args()


def cut(sentences: Sentences, size: int) -> list[Sentences]:
    """By length, `size` sentences a call: little padding, which is best for either side."""
    ordered = sorted(sentences, key=len)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def calls_of_ours(sentences: Sentences, batch: int, pool: str | int) -> list[Sentences]:
    """What our side is given; at batch 1 a call is one sentence, whatever the pool."""
    if batch == 1 or pool == "same":
        return cut(sentences, batch)
    return [sentences] if isinstance(pool, str) else cut(sentences, pool)


def compare(
    sides: dict[str, Ours], peer: PeerProcess | Reference, sentences: Sentences, folder: Path
) -> dict[str, dict[str, float]]:
    """Differences from the peer's layers, by precision; exits where float32 is not the same function."""
    file = folder / "layers.npz"
    peer.ask("layers", sentences=sentences, file=str(file))
    wanted = [torch.from_numpy(array) for array in np.load(file).values()]
    print(f"the peer's layers: standard deviation {torch.cat([x.flatten() for x in wanted]).std():.2f}", end="")
    found = {}
    for precision, ours in sides.items():
        worst, rms = worst_and_rms(ours.fresh().encode(sentences), wanted)
        found[precision] = {"worst": worst, "rms": rms}
        print(f"; {precision} differs by at most {worst:.1e} (rms {rms:.1e})", end="")
    print()
    if "float32" in found and found["float32"]["worst"] > LIMIT:
        sys.exit(f"not the same function: float32 differs by more than {LIMIT}")
    return found


def measure(
    sides: dict[str, Ours], peer: PeerProcess | Reference, sentences: Sentences, batch: int, args: argparse.Namespace
) -> tuple[dict[tuple[str, str], list[float]], list[dict[str, float]]]:
    """Of every round: our seconds by (precision, cold or warm), and the peer's answer."""
    theirs, calls = cut(sentences, batch), calls_of_ours(sentences, batch, args.pool)
    seconds: dict[tuple[str, str], list[float]] = {(name, kind): [] for name in sides for kind in ("cold", "warm")}
    answers = []
    for _ in range(args.rounds):
        for precision, ours in sides.items():
            encoder = ours.fresh()
            for kind in ("cold", "warm"):
                seconds[precision, kind].append(ours.seconds(encoder, calls))
        answers.append(peer.ask("encode", batches=theirs))
    return seconds, answers


def run_shape(
    shape: str, sentences: Sentences, peer: PeerProcess | Reference, folder: Path, args: argparse.Namespace
) -> dict[str, Any]:
    found = inputs.write_weights(shape, folder)
    files = {"options": str(folder / "options.json"), "weights": str(folder / "weights.hdf5")}
    about_peer = peer.ask("load", **files, threads=args.threads, device=args.device)
    peaks = {precision: gemm.peak(precision, args.device) for precision in args.precision}
    speeds = ", ".join(f"{name} {peak / 1e9:,.0f} GFLOP/s" for name, peak in peaks.items() if peak)
    print(f"\n{shape}; GEMM peak: {speeds}")
    sides = {precision: Ours(folder, precision=precision, device=args.device) for precision in args.precision}
    results: dict[str, Any] = {"peer": about_peer, "peaks": peaks, "rows": [], "peer_shares": {}}
    results["differences"] = compare(sides, peer, sentences[:COMPARED], folder)
    for batch in args.batches:
        chosen = sentences[: args.count_single] if batch == 1 else sentences
        work = tables.Work(options=found, sentences=chosen, peaks=peaks)
        print(f"batch {batch}: {len(chosen)} sentences, {work.tokens:,} tokens", flush=True)
        seconds, answers = measure(sides, peer, chosen, batch, args)
        results["rows"] += tables.rows({"shape": shape, "batch": batch}, seconds, answers, work)
        results["peer_shares"][batch] = tables.peer_shares(answers)
    tables.show(results)
    return results


def main() -> None:
    args = options()
    torch.set_num_threads(args.threads)
    results: dict[str, Any] = {
        "environment": environment(["torch", "elmo-bench"]),
        "settings": {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()},
    }
    sentences = inputs.read_sentences(args.sentences, args.count)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
    without = str(args.peer) == "none"
    side = Reference(args.device) if without else PeerProcess(args.peer, threads=args.threads)
    with side as peer, tempfile.TemporaryDirectory() as folder:
        for shape in args.shapes:
            results[shape] = run_shape(shape, sentences, peer, Path(folder) / shape, args)
            if args.json:
                args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"encode.py: {error}", file=sys.stderr)
        sys.exit(2)
