"""`RunSpec`: what identifies a run. It is made once, from a composed config.

Imports no torch, reads no data and no weights.
"""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Self

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import code_of
from elmo_bench.base.json import canonical, digest
from elmo_bench.spec.budget import converged  # noqa: F401  # others import it from here
from elmo_bench.spec.config import VERSIONS, compose, reads_own_data, task_yaml
from elmo_bench.spec.config_settings import settings_of
from elmo_bench.spec.options import is_option, nested, spelled
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.settings import (
    ABSENT,
    OWN,
    OWN_COLUMNS,
    RATE,
    check_run,
    invented,
    name_of,
    parts_of,
)
from elmo_bench.spec.task_files import head_of, head_options

# With either, the seed draws the training examples.
DRAWN = {"data.train_fraction", "data.max_train"}
_PARTS = ("suite", "task", "encoder", "size", "settings", "contents")
# Options that come with their choice of `mix`. A run adds other new options with `+`.
_OF_MIX = ("mix.layer", "mix.scalars")


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

    @classmethod
    def of(cls, config: DictConfig) -> Self:
        """The spec of a composed config."""
        encoder = name_of(config.encoder.name) or ""
        return cls(
            suite=config.suite.name,
            task=config.task.name,
            encoder=_without_spaces(encoder),
            size=config.size.name,
            settings=settings_of(config),
        )

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
        if "encoder.contextual.kind" not in self.settings:
            return {}
        options = self.part("encoder")
        options.pop("words", None)
        options.pop("vectors", None)
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
        return head_of(self.task, self.settings)

    def default(self) -> "RunSpec":
        """The default run of this suite, task, encoder, head and size.

        Raises UserError if there is none (any more).
        """
        _, spec = self._base()
        return spec

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
            options, _ = self._base()
        except UserError:
            return False
        config, _ = _composed(options)
        return not config.encoder.get("draws")

    @property
    def protocol(self) -> int:
        """The version of the training protocol; 0 if a stored spec has none."""
        version = self.settings.get("protocol")
        return version if isinstance(version, int) else 0

    @property
    def lr_scale(self) -> float | None:
        """The learning rate divided by the default run's.

        None if a run has no learning rate.
        """
        rate = self.settings.get(RATE)
        usual_rate = (self.usual or {}).get(RATE)
        if not isinstance(rate, int | float) or not isinstance(usual_rate, int | float):
            return None
        if usual_rate <= 0:
            return None
        return float(f"{rate / usual_rate:.6g}")

    @cached_property
    def identity(self) -> str:
        """Equal for the same run with other contents.

        Also in other versions of task, encoder and protocol.
        """
        names = [self.suite, self.task, self.encoder, self.size]
        return canonical([*names, self.changes, self.columns])

    @cached_property
    def changes(self) -> dict[str, str]:
        """{option: value} where this run differs from the default run.

        The values are as on the command line, sorted by option, after the head unless
        it is the task's own or a floor's, which its encoder brings. Empty for a task or
        an encoder that is not installed here.
        """
        usual = self.usual
        if usual is None:
            return {}
        settings = {key: value for key, value in ABSENT.items() if key in usual}
        settings |= self.settings
        changes = head_options(self.head)
        for key in sorted(settings.keys() - _UNCHANGED):
            value = settings[key]
            if _differs(key, value, usual):
                changes[key] = spelled(value)
        return changes

    @property
    def columns(self) -> dict[str, str]:
        """{option: value} that name columns of the user's own data."""
        columns = {}
        for key in sorted(self.settings):
            if key.removeprefix("data.") in OWN_COLUMNS:
                columns[key] = spelled(self.settings[key])
        return columns

    @property
    def label(self) -> str:
        """The difference from the default run, such as `mix=last, place=both`.

        Empty for the default run. The hash if there is no default run, as its yaml is
        not included: all of the settings would differ.
        """
        if self.usual is None:
            return f"run {self.hash}"
        return ", ".join(f"{key}={value}" for key, value in self.changes.items())

    def command(self, seed: int) -> str:
        """The command that makes this run.

        A path of data, weights or vectors appears as its last component. Raises
        UserError if there is none, as for settings that no run has.
        """
        base, _ = self._base()
        setting = invented(self.settings)
        if setting:
            raise UserError(f"no run has {setting}")
        config, _ = _composed(base)
        options = [*base]
        for key, value in self.settings.items():
            if key.removeprefix("data.") in OWN:
                options.append(f"{key}={spelled(value)}")
        for key, change in self.changes.items():
            if key == "head":  # which `base` has
                continue
            is_new = key not in _OF_MIX and not is_option(key, config)
            plus = "+" if is_new else ""
            options.append(f"{plus}{key}={change}")
        return shlex.join(["elmo-bench", "run", *options, f"seed={seed}"])

    def _base(self) -> tuple[tuple[str, ...], "RunSpec"]:
        """The options that name the default run, and its spec. Raises UserError."""
        with suppress(UserError):
            # Most encoders are called after their yaml in conf/encoder.
            return self._base_with(f"encoder={self.encoder}")
        # The yaml of the others is called after their kind, and the user names them.
        kind = self.settings.get("encoder.contextual.kind")
        if not kind:
            words = str(self.settings.get("encoder.words"))
            kind = {"static": "glove", "learned": "none"}.get(words)
        weights = str(self.settings.get("encoder.contextual.weights"))
        has_name_of_weights = _without_spaces(weights) == self.encoder
        name = weights if has_name_of_weights else self.encoder
        return self._base_with(f"encoder={kind}", f"encoder.name={spelled(name)}")

    def _base_with(self, *encoder: str) -> tuple[tuple[str, ...], "RunSpec"]:
        """The options that name the default run, with these of its encoder.

        Raises UserError if they do not name this encoder.
        """
        suite = "suite.name" if reads_own_data(self.task) else "suite"
        head = [f"{key}={name}" for key, name in head_options(self.head).items()]
        options = (
            f"task={self.task}",
            *encoder,
            *head,
            f"{suite}={self.suite}",
            f"size={self.size}",
        )
        _, spec = _composed(options)
        kind = "encoder.contextual.kind"
        has_kind = spec.settings.get(kind) == self.settings.get(kind)
        if spec.encoder != self.encoder or not has_kind:
            raise UserError(f"encoder {self.encoder}: not installed here")
        return options, spec


def described(*options: str) -> tuple[RunSpec, Setup]:
    """The spec and the setup of the run with these options.

    Raises UserError, also for options that no run can have.
    """
    config = compose("config", options)
    check_run(config)
    return RunSpec.of(config), Setup.of(config)


def _without_spaces(name: str) -> str:
    """The name of an encoder in the ledger, by its folder or file."""
    return re.sub(r"\s", "_", name)


@cache
def _composed(options: tuple[str, ...]) -> tuple[DictConfig, RunSpec]:
    config = compose("config", options)
    return config, RunSpec.of(config)


# No change of the user's: versions of code, and names of the user's files and columns.
_UNCHANGED = {*VERSIONS, *(f"data.{key}" for key in OWN)}


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
