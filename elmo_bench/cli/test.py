"""`elmo-bench --include FOLDER test`: whether the encoders and tasks of a folder keep their contracts."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.include import included_lines
from elmo_bench.cli import parser
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.run_spec import described

LAYERS = "vectors are float32 [layers, tokens, dim], finite, and the same in every batch"


def main(arguments: list[str]) -> int:
    """Print a line for each check. The exit code is 1 if one says what is wrong. Raises UserError without a folder."""
    command = parser("test")
    command.add_argument("options", nargs="*", help="key=value for all of them, such as data.root=FOLDER")
    checks = Checks(command.parse_args(arguments).options)
    for folder in include.folders:
        for path in sorted(folder.glob("conf/encoder/*.yaml")):
            checks.encoder(path.stem)
        for path in sorted(folder.glob("conf/task/*.yaml")):
            checks.task(path.stem)
    if not checks.passed:
        raise UserError("no encoder and no task to test. Give a folder that has one: --include FOLDER.")
    return int(not all(checks.passed))


class Checks:
    """Checks that print a line each. options: `key=value` for every config."""

    def __init__(self, options: Sequence[str]):
        self.options = options
        self.passed: list[bool] = []

    def encoder(self, name: str) -> None:
        """The encoders of a yaml: one, several in a stack, or none."""
        from elmo_bench.runner.contract import check_weights

        title = f"encoder {name}"
        run = self.check(title, described, f"encoder={name}", *self.options, seen="its yaml is read")
        for options in run[1].encoders.values() if run else ():
            if (made := self.check(title, lambda given=options: load_encoder(**given), seen=LAYERS)) is not None:
                self.check(title, check_weights, made, options)

    def task(self, name: str) -> None:
        """A task: its data, its head, which can also be built without an encoder, and its metric."""
        from elmo_bench.runner import contract
        from elmo_bench.runner.data import build_data, read_splits, training_fraction

        title = f"task {name}"
        run = self.check(title, described, f"task={name}", "encoder=elmo", *self.options, seen="its yaml is read")
        if run is None:
            return
        task = run[0].task
        parts = [self.check(title, task_class, task, part, seen=f"{part}.py") for part in ("data", "head", "metric")]
        data = self.check(title, build_data, *run, seen="Data is made") if all(parts) else None
        splits = self.check(title, read_splits, data, *run, seen="each split has examples") if data else None
        if not data or not splits:
            return
        self.check(f"{title}, data", lambda: contract.check_data(data, splits, read_splits(data, *run)))
        train = training_fraction(splits["train"], seed=0, limit=contract.FEW)
        for each in (described(f"task={name}", "encoder=none", *self.options), run):
            head = f"{title}, head with encoder={each[0].encoder}"
            trial = self.check(head, contract.Trial, each, data, splits, train, seen="can be built")
            if trial is None:
                return
            self.check(head, contract.check_gradients, trial)
        self.check(head, contract.check_saving, trial)
        self.check(head, contract.check_batches, trial)
        predicted = self.check(head, trial.predict, trial.others, seen="a prediction for each example")
        self.check(head, contract.check_learning, trial)
        if predicted is not None:
            self.check(f"{title}, metric", contract.check_metric, trial.metric, trial.others, predicted)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"predictions{data.ending}"
                self.check(f"{title}, files", contract.check_files, data, trial.metric, trial.others, predicted, path)

    def check(self, title: str, check: Callable[..., Any], *arguments: Any, seen: str = "") -> Any:
        """What a check returns, None if it fails; prints its line, which says what was `seen`, or what it returns."""
        try:
            result = check(*arguments)
        except Exception as error:
            where = "".join(included_lines(error).rpartition("  File ")[2].splitlines(keepends=True)[:2]).strip()
            text = f"{type(error).__name__}: {error} {where and f'({where})'}"
            return self.say(title, str(error) if isinstance(error, UserError) else text, passed=False)
        self.say(title, seen or result, passed=True)
        return result

    def say(self, title: str, text: str, *, passed: bool) -> None:
        self.passed.append(passed)
        print(f"{'ok    ' if passed else 'WRONG '} {title}: {' '.join(text.split())}", flush=True)
