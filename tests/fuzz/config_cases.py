"""The readers of options (`key=value`) and of experiments."""

import shutil
from pathlib import Path
from typing import Any

from elmo_bench.spec.config import CONF, compose, experiment_yaml
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.run_spec import RunSpec
from tests.fuzz.cases import Case


def config_cases() -> list[Case]:
    """Options as `key=value`, and experiments."""
    return [
        Case(reader="elmo_bench.spec.config:compose", make=_options, examples=8,
             read=lambda folder: RunSpec.of(compose("config", _text(folder / "options.txt").split("\n")))),
        Case(reader="elmo_bench.spec.config:experiment_yaml", make=_experiment, read=_read_experiment),
    ]  # fmt: skip


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _options(folder: Path) -> None:
    given = "task=ner\nencoder=elmo\ntask.head.hidden=[8,4]\nmix.penalty=0.1\nplace=both\nseed=3\ndata.max_train=60"
    (folder / "options.txt").write_text(given)


def _experiment(folder: Path) -> None:
    (folder / "experiment").mkdir()
    shutil.copy(CONF / "experiment" / "table2.yaml", folder / "experiment" / "x.yaml")


def _read_experiment(folder: Path) -> Any:
    Experiment.load.cache_clear()
    experiment_yaml("x", folder)
    return Experiment.load("x", folder)
