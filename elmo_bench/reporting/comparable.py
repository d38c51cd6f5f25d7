"""Which systems are comparable, and how tables call each group of them."""

from collections import Counter
from re import findall
from typing import Any
from zlib import crc32

import pandas as pd

from elmo_bench.reporting.columns import fraction_of
from elmo_bench.reporting.names import amount_in_words, in_paper_order, task_title
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import QUICK

# Bytes of the start of a file's name. Each name has more, and 255 in all.
LONGEST_STEM = 100


def with_groups(systems: pd.DataFrame) -> pd.DataFrame:
    """The systems, sorted by suite, task in the paper's order, and group; the best test
    score of a group is first.

    A group is the systems with one `basis`. Of a task, groups on all of the data and
    with most encoders come first. Adds columns, equal for all systems of a group:

    - `amount`: of training data, in words; empty for all of it
    - `differs`: how its data, versions and size differ from the other groups of the
      task; may be empty
    - `note`: `differs`, control labels and the amount of training data
    - `title`, `group_name`: the task in words, and as an option, each with the note;
      `heading` has both
    - `stem`: the start of its file names
    - `home_title`, `home_heading`, `home_stem`: the same for any amount of training
      data
    - `metric_name`: the main score in English, such as `average F1`
    - `whole`: how many examples the whole training split has, if a run on all of it is
      known; missing otherwise

    and one that is not: `share`, the share of the training split that the system was
    trained on; missing if `whole` is.
    """
    table = systems.copy()
    if table.empty:
        return table.reindex(columns=[*table.columns, *_COLUMNS])
    table["amount"] = [amount_in_words(fraction_of(spec)) for spec in table.spec]
    table = table.sort_values(
        ["suite", "task", "test_mean"], ascending=[True, True, False]
    )
    groups = [
        _described(task) for _, task in table.groupby(["suite", "task", "labels"])
    ]
    table = table.join(pd.concat(groups), on="basis")
    table["share"] = [_share(row.spec, row.train, row.whole) for row in rows_of(table)]
    order = in_paper_order(set(table.task))
    table["_task_order"] = table.task.map(order.index)
    table["_is_part"] = table.fraction != ""
    table["_encoders"] = -table.groupby("basis").encoder_label.transform("nunique")
    table["_best_first"] = -table.test_mean
    of_group = ["suite", "_task_order", "labels", "_is_part", "_encoders"]
    of_group += ["version", "size", "data", "fraction"]
    table = table.sort_values([*of_group, "_best_first", "run_label", "hash"])
    return table.drop(columns=[name for name in table if name.startswith("_")])


_COLUMNS = [
    *("amount", "differs", "note", "title", "group_name", "heading", "stem"),
    *("home_title", "home_heading", "home_stem", "metric_name", "whole", "share"),
]


def _described(task: pd.DataFrame) -> pd.DataFrame:
    """The columns of each group of one suite, task and kind of labels, by basis."""
    differs = _differences(task)
    wholes = _whole_splits(task)
    aparts: dict[str, str] = {}
    notes: dict[str, str] = {}
    for basis, group in task.groupby("basis"):
        first = group.iloc[0]
        labels = f"{first.labels} labels" if first.labels else ""
        aparts[str(basis)] = _joined(differs[first.home], labels)
        notes[str(basis)] = _joined(aparts[str(basis)], first.amount)
    stems = _stems(task, {*aparts.values(), *notes.values()})
    groups: dict[str, dict[str, Any]] = {}
    for basis, group in task.groupby("basis"):
        first = group.iloc[0]
        apart, note = aparts[str(basis)], notes[str(basis)]
        metrics = "/".join(sorted(set(group.measure)))
        groups[str(basis)] = {
            "differs": differs[first.home],
            "note": note,
            "title": _joined(task_title(first.task), note),
            "group_name": _joined(first.task, note),
            "heading": _heading(first.task, note),
            "stem": stems[note],
            "home_title": _joined(task_title(first.task), apart),
            "home_heading": _heading(first.task, apart),
            "home_stem": stems[apart],
            "metric_name": metrics.replace("_", " ").replace("f1", "F1"),
            "whole": wholes.get(first.home),
        }
    return pd.DataFrame.from_dict(groups, orient="index")


