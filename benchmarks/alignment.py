"""How sharp the soft alignment of inference is, before and after training.

    python benchmarks/alignment.py --root DATA results/runs/open/snli/elmo/HASH/seed0.json …    # with their heads

For each token of dev, the head weighs the tokens of the other sentence; the weights add up to one. The table has the
means over tokens of the largest weight, and of the weights' entropy relative to the entropy of equal weights (0: one
token has all the weight, 1: all have the same). Before training, the head has the initial weights that the run's seed
draws.
"""

import argparse
import math
import shlex
import sys
from pathlib import Path
from typing import Any

import torch

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_record
from elmo_bench.runner.head_files import read_head
from elmo_bench.runner.prepare import prepare
from elmo_bench.runner.train import Trained, build, fill
from elmo_bench.spec.config import compose
from elmo_bench.spec.describe import command_of, label_of
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec


def main() -> int:
    """Print a line for each record."""
    parser = argparse.ArgumentParser(description="Measure the alignment of inference before and after training.")
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="of task=snli, with its head")
    parser.add_argument("--root", type=Path, help="the data of the suite, where it does not ship")
    options = parser.parse_intermixed_args()
    print("| encoder | differs in | seed | largest weight, before | after | relative entropy, before | after |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for path in options.records:
        print(line(path, options.root), flush=True)
    return 0


def line(path: Path, root: Path | None) -> str:
    """The table's line for one record. Raises UserError for another task and for a head that is not there."""
    record = read_record(path)
    spec = RunSpec.of_record(record)
    if spec.task != "snli":
        raise UserError(f"{path}: a record of task={spec.task}. Give records of task=snli.")
    kept = read_head(path.with_suffix("") / "head.safetensors")
    trained = untrained(spec, record.seed, root)
    before = sharpness(trained)
    trained.module.head.load_state_dict(kept.tensors)
    after = sharpness(trained)
    numbers = [f"{one:.3f} | {other:.3f}" for one, other in zip(before, after, strict=True)]
    return f"| {spec.encoder} | {label_of(spec)} | {record.seed} | {' | '.join(numbers)} |"


def untrained(spec: RunSpec, seed: int, root: Path | None) -> Trained:
    """The head as the run's seed draws it, with the layers of dev."""
    _, _, *options = shlex.split(command_of(spec, seed))
    if root is not None:
        options.append(f"data.root={root}")
    config = compose("config", [*options, "trainer.threads=1"])
    prepared = prepare(spec, Setup.of(config))
    trained = build(prepared)
    fill(trained, prepared, ["dev"])
    return trained


@torch.no_grad()
def sharpness(trained: Trained) -> tuple[float, float]:
    """(mean largest weight, mean relative entropy) over the tokens of dev; sentences of one token are left out."""
    head: Any = trained.module.head
    head.eval()
    tokens, largest, entropy = 0, 0.0, 0.0
    for batch in trained.loaders.loader("dev"):
        text = batch["text"]
        x, pairs = head.to_align(text), len(text.mask) // 2
        other, other_mask = x.roll(pairs, dims=0), text.mask.roll(pairs, dims=0)
        scores = (x @ other.transpose(1, 2)).masked_fill(~other_mask[:, None, :], -math.inf)
        weights = torch.softmax(scores, dim=2)  # STU
        lengths = other_mask.sum(dim=1)
        counted = text.mask & (lengths > 1)[:, None]  # ST
        relative = torch.special.entr(weights).sum(dim=2) / lengths.log()[:, None]  # ST
        tokens += int(counted.sum())
        largest += float(weights.amax(dim=2)[counted].sum())
        entropy += float(relative[counted].sum())
    return largest / tokens, entropy / tokens


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"alignment.py: {error}", file=sys.stderr)
        sys.exit(2)
