import signal
import subprocess
import sys

import pytest

from elmo_bench.base.interrupts import interrupts_wait


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """A shell starts background jobs with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_takes_effect_at_the_end_of_the_block():
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_wait():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached


def test_a_command_that_is_interrupted_ends_in_one_line():
    """Ctrl-C while `score` waits for its standard input."""
    command = [sys.executable, "-m", "elmo_bench", "score", "pos", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write("a\tX\tX\n" * 10**5)  # more than a pipe holds: it is reading when this line is done
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        said = process.stderr.read()
    assert said == "elmo-bench: interrupted. Give the same command again to go on.\n"
