"""Training steps: ours against a straightforward loop of the same shape, and where the time goes.

    python benchmarks/pretrain.py text.txt
    python benchmarks/pretrain.py text.txt --shape small --device cuda

Every side trains a model of its own on the same windows (128 rows x 20 steps) with fused AdamW and bf16 products, in
turns; figures are medians over the rounds, ratios are taken round by round. The sides:

- ours: as `pretrain` trains; "not compiled" is the same with compile=false
- straightforward: nn.LSTM with proj_size in each direction and layer, the character CNN as nn.Conv1d over all tokens of
  both directions, the same negatives through autograd
- full softmax: ours, against all words instead of the sampled ones
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.nn.fused import fuse
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.corpus import Corpus, count_words
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.stream import Stream
from elmo_bench.pretraining.vocabulary import TargetVocabulary

ROWS, STEPS = 128, 20


class Straightforward(nn.Module):
    """What one writes down first. Without the clips, which nn.LSTM cannot have."""

    def __init__(self, model: LanguageModel, options: BiLMOptions):
        super().__init__()
        self.characters, self.softmax = model.bilm.characters, model.softmax
        size, cell = options.projection_dim, options.lstm_dim
        lstms = [nn.LSTM(size, cell, proj_size=size) for _ in range(2 * options.layers)]
        self.forwards, self.backwards = nn.ModuleList(lstms[::2]), nn.ModuleList(lstms[1::2])

    def vectors(self, ids: Tensor) -> Tensor:
        """Ids [N, C] -> [N, P], all 50 columns."""
        x = functional.embedding(ids, self.characters.embeddings()).transpose(1, 2)
        x = torch.cat([functional.relu(layer(x).amax(dim=2)) for layer in self.characters.convolutions], dim=1)
        for highway in self.characters.highways:
            x = highway(x)
        return self.characters.projection(x)

    def loss(self, ids: Tensor, words: Tensor, targets: Tensor) -> Tensor:
        """Every token through the CNN, state from zero in each window (which costs nothing)."""
        losses = []
        for d, lstms in enumerate((self.forwards, self.backwards)):
            x = self.vectors(ids[words[d].flatten()]).view(STEPS, ROWS, -1)
            for layer, lstm in enumerate(lstms):
                y = lstm(x)[0]
                x = y + x if layer else y
            losses.append(self.sampled(x.flatten(0, 1), targets[d].flatten()))
        return torch.stack(losses).mean()

    def sampled(self, x: Tensor, targets: Tensor) -> Tensor:
        negatives, draws = self.softmax.draw()
        negatives = negatives.to(x.device)
        count = torch.tensor(float(draws), device=x.device)

        def scores(ids: Tensor) -> tuple[Tensor, Tensor]:
            return self.softmax.weight[ids], self.softmax.bias[ids] - self.softmax.log_expected_count(ids, count)

        weight, shift = scores(targets)
        true = (x * weight).sum(dim=1) + shift
        weight, shift = scores(negatives)
        logits = (x @ weight.T + shift).masked_fill(targets[:, None] == negatives, -torch.inf)
        return functional.cross_entropy(torch.cat([true[:, None], logits], dim=1).float(), torch.zeros_like(targets))


class Side:
    """A model under its optimiser; `train` takes a window and returns its seconds by stage."""

    def __init__(self, name: str, options: BiLMOptions, words: int, device: str):
        torch.manual_seed(0)
        self.name, self.device = name, torch.device(device)
        self.model = LanguageModel(options, words=words, samples=2048, dropout=0.0).to(device)
        self.plain = Straightforward(self.model, options).to(device) if name == "straightforward" else None
        self.optimizer = torch.optim.AdamW((self.plain or self.model).parameters(), lr=1e-3, fused=True)
        self.stages: dict[str, list[float]] = {}

    def train(self, ids: Tensor, words: Tensor, targets: Tensor, keep: Tensor) -> float:
        fuse(self.name in ("ours", "full softmax"))
        started = last = self.now()
        for stage, work in self.pieces(ids, words, targets, keep):
            work()
            last, before = self.now(), last
            self.stages.setdefault(stage, []).append(last - before)
        return last - started

    def pieces(
        self, ids: Tensor, words: Tensor, targets: Tensor, keep: Tensor
    ) -> Iterator[tuple[str, Callable[[], object]]]:
        """(stage, work) in order; each stage of ours is differentiated on its own, so that it can be timed."""
        model, found = self.model, dict[str, Any]()
        parameters = list((self.plain or model).parameters())
        casting = torch.autocast(self.device.type, torch.bfloat16)

        def do(stage: str, work: Callable[[], object]) -> tuple[str, Callable[[], object]]:
            def run():
                with casting:
                    found[stage] = work()

            return stage, run

        def backward(stage: str, output: str, of: Sequence[Tensor], gradient: str | None):
            def work():
                value = found[output]
                start = None if gradient is None else found[gradient][0]
                found[stage] = torch.autograd.grad(value, of, start)
                for parameter, part in zip(of, found[stage], strict=True):
                    if parameter.is_leaf:
                        parameter.grad = part

            return stage, work

        if (plain := self.plain) is not None:
            yield do("forward", lambda: plain.loss(ids, words, targets))
            yield "backward", lambda: found["forward"].backward()  # noqa: PLW0108  it is not there yet
        else:
            states = zero_states(model.bilm.options, ROWS, keep)
            yield do("characters", lambda: BatchedBiLM(model.bilm).characters(ids).requires_grad_())
            vectors = found["characters"]
            yield do(
                "lstms",
                lambda: BatchedBiLM(model.bilm).contextual(vectors, words, states, [ROWS] * STEPS, keep=keep)[0][-1],
            )
            top = found["lstms"]
            if self.name == "full softmax":
                yield do("softmax", lambda: model.softmax.full(top.flatten(0, 2), targets.flatten()).mean())
            else:
                yield do("softmax", lambda: model.loss(top, targets).mean())
            lstms = [p for lstm in model.bilm.lstms for p in lstm.parameters()]
            yield backward("softmax, back", "softmax", [top, *model.softmax.parameters()], None)
            yield backward("lstms, back", "lstms", [vectors, *lstms], "softmax, back")
            characters = list(model.bilm.characters.parameters())
            yield backward("characters, back", "characters", characters, "lstms, back")
        yield "optimiser", lambda: (torch.nn.utils.clip_grad_norm_(parameters, 1.0), self.optimizer.step())

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="a few MB of sentences, one a line")
    parser.add_argument("--shape", default="mini", help="of pretraining/conf/shape (default: %(default)s)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument("--sides", nargs="+", default=["ours", "not compiled", "straightforward", "full softmax"])
    options = parser.parse_args()
    shape = BiLMOptions.from_json(dict(OmegaConf.load(CONF / "shape" / f"{options.shape}.yaml")))
    corpus = Corpus((options.text,))
    counts = count_words(corpus)
    vocabulary = TargetVocabulary.of(counts.words, options.vocabulary, sentences=counts.sentences)
    stream = Stream(corpus, vocabulary, rows=ROWS, steps=STEPS, seed=0, shared=True)
    windows = [
        [torch.as_tensor(part, device=options.device) for part in (batch.ids, batch.words, batch.targets, batch.keep)]
        for batch in islice(stream, options.rounds)
    ]
    sides = [Side(name, shape, len(vocabulary), options.device) for name in options.sides]
    for side in sides:
        for window in windows[:3]:
            side.train(*window)  # compiles, fills caches
        side.stages.clear()
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    for window in windows:
        for side in sides:
            seconds[side.name].append(side.train(*window))
    distinct = statistics.mean(len(window[0]) for window in windows)
    print(
        f"{options.shape}, {len(vocabulary):,} words, {ROWS} x {STEPS} words a step in each direction, "
        f"{distinct:,.0f} of them distinct; {torch.get_num_threads()} thread(s), {options.device}, "
        f"torch {torch.__version__}\n"
    )
    base = seconds.get("straightforward")
    for side in sides:
        rates = [ROWS * STEPS / second for second in seconds[side.name]]
        line = f"{side.name:<16} {statistics.median(rates):>9,.0f} tokens/s ({min(rates):,.0f}-{max(rates):,.0f})"
        if base:
            ratios = [slow / fast for slow, fast in zip(base, seconds[side.name], strict=True)]
            line += f"  {statistics.median(ratios):5.2f}x ({min(ratios):.2f}-{max(ratios):.2f})"
        print(line)
        total = sum(map(sum, side.stages.values()))
        print("    " + ", ".join(f"{name} {100 * sum(part) / total:.0f} %" for name, part in side.stages.items()))


if __name__ == "__main__":
    main()
