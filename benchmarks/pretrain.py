"""Training steps without an optimiser: ours, and a straightforward loop of the same shape; distance from the reference.

    python benchmarks/pretrain.py text.txt
    python benchmarks/pretrain.py text.txt --shape wide --device cuda --cells 32768 --bfloat16

All read the same batches of whole sentences in turns; figures are medians, of the processor's seconds on a CPU. On a
GPU each batch is read three times before it counts, so that its CUDA graph is there. The straightforward loop is
nn.LSTM with proj_size, which cannot clip, and the character CNN as nn.Conv1d over all tokens.
The distance is that of eight sentences' top layer from `elmo/model.py`, relative, after five calls.
"""

import argparse
import copy
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.batches import Batch, Batches
from elmo_bench.pretraining.encode import Corpus, encode
from elmo_bench.pretraining.kernels import Sampler, cross_entropy
from elmo_bench.pretraining.network import LanguageModel, features, new_language_model
from elmo_bench.spec.config import compose


class Straightforward(nn.Module):
    """What one writes down first; it shares the characters of a model."""

    def __init__(self, model: LanguageModel):
        super().__init__()
        self.characters, options = model.bilm.characters, model.bilm.options
        size, cell, layers = options.projection_dim, options.lstm_dim, range(options.layers)
        self.lstms = nn.ModuleList(nn.LSTM(size, cell, proj_size=size) for _ in layers for _direction in (0, 1))

    def forward(self, ids: Tensor, words: Tensor) -> Tensor:
        """Characters [W, C] of distinct words, rows of them [2, T, B] -> the top layer [M, P]."""
        tops = []
        for direction, rows in enumerate(words):
            x = functional.embedding(ids[rows.flatten()], self.characters.embeddings()).transpose(1, 2)
            x = torch.cat([functional.relu(layer(x).amax(dim=2)) for layer in self.characters.convolutions], dim=1)
            for highway in self.characters.highways:
                x = highway(x)
            x = self.characters.projection(x).view(*rows.shape, -1)
            for index, lstm in enumerate(self.lstms[direction::2]):
                y = lstm(x)[0]
                x = y + x if index else y
            tops.append(x.flatten(0, 1))
        return torch.cat(tops)


def seconds(step: Callable[[], Tensor], device: str) -> float:
    """Forward and backward of a loss."""

    started = (now := time.process_time if device == "cpu" else time.perf_counter)()
    step().backward()
    if device == "cuda":
        torch.cuda.synchronize()
    return now() - started


def distance(model: LanguageModel, batches: Batches, device: str, bfloat16: bool) -> float:
    """Of the forward top layer of the first eight sentences from the reference."""
    batch, reference = batches.batch(range(8)), copy.deepcopy(model.bilm).cpu()
    with torch.no_grad():
        for _ in range(5):
            x, _ = features(model, batch, bfloat16=bfloat16)
        x = x.view(2, *batch.words.shape[1:], -1)[0]  # TBP
        ids, rows = torch.from_numpy(batch.ids).long(), list(enumerate(batches.sizes[:8]))
        tops = [reference(ids[batch.words[0, :steps, row]])[0][-1].chunk(2, dim=1)[0] for row, steps in rows]  # TP
        ours = torch.cat([x[:steps, row].float().cpu() for row, steps in rows])
    return float((ours - torch.cat(tops)).norm() / torch.cat(tops).norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="one tokenised sentence a line")
    parser.add_argument("--shape", default="mini", help="of pretraining/conf/shape (default: %(default)s)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--cells", type=int, default=2560, help="targets in a step (default: %(default)s)")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--steps", type=int, default=10)
    given = parser.parse_args()
    text = encode(Corpus((given.text,)), 50_000)
    config = compose("pretrain", [f"shape={given.shape}", "corpus=_", "out=_"], folder=CONF)
    shape = BiLMOptions.from_json(config.shape, "shape")
    model = new_language_model(shape, words=len(text.vocabulary), dropout=0.0, seed=0).to(given.device)
    plain, batches = Straightforward(model).to(given.device), Batches(text, cells=given.cells)
    sampler = Sampler(len(text.vocabulary), min(2048, len(text.vocabulary)), torch.device(given.device))

    def loss(name: str, batch: Batch) -> Tensor:
        if name == "straightforward":
            arrays = batch.ids, batch.words, batch.targets
            ids, words, targets = (torch.tensor(array, device=given.device) for array in arrays)
            with torch.autocast(given.device, torch.bfloat16, enabled=given.bfloat16):
                x, targets = plain(ids, words), targets.flatten()
        else:
            x, targets = features(model, batch, bfloat16=given.bfloat16)
        chosen = None if name == "ours, full softmax" else sampler
        return cross_entropy(x, model.softmax.weight, model.softmax.bias, targets, chosen)[0]

    times: dict[str, list[float]] = {"straightforward": [], "ours": [], "ours, full softmax": []}
    for sentences in batches.plan(0)[: given.steps]:
        batch = batches.batch(sentences)
        for name, kept in times.items():
            for _ in range(3 if given.device == "cuda" else 0):
                seconds(partial(loss, name, batch), given.device)
            kept.append(seconds(partial(loss, name, batch), given.device) / batch.cells)
    for name, kept in times.items():
        ratio = statistics.median(before / mine for before, mine in zip(times["straightforward"], kept, strict=True))
        print(f"{name:<20} {1 / statistics.median(kept):>9,.0f} targets/s in each direction  {ratio:5.2f} times")
    print(f"distance from the reference {distance(model, batches, given.device, given.bfloat16):.1e}")


if __name__ == "__main__":
    main()
