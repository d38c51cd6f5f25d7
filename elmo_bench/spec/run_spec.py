"""`RunSpec`: what identifies a run. It is made once, from a composed config.

Imports no torch, reads no data and no weights.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Self

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import code_of
from elmo_bench.base.json import canonical, digest
from elmo_bench.spec.conf_files import config_file, config_files
from elmo_bench.spec.config import choice_yaml, compose, config_of
from elmo_bench.spec.config_settings import settings_of
from elmo_bench.spec.options import nested, spelled
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.settings import (
    ABSENT,
    METRIC,
    OWN_COLUMNS,
    check_run,
    name_of,
    parts_of,
)
from elmo_bench.spec.stated import UNCHANGED, has_changes
from elmo_bench.spec.task_files import (
    head_choice,
    head_options,
    reads_own_data,
    task_yaml,
)

# With either, the seed draws the training examples.
DRAWN = {"data.train_fraction", "data.max_train"}
_PARTS = ("suite", "task", "encoder", "size", "settings", "contents")
_KIND = "encoder.contextual.kind"


@dataclass(frozen=True, eq=False)
class RunSpec:
    """Everything that can change a run's score except its seed.

    `settings` follows from the config alone: {option: value}, named as on the command
    line. `contents` holds the digests of data, weights and vectors, and the width of
    learned words; it is None until they have been read. Two specs are equal if all of
    this is.
    """

    suite: str
    task: str
    encoder: str
    size: str
    settings: dict[str, Any]
    contents: dict[str, Any] | None = None
    # The `changes` that a record states, if its settings have them. They identify
    # nothing; with them, no config is composed.
    stated_changes: dict[str, str] | None = None

    @classmethod
    def of(cls, config: DictConfig) -> Self:
        """The spec of a composed config."""
        encoder = name_of(config.encoder.name) or ""
        return cls(
            suite=str(config.suite.name),  # which may look like a number
            task=config.task.name,
            encoder=_name_in_ledger(encoder),
            size=config.size.name,
            settings=settings_of(config),
        )

    @classmethod
    def of_record(cls, record: Any) -> Self:
        """The spec of a record, a `ledger.Record`."""
        spec = cls(**record.spec.to_json())
        changes = record.changes
        if changes is None or not has_changes(spec.settings, changes):
            return spec
        return replace(spec, stated_changes=changes)

    def to_json(self) -> dict[str, Any]:
        """Plain data, equal for equal specs."""
        return {key: getattr(self, key) for key in _PARTS}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunSpec):
            return False
        return canonical(self.to_json()) == canonical(other.to_json())

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def hash(self) -> str:
        """12 hex digits over everything: the run's folder in the ledger.

        Raises ValueError while contents is None.
        """
        if self.contents is None:
            raise ValueError(
                "the hash of a run needs the contents of its data and weights"
            )
        return digest(self.to_json())[:12]

    @property
    def key(self) -> str:
        """12 hex digits over everything but the contents."""
        without_contents = self.to_json() | {"contents": None}
        return digest(without_contents)[:12]

    def with_contents(self, contents: Mapping[str, Any]) -> Self:
        """The same settings on this data and these weights."""
        return replace(self, contents=dict(contents))

    def part(self, option: str) -> dict[str, Any]:
        """The settings below an option, nested.

        `part("task.head")` is {"name": "esim", "hidden": […], …}. Raises UserError for
        an option that has a value and parts.
        """
        return nested(self.settings, f"{option}.")

    def encoders(self) -> dict[str, dict[str, Any]]:
        """The options of each contextual encoder by its part of a stack.

        The part is "" without a stack. Options are kind, version, weights, …
        """
        if _KIND not in self.settings:
            return {}
        options = self.part("encoder")
        for key in ("words", "vectors", "tune_lr"):
            options.pop(key, None)
        contextual = options.pop("contextual")
        return parts_of(contextual | options)

    @property
    def code(self) -> dict[str, str]:
        """Digests of today's code of the `task` and the `encoder`.

        Only code of included folders has a digest. Not in the hash: a comment would
        change it.
        """
        encoder = ""
        for options in self.encoders().values():
            encoder += code_of("encoders", str(options.get("kind")))
        digests = {"task": code_of("tasks", self.task), "encoder": encoder}
        return {part: code for part, code in digests.items() if code}

    @cached_property
    def head(self) -> str:
        """The choice of `head`: strong, linear or floor."""
        return head_choice(self.task, self.settings.get("task.head.name"))

    def default(self) -> "RunSpec":
        """The default run of this suite, task, encoder, head and size.

        Raises UserError if there is none (any more).
        """
        return composed(self.base_options)

    @cached_property
    def base_options(self) -> tuple[str, ...]:
        """The options that name the default run.

        Composes nothing. Raises UserError if the task, the encoder, the suite or the
        size is not installed here.
        """
        config_file("task", self.task)
        config_file("size", self.size)
        if reads_own_data(self.task):
            suite = f"suite.name={spelled(self.suite)}"
        else:
            config_file("suite", self.suite)
            suite = f"suite={self.suite}"
        options = [f"task={self.task}", *self._encoder_options()]
        options += [f"{key}={name}" for key, name in head_options(self.head).items()]
        return *options, suite, f"size={self.size}"

    def _encoder_options(self) -> list[str]:
        """The options that name the encoder. Raises UserError."""
        # Most encoders are called after their yaml in conf/encoder.
        kind = self.settings.get(_KIND)
        files = config_files("encoder")
        name = ""
        if self.encoder in files:
            named = choice_yaml("encoder", self.encoder)["encoder"]
            name = named["name"]
            if name == self.encoder and _kind_of(named) == kind:
                return [f"encoder={self.encoder}"]
        # The yaml of the others is called after their kind, and the user names them.
        if isinstance(kind, str) and kind in files and name != self.encoder:
            generic = choice_yaml("encoder", kind)["encoder"]
            if generic["name"] == "???" and _kind_of(generic) == kind:
                weights = str(self.settings.get("encoder.contextual.weights"))
                is_its_name = _name_in_ledger(weights) == self.encoder
                name = weights if is_its_name else self.encoder
                return [f"encoder={kind}", f"encoder.name={spelled(name)}"]
        raise UserError(f"encoder {self.encoder}: not installed here")

    @cached_property
    def usual(self) -> dict[str, Any] | None:
        """The settings of the default run; None if there is none."""
        try:
            return self.default().settings
        except UserError:
            return None

    @cached_property
    def deterministic(self) -> bool:
        """Whether all seeds have one score, up to rounding: a single run is enough.

        The yaml of the task states this of a head (`report.deterministic`), the yaml
        of an encoder that it draws numbers (`draws`), and no fraction of the data is
        drawn. False for a task or an encoder that is not installed here.
        """
        report = task_yaml(self.task, self.head).get("report", {})
        if not report.get("deterministic"):
            return False
        if DRAWN & self.changes.keys():
            return False
        try:
            encoder = self._encoder_options()[0].removeprefix("encoder=")
        except UserError:
            return False
        return not choice_yaml("encoder", encoder)["encoder"].get("draws")

    @property
    def protocol(self) -> int:
        """The version of the training protocol; 0 if a stored spec lacks it."""
        version = self.settings.get("protocol")
        return version if isinstance(version, int) else 0

    @cached_property
    def identity(self) -> str:
        """Equal for the same run with other contents.

        Also in other versions of task, encoder and protocol.
        """
        names = [self.suite, self.task, self.encoder, self.size]
        return canonical([*names, self.metric, self.changes, self.columns])

    @cached_property
    def changes(self) -> dict[str, str]:
        """{option: value} where this run differs from the default run.

        The values are as on the command line, sorted by option; `head` is among them
        unless it is the task's own or a floor's. As its record states them, if there is
        one that does. Else empty for a task or an encoder that is not installed here.
        """
        if self.stated_changes is not None:
            stated = self.stated_changes
            return {key: stated[key] for key in sorted(stated.keys() - UNCHANGED)}
        return computed_changes(self) or {}

    @property
    def metric(self) -> str | None:
        """The score that selects the epoch; None if it is the task's usual one."""
        return self.settings.get(METRIC)

    @property
    def columns(self) -> dict[str, str]:
        """{option: value} that name columns of the user's own data."""
        columns = {}
        for key in sorted(self.settings):
            if key.removeprefix("data.") in OWN_COLUMNS:
                columns[key] = spelled(self.settings[key])
        return columns


