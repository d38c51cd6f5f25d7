"""The C compiler that the program would call."""

import shutil

import pytest

from elmo_bench.nn.compiled import compiler

needs_compiler = pytest.mark.skipif(not shutil.which(compiler()[0]), reason="no C compiler")
