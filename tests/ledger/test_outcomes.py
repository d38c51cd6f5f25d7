"""Outcomes as they are stored: by type, by slice, with a digest, and damaged."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Copies, digest_of, joined, of_split, slices_of, types_of, write_record
from elmo_bench.ledger.outcomes import MOST_ITEMS, check_stored
from tests.ledger.records import changed

TEST = {
    "correct": np.array([1, 0, 2, 0]),
    "cluster": np.array([0, 0, 1, 1]),
    "type:B-C.x.correct": np.array([1, 0, 0, 0]),
    "type:A.correct": np.array([0, 0, 2, 0]),
    "type:A.gold": np.array([0, 300, 2, 0]),
    "type:B-C.x.gold": np.array([1, 1, 0, 0]),
}
DEV = {"correct": np.array([1]), "cluster": np.array([0])}
STORED = joined({"dev": DEV, "test": TEST})


def listed(found):
    return {name: {key: values.tolist() for key, values in own.items()} for name, own in found.items()}


def test_counts_by_type_are_summed_and_take_few_rows():
    assert types_of(STORED, "test") == {"A": {"correct": 2, "gold": 302}, "B-C.x": {"correct": 1, "gold": 2}}
    assert types_of(STORED, "dev") == {}
    assert {name: len(values) for name, values in STORED.items() if name.startswith("types.")} == {
        "types.names": len('[["A", "B-C.x"], ["correct", "gold"]]'),
        "types.rows": 4,
        "types.type": 4,
        "types.counts": 8,
    }
    assert sorted(of_split(STORED, "test")) == ["cluster", "correct"]
    assert list(of_split(STORED, "dev")) == ["correct", "cluster"]


def test_slices_of_items_are_chosen_by_their_flag():
    flags = {"unseen": np.array([0, 1, 1, 0]), "novector": np.zeros(4, bool), "is_verb": np.array([1, 1, 0, 0])}
    found = listed(slices_of(joined({"dev": DEV, "test": TEST | flags}), "test"))
    assert list(found) == ["unseen", "seen", "novector", "vector"]
    assert found["unseen"] == {
        "correct": [0, 2], "cluster": [0, 1], "unseen": [1, 1], "novector": [False, False], "is_verb": [1, 0],
    }  # fmt: skip
    assert (found["seen"]["correct"], found["novector"]["correct"]) == ([1, 0], [])
    assert found["vector"]["correct"] == [1, 0, 2, 0]


def test_slices_of_smaller_units_have_what_was_counted_or_the_rest():
    units = {"unseen.correct": np.array([1, 0, 1, 0], np.uint8), "novector.correct": np.array([0, 0, 2, 0])}
    units["vector.correct"] = np.array([1, 0, 1, 0])  # not the rest
    found = listed(slices_of(joined({"dev": DEV, "test": TEST | units}), "test"))
    clusters = [0, 0, 1, 1]
    assert found == {
        "unseen": {"correct": [1, 0, 1, 0], "cluster": clusters},
        "seen": {"correct": [0, 0, 1, 0], "cluster": clusters},
        "novector": {"correct": [0, 0, 2, 0], "cluster": clusters},
        "vector": {"correct": [1, 0, 1, 0], "cluster": clusters},
    }
    assert slices_of(STORED, "test") == {}


def test_the_digest_is_of_names_and_values_alone():
    first = digest_of({"a": np.array([1, 0], bool), "b": np.array([300])})
    assert first == digest_of({"b": np.array([300], np.uint64), "a": np.array([1, 0], np.uint8)})
    others = [{"a": np.array([1, 1]), "b": np.array([300])}, {"a": np.array([1, 0, 300])}, {"b": np.array([1, 0])}]
    assert len({first, *map(digest_of, others)}) == 4
    with pytest.raises(UserError, match="outcomes 'a' are not whole numbers from 0"):
        digest_of({"a": np.array(["text"])})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"types.rows": np.array([1, 1, 1])}, "different lengths"),
        ({"types.counts": np.arange(7)}, "counts by type are of different lengths"),
        ({"types.type": np.array([0, 1, 2, 0])}, "a type that is not one of 2"),
        ({"types.names": np.frombuffer(b'[[1, "b"], ["correct"]]', np.uint8)}, "not texts"),
        ({"types.names": np.frombuffer(b"[[], []]", np.uint8)}, "0 types of 0 counts"),
        ({"types.names": np.frombuffer(b'[["A"], []]', np.uint8)}, "1 types of 0 counts"),
        ({"types.names": np.frombuffer(json.dumps([[*map(str, range(10**6))], ["a", "b"]]).encode(), np.uint8)},
         "1,000,000 types of 2 counts"),
        ({"unseen.correct": np.arange(3)}, "different lengths"),
        ({"unseen.other": np.zeros(4, int)}, "unseen.other counts more than all"),
        ({"dev.unseen.correct": np.array([2])}, "unseen.correct counts more than all"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(change, said):
    check_stored(STORED)
    with pytest.raises(ValueError, match=said):
        check_stored(STORED | change)


@pytest.mark.parametrize(
    ("predicted", "curve", "same", "copied"),
    [
        ("aba" * 40, [50.0, 60.0, 59.0], False, "outcomes"),  # 160 wrong items
        ("aba" * 40, [60.0], False, ""),  # one epoch may be all that there is, as for word senses
        ("aba" * 40, [60.0, 60.0, 60.0], True, ""),  # nothing was learned
        ("aba" * 13 + "aab" * 27, [50.0, 60.0, 59.0], True, "outcomes and curves"),  # 52
        ("aba" * 13 + "aab" * 27, [50.0, 60.0, 59.0], False, ""),
        ("aba" * 13 + "aab" * 27, [60.0], True, ""),  # one epoch
        ("aba" * 4 + "aab" * 36, [50.0, 60.0, 59.0], True, ""),  # 16: easy
        ("aab" * 40, [50.0, 100.0, 100.0], True, ""),  # all right
        ("a" * 120, [50.0, 66.0, 65.0], True, ""),  # one answer to everything
        ("c" * 120, [0.0, 0.0, 0.0], True, ""),  # nothing right
    ],
)
def test_two_seeds_that_agree_are_a_copy_where_chance_cannot_explain_it(make_record, predicted, curve, same, copied):
    """Of 240 items on dev and test, ever fewer are wrong; the losses differ, the dev curves are the `same` or not."""
    copies, gold = Copies(), "aab" * 40
    counts = {kind: {"guessed": predicted.count(kind), "gold": gold.count(kind)} for kind in "abc"}
    for kind in "abc":
        counts[kind]["correct"] = sum(one == other == kind for one, other in zip(predicted, gold, strict=True))
    right = sum(own["correct"] for own in counts.values()) / 1.2
    scored = {"overall": {"f1": right}, "by_type": counts}
    own = {"scores": {"dev": scored, "test": scored}}
    first, second = (make_record(seed=seed, outcomes="0" * 64, **own) for seed in (0, 1))
    counts = {"data/counts/dev": 120, "data/counts/test": 120}
    first = changed(first, counts | {"curves/dev": curve})
    second = changed(second, counts | {"curves/dev": curve if same else [49.0, *curve[1:]]})
    copies.check(first)
    if copied:
        with pytest.raises(UserError, match=f"^the same {copied} as seed 0 of "):
            copies.check(second)
    else:
        copies.check(second)


def test_equal_outcomes_are_no_copy_where_nothing_is_drawn_but_an_equal_attempt_is(make_record):
    scored = {"overall": {"f1": 50.0}}
    own = {"scores": {"dev": scored, "test": scored}, "outcomes": "0" * 64}
    first, second = (
        changed(make_record(seed=seed, dev=50.0, **own), {"data/counts/dev": 200, "data/counts/test": 200})
        for seed in (0, 1)
    )
    copies = Copies(lambda record: False)
    copies.check(first)
    copies.check(second)
    with pytest.raises(UserError, match=r"^the same attempt as seed 0 of "):
        copies.check(changed(second, {"attempt": first.attempt}))
    copies = Copies()
    copies.check(first)
    with pytest.raises(UserError, match=r"^the same outcomes as seed 0 of "):
        copies.check(second)


@pytest.mark.parametrize("mentions", [300, 30])
def test_of_documents_the_mentions_are_counted(make_record, mentions):
    """Of ten documents half are wrong, which proves nothing; of so many mentions it does."""
    types = {"bcub": {"recall_num": 15, "recall_den": mentions}}
    copies, scored = Copies(), {"overall": {"f1": 50.0}, "by_type": types}
    for seed in (0, 1):
        record = make_record(seed=seed, outcomes="0" * 64, scores={"dev": scored, "test": scored})
        counts = {"data/counts/dev": 10, "data/counts/test": 10}
        record = changed(record, counts | {"curves/dev": [40.0 + seed, 50.0, 49.0]})
        if seed and mentions == 300:
            with pytest.raises(UserError, match=r"^the same outcomes as seed 0 of "):
                copies.check(record)
        else:
            copies.check(record)


def test_outcomes_of_another_run_are_not_written(store_record, make_record):
    paths = store_record()
    before = paths.record.read_bytes()
    with pytest.raises(UserError, match="its outcomes are not the ones that it was made with"):
        write_record(paths, make_record(test=1.0), {"correct": np.array([1])})
    assert paths.record.read_bytes() == before


@settings(deadline=None)
@given(st.data())
def test_the_table_of_types_is_the_dense_one_without_rows_of_zeros(data):
    items = data.draw(st.integers(1, 9))
    kinds = data.draw(st.lists(st.sampled_from("dacb"), min_size=1, unique=True))
    counts = [st.integers(0, 2)] * items
    types = {f"type:{kind}.{name}": np.array(data.draw(st.tuples(*counts))) for kind in kinds for name in ("x", "y")}
    stored = joined({"dev": {}, "test": types | {"correct": np.ones(items, int)}})
    stacked = [[types[f"type:{kind}.{name}"] for name in ("x", "y")] for kind in sorted(kinds)]
    dense = np.stack(stacked).transpose(2, 0, 1)  # items, types, counts
    present = dense.any(axis=2)
    assert stored["types.rows"].tolist() == present.sum(axis=1).tolist()
    assert stored["types.type"].tolist() == present.nonzero()[1].tolist()
    assert stored["types.counts"].tolist() == dense[present].ravel().tolist()
    check_stored({name: values for name, values in stored.items() if not name.startswith("dev.")})
    totals = zip(sorted(kinds), dense.sum(axis=0).tolist(), strict=True)
    sums = {kind: dict(zip("xy", row, strict=True)) for kind, row in totals}
    assert {kind: row for kind, row in types_of(stored, "test").items() if any(row.values())} == {
        kind: row for kind, row in sums.items() if any(row.values())
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"types.rows": [2, 0]}, "different lengths"),
        ({"types.rows": np.array([2**64 - 1, 2], np.uint64)}, "different lengths"),  # their sum overflows to 1
        ({"types.rows": [-1, 2]}, "different lengths"),
        ({"types.type": [1]}, "a type that is not one of 1"),
        ({"types.type": [-1]}, "a type that is not one of 1"),
        ({"types.counts": [1, 2]}, "different lengths"),
        ({"correct": np.zeros(MOST_ITEMS + 1, bool), "types.rows": np.zeros(MOST_ITEMS + 1, bool)}, "1,000,000 items"),
        ({"correct": [1]}, "different lengths"),
        ({"unseen.correct": [2, 0]}, "unseen.correct counts more than all items"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(change, why):
    stored = joined({"dev": {}, "test": {"correct": np.array([1, 0]), "type:A.gold": np.array([0, 3])}})
    check_stored(stored)
    with pytest.raises(ValueError, match=why):
        check_stored(stored | {name: np.asarray(values) for name, values in change.items()})
