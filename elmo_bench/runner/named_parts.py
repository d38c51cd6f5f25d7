"""The frozen parts that a record names, which may come from a stranger: only published
names are followed, and files that the user gives. Other files have other names.

Also the columns that the user names for `predict`."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.encoders.kinds import kind_of
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Record
from elmo_bench.spec.conf_files import choices
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import FILES, OWN_COLUMNS, name_of
from elmo_bench.spec.task_files import task_yaml

_WORD = re.compile(r"(\w[\w.-]*)?")


def check_names(spec: RunSpec, setup: Setup) -> None:
    """Raise UserError for a file or folder that the record would call by a published
    name, and for a name that a folder here has, too. Note an option of an encoder that
    `predict` takes from no record."""
    _note_options(spec)
    for options in setup.encoders.values():
        names = kind_of(options).names
        weights = options.get("weights")
        _check_name("weights", weights, names)
        is_taken = weights in names and Path(str(weights)).is_dir()
        if is_taken and spec.encoder not in choices("encoder"):
            raise UserError(
                f"encoder.name={weights}: a folder here, and the name of published "
                "weights. Rename the folder."
            )
    _check_name("vectors", setup.vectors, KNOWN)


def _note_options(spec: RunSpec) -> None:
    """Note an option of an encoder that `encoders_of` would refuse."""
    for part, options in spec.encoders().items():
        key = _not_plain(_options_of_load(options))
        if key is not None:
            where = f"encoder.contextual.parts.{part}" if part else "encoder.contextual"
            note(
                f"{where}.{key}={options[key]!r:.60}: no trained head can be used "
                "again with it. `predict` and `load` take a number, a word of letters, "
                "digits and _ . - (mean-max, not mean+max), or a list of these. A path "
                "belongs in `weights`."
            )


def _check_name(option: str, path: Any, names: Collection[str]) -> None:
    if path is not None and path not in names and name_of(path) in names:
        raise UserError(
            f"{option} {path}: records and tables would take it for the published "
            f"{name_of(path)}. Rename it."
        )


def encoders_of(
    spec: RunSpec, weights: str | None, vectors: str | None
) -> dict[str, dict[str, Any]]:
    """The options of a record's encoders, with the files that the user gave or with
    published ones. Raises UserError.

    weights: one name, or `PART=NAME,PART=NAME` for a stack.
    """
    parts = spec.encoders()
    weights_of = _weights_by_part(weights, parts)
    encoders = {}
    for part, options in parts.items():
        named = options.get("weights")
        published = kind_of(options).names
        encoder = _options_of_load(options)
        check_plain("encoder", encoder)
        encoder["kind"] = str(options["kind"])
        # An encoder of the user's may be without weights.
        chosen = weights_of.get(part)
        if published or chosen is not None or named is not None:
            encoder["weights"] = _known(named, published, chosen, "weights")
        inputs = options.get("inputs")
        if inputs is not None:
            encoder["inputs"] = vectors_of(spec, inputs, vectors)
        encoders[part] = encoder
    return encoders


def parts_to_give(spec: RunSpec) -> dict[str, str]:
    """{option: value} of `predict` and `load` for the parts that no published name has.

    The options are weights and vectors. PATH is where a path goes, of a stack
    PART=PATH,PART=PATH.
    """
    weights = []
    for part, options in spec.encoders().items():
        published = kind_of(options).names
        name = options.get("weights")
        is_needed = bool(published) or name is not None
        if is_needed and name not in published:
            weights.append(f"{part}=PATH" if part else "PATH")
    options = {}
    if weights:
        options["weights"] = ",".join(weights)
    if any(name not in KNOWN for name in _vectors_named(spec)):
        options["vectors"] = "PATH"
    return options


def flags_to_give(record: Record) -> list[str]:
    """The same for the command line, such as --vectors PATH."""
    flags = []
    for option, value in parts_to_give(RunSpec.of_record(record)).items():
        flags += [f"--{option}", value]
    return flags


def _vectors_named(spec: RunSpec) -> list[Any]:
    """The static vectors that a record names, of its encoders and of its words."""
    vectors = []
    for options in spec.encoders().values():
        if options.get("inputs") is not None:
            vectors.append(options["inputs"])
    if spec.settings.get("encoder.words") == "static":
        vectors.append(spec.settings.get("encoder.vectors"))
    return vectors


def check_vectors(spec: RunSpec, vectors: str | None) -> None:
    """Raises UserError for vectors that no part of the record's run reads."""
    if vectors is not None and not _vectors_named(spec):
        raise UserError(
            f"--vectors {vectors}: the run has no static vectors. Leave it out."
        )


