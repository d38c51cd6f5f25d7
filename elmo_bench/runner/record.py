"""Step 4 of a run: keep its head and write its record."""

from dataclasses import asdict
from typing import Any

import torch

from elmo_bench import ledger
from elmo_bench.base.machine import peak_memory
from elmo_bench.base.progress import kernels_used
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.runner.evaluate import Outcomes
from elmo_bench.runner.predict import About, KeptHead, write_head
from elmo_bench.runner.prepare import Prepared
from elmo_bench.runner.train import Trained

PACKAGES = (
    "elmo-bench", "torch", "pytorch-lightning", "pytorch-crf", "datasets", "hydra-core", "wandb",
    "safetensors", "h5py", "numpy", "scipy", "transformers", "tokenizers", "seqeval",
)  # fmt: skip


def record(
    prepared: Prepared, trained: Trained, scores: Any, outcomes: Outcomes, paths: RunPaths, *, attempt: str
) -> Record:
    """Write the head, the outcomes and the record; then remove what is no longer needed. Returns the record."""
    setup, history = prepared.setup, trained.history
    spec: Any = prepared.spec.to_json()
    lexicon: Any = asdict(trained.lexicon)
    head: Any = trained.module.head
    about = About(spec=spec, vocabulary=trained.vocabulary, lexicon=lexicon, encoders=prepared.frozen.checksums)
    kept = write_head(paths.work / "head.safetensors", KeptHead(head.state_dict(), about))
    encoders = prepared.frozen.encoders.values()
    data: Any = {
        "counts": {split: len(examples) for split, examples in prepared.splits.items()},
        "notes": prepared.notes,
        "checks": prepared.checks,
    }
    environment: Any = {
        **ledger.environment(PACKAGES),
        "device": torch.cuda.get_device_name() if setup.device == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "precision": str(spec["settings"]["trainer.precision"]),
        "kernels": kernels_used(),
        **({"source": setup.source} if setup.source else {}),
    }
    curves: Any = history.curves
    made = Record(
        schema=ledger.SCHEMA,
        attempt=attempt,
        spec=spec,
        hash=paths.hash,
        seed=setup.seed,
        metric=trained.module.metric.main,
        formula=trained.module.metric.formula.name,
        selected_on="dev",
        scores=scores,
        outcomes=ledger.digest_of(outcomes),
        layer_weights=history.mixes,
        epochs={"run": len(history.scores), "best": history.best_epoch},
        curves=curves,
        parameters={
            "trainable": sum(p.numel() for p in head.parameters() if p.requires_grad),
            "frozen": sum(each.parameters for each in encoders) + getattr(head.embedder.words, "frozen", 0),
        },
        data=data,
        cost=_cost(prepared, trained),
        kept={"file": str(kept.relative_to(paths.folder)), "bytes": kept.stat().st_size},
        environment=environment,
        created=ledger.now(),
    )
    ledger.write_record(paths, made, outcomes)
    # Without predictions=true, any that are here are an earlier head's (overwrite=true).
    for pattern in ("*.ckpt", *([] if setup.predictions else ["*.predictions.*"])):
        for path in paths.work.glob(pattern):
            path.unlink()
    return made


def _cost(prepared: Prepared, trained: Trained) -> Any:
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
