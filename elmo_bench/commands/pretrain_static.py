"""`python -m elmo_bench pretrain-static corpus='shards/*.xz' out=my-vectors.safetensors`: GloVe on one's own text."""

import time
from pathlib import Path

import numpy as np
from omegaconf import DictConfig
from rich.console import Console
from rich.progress import Progress

from elmo_bench.config import compose
from elmo_bench.encoders.vector_files import write_compact, write_text
from elmo_bench.errors import UserError
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.cooccurrence import cooccurrence, vocabulary
from elmo_bench.pretraining.corpus import shard_files
from elmo_bench.pretraining.static import train_glove

TRAINING = ("dim", "x_max", "alpha", "learning_rate", "epochs", "batch", "seed")


def main(arguments: list[str]) -> int:
    """Count, train, write, and print one line with what was done; 0."""
    config = compose("pretrain-static", arguments, folder=CONF)
    files, out = _check(config)
    started = time.monotonic()
    words, vectors, figures = _train(config, files)
    if out.suffix == ".safetensors":
        # No time and no folder: the same text and settings give the same file, byte for byte.
        settings = {str(key): config[key] for key in config if key not in ("corpus", "out")}
        metadata = settings | figures | {"corpus": [file.name for file in files]}
        write_compact(out, words, vectors.astype("float16"), metadata)
    else:
        write_text(out, words, vectors)
    summary = ", ".join(f"{key} {value:,}" for key, value in figures.items())
    print(f"{out}: {summary}, epochs {config.epochs}, seconds {time.monotonic() - started:.0f}")
    return 0


def _train(config: DictConfig, files: list[Path]) -> tuple[list[str], np.ndarray, dict[str, int | float]]:
    """Words, vectors [V, D], and the figures that tell how it went."""
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(f"counting words of {len(files)} file(s)", total=None)
        words, tokens = vocabulary(files, size=config.vocab_size, min_count=config.min_count)
        progress.update(task, description=f"counting pairs of {len(words):,} words")
        counts = cooccurrence(files, words, window=config.window)
        if not counts.nnz:
            raise UserError(f"corpus={config.corpus}: no two known words share a sentence; give one sentence a line")
        progress.update(task, total=config.epochs, completed=0, description="training")
        vectors, losses = train_glove(
            counts,
            after_epoch=lambda epoch, loss: progress.update(task, completed=epoch, description=f"loss {loss:.5f}"),
            **{key: config[key] for key in TRAINING},
        )
    figures = {"tokens": tokens, "vocabulary": len(words), "cells": counts.nnz, "loss": round(losses[-1], 5)}
    return words, vectors, figures


def _check(config: DictConfig) -> tuple[list[Path], Path]:
    """The corpus files in order, and where to write; every mistake in the config ends here, before the long work."""
    for key in ("dim", "vocab_size", "min_count", "window", "epochs", "batch"):
        if not isinstance(config[key], int) or config[key] < 1:
            raise UserError(f"{key}={config[key]}: must be a whole number above 0")
    for key in ("x_max", "alpha", "learning_rate"):
        if not isinstance(config[key], int | float) or config[key] <= 0:
            raise UserError(f"{key}={config[key]}: must be a number above 0")
    if not isinstance(config.seed, int) or config.seed < 0:
        raise UserError(f"seed={config.seed}: must be a whole number, 0 or more")
    out = Path(str(config.out))
    if not out.name.endswith((".safetensors", ".txt", ".txt.gz")):
        raise UserError(f"out={out}: must end in .safetensors, .txt or .txt.gz")
    return shard_files(config.corpus), out
