"""One run: prepare, train, evaluate, record.

A finished run and a wrong option end before torch is imported.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import disk_errors
from elmo_bench.base.machine import use_threads
from elmo_bench.base.memory import forget_peak_memory
from elmo_bench.base.progress import console, forget_kernels, kernels_used
from elmo_bench.base.refusals import check_writable
from elmo_bench.base.unfinished import remove_unfinished
from elmo_bench.ledger import Record, RunPaths, list_runs, read_record_at, record_of
from elmo_bench.ledger.record import Kept, Refit
from elmo_bench.runner.estimate import say_how_long
from elmo_bench.runner.finished import Files, Finished, data_files_of, files_read
from elmo_bench.runner.floors import floor_options
from elmo_bench.runner.here import check_here
from elmo_bench.spec.conf_files import CONF
from elmo_bench.spec.config import compose, one_run
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec, computed_changes
from elmo_bench.spec.settings import check_run
from elmo_bench.spec.task_files import reads_own_data
from elmo_bench.training.quiet import quiet

if TYPE_CHECKING:
    from elmo_bench.runner.prepare import Prepared
    from elmo_bench.training.callbacks import History
    from elmo_bench.training.contracts import Metric

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

    If nothing is drawn (`RunSpec.deterministic`), it may be of another seed. The record
    carries the `attempt`. Raises UserError for bad input, HeldElsewhere if another
    process works on the run, and any error that made it fail.
    """
    check_run(config)
    forget_kernels()
    forget_peak_memory()
    spec, setup = RunSpec.of(config), Setup.of(config)
    if not setup.overwrite:
        done = Finished(setup.ledger).find(spec, setup, setup.seed)
        if done is not None:
            record = read_record_at(done, metrics=metric_of)
            if is_complete(record, setup):
                return record, True
    check_here(setup)
    folder = setup.ledger / spec.suite / spec.task / spec.encoder
    check_writable(folder, f"ledger={setup.ledger}")
    console.print(
        f"{spec.task} {spec.encoder} seed {setup.seed}: reading data …", highlight=False
    )
    prepared, files = _prepared(spec, setup)
    spec = prepared.spec
    if reads_own_data(spec.task) and setup.device == "cpu":
        say_how_long(prepared.title, spec, prepared.splits)
    paths = _paths(spec, setup)
    held = ledger.Spec(**spec.to_json())
    with ledger.run_lock(paths, spec=held), quiet(), _process_kept(setup):
        # It may exist, too, if the process that held the lock has finished it.
        if paths.record.exists() and not setup.overwrite:
            record = _with_files(paths, files)
            if is_complete(record, setup):
                return record, True
            return _refitted(prepared, paths, record), False
        attempt = attempt or ledger.new_attempt()
        return _trained(prepared, paths, files, attempt=attempt), False


@contextmanager
def _process_kept(setup: Setup) -> Iterator[None]:
    """A block that trains with the run's threads and random numbers; afterwards the
    process, which may be a notebook, has its own again."""
    import torch

    from elmo_bench.training.random_state import generators_kept

    if setup.device == "cuda":
        torch.cuda.init()  # so that its generator is among those that are kept
    with use_threads(setup.threads or 1), generators_kept():
        yield


def _paths(spec: RunSpec, setup: Setup) -> RunPaths:
    """The files of a run; if nothing is drawn, of the first seed that has a record."""
    paths = RunPaths(
        setup.ledger, spec.suite, spec.task, spec.encoder, spec.hash, setup.seed
    )
    if setup.overwrite or paths.record.exists() or not spec.deterministic:
        return paths
    runs, _ = list_runs(setup.ledger, (spec.suite, spec.task, spec.encoder))
    for run, names in runs.items():
        if run.hash == paths.hash and run.record.name in names:
            return run
    return paths


def run_floor(config: DictConfig, options: Sequence[str]) -> Record | None:
    """The record of a run's floor, which is made if the ledger lacks it.

    None if the run needs none, or another process makes it. What is to be said of the
    data was printed by the run. options: as the user gave them.
    """
    of_floor = floor_options(config, one_run(options, CONF))
    if of_floor is None:
        return None
    console.quiet = True
    try:
        record, _ = run(compose("config", of_floor))
    except ledger.HeldElsewhere:
        return None
    finally:
        console.quiet = False
    return record


def _prepared(spec: RunSpec, setup: Setup) -> tuple["Prepared", Files | None]:
    """Step 1, and the `files` of the record. Raises UserError."""
    started = time.time()
    with disk_errors(setup.ledger):
        data_files_of(spec, setup)
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
    with suppress(UserError):  # such as a full disk
        ledger.rewrite_record(paths, record)
    return record


