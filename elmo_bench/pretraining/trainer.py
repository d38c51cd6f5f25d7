"""Training a biLM on a corpus: config in, a folder of weights out."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.checkpoints import read_checkpoint
from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.nn.fused import fuse
from elmo_bench.pretraining.callbacks import Checkpoints, Curve, Meter, WholeCheckpoints
from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.module import Pretraining
from elmo_bench.pretraining.resident.encode import encode
from elmo_bench.pretraining.resident.loop import Resident
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.training.loggers import finish, wandb


@dataclass(frozen=True)
class TextSize:
    """How long a corpus is."""

    tokens: int
    sentences: int


@dataclass(frozen=True)
class Trained:
    """What a training leaves behind: the model, and how it went."""

    model: LanguageModel
    vocabulary: TargetVocabulary
    steps: int
    tokens: int  # words read, in each direction
    seconds: float
    files: tuple[Path, ...]  # of the text
    text: TextSize
    first: bool  # this process writes the results (of several, one does)


def pretrain(config: DictConfig) -> Trained:
    """A new biLM by `conf/pretrain.yaml`; where `out` has checkpoints of the same training, it goes on from there."""
    try:
        options = BiLMOptions.from_json(config.shape)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"shape: {error}; see pretraining/conf/shape") from None
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
) -> Trained:
    """Train a model by `config.recipe`, on from the newest whole checkpoint in `<out>/checkpoints`."""
    _check_accelerator(config)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(config.threads or max(1, cores // config.devices))
    if why := fuse(config.compile):
        console.print(f"not compiled, which is slower and changes no result: {why}", highlight=False)
    out = Path(config.out)
    resume, checkpoint = newest(out / "checkpoints")
    if resume:
        console.print(f"going on from {resume} at step {checkpoint['global_step']}", highlight=False)
    cells = text.tokens + text.sentences  # a sentence of n words is n + 1 predictions
    module = Pretraining(
        model, vocabulary, corpus, config.recipe, cells=cells, seed=config.seed, processes=config.devices
    )
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
            Curve(out / "curve.csv"),
            Checkpoints(out / "checkpoints", minutes=config.checkpoint_minutes),
        ],
        plugins=[WholeCheckpoints()],
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
        seconds=module.elapsed,
        files=corpus.files,
        text=text,
        first=trainer.is_global_zero,
    )


def _resident(options: BiLMOptions, corpus: Corpus, config: DictConfig) -> Trained:
    """A training with the whole text in memory (`recipe=gpu`)."""
    if config.devices > 1:
        raise UserError(f"devices={config.devices}: recipe=gpu trains on one device. Use devices=1.")
    _check_accelerator(config)
    out = Path(config.out)
    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer) if config.heldout else None
    encoded, vocabulary = encode(
        corpus,
        heldout,
        Path(config.encoded or out / "encoded"),
        words=config.recipe.vocabulary,
        threads=config.threads,
    )
    torch.manual_seed(config.seed)
    model = LanguageModel(options, words=len(vocabulary), samples=config.recipe.samples, dropout=config.recipe.dropout)
    training = Resident(model, encoded, config, "cuda" if config.accelerator == "gpu" else "cpu")
    resume, checkpoint = newest(out / "checkpoints")
    if resume:
        console.print(f"going on from {resume} at step {checkpoint['global_step']}", highlight=False)
        training.load(checkpoint)
    training.run("pretrain")
    return Trained(
        model=model.cpu(),
        vocabulary=vocabulary,
        steps=training.step,
        tokens=training.read,
        seconds=training.elapsed,
        files=corpus.files,
        text=TextSize(vocabulary.tokens, vocabulary.sentences),
        first=True,
    )


def _check_accelerator(config: DictConfig) -> None:
    if config.accelerator == "gpu" and not torch.cuda.is_available():
        raise UserError("accelerator=gpu: no CUDA device here; use accelerator=cpu")


def newest(folder: Path) -> tuple[Path | None, Mapping[str, Any]]:
    """The newest checkpoint that can be read, and what is in it; None and nothing where there is none.

    Raises UserError where there are some and all are damaged: weeks of training are not started anew in silence.
    """
    paths = sorted(folder.glob("*.ckpt"))
    while paths:
        path = paths.pop()
        try:
            return path, read_checkpoint(path)
        except UserError as damaged:
            if not paths:
                raise
            console.print(f"{damaged}; trying the one before", highlight=False)
    return None, {}


def first_process() -> bool:
    """Of several processes that train together, the one that counts, measures and writes."""
    return int(os.environ.get("LOCAL_RANK", "0")) == 0  # Lightning gives it to those that it starts


def _vocabulary(corpus: Corpus, size: int, out: Path) -> TargetVocabulary:
    """That of the training in `out` which goes on, or a new one counted from the corpus and written there."""
    path = out / "vocabulary.txt"
    if first_process() and not (path.exists() and any((out / "checkpoints").glob("*.ckpt"))):
        counts = count_words(corpus)
        TargetVocabulary.of(counts.words, size, sentences=counts.sentences).write(path)
    return TargetVocabulary.read(path)
