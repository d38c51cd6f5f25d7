"""`RunSpec`: what identifies a run. `Setup`: how and where it is made. Both are made once, from a composed config.

Imports no torch, reads no data and no weights.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.include import code_of
from elmo_bench.base.json import canonical, digest
from elmo_bench.spec.config import VERSIONS, compose, reads_own_data, task_yaml
from elmo_bench.spec.options import is_option, spelled
from elmo_bench.spec.settings import ABSENT, OWN, OWN_COLUMNS, RATE, check_run, invented, name_of, parts_of, settings_of

DRAWN = {"data.train_fraction", "data.max_train"}  # with either, the seed draws the training examples
_PARTS = ("suite", "task", "encoder", "size", "settings", "contents")


@dataclass(frozen=True, eq=False)
class RunSpec:
    """Everything that can change a run's score except its seed.

    `settings` is known from the config alone: {option: value}, named as on the command line. `contents` holds the
    digests of data, weights and vectors, and the width of learned words; it is None until they have been read.
    Two specs are equal if all of this is.
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
        encoder = _without_spaces(name_of(config.encoder.name) or "")
        return cls(config.suite.name, config.task.name, encoder, config.size.name, settings_of(config))

    def to_json(self) -> dict[str, Any]:
        """Plain data, equal for equal specs."""
        return {key: getattr(self, key) for key in _PARTS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunSpec) and canonical(self.to_json()) == canonical(other.to_json())

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def hash(self) -> str:
        """12 hex digits over everything: the run's folder in the ledger. Raises ValueError while contents is None."""
        if self.contents is None:
            raise ValueError("the hash of a run needs the contents of its data and weights")
        return digest(self.to_json())[:12]

    @property
    def key(self) -> str:
        """12 hex digits over everything but the contents."""
        return digest(self.to_json() | {"contents": None})[:12]

    def with_contents(self, contents: Mapping[str, Any]) -> Self:
        """The same settings on this data and these weights."""
        return replace(self, contents=dict(contents))

    def part(self, option: str) -> dict[str, Any]:
        """The settings below an option, nested: `part("task.head")` is {"name": "esim", "hidden": […], …}.

        Raises UserError for an option that has a value and parts.
        """
        tree: dict[str, Any] = {}
        for key, value in self.settings.items():
            if key.startswith(f"{option}."):
                *parents, last = key.removeprefix(f"{option}.").split(".")
                node = tree
                for parent in parents:
                    node = node.setdefault(parent, {}) if isinstance(node, dict) else node
                if not isinstance(node, dict) or last in node:
                    raise UserError(f"the record's setting {key:.60} is a part of another, or has parts")
                node[last] = value
        return tree

    def encoders(self) -> dict[str, dict[str, Any]]:
        """The options of each contextual encoder by its part of a stack ("" without one): kind, version, weights, …"""
        if "encoder.contextual.kind" not in self.settings:
            return {}
        shared = {key: value for key, value in self.part("encoder").items() if key not in ("words", "vectors")}
        return parts_of(shared.pop("contextual") | shared)

    @property
    def code(self) -> dict[str, str]:
        """Digests of today's code of the `task` and the `encoder`, where an included folder has them. Not in the hash:
        a comment would change it."""
        encoder = "".join(code_of("encoders", str(own.get("kind"))) for own in self.encoders().values())
        return {part: own for part, own in (("task", code_of("tasks", self.task)), ("encoder", encoder)) if own}

    def default(self) -> "RunSpec":
        """The default run of this suite, task, encoder and size. Raises UserError if there is none (any more)."""
        return self._base()[1]

    @cached_property
    def usual(self) -> dict[str, Any] | None:
        """The settings of the default run; None if there is none."""
        try:
            return self.default().settings
        except UserError:
            return None

    @cached_property
    def deterministic(self) -> bool:
        """Whether all seeds have one score, up to rounding, so that a single run tells all.

        The task says so of its head (`report.deterministic`), an encoder that draws numbers says so (`draws`), and no
        fraction of the data is drawn. False for a task or an encoder that is not installed here.
        """
        if not task_yaml(self.task).get("report", {}).get("deterministic") or DRAWN & self.changes.keys():
            return False
        try:
            options, _ = self._base()
        except UserError:
            return False
        return not _composed(options)[0].encoder.get("draws")

    @property
    def protocol(self) -> int:
        """The version of the training protocol; 0 if a stored spec does not have one."""
        version = self.settings.get("protocol")
        return version if isinstance(version, int) else 0

    @property
    def lr_scale(self) -> float | None:
        """The learning rate divided by the default run's; None if a run has no learning rate."""
        ours, usual = self.settings.get(RATE), (self.usual or {}).get(RATE)
        if not isinstance(ours, int | float) or not isinstance(usual, int | float) or usual <= 0:
            return None
        return float(f"{ours / usual:.6g}")

    @cached_property
    def identity(self) -> str:
        """Equal for the same run with other contents, or in other versions of task, encoder and protocol."""
        return canonical([self.suite, self.task, self.encoder, self.size, self.changes, self.columns])

    @cached_property
    def changes(self) -> dict[str, str]:
        """{option: value} where this run differs from the default run, as on the command line, sorted by option.

        None are known of a task or an encoder that is not installed here.
        """
        if (usual := self.usual) is None:
            return {}
        left_out = {key: value for key, value in ABSENT.items() if key in usual}
        unchanged = {*VERSIONS, *(f"data.{key}" for key in OWN)}
        ours = left_out | {key: value for key, value in self.settings.items() if key not in unchanged}
        return {key: spelled(ours[key]) for key in sorted(ours) if _differs(key, ours[key], usual)}

    @property
    def columns(self) -> dict[str, str]:
        """{option: value} that name columns of the user's own data."""
        own = {key: value for key, value in self.settings.items() if key.removeprefix("data.") in OWN_COLUMNS}
        return {key: spelled(own[key]) for key in sorted(own)}

    @property
    def label(self) -> str:
        """What differs from the default run, such as `mix=last, place=both`; empty for the default run.

        The hash if there is no default run, as its yaml is not included: all of the settings would differ.
        """
        if self.usual is None:
            return f"run {self.hash}"
        return ", ".join(f"{key}={value}" for key, value in self.changes.items())

    def command(self, seed: int) -> str:
        """The command that makes this run. A path of data, weights or vectors appears as its last component.

        Raises UserError if there is none, as for settings that no run has.
        """
        options, _ = self._base()
        if setting := invented(self.settings):
            raise UserError(f"no run has {setting}")
        config, _ = _composed(options)
        known = ("mix.layer", "mix.scalars")  # come with their choice of `mix`; a run adds others with `+`
        changes = [
            f"{'' if key in known or is_option(key, config) else '+'}{key}={value}"
            for key, value in self.changes.items()
        ]
        own = [f"{key}={spelled(value)}" for key, value in self.settings.items() if key.removeprefix("data.") in OWN]
        return shlex.join(["elmo-bench", "run", *options, *own, *changes, f"seed={seed}"])

    def _base(self) -> tuple[tuple[str, ...], "RunSpec"]:
        """The options that name the default run, and its spec."""
        kind = self.settings.get("encoder.contextual.kind")
        weights = str(self.settings.get("encoder.contextual.weights"))
        name = weights if _without_spaces(weights) == self.encoder else self.encoder
        words = {"static": "glove", "learned": "none"}
        other = kind or words.get(str(self.settings.get("encoder.words")))
        suite = f"suite{'.name' if reads_own_data(self.task) else ''}={self.suite}"
        for encoder in ((f"encoder={self.encoder}",), (f"encoder={other}", f"encoder.name={spelled(name)}")):
            options = (f"task={self.task}", *encoder, suite, f"size={self.size}")
            try:
                _, usual = _composed(options)
            except UserError as error:
                problem = error
                continue
            if usual.encoder == self.encoder and usual.settings.get("encoder.contextual.kind") == kind:
                return options, usual
            problem = UserError(f"encoder {self.encoder}: not installed here")
        raise problem


