"""Training a biLM on a corpus: config in, a folder of weights out."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.int8 import write_int8
from elmo_bench.base.progress import console
from elmo_bench.base.threads import check_threads, choose_threads
from elmo_bench.elmo.export import DTYPES
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import checksum_of
from elmo_bench.elmo.weights import save_safetensors
from elmo_bench.nn.fused import fuse
from elmo_bench.pretraining.card import STORED, card, command_line, hardware
from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.module import Checkpoints, CurveFile, Meter, Pretraining
from elmo_bench.pretraining.precision import choose_precision
from elmo_bench.pretraining.resident.encode import encode
from elmo_bench.pretraining.resident.loop import Resident
from elmo_bench.pretraining.training import check_numbers, check_shape, device_of, newest_checkpoint
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.training.callbacks import AtomicCheckpoints
from elmo_bench.training.loggers import finish, wandb


@dataclass(frozen=True)
class TextSize:
    """How long a corpus is."""

    tokens: int
    sentences: int


@dataclass(frozen=True)
class Trained:
    """The result of a training: the model, and what it read."""

    model: LanguageModel
    vocabulary: TargetVocabulary
    steps: int
    tokens: int  # words read, in each direction
    seconds: float
    files: tuple[Path, ...]  # of the text
    text: TextSize


def pretrain(config: DictConfig) -> Trained:
    """Train a new biLM as `conf/pretrain.yaml` says, or resume from the checkpoints in `out`. Raises UserError."""
    check_numbers(config)
    try:
        options = BiLMOptions.from_json(config.shape)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"shape: {str(error).rstrip('.')}. See elmo_bench/pretraining/conf/shape.") from None
    corpus = Corpus(tuple(shard_files(config.corpus)), config.tokenizer)
    if config.recipe.get("resident"):
        return _resident(options, corpus, config)
    vocabulary = _vocabulary(corpus, config.recipe.vocabulary, Path(config.out))
    torch.manual_seed(config.seed)
    model = LanguageModel(options, words=len(vocabulary), samples=config.recipe.samples, dropout=config.recipe.dropout)
    text = TextSize(vocabulary.tokens, vocabulary.sentences)
    return train(model, vocabulary, corpus, config, text=text, title="pretrain")


def train(
    model: LanguageModel,
    vocabulary: TargetVocabulary,
    corpus: Corpus,
    config: DictConfig,
    *,
    text: TextSize,
    title: str,
    weights: str | None = None,
) -> Trained:
    """Train a model by `config.recipe`, or resume from the newest good checkpoint in `<out>/checkpoints`.

    weights: the checksum of the weights that the training started from. Raises UserError if a checkpoint has another.
    """
    device = device_of(config.accelerator)
    torch.set_num_threads(check_threads(config.threads) or max(1, choose_threads(None, title) // config.devices))
    if why := fuse(config.compile):
        console.print(f"not compiled, which is slower but gives the same result: {why}", highlight=False)
    out = Path(config.out)
    resume, checkpoint = newest_checkpoint(out / "checkpoints")
    _choose_precision(config, device, checkpoint)
    cells = text.tokens + text.sentences  # a sentence of n words is n + 1 predictions
    module = Pretraining(
        model,
        vocabulary,
        corpus,
        config.recipe,
        cells=cells,
        seed=config.seed,
        processes=config.devices,
        weights=weights,
    )
    if resume:
        if checkpoint.get("weights", weights) != weights:  # older checkpoints name none
            raise UserError(
                f"{resume}: from weights other than weights={config.weights}. Resume with the same weights, or give "
                "another out=."
            )
        check_shape(resume, checkpoint["state_dict"], module)
    logger = None
    if config.wandb:
        settings: Any = OmegaConf.to_container(config, resolve=True)
        logger = wandb(work=out, title=out.name, config=settings, project=config.wandb)
    trainer = pl.Trainer(
        max_steps=module.steps,
        accelerator=config.accelerator,
        devices=config.devices,
        strategy="ddp" if config.devices > 1 else "auto",
        precision=config.recipe.precision,
        callbacks=[
            Meter(title),
            CurveFile(out / "curve.csv"),
            Checkpoints(out / "checkpoints", minutes=config.checkpoint_minutes),
        ],
        plugins=[AtomicCheckpoints()],
        logger=logger or False,
        log_every_n_steps=50,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,  # the stream knows its share
    )
    failed = True
    try:
        trainer.fit(module, ckpt_path=resume, weights_only=True)
        failed = False
    finally:
        finish(logger, failed=failed)
    return Trained(
        model=model,
        vocabulary=vocabulary,
        steps=trainer.global_step,
        tokens=trainer.global_step * module.tokens,
        seconds=module.clock.seconds,
        files=corpus.files,
        text=text,
    )


def _resident(options: BiLMOptions, corpus: Corpus, config: DictConfig) -> Trained:
    """A training with the whole text in memory (`recipe=gpu`)."""
    if config.devices > 1:
        raise UserError(f"devices={config.devices}: recipe=gpu trains on one device. Use devices=1.")
    device = device_of(config.accelerator)
    out = Path(config.out)
    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer) if config.heldout else None
    torch.set_num_threads(choose_threads(config.threads, "pretrain"))
    encoded, vocabulary = encode(
        corpus,
        heldout,
        Path(config.encoded or out / "encoded"),
        words=config.recipe.vocabulary,
        threads=torch.get_num_threads(),
    )
    torch.manual_seed(config.seed)
    model = LanguageModel(options, words=len(vocabulary), samples=config.recipe.samples, dropout=config.recipe.dropout)
    resume, checkpoint = newest_checkpoint(out / "checkpoints")
    _choose_precision(config, device, checkpoint)
    training = Resident(model, encoded, config, device)
    if resume:
        check_shape(resume, checkpoint["model"], model)
        training.load(checkpoint)
    training.run("pretrain")
    return Trained(
        model=model.cpu(),
        vocabulary=vocabulary,
        steps=training.step,
        tokens=training.read,
        seconds=training.clock.seconds,
        files=corpus.files,
        text=TextSize(vocabulary.tokens, vocabulary.sentences),
    )


def _choose_precision(config: DictConfig, device: str, checkpoint: Mapping[str, Any]) -> None:
    """Replace `recipe.precision=auto`. Older checkpoints do not name their precision, which was bfloat16."""
    kept = checkpoint.get("precision", "bf16-mixed") if checkpoint else None
    config.recipe.precision = choose_precision(
        config.recipe.precision, device=device, bfloat16="bf16-mixed", float32="32-true", kept=kept
    )


def first_process() -> bool:
    """Whether this is the first of the processes that train together: it counts, measures and writes."""
    return int(os.environ.get("LOCAL_RANK", "0")) == 0  # set by Lightning


def _vocabulary(corpus: Corpus, size: int, out: Path) -> TargetVocabulary:
    """The vocabulary of the training to resume in `out`, or a new one, counted in the corpus and written there."""
    path = out / "vocabulary.txt"
    if first_process() and not (path.exists() and any((out / "checkpoints").glob("*.ckpt"))):
        counts = count_words(corpus)
        TargetVocabulary.of(counts.words, size, sentences=counts.sentences).write(path)
    return TargetVocabulary.read(path)


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
        "licence": str(config.licence or "not stated"),
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
