"""Step 2 of a run: build its head around the frozen parts and train it, or resume the
training of a killed run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping
from pytorch_lightning.loggers import Logger

from elmo_bench.base.errors import UserError, is_of_machine
from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.include import included_lines
from elmo_bench.base.machine import environment, subnormals_as_zeros
from elmo_bench.base.memory import keep_freed_memory
from elmo_bench.base.progress import Clock, console
from elmo_bench.encoders.tuned_memory import check_memory
from elmo_bench.encoders.tuning import Source
from elmo_bench.ledger import Spec
from elmo_bench.runner.checkpoints import read_states
from elmo_bench.runner.data import words_of
from elmo_bench.runner.head_files import About
from elmo_bench.runner.heads import (
    build_head,
    build_indexer,
    build_stores,
    lexicon_of,
    vocabulary_of,
)
from elmo_bench.runner.prepare import Prepared
from elmo_bench.spec.budget import epochs_of, readings
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.spec.tuning import TUNED_RATE
from elmo_bench.text.own_data import OwnData
from elmo_bench.training.batches import DataModule
from elmo_bench.training.callbacks import (
    AtomicCheckpoints,
    Checkpoints,
    Ema,
    GpuMemory,
    History,
    ShowProgress,
)
from elmo_bench.training.loggers import start_anew
from elmo_bench.training.module import HeadTraining
from elmo_bench.training.optimisers import construct
from elmo_bench.training.random_state import RandomState


@dataclass
class Trained:
    """A head and what it was trained with.

    After `train` it has the weights of the best epoch.
    """

    module: HeadTraining
    loaders: DataModule
    stores: dict[str, Source]  # of layers, by part of a stack
    about: About  # is kept with the head
    history: History
    trainer: pl.Trainer | None = None


def train(prepared: Prepared, work: Path, *, logs: Sequence[Logger] = ()) -> Trained:
    """Train the run's head until its epochs end, or its patience if it has any, with
    checkpoints in `work`.

    A `last.ckpt` there is resumed. Raises UserError for an option that a part refuses,
    and if the loss is not finite.
    """
    training = prepared.spec.part("task.training")
    epochs = epochs_of(prepared.spec)
    trained = build(prepared)
    if prepared.spec.head == FLOOR:
        _fit_floor(trained, prepared, logs)
        return trained
    averages = _averages(training)
    # An option that it refuses shows here, before the hours of encoding.
    trained.module.configure_optimizers()
    fill(trained, prepared, ["train", "dev"])
    patience = _patience(training, trained)
    callbacks = [
        RandomState(),
        GpuMemory(),
        *averages,
        trained.history,
        ShowProgress(prepared.title),
        *patience,
        Checkpoints(work, trained.history),
    ]
    trainer = make_trainer(prepared, callbacks, logs=logs)
    trained.trainer = trainer
    states = _resume(trained, work / "last.ckpt", prepared.title) or {}
    past = states.get(trained.history.state_key)
    if not past:
        start_anew(logs)
    if past and _is_over(past, states, patience, epochs):
        trained.history.load_state_dict(past)  # only the scores are missing
    else:
        with subnormals_as_zeros():
            trainer.fit(
                trained.module,
                datamodule=trained.loaders,
                ckpt_path=work / "last.ckpt" if past else None,
                weights_only=True,
            )
    best = read_checkpoint(work / "best.ckpt")
    trained.module.load_state_dict(best["state_dict"])
    return trained


def make_trainer(
    prepared: Prepared,
    callbacks: Sequence[Callback],
    *,
    logs: Sequence[Logger] = (),
    scored: bool = True,
) -> pl.Trainer:
    """Lightning's trainer of a run, with its epochs; scored: on dev, after each."""
    return pl.Trainer(
        accelerator="gpu" if prepared.setup.device == "cuda" else "cpu",
        devices=1,
        precision=prepared.spec.settings["trainer.precision"],
        max_epochs=epochs_of(prepared.spec),
        gradient_clip_val=prepared.spec.part("task.training").get("clip"),
        num_sanity_val_steps=0,
        limit_val_batches=None if scored else 0,
        # Without scores nothing chooses an epoch; Lightning would add a callback that
        # writes checkpoints into the working folder.
        enable_checkpointing=scored,
        # The number of batches may differ by epoch (training.batches.Batcher).
        reload_dataloaders_every_n_epochs=1,
        callbacks=list(callbacks),
        plugins=[AtomicCheckpoints()],
        logger=list(logs) or False,
        log_every_n_steps=10,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


def _patience(training: Mapping[str, Any], trained: Trained) -> list[EarlyStopping]:
    epochs = training.get("patience")
    if not epochs:
        return []
    main = f"dev_{trained.module.metric.main}"
    return [
        EarlyStopping(main, mode="max", patience=epochs, check_on_train_epoch_end=True)
    ]


def _averages(training: Mapping[str, Any]) -> list[Callback]:
    """The moving average of the weights, if the training has one."""
    options = training.get("ema")
    if not options:
        return []
    return [construct("task.training.ema", {"ema": Ema}, {"name": "ema", **options})]


def _is_over(
    past: Mapping[str, Any],
    states: Mapping[str, Any],
    patience: Sequence[EarlyStopping],
    epochs: int,
) -> bool:
    """Whether a killed run had trained all of its epochs, or had no more patience."""
    if len(past["curves"]["dev"]) >= epochs:
        return True
    for callback in patience:
        if states[callback.state_key]["wait_count"] >= callback.patience:
            return True
    return False


def _fit_floor(trained: Trained, prepared: Prepared, logs: Sequence[Logger]) -> None:
    """Fit a floor with scikit-learn as many times as it has epochs; take the weights
    that are best on dev.

    An epoch differs from the one before in its regularisation alone. A killed run
    starts anew.
    """
    module, history = trained.module, trained.history
    head: Any = module.head
    train = prepared.splits["train"]
    epochs = epochs_of(prepared.spec)
    trained.trainer = pl.Trainer(
        accelerator="cpu",
        logger=list(logs) or False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    dev = trained.loaders.loader("dev")
    best: dict[str, Any] = {}
    history.training.start()
    for fitted in head.fits(train, epochs):
        history.training.stop()
        trained.trainer.validate(module, dataloaders=dev, verbose=False)
        score = module.main_score
        history.add_fit(score, steps=fitted.steps, loss=fitted.loss)
        history.tokens += len(words_of(train))
        epoch = len(history.scores)
        if history.best_epoch == epoch:
            state = module.state_dict()
            best = {name: tensor.clone() for name, tensor in state.items()}
        _say(
            f"{prepared.title}  epoch {epoch}/{epochs}  loss {fitted.loss:.3f}  "
            f"dev {module.metric.main} {score:.2f}"
        )
        history.training.start()
    history.training.stop()
    module.load_state_dict(best)


def fill(trained: Trained, prepared: Prepared, splits: Sequence[str]) -> None:
    """Compute the frozen layers of these splits, or find them in the store."""
    trained.history.encoding.start()
    texts = []
    for split in splits:
        for example in prepared.splits[split]:
            texts += example.texts
    for store in trained.stores.values():
        store.fill(texts, threads=prepared.setup.threads)
    trained.history.encoding.stop()


def build(prepared: Prepared) -> Trained:
    """The head, untrained, with its loaders and stores.

    Sets torch's threads, the allocator and the seed of every random generator of the
    process, and then draws the head's initial weights with the run's seed.
    """
    whole = Clock().start()
    spec = prepared.spec
    setup = prepared.setup
    splits = prepared.splits
    torch.set_num_threads(setup.threads or 1)
    keep_freed_memory()
    pl.seed_everything(setup.seed, verbose=False)
    training = spec.part("task.training")
    about = About(
        spec=Spec(**spec.to_json()),
        vocabulary=vocabulary_of(spec, prepared.data, splits["train"]),
        lexicon=lexicon_of(splits["train"]),
        encoders=prepared.frozen.checksums,
    )
    if isinstance(prepared.data, OwnData):
        columns = prepared.data.columns_of_train
        about = about.model_copy(update={"columns": columns})
    module = _module(prepared, training, about)
    head: Any = module.head
    stores = build_stores(setup, prepared.frozen.encoders)
    loaders = DataModule(
        splits,
        head.collate,
        build_indexer(head.embedder, stores),
        batch=training["batch"],
        tokens=training["tokens"],
        seed=setup.seed,
        readings=readings(spec, len(splits["train"])),
    )
    size, tokens = training["batch"], training["tokens"]
    check_memory(head.embedder.tuned, splits["train"], size=size, tokens=tokens)
    history = History(
        whole, prepared.code, versions=_versions(), on_gpu=setup.device == "cuda"
    )
    return Trained(module, loaders, stores, about, history)


def _versions() -> dict[str, str]:
    """Commit and versions of what computes a run."""
    ours = environment(["elmo-bench", "torch"])
    versions: dict[str, str] = ours["packages"]
    if ours["commit"]:
        versions["commit"] = ours["commit"] + ("-dirty" if ours["dirty"] else "")
    return versions


def _module(
    prepared: Prepared, training: Mapping[str, Any], about: About
) -> HeadTraining:
    """The head and its training. Raises UserError for numbers that a part refuses."""
    spec = prepared.spec
    metric = metric_of(spec.task, spec.metric)
    gold: Any = {}
    try:
        head = build_head(
            prepared.spec, prepared.frozen, about.lexicon, about.vocabulary
        )
        for split, examples in prepared.splits.items():
            gold[split] = [example.gold for example in examples]
        return HeadTraining(
            head,
            metric,
            training["optimizer"],
            gold,
            training["schedule"],
            tuned_rate=prepared.spec.settings.get(TUNED_RATE),
        )
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        if is_of_machine(error) or included_lines(error):
            raise
        raise UserError(
            f"an option has a value that does not fit: {error}. See task.head."
        ) from error


def _resume(trained: Trained, last: Path, title: str) -> dict[str, Any] | None:
    """The state of the callbacks in a killed run's last checkpoint, for `fit` to load;
    None if there is none to resume.

    A run whose encoder carries states starts anew, because the vectors depend on what
    the encoder read before the kill; so does one whose included code has changed.
    """
    if not last.exists():
        return None
    if is_stateful(trained):
        _say(
            f"{title}: starts anew "
            "(encoder.contextual.stateful=true: its states are lost)"
        )
        return None
    try:
        states = read_states(last, trained.module, trained.history)
    except UserError as error:
        _say(f"{title}: starts anew ({error})")
        return None
    past = states[trained.history.state_key]
    _say(f"{title}: resuming after epoch {len(past['curves']['dev'])}")
    started_with = past["started_with"]
    if started_with != trained.history.versions:
        started = ", ".join(f"{name} {started_with[name]}" for name in started_with)
        _say(f"{title}: it was started with {started}; the record says so")
    return states


def is_stateful(trained: Trained) -> bool:
    """Whether an encoder carries states from one sentence to the next."""
    encoders = [store.encoder for store in trained.stores.values()]
    return any(getattr(encoder, "stateful", False) for encoder in encoders)


def _say(line: str) -> None:
    console.print(line, highlight=False)
