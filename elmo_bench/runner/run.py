"""One run: prepare, train, evaluate, and, step 4, keep its head and write its record."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from omegaconf import DictConfig

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import disk_errors
from elmo_bench.base.machine import peak_memory
from elmo_bench.base.progress import forget_kernels, kernels_used
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.ledger.store import remove_failure
from elmo_bench.runner.finished import remember, sources_of
from elmo_bench.runner.predict import About, KeptHead, write_head
from elmo_bench.runner.prepare import Prepared, prepare
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import check_options
from elmo_bench.training.quiet import quiet

if TYPE_CHECKING:
    from elmo_bench.runner.evaluate import Outcomes
    from elmo_bench.runner.train import Trained

PACKAGES = (
    "elmo-bench", "torch", "pytorch-lightning", "pytorch-crf", "datasets", "hydra-core", "wandb",
    "safetensors", "h5py", "numpy", "scipy", "transformers", "tokenizers", "seqeval",
)  # fmt: skip


def record(
    prepared: Prepared, trained: "Trained", scores: Any, outcomes: "Outcomes", paths: RunPaths, *, attempt: str
) -> Record:
    """Write the head, the outcomes and the record; then remove what is no longer needed. Returns the record."""
    spec, setup, history = prepared.spec, prepared.setup, trained.history
    head: Any = trained.module.head
    about = About(
        spec=spec.to_json(),  # type: ignore[typeddict-item]
        vocabulary=trained.vocabulary,
        lexicon=asdict(trained.lexicon),  # type: ignore[typeddict-item]
        encoders=prepared.frozen.checksums,
    )
    kept = write_head(paths.work / "head.safetensors", KeptHead(head.state_dict(), about))
    encoders = prepared.frozen.encoders.values()
    made = Record(
        schema=ledger.SCHEMA,
        attempt=attempt,
        spec=spec.to_json(),  # type: ignore[typeddict-item]
        hash=spec.hash,
        seed=setup.seed,
        metric=trained.module.metric.main,
        formula=trained.module.metric.formula.name,
        selected_on="dev",
        scores=scores,
        outcomes=ledger.digest_of(outcomes),
        layer_weights=history.mixes,
        epochs={"run": len(history.scores), "best": history.best_epoch},
        curves=history.curves,  # type: ignore[typeddict-item]
        parameters={
            "trainable": sum(p.numel() for p in head.parameters() if p.requires_grad),
            "frozen": sum(each.parameters for each in encoders) + getattr(head.embedder.words, "frozen", 0),
        },
        data={
            "counts": {split: len(examples) for split, examples in prepared.splits.items()},  # type: ignore[typeddict-item]
            "notes": prepared.notes,
            "checks": prepared.checks,
        },
        cost=_cost(prepared, trained),  # type: ignore[typeddict-item]
        kept={"file": str(kept.relative_to(paths.folder)), "bytes": kept.stat().st_size},
        environment={
            **ledger.environment(PACKAGES),  # type: ignore[typeddict-item]
            "device": torch.cuda.get_device_name() if setup.device == "cuda" else "cpu",
            "threads": torch.get_num_threads(),
            "precision": str(spec.settings["trainer.precision"]),
            "kernels": kernels_used(),
            **({"source": setup.source} if setup.source else {}),
        },
        created=ledger.now(),
    )
    ledger.write_record(paths, made, outcomes)
    # Without predictions=true, any that are here are an earlier head's (overwrite=true).
    for pattern in ("*.ckpt", *([] if setup.predictions else ["*.predictions.*"])):
        for path in paths.work.glob(pattern):
            path.unlink()
    return made


def _cost(prepared: Prepared, trained: "Trained") -> dict[str, Any]:
    history = trained.history
    peak = torch.cuda.max_memory_allocated() if prepared.setup.device == "cuda" else peak_memory()
    clocks = {"": history.whole, "train_": history.training}
    clocks |= {"encode_": history.encoding} if prepared.frozen.encoders else {}
    spent = {name: clock.read() for name, clock in clocks.items()}
    return {
        **{f"{name}seconds": round(wall, 2) for name, (wall, _) in spent.items()},
        **{f"{name}cpu_seconds": round(cpu, 2) for name, (_, cpu) in spent.items()},
        "tokens_per_second": round(history.tokens / max(spent["train_"][0], 1e-9), 1),
        "peak_memory_mib": round(peak / 2**20, 1),
    }


def run(config: DictConfig, *, attempt: str | None = None) -> tuple[Record, bool]:
    """The record of this config, and whether it was in the ledger already.

    Raises UserError for bad input, HeldElsewhere if another process works on the run, and any error that made it fail.
    A failed run leaves a failure file where its record would be. That place is not known before data and weights are
    read: an `attempt` of a sweep that fails earlier leaves the file in the folder that is named by `spec.key`.
    """
    check_options(config)
    forget_kernels()
    spec, setup = RunSpec.of(config), Setup.of(config)
    early = _paths(spec, setup, spec.key)
    attempt, early_failure = attempt or ledger.new_attempt(), early if attempt else None
    started = time.time()
    with _failure_file(early_failure, spec, attempt), disk_errors(setup.ledger):
        prepared = prepare(spec, setup)
    remember(sources_of(spec, setup), prepared.spec.contents or {}, prepared.frozen, started=started)
    remove_failure(early)  # of an earlier attempt, which failed before its place was known
    spec = prepared.spec
    paths = _paths(spec, setup, spec.hash)
    if (finished := _finished(setup, paths)) is not None:
        return finished, True
    with ledger.run_lock(paths, spec=spec.to_json()), quiet():  # type: ignore[arg-type]
        if (finished := _finished(setup, paths)) is not None:  # the process that held the lock finished it
            return finished, True
        _remove_checkpoints_of_record(paths)
        from elmo_bench.runner.evaluate import evaluate  # these import Lightning, which takes seconds
        from elmo_bench.runner.train import train
        from elmo_bench.training.loggers import open_loggers

        about = {
            "work": paths.work,
            "title": prepared.title,
            "config": spec.to_json() | {"seed": setup.seed},
            "group": setup.experiment,
            "tags": [spec.suite, spec.task, spec.encoder],
        }
        with (
            _failure_file(paths, spec, attempt),
            disk_errors(paths.work),
            open_loggers(setup.logger, **about) as logs,
        ):
            trained = train(prepared, paths.work, logs=logs)
            scores, outcomes = evaluate(prepared, trained, paths.work)
            return record(prepared, trained, scores, outcomes, paths, attempt=attempt), False


def _paths(spec: RunSpec, setup: Setup, hash_: str) -> RunPaths:
    return RunPaths(setup.ledger, spec.suite, spec.task, spec.encoder, hash_, setup.seed)


def _finished(setup: Setup, paths: RunPaths) -> Record | None:
    return ledger.read_record(paths.record) if paths.record.exists() and not setup.overwrite else None


def _remove_checkpoints_of_record(paths: RunPaths) -> None:
    """Remove checkpoints of the finished run, if it left any (overwrite=true).

    Younger ones than the record are of a killed attempt to replace it, which is resumed.
    """
    if paths.record.exists():
        finished = paths.record.stat().st_mtime_ns
        for checkpoint in paths.work.glob("*.ckpt"):
            if checkpoint.stat().st_mtime_ns <= finished:
                checkpoint.unlink()


@contextmanager
def _failure_file(paths: RunPaths | None, spec: RunSpec, attempt: str) -> Iterator[None]:
    """Write a failure file if the block raises an error."""
    try:
        yield
    except Exception as error:
        if paths is not None:
            with suppress(OSError, UserError):  # a full disk, say: the error to report is the first one
                ledger.write_failure(paths, error, attempt=attempt, spec=spec.to_json())  # type: ignore[arg-type]
        raise
