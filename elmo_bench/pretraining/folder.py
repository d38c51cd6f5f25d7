"""What a trained biLM is on disk: options, weights, softmax and vocabulary."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save

from elmo_bench.encoders.weights import save_safetensors
from elmo_bench.files import atomic_write
from elmo_bench.pretraining.model import LanguageModel


def save_weights(model: LanguageModel, out: Path, *, about: dict[str, Any]) -> None:
    """`options.json`, `weights.safetensors` (fp16, published names) and the softmax beside them."""
    with atomic_write(out / "options.json", "w") as handle:
        json.dump(model.bilm.options.to_json(), handle, indent=1)
    save_safetensors(model.bilm, out / "weights.safetensors", about=about)
    with atomic_write(out / "softmax.safetensors") as handle:
        handle.write(
            save({name: value.detach().half().contiguous() for name, value in model.softmax.named_parameters()})
        )