def columns_of(task: str, options: Sequence[str]) -> dict[str, str]:
    """{key: column} of options such as `data.text=body`. Raises UserError."""
    of_data = task_yaml(task).get("data", {}).keys() - {"alike"}  # merges labels
    offered = [key for key in OWN_COLUMNS if key in of_data]
    values = {"columns": "FORM", "scheme": "SCHEME"}  # the others are columns
    named = {}
    for option in options:
        key, _, name = option.removeprefix("data.").partition("=")
        if key not in offered or not name:
            fit = [
                f"data.{column}={values.get(column, 'COLUMN')}" for column in offered
            ]
            raise UserError(
                f"{option}: not the option of a column of task={task}. "
                f"It has: {', '.join(fit) or 'none'}"
            )
        named[key] = name
    return named


def _options_of_load(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an encoder without its kind, its version and its files."""
    others = {}
    for key, value in options.items():
        if key not in ("kind", "version", *FILES) and value is not None:
            others[key] = value
    return others


def _weights_by_part(
    weights: str | None, parts: Mapping[str, Any]
) -> dict[str, str | None]:
    """The weights that the user gave. Raises UserError for an unknown part."""
    if weights is None or "" in parts:
        return {"": weights}
    by_part: dict[str, str | None] = {}
    for pair in weights.split(","):
        part, _, name = pair.partition("=")
        by_part[part] = name
    wrong = by_part.keys() - {"", *parts}
    if wrong:
        advice = "Leave out --weights: it has no encoder."
        if parts:
            advice = f"Give PART=NAME of: {', '.join(parts)}."
        raise UserError(f"--weights {weights}: no part {min(wrong)}. {advice}")
    return by_part


def check_plain(part: str, options: Mapping[str, Any]) -> None:
    """Raises UserError unless the options of a record are null, a number, a word (or an
    empty one), or a list of these."""
    key = _not_plain(options)
    if key is not None:
        raise UserError(
            f"the record's {part} has {key}={options[key]!r:.60}, which is not a "
            "number or a word"
        )


def _not_plain(options: Mapping[str, Any]) -> str | None:
    """The first option that is not plain: see `check_plain`. None if all are."""
    for key, value in options.items():
        items = value if isinstance(value, list) else [value]
        if not all(map(_is_plain, items)):
            return key
    return None


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    return value is None or isinstance(value, int | float)


def vectors_of(spec: RunSpec, name: Any, chosen: str | None) -> str:
    """As `_known`.

    Where the record has published vectors and others, `chosen` is the others.
    """
    names = set()
    for key, value in spec.settings.items():
        if key.endswith((".vectors", ".inputs")) and isinstance(value, str):
            names.add(value)
    is_meant = name not in KNOWN or names <= {*KNOWN}
    return _known(name, KNOWN, chosen if is_meant else None, "vectors")


def _known(
    name: Any, published: tuple[str, ...], chosen: str | None, option: str
) -> str:
    """The path or name that the user gave, else the record's if it is published.

    A record's path is never opened.
    """
    if chosen is not None:
        return chosen
    if name not in published:
        raise UserError(
            f"the record's {option} ({name!r:.60}) are not published. "
            f"Say where they are: --{option} PATH, in Python load(…, {option}=PATH)."
        )
    return str(name)
