"""What a trained biLM is on disk: options, weights, softmax, vocabulary and card."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.elmo.export import DTYPES
from elmo_bench.elmo.pretrained import checksum_of
from elmo_bench.elmo.weights import save_safetensors
from elmo_bench.encoders.int8 import write_int8
from elmo_bench.pretraining.card import card, command_line, hardware
from elmo_bench.pretraining.trainer import Trained

STORED = {"int8": "int8 with a scale for each output", "float16": "float16", "float32": "float32"}  # in cards


def check_dtype(dtype: str) -> None:
    """Raise UserError for an unknown `dtype=`, before the long work."""
    if dtype not in STORED:
        raise UserError(f"dtype={dtype}: unknown. Choose {', '.join(STORED)}.")


def save_trained(
    trained: Trained,
    config: DictConfig,
    *,
    command: str,
    arguments: Sequence[str],
    perplexity: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write `options.json`, `weights.safetensors` (published names), the softmax, its vocabulary and the card.

    Numbers are stored as `config.dtype`. `command` with `arguments` made the weights; `perplexity` is as `card` takes
    it. Returns the folder, which is `config.out`.
    """
    out, model, vocabulary = Path(config.out), trained.model, trained.vocabulary
    dtype = DTYPES[config.dtype]
    vocabulary.write(out / "vocabulary.txt")
    softmax = {name: value.detach() for name, value in model.softmax.named_parameters()}
    if dtype == torch.int8:
        write_int8(out / "softmax.safetensors", softmax)
    else:
        with atomic_write(out / "softmax.safetensors") as handle:
            handle.write(save({name: value.to(dtype).contiguous() for name, value in softmax.items()}))
    with atomic_write(out / "options.json", "w") as handle:
        json.dump(model.bilm.options.to_json(), handle, indent=1)
    weights = out / "weights.safetensors"
    save_safetensors(model.bilm, weights, about={"steps": trained.steps, "tokens": trained.tokens}, dtype=dtype)
    recipe: Any = OmegaConf.to_container(config.recipe, resolve=True)
    optimizer = recipe.pop("optimizer")
    settings = {"optimizer": optimizer.pop("name"), **optimizer, **recipe}
    about = {
        "options": model.bilm.options,
        "checksum": checksum_of(out / "options.json", weights),
        "title": out.name,
        "licence": config.licence,
        "files": trained.files,
        "tokens": trained.text.tokens,
        "sentences": trained.text.sentences,
        "words": len(vocabulary),
        "stored": STORED[config.dtype],
        "recipe": {str(name): value for name, value in settings.items() if value is not None},
        "steps": trained.steps,
        "tokens_read": trained.tokens,
        "hours": trained.seconds / 3600,
        "hardware": hardware("cuda" if config.accelerator == "gpu" else "cpu"),
        "threads": torch.get_num_threads() * config.devices,
        "torch": torch.__version__,
        "perplexity": list(perplexity),
        "command": command_line(command, arguments),
    }
    with atomic_write(out / "README.md", "w") as handle:
        handle.write(card(about))
    return out