def _differences(task: pd.DataFrame) -> dict[str, str]:
    """How data, versions and size of a task differ, in words, by home: empty if there
    is one of each.
    """
    homes = task.drop_duplicates("home").set_index("home")
    several = []
    for key in ("metric", "version", "size", "data"):  # the data last
        if homes[key].nunique() > 1:
            several.append(key)
    data_words = _data_in_words(task, homes)
    differences = {}
    for home, row in homes.iterrows():
        words = [f"{key}={row[key]}" for key in several]
        if "data" in several:
            words[-1] = data_words.get(str(home), words[-1])
        differences[str(home)] = _joined(*words)
    return differences


def _data_in_words(task: pd.DataFrame, homes: pd.DataFrame) -> dict[str, str]:
    """What distinguishes the data by home: options of the user's own data, else the
    number of training examples.

    Empty if neither does.
    """
    options = {str(home): _data_options(spec) for home, spec in homes.spec.items()}
    common = set.intersection(*options.values())
    different = {
        home: ", ".join(sorted(of_home - common)) for home, of_home in options.items()
    }
    if len(set(different.values())) == len(different):
        return different
    wholes = _whole_splits(task)
    if len(wholes) == len(set(wholes.values())) == len(homes):
        return {home: f"{count:,} examples" for home, count in wholes.items()}
    return {}


def _whole_splits(task: pd.DataFrame) -> dict[str, int]:
    """How many examples the whole training split has, by home, where a run on all of it
    is known.
    """
    whole = task[task.fraction == ""].drop_duplicates("home")
    return dict(zip(whole.home, whole.train, strict=True))


def _data_options(spec: RunSpec) -> set[str]:
    """The options that say which data of the user's own a run reads, such as the column
    of the label.
    """
    options = set()
    for key, value in spec.settings.items():
        if key.startswith("data.") and key not in FRACTION and value is not None:
            options.add(f"{key}={value}")
    return options


def _share(spec: RunSpec, train: int, whole: float | None) -> float | None:
    fraction = fraction_of(spec)
    if fraction.keys() <= {QUICK}:
        return 1.0
    if not pd.isna(whole):
        return train / whole  # type: ignore[operator]
    is_known = "data.train_fraction" in fraction and "data.max_train" not in fraction
    return float(fraction["data.train_fraction"]) if is_known else None


def _heading(task: str, note: str) -> str:
    """The task in words and by name, with the note."""
    title, name = task_title(task), _joined(task, note)
    return name if title == task else f"{title} ({name})"


def _stems(task: pd.DataFrame, notes: set[str]) -> dict[str, str]:
    """The start of the file names of a task, by note. Notes that have the same words,
    such as the columns `a b` and `a-b`, are told apart by a checksum, and long ones.
    """
    first = task.iloc[0]
    stems = {}
    for note in notes:
        words = findall(r"[\w.]+", note.replace("=", " ").replace(",", ""))
        stems[note] = "-".join([first.suite, first.task, *words])
    count = Counter(stems.values())
    named = {}
    for note, stem in stems.items():
        named[note] = shortened(stem, note)
        if named[note] == stem and count[stem] > 1:
            named[note] = f"{stem}-{crc32(note.encode()):08x}"
    return named


def shortened(stem: str, note: str) -> str:
    """The stem; of a long one its start, with a checksum of it and of the note that it
    is made of.
    """
    start = stem.encode()[:LONGEST_STEM].decode(errors="ignore")
    if start == stem:
        return stem
    return f"{start}-{crc32(f'{stem} {note}'.encode()):08x}"


def _joined(*parts: str) -> str:
    """The parts that are not empty."""
    return ", ".join(part for part in parts if part)
