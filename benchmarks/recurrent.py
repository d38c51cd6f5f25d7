"""Training steps with `BiLstm`, which turns padded texts, against torch's own bidirectional LSTM over packed ones.

    python benchmarks/recurrent.py                                      task=ner suite=mini encoder=elmo, one thread
    python benchmarks/recurrent.py task=sst5 suite=open data.root=FOLDER     any option of run.py, for both

Two heads of one task that differ in these layers alone read the same batches in turn: forward, backward, clip and
update. Figures are medians over the rounds, with their range.
"""

import sys
import time
from itertools import islice

import numpy as np
import torch
from epoch import Training
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmo_bench.nn.recurrent import BiLstm
from elmo_bench.training.quiet import quiet

ROUNDS, STEPS = 7, 40


class Packed(nn.Module):
    """What one writes down first."""

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """As `BiLstm.forward`."""
        packed = pack_padded_sequence(x, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])[0]


def repack(module: nn.Module) -> None:
    """`Packed` in place of every `BiLstm` below this module, of the same size."""
    for name, child in module.named_children():
        if isinstance(child, BiLstm):
            setattr(module, name, Packed(child.forwards.input_size, child.forwards.hidden_size))
        else:
            repack(child)


def main(overrides: list[str]) -> None:
    with quiet():
        runs = {kind: Training("elmo", overrides) for kind in ("packed", "reverse")}
        repack(runs["packed"].module)
        loader = runs["reverse"].data.train_dataloader()
        batches = list(islice(iter(loader), STEPS))
        optimizers = {}
        for kind, run in runs.items():
            run.module.train()
            optimizers[kind] = run.module.configure_optimizers()
        found: dict[str, list[float]] = {kind: [] for kind in runs}
        for _ in range(1 + ROUNDS):
            for kind, run in runs.items():
                before = time.perf_counter()
                for batch in batches:
                    optimizers[kind].zero_grad()
                    run.module.head.loss(batch).backward()
                    nn.utils.clip_grad_norm_(run.module.parameters(), run.config.task.training.clip or torch.inf)
                    optimizers[kind].step()
                found[kind].append((time.perf_counter() - before) / len(batches))
    seconds = {kind: np.array(some[1:]) for kind, some in found.items()}  # the first round warms up
    for kind, some in seconds.items():
        print(f"{kind}: {1e3 * np.median(some):.1f} ms a step")
    ratios = seconds["packed"] / seconds["reverse"]
    print(f"packed / reverse: {np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})")


if __name__ == "__main__":
    main(sys.argv[1:])
