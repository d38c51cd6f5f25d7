"""Which ways to compute a run used, and only this run."""

from pathlib import Path

import torch

from elmo_bench.base.notes import forget_kernels, kernels_used, used
from elmo_bench.nn import dropout
from elmo_bench.nn.compiled import library


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
    found = library(dropout.SOURCE, torch.zeros(1))
    assert kernels_used() == {"dropout": "torch" if found is None else "c"}
    forget_kernels()
    dropout.dropout(torch.ones(8, dtype=torch.bfloat16), 0.5)  # no C loop has this type
    assert kernels_used() == {"dropout": "torch"}
    (tmp_path / "broken.c").write_text("no C", encoding="utf-8")
    assert library(Path(tmp_path / "broken.c"), torch.zeros(1)) is None
    assert kernels_used()["broken"] == "torch"
