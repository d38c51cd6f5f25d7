"""Config in, a folder with a trained masked language model out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig
from safetensors import safe_open
from safetensors.numpy import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.int8 import read_tensors
from elmo_bench.base.json import parse_json
from elmo_bench.base.progress import console
from elmo_bench.base.reading import reader, reading
from elmo_bench.base.threads import choose_threads
from elmo_bench.pretraining.corpus import shard_files
from elmo_bench.pretraining.masked.folder import INT8, save_card, save_model, save_tokenizer, weights_of
from elmo_bench.pretraining.masked.model import new_model
from elmo_bench.pretraining.masked.text import SPECIAL, rows_of, train_tokenizer
from elmo_bench.pretraining.masked.train import Training
from elmo_bench.pretraining.training import device_of

KINDS = ("alone", "together")  # of held-out rows
LEAST = {"vocabulary": len(SPECIAL) + 1, "width": 3}  # other numbers: 1


def pretrain_masked(config: DictConfig, arguments: Sequence[str]) -> None:
    """Split the text, train, and write the folder; resumes what `config.out` holds. Raises UserError."""
    _check(config)
    threads = choose_threads(config.threads, "pretrain-masked")
    arrays, text = _text(config, processes=threads)
    if 0 in (config.minutes, config.steps):
        return
    torch.set_num_threads(threads if config.accelerator == "cpu" else min(threads, 4))
    torch.set_float32_matmul_precision("high")
    heldout = {kind: torch.from_numpy(arrays[kind]) for kind in KINDS if kind in arrays}
    training = Training(new_model(config), torch.from_numpy(arrays["both"]), heldout, config)
    out = Path(config.out)
    training.run(lambda: save_model(training.model, out, dtype=config.dtype))
    if config.dtype == "int8":  # the card has the loss of the weights as they are stored
        training.model.load_state_dict(read_tensors(out / INT8), strict=False)
    else:
        training.model.load_state_dict({k: v.half() for k, v in weights_of(training.model).items()}, strict=False)
    losses = training.measure()
    save_card(training, text=text, heldout=losses, arguments=arguments)
    for kind, loss in losses.items():
        console.print(f"held-out loss {loss:.4f} ({kind}, stored weights)", highlight=False)


def _text(config: DictConfig, *, processes: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Rows by kind, and what is known of the text; from `text.safetensors` in `out` if it is there.

    Raises UserError if that file was made from other files or options.
    """
    out = Path(config.out)
    files = shard_files(config.corpus)
    heldout = shard_files(config.heldout) if config.heldout else []
    asked = {
        "files": [file.name for file in files],
        "heldout": [file.name for file in heldout],
        "bytes": [file.stat().st_size for file in (*files, *heldout)],
        **{key: config[key] for key in ("vocabulary", "tokenizer_lines", "width")},
    }
    path = out / "text.safetensors"
    if path.is_file():
        return read_text(path, asked)
    tokenizer = train_tokenizer(files, size=config.vocabulary, lines=config.tokenizer_lines)
    save_tokenizer(out, tokenizer, longest=config.width)
    rows = rows_of(files, tokenizer, width=config.width, processes=processes)
    arrays = dict(rows.rows)
    if heldout:
        arrays |= rows_of(heldout, tokenizer, width=config.width, kinds=KINDS, processes=processes).rows
    about = {**asked, "sentences": rows.sentences, "words": rows.words, "pieces": rows.pieces}
    with atomic_write(path) as file:
        file.write(save(arrays, metadata={"about": json.dumps(about, sort_keys=True)}))
    full = np.count_nonzero(arrays["both"]) / arrays["both"].size
    console.print(f"{rows.words:,} words, {rows.pieces:,} pieces, rows {full:.1%} full", highlight=False)
    return arrays, about


@reader
def read_text(path: Path, asked: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The rows and what is known of the text. Raises UserError, also if it was made from other files or options."""
    with (
        reading(path, "the text of a training", "Remove it and start again."),
        safe_open(path, framework="numpy") as file,
    ):
        about = parse_json(file.metadata()["about"], f"{path}: metadata")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
        about = {"bytes": asked.get("bytes"), **about}  # older texts name none
        if other := [key for key, value in asked.items() if about.get(key) != value]:
            raise UserError(f"{path}: made with other {', '.join(other)}. Remove {path.parent} or give another out=.")
        width = asked["width"]
        if not {"both"} <= arrays.keys() <= {"both", *KINDS} or any(
            rows.dtype != np.int16 or rows.shape[1:] != (width,) for rows in arrays.values()
        ):
            raise ValueError(f"not rows of {width} pieces")
        if not all(type(about[key]) is int for key in ("sentences", "words", "pieces")):
            raise ValueError("no counts")
    return arrays, about


def _check(config: DictConfig) -> None:
    """Find mistakes in the options before the long work."""
    if (config.minutes is None) == (config.steps is None):
        raise UserError("give either minutes=… or steps=….")
    if min(config.minutes or 0, config.steps or 0) < 0:
        raise UserError("minutes and steps must not be negative.")
    for key in ("vocabulary", "tokenizer_lines", "width", "hidden", "layers", "heads", "batch", "log_steps"):
        if not isinstance(config[key], int) or config[key] < (least := LEAST.get(key, 1)):
            raise UserError(f"{key}={config[key]}: give a whole number from {least}")
    if config.vocabulary > np.iinfo(np.int16).max:
        raise UserError(f"vocabulary={config.vocabulary}: pieces are stored as int16. Give at most 32767.")
    if config.hidden % config.heads:
        raise UserError(f"hidden={config.hidden}: not a multiple of heads={config.heads}. Change one of them.")
    for key, known in (
        ("dtype", ("int8", "float16")),
        ("precision", ("auto", "bf16", "float32")),
    ):
        if config[key] not in known:
            raise UserError(f"{key}={config[key]}: unknown. Choose {' or '.join(known)}.")
    device_of(config.accelerator)
