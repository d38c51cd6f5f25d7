"""`pretrain` and `finetune`: config in, a finished training out, and its folder with a card that says how it was made.

`finetune` trains weights further on your text, most often the text of a task (Peters et al. 2018, appendix A.1).
Weights without a softmax (the published files) get a new one first, trained with the encoder frozen.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import save

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.files import atomic_write, locked, remove_unfinished
from elmo_bench.base.int8 import quantised
from elmo_bench.base.machine import choose_threads, processor
from elmo_bench.base.progress import console
from elmo_bench.elmo.export import DTYPES, Content, model_card, write_together
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import SHIPPED, NoSoftmax, check_free, checksum_of, locate
from elmo_bench.elmo.weights import load_bilm, write_safetensors
from elmo_bench.pretraining.encode import Corpus, Encoded, TargetVocabulary, encode_heldout, encode_once, shard_files
from elmo_bench.pretraining.loop import BFLOAT16, Training, device_of
from elmo_bench.pretraining.network import (
    LanguageModel,
    Perplexity,
    load_language_model,
    new_language_model,
    perplexity,
)
from elmo_bench.spec.settings import Rules, check_rules, number, text

RULES: Rules = (  # as in spec/settings.py
    (("cpu", "gpu").__contains__, "one of: cpu, gpu", ("accelerator",)),
    ((*DTYPES,).__contains__, f"one of: {', '.join(DTYPES)}", ("dtype",)),
    (("32-true", BFLOAT16).__contains__, f"one of: 32-true, {BFLOAT16}", ("recipe.precision",)),
    (("constant", "linear", "cosine").__contains__, "one of: constant, linear, cosine", ("recipe.schedule",)),
    (text, "a name, such as ./1", ("out", "encoded", "tokenizer")),
    (text, "a text", ("licence",)),
    (number(1, whole=True), "a whole number from 1",
     ("recipe.cells", "recipe.samples", "recipe.vocabulary", "recipe.steps", "fit_steps")),
    (number(0, above=True), "a number above 0",
     ("recipe.epochs", "recipe.minutes", "recipe.clip", "recipe.optimizer.lr")),
    (number(0), "a number from 0", ("recipe.warmup", "recipe.full_from", "checkpoint_minutes")),
    (number(0, 1), "a number from 0, below 1", ("recipe.dropout",)),
    (number(0, 2**32, whole=True), f"a whole number from 0 to {2**32 - 1}", ("seed",)),
)  # fmt: skip
NULLABLE = ("encoded", "recipe.steps", "recipe.epochs", "recipe.minutes", "fit_steps")
FIT = {"cells": 2048, "dropout": 0.0, "warmup": 0, "schedule": "linear", "full_from": 1.0}  # of a new softmax
FIT_OPTIMIZER = {"name": "adamw", "lr": 0.01, "betas": [0.9, 0.98], "weight_decay": 0.0}
PERPLEXITY = (
    "average **{average:.2f}**, forward {forward:.2f}, backward {backward:.2f}; {average_without_unknown:.2f} without "
    "`<UNK>`, which is {unknown_percent:.2f} % of {targets:,} targets"
)


def check_run(config: DictConfig) -> None:
    """Raises UserError for an option that no training can have, before the long work."""
    check_rules(config, RULES, NULLABLE)
    if config.recipe.steps is config.recipe.minutes is config.recipe.epochs is None:
        raise UserError("recipe.epochs=null: without recipe.steps and recipe.minutes. Give one of the three.")
    device_of(config)


def alone(config: DictConfig) -> AbstractContextManager[None]:
    """For `with`: a block in which no other process trains into the folder `out`. Raises UserError if one does."""
    out = Path(str(config.out)).absolute()
    held = UserError(f"out={config.out}: another process trains there now. Wait for its end, or give another out=.")
    return locked(out.with_name(f".{out.name}.lock"), "", held=held)


def pretrain(config: DictConfig) -> tuple[Training, Encoded | None]:
    """Train a new biLM as `conf/pretrain.yaml` says, or resume from the checkpoints in `out`; and the held-out text.

    Raises UserError.
    """
    check_run(config)
    out = _resumed_or_new(config)
    options = BiLMOptions.from_json(config.shape, "shape")
    text, heldout = _texts(config, config.recipe.vocabulary, Path(config.encoded or out / "encoded"))
    model = new_language_model(options, words=len(text.vocabulary), dropout=config.recipe.dropout, seed=config.seed)
    training = Training(model, text, config, out=out)
    training.run("pretrain")
    return training, heldout


def finetune(config: DictConfig) -> tuple[Training, Encoded | None, Perplexity | None]:
    """Train `config.weights` further on `config.corpus`, with the vocabulary of their softmax.

    Weights without a softmax get one first, for the most frequent words of the corpus. Also returns the held-out text
    and its perplexity before, or None without one.
    """
    check_run(config)
    if config.fit_steps is None:
        raise UserError("fit_steps=null: give a whole number from 1")
    weights = str(config.weights)
    given = Path(weights).expanduser().resolve()
    if Path(config.out).resolve() == (given.parent if given.is_file() else given):
        raise UserError(f"out={config.out}: the folder of the weights, which stay as they are. Give another folder.")
    out, checksum = _resumed_or_new(config), checksum_of(*locate(weights))
    try:
        model, vocabulary = load_language_model(weights)
        text, heldout = _texts(config, vocabulary, out / "encoded")
    except NoSoftmax:
        text, heldout = _texts(config, config.recipe.vocabulary, out / "encoded")
        model = fit_softmax(weights, text, config)
    before = perplexity(model, heldout, device=device_of(config)) if heldout else None
    model.requires_grad_(True).dropout = config.recipe.dropout
    training = Training(model, text, config, out=out, weights=checksum)
    training.run("finetune")
    return training, heldout, before


def _resumed_or_new(config: DictConfig) -> Path:
    """The folder `out` of a training that goes on or begins. Raises UserError if it has files of something else."""
    out = Path(config.out)
    if not any((out / name).is_dir() for name in ("checkpoints", "encoded", "softmax")):
        check_free(out, ())
        if there := [name for name in ("README.md", "curve.csv") if (out / name).exists()]:
            raise UserError(f"out={config.out}: has a {there[0]}, which would be replaced. Give another folder.")
        return out
    for folder in ("", "checkpoints", "encoded", "softmax", "softmax/checkpoints"):
        remove_unfinished(out / folder)
    return out


def fit_softmax(weights: str, text: Encoded, config: DictConfig) -> LanguageModel:
    """A language model of a biLM that has no softmax, and of one trained for `config.fit_steps` on the text.

    The biLM does not change. The training is kept in `<out>/softmax`, where it resumes.
    """
    bilm, checksum = load_bilm(weights)
    words = len(text.vocabulary)
    frequent_first = {  # the log-uniform distribution, close to the frequencies of sorted words
        "weight": torch.zeros(words, bilm.options.projection_dim),
        "bias": torch.arange(1, words + 1).reciprocal().log1p().log(),
    }
    model = LanguageModel(bilm, words=words, tensors=frequent_first)
    fit: Any = OmegaConf.merge(config, {"recipe": {**FIT, "steps": config.fit_steps}})
    fit.recipe.optimizer = FIT_OPTIMIZER
    console.print(
        f"these weights have no softmax: fitting one of {words:,} words, with the encoder frozen, "
        f"{config.fit_steps:,} steps of up to {FIT['cells']:,} targets in each direction",
        highlight=False,
    )
    Training(model, text, fit, out=Path(config.out) / "softmax", weights=checksum).run("fit softmax")
    return model


def _texts(config: DictConfig, vocabulary: TargetVocabulary | int, folder: Path) -> tuple[Encoded, Encoded | None]:
    """The corpus as numbers, kept in a folder, and the held-out text. Sets the threads of all that follows."""
    torch.set_num_threads(choose_threads(config.threads, "training"))
    corpus = Corpus(tuple(shard_files(config.corpus)), config.tokenizer)
    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer) if config.heldout else None
    text = encode_once(corpus, folder, vocabulary)
    return text, encode_heldout(heldout, text, corpus) if heldout else None


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
    stored = quantised(dict(model.softmax.named_parameters()), dtype)
    about = {"steps": training.step, "tokens": training.read}
    contents: dict[str, Content] = {
        "softmax.safetensors": save(stored, metadata={"format": "pt"}),
        "options.json": json.dumps(model.bilm.options.to_json(), indent=1).encode(),
        "weights.safetensors": lambda file: write_safetensors(model.bilm, file, about=about, dtype=dtype),
    }
    write_together(out, contents)
    recipe = OmegaConf.to_yaml(config.recipe, resolve=True)
    made = f"To make them again:\n\n    {command_line(command, arguments)}\n\nThe recipe:\n\n```yaml\n{recipe}```"
    card = model_card(
        model.bilm.options,
        checksum=checksum_of(out / "options.json", out / "weights.safetensors"),
        license=config.licence,
        rows=rows(training) | {f"perplexity, {name}": PERPLEXITY.format_map(each) for name, each in measured.items()},
        description=made,
        title=out.name,
    )
    with atomic_write(out / "README.md", "w") as handle:
        handle.write(f"{card}\n")
    return out


def rows(training: Training) -> dict[str, str]:
    """The rows of the card's table."""
    config, text = training.config, training.text
    names = [file.name for file in shard_files(config.corpus)]
    files = ", ".join(names) if len(names) <= 4 else f"{len(names)} files, {names[0]} to {names[-1]}"
    hardware = torch.cuda.get_device_name() if config.accelerator == "gpu" else processor()
    further = {}
    if checksum := training.same["weights"]:
        licence = SHIPPED.get(checksum, {}).get("license", "unknown")
        further = {"trained further from": redacted(f"{config.weights}; its licence: {licence}")}
    return {
        **further,
        "text": f"{files}, {len(text.tokens):,} tokens, {text.sentences:,} sentences; its licence: {config.licence}",
        "softmax": f"{len(text.vocabulary):,} words",
        "read": f"{training.step:,} steps, {training.read:,} predictions in each direction, "
        f"{training.read / text.cells:.2f} passes over the text",
        **({"changed": "; ".join(training.changes)} if training.changes else {}),
        "cost": f"{training.seconds / 60:.1f} minutes, {hardware}, {torch.get_num_threads()} threads, torch "
        f"{torch.__version__}",
    }


def command_line(command: str, arguments: Sequence[str]) -> str:
    """The command with its arguments, as a shell reads it; addresses are redacted."""
    return redacted(shlex.join(["python", "-m", "elmo_bench", command, *arguments]))
