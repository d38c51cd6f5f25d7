"""Finished runs, found without reading data and weights, and the state of every run of a plan: imports no torch.

A run is finished if its record is in the folder that the digests of today's files lead to. Computing these digests
takes parsing and encoders, so the cache folder has a memo of them, by the options that say where data, weights and
vectors are and by the code that reads them, with the digests of their files. Files are hashed again, large ones by the
rule of `base/downloads.py`. Without a memo the run does the full work, and writes one.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from elmo_bench.base.downloads import SETTLED, Content, cache_folder
from elmo_bench.base.files import atomic_write, sha256_of
from elmo_bench.base.json import digest, read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger import Record, RunPaths, read_all, read_holders, settings_key
from elmo_bench.ledger.schema import check
from elmo_bench.ledger.store import remove_failure
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec, Setup, converged

if TYPE_CHECKING:
    from elmo_bench.runner.prepare import Frozen
    from elmo_bench.runner.sweep import PlannedRun


MAX_BYTES = 2**24  # of a memo: the data of a suite may be thousands of files
_PACKAGE = Path(__file__).parents[1]
Sources = dict[str, Any]


class Memo(TypedDict):
    """What was read: the `contents` of a spec."""

    contents: dict[str, Any]
    files: dict[str, str]  # digests of the files that it was read from, by path


def sources_of(spec: RunSpec, setup: Setup) -> Sources:
    """The options that say where data, weights and vectors are: a spec knows the last component of a path alone."""
    words = spec.settings.get("encoder.words")
    return {
        "task": spec.task,
        "version": spec.settings.get("task.version"),
        "suite": spec.suite,
        "data": setup.data,
        "root": str(setup.data_root or ""),
        "encoder": {"words": words, "vectors": setup.vectors, "contextual": setup.encoders},
        "place": setup.source,  # in a record too, unlike the rest: tells two encoders of one name apart
    }


def finished(ledger: Path, spec: RunSpec, seed: int, contents: Mapping[str, Any] | None) -> RunPaths | None:
    """The paths of the run's record, if it has one on these contents.

    Then the failure of an attempt that could not read its data goes.
    """
    if contents is None:
        return None
    paths = RunPaths(ledger, spec.suite, spec.task, spec.encoder, spec.with_contents(contents).hash, seed)
    if not paths.record.exists():
        return None
    remove_failure(replace(paths, hash=spec.key))
    return paths


def contents_of(sources: Sources) -> dict[str, Any] | None:
    """The `contents` of a spec that today's files give; None if there is no memo of them."""
    with suppress(Exception):  # a file is gone, there is no sound memo, or a task fails, which its run will report
        memo = read_memo(_memo(sources))
        same_files = {*map(str, data_files(sources))} <= memo["files"].keys()
        if same_files and all(_digest(Path(path)) == known for path, known in memo["files"].items()):
            return memo["contents"]
    return None


def remember(sources: Sources, contents: Mapping[str, Any], frozen: "Frozen", *, started: float) -> None:
    """Write the memo of what a run read: its contents, and the frozen parts that it loaded.

    There is none if an encoder does not say which files it was loaded from, or if a file may have changed since the run
    `started` (seconds, as time.time()).
    """
    with suppress(Exception):  # a run that can be made needs no memo
        if (own := _files(sources, frozen)) is None:
            return
        digests = {str(path): _digest(path) for path in (*data_files(sources), *own)}
        if all(_last_change(Path(path)) < started - SETTLED for path in digests):
            write_memo(_memo(sources), {"contents": dict(contents), "files": digests})


def _files(sources: Sources, frozen: "Frozen") -> list[Path] | None:
    """What the frozen parts were loaded from: files, and for the names in them the folders of an encoder's files."""
    from elmo_bench.encoders.static import path_of

    files: list[Path] = []
    for encoder in frozen.encoders.values():
        own = getattr(encoder, "files", getattr(encoder, "inputs", None))
        if own is None and encoder.parameters:
            return None
        files += [path.resolve() for file in own or () for path in (Path(file), Path(file).parent)]
    return [*files, *([path_of(sources["encoder"]["vectors"]).resolve()] if frozen.width else [])]


def data_files(sources: Sources) -> list[Path]:
    """The files of a run's data. Raises UserError where one is missing."""
    data = task_class(sources["task"], "data")(**sources["data"])
    root = Path(sources["root"]) if sources["root"] else None
    return [Path(path) for path in data.files(sources["suite"], root)]


def how_to_get(spec: RunSpec, setup: Setup) -> str:
    """One or two sentences from the suite's node `fetch`: a list of downloads, or text."""
    fetch = setup.data[spec.suite].get("fetch") or ""
    if isinstance(fetch, str):
        return f"{fetch[:1].upper()}{fetch[1:]}".rstrip(".") + "." if fetch else ""
    which = "" if spec.suite == "open" else f"--suite {spec.suite} "
    return f"Download it: elmo-bench fetch {which}--task {spec.task} --root FOLDER"


def _memo(sources: Sources) -> Path:
    """By the current folder too, since options may name files in it."""
    tasks = (Path(root, sources["task"]) for root in import_module("elmo_bench.tasks").__path__)
    encoders = map(Path, import_module("elmo_bench.encoders").__path__)
    code = _code("base", "text", "elmo", *tasks, *encoders)
    return cache_folder() / "contents" / f"{digest([sources, str(Path.cwd()), code])}.json"


