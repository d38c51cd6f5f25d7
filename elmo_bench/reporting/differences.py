"""What a run changes, read off its record alone: a record holds the defaults of its task beside what was chosen.

So rows are told apart by what they did, whatever the experiment or command that asked for it was called.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from elmo_bench.ledger import Record, canonical, dotted, spelled

PART = ("data.train_fraction", "data.max_train", "data.least_steps")  # what makes a run one on part of the data
_SPELLED = {"mix.kind": "mix"}  # as on the command line


def changes(record: Record) -> dict[str, str]:
    """key=value, sorted by key, as one would give them to `run.py`, that set this run apart from the plain one of its
    suite, task and encoder; without the size, which tells columns apart and not rows.

    Overrides that the record names and that its settings do not show (an option of a head, say) are there too.
    """
    settings, plain = dotted(record["identity"]["settings"]), _defaults(record["config"])
    found = {
        _SPELLED.get(key, key): spelled(settings[key])
        for key, usual in plain.items()
        if key in settings and canonical(settings[key]) != canonical(usual) and _told(key, settings[key])
    }
    if not {"mix", "mix.kind", "experiment"} & {override.partition("=")[0] for override in record["overrides"]}:
        found.pop("mix", None)  # nobody asked for it: it is the encoder's own
    for override in record["overrides"]:
        key, _, value = override.lstrip("+~").partition("=")
        if key not in ("experiment", "size"):  # an experiment's name says nothing of what it changed
            found.setdefault(key, value)
    return dict(sorted(found.items()))


def settings_apart(records: Sequence[Record]) -> list[dict[str, str]]:
    """For each record the settings, by dotted key, in which these records are not all the same."""
    flat = [dotted(record["identity"]["settings"]) for record in records]
    keys = sorted({key for one in flat for key in one})
    apart = [key for key in keys if len({canonical(one.get(key)) for one in flat}) > 1]
    return [{key: spelled(one.get(key)) for key in apart} for one in flat]


def _defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """The plain run's settings by dotted key, as far as a record's config tells them."""
    task, suite = config.get("task") or {}, config.get("suite") or {}
    plain: dict[str, Any] = {"data.train_fraction": 1.0, "data.max_train": None, "data.least_steps": None}
    plain |= {"store.dtype": "float32"}
    plain |= {"mix.kind": "scalar", "mix.gamma": True, "mix.scalars": None, "mix.layer": None}
    plain |= {f"mix.{key}": value for key, value in task.get("mix", {}).items()}
    plain |= {"vectors.trainable": (task.get("vectors") or {}).get("trainable")}
    plain |= {"place": task["place"]} if "place" in task else {}
    return plain | {f"encoder.{key}": suite[key] for key in ("weights", "vectors") if key in suite}


def _told(key: str, value: Any) -> bool:
    """Weights that have no name stand as their checksum in the settings; the override has the name of the file."""
    return not (key.startswith("encoder.") and (value is None or len(str(value)) >= 64))
