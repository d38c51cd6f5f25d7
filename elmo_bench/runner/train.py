"""Step 2 of a run: build its head around the frozen parts and train it, or resume the training of a killed run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.loggers import Logger

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.include import included_lines
from elmo_bench.base.machine import keep_freed_memory
from elmo_bench.base.progress import Clock, console
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.runner.data import readings, words_of
from elmo_bench.runner.prepare import (
    Lexicon,
    Prepared,
    build_head,
    build_indexer,
    build_stores,
    lexicon_of,
    vocabulary_of,
)
from elmo_bench.spec.names import task_class
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.training.callbacks import (
    AtomicCheckpoints,
    Checkpoints,
    Ema,
    GpuMemory,
    History,
    RandomState,
    ShowProgress,
)
from elmo_bench.training.module import DataModule, HeadTraining
from elmo_bench.training.optimisers import construct


@dataclass
class Trained:
    """A head and what it was trained with. After `train` it has the weights of the best epoch."""

    module: HeadTraining
    loaders: DataModule
    stores: dict[str, LayerStore]  # by encoder
    vocabulary: dict[str, Any]
    lexicon: Lexicon
    history: History
    trainer: pl.Trainer | None = None


def train(prepared: Prepared, work: Path, *, logs: Sequence[Logger] = ()) -> Trained:
    """Train the run's head until its epochs end, or its patience if it has any, with checkpoints in `work`.

    A `last.ckpt` there is resumed. Raises UserError for an option that a part refuses, and if the loss is not finite.
    """
    settings, training = prepared.spec.settings, prepared.spec.part("task.training")
    trained = build(prepared)
    if prepared.spec.head == FLOOR:
        fit(trained, prepared, logs)
        return trained
    fill(trained, prepared, "train", "dev")
    main = f"dev_{trained.module.metric.main}"
    waits = training.get("patience")
    patience = [EarlyStopping(main, mode="max", patience=waits, check_on_train_epoch_end=True)] if waits else []
    averages = []
    if ema := training["ema"]:
        averages = [construct("task.training.ema", {"ema": Ema}, {"name": "ema", **ema})]
    progress = ShowProgress(prepared.title)
    trained.trainer = pl.Trainer(
        accelerator=prepared.setup.accelerator,
        devices=1,
        precision=settings["trainer.precision"],
        max_epochs=training["epochs"],
        gradient_clip_val=training["clip"],
        num_sanity_val_steps=0,
        reload_dataloaders_every_n_epochs=1,  # the number of batches may differ by epoch (training.data.Batcher)
        callbacks=[
            RandomState(),
            GpuMemory(),
            *averages,
            trained.history,
            progress,
            *patience,
            Checkpoints(work, trained.history),
        ],
        plugins=[AtomicCheckpoints()],
        logger=list(logs) or False,
        log_every_n_steps=10,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    resumed = _resume(trained, work / "last.ckpt", prepared.title) or {}
    past = resumed.get(trained.history.state_key)
    waited = any(resumed[each.state_key]["wait_count"] >= each.patience for each in patience) if past else False
    if past and (waited or len(past["curves"]["dev"]) >= training["epochs"]):  # only the scores are missing
        trained.history.load_state_dict(past)
    else:
        checkpoint = work / "last.ckpt" if past else None
        trained.trainer.fit(trained.module, datamodule=trained.loaders, ckpt_path=checkpoint, weights_only=True)
    trained.module.load_state_dict(read_checkpoint(work / "best.ckpt")["state_dict"])
    return trained


def fit(trained: Trained, prepared: Prepared, logs: Sequence[Logger]) -> None:
    """Fit a floor with scikit-learn as many times as it has epochs, and take the weights that are best on dev.

    An epoch differs from the one before in the strength of its regularisation alone. A killed run starts anew.
    """
    module, history = trained.module, trained.history
    train, epochs = prepared.splits["train"], prepared.spec.settings["task.training.epochs"]
    trained.trainer = pl.Trainer(
        accelerator="cpu", logger=list(logs) or False, enable_progress_bar=False, enable_model_summary=False
    )
    dev = trained.loaders.loader("dev")
    best: dict[str, Any] = {}
    history.training.start()
    for fitted in module.head.fits(train, epochs):
        history.training.stop()
        trained.trainer.validate(module, dataloaders=dev, verbose=False)
        history.add_fit(module.main_score, steps=fitted.steps, loss=fitted.loss)
        history.tokens += len(words_of(train))
        if history.best_epoch == len(history.scores):
            best = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        console.print(
            f"{prepared.title}  epoch {len(history.scores)}/{epochs}  loss {fitted.loss:.3f}  "
            f"dev {module.metric.main} {module.main_score:.2f}",
            highlight=False,
        )
        history.training.start()
    history.training.stop()
    module.load_state_dict(best)


def fill(trained: Trained, prepared: Prepared, *splits: str) -> None:
    """Compute the frozen layers of these splits, or find them in the store."""
    trained.history.encoding.start()
    texts = [text for split in splits for example in prepared.splits[split] for text in example.texts]
    for store in trained.stores.values():
        store.fill(texts, threads=prepared.setup.threads)
    trained.history.encoding.stop()


def build(prepared: Prepared) -> Trained:
    """The head, untrained, with its loaders and store; draws its initial weights with the run's seed."""
    whole = Clock().start()
    spec, setup, splits = prepared.spec, prepared.setup, prepared.splits
    torch.set_num_threads(setup.threads or 1)
    keep_freed_memory()
    pl.seed_everything(setup.seed, verbose=False)
    training = spec.part("task.training")
    metric = task_class(spec.task, "metric")()
    lexicon = lexicon_of(splits["train"])
    vocabulary = vocabulary_of(spec, prepared.data, splits["train"])
    try:
        head = build_head(spec, prepared.frozen, lexicon, vocabulary)
        gold: Any = {split: [example.gold for example in examples] for split, examples in splits.items()}
        module = HeadTraining(head, metric, training["optimizer"], gold, training["schedule"])
    except (TypeError, ValueError) as error:  # a part refuses its numbers
        if included_lines(error):
            raise
        raise UserError(f"an option has a value that does not fit: {error}. See task.head.") from error
    stores = build_stores(setup, prepared.frozen.encoders)
    index = build_indexer(head.embedder, stores)
    loaders = DataModule(
        splits,
        lambda examples: head.collate(examples, index),
        batch=training["batch"],
        tokens=training["tokens"],
        seed=setup.seed,
        readings=readings(spec, splits["train"]),
    )
    return Trained(module, loaders, stores, vocabulary, lexicon, History(whole, prepared.code))


