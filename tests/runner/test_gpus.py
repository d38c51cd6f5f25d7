"""One GPU for each process, by locks; a process is what forgets the lock of the one before, which stays held."""

import torch

from elmo_bench.runner import prepare


def test_each_process_has_a_gpu_of_its_own_and_frees_it(tmp_path, monkeypatch):
    def claims(visible, count, processes):
        held, names = [], []
        for _ in range(processes):
            monkeypatch.setattr(prepare, "_held", None)
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
            monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
            names.append(prepare.claim_gpu(tmp_path))
            held.append(prepare._held)
        for lock in filter(None, held):
            lock.release()
        return names

    assert claims("", 2, 3) == ["0", "1", None]
    assert claims("4,6", 2, 2) == ["4", "6"]
    assert claims("", 1, 1) == [None]
