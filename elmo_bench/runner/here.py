"""What a run needs of this machine, as far as that shows without torch."""

from importlib.util import find_spec

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import gpus
from elmo_bench.encoders.kinds import kind_of
from elmo_bench.spec.run_setup import Setup


def check_here(setup: Setup) -> None:
    """Raise UserError for what this machine lacks, as far as that shows without
    torch."""
    if setup.device == "cuda" and not gpus():
        raise UserError("trainer=gpu: no NVIDIA GPU here. Use trainer=cpu.")
    for options in setup.encoders.values():
        kind = kind_of(options)
        if kind.package:
            _check_package(f"encoder={options['kind']}", kind.package, kind.extra)
    if "tensorboard" in str(setup.logger.get("name")):
        _check_package("logger=tensorboard", "tensorboard", "tensorboard")


def _check_package(option: str, package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise UserError(
            f"{option}: {package} is not installed. "
            f"Run pip install 'elmo-bench[{extra}]'."
        )
