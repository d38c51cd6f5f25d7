"""`recipe=gpu` on this GPU: how far its network is from the CPU reference, and how long a training step takes.

    python benchmarks/resident.py

The network has the shape of elmo-mini (`shape=wide`). Differences are relative norms over five calls of one shape, so
that the later calls replay CUDA graphs. A step has 65,536 predictions and no optimiser.
"""

import argparse
import copy
import time
from collections.abc import Callable

import torch
from torch import Tensor

from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.resident import network
from elmo_bench.pretraining.resident.cross_entropy import Sampler, cross_entropy
from elmo_bench.pretraining.resident.kernels import triton
from elmo_bench.spec.config import compose
from elmo_bench.text.chars import PAD_CHARACTER, WORD_LENGTH

WORDS = 50_003


def wide() -> BiLMOptions:
    """The shape of elmo-mini."""
    return BiLMOptions.from_json(compose("pretrain", ["shape=wide", "corpus=_", "out=_"], folder=CONF).shape)


def spellings(count: int) -> tuple[Tensor, list[tuple[int, int]]]:
    """Character ids int64 [count, 50] of random words, sorted by length, and the pieces of `network.trimmed`."""
    lengths = torch.sort(torch.randint(3, 16, (count,))).values
    ids = torch.randint(1, 257, (count, WORD_LENGTH))
    ids[torch.arange(WORD_LENGTH) >= lengths[:, None]] = PAD_CHARACTER
    return ids, network.trimmed(lengths.numpy())


def distance(ours: Tensor, reference: Tensor) -> float:
    """The norm of the difference, relative to the norm of the reference."""
    return float((ours.float().cpu() - reference).norm() / reference.norm().clamp(min=1e-9))


def differences(options: BiLMOptions) -> dict[str, tuple[float, float]]:
    """By precision: the largest distance of the top layer and of a parameter's gradient from the CPU reference."""
    cpu = LanguageModel(options, words=10, samples=5, dropout=0.0)
    gpu = copy.deepcopy(cpu).to("cuda")
    ids, pieces = spellings(600)
    words, weights = torch.randint(0, 600, (2, 6, 40)), torch.randn(2, 6, 40, options.projection_dim)
    top, _ = cpu.features(ids, words, zero_states(options, 40, torch.zeros(())), [40] * 6, None)
    (top * weights).sum().backward()
    found = {}
    for precision in ("float32", "bfloat16"):
        layer = gradient = 0.0
        for _ in range(5):
            gpu.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16"):
                ours = network.top_layer(gpu, ids.cuda().int(), pieces, words.cuda())
            (ours.float() * weights.cuda()).sum().backward()
            layer = max(layer, distance(ours.detach(), top.detach()))
            for mine, reference in zip(gpu.bilm.parameters(), cpu.bilm.parameters(), strict=True):
                assert mine.grad is not None
                assert reference.grad is not None
                gradient = max(gradient, distance(mine.grad, reference.grad))
        found[precision] = layer, gradient
    return found


def step(model: LanguageModel, sampler: Sampler | None) -> Callable[[], None]:
    """A training step without its optimiser: 32 x 1,024 predictions in each direction."""
    ids, pieces = spellings(6000)
    ids, words = ids.cuda().int(), torch.randint(0, 6000, (2, 32, 1024), device="cuda")
    targets = torch.randint(0, WORDS, (words.numel(),), device="cuda")

    def run() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            top = network.top_layer(model, ids, pieces, words)
        cross_entropy(top.flatten(0, 2), model.softmax.weight, model.softmax.bias, targets, sampler)[0].backward()

    return run


def milliseconds(run: Callable[[], None], times: int = 8) -> float:
    """Of one call, after four calls to warm up."""
    for _ in range(4):
        run()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(times):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / times * 1000


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {'yes' if triton else 'no'}")
    for precision, (layer, gradient) in differences(wide()).items():
        print(f"{precision:<10} top layer {layer:.1e}  gradients {gradient:.1e}  from the CPU reference")
    model = LanguageModel(wide(), words=WORDS, samples=10, dropout=0.0).cuda()
    for name, sampler in (("8,192 negatives", Sampler(WORDS, 8192, torch.device("cuda"))), ("full softmax", None)):
        print(f"step, {name:<16} {milliseconds(step(model, sampler)):7.2f} ms")
    print(f"memory {torch.cuda.max_memory_reserved() / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
