"""The hash: canonical, stable, and deaf to what is no difference."""

import hashlib
import math
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Identity, canonical, run_hash


def test_canonical_text_by_hand():
    assert canonical({"b": [1, 0.1, 1e-05, None, True], "a": {"ü": 2.0}}) == (
        '{"a":{"\\u00fc":2},"b":[1,0.1,1e-05,null,true]}'
    )


def test_hash_is_sha256_of_the_canonical_text():
    text = '{"contents":{"data":"d"},"settings":{"rate":0.001,"task":"x"}}'
    expected = hashlib.sha256(text.encode()).hexdigest()[:12]
    assert run_hash(Identity(settings={"task": "x", "rate": 0.001}, contents={"data": "d"})) == expected


def test_order_and_the_way_a_number_is_written_do_not_matter():
    one = Identity(settings={"a": 1, "b": {"c": 0.5, "d": [2.0]}}, contents={})
    other = Identity(contents={}, settings={"b": {"d": [2], "c": 0.5}, "a": 1.0})
    assert run_hash(one) == run_hash(other)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 2), (1, True), (0, None), ("1", 1), ([1, 2], [2, 1]), (0.1, 0.1 + 2e-17)]
)
def test_different_values_give_different_hashes(one, other):
    same = one == other and type(one) is type(other)  # 0.1 + 2e-17 is the same float
    assert (
        run_hash(Identity(settings={"x": one}, contents={})) == run_hash(Identity(settings={"x": other}, contents={}))
    ) is same


@pytest.mark.parametrize("value", [math.nan, math.inf, Path("x"), (1,), {1: 2}, {"a": [math.nan]}, b"x", object()])
def test_what_json_cannot_hold_is_refused_by_name(value):
    with pytest.raises(UserError, match=r"identity\.settings\.rate"):
        run_hash(Identity(settings={"rate": value}, contents={}))


def test_only_settings_and_contents():
    with pytest.raises(UserError, match="unknown key seed"):
        run_hash({"settings": {}, "contents": {}, "seed": 1})
