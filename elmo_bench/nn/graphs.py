"""Loops over time on a GPU: a loop's launches are a CUDA graph.

Inference of ELMo, pretraining and the heads' recurrent layers share them.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress

import torch

# Times that a loop runs before it is captured: then its kernels are compiled and memory
# for them is there.
EAGER = 2


class Graphs:
    """Loops over fixed addresses; on a GPU they become CUDA graphs.

    A loop is hundreds of small kernels, and launching them one by one takes longer than
    running them.
    """

    def __init__(self, device: torch.device):
        self.seen: Counter[Hashable] = Counter()
        self.graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self.device = device
        self.on_gpu = device.type == "cuda"
        if self.on_gpu:
            self.pool = torch.cuda.graph_pool_handle()
            self.stream = torch.cuda.Stream(device)

    def run(self, key: Hashable, loop: Callable[[], None]) -> None:
        """Run the loop of a key.

        It does the same to the same addresses whenever its key comes. On a GPU, graphs
        and Triton take the current device, so the loop's becomes current.
        """
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                self._run(key, loop)
        else:
            self._run(key, loop)

    def _run(self, key: Hashable, loop: Callable[[], None]) -> None:
        self.seen[key] += 1
        graph = self.graphs.get(key)
        if graph:
            graph.replay()
        elif not self.on_gpu or self.seen[key] <= EAGER:
            loop()
        else:
            graph = self._capture(loop)
            self.graphs[key] = graph
            graph.replay()

    def _capture(self, loop: Callable[[], None]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
            try:
                loop()
            except BaseException:
                # Else every later operation on the stream would be captured.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        current.wait_stream(self.stream)
        return graph
