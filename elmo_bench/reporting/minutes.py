"""What the runs of the suite's tables take, by task: minutes, and memory at most."""

from collections.abc import Sequence

import pandas as pd

from elmo_bench.reporting.formats import number, words
from elmo_bench.reporting.published import of_processors
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import Table, make_table, wide
from elmo_bench.spec.experiments import MAIN, Experiment


def minutes_table(
    runs: pd.DataFrame, systems: pd.DataFrame, tables: Sequence[Table]
) -> Table:
    """Mean minutes of the runs in these tables, and the memory that one of them took at
    most.

    Minutes are `work_minutes`: of processor time, on a GPU of wall time.
    """
    anchors = set().union(*(table.anchors(table.lines) for table in tables))
    systems = systems[systems.anchor.isin(anchors)]
    peaks = runs.groupby("hash").peak_memory_mib.max()
    systems = systems.assign(peak=systems.hash.map(peaks))
    most = systems.groupby("basis").peak.max() / 1024
    frame = wide(
        systems.assign(gib=systems.basis.map(most)),
        "basis",
        "encoder_label",
        ["work_minutes"],
    )
    formats = [words("minutes", "heading")]
    names = sorted(set(systems.encoder_label), key=Experiment.load(MAIN).position)
    formats.extend(number(name, f"{name} work_minutes", ".1f") for name in names)
    formats.append(number("memory, at most", "gib", ".1f", suffix=" GiB"))
    made_on = [
        (f"{system.encoder_label} on {system.heading}", system.processors)
        for system in rows_of(systems)
    ]
    return make_table("minutes", "", frame, formats, notes=[of_processors(made_on)])