@reader
def read_memo(memo: Path) -> Memo:
    check(value := read_json(memo, max_bytes=MAX_BYTES), Memo, str(memo))
    return value


def write_memo(memo: Path, value: Memo) -> None:
    with atomic_write(memo, "w") as handle:
        json.dump(value, handle)


def _digest(path: Path) -> str:
    """The SHA-256 of a file, or a digest of the names in a folder."""
    return digest(sorted(entry.name for entry in path.iterdir())) if path.is_dir() else Content(path).sha256


def _last_change(path: Path) -> float:
    """Seconds, as time.time()."""
    state = path.stat()
    return max(state.st_mtime, state.st_ctime)


@cache
def _code(*folders: str | Path) -> str:
    """A digest of the files in these folders, which may be packages of `elmo_bench`."""
    files = sorted(path for folder in folders for path in (_PACKAGE / folder).rglob("*") if path.is_file())
    return digest([[path.name, sha256_of(path)] for path in files if "__pycache__" not in path.parts])


STATES = ("done", "running", "failed", "stale", "missing")


@dataclass(frozen=True)
class RunState:
    """A planned run and its state.

    stale: its record is of an older version of the task, encoder or protocol, or another seed has since been run on
    other data or weights.
    """

    run: "PlannedRun"
    state: str
    note: str = ""  # of a failed run the error, of a running one where it runs
    converged: bool = False  # of a run that is done


@dataclass
class LedgerState:
    """What a ledger knows of runs, found by the key of their settings and by seed. Each file is read once."""

    problems: list[str]
    records: list[Record]  # the newest last
    _records: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    _failed: dict[tuple[str, int], str] = field(default_factory=dict)
    _running: dict[tuple[str, int], str] = field(default_factory=dict)
    _seconds: dict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, ledger: Path) -> "LedgerState":
        records, failures, problems = read_all(ledger)
        state = cls(problems, sorted(records, key=lambda record: record["created"]))
        specs = {record["hash"]: record["spec"] for record in records}  # seeds share a spec
        keys = {hash_: settings_key(spec) for hash_, spec in specs.items()}
        for record in state.records:
            spec, key = record["spec"], keys[record["hash"]]
            state._records[key].append(record)
            for group in _groups(key, spec["suite"], spec["task"], spec["encoder"], spec["settings"]):
                state._seconds[group].append(record["cost"]["seconds"])
        for _, failure in failures:
            state._failed[settings_key(failure["spec"]), failure["seed"]] = failure["error"]
        for holder in read_holders(ledger):
            if holder["spec"] is not None:
                where = f"{holder['machine']}, process {holder['pid']}"
                state._running[settings_key(holder["spec"]), holder["seed"]] = where
        return state

    @cached_property
    def _outdated(self) -> set[tuple[str, int, str]]:
        """The runs that have a record of any version; takes a while, and is needed only if a run is not done."""
        specs = {record["hash"]: RunSpec(**record["spec"]) for record in self.records}
        return {(specs[e["hash"]].identity, e["seed"], e["environment"].get("source", "")) for e in self.records}

    def seconds_left(
        self, runs: Iterable[RunState], published: Mapping[tuple[str, str, str], float]
    ) -> tuple[float, int]:
        """(what the runs that are not done will take one after the other; how many of them have no estimate).

        An estimate is the mean over other seeds of the run, else over runs of its task and encoder on as much of the
        training data, else on any amount, else over runs of its task, else what the published run took, if there is one
        (`published`: seconds by suite, task and encoder).
        """
        total, unknown = 0.0, 0
        for each in runs:
            if each.state != "done":
                spec = each.run.spec
                groups = _groups(spec.key, spec.suite, spec.task, spec.encoder, spec.settings)
                known = next((self._seconds[group] for group in groups if group in self._seconds), None)
                seconds = fmean(known) if known else published.get((spec.suite, spec.task, spec.encoder))
                total += seconds or 0.0
                unknown += seconds is None
        return total, unknown

    def states(self, runs: Sequence["PlannedRun"]) -> list[RunState]:
        """The state of each run. Two encoders of one name have equal specs, and records that say where they are."""
        places: dict[str, set[str]] = defaultdict(set)
        for run in runs:
            places[run.spec.key].add(run.sources["place"])
        return [self._state(run, places[run.spec.key] - {run.sources["place"]}) for run in runs]

    def _state(self, run: "PlannedRun", others: set[str]) -> RunState:
        place = (run.spec.key, run.seed)
        if where := self._running.get(place):
            return RunState(run, "running", where)
        records = self._records[run.spec.key]  # the newest last
        seeds = {each["seed"]: each for each in records if each["environment"].get("source", "") not in others}
        record = seeds.get(run.seed)
        if record is not None:
            newest = max(seeds.values(), key=lambda record: record["created"])
            if record["spec"]["contents"] == newest["spec"]["contents"]:
                return RunState(run, "done", converged=converged(record))
        if error := self._failed.get(place):
            return RunState(run, "failed", error)
        made = {
            source for identity, seed, source in self._outdated if (identity, seed) == (run.spec.identity, run.seed)
        }
        return RunState(run, "stale" if record is not None or made - others else "missing")


def _groups(key: str, suite: str, task: str, encoder: str, settings: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """What a run may be compared with, best first."""
    amount = [str(settings.get(option)) for option in ("data.train_fraction", "data.max_train")]
    return (key,), (suite, task, encoder, *amount), (suite, task, encoder), (suite, task)