@dataclass(frozen=True)
class Setup:
    """How and where a run is made: all that it needs besides its spec. Only the seed changes a score."""

    seed: int
    data: dict[str, Any]  # arguments of the task's `Data`: the sources of every suite, and options
    data_root: Path | None  # the user's data folder
    encoders: dict[str, dict[str, Any]]  # arguments of `load_encoder` by part of a stack, with paths and device
    vectors: str | None  # name or path of the static vectors
    suite_vectors: str | None  # of the suite's, on which slices depend
    device: str  # cpu or cuda
    accelerator: str  # Lightning's name of it
    threads: int | None
    store: dict[str, Any]  # arguments of `LayerStore`
    logger: dict[str, Any]  # a node of conf/logger
    experiment: str | None  # groups runs in logs
    ledger: Path
    overwrite: bool  # run again where a record exists
    predictions: bool  # keep them next to the record

    @classmethod
    def of(cls, config: DictConfig) -> Self:
        """The setup in a composed config. Raises UserError for a stack of anything but named encoders."""
        given: Any = OmegaConf.to_container(config, resolve=True)
        root, trainer = given["data"]["root"], given["trainer"]
        return cls(
            seed=given["seed"],
            data=given["task"]["data"],
            data_root=Path(root).expanduser() if root else None,
            encoders=parts_of(given["encoder"]["contextual"]),
            vectors=given["encoder"]["vectors"],
            suite_vectors=given["suite"].get("vectors"),
            device=trainer["device"],
            accelerator=trainer["accelerator"],
            threads=trainer["threads"],
            store=given["store"],
            logger=given["logger"],
            experiment=given["experiment"],
            ledger=Path(given["ledger"]),
            overwrite=bool(given["overwrite"]),
            predictions=bool(given["predictions"]),
        )

    @property
    def source(self) -> str:
        """The last three parts of the paths of weights and vectors; empty if these are names. No spec has it."""
        given = [str(each) for each in (*(own.get("weights") for own in self.encoders.values()), self.vectors) if each]
        return " ".join("/".join(redacted(each).strip("/").split("/")[-3:]) for each in given if "/" in each)


