"""Training steps of the heads on precomputed layers, on one thread: ms, share of the matrix product's peak, speed-up.

    git worktree add ../reference COMMIT
    python benchmarks/heads.py --reference ../reference suite=open data.root=FOLDER encoder=glove
    python benchmarks/heads.py --tasks squad,coref --rounds 12 suite=open data.root=FOLDER encoder=elmo
    python benchmarks/heads.py --parts suite=open data.root=FOLDER encoder=elmo

A step reads its batch, computes the loss and the gradients, clips them and updates the weights, as training does. Two
processes, one with the code of this tree and one with the code of `--reference`, read the same batches in turn,
`--steps` a round; with one or two, a disturbance spoils few rounds. Each round gives a speed-up; the table has the
median and the range of the rounds. Times are those of the processor, so that other work on the machine changes them
less. Both sides need the same frozen parts: `suite.weights` and `suite.vectors` take files that both commits read.

`--parts` compares nothing: of this tree it prints the milliseconds of a step part by part (`head_parts.py`).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gemm
import head_parts
import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

ROOT = Path(__file__).resolve().parents[1]
COMPILED = "elmo_bench.nn.compiled"
TASKS = "squad,coref,srl,sst5,snli,ner"


class Steps:
    """A head in training, with the batches of all rounds."""

    def __init__(self, overrides: list[str], count: int):
        self.module, self.clip, self.loaders, self.stores = _built(["trainer.threads=1", "store=ram", *overrides])
        self.module.train()
        self.optimiser = self.module.configure_optimizers()
        if isinstance(self.optimiser, dict):
            self.optimiser = self.optimiser["optimizer"]
        loader = self.loaders.loader("train", seed=0)
        batches = list(loader.sampler)
        self.epoch = len(batches)  # steps
        self.dataset, self.batches = loader.dataset, batches[:count]
        self.fill(self.dataset, self.batches)
        self.next = 0

    def fill(self, dataset: Any, batches: list[list[int]]) -> None:
        """Compute the frozen layers of these batches."""
        used = [dataset.examples[number] for batch in batches for number in batch]
        for store in filter(None, self.stores):
            store.fill([text for example in used for text in example.texts])

    def read(self) -> dict[str, Any]:
        """The next batch."""
        batch = self.dataset[self.batches[self.next]]
        self.next += 1
        return batch

    def step(self) -> None:
        batch = self.read()
        self.optimiser.zero_grad()
        head: Any = self.module.head
        (head.loss(batch) + head.embedder.regularisation()).backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
        self.optimiser.step()

    def operations(self) -> int:
        """Floating-point operations of the products of one step."""
        lstm, backward = torch.ops.aten.mkldnn_rnn_layer, torch.ops.aten.mkldnn_rnn_layer_backward

        def forwards(x: torch.Size, weight: torch.Size, recurrent: torch.Size, *_: Any, **__: Any) -> int:
            return 2 * x[0] * x[1] * (weight.numel() + recurrent.numel())

        known = {lstm: forwards, backward: lambda *shapes, **__: 2 * forwards(*shapes)}
        # Loops in torch, since the counter does not see the products in C.
        in_torch = patch.dict(f"{COMPILED}.NUMBERS", clear=True) if find_spec(COMPILED) else nullcontext()
        with in_torch, FlopCounterMode(display=False, custom_mapping=known) as counter:
            self.step()
        return counter.get_total_flops()


def _built(overrides: list[str]) -> tuple[Any, float | None, Any, list[Any]]:
    """The module that trains a head, its clip, the loaders of batches, and the stores of the layers."""
    from elmo_bench.runner.prepare import prepare
    from elmo_bench.runner.train import build
    from elmo_bench.spec.config import compose
    from elmo_bench.spec.run_setup import Setup
    from elmo_bench.spec.run_spec import RunSpec

    config = compose("config", overrides)
    trained: Any = build(prepare(RunSpec.of(config), Setup.of(config)))
    stores = [*trained.stores.values()] if hasattr(trained, "stores") else [trained.store]  # of older commits
    return trained.module, config.task.training.clip, trained.loaders, stores


def work(overrides: list[str], rounds: int, steps: int) -> None:
    """Answer each line of the input with seconds a step; the first answer is the operations of a step."""
    torch.set_num_threads(1)
    training = Steps(overrides, rounds * steps)
    counted = [training.operations() for _ in training.batches]  # warms up, too
    training.next = 0
    print(json.dumps(float(np.mean(counted))), flush=True)
    for _ in sys.stdin:
        before = time.process_time()
        for _ in range(steps):
            training.step()
        print(json.dumps((time.process_time() - before) / steps), flush=True)


def compare(reference: Path, overrides: list[str], rounds: int, steps: int) -> tuple[list[float], np.ndarray]:
    """Operations a step of [reference, this tree], and seconds a step [rounds, 2]."""
    sides = [
        subprocess.Popen(
            [sys.executable, __file__, "--work", "--rounds", str(rounds), "--steps", str(steps), *overrides],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
        )
        for tree in (reference.resolve(), ROOT)
    ]

    def answer(side: subprocess.Popen) -> float:
        assert side.stdout is not None
        return json.loads(side.stdout.readline() or "null") or sys.exit(side.wait())

    operations = [answer(side) for side in sides]
    found = []
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        seconds = {}
        for place in order:
            print(file=sides[place].stdin, flush=True)
            seconds[place] = answer(sides[place])
        found.append([seconds[0], seconds[1]])
    for side in sides:
        side.communicate()
    return operations, np.array(found)


def print_parts(tasks: list[str], overrides: list[str], steps: int) -> None:
    """A table of milliseconds a step, a row a part, a column a task."""
    columns = {}
    for task in tasks:
        options = [f"task={task}", *overrides]
        columns[task] = head_parts.profile(partial(Steps, options, 2 * steps), steps)
        print(f"{task}: {steps} steps", file=sys.stderr, flush=True)
    print(f"| ms a step | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for part in (*head_parts.PARTS, head_parts.DEV):
        print(f"| {part} | {' | '.join(f'{column[part]:.1f}' for column in columns.values())} |")
    print(f"| **sum** | {' | '.join(f'**{sum(column.values()):.1f}**' for column in columns.values())} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reference", type=Path, default=ROOT, help="a checkout of the code to compare with")
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--steps", type=int, default=2, help="of each side in a round")
    parser.add_argument("--parts", action="store_true", help="where a step's time goes, in this tree")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("overrides", nargs="*", help="options of run.py")
    given = parser.parse_intermixed_args()
    if given.work:
        return work(given.overrides, given.rounds, given.steps)
    torch.set_num_threads(1)
    if given.parts:
        return print_parts(given.tasks.split(","), given.overrides, given.rounds)
    peak = gemm.peak("float32", "cpu", lambda _: time.process_time())
    assert peak is not None
    print(f"a product of [4096, 4096] reaches {peak / 1e9:.0f} GFLOP/s on one thread\n")
    print("| task | reference, ms a step | this tree, ms a step | speed-up (range) | of peak, reference | this tree |")
    print("|---|---:|---:|---:|---:|---:|")
    for task in given.tasks.split(","):
        overrides = [f"task={task}", *given.overrides]
        operations, seconds = compare(given.reference, overrides, given.rounds, given.steps)
        ratios, typical = seconds[:, 0] / seconds[:, 1], np.median(seconds, axis=0)
        share = np.array(operations) / typical / peak
        print(
            f"| {task} | {1e3 * typical[0]:.1f} | {1e3 * typical[1]:.1f} "
            f"| {np.median(ratios):.2f} ({ratios.min():.2f}-{ratios.max():.2f}) | {share[0]:.0%} | {share[1]:.0%} |",
            flush=True,
        )
    return None


if __name__ == "__main__":
    main()
