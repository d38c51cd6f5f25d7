"""One run: prepare, train, evaluate, record.

A finished run and a wrong option end before torch is imported.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import disk_errors, remove_unfinished
from elmo_bench.base.machine import peak_memory
from elmo_bench.base.progress import console, forget_kernels, kernels_used
from elmo_bench.ledger import Record, RunPaths, read_record_at, record_of
from elmo_bench.ledger.record import Kept, Refit
from elmo_bench.runner.estimate import say_how_long
from elmo_bench.runner.finished import Files, Finished, data_files, files_read
from elmo_bench.runner.here import check_here
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec, Setup, computed_changes
from elmo_bench.spec.settings import check_run
from elmo_bench.spec.task_files import reads_own_data
from elmo_bench.training.quiet import quiet

if TYPE_CHECKING:
    from elmo_bench.runner.evaluate import Outcomes
    from elmo_bench.runner.prepare import Prepared
    from elmo_bench.runner.refit import Refitted
    from elmo_bench.runner.train import Trained

PACKAGES = (
    "elmo-bench",
    "torch",
    "pytorch-lightning",
    "pytorch-crf",
    "datasets",
    "hydra-core",
    "wandb",
    "safetensors",
    "h5py",
    "numpy",
    "scipy",
    "scikit-learn",
    "transformers",
    "tokenizers",
    "peft",
    "seqeval",
)


def run(config: DictConfig, *, attempt: str | None = None) -> tuple[Record, bool]:
    """The record of this config, and whether it was in the ledger already.

    The record carries the `attempt`. Raises UserError for bad input, HeldElsewhere if
    another process works on the run, and any error that made it fail.
    """
    check_run(config)
    forget_kernels()
    spec, setup = RunSpec.of(config), Setup.of(config)
    if not setup.overwrite:
        done = Finished(setup.ledger).find(spec, setup, setup.seed)
        if done is not None:
            record = read_record_at(done, metrics=metric_of)
            if is_complete(record, setup):
                return record, True
    check_here(setup)
    console.print(
        f"{spec.task} {spec.encoder} seed {setup.seed}: reading data …", highlight=False
    )
    prepared, files = _prepared(spec, setup)
    spec = prepared.spec
    if reads_own_data(spec.task) and setup.device == "cpu":
        say_how_long(prepared.title, spec, prepared.splits)
    paths = RunPaths(
        setup.ledger, spec.suite, spec.task, spec.encoder, spec.hash, setup.seed
    )
    held = ledger.Spec(**spec.to_json())
    with ledger.run_lock(paths, spec=held), quiet():
        # It may exist, too, if the process that held the lock has finished it.
        if paths.record.exists() and not setup.overwrite:
            record = _with_files(paths, files)
            if is_complete(record, setup):
                return record, True
            return _refitted(prepared, paths, record), False
        attempt = attempt or ledger.new_attempt()
        return _trained(prepared, paths, files, attempt=attempt), False


def _prepared(spec: RunSpec, setup: Setup) -> tuple["Prepared", Files | None]:
    """Step 1, and the `files` of the record. Raises UserError."""
    started = time.time()
    with disk_errors(setup.ledger):
        data_files(spec, setup)
        from elmo_bench.runner.prepare import prepare  # with torch, which takes seconds

        prepared = prepare(spec, setup)
    encoders = prepared.frozen.encoders
    return prepared, files_read(spec, setup, encoders, started=started)


def is_complete(record: Record, setup: Setup) -> bool:
    """Whether the record of a run has all that is asked for: with refit=true, a head
    that was trained on train and dev."""
    return record.refit is not None or not setup.refit


def _with_files(paths: RunPaths, files: Files | None) -> Record:
    """The record that is in the ledger.

    It gets the files that this run has read, so that the next one finds it by them.
    """
    record = read_record_at(paths, metrics=metric_of)
    if files is None or record.files == files:
        return record
    record = record.model_copy(update={"files": files})
    with suppress(UserError):  # a ledger that this user can only read
        ledger.rewrite_record(paths, record)
    return record


def _refitted(prepared: "Prepared", paths: RunPaths, record: Record) -> Record:
    """Refit the head of a run that is in the ledger; its record, which says so."""
    from elmo_bench.runner.refit import refit

    with disk_errors(paths.work):
        refitted = refit(prepared, record.epochs.best, paths.work)
        kept = _write_head(prepared, refitted.trained, paths, record.attempt)
    update = {"kept": Kept(**kept), "refit": Refit(**refitted.about)}
    record = record.model_copy(update=update)
    ledger.rewrite_record(paths, record)
    _remove_rest(prepared, paths)
    return record


def _trained(
    prepared: "Prepared", paths: RunPaths, files: Files | None, *, attempt: str
) -> Record:
    """Steps 2 to 4: train, evaluate, record."""
    from elmo_bench.runner.evaluate import evaluate
    from elmo_bench.runner.refit import refit
    from elmo_bench.runner.train import train
    from elmo_bench.training.loggers import open_loggers

    remove_unfinished(paths.work)
    spec, setup = prepared.spec, prepared.setup
    loggers = open_loggers(
        setup.logger,
        work=paths.work,
        title=prepared.title,
        config=spec.to_json() | {"seed": setup.seed},
        group=setup.experiment,
        tags=[spec.suite, spec.task, spec.encoder],
    )
    with disk_errors(paths.work), loggers as logs:
        trained = train(prepared, paths.work, logs=logs)
        scores, outcomes = evaluate(prepared, trained, paths.work)
        refitted = None
        if setup.refit:
            refitted = refit(prepared, trained.history.best_epoch, paths.work)
        return record(
            prepared,
            trained,
            scores,
            outcomes,
            paths,
            attempt=attempt,
            files=files,
            refitted=refitted,
        )


def record(
    prepared: "Prepared",
    trained: "Trained",
    scores: Mapping[str, Any],
    outcomes: "Outcomes",
    paths: RunPaths,
    *,
    attempt: str,
    files: Files | None,
    refitted: "Refitted | None" = None,
) -> Record:
    """Write the head, the outcomes and the record; then remove what is no longer
    needed. Returns the record.

    refitted: the head that is kept in the place of the one that was scored.
    """
    kept = trained if refitted is None else refitted.trained
    head = _write_head(prepared, kept, paths, attempt)
    history, splits = trained.history, prepared.splits
    metric = trained.module.metric
    content: dict[str, Any] = {
        "schema": ledger.SCHEMA,
        "attempt": attempt,
        "spec": prepared.spec.to_json(),
        "hash": paths.hash,
        "seed": prepared.setup.seed,
        "metric": metric.main,
        "formula": metric.formula,
        "selected_on": "dev",
        "scores": scores,
        "outcomes": ledger.digest_of(outcomes),
        "layer_weights": history.mixes,
        "epochs": {"run": len(history.scores), "best": history.best_epoch},
        "curves": history.curves,
        "parameters": _parameters(prepared, trained),
        "data": {
            "counts": {split: len(examples) for split, examples in splits.items()},
            "notes": prepared.notes,
            "checks": prepared.checks,
        },
        "cost": _cost(prepared, trained),
        "kept": head,
        "environment": _environment(prepared),
        "created": ledger.now(),
    }
    changes = computed_changes(prepared.spec)
    if changes is not None:
        content["changes"] = changes
    if files is not None:
        content["files"] = files
    if reads_own_data(prepared.spec.task):
        content["serving"] = _serving(prepared, trained)
    if refitted is not None:
        content["refit"] = refitted.about
    written = record_of(content)
    ledger.write_record(paths, written, outcomes)
    _remove_rest(prepared, paths)
    return written


def _write_head(
    prepared: "Prepared", trained: "Trained", paths: RunPaths, attempt: str
) -> dict[str, Any]:
    """Write the head; what a record says of it."""
    from elmo_bench.runner.heads import About, KeptHead, write_head

    head: Any = trained.module.head
    about = About(
        spec=ledger.Spec(**prepared.spec.to_json()),
        vocabulary=trained.vocabulary,
        lexicon=trained.lexicon,
        encoders=prepared.frozen.checksums,
        attempt=attempt,
    )
    trained_head = KeptHead(head.state_dict(), about)
    file = write_head(paths.work / "head.safetensors", trained_head)
    return {"file": str(file.relative_to(paths.folder)), "bytes": file.stat().st_size}


def _parameters(prepared: "Prepared", trained: "Trained") -> dict[str, Any]:
    from elmo_bench.encoders.tuning import tuned_of

    head: Any = trained.module.head
    trainable = []
    for parameter in head.parameters():
        if parameter.requires_grad:
            trainable.append(parameter.numel())
    frozen = getattr(head.embedder.words, "frozen", 0)
    for encoder in prepared.frozen.encoders.values():
        tuned = tuned_of(encoder)
        frozen += encoder.parameters if tuned is None else tuned.frozen
    parameters: dict[str, Any] = {"trainable": sum(trainable), "frozen": frozen}
    tuned = head.embedder.tuned
    if tuned is not None:
        parameters["tuned"] = {"way": tuned.way, "count": tuned.count}
    return parameters


def _environment(prepared: "Prepared") -> dict[str, Any]:
    import torch

    setup = prepared.setup
    on_gpu = setup.device == "cuda"
    environment: dict[str, Any] = {
        **ledger.environment(PACKAGES),
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "threads": torch.get_num_threads(),
        "precision": str(prepared.spec.settings["trainer.precision"]),
        "kernels": kernels_used(),
    }
    if setup.source:
        environment["source"] = setup.source
    if prepared.code:
        environment["code"] = prepared.code
    return environment


def _cost(prepared: "Prepared", trained: "Trained") -> dict[str, Any]:
    import torch

    history = trained.history
    on_gpu = prepared.setup.device == "cuda"
    peak = torch.cuda.max_memory_allocated() if on_gpu else peak_memory()
    clocks = {"": history.whole, "train_": history.training}
    if prepared.frozen.encoders:
        clocks["encode_"] = history.encoding
    spent = {name: clock.read() for name, clock in clocks.items()}
    cost = {}
    for name, (wall, _) in spent.items():
        cost[f"{name}seconds"] = round(wall, 2)
    for name, (_, processor) in spent.items():
        cost[f"{name}cpu_seconds"] = round(processor, 2)
    train_seconds, _ = spent["train_"]
    cost["tokens_per_second"] = round(history.tokens / max(train_seconds, 1e-9), 1)
    cost["peak_memory_mib"] = round(peak / 2**20, 1)
    return cost


def _serving(prepared: "Prepared", trained: "Trained") -> dict[str, Any]:
    from elmo_bench.runner.serving import frozen_bytes, text_ms

    serving: dict[str, Any] = {
        "frozen_bytes": frozen_bytes(prepared.spec, prepared.setup)
    }
    if prepared.setup.device == "cpu":
        serving["text_ms"] = round(text_ms(prepared, trained), 3)
    return serving


def _remove_rest(prepared: "Prepared", paths: RunPaths) -> None:
    """Remove the checkpoints of a finished run.

    Without predictions=true, also predictions: they are an earlier head's
    (overwrite=true).
    """
    patterns = ["*.ckpt", "refit/*.ckpt"]
    if not prepared.setup.predictions:
        patterns.append("*.predictions.*")
    for pattern in patterns:
        for path in paths.work.glob(pattern):
            path.unlink()
    with suppress(OSError):  # it was not refitted
        (paths.work / "refit").rmdir()
