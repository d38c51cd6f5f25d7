"""A C file compiled when it is first needed; without a compiler, its caller does without."""

import errno
import os
import shutil

import pytest
import torch

from elmo_bench.nn.compiled import compiler, loops

needs_compiler = pytest.mark.skipif(not shutil.which(compiler(os.environ.get("CC", ""))[0]), reason="no C compiler")
LENGTHS = torch.tensor([2, 1])


@pytest.fixture
def source(tmp_path):
    (tmp_path / "twice.c").write_text(
        '#include "loops.h"\n'
        "int forward(long batch, long length, long hidden, int64_t *lengths, int backwards, real *x, real *none) {\n"
        "  for (long b = 0; b < batch; b++) x[b] = backwards ? -lengths[b] : tangent(x[b]);\n"
        "  return length == 7 && hidden == 5 && !none;\n"
        "}\n"
    )
    return tmp_path / "twice.c"


@needs_compiler
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_it_computes_in_the_type_of_the_array(source, kind):
    x = torch.tensor([-300.0, 0.3], dtype=kind)
    run = loops(source, x)
    assert run is not None
    expected = x.tanh()
    run("forward", (2, 7, 5), LENGTHS, False, x, None)
    torch.testing.assert_close(x, expected)
    run("forward", (2, 7, 5), LENGTHS, True, x, None)
    assert x.tolist() == [-2, -1]


@needs_compiler
def test_a_folder_that_cannot_be_removed_is_left(source, monkeypatch):
    """NFS keeps a file in it while the library is loaded."""

    def refuse(*_, **__):
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(os, "rmdir", refuse)
    assert loops(source, LENGTHS.float()) is not None


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        ("no-such-cc -m64", "No such file or directory: 'no-such-cc'"),
        ("false", "returned non-zero"),
        ("cc '", "No closing quotation"),
    ],
)
def test_without_a_compiler_it_is_none_and_says_so_once(source, monkeypatch, capsys, compiler, said):
    monkeypatch.setenv("CC", compiler)
    assert loops(source, LENGTHS.float()) is loops(source, LENGTHS.float()) is None
    printed = capsys.readouterr().err
    assert printed.startswith("twice.c: not compiled, so it is slower (")
    assert printed.count(said) == 1
