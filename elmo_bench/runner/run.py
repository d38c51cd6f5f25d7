"""One run: config in, record out."""

import dataclasses
import json
import resource
import shutil
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.loggers import Logger
from safetensors.torch import save

from elmo_bench import ledger
from elmo_bench.base.checkpoints import read_checkpoint
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import noted
from elmo_bench.base.progress import console
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.runner.gpus import claim_gpu
from elmo_bench.runner.identity import identity, overrides_of
from elmo_bench.runner.parts import (
    Frozen,
    Lexicon,
    build_indexer,
    embedder_for,
    load_frozen,
    read_data,
    readings,
    shared_store,
)
from elmo_bench.runner.settings import encoder_name, portable, settings_of
from elmo_bench.runner.values import check_values
from elmo_bench.spec.config import build
from elmo_bench.training import loggers
from elmo_bench.training.callbacks import History, RandomState, ShowProgress
from elmo_bench.training.data import Splits
from elmo_bench.training.ema import Ema
from elmo_bench.training.module import HeadTraining
from elmo_bench.training.quiet import quiet

PACKAGES = (
    "elmo-bench", "torch", "pytorch-lightning", "pytorch-crf", "datasets", "seqeval", "hydra-core", "wandb",
    "safetensors", "h5py", "numpy", "scipy",
)  # fmt: skip


def run(config: DictConfig, overrides: Sequence[str] = (), *, in_sweep: bool = False) -> tuple[Record, bool]:
    """The record of this config, and whether it was in the ledger already.

    Raises UserError for bad input, HeldElsewhere where another process works on the run, and whatever made it fail; a
    failure leaves a failure file beside the place of the record. One from before that place is known, which needs data
    and weights, leaves it `in_sweep` alone, at the hash of the settings, until the run comes further.
    """
    check_values(config, overrides)
    early = _early(config)
    try:
        with noted() as notes:
            data, splits, frozen, who = _prepare(config, overrides)
    except Exception:
        if in_sweep:
            with suppress(OSError, UserError):
                ledger.write_failure(early, portable(config), traceback.format_exc())
        raise
    early.failure.unlink(missing_ok=True)
    with suppress(OSError):  # other seeds' may be there
        early.folder.rmdir()
    suite, task, encoder = config.suite.name, config.task.name, encoder_name(config)
    paths = RunPaths(Path(config.ledger), suite, task, encoder, ledger.run_hash(who), config.seed)
    if paths.record.exists() and not config.overwrite:
        return ledger.read_record(paths.record), True
    with ledger.run_lock(paths, portable(config)), quiet():
        if paths.record.exists() and not config.overwrite:  # finished by the process that held the lock
            return ledger.read_record(paths.record), True
        try:
            try:
                job = _Run(config, list(overrides), data, splits, notes=notes, frozen=frozen, who=who, paths=paths)
            except (TypeError, ValueError) as error:  # a part refuses its numbers; the failure file has the traceback
                raise UserError(f"an option has a value that does not fit: {error}; see {paths.failure}") from error
            return job.record(), False
        except Exception:
            with suppress(OSError, UserError):  # a full disk, say, is the error to tell, not that it also hit this file
                ledger.write_failure(paths, portable(config), traceback.format_exc())
            raise


def _prepare(config: DictConfig, overrides: Sequence[str]) -> tuple[Any, Any, Frozen, Any]:
    """What must be read to know which run it is: (adapter, splits, frozen parts, identity)."""
    if config.trainer.device == "cuda":
        claim_gpu()
        if not torch.cuda.is_available():
            raise UserError("trainer=gpu: no CUDA device here; use trainer=cpu")
    data = build(config.task.data)
    splits = read_data(config, data)
    frozen = load_frozen(config, splits)
    return data, splits, frozen, identity(config, frozen, splits)


def _early(config: DictConfig) -> RunPaths:
    hash_ = ledger.run_hash({"settings": settings_of(portable(config)), "contents": {}})
    return RunPaths(Path(config.ledger), config.suite.name, config.task.name, encoder_name(config), hash_, config.seed)


