"""Finished runs, found without reading data and weights: imports no torch.

A run is finished if the ledger has a record of its settings and its seed, or of any
seed if nothing is drawn, and the `files` of this record are today's. A record has no
`files` if an earlier version wrote it, or if a file was new when the run read it; then
the run does the full work, and adds them.
"""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from elmo_bench.base import include
from elmo_bench.base.downloads import SETTLED, Content, local_files_only
from elmo_bench.base.errors import UserError, name_text
from elmo_bench.base.json import canonical
from elmo_bench.base.sources import MissingData
from elmo_bench.encoders.kinds import Inputs, inputs_of
from elmo_bench.encoders.static import path_of
from elmo_bench.ledger import Copies, RunPaths, read_all, settings_key
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec, is_drawn
from elmo_bench.spec.settings import FILES

MANY = 32  # files of one kind that a record names one by one
Files = dict[str, str]
# The runs of one encoder by settings key, each with the files of its record.
Runs = dict[str, list[tuple[RunPaths, Files | None]]]


class Finished:
    """The finished runs of a ledger. Files and records are read once."""

    def __init__(self, ledger: Path):
        self._ledger = ledger
        self._files: dict[str, Files | None] = {}
        self._runs: dict[tuple[str, str, str], Runs] = {}

    def find(self, spec: RunSpec, setup: Setup, seed: int) -> RunPaths | None:
        """The paths of the run's record, if it has one on today's files."""
        seeds = self._records(spec).get(spec.key, [])
        candidates = [run for run in seeds if run[0].seed == seed]
        if seeds and spec.deterministic:
            candidates += seeds
        if not candidates:
            return None
        today = self._today(spec, setup)
        for paths, files in candidates:
            if today is not None and files == today:
                return paths
        return None

    def _records(self, spec: RunSpec) -> Runs:
        """The runs of this suite, task and encoder.

        A damaged record is none: the run's process will say what is wrong with it.
        """
        group = (spec.suite, spec.task, spec.encoder)
        if group not in self._runs:
            runs: Runs = {}
            copies = Copies(is_drawn)
            for record in read_all(self._ledger, group, copies=copies).records:
                run = RunPaths.of(self._ledger, record), record.files
                runs.setdefault(settings_key(record.spec), []).append(run)
            self._runs[group] = runs
        return self._runs[group]

    def _today(self, spec: RunSpec, setup: Setup) -> Files | None:
        words = spec.settings.get("encoder.words")
        locations = canonical([spec.task, spec.suite, words, setup.locations])
        if locations not in self._files:
            self._files[locations] = files_today(spec, setup)
        return self._files[locations]


def files_today(spec: RunSpec, setup: Setup) -> Files | None:
    """The `files` of a record that the run would write now; None if that is unknown.

    {name: SHA-256} of the files of data, weights and vectors, by the rule of
    `base/downloads.py`; and {name: version} of packages and {name: digest} of included
    code that decide what is read from them. Downloads nothing.
    """
    # A file is gone, or an included task fails: the run will report it.
    with suppress(Exception), local_files_only():
        inputs = {part: inputs_of(encoder) for part, encoder in setup.encoders.items()}
        files: Files = {}
        for kind, paths in _paths(spec, setup, inputs).items():
            files |= _digests(kind, paths)
        for of_part in inputs.values():
            for package in of_part.packages:
                files[f"package/{package}"] = metadata.version(package)
        for part, digest in spec.code.items():
            files[f"code/{part}"] = digest
        return files
    return None


def files_read(
    spec: RunSpec, setup: Setup, encoders: Mapping[str, Any], *, started: float
) -> Files | None:
    """The `files` of the record of a run that has read them.

    encoders: by their part of a stack. None if a file may have changed since the run
    `started` (seconds, as time.time()), and if an encoder may have read others.
    """
    with suppress(Exception), local_files_only():
        inputs = {part: inputs_of(encoder) for part, encoder in setup.encoders.items()}
        for part, encoder in encoders.items():
            if not _is_all(inputs[part], encoder, setup.encoders[part]):
                return None
        for paths in _paths(spec, setup, inputs).values():
            for path in paths:
                state = path.stat()
                if max(state.st_mtime, state.st_ctime) >= started - SETTLED:
                    return None
        return files_today(spec, setup)
    return None


def _is_all(inputs: Inputs, encoder: Any, options: Mapping[str, Any]) -> bool:
    """Whether an encoder that was loaded has read these files, and no others."""
    stated = getattr(encoder, "files", getattr(encoder, "inputs", None))
    if stated is None:
        takes_files = any(option in options for option in FILES)
        return not takes_files and not encoder.parameters
    listed = {path.resolve() for path in inputs.files}
    packages = set(getattr(encoder, "packages", ()))
    return listed >= {Path(path).resolve() for path in stated} and packages <= {
        *inputs.packages
    }


def _paths(
    spec: RunSpec, setup: Setup, inputs: Mapping[str, Inputs]
) -> dict[str, list[Path]]:
    """The files of a run by what they are. Raises UserError."""
    paths = {"data": data_files_of(spec, setup)}
    for part, of_part in inputs.items():
        paths[f"weights {part}".strip()] = of_part.files
    if spec.settings.get("encoder.words"):
        paths["vectors"] = [path_of(str(setup.vectors))]
    return paths


def _digests(kind: str, paths: Sequence[Path]) -> Files:
    """The SHA-256 of each file by its name; of many files, one of all together."""
    names = [name_text(path.name) for path in paths]
    digests = [Content(path).sha256 for path in paths]
    if len(paths) > MANY:
        text = "".join(
            f"{name} {digest}\n" for name, digest in zip(names, digests, strict=True)
        )
        return {f"{kind}/{len(paths)} files": hashlib.sha256(text.encode()).hexdigest()}
    files = {}
    for number, (name, digest) in enumerate(zip(names, digests, strict=True), start=1):
        is_unique = names.count(name) == 1
        files[f"{kind}/{name}" if is_unique else f"{kind}/{number}/{name}"] = digest
    return files


def data_files_of(spec: RunSpec, setup: Setup) -> list[Path]:
    """The files of a run's data.

    Raises UserError, which says how to get a missing file.
    """
    data = task_class(spec.task, "data")(**setup.data)
    try:
        return [Path(path) for path in data.files(spec.suite, setup.data_root)]
    except MissingData as error:
        advice = _how_to_get(spec, setup)
        raise UserError(f"{error} {advice}".rstrip()) from None


def _how_to_get(spec: RunSpec, setup: Setup) -> str:
    """How to get the data of a suite; "" if its yaml does not say it."""
    fetch = setup.data[spec.suite].get("fetch") or ""
    if not isinstance(fetch, str):
        words = ["elmo-bench", *include.options(), "fetch"]
        if spec.suite != "open":
            words += ["--suite", spec.suite]
        words += ["--task", spec.task, "--root", "FOLDER"]
        return f"Download it: {shlex.join(words)}"
    sentence = f"{fetch[:1].upper()}{fetch[1:]}".rstrip(".")
    return f"{sentence}." if sentence else ""
