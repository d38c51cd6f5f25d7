"""Tokens per second of our encoder and of AllenNLP's, in turns, on the same weights, sentences and threads.

    make peer                                                        # once: AllenNLP in benchmarks/.peer
    python benchmarks/encode.py --shapes small,original --json encode.json
    python benchmarks/encode.py --device cuda --peer none            # without AllenNLP: checked against model.py

See benchmarks/README.md for the method and how to read the figures. It needs no Hydra.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gemm
import numpy as np
import sides
import torch
from sides import Ours, PeerProcess, Reference, Sentences

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import environment

LIMIT = 2e-5  # largest difference of a float32 layer from the peer's, relative to numbers larger than 1
COMPARED = 16  # sentences whose layers are compared
HEADER = """
| shape | batch | precision | vocabulary | ours, tokens/s | peer, tokens/s | ratio (range) | of GEMM floor |
|---|---:|---|---|---:|---:|---:|---:|"""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="small,original", help=f"of: {' '.join(sides.SHAPES)}")
    parser.add_argument("--batches", default="1,32,128", help="sentences a call of the peer: 1,32,128")
    parser.add_argument("--precision", default="float32", help="of ours: float32 bfloat16 int8 tf32")
    parser.add_argument("--sentences", type=Path, help="one tokenised sentence a line; .txt .gz .xz")
    parser.add_argument("--count", type=int, default=2000, help="distinct sentences; a 32nd of them at batch 1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="of both sides: cpu or cuda")
    parser.add_argument("--peer", type=Path, default=sides.PYTHON, help="the Python of the peer's environment, or none")
    parser.add_argument("--json", type=Path, help="write all figures here")
    return parser.parse_args()


def cut(sentences: Sentences, size: int) -> list[Sentences]:
    """By length, `size` sentences a call: little padding, which is best for either side."""
    ordered = sorted(sentences, key=len)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def compare(
    ours: Mapping[str, Ours], peer: PeerProcess | Reference, sentences: Sentences, folder: Path
) -> dict[str, dict[str, float]]:
    """Differences from the peer's layers, by precision; exits where float32 is not the same function."""
    peer.ask("layers", sentences=sentences, file=str(folder / "layers.npz"))
    wanted = [torch.from_numpy(array) for array in np.load(folder / "layers.npz").values()]
    print(f"the peer's layers: standard deviation {torch.cat([x.flatten() for x in wanted]).std():.2f}", end="")
    differences = {}
    for precision, side in ours.items():
        worst, rms = sides.worst_and_rms(side.fresh([sentences]).encode(sentences), wanted)  # of replayed graphs
        differences[precision] = {"worst": worst, "rms": rms}
        print(f"; {precision} differs by at most {worst:.1e} (rms {rms:.1e})", end="")
    print()
    if "float32" in differences and differences["float32"]["worst"] > LIMIT:
        sys.exit(f"not the same function: float32 differs by more than {LIMIT}")
    return differences


def measure(
    ours: Mapping[str, Ours], peer: PeerProcess | Reference, sentences: Sentences, batch: int, rounds: int
) -> tuple[dict[tuple[str, str], list[float]], list[float]]:
    """By round: our seconds by (precision, cold or warm), and the peer's."""
    calls = cut(sentences, 1) if batch == 1 else [sentences]  # all at once: ours makes its own pools
    seconds: dict[tuple[str, str], list[float]] = {(name, kind): [] for name in ours for kind in ("cold", "warm")}
    theirs = []
    for _ in range(rounds):
        for precision, side in ours.items():
            encoder = side.fresh(calls)
            for kind in ("cold", "warm"):
                seconds[precision, kind].append(side.seconds(encoder, calls))
        theirs.append(peer.ask("encode", batches=cut(sentences, batch))["seconds"])
    return seconds, theirs


def row(ours: Sequence[float], theirs: Sequence[float], tokens: int, floor: float | None) -> dict[str, Any]:
    """Medians over the rounds; a ratio compares one round. `floor`: seconds that the products take at the peak."""
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    return {
        "tokens": tokens,
        "ours": tokens / statistics.median(ours),
        "peer": tokens / statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "floor_share": floor and floor / statistics.median(ours),
    }


def run_shape(
    shape: str, sentences: Sentences, peer: PeerProcess | Reference, folder: Path, args: argparse.Namespace
) -> dict[str, Any]:
    sizes = sides.write_weights(shape, folder)
    files = {"options": str(folder / "options.json"), "weights": str(folder / "weights.hdf5")}
    about = peer.ask("load", **files, threads=args.threads, device=args.device)
    precisions = args.precision.split(",")
    peaks = {precision: gemm.peak(precision, args.device) for precision in precisions}
    print(f"\n{shape}; GEMM peak: " + ", ".join(f"{name} {(at or 0) / 1e9:,.0f} GFLOP/s" for name, at in peaks.items()))
    ours = {precision: Ours(folder, precision=precision, device=args.device) for precision in precisions}
    rows: list[dict[str, Any]] = []
    differences = compare(ours, peer, sentences[:COMPARED], folder)
    print(HEADER)
    for batch in map(int, args.batches.split(",")):
        chosen = sentences[: max(2, len(sentences) // 32)] if batch == 1 else sentences
        seconds, theirs = measure(ours, peer, chosen, batch, args.rounds)
        steps, words = gemm.lstm_operations(sizes, chosen), gemm.character_operations(sizes, chosen)
        for (precision, kind), own in seconds.items():
            peak = peaks[precision]
            floor = (steps + words * (kind == "cold")) / peak if peak else None
            named = {"shape": shape, "batch": batch, "precision": precision, "vocabulary": kind}
            each = row(own, theirs, sum(map(len, chosen)), floor)
            rows.append(named | each)
            share = f"{each['floor_share']:.0%}" if each["floor_share"] else "-"
            spread = f"{each['ratio']:.2f} ({min(each['ratios']):.2f}-{max(each['ratios']):.2f})"
            names = " | ".join(map(str, named.values()))
            print(f"| {names} | {each['ours']:,.0f} | {each['peer']:,.0f} | {spread} | {share} |", flush=True)
    return {"peer": about, "peaks": peaks, "differences": differences, "rows": rows}


def main() -> None:
    args = options()
    torch.set_num_threads(args.threads)
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()}
    results: dict[str, Any] = {"environment": environment(["torch", "elmo-bench"]), "settings": settings}
    sentences = sides.read_sentences(args.sentences, args.count)
    without = str(args.peer) == "none"
    with (
        Reference(args.device) if without else PeerProcess(args.peer, threads=args.threads) as peer,
        tempfile.TemporaryDirectory() as folder,
    ):
        for shape in args.shapes.split(","):
            results[shape] = run_shape(shape, sentences, peer, Path(folder) / shape, args)
            if args.json:
                args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"encode.py: {error}", file=sys.stderr)
        sys.exit(2)