def computed_changes(spec: RunSpec) -> dict[str, str] | None:
    """{option: value} where a run differs from today's default run, by its settings.

    None if there is no default run.
    """
    usual = spec.usual
    if usual is None:
        return None
    settings = {key: value for key, value in ABSENT.items() if key in usual}
    settings |= spec.settings
    changes = head_options(spec.head)
    for key in settings.keys() - UNCHANGED:
        value = settings[key]
        if _differs(key, value, usual):
            changes[key] = spelled(value)
    # An option of the encoder that is null is in no settings.
    for key in usual.keys() - settings.keys() - UNCHANGED - ABSENT.keys():
        if key.startswith("encoder.contextual."):
            changes[key] = "null"
    return dict(sorted(changes.items()))


def changes_of(record: Any) -> dict[str, str] | None:
    """`computed_changes` of a `ledger.Record`."""
    return computed_changes(RunSpec.of_record(record))


def is_drawn(record: Any) -> bool:
    """Whether the seeds of a `ledger.Record`'s run differ: see `deterministic`."""
    return not RunSpec.of_record(record).deterministic


def _kind_of(encoder: Mapping[str, Any]) -> str | None:
    """The kind of the contextual encoder in an encoder's yaml."""
    contextual = encoder.get("contextual")
    return contextual.get("kind") if isinstance(contextual, Mapping) else None


def described(*options: str) -> tuple[RunSpec, Setup]:
    """The spec and the setup of the run with these options.

    Raises UserError, also for options that no run can have.
    """
    config = compose("config", options, can_sweep=False)
    check_run(config)
    return RunSpec.of(config), Setup.of(config)


def _name_in_ledger(name: str) -> str:
    """The name of an encoder in the ledger, by its folder or file.

    Folders of a ledger have letters, digits and some signs alone (`ledger.RunPaths`).
    """
    name = re.sub(r"[^\w.+=-]", "_", name)
    return re.sub(r"^\W", "_", name)


@cache
def composed(options: tuple[str, ...]) -> RunSpec:
    """The spec of the run with these options, which is composed once."""
    return RunSpec.of(config_of(options))


def _differs(option: str, value: Any, usual: Mapping[str, Any]) -> bool:
    """Whether a setting differs from the default run's."""
    if option not in usual:
        # Steps of a fraction; the default run uses all of the data.
        return value is not None or option != "data.least_steps"
    usual_value = usual[option]
    kind = type(value)
    if kind is type(usual_value) and kind in (str, int, float, bool, type(None)):
        return value != usual_value  # faster
    return canonical(usual_value) != canonical(value)
