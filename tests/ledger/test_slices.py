"""The slices of a run: one file next to its record."""

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_slices, write_record, write_slices
from tests.ledger.records import OUTCOMES

SLICES = {"mistyped": OUTCOMES, "unseen": {"correct": np.array([7])}, "other": OUTCOMES}


def test_they_come_back_in_order_without_unknown_names(store_record):
    paths = store_record()
    assert read_slices(paths) == {}
    write_slices(paths, SLICES)
    found = read_slices(paths)
    assert list(found) == ["unseen", "mistyped"]
    assert found["unseen"]["correct"].tolist() == [7]
    assert found["mistyped"]["guessed"].tolist() == [0, 3, 255]
    once = paths.slices.read_bytes()
    write_slices(paths, SLICES)
    assert paths.slices.read_bytes() == once


def test_a_new_record_of_the_run_removes_them(store_record, make_record):
    paths = store_record()
    write_slices(paths, SLICES)
    write_record(paths, make_record(), OUTCOMES)
    assert not paths.slices.exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"junk" * 100])
def test_damage_is_one_line(store_record, content):
    paths = store_record()
    paths.slices.write_bytes(content)
    with pytest.raises(UserError, match=r"seed0\.slices\.npz: not the slices of a run, or damaged .* Remove it"):
        read_slices(paths)


def test_arrays_of_one_slice_have_one_length_and_a_link_is_refused(store_record, tmp_path):
    paths = store_record()
    write_slices(paths, {"seen": {"correct": np.array([1]), "gold": np.array([1, 2])}})
    with pytest.raises(UserError, match="arrays of different lengths"):
        read_slices(paths)
    paths.slices.rename(tmp_path / "elsewhere.npz")
    paths.slices.symlink_to(tmp_path / "elsewhere.npz")
    with pytest.raises(UserError, match="a link"):
        read_slices(paths)
    with pytest.raises(UserError, match="a symbolic link, which the ledger does not follow"):
        write_slices(paths, SLICES)