def _refitted(prepared: "Prepared", paths: RunPaths, record: Record) -> Record:
    """Refit the head of a run that is in the ledger; returns the changed record."""
    from elmo_bench.runner.head_files import keep_head
    from elmo_bench.runner.refit import refit

    with disk_errors(paths.work):
        refitted = refit(prepared, record.epochs.best, paths.work)
        trained = refitted.trained
        head: Any = trained.module.head
        head_files = keep_head(head, trained.about, paths, record.attempt, refit=True)
    update = {"kept": Kept(**head_files), "refit": Refit(**refitted.of_record)}
    record = record.model_copy(update=update)
    ledger.rewrite_record(paths, record)
    # The predictions are the first head's, as the scores of the record are.
    _remove_rest(paths, predictions=True)
    return record


def _trained(
    prepared: "Prepared", paths: RunPaths, files: Files | None, *, attempt: str
) -> Record:
    """Steps 2 to 4: train, evaluate, record."""
    from elmo_bench.runner.evaluate import evaluate
    from elmo_bench.runner.head_files import keep_head
    from elmo_bench.runner.refit import refit
    from elmo_bench.runner.serving import serving_of
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
        head: Any = trained.module.head
        content = {
            "attempt": attempt,
            "hash": paths.hash,
            "scores": scores,
            "outcomes": ledger.digest_of(outcomes),
        }
        content |= _content(prepared, head, trained.module.metric, trained.history)
        if files is not None:
            content["files"] = files
        if reads_own_data(spec.task):
            content["serving"] = serving_of(prepared, trained)
        to_keep = trained
        if setup.refit:
            refitted = refit(prepared, trained.history.best_epoch, paths.work)
            content["refit"] = refitted.of_record
            to_keep = refitted.trained
        content["kept"] = keep_head(
            to_keep.module.head, to_keep.about, paths, attempt, refit=setup.refit
        )
        record = record_of(content)
        ledger.write_record(paths, record, outcomes)
        _remove_rest(paths, predictions=setup.predictions)
        return record


def _content(
    prepared: "Prepared", head: Any, metric: "Metric", history: "History"
) -> dict[str, Any]:
    """What a record says of the data, the training and the machine."""
    spec = prepared.spec
    setup = prepared.setup
    frozen = prepared.frozen
    content = {
        "schema": ledger.SCHEMA,
        "spec": spec.to_json(),
        "seed": setup.seed,
        "metric": metric.main,
        "formula": metric.formula,
        "selected_on": "dev",
        "layer_weights": history.mixes,
        "epochs": {"run": len(history.scores), "best": history.best_epoch},
        "curves": history.curves,
        "parameters": _parameters(head, frozen.parameters),
        "data": {
            "counts": {name: len(split) for name, split in prepared.splits.items()},
            "notes": prepared.notes,
            "checks": prepared.checks,
        },
        "cost": _cost(history, encodes=bool(frozen.encoders)),
        "environment": _environment(prepared, history),
        "created": ledger.now(),
    }
    changes = computed_changes(spec)
    if changes is not None:
        content["changes"] = changes
    return content


def _parameters(head: Any, of_encoders: int) -> dict[str, Any]:
    trainable = 0
    for parameter in head.parameters():
        if parameter.requires_grad:
            trainable += parameter.numel()
    frozen = getattr(head.embedder.words, "frozen", 0)
    tuned = head.embedder.tuned
    if tuned is None:
        return {"trainable": trainable, "frozen": frozen + of_encoders}
    return {
        "trainable": trainable,
        "frozen": frozen + tuned.frozen,
        "tuned": {"way": tuned.way, "count": tuned.count},
    }


def _environment(prepared: "Prepared", history: "History") -> dict[str, Any]:
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
    if history.started_with != history.versions:
        environment["started_with"] = history.started_with
    return environment


def _cost(history: "History", *, encodes: bool) -> dict[str, Any]:
    clocks = {"": history.whole, "train_": history.training}
    if encodes:
        clocks["encode_"] = history.encoding
    spent = {name: clock.read() for name, clock in clocks.items()}
    cost = {}
    for name, (wall, _) in spent.items():
        cost[f"{name}seconds"] = round(wall, 2)
    for name, (_, processor) in spent.items():
        cost[f"{name}cpu_seconds"] = round(processor, 2)
    train_seconds, _ = spent["train_"]
    cost["tokens_per_second"] = round(history.tokens / max(train_seconds, 1e-9), 1)
    cost["peak_memory_mib"] = round(history.peak_memory() / 2**20, 1)
    return cost


def _remove_rest(paths: RunPaths, *, predictions: bool) -> None:
    """Remove the checkpoints of a finished run.

    predictions: keep them. False after a training without predictions=true, where
    they would be another head's: the one that was overwritten.
    """
    patterns = ["*.ckpt", "refit/*.ckpt"]
    if not predictions:
        patterns.append("*.predictions.*")
    for pattern in patterns:
        for path in paths.work.glob(pattern):
            path.unlink()
    with suppress(OSError):  # it was not refitted
        (paths.work / "refit").rmdir()
