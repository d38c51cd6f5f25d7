"""The sides of the encoding benchmark: sentences, weights, our encoder, the reference model, AllenNLP in a process."""

import copy
import json
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gemm
import numpy as np
import random_weights
import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.export import export
from elmo_bench.elmo.frozen import WordVectors
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.weights import load_bilm
from elmo_bench.text import chars

Sentences = Sequence[Sequence[str]]
SHAPES = ["mini", *random_weights.SHAPES]
HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".peer" / "bin" / "python"
WARM_UP = ["ʘ"] * 8  # a word that no text has: caches of words stay empty but for it


def read_sentences(path: Path | None, count: int) -> list[list[str]]:
    """`count` distinct sentences, drawn with a fixed seed. Raises UserError."""
    if path is None:
        root = os.environ.get("ELMO_BENCH_DATA")
        if not root:
            raise UserError("no text to encode: give --sentences FILE, or set ELMO_BENCH_DATA (see the README)")
        path = Path(root) / "wikipedia" / "heldout.txt.xz"
    lines = dict.fromkeys(line for _, line in read_lines(path) if line.strip())
    if len(lines) < count:
        raise UserError(f"{path}: {len(lines)} distinct sentences; --count asks for {count}")
    return [line.split() for line in random.Random(0).sample(list(lines), count)]


def write_weights(shape: str, folder: Path) -> dict[str, Any]:
    """The published layout in `folder`, for both sides; its options."""
    if shape == "mini":
        export("mini", folder)
        return json.loads((folder / "options.json").read_text(encoding="utf-8"))
    options = random_weights.options(*random_weights.SHAPES[shape])
    random_weights.write(folder, options, seed=0)
    return options


def worst_and_rms(ours: Sequence[Tensor], wanted: Sequence[Tensor]) -> tuple[float, float]:
    """The largest and the root mean square difference of two lists of layers, relative to numbers larger than 1."""
    pairs = zip(ours, wanted, strict=True)
    parts = [((mine.float().cpu() - theirs).double() / theirs.double().abs().clamp(min=1)) for mine, theirs in pairs]
    differences = torch.cat([part.flatten() for part in parts])
    return float(differences.abs().max()), float(differences.square().mean().sqrt())


class Ours:
    """The encoder with one folder of weights, in one precision."""

    def __init__(self, weights: Path, *, precision: str, device: str):
        self.options: dict[str, Any] = {"weights": str(weights), "device": device}
        if precision != "float32":
            self.options["precision"] = precision
        self.device = device
        self.ready: tuple[ElmoEncoder, Sequence[Sentences]] | None = None

    def fresh(self, calls: Sequence[Sentences] = ()) -> ElmoEncoder:
        """An encoder that has seen no word yet, its weights packed, its kernels chosen and its graphs captured."""
        if self.ready and self.ready[1] is calls:
            encoder = self.ready[0]
        else:
            self.ready = None  # its memory goes first
            encoder = ElmoEncoder(**self.options)
            for rows in (128, 4, 1):
                encoder.encode([WARM_UP] * rows)
            for call in [*calls] * 3 if self.device != "cpu" else []:
                encoder.encode(call)
            self.ready = encoder, calls
        network, dim = encoder.network, encoder.dim // 2
        encoder.vectors = WordVectors(network.characters, encoder.ids, dim=dim, device=encoder.device)
        return encoder

    def seconds(self, encoder: ElmoEncoder, calls: Sequence[Sentences]) -> float:
        """The time to encode all calls; results of a call are dropped before the next one."""
        start = gemm.now(self.device)
        for call in calls:
            encoder.encode(call)
        return gemm.now(self.device) - start


class Reference:
    """Takes AllenNLP's place where it is not installed: layers of `model.py` on the CPU, time of the batched kernel."""

    def __init__(self, device: str):
        self.device = device

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        return

    @torch.no_grad()
    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """The answers of `PeerProcess.ask`."""
        if do == "load":
            self.encoder = ElmoEncoder(weights=request["weights"], options=request["options"], device=self.device)
            self.encoder.network = BatchedBiLM(copy.deepcopy(self.encoder.bilm).to(self.device))
            return {"name": "kernels/batched.py"}
        if do == "layers":
            bilm, _ = load_bilm(str(self.encoder.files[1]), str(self.encoder.files[0]))
            marked = [chars.words_ids(["<S>", *sentence, "</S>"]) for sentence in request["sentences"]]
            np.savez(request["file"], *(bilm(torch.from_numpy(ids))[0][:, 1:-1].numpy() for ids in marked))
            return {}
        start = gemm.now(self.device)
        for batch in request["batches"]:
            self.encoder.batch(batch)
        return {"seconds": gemm.now(self.device) - start}


class PeerProcess:
    """AllenNLP in an environment of its own, asked and answered in JSON lines (see `peer/worker.py`)."""

    def __init__(self, python: Path, *, threads: int):
        if not shutil.which(python):
            raise UserError(f"{python}: the peer's environment is not there; make it with: make peer")
        self.process = subprocess.Popen(
            [python, HERE / "peer" / "worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request, wait for its answer; RuntimeError where the peer ended (its traceback is on stderr)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise RuntimeError(f"the peer ended at '{do}', with code {self.process.wait()}") from None

    def __enter__(self) -> "PeerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
