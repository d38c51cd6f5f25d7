"""JSON that anybody may have written: one line if it is unsound, in bounded time and memory."""

import json
import math
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import _is_deep, _is_shallow, canonical, digest, read_json


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"a": [1, 2', "cut off in the middle"),
        (b"[NaN]", "not valid JSON"),
        (b"[1e999]", "not valid JSON"),
        (b'{"a": ["\\udc00"]}', "surrogate"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "not valid JSON"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "more than 100 levels"),
        (b"[" * 1000 + b"]" * 1000, "more than 100 levels"),
    ],
)
def test_what_is_not_is_one_line_that_begins_with_the_file(data, why, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        read_json(path)
    assert str(error.value).startswith(f"{path}: ")
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < len(str(path)) + 150


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    """A pipe, and a link if it may not be followed."""
    (tmp_path / "large").write_bytes(b" " * 101)
    (tmp_path / "x.json").write_text("1")
    (tmp_path / "link").symlink_to("x.json")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("none", "no such file"), (".", "Is a directory"), ("large", "larger than"),
                      ("link", "a symbolic link"), ("pipe", "not a regular file")):  # fmt: skip
        with pytest.raises(UserError, match=why):
            read_json(tmp_path / name, max_bytes=100, follow_links=name != "link")
    assert read_json(tmp_path / "link") == read_json(tmp_path / "x.json", follow_links=False) == 1


def test_a_hundred_levels_are_read(tmp_path):
    lists, objects = "[" * 100 + "]" * 100, '{"a":' * 100 + "1" + "}" * 100
    for text in (lists, objects, '"' + "[" * 1000 + '"', "[" + "{}," * 500 + "1]"):
        (tmp_path / "x.json").write_text(text)
        assert read_json(tmp_path / "x.json")


VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text('[]{}"\\a', max_size=3),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text('[]{}"\\a', max_size=2), inside, max_size=3),
    max_leaves=30,
)


@settings(deadline=None)
@given(VALUES, st.integers(1, 120))
def test_the_brackets_of_a_text_show_no_less_than_its_levels(value, outer):
    for _ in range(outer):
        value = [value]
    text = json.dumps(value).encode()
    assert not (_is_shallow(text) and _is_deep(value))


def test_brackets_in_strings_hide_no_level():
    deep = b"[" * 101 + b"1" + b"]" * 101
    for text in (b'"]"', b'"\\"]\\""', b'"\\\\", "]"', b'{"}": 1}', b'"[]"', b'"\\u005d"', b'""', b'"]", "["'):
        texts = b",".join([text] * 200)
        assert not _is_shallow(b"[" + texts + b"," + deep + b"," + texts + b"]")
    assert _is_shallow(b'{"a": [1, {"b": ["c"]}]}') and not _is_shallow(deep)


def test_equal_data_have_one_text():
    assert canonical({"b": [1, 0.1, 1e-05, None, True], "a": {"ü": 2.0}}) == (
        '{"a":{"\\u00fc":2},"b":[1,0.1,1e-05,null,true]}'
    )
    assert digest({"a": 1.0, "b": (2, 3)}) == digest({"b": [2, 3.0], "a": 1})
    assert len({digest(value) for value in (1, 2, True, "1", None, [1, 2], [2, 1], 0.1)}) == 8
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="JSON compliant"):
            digest(value)
