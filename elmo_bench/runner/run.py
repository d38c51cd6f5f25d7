"""One run: prepare, train, evaluate, record. A finished run and a wrong option end before torch is imported."""

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import disk_errors, remove_unfinished
from elmo_bench.base.machine import gpus, peak_memory
from elmo_bench.base.progress import console, forget_kernels, kernels_used
from elmo_bench.ledger import Record, RunPaths, read_record_at
from elmo_bench.runner.finished import contents_of, data_files, finished, remember, sources_of
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import check_run
from elmo_bench.training.quiet import quiet

if TYPE_CHECKING:
    from elmo_bench.runner.evaluate import Outcomes
    from elmo_bench.runner.prepare import Prepared
    from elmo_bench.runner.train import Trained

PACKAGES = (
    "elmo-bench", "torch", "pytorch-lightning", "pytorch-crf", "datasets", "hydra-core", "wandb",
    "safetensors", "h5py", "numpy", "scipy", "scikit-learn", "transformers", "tokenizers", "seqeval",
)  # fmt: skip


def run(config: DictConfig, *, attempt: str | None = None) -> tuple[Record, bool]:
    """The record of this config, and whether it was in the ledger already.

    Raises UserError for bad input, HeldElsewhere if another process works on the run, and any error that made it fail.
    The record carries the `attempt`.
    """
    check_run(config)
    forget_kernels()
    spec, setup = RunSpec.of(config), Setup.of(config)
    sources = sources_of(spec, setup)
    contents = None if setup.overwrite else contents_of(sources)
    if done := finished(setup.ledger, spec, setup.seed, contents):
        return read_record_at(done, metrics=metric_of), True
    check_here(setup)
    console.print(f"{spec.task} {spec.encoder} seed {setup.seed}: reading data …", highlight=False)
    started = time.time()
    with disk_errors(setup.ledger):
        data_files(sources)
        from elmo_bench.runner.prepare import prepare  # with torch, which takes seconds

        prepared = prepare(spec, setup)
    encoders, has_table = prepared.frozen.encoders.values(), bool(prepared.frozen.width)
    remember(sources, prepared.spec.contents or {}, encoders, has_table=has_table, started=started)
    spec, attempt = prepared.spec, attempt or ledger.new_attempt()
    paths = RunPaths(setup.ledger, spec.suite, spec.task, spec.encoder, spec.hash, setup.seed)
    with ledger.run_lock(paths, spec=spec.to_json()), quiet():  # type: ignore[arg-type]
        if paths.record.exists() and not setup.overwrite:  # also if the process that held the lock has finished it
            return read_record_at(paths, metrics=metric_of), True
        remove_unfinished(paths.work)
        from elmo_bench.runner.evaluate import evaluate
        from elmo_bench.runner.train import train
        from elmo_bench.training.loggers import open_loggers

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
            return record(prepared, trained, scores, outcomes, paths, attempt=attempt), False


def record(
    prepared: "Prepared", trained: "Trained", scores: Any, outcomes: "Outcomes", paths: RunPaths, *, attempt: str
) -> Record:
    """Write the head, the outcomes and the record; then remove what is no longer needed. Returns the record."""
    import torch

    from elmo_bench.runner.predict import About, KeptHead, write_head

    setup, history, splits = prepared.setup, trained.history, prepared.splits
    spec: Any = prepared.spec.to_json()
    head: Any = trained.module.head
    about = About(
        spec=spec, vocabulary=trained.vocabulary, lexicon=trained.lexicon, encoders=prepared.frozen.checksums,
        attempt=attempt,
    )  # fmt: skip
    kept = write_head(paths.work / "head.safetensors", KeptHead(head.state_dict(), about))
    frozen = sum(encoder.parameters for encoder in prepared.frozen.encoders.values())
    made: Any = {
        "schema": ledger.SCHEMA,
        "attempt": attempt,
        "spec": spec,
        "hash": paths.hash,
        "seed": setup.seed,
        "metric": trained.module.metric.main,
        "formula": trained.module.metric.formula,
        "selected_on": "dev",
        "scores": scores,
        "outcomes": ledger.digest_of(outcomes),
        "layer_weights": history.mixes,
        "epochs": {"run": len(history.scores), "best": history.best_epoch},
        "curves": history.curves,
        "parameters": {
            "trainable": sum(p.numel() for p in head.parameters() if p.requires_grad),
            "frozen": frozen + getattr(head.embedder.words, "frozen", 0),
        },
        "data": {
            "counts": {split: len(examples) for split, examples in splits.items()},
            "notes": prepared.notes,
            "checks": prepared.checks,
        },
        "cost": _cost(prepared, trained),
        "kept": {"file": str(kept.relative_to(paths.folder)), "bytes": kept.stat().st_size},
        "environment": {
            **ledger.environment(PACKAGES),
            "device": torch.cuda.get_device_name() if setup.device == "cuda" else "cpu",
            "threads": torch.get_num_threads(),
            "precision": str(spec["settings"]["trainer.precision"]),
            "kernels": kernels_used(),
            **({"source": setup.source} if setup.source else {}),
            **({"code": prepared.code} if prepared.code else {}),
        },
        "created": ledger.now(),
    }
    ledger.write_record(paths, made, outcomes)
    # Without predictions=true, any that are here are an earlier head's (overwrite=true).
    for pattern in ("*.ckpt", *([] if setup.predictions else ["*.predictions.*"])):
        for path in paths.work.glob(pattern):
            path.unlink()
    return made


def _cost(prepared: "Prepared", trained: "Trained") -> Any:
    import torch

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


def check_here(setup: Setup) -> None:
    """Raise UserError for what this machine lacks, as far as that shows without torch."""
    if "cuda" in (setup.device, setup.accelerator) or setup.accelerator == "gpu":
        if not gpus():
            raise UserError("trainer=gpu: no NVIDIA GPU here. Use trainer=cpu.")
        if setup.device != "cuda":
            raise UserError("trainer.accelerator: a GPU for the head, but not for the encoder. Use trainer=gpu.")
    for option, module, wanted in (
        ("encoder=hf", "transformers", any(each.get("kind") == "hf" for each in setup.encoders.values())),
        ("logger=tensorboard", "tensorboard", "tensorboard" in str(setup.logger.get("name"))),
    ):
        if wanted and find_spec(module) is None:
            extra = option.partition("=")[2]
            raise UserError(f"{option}: {module} is not installed. Run pip install 'elmo-bench[{extra}]'.")
