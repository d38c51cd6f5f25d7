"""What benchmarks/house.py measures: density, circles of imports, and whether an argument holds a thing."""

import ast

import pytest

from benchmarks.house import KINDS, circles, density, imports, packed, sources
from benchmarks.walks import Walk, holds, is_record, is_sentence

CODE = '''"""A module.

Of two paragraphs."""

import os
from pathlib import (
    Path,
)

# a comment
def first(given):
    """A docstring."""
    return [x for a in given for x in a]
'''


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("['note'] * any(rows)", "sequence * condition"),
        ("(n > 1) * 's'", "sequence * condition"),
        ("f'{a}' * (not b)", "sequence * condition"),
        ("3 * (n > 1)", ""),
        ("'-' * 20", ""),
        ("1 if a else 2 if b else 3", "nested conditional"),
        ("(1 if a else 2) + (1 if b else 2)", ""),
        ("[x for a in b for x in a]", "two fors"),
        ("{x: 1 for x in b if x}", ""),
    ],
)
def test_a_packed_expression_has_its_kind(code, kind):
    kinds = [packed(node) for node in ast.walk(ast.parse(code))]
    assert [found for found in kinds if found] == [kind] * bool(kind)


@pytest.mark.parametrize(("code", "count"), [("own = 1", 1), ("def f(each, x): pass", 1), ("print(own)", 0)])
def test_a_vague_name_counts_where_it_is_bound(code, count):
    assert [packed(node) for node in ast.walk(ast.parse(code))].count("vague name") == count


def test_the_density_of_a_file(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "inner").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "inner")
    (tmp_path / "inner" / "b.py").write_text("x = 1\n" + "y = " + "1" * 120 + "\n")
    result = density(sources(tmp_path))
    assert result.files == 2
    assert result.lengths == [len("def first(given):"), len("    return [x for a in given for x in a]"), 5, 124]
    assert result.long_lines == 1
    assert {kind: result.count(kind) for kind in KINDS} == dict.fromkeys(KINDS, 0) | {"two fors": 1, "vague name": 1}
    [line] = [place for place in result.places if "two fors" in place]
    assert line.endswith("a.py:13: two fors")


def test_circles_of_imports_are_found_wherever_the_import_is(tmp_path):
    for name in ("elmo_bench", "elmo_bench/part", "tasks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "elmo_bench/part/a.py").write_text("def f():\n    from elmo_bench.part import b\n")
    (tmp_path / "elmo_bench/part/b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import elmo_bench.part.c\n"
    )
    (tmp_path / "elmo_bench/part/c.py").write_text("from elmo_bench.part.a import f\nimport torch\n")
    (tmp_path / "elmo_bench/part/d.py").write_text("from elmo_bench.part import a\n")
    names = [f"elmo_bench.part.{name}" for name in "abc"]
    assert circles(imports(tmp_path)) == [names]
    assert circles({"a": {"b"}, "b": set(), "c": {"a", "b"}}) == []


def test_a_thing_is_found_inside_an_argument_but_not_too_deep():
    assert holds(is_sentence, {"a": [("zebrafishish swims",)]})
    assert not holds(is_sentence, [[[[["zebrafishish"]]]]])
    assert holds(is_record, [{"attempt": "x", "scores": {}}])
    assert not holds(is_record, [{"scores": {}}, None, 3])


def test_a_walk_notes_the_functions_of_this_project_alone():
    code = compile("def read(text):\n    pass\nread('zebrafishish')", "<test>", "exec")
    import sys

    for module in ("elmo_bench.made_up", "json"):
        walk = Walk(is_sentence)
        before = sys.getprofile()
        sys.setprofile(walk)
        try:
            exec(code, {"__name__": module})
        finally:
            sys.setprofile(before)
        assert walk.modules == ({module: {"read"}} if module.startswith("elmo_bench") else {})
