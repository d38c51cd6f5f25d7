"""The folder of a trained model: its files, and a card (README.md) that says how to make them again."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from omegaconf import OmegaConf
from safetensors.torch import save

from elmo_bench.base.errors import redacted
from elmo_bench.base.files import atomic_write
from elmo_bench.base.int8 import write_int8
from elmo_bench.base.machine import processor
from elmo_bench.elmo.export import ABOUT, DTYPES, model_card
from elmo_bench.elmo.pretrained import checksum_of
from elmo_bench.elmo.weights import write_safetensors
from elmo_bench.pretraining.encode import shard_files
from elmo_bench.pretraining.loop import Training
from elmo_bench.pretraining.perplexity import Perplexity

PERPLEXITY = (
    "forward {forward:.2f}, backward {backward:.2f}, average **{average:.2f}**, each sentence alone from zero state, "
    "full softmax; `<UNK>` is {unknown_percent:.2f} % of {targets:,} targets, without them "
    "{average_without_unknown:.2f}"
)


def save_trained(
    training: Training,
    *,
    command: str,
    arguments: Sequence[str],
    measured: Mapping[str, Perplexity] = MappingProxyType({}),
) -> Path:
    """Write `options.json`, `weights.safetensors` (published names), the softmax, its vocabulary and the card.

    Numbers are stored as `config.dtype`. `command` with `arguments` made the weights; `measured` is by the name of the
    text. Returns the folder, which is `config.out`.
    """
    config, model = training.config, training.model.cpu()
    out, dtype = Path(config.out), DTYPES[config.dtype]
    training.text.vocabulary.write(out / "vocabulary.txt")
    softmax = {name: value.detach() for name, value in model.softmax.named_parameters()}
    if dtype == torch.int8:
        write_int8(out / "softmax.safetensors", softmax)
    else:
        with atomic_write(out / "softmax.safetensors") as handle:
            handle.write(save({name: value.to(dtype).contiguous() for name, value in softmax.items()}))
    with atomic_write(out / "options.json", "w") as handle:
        json.dump(model.bilm.options.to_json(), handle, indent=1)
    weights = out / "weights.safetensors"
    with atomic_write(weights) as handle:
        write_safetensors(model.bilm, handle, about={"steps": training.step, "tokens": training.read}, dtype=dtype)
    licence = str(config.licence or "not stated")
    is_code = licence.islower() and " " not in licence  # of the Hub, such as cc-by-sa-3.0
    code = "unknown" if licence == "not stated" else licence if is_code else "other"
    named = {"license_name": licence} if code == "other" else {}
    text = model_card(
        model.bilm.options,
        checksum=checksum_of(out / "options.json", weights),
        license=code,
        about={**ABOUT, **named},
        rows={
            **rows(training),
            **{f"perplexity, {name}": PERPLEXITY.format_map(each) for name, each in measured.items()},
        },
        description=f"To make them again:\n\n    {command_line(command, arguments)}",
        title=out.name,
    )
    with atomic_write(out / "README.md", "w") as handle:
        handle.write(f"{text}\n")
    return out


def rows(training: Training) -> dict[str, str]:
    """The rows of the card's table."""
    config, text = training.config, training.text
    names = [file.name for file in shard_files(config.corpus)]
    files = ", ".join(names) if len(names) <= 4 else f"{len(names)} files, {names[0]} to {names[-1]}"
    recipe: Any = OmegaConf.to_container(config.recipe, resolve=True)
    optimizer = recipe.pop("optimizer")
    settings = {"optimizer": optimizer.pop("name"), **optimizer, **recipe}
    read, hours, threads = training.read, training.seconds / 3600, torch.get_num_threads()
    spent = f"{hours:.2f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"
    hardware = torch.cuda.get_device_name() if config.accelerator == "gpu" else processor()
    return {
        "text": f"{files}, {len(text.tokens):,} tokens, {text.sentences:,} sentences",
        "licence of the text": str(config.licence or "not stated"),
        "softmax": f"{len(text.vocabulary):,} words",
        "stored": config.dtype + " with a scale for each output" * (config.dtype == "int8"),
        "recipe": ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None),
        "read": f"{training.step:,} steps, {read:,} predictions in each direction, {read / text.cells:.2f} passes over "
        "the text",
        "cost": f"{spent}, {hardware}, {threads:,} threads, torch {torch.__version__}",
    }


def command_line(command: str, arguments: Sequence[str]) -> str:
    """The command with its arguments, as a shell reads it; addresses are redacted."""
    return redacted(shlex.join(["python", "-m", "elmo_bench", command, *arguments]))