def _resume(trained: Trained, last: Path, title: str) -> dict[str, Any] | None:
    """The state of the callbacks in a killed run's last checkpoint, for `fit` to load; None if there is none to resume.

    The best checkpoint is read too: the run needs it in the end, and one that is damaged would end every start. A run
    whose encoder carries states starts anew, because the vectors depend on what the encoder read before the kill; so
    does one whose included code has changed.
    """
    if not last.exists():
        return None
    if any(getattr(store.encoder, "stateful", False) for store in trained.stores.values()):
        console.print(f"{title}: starts anew (encoder.contextual.stateful=true: its states are lost)", highlight=False)
        return None
    try:
        kept, best = (read_checkpoint(path, advice="") for path in (last, last.with_name("best.ckpt")))
        states = (trained.module.state_dict(), kept["state_dict"], best["state_dict"])
        ours, *theirs = ({name: tensor.shape for name, tensor in state.items()} for state in states)
        if any(shapes != ours for shapes in theirs):
            raise UserError(f"{last}: written by another version of this program")
        state = kept["callbacks"]
        history = state[trained.history.state_key]
        if history.get("code", {}) != trained.history.code:
            raise UserError("the code of its encoder or task has changed")
    except UserError as error:
        console.print(f"{title}: starts anew ({error})", highlight=False)
        return None
    console.print(f"{title}: resuming after epoch {len(history['curves']['dev'])}", highlight=False)
    return state
