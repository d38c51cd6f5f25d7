"""elmo-bench: what a frozen encoder is worth on six classic tasks."""

import importlib
from typing import TYPE_CHECKING, Any

from elmo_bench._version import __version__ as __version__

if TYPE_CHECKING:
    from elmo_bench.api.compare import compare
    from elmo_bench.api.runs import run, sweep
    from elmo_bench.api.trained import load
    from elmo_bench.base.errors import UserError
    from elmo_bench.elmo.allennlp import Elmo
    from elmo_bench.elmo.allennlp_embedder import ElmoEmbedder
    from elmo_bench.elmo.batches import batch_to_ids
    from elmo_bench.elmo.encoder import ElmoEncoder
    from elmo_bench.encoders.static import load_static
    from elmo_bench.nn.mix import ScalarMix
    from elmo_bench.reporting.results import results

__all__ = [
    "Elmo",
    "ElmoEmbedder",
    "ElmoEncoder",
    "ScalarMix",
    "UserError",
    "batch_to_ids",
    "compare",
    "load",
    "load_static",
    "results",
    "run",
    "sweep",
]
# Imported when first asked for, so that commands without torch start at once.
_HOMES = {
    "Elmo": "elmo.allennlp",
    "ElmoEmbedder": "elmo.allennlp_embedder",
    "ElmoEncoder": "elmo.encoder",
    "ScalarMix": "nn.mix",
    "UserError": "base.errors",
    "batch_to_ids": "elmo.batches",
    "compare": "api.compare",
    "load": "api.trained",
    "load_static": "encoders.static",
    "results": "reporting.results",
    "run": "api.runs",
    "sweep": "api.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'elmo_bench' has no attribute '{name}'")
    return getattr(importlib.import_module(f"elmo_bench.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
