"""The ledger as one pandas data frame."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from elmo_bench.ledger import Record, check_exists, read_all
from elmo_bench.reporting.gains import over_baseline
from elmo_bench.reporting.rows import score_of, select
from elmo_bench.spec.run_spec import RunSpec, converged


def results(ledger: str | Path = "results/runs", *, suite: str | None = None) -> pd.DataFrame:
    """Read a ledger: one row a finished run, that is a record; sorted by suite, task, encoder, label and seed.

    | columns | meaning |
    |---|---|
    | `suite`, `task`, `encoder`, `size`, `hash`, `seed` | which run |
    | `label` | the options that differ from the default run, such as `mix=last, place=both`; empty for the default |
    | one column for each such option, such as `mix.penalty` | its value as a text; missing where it is the default |
    | `metric`, `dev`, `test` | the main score of the best epoch, in percent |
    | `gain` | test score less the mean test score of the baseline's seeds on the same data, missing without one |
    | `epochs`, `best_epoch`, `converged` | epochs that were trained and the best of them, from 1; enough of them |
    | `train`, `dev_items`, `test_items` | how many examples |
    | `minutes`, `cpu_seconds`, `tokens_per_second`, `peak_memory_mib` | cost: wall time of the run, processor time |
    | `trainable`, `frozen` | how many numbers |
    | `task_version`, `protocol`, `data` | versions; the digest of all examples |
    | `cpu`, `device`, `threads`, `precision`, `torch`, `commit` | where |
    | `current` | false if a newer run with equal settings and other contents replaced it, as in reports |
    | `created` | when it finished, UTC |

    Raises UserError if there is no such folder; warns of each file that was skipped.
    """
    check_exists(Path(ledger))
    read = read_all(Path(ledger), suite=suite, sums=True)
    for problem in read.problems:
        warnings.warn(problem, stacklevel=2)
    pairs, order = over_baseline(select(read.records).rows), ["suite", "task", "encoder", "label", "seed", "hash"]
    means = {row.newest["hash"]: base.summary("test").mean for row, base in pairs if base}
    names = {row.newest["hash"]: row.name for row, _ in pairs}
    frame = pd.DataFrame([_run(r, means.get(r["hash"]), names.get(r["hash"])) for r in read.records])
    return frame.sort_values(order, ignore_index=True) if len(frame) else frame


def _run(record: Record, baseline: float | None, name: str | None) -> dict[str, Any]:
    spec, where, cost = RunSpec(**record["spec"]), record["environment"], record["cost"]
    test, counts = score_of(record, "test"), record["data"]["counts"]
    return {
        **{"suite": spec.suite, "task": spec.task, "encoder": name or spec.encoder, "size": spec.size},
        **{key: record[key] for key in ("hash", "seed")},  # type: ignore[literal-required]
        "label": spec.label,
        "metric": record["metric"],
        "dev": score_of(record, "dev"),
        "test": test,
        "gain": None if baseline is None else test - baseline,
        "epochs": record["epochs"]["run"],
        "best_epoch": record["epochs"]["best"],
        "converged": converged(record),
        **{"train": counts["train"], "dev_items": counts["dev"], "test_items": counts["test"]},
        "minutes": cost["seconds"] / 60,
        **{key: cost[key] for key in ("cpu_seconds", "tokens_per_second", "peak_memory_mib")},  # type: ignore[literal-required]
        **record["parameters"],
        **{"task_version": spec.settings.get("task.version"), "protocol": spec.protocol},
        "data": str((spec.contents or {}).get("data", ""))[:12],
        **{key: where[key] for key in ("cpu", "device", "threads", "precision", "commit")},  # type: ignore[literal-required]
        "torch": where["packages"].get("torch"),
        "current": name is not None,
        "created": record["created"],
        **spec.changes,
    }
