"""`elmo-bench --include FOLDER test`: whether encoders and tasks keep contracts."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.include import included_lines
from elmo_bench.cli import parser
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.run_spec import described

_GUIDE = "see docs/extend.md."
DRAWS = 20  # of a few examples, until some have different gold


def main(arguments: list[str]) -> int:
    """Print a line for each check.

    The exit code is 1 if one says what is wrong. Raises UserError without a folder.
    """
    options = _options(arguments)
    results = []
    for folder in include.folders:
        for name in _names(folder, "encoder"):
            results.append(_passes(f"encoder {name}", _encoder(name, options)))
        for name in _names(folder, "task"):
            results.append(_passes(f"task {name}", _task(name, options)))
        for missing in _without_yaml(folder):
            print(f"WRONG  {missing}", flush=True)
            results.append(False)
    if not results:
        raise UserError(
            "no encoder and no task to test. "
            "Give a folder that has one: --include FOLDER."
        )
    return int(not all(results))


def _options(arguments: list[str]) -> list[str]:
    command = parser("test")
    command.add_argument(
        "options",
        nargs="*",
        help="key=value for all of them, such as data.root=FOLDER",
    )
    options: list[str] = command.parse_args(arguments).options
    return options


def _names(folder: Path, group: str) -> list[str]:
    """The names of the encoders or tasks of a folder."""
    return [path.stem for path in sorted(folder.glob(f"conf/{group}/*.yaml"))]


def _without_yaml(folder: Path) -> list[str]:
    """A line for each encoder and task that has code and no yaml.

    A module next to the encoders that has no function `load` is not an encoder.
    """
    lines = []
    for path in sorted(folder.glob("encoders/[!_]*.py")):
        is_encoder = "def load(" in path.read_text(encoding="utf-8", errors="replace")
        if is_encoder and not _is_configured(folder, path.stem):
            yaml = f"conf/encoder/{path.stem}.yaml"
            lines.append(
                f"encoder {path.stem}: no yaml of this kind. "
                f"Write {yaml} with kind: {path.stem}: {_GUIDE}"
            )
    for path in sorted(folder.glob("tasks/*/")):
        name = path.name
        has_code = any(path.glob("*.py"))
        if has_code and name not in _names(folder, "task"):
            lines.append(f"task {name}: no yaml. Write conf/task/{name}.yaml: {_GUIDE}")
    return lines


def _is_configured(folder: Path, kind: str) -> bool:
    """Whether a yaml of the folder has an encoder of this kind."""
    pattern = re.compile(rf"\bkind:\s*['\"]?{re.escape(kind)}\b")
    for path in folder.glob("conf/encoder/*.yaml"):
        if pattern.search(path.read_text(encoding="utf-8", errors="replace")):
            return True
    return False


def _passes(title: str, checks: Iterator[str]) -> bool:
    """Print what each check saw, up to the first that fails, with what is wrong."""
    try:
        for seen in checks:
            print(f"ok     {title}: {seen}", flush=True)
    except Exception as error:
        print(f"WRONG  {title}: {_problem(error)}", flush=True)
        return False
    return True


def _problem(error: Exception) -> str:
    """An error as one line, with the user's own line of code where it is a crash."""
    if isinstance(error, UserError):
        return " ".join(str(error).split())
    text = f"{type(error).__name__}: {error}"
    last_place = included_lines(error).rpartition("  File ")[2]
    where = " ".join(last_place.splitlines()[:2])
    if where.strip():
        text += f" ({where.strip()})"
    return " ".join(text.split())


def _encoder(name: str, options: Sequence[str]) -> Iterator[str]:
    """Check the encoders of a yaml: one, several in a stack, or none."""
    from elmo_bench.runner.contract_parts import check_tokens, check_weights
    from elmo_bench.runner.named_parts import check_names

    spec, setup = described(f"encoder={name}", *options)
    check_names(spec, setup)
    yield "its yaml is read"
    for arguments in setup.encoders.values():
        encoder = load_encoder(**arguments)
        yield (
            "vectors are float32 [layers, tokens, dim], finite, "
            "and the same in every batch"
        )
        yield check_weights(encoder, arguments)
        yield check_tokens(encoder)


def _task(name: str, options: Sequence[str]) -> Iterator[str]:
    """Check a task: its data, its head, and its metric.

    The head can also be built without an encoder.
    """
    from elmo_bench.runner import contract, contract_parts
    from elmo_bench.runner.data import build_data, read_splits
    from elmo_bench.runner.split_checks import check_splits

    spec, setup = described(f"task={name}", "encoder=elmo", *options)
    yield "its yaml is read"
    for part in ("data", "head", "metric"):
        task_class(spec.task, part)
    data = build_data(spec, setup)
    splits = read_splits(data, spec, setup)
    check_splits(splits, f"task={name}")
    again = read_splits(data, spec, setup)
    yield contract_parts.check_data(data, splits, again)
    train = _few(splits["train"])
    without = described(f"task={name}", "encoder=none", *options)
    for run in (without, (spec, setup)):
        trial = contract.Trial(run, data, splits, train)
        yield f"head with encoder={run[0].encoder}: {contract.check_gradients(trial)}"
    yield contract.check_training(trial)
    # First: of a head that learned nothing, hardly any prediction differs.
    yield contract.check_learning(trial)
    yield contract.check_saving(trial)
    yield contract.check_batches(trial)
    yield contract.check_gold(trial)
    predicted = trial.predict(trial.others)
    yield contract_parts.check_metric(trial.metric, trial.others, predicted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"predictions{data.ending}"
        files = (data, trial.metric, trial.others, predicted, path)
        yield contract_parts.check_files(*files)


def _few(train: list[Any]) -> list[Any]:
    """A few training examples, of two labels if that many are drawn.

    Nothing is learned from examples with one label.
    """
    from elmo_bench.runner import contract
    from elmo_bench.runner.data import training_fraction

    for seed in range(DRAWS):
        examples = training_fraction(train, seed=seed, limit=contract.FEW)
        if len({repr(example.gold) for example in examples}) > 1:
            return examples
    return train[: contract.FEW]
