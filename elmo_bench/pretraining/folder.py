"""What a trained biLM is on disk: options, weights, softmax, vocabulary and card."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import save

from elmo_bench.base.files import atomic_write
from elmo_bench.elmo.pretrained import checksum_of
from elmo_bench.elmo.weights import save_safetensors
from elmo_bench.pretraining.card import card, hardware
from elmo_bench.pretraining.trainer import Trained


def save_trained(
    trained: Trained,
    config: DictConfig,
    *,
    command: str,
    arguments: Sequence[str],
    perplexity: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write `options.json`, `weights.safetensors` (fp16, published names), the softmax, its vocabulary and the card.

    `command` with `arguments` made it; `perplexity` as `card` takes it. Returns the folder, which is `config.out`.
    """
    out, model, vocabulary = Path(config.out), trained.model, trained.vocabulary
    vocabulary.write(out / "vocabulary.txt")
    with atomic_write(out / "softmax.safetensors") as handle:
        handle.write(
            save({name: value.detach().half().contiguous() for name, value in model.softmax.named_parameters()})
        )
    with atomic_write(out / "options.json", "w") as handle:
        json.dump(model.bilm.options.to_json(), handle, indent=1)
    weights = out / "weights.safetensors"
    save_safetensors(model.bilm, weights, about={"steps": trained.steps, "tokens": trained.tokens})
    recipe = OmegaConf.to_container(config.recipe, resolve=True)
    assert isinstance(recipe, dict)
    optimizer = recipe.pop("optimizer")
    target = optimizer.pop("_target_").rpartition(".")[2]
    settings = {"optimizer": target, **{k: v for k, v in optimizer.items() if k != "_partial_"}, **recipe}
    about = {
        "options": model.bilm.options,
        "checksum": checksum_of(out / "options.json", weights),
        "title": out.name,
        "licence": config.licence,
        "files": trained.files,
        "tokens": trained.text.tokens,
        "sentences": trained.text.sentences,
        "words": len(vocabulary),
        "recipe": {str(name): value for name, value in settings.items() if value is not None},
        "steps": trained.steps,
        "tokens_read": trained.tokens,
        "hours": trained.seconds / 3600,
        "hardware": hardware("cuda" if config.accelerator == "gpu" else "cpu"),
        "threads": torch.get_num_threads() * config.devices,
        "torch": torch.__version__,
        "perplexity": list(perplexity),
        "command": shlex.join(["python", "-m", "elmo_bench", command, *arguments]),
    }
    with atomic_write(out / "README.md", "w") as handle:
        handle.write(card(about))
    return out
