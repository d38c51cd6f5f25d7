"""Which GPU a run takes: the claims are in the user's own cache."""

import os

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.runner import prepare


@pytest.fixture(autouse=True)
def two_gpus(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(prepare, "_held", None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.setenv("ELMO_BENCH_CACHE", str(tmp_path))


def test_the_claim_is_in_the_users_cache_and_a_process_claims_once(tmp_path):
    assert (prepare.claim_gpu(), os.environ["CUDA_VISIBLE_DEVICES"]) == ("3", "3")
    assert [path.name for path in tmp_path.rglob("*.lock")] == ["3.lock"]
    assert prepare.claim_gpu() is None


def test_a_folder_of_another_user_is_refused(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(UserError, match="belongs to another user"):
        prepare.claim_gpu()
