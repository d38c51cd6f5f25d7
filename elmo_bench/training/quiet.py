"""Silences messages of Lightning that do not concern users."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (
    r".*does not have many workers.*",  # our batches are tensors in memory: workers would only copy them
    r".*LeafSpec.*is deprecated.*",  # Lightning 2.6 against torch 2.13
    r".*Checkpoint directory .* exists and is not empty.*",  # a resumed run
    r".*number of training batches.*smaller than the logging interval.*",
    r".*`isinstance\(treespec.*",
    r".*Starting from v1\.9\.0, `tensorboardX`.*",
    r".*litlogger.*",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the warnings above while the block runs, and Lightning's information lines from now on.

    Ctrl-C and SIGTERM, which Lightning turns into a silent exit with code 1 and 0, raise KeyboardInterrupt.
    """
    import pytorch_lightning  # noqa: F401  # sets the level of its loggers when it is imported

    for name in ("pytorch_lightning", "lightning.pytorch", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        for message in _NOISE:
            warnings.filterwarnings("ignore", message=message)
        try:
            yield
        except SystemExit as ended:
            from pytorch_lightning.utilities.exceptions import SIGTERMException

            if isinstance(ended, SIGTERMException) or isinstance(ended.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise
