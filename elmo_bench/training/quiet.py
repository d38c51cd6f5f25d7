"""Silences messages of Lightning that do not concern users."""

import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (
    # Our batches are tensors in memory: workers would only copy them.
    r".*does not have many workers.*",
    # Lightning 2.6 against torch 2.13.
    r".*LeafSpec.*is deprecated.*",
    # A resumed run.
    r".*Checkpoint directory .* exists and is not empty.*",
    # Of a resumed run, and beside another logger: only metrics.csv is made anew.
    r".*Experiment logs directory .* exists and is not empty.*",
    r".*number of training batches.*smaller than the logging interval.*",
    r".*`isinstance\(treespec.*",
    r".*Starting from v1\.9\.0, `tensorboardX`.*",
    r".*litlogger.*",
)
_LOGGERS = ("pytorch_lightning", "lightning.pytorch", "lightning_fabric")


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the warnings above while the block runs.

    Also hide Lightning's information lines from now on. Ctrl-C and SIGTERM, which
    Lightning turns into a silent exit with code 1 and 0, raise KeyboardInterrupt. The
    handler of Ctrl-C, which Lightning replaces then, is restored.
    """
    # Lightning sets the level of its loggers when it is imported.
    from elmo_bench.training import lightning  # noqa: F401

    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings(), _handler_restored():
        for message in _NOISE:
            warnings.filterwarnings("ignore", message=message)
        try:
            yield
        except SystemExit as error:
            if _is_interrupt(error):
                raise KeyboardInterrupt from None
            raise


@contextmanager
def _handler_restored() -> Iterator[None]:
    """Restore the handler of Ctrl-C at the end of the block.

    Lightning ignores Ctrl-C once it was interrupted, and the process may go on: a
    notebook calls `elmo_bench.run` again. Python allows handlers to the main thread
    alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:  # a handler that is not of Python
            signal.signal(signal.SIGINT, before)


def _is_interrupt(error: SystemExit) -> bool:
    from pytorch_lightning.utilities.exceptions import SIGTERMException

    if isinstance(error, SIGTERMException):
        return True
    return isinstance(error.__context__, KeyboardInterrupt)
