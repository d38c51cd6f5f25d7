"""Step 4 of a run: keep its head and write its record."""

from typing import Any

import torch

from elmo_bench import ledger
from elmo_bench.base.machine import peak_memory
from elmo_bench.base.notes import kernels_used
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.runner.evaluate import Evaluated
from elmo_bench.runner.kept_head import KeptHead, write_head
from elmo_bench.runner.prepare import Prepared
from elmo_bench.runner.train import Trained

PACKAGES = (
    "elmo-bench", "torch", "pytorch-lightning", "pytorch-crf", "datasets", "hydra-core", "wandb",
    "safetensors", "h5py", "numpy", "scipy", "transformers", "tokenizers", "seqeval",
)  # fmt: skip


def record(prepared: Prepared, trained: Trained, evaluated: Evaluated, paths: RunPaths, *, attempt: str) -> Record:
    """Write the head, the outcomes and the record; then remove what is no longer needed. Returns the record."""
    spec, setup, history = prepared.spec, prepared.setup, trained.history
    head: Any = trained.module.head
    trained_head = KeptHead(head.state_dict(), spec, trained.vocabulary, trained.lexicon, prepared.frozen.checksums)
    kept = write_head(paths.work / "head.safetensors", trained_head)
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
        scores=evaluated.scores,  # type: ignore[typeddict-item]
        outcomes=ledger.digest_of(evaluated.outcomes),
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
        },
        created=ledger.now(),
    )
    ledger.write_record(paths, made, evaluated.outcomes)
    _remove_leftovers(paths, predictions=not setup.predictions)
    return made


def _remove_leftovers(paths: RunPaths, *, predictions: bool) -> None:
    """Remove the checkpoints; with `predictions` also predictions, which are an earlier head's (overwrite=true)."""
    for pattern in ("*.ckpt", *(["*.predictions.*"] if predictions else [])):
        for path in paths.work.glob(pattern):
            path.unlink()


def _cost(prepared: Prepared, trained: Trained) -> dict[str, Any]:
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
