"""The ledger as a pandas data frame."""

import warnings
from pathlib import Path

import pandas as pd

from elmo_bench.base.include import include_given
from elmo_bench.ledger import Copies, check_exists, read_all
from elmo_bench.reporting.frame import runs, shown, systems
from elmo_bench.reporting.pairs import baseline_pairs
from elmo_bench.reporting.remarks import left_out, remarks
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import is_drawn

COLUMNS = [
    *(
        "suite",
        "task",
        "encoder",
        "size",
        "hash",
        "seed",
        "label",
        "metric",
        "dev",
        "test",
        "checked",
        "gain",
    ),
    *("epochs", "best_epoch", "converged", "train", "dev_items", "test_items"),
    *(
        "minutes",
        "cpu_seconds",
        "tokens_per_second",
        "peak_memory_mib",
        "trainable",
        "frozen",
    ),
    *(
        "task_version",
        "protocol",
        "data",
        "cpu",
        "device",
        "threads",
        "precision",
        "commit",
        "torch",
    ),
    *("current", "created", "record"),
]


def results(
    ledger: str | Path = "results/runs", *, suite: str | None = None
) -> pd.DataFrame:
    """Read a ledger: one row a finished run, that is a record; sorted by suite, task,
    encoder, label and seed.

    The columns:

    - `suite`, `task`, `encoder`, `size`, `hash`, `seed`: which run
    - `label`: the options that differ from the default run, such as `mix=last,
      place=both`; empty for the default
    - one column for each such option, such as `mix.penalty`: its value as a text;
      missing where it is the default
    - `metric`, `dev`, `test`: the main score of the best epoch, in percent
    - `checked`: whether the scores were computed again from the outcomes; false if
      the task is not installed
    - `gain`: test score less the mean test score of the baseline's seeds on the
      same data, missing without one and of a tuned encoder
    - `epochs`, `best_epoch`, `converged`: epochs that were trained and the best of
      them, from 1; enough of them
    - `train`, `dev_items`, `test_items`: how many examples
    - `minutes`, `cpu_seconds`, `tokens_per_second`, `peak_memory_mib`: cost: wall
      time of the run, processor time
    - `trainable`, `frozen`: how many numbers
    - `task_version`, `protocol`, `data`: versions; the digest of all examples
    - `cpu`, `device`, `threads`, `precision`, `torch`, `commit`: where
    - `current`: false if a newer run with equal settings and other contents
      replaced it, as in reports
    - `created`: when it finished, UTC
    - `record`: the path of its file, where `compare` finds the outcomes

    The folders of `$ELMO_BENCH_INCLUDE` are included; a run of a task or an encoder
    that is in none has its hash as the label, and no gain.

    Raises UserError if there is no such folder; warns of each file that was skipped,
    and of such runs.
    """
    check_exists(Path(ledger))
    include_given([])
    within = [suite] if suite else ()
    copies = Copies(is_drawn)
    read = read_all(Path(ledger), within, metrics=metric_of, copies=copies)
    frame = runs(Path(ledger), read.records)
    for problem in [*read.problems, *left_out(frame), *remarks(frame)]:
        warnings.warn(problem, stacklevel=2)
    frame["gain"] = frame.test - _baselines(frame)
    frame["record"] = [str(paths.record) for paths in frame.paths]
    options = [
        {key: value for key, value in spec.changes.items() if key not in COLUMNS}
        for spec in frame.spec
    ]
    changed = pd.DataFrame(options, index=frame.index, dtype=object)
    table = pd.concat([frame[COLUMNS], changed], axis=1)
    return table.sort_values(
        ["suite", "task", "encoder", "label", "seed", "hash"], ignore_index=True
    )


def _baselines(frame: pd.DataFrame) -> pd.Series:
    """For each run the mean test score of the baseline's seeds on the same data;
    missing without one.
    """
    current = systems(shown(frame))
    pairs = baseline_pairs(current)
    means = pairs.set_index("ours").theirs.map(current.test_mean)
    return frame.hash.map(means).astype(float)
