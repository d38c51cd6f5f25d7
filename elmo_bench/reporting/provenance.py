"""What a page says of its runs: on which data, on which machines, and which are old."""

from typing import Any

import pandas as pd

from elmo_bench.reporting.names import counted, data_name
from elmo_bench.reporting.rows import rows_of


def data_lines(systems: pd.DataFrame) -> list[str]:
    """What the systems of each group were trained and scored on."""
    lines = []
    for group in rows_of(systems.drop_duplicates("basis")):
        counts = (
            f"{group.train:,} train, {group.dev_items:,} dev, {group.test_items:,} test"
        )
        facts = [data_name(group.task, group.suite), counts, f"size {group.size}"]
        facts += [f"version {group.version}", f"digest {group.data}"]
        listed = "; ".join(fact for fact in facts if fact)
        line = f"{group.title} ({group.group_name}): {listed}."
        notes = "; ".join(note.rstrip(".") for note in group.notes)
        lines.append(f"{line} Notes: {notes}." if notes else line)
    return lines


def machines(runs: pd.DataFrame) -> list[str]:
    """How many runs came from which hardware and code, and the hours they took."""
    minutes: dict[str, list[float]] = {}
    for run in rows_of(runs):
        minutes.setdefault(_machine(run), []).append(run.work_minutes)
    lines = []
    for machine, of_runs in sorted(minutes.items()):
        hours = sum(of_runs) / 60
        lines.append(f"{machine}: {counted(len(of_runs))}, {hours:.1f} hours")
    corrected = sum(bool(keys) for keys in runs.corrected)
    if corrected:
        lines.append(f"Corrected records: {corrected}; the records say what")
    if len(minutes) < 2:
        return lines
    hours = runs.work_minutes.sum() / 60
    return [
        *lines,
        f"In total: {counted(len(runs))}, {hours:.1f} hours of computing",
    ]


def _machine(run: Any) -> str:
    """The hardware, the precision and the code of a run."""
    torch = f", torch {run.torch}" if run.torch else ""
    commit = f"commit {run.commit[:10]}" if run.commit else "no git commit"
    changes = " with uncommitted changes" if run.environment.dirty else ""
    return ", ".join([
        run.cpu if run.device == "cpu" else f"{run.device} ({run.cpu})",
        counted(run.threads, "thread"),
        f"{run.precision}{torch}",
        f"{commit}{changes}",
    ])  # fmt: skip


def superseded(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """(path of the old runs, what replaced them and why: the settings and contents that
    differ).
    """
    lines = []
    specs = dict(zip(runs.hash, runs.spec, strict=True))
    old = runs[~runs.current].sort_values(
        ["suite", "task", "run_label", "hash", "seed"]
    )
    for run_hash, of_hash in old.groupby("hash", sort=False):
        run = of_hash.iloc[0]
        before, after = _settings(run.spec), _settings(specs[run.replaced_by])
        changed = sorted(
            key
            for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)
        )
        word = "seed" if len(of_hash) == 1 else "seeds"
        seeds = f"{word} {', '.join(map(str, of_hash.seed))}"
        path = "/".join([run.suite, run.task, run.spec.encoder, str(run_hash)])
        lines.append(
            (path, f"({seeds}) by {run.replaced_by}; changed: {', '.join(changed)}")
        )
    return lines


def _settings(spec: Any) -> dict[str, Any]:
    return {**spec.settings, **(spec.contents or {})}
