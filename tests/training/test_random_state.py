"""The state of the random generators in a checkpoint."""

import torch

from elmo_bench.training.callbacks import RandomState


def test_a_run_that_saw_no_gpu_resumes_on_a_machine_with_one(monkeypatch):
    killed, resumed = RandomState(), RandomState()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    killed.on_train_epoch_end(None, None)
    expected = torch.rand(3)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    resumed.load_state_dict(killed.state_dict())
    resumed.on_train_batch_start(None, None, None, 0)
    assert torch.equal(torch.rand(3), expected)
