"""The peer's side of a benchmark: reads one JSON request a line from standard input, answers with one JSON line.

    {"do": "load", "options": FILE, "weights": FILE, "threads": N, "device": "cpu"}
    {"do": "layers", "sentences": [[word, ...], ...], "file": FILE.npz}     layers of one batch, one array a sentence
    {"do": "encode", "batches": [[[word, ...], ...], ...]}                  seconds for all of them

It waits for the next request without using the processor, so that both sides can be timed in turns.
"""

import json
import os
import sys
import time
from importlib import metadata
from typing import Any

import numpy as np
import torch
from allennlp_elmo import _ElmoBiLm, batch_to_ids


class Worker:
    def load(self, options: str, weights: str, threads: int, device: str) -> dict[str, Any]:
        torch.set_num_threads(threads)
        torch.backends.cudnn.allow_tf32 = False  # on by default, for its convolutions: float32 on both sides
        self.device = torch.device(device)
        self.bilm = _ElmoBiLm(options, weights).eval().to(self.device)
        return {name: metadata.version(name) for name in ("allennlp", "torch")}

    @torch.no_grad()
    def layers(self, sentences: list[list[str]], file: str) -> dict[str, Any]:
        """Every array float32 [L, T, 2P], without the markers."""
        self.bilm._elmo_lstm.reset_states()
        activations = self.bilm(batch_to_ids(sentences).to(self.device))["activations"]
        layers = torch.stack(activations, dim=1).cpu().numpy()  # BL(T + 2)D
        np.savez(file, *(row[:, 1 : len(words) + 1] for row, words in zip(layers, sentences, strict=True)))
        return {}

    @torch.no_grad()
    def encode(self, batches: list[list[list[str]]]) -> dict[str, Any]:
        """The network's seconds; making ids is not counted."""
        seconds = 0.0
        for batch in batches:
            self.bilm._elmo_lstm.reset_states()
            ids = batch_to_ids(batch).to(self.device)
            start = self._now()
            self.bilm(ids)
            seconds += self._now() - start
        return {"seconds": seconds}

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to standard error
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(worker, request.pop("do"))(**request)), file=answers, flush=True)


if __name__ == "__main__":
    main()
