"""Lines on the runs of a ledger: which tables leave out, and which do not compare."""

from collections import Counter, defaultdict

import pandas as pd

from elmo_bench.reporting.frame import shown
from elmo_bench.reporting.names import counted
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.task_files import reads_own_data


def left_out(runs: pd.DataFrame) -> list[str]:
    """A line for each task and encoder of which runs are left out, and why."""
    unknown = runs[runs.left_out != ""]
    counts = Counter(zip(unknown.task, unknown.encoder, unknown.left_out, strict=True))
    return [
        f"task {task}, encoder {encoder}: {counted(count)} left out, since {why}."
        for (task, encoder, why), count in sorted(counts.items())
    ]


def remarks(runs: pd.DataFrame) -> list[str]:
    """Lines on runs that do not compare: on another file of the same name, and by other
    code.
    """
    data_of = dict(zip(runs.hash, runs.data, strict=True))
    lines = set()
    for run in rows_of(runs[~runs.current]):
        if reads_own_data(run.task) and run.data != data_of[run.replaced_by]:
            lines.add(
                f"{run.task} on suite {run.suite}: runs on an earlier file of this "
                "name are left out. If it is another file, and no older version, make "
                "its runs with a name of their own: suite.name=NAME."
            )
    return [*sorted(lines), *mixed_code(shown(runs))]


def mixed_code(runs: pd.DataFrame) -> list[str]:
    """A line for each run, and for each task of comparable runs, that different code in
    an included folder made.
    """
    digests: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for run in rows_of(runs):
        code = run.environment.code
        if "task" in code:
            digests[run.basis, "task", f"{run.task} on suite {run.suite}"].add(
                code["task"]
            )
        if "encoder" in code:
            digests[run.hash, "encoder", f"{run.task} {run.run_label}"].add(
                code["encoder"]
            )
    return [
        f"{name}: the code of the {part} changed between these runs, so their scores "
        "do not compare. Make the older ones again: overwrite=true."
        for (_, part, name), different in digests.items()
        if len(different) > 1
    ]
