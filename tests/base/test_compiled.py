"""A C file compiled when it is first needed; without a compiler, its caller does without."""

import ctypes
import shutil

import pytest

from elmo_bench.base.compiled import compiled

needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "twice.c").write_text("void twice(REAL *x) { *x += *x; }\n")
    return tmp_path / "twice.c"


@needs_compiler
def test_it_computes_in_the_type_that_is_asked_for(source):
    for real, kind in (("float", ctypes.c_float), ("double", ctypes.c_double)):
        x = kind(0.1)
        compiled(source, real).twice(ctypes.byref(x))
        assert x.value == 2 * kind(0.1).value
    assert compiled(source, "float") is compiled(source, "float")


@pytest.mark.parametrize(
    ("compiler", "said"),
    [("no-such-cc -m64", "No such file or directory: 'no-such-cc'"), ("false", "returned non-zero")],
)
def test_without_a_compiler_it_is_none_and_says_so_once(source, monkeypatch, capsys, compiler, said):
    monkeypatch.setenv("CC", compiler)
    assert compiled(source, "float") is compiled(source, "float") is None
    printed = capsys.readouterr().err
    assert printed.startswith("twice.c: not compiled, so it is slower (") and printed.count(said) == 1


@needs_compiler
def test_what_the_compiler_says_is_shown(source, capsys):
    source.write_text("void twice(REAL *x) { *x += y; }\n")
    assert compiled(source, "float") is None
    assert "twice.c" in capsys.readouterr().err.partition("(")[2]
