"""Which ways to compute a run used, and only this run."""

import torch

from elmo_bench.base.progress import forget_kernels, kernels_used, used
from elmo_bench.nn.compiled import loops
from elmo_bench.nn.recurrent import GRU_IN_C


def test_two_ways_of_one_part_are_both_named_and_a_new_run_forgets_them():
    forget_kernels()
    for how in ("torch", "c", "torch"):
        used("gru", how)
    used("bilm", "packed float32")
    assert kernels_used() == {"bilm": "packed float32", "gru": "c and torch"}
    forget_kernels()
    assert kernels_used() == {}


def test_a_loop_in_c_says_so_and_so_does_what_serves_instead(tmp_path):
    forget_kernels()
    compiled = loops(GRU_IN_C, torch.zeros(1))
    assert kernels_used() == {"gru": "torch" if compiled is None else "c"}
    forget_kernels()
    assert loops(GRU_IN_C, torch.ones(8, dtype=torch.bfloat16)) is None  # no C loop has this type
    assert kernels_used() == {"gru": "torch"}
    (tmp_path / "broken.c").write_text("no C", encoding="utf-8")
    assert loops(tmp_path / "broken.c", torch.zeros(1)) is None
    assert kernels_used()["broken"] == "torch"