def described(*options: str) -> tuple[RunSpec, Setup]:
    """The spec and the setup of the run with these options. Raises UserError, also for what no run can have."""
    config = compose("config", options)
    check_run(config)
    return RunSpec.of(config), Setup.of(config)


def converged(record: Mapping[str, Any]) -> bool:
    """Whether a record's run had its task's budget of epochs, and learned something.

    The budget is `report.budget` of the task's yaml: epochs by size, or null for a task without epochs; no run of a
    task without the key is converged. A run learned nothing if it scores 0 on dev, or the same after every one of
    several epochs while its head gives one answer to everything, as far as the scores by type tell.
    """
    spec, dev = record["spec"], record["curves"]["dev"]
    task, epochs = task_yaml(spec["task"]), spec["settings"].get("task.training.epochs")
    known = task.get("report", {})
    if task.get("training", {}).get("least_steps") and spec["settings"].get("task.training.least_steps") is None:
        return False  # data of the user's own, on which epochs may have few steps
    budget = known.get("budget", {})
    least = budget.get(spec["size"]) if isinstance(budget, dict) else 1 if budget is None else None
    types = record["scores"]["dev"].get("by_type", {}).values()
    answered = sum(any(own.get(key) for key in ("correct", "guessed", "excess")) for own in types)
    stuck = len(dev) > 1 and len(set(dev)) == 1 and dev[0] < 100 and answered < 2
    if not isinstance(least, int) or not isinstance(epochs, int) or stuck:
        return False
    return epochs >= least and record["scores"]["dev"]["overall"][record["metric"]] > 0


def _without_spaces(name: str) -> str:
    """The name of an encoder in the ledger, by its folder or file."""
    return re.sub(r"\s", "_", name)


@cache
def _composed(options: tuple[str, ...]) -> tuple[DictConfig, RunSpec]:
    config = compose("config", options)
    return config, RunSpec.of(config)


def _differs(option: str, value: Any, usual: Mapping[str, Any]) -> bool:
    if option in usual:
        if type(value) is type(usual[option]) in (str, int, float, bool, type(None)):
            return value != usual[option]  # faster
        return canonical(usual[option]) != canonical(value)
    return value is not None or option != "data.least_steps"  # of a fraction; the default run uses all of the data
