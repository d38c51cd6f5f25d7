"""The `changes` that a record states, compared with its settings."""

from collections.abc import Mapping
from typing import Any

from elmo_bench.spec.allowed import VERSIONS
from elmo_bench.spec.options import spelled
from elmo_bench.spec.settings import ABSENT, METRIC, OWN, invented

# No change of the user's: versions of code, names of the user's files and columns, and
# what is scored.
UNCHANGED = {*VERSIONS, METRIC, *(f"data.{key}" for key in OWN)}


def has_changes(settings: Mapping[str, Any], changes: Mapping[str, str]) -> bool:
    """Whether the settings of a run have the changes that its record states.

    A command and a label are made of changes, so each must be in the settings. A change
    that the record does not state is not noticed here: `check` and `merge` compute all
    changes again, `report` and `compare` do not.
    """
    values = {**ABSENT, **settings}
    for key in changes.keys() - UNCHANGED - {"head"}:
        if key in values:
            value = spelled(values[key])
        elif key.startswith("encoder.contextual.") and not invented({key: None}):
            value = "null"  # in no settings
        else:
            return False
        if changes[key] != value:
            return False
    return True