class _Run:
    """The straight list: seed, embedder and head, loaders, callbacks, trainer, fit, score, record."""

    def __init__(
        self,
        config: DictConfig,
        overrides: list[str],
        data: Any,
        splits: dict[str, list[Any]],
        *,
        notes: list[str],
        frozen: Frozen,
        who: Any,
        paths: RunPaths,
    ):
        self.config, self.overrides, self.splits = config, overrides, splits
        self.frozen, self.who, self.paths, self.adapter, self.notes = frozen, who, paths, data, notes
        self.started = time.monotonic()
        torch.set_num_threads(config.trainer.threads or torch.get_num_threads())
        pl.seed_everything(config.seed, verbose=False)
        self.metric = build(config.task.metric)
        self.vocabulary = data.vocabulary(splits["train"])
        self.lexicon = Lexicon.of(splits["train"])
        embedder = embedder_for(config, frozen, self.lexicon)
        self.head = build(config.task.head)(embedder, **self.vocabulary)
        self.store = shared_store(config, frozen.encoder, who["contents"]["data"])
        self.index = build_indexer(embedder, self.store)
        training = config.task.training
        gold: dict[str, Sequence[Any]] = {
            split: [example.gold for example in examples] for split, examples in splits.items()
        }
        optimizer = build(training.optimizer)
        self.module = HeadTraining(self.head, self.metric, optimizer, gold, build(training.get("schedule")))
        self.data = Splits(
            splits,
            lambda examples: self.head.collate(examples, self.index),
            batch=training.batch,
            tokens=training.tokens,
            seed=config.seed,
            readings=readings(config, splits["train"]),
        )
        self.history = History(self.started)
        self.title = f"{config.task.name} {self.paths.encoder} seed {config.seed}"

    def record(self) -> Record:
        """Train (or go on training), score dev and then test with the best epoch, and write the record."""
        work = self.paths.work
        if self.paths.record.exists():  # overwrite=true: what an earlier attempt left is not gone on from
            shutil.rmtree(work, ignore_errors=True)
        names = [override.partition("=")[2] for override in self.overrides if override.startswith("experiment=")]
        logger = build(self.config.logger)(
            work=work,
            title=self.title,
            config=portable(self.config),
            group=names[-1] if names else None,
            tags=[self.paths.suite, self.paths.task, self.paths.encoder],
        )
        failed = True
        try:
            self._encode("train", "dev")
            self._fit(logger)
            self.module.load_state_dict(read_checkpoint(work / "best.ckpt")["state_dict"])
            dev, _ = self._score("dev")
            self._encode("test")
            test, outcomes = self._score("test")
            record = self._record(dev, test, self._keep_head())
            ledger.write_record(self.paths, record, outcomes)
            failed = False
        finally:
            loggers.finish(logger, failed=failed)
        for checkpoint in work.glob("*.ckpt"):
            checkpoint.unlink()
        return record

    def _encode(self, *names: str) -> None:
        if self.store is not None:
            before = time.monotonic()
            self.store.fill(text for name in names for example in self.splits[name] for text in example.texts)
            self.history.encoding += time.monotonic() - before

    def _fit(self, logger: Logger | None) -> None:
        config, work, main = self.config, self.paths.work, f"dev_{self.metric.main}"
        patience = EarlyStopping(
            main, mode="max", patience=config.task.training.patience, check_on_train_epoch_end=True
        )
        every: dict[str, Any] = {"dirpath": work, "save_on_train_epoch_end": True, "enable_version_counter": False}
        best = ModelCheckpoint(filename="best", monitor=main, mode="max", **every)
        last = ModelCheckpoint(filename="last", **every)  # save_last=True saves only where the best one was saved too
        averages = [Ema(**config.task.training.ema)] if config.task.training.get("ema") else []
        self.trainer = pl.Trainer(
            accelerator=config.trainer.accelerator,
            devices=1,
            precision=config.trainer.precision,
            max_epochs=config.task.training.epochs,
            gradient_clip_val=config.task.training.clip,
            num_sanity_val_steps=0,
            reload_dataloaders_every_n_epochs=1,  # the number of batches may differ by epoch (data.Batcher)
            callbacks=[RandomState(), *averages, self.history, ShowProgress(self.title), patience, best, last],
            logger=logger or False,
            log_every_n_steps=10,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        resume = self._resume(work / "last.ckpt")
        if resume:
            self.history.load_state_dict(resume[self.history.state_key])
            done = len(self.history.scores)
            console.print(f"{self.title}: going on after epoch {done}", highlight=False)
            if done >= config.task.training.epochs or resume[patience.state_key]["wait_count"] >= patience.patience:
                return  # killed after its last epoch: only the scores are missing
        self.trainer.fit(
            self.module, datamodule=self.data, ckpt_path=work / "last.ckpt" if resume else None, weights_only=True
        )

    def _resume(self, last: Path) -> dict[str, Any] | None:
        """What the callbacks had kept when the run was killed; None where there is nothing to go on from."""
        if not last.exists():
            return None
        try:
            kept = read_checkpoint(last)
            if kept["state_dict"].keys() != self.module.state_dict().keys():
                raise UserError(f"{last}: kept by another version of this program")
            return kept["callbacks"]
        except UserError as error:
            console.print(f"{self.title}: starts anew ({error})", highlight=False)
            return None

    def _score(self, split: str) -> tuple[dict[str, Any], dict[str, Any]]:
        run_split = self.trainer.validate if split == "dev" else self.trainer.test
        run_split(self.module, dataloaders=self.data.loader(split), verbose=False)
        if self.config.predictions:
            path = self.paths.work / f"{split}.predictions{self.adapter.ending}"
            self.adapter.write(path, self.splits[split], self.module.seen)
        return self.module.scores, self.metric.outcomes(self.module.gold[split], self.module.seen)

    def _keep_head(self) -> Path:
        """The trained parameters and what building the head again needs; the encoder and the table are not in it."""
        tensors = {name: tensor.contiguous() for name, tensor in self.head.state_dict().items()}
        about = {
            "vocabulary": self.vocabulary,
            "lexicon": dataclasses.asdict(self.lexicon),
            "config": portable(self.config),
        }
        path = self.paths.work / "head.safetensors"
        with atomic_write(path) as handle:
            handle.write(save(tensors, {"about": json.dumps(about)}))
        return path

    def _record(self, dev: dict[str, Any], test: dict[str, Any], head: Path) -> Record:
        config, history = self.config, self.history
        trainable = sum(p.numel() for p in self.head.parameters() if p.requires_grad)
        frozen = self.frozen.encoder.parameters if self.frozen.encoder else 0
        cuda = config.trainer.device == "cuda"
        peak = (
            torch.cuda.max_memory_allocated() / 2**20
            if cuda
            else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        )
        cost = {
            "seconds": round(history.elapsed, 1),
            "tokens_per_second": round(history.tokens / max(history.seconds, 1e-9), 1),
            "peak_memory_mib": round(peak, 1),
            **({"encode_seconds": round(history.encoding, 2)} if self.frozen.encoder else {}),
        }
        return Record(
            schema=ledger.SCHEMA,
            suite=config.suite.name,
            task=config.task.name,
            encoder=self.paths.encoder,
            seed=config.seed,
            hash=self.paths.hash,
            identity=self.who,
            overrides=overrides_of(config, self.overrides),
            config=portable(config),
            metric=self.metric.main,
            selected_on="dev",
            scores={"dev": dev, "test": test},  # type: ignore[typeddict-item]
            layer_weights=history.mixes,
            epochs={"run": len(history.scores), "best": history.best_epoch},
            parameters={"trainable": trainable, "frozen": frozen + getattr(self.head.embedder.words, "frozen", 0)},
            data={
                "fingerprint": self.who["contents"]["data"],
                "counts": {split: len(examples) for split, examples in self.splits.items()},  # type: ignore[typeddict-item]
                **({"note": "; ".join(self.notes)} if self.notes else {}),  # type: ignore[typeddict-item]
            },
            checksums=self.frozen.checksums,  # type: ignore[typeddict-item]
            cost=cost,  # type: ignore[typeddict-item]
            kept={"file": str(head.relative_to(self.paths.folder)), "bytes": head.stat().st_size},
            environment={
                **ledger.environment(PACKAGES),  # type: ignore[typeddict-item]
                "device": torch.cuda.get_device_name() if cuda else "cpu",
                "threads": torch.get_num_threads(),
                "precision": str(config.trainer.precision),
            },
            created=ledger.now(),
        )
