"""Training a biLM on a corpus: config in, a folder of weights out."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.nn.fused import fuse
from elmo_bench.pretraining.callbacks import Checkpoints, CurveFile, Meter, WholeCheckpoints
from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.module import Pretraining
from elmo_bench.pretraining.processes import all_cores
from elmo_bench.pretraining.resident.encode import encode
from elmo_bench.pretraining.resident.loop import Resident
from elmo_bench.pretraining.training import device_of, newest_checkpoint
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
    device_of(config.accelerator)
    torch.set_num_threads(config.threads or max(1, all_cores() // config.devices))
    if why := fuse(config.compile):
        console.print(f"not compiled, which is slower and changes no result: {why}", highlight=False)
    out = Path(config.out)
    resume, _ = newest_checkpoint(out / "checkpoints")
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
            CurveFile(out / "curve.csv"),
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
        seconds=module.clock.seconds,
        files=corpus.files,
        text=text,
        first=trainer.is_global_zero,
    )


def _resident(options: BiLMOptions, corpus: Corpus, config: DictConfig) -> Trained:
    """A training with the whole text in memory (`recipe=gpu`)."""
    if config.devices > 1:
        raise UserError(f"devices={config.devices}: recipe=gpu trains on one device. Use devices=1.")
    device = device_of(config.accelerator)
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
    training = Resident(model, encoded, config, device)
    resume, checkpoint = newest_checkpoint(out / "checkpoints")
    if resume:
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
        first=True,
    )


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
