"""What a run needs of this machine, as far as that shows without torch."""

from importlib.util import find_spec

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import gpus
from elmo_bench.spec.run_setup import Setup


def check_here(setup: Setup) -> None:
    """Raise UserError for what this machine lacks, as far as that shows without
    torch."""
    if setup.device == "cuda" and not gpus():
        raise UserError("trainer=gpu: no NVIDIA GPU here. Use trainer=cpu.")
    if any(options.get("kind") == "hf" for options in setup.encoders.values()):
        _check_package("encoder=hf", "transformers")
    if "tensorboard" in str(setup.logger.get("name")):
        _check_package("logger=tensorboard", "tensorboard")


def _check_package(option: str, package: str) -> None:
    if find_spec(package) is None:
        _, _, extra = option.partition("=")
        raise UserError(
            f"{option}: {package} is not installed. "
            f"Run pip install 'elmo-bench[{extra}]'."
        )
