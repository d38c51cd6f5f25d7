"""Lightning is imported without what its metrics could use."""

import signal
import subprocess
import sys

import pytest
from lightning_utilities.core import imports

from elmo_bench.training.lightning import UNUSED, without_unused
from elmo_bench.training.quiet import quiet

CODE = """
import sys
import elmo_bench.training.quiet
with elmo_bench.training.quiet.quiet():
    import elmo_bench.runner.evaluate
print(*({"matplotlib", "scipy.signal", "transformers"} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", UNUSED)
@pytest.mark.parametrize("version", ["", ">=0.1", "==1.0"])
def test_packages_are_not_found_inside_the_block_alone(name, version):
    with without_unused():
        assert not imports.RequirementCache(f"{name}{version}")
        assert not imports.package_available(name)
        assert imports.RequirementCache("torch>=2")
        assert imports.package_available("torch")
    assert imports.RequirementCache(name)
    assert imports.package_available(name)


def test_an_error_inside_leaves_nothing_behind():
    before = imports.RequirementCache._check_available, imports.package_available
    with pytest.raises(ZeroDivisionError), without_unused():
        raise ZeroDivisionError
    assert (imports.RequirementCache._check_available, imports.package_available) == before


def test_ctrl_c_works_again_after_an_interrupted_run():
    """Lightning ignores it from its first interrupt on, and raises SystemExit."""
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(KeyboardInterrupt), quiet():
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                sys.exit(1)
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_a_run_imports_none_of_them():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
