"""`pretrain` and `finetune`: config in, a finished training out, and its folder.

The folder has a card with the command and the recipe of the weights.

`finetune` trains weights further on your text, most often the text of a task (Peters et
al. 2018, appendix A.1). Weights without a softmax (the published files) get a new one
first, trained with the encoder frozen.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import save

from elmo_bench.base.downloads import changed
from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.files import atomic_write
from elmo_bench.base.int8 import quantised
from elmo_bench.base.machine import choose_threads, processor
from elmo_bench.base.progress import console
from elmo_bench.base.unfinished import remove_unfinished
from elmo_bench.elmo.export import DTYPES, Content, model_card, write_together
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import (
    NAMES,
    SHIPPED,
    NoSoftmax,
    check_free,
    checksum_of,
    locate,
)
from elmo_bench.elmo.weights import load_bilm, write_safetensors
from elmo_bench.pretraining.checkpoints import CHECKPOINT, check_goes_on
from elmo_bench.pretraining.encode import (
    ENCODED,
    Corpus,
    Encoded,
    encode_once,
    shard_files,
)
from elmo_bench.pretraining.heldout import check_heldout, encode_heldout
from elmo_bench.pretraining.loop import Training, device_of
from elmo_bench.pretraining.network import (
    LanguageModel,
    Perplexity,
    load_language_model,
    new_language_model,
    perplexity,
)
from elmo_bench.pretraining.options import check_run
from elmo_bench.pretraining.tokenisation import TOKENIZER
from elmo_bench.pretraining.vocabulary import TargetVocabulary

FIT = {  # of a new softmax
    "cells": 2048,
    "dropout": 0.0,
    "warmup": 0,
    "schedule": "linear",
    "full_from": 1.0,
}
FIT_OPTIMIZER = {"name": "adamw", "lr": 0.01, "betas": [0.9, 0.98], "weight_decay": 0.0}
CHECKPOINTS = ("checkpoints", "softmax/checkpoints")  # folders of a training
FOLDERS = (*CHECKPOINTS, "encoded")
# Files that only a training writes. One of them is there before its other files.
BEGUN = (
    f"encoded/{ENCODED}",
    f"checkpoints/{CHECKPOINT}",
    f"softmax/checkpoints/{CHECKPOINT}",
)
PERPLEXITY = (
    "average **{average:.2f}**, forward {forward:.2f}, backward {backward:.2f}; "
    "{average_without_unknown:.2f} without `<UNK>`, which is {unknown_percent:.2f} % "
    "of {targets:,} targets"
)


def pretrain(config: DictConfig) -> tuple[Training, Encoded | None]:
    """Train a new biLM as `conf/pretrain.yaml` says; also returns the held-out text.

    Resumes from the checkpoints in `out`. Raises UserError.
    """
    check_run(config)
    out = _resumed_or_new(config)
    options = BiLMOptions.from_json(config.shape, "shape")
    folder = Path(config.encoded or out / "encoded")
    text, heldout = _texts(config, config.recipe.vocabulary, folder)
    model = new_language_model(
        options,
        words=len(text.vocabulary),
        dropout=config.recipe.dropout,
        seed=config.seed,
    )
    training = Training(model, text, config, out=out)
    training.run("pretrain")
    return training, heldout


def finetune(
    config: DictConfig,
) -> tuple[Training, Encoded | None, Perplexity | None]:
    """Train `config.weights` further on `config.corpus`.

    It uses the vocabulary of their softmax. Weights without a softmax get one first,
    for the most frequent words of the corpus. Also returns the held-out text and its
    perplexity before, or None without one. Raises UserError.
    """
    check_run(config)
    if config.fit_steps is None:
        raise UserError("fit_steps=null: give a whole number from 1")
    weights = str(config.weights)
    _check_other_folder(config, weights)
    out = _resumed_or_new(config)
    checksum = checksum_of(*locate(weights))
    for name in CHECKPOINTS:
        check_goes_on(out / name, {"weights": checksum})
    try:
        model, vocabulary = load_language_model(weights, tokenizer=config.tokenizer)
        _check_same(weights, checksum_of(*locate(weights)), checksum)
        text, heldout = _texts(config, vocabulary, out / "encoded")
    except NoSoftmax:
        text, heldout = _texts(config, config.recipe.vocabulary, out / "encoded")
        bilm, loaded = load_bilm(weights)
        _check_same(weights, loaded, checksum)
        model = fit_softmax(bilm, text, config, weights=checksum)
    before = perplexity(model, heldout, device=device_of(config)) if heldout else None
    model.requires_grad_(True)
    model.dropout = config.recipe.dropout
    training = Training(model, text, config, out=out, weights=checksum)
    training.run("finetune")
    return training, heldout, before


def _check_same(weights: str, loaded: str, checksum: str) -> None:
    """Raise UserError if the weights have another checksum after loading."""
    if loaded != checksum:
        raise changed(weights)


def _check_other_folder(config: DictConfig, weights: str) -> None:
    """Raise UserError if `out` is the folder of the weights."""
    if weights in NAMES:
        return
    folder = Path(weights).expanduser().resolve()
    if folder.is_file():
        folder = folder.parent
    if Path(config.out).resolve() == folder:
        raise UserError(
            f"out={config.out}: the folder of the weights, which stay as they are. "
            "Give another folder."
        )


def _resumed_or_new(config: DictConfig) -> Path:
    """The folder `out` of a training that goes on or begins.

    Raises UserError if it has files of something else.
    """
    out = Path(config.out)
    if _has_begun(out):
        for name in ("", *FOLDERS, "softmax"):
            remove_unfinished(out / name)
        return out
    check_free(out, ())
    for name in ("README.md", "curve.csv"):
        if (out / name).exists():
            raise UserError(
                f"out={config.out}: has a {name}, which would be replaced. Give "
                "another folder."
            )
    return out


def _has_begun(out: Path) -> bool:
    """Whether a training has written to the folder, even if it was killed there.

    Folders of these names may belong to a project of the user's.
    """
    for name in BEGUN:
        path = out / name
        complete = path.parent.glob(path.name)
        unfinished = path.parent.glob(f".{path.name}.*")
        if any(complete) or any(unfinished):
            return True
    return False


def fit_softmax(
    bilm: BiLM, text: Encoded, config: DictConfig, *, weights: str
) -> LanguageModel:
    """A language model of a biLM that has no softmax, and of a new softmax.

    The softmax is trained for `config.fit_steps` on the text. The biLM, whose checksum
    is `weights`, does not change. The training is kept in `<out>/softmax`, where it
    resumes.
    """
    words = len(text.vocabulary)
    # The log-uniform distribution, close to the frequencies of sorted words.
    frequent_first = {
        "weight": torch.zeros(words, bilm.options.projection_dim),
        "bias": torch.arange(1, words + 1).reciprocal().log1p().log(),
    }
    model = LanguageModel(bilm, words=words, tensors=frequent_first)
    recipe = {**FIT, "steps": config.fit_steps}
    fit: Any = OmegaConf.merge(config, {"recipe": recipe})
    fit.recipe.optimizer = FIT_OPTIMIZER
    console.print(
        f"these weights have no softmax: fitting one of {words:,} words, with the "
        f"encoder frozen, {config.fit_steps:,} steps of up to {FIT['cells']:,} targets "
        "in each direction",
        highlight=False,
    )
    out = Path(config.out) / "softmax"
    training = Training(model, text, fit, out=out, weights=weights)
    training.run("fit softmax")
    return model


def _texts(
    config: DictConfig, vocabulary: TargetVocabulary | int, folder: Path
) -> tuple[Encoded, Encoded | None]:
    """The corpus as numbers, kept in a folder, and the held-out text.

    Sets the threads of all that follows.
    """
    torch.set_num_threads(choose_threads(config.threads, "training"))
    corpus = Corpus(tuple(shard_files(config.corpus)), config.tokenizer)
    trained = [Path(config.out) / name for name in CHECKPOINTS]
    if not config.heldout:
        return encode_once(corpus, folder, vocabulary, trained), None
    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer)
    check_heldout(heldout, corpus)
    text = encode_once(corpus, folder, vocabulary, trained)
    return text, encode_heldout(heldout, text)


def save_trained(
    training: Training,
    *,
    command: str,
    arguments: Sequence[str],
    measured: Mapping[str, Perplexity] = MappingProxyType({}),
) -> Path:
    """Write `options.json`, the weights, the softmax, its vocabulary and the card.

    `weights.safetensors` has the published names; numbers are stored as `config.dtype`.
    `command` with `arguments` made the weights; `measured` is by the name of the text.
    Returns the folder, which is `config.out`.
    """
    config = training.config
    model = training.model.cpu()
    options = model.bilm.options
    out = Path(config.out)
    dtype = DTYPES[config.dtype]
    training.text.vocabulary.write(out / "vocabulary.txt")
    softmax = quantised(dict(model.softmax.named_parameters()), dtype)
    about = {"steps": training.step, "tokens": training.read}
    contents: dict[str, Content] = {
        "softmax.safetensors": save(softmax, metadata={TOKENIZER: config.tokenizer}),
        "options.json": json.dumps(options.to_json(), indent=1).encode(),
        "weights.safetensors": partial(
            write_safetensors, model.bilm, about=about, dtype=dtype
        ),
    }
    write_together(out, contents)
    table = rows(training)
    for name, figures in measured.items():
        table[f"perplexity, {name}"] = PERPLEXITY.format_map(figures)
    recipe = OmegaConf.to_yaml(config.recipe, resolve=True)
    card = model_card(
        options,
        checksum=checksum_of(out / "options.json", out / "weights.safetensors"),
        license=config.licence,
        rows=table,
        description=(
            f"To make them again:\n\n    {command_line(command, arguments)}\n\n"
            f"The recipe:\n\n```yaml\n{recipe}```"
        ),
        title=out.name,
    )
    with atomic_write(out / "README.md", "w") as handle:
        handle.write(f"{card}\n")
    return out


def rows(training: Training) -> dict[str, str]:
    """The rows of the card's table."""
    config = training.config
    text = training.text
    table = {}
    checksum = training.same["weights"]
    if checksum:
        licence = SHIPPED.get(checksum, {}).get("license", "unknown")
        source = f"{config.weights}; its licence: {licence}"
        table["trained further from"] = redacted(source)
    names = [file.name for file in text.files]
    files = ", ".join(names)
    if len(names) > 4:
        files = f"{len(names)} files, {names[0]} to {names[-1]}"
    table["text"] = (
        f"{files}, {len(text.tokens):,} tokens, {text.sentences:,} sentences; its "
        f"licence: {config.licence}"
    )
    table["tokenizer"] = config.tokenizer
    table["softmax"] = f"{len(text.vocabulary):,} words"
    table["read"] = (
        f"{training.step:,} steps, {training.read:,} predictions in each direction, "
        f"{training.read / text.cells:.2f} passes over the text"
    )
    if training.changes:
        table["changed"] = "; ".join(training.changes)
    gpu = config.accelerator == "gpu"
    hardware = torch.cuda.get_device_name() if gpu else processor()
    table["cost"] = (
        f"{training.seconds / 60:.1f} minutes, {hardware}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}"
    )
    return table


def command_line(command: str, arguments: Sequence[str]) -> str:
    """The command with its arguments, as a shell reads it; addresses are redacted."""
    return redacted(shlex.join(["python", "-m", "elmo_bench", command, *arguments]))
