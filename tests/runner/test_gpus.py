"""One GPU for each process."""

import json
import os
import subprocess
import sys

from tests.runs import ROOT

CLAIM = """
import json, os, sys, types
from pathlib import Path
cuda = types.SimpleNamespace(is_initialized=lambda: False, device_count=lambda: int(sys.argv[2]))
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
from elmo_bench.runner import gpus
print(json.dumps([gpus.claim_gpu(Path(sys.argv[1])), os.environ.get("CUDA_VISIBLE_DEVICES")]), flush=True)
sys.stdin.read()
"""


def claims(folder, visible, count, processes):
    """What each of some processes, alive at the same time, gets."""
    environment = os.environ | ({"CUDA_VISIBLE_DEVICES": visible} if visible else {})
    command = [sys.executable, "-c", CLAIM, str(folder), str(count)]
    alive = []
    for _ in range(processes):
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        alive.append((process, json.loads(process.stdout.readline())))
    for process, _ in alive:
        process.communicate()
    return [found for _, found in alive]


def test_each_process_has_a_gpu_of_its_own_and_frees_it(tmp_path):
    assert claims(tmp_path, None, 2, 3) == [["0", "0"], ["1", "1"], [None, None]]
    assert claims(tmp_path, "4,6", 2, 2) == [["4", "4"], ["6", "6"]]
    assert claims(tmp_path, None, 1, 1) == [[None, None]]
