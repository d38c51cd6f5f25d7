"""`elmo-bench pretrain-static corpus='shards/*.xz' out=my-vectors.safetensors`: GloVe on your text."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import keep_inputs
from elmo_bench.base.progress import progress
from elmo_bench.base.threads import check_threads, choose_threads
from elmo_bench.encoders.vector_files import DTYPES, write_compact, write_text
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.cooccurrence import block_count, cooccurrence, vocabulary
from elmo_bench.pretraining.corpus import shard_files
from elmo_bench.pretraining.static import train_glove
from elmo_bench.spec.config import compose

ELSEWHERE = ("corpus", "heldout", "out", "threads")  # options that do not change the vectors
TRAINING = ("dim", "x_max", "alpha", "learning_rate", "epochs", "batch", "seed")


def main(arguments: list[str]) -> int:
    """Count, train, write, and print one line with what was done; 0."""
    config = compose("pretrain-static", arguments, folder=CONF)
    files, out = _check(config)
    started = time.monotonic()
    words, vectors, figures = _train(config, files)
    if out.suffix == ".safetensors":
        # No time, folder or threads: the same text and settings give the same file, byte for byte.
        settings = {str(key): config[key] for key in config if key not in ELSEWHERE}
        metadata = settings | figures | {"corpus": [file.name for file in files]}
        write_compact(out, words, vectors, metadata, dtype=config.dtype)
    else:
        write_text(out, words, vectors)
    summary = ", ".join(f"{key} {value:,}" for key, value in figures.items())
    print(f"{out}: {summary}, epochs {config.epochs}, seconds {time.monotonic() - started:.0f}")
    return 0


def _train(config: DictConfig, files: list[Path]) -> tuple[list[str], np.ndarray, dict[str, int | float]]:
    """Words, vectors [V, D], and the figures that tell how it went."""
    threads = choose_threads(config.threads, "pretrain-static")
    with progress("counting words", block_count(files)) as meter:
        words, tokens = vocabulary(
            files, size=config.vocab_size, min_count=config.min_count, processes=threads, after_block=meter.advance
        )
    with progress(f"counting pairs of {len(words):,} words", meter.steps) as meter:
        counts = cooccurrence(files, words, window=config.window, processes=threads, after_block=meter.advance)
    if not counts.nnz:
        raise UserError(f"corpus={config.corpus}: no two known words share a sentence; give one sentence a line")
    with progress(f"training on {counts.nnz:,} cells", config.epochs) as meter:
        vectors, losses = train_glove(
            counts,
            threads=threads,
            after_epoch=lambda _, loss: meter.advance(text=f"loss {loss:.5f}"),
            **{key: config[key] for key in TRAINING},
        )
    figures = {"tokens": tokens, "vocabulary": len(words), "cells": counts.nnz, "loss": round(losses[-1], 5)}
    return words, vectors, figures


def _check(config: DictConfig) -> tuple[list[Path], Path]:
    """The corpus files in order, and where to write; a mistake in the config ends here, before the long work."""
    whole = ("dim", "vocab_size", "min_count", "window", "epochs", "batch")
    check_numbers(config, whole=whole, positive=("x_max", "alpha", "learning_rate"))
    check_threads(config.threads)
    return shard_files(config.corpus), check_out(config, (".safetensors", ".txt", ".txt.gz"))


def check_numbers(config: DictConfig, *, whole: Iterable[str], positive: Iterable[str]) -> None:
    """Raise UserError if an option of a training is not a number or too small, or its dtype is unknown."""
    for key in whole:
        if not isinstance(config[key], int) or config[key] < 1:
            raise UserError(f"{key}={config[key]}: must be a whole number above 0")
    for key in positive:
        if not isinstance(config[key], int | float) or config[key] <= 0:
            raise UserError(f"{key}={config[key]}: must be a number above 0")
    if not isinstance(config.seed, int) or config.seed < 0:
        raise UserError(f"seed={config.seed}: must be a whole number, 0 or more")
    if config.dtype not in DTYPES:
        raise UserError(f"dtype={config.dtype}: unknown. Choose one of: {', '.join(DTYPES)}.")


def check_out(config: DictConfig, endings: tuple[str, ...]) -> Path:
    """`config.out`, whose folder is made.

    Raises UserError if a file with one of these endings cannot be written, or is a file of the text.
    """
    out = Path(str(config.out))
    if not out.name.endswith(endings):
        raise UserError(f"out={out}: must end in {', '.join(endings[:-1])}{' or ' * (len(endings) > 1)}{endings[-1]}")
    if out.is_dir():
        raise UserError(f"out={out}: is a folder; give a file")
    for key in ("corpus", "heldout"):
        if text := config.get(key):
            keep_inputs(out, shard_files(text))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"out={out}: its folder cannot be made ({error.strerror})") from None
    if not os.access(out.parent, os.W_OK):
        raise UserError(f"out={out}: no permission to write here")
    return out
