"""What it takes to use systems on data of the user's own: MiB to ship, ms a text."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import pandas as pd

from elmo_bench.reporting.formats import words
from elmo_bench.reporting.names import short
from elmo_bench.reporting.tables import Format, Line, present

SERVING = {"MiB to ship": "ship_mib", "ms a text": "text_ms"}


def serving(systems: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The cells of what it takes to use systems; empty where that is unknown."""
    cells = {}
    for name in SERVING.values():
        figures = [system[name] for system in systems]
        if any(map(isnan, figures)):
            cells[name] = ""
        else:
            cells[name] = " and ".join(map(short, figures))
    return cells


def serving_formats(lines: Sequence[Mapping[str, str]]) -> list[Format]:
    """The columns of `serving` that some line has."""
    formats = []
    for heading, name in SERVING.items():
        if any(line[name] for line in lines):
            formats.append(words(heading, name))
    return formats


def serving_numbers() -> list[Format]:
    """The columns of what each system takes to use, as numbers."""
    return [_number(heading, name) for heading, name in SERVING.items()]


def _number(heading: str, name: str) -> Format:
    def text(line: Line) -> str:
        figure = present(line.get(name))
        return "" if figure is None else short(figure)

    return Format(heading, text, {"": name})


def serving_columns(chosen: pd.DataFrame) -> dict[str, list[str]]:
    """What each system takes to use, by its label; none for several tasks."""
    if chosen.task_name.nunique() > 1 or not chosen.ship_mib.notna().all():
        return {}
    columns = {}
    for system in chosen.to_dict("records"):
        columns[system["encoder_label"]] = list(serving([system]).values())
    return columns
