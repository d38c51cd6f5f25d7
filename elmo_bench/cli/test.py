"""`elmo-bench --include FOLDER test`: whether the encoders and tasks of a folder keep their contracts."""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.include import included_lines
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.run_spec import RunSpec, Setup

LAYERS = "vectors are float32 [layers, tokens, dim], finite, and the same in every batch"


def main(arguments: list[str]) -> int:
    """Print a line for each check. The exit code is 1 if one says what is wrong. Raises UserError without a folder."""
    parser = argparse.ArgumentParser(
        prog="elmo-bench test",
        description="Check the encoders and tasks of your folders on a few examples: elmo-bench --include FOLDER test",
    )
    parser.add_argument("options", nargs="*", help="key=value for all of them, such as data.root=FOLDER")
    tests = Tests(parser.parse_args(arguments).options)
    for folder in include.folders:
        tests.folder(folder)
    if not tests.passed:
        raise UserError("no encoder and no task to test. Give a folder that has one: --include FOLDER.")
    return int(not all(tests.passed))


class Tests:
    """Checks that print a line each. options: `key=value` for every config."""

    def __init__(self, options: Sequence[str]):
        self.options = options
        self.passed: list[bool] = []
        self.used: set[str] = set()  # modules that a yaml names

    def folder(self, folder: Path) -> None:
        """What the yamls of a folder name, and then what none names."""
        for group, test in (("encoder", self.encoder), ("task", self.task)):
            for path in sorted(folder.glob(f"conf/{group}/*.yaml")):
                test(path.stem)
        codes = [("task", path.parent.name, path) for path in folder.glob("tasks/*/data.py")]
        codes += [("encoder", path.stem, path) for path in folder.glob("encoders/*.py")]
        for group, name, path in codes:
            if name not in self.used and (group == "task" or "def load(" in path.read_text(encoding="utf-8")):
                self._line(f"{group} {name}", f"no yaml names it. Write conf/{group}/{name}.yaml.", passed=False)

    def encoder(self, name: str) -> None:
        """The encoders of a yaml: one, several in a stack, or none."""
        from elmo_bench.runner.contract import check_checksum, check_frozen

        title = f"encoder {name}"
        _, setup = self.check(title, self._described, f"encoder={name}", seen="its yaml is read") or (None, None)
        for options in setup.encoders.values() if setup else ():
            self.used.add(options["kind"])
            if (made := self.check(title, lambda given=options: load_encoder(**given), seen=LAYERS)) is not None:
                self.check(title, check_frozen, made)
                self.check(title, check_checksum, made, options)

    def task(self, name: str) -> None:
        """A task: its data, its head, which can also be built without an encoder, and its metric."""
        from elmo_bench.runner import contract
        from elmo_bench.runner.data import build_data, read_splits, training_fraction

        title = f"task {name}"
        described = self.check(title, self._described, f"task={name}", "encoder=elmo", seen="its yaml is read")
        if described is None:
            return
        self.used.add(task := described[0].task)
        parts = [self.check(title, task_class, task, part, seen=f"{part}.py") for part in ("data", "head", "metric")]
        data = self.check(title, build_data, *described, seen="Data is made") if all(parts) else None
        splits = self.check(title, read_splits, data, *described, seen="each split has examples") if data else None
        if not data or not splits:
            return
        self.check(f"{title}, data", lambda: contract.check_data(data, splits, read_splits(data, *described)))
        train = training_fraction(splits["train"], seed=0, limit=contract.FEW)
        for each in (self._described(f"task={name}", "encoder=none"), described):
            head = f"{title}, head with encoder={each[0].encoder}"
            trial = self.check(head, contract.Trial.of, each, data, splits, train, seen="can be built")
            if trial is None:
                return
            self.check(head, contract.check_gradients, trial)
        self.check(head, contract.check_saving, trial)
        self.check(head, contract.check_batches, trial)
        found = self.check(head, trial.predict, trial.others, seen="a prediction for each example")
        self.check(head, contract.check_learning, trial)
        if found is not None:
            self.check(f"{title}, metric", contract.check_metric, trial.metric, trial.others, found)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"predictions{data.ending}"
                self.check(f"{title}, files", contract.check_files, data, trial.metric, trial.others, found, path)

    def check(self, title: str, check: Callable[..., Any], *arguments: Any, seen: str = "") -> Any:
        """What a check returns, None if it fails; prints its line, which says what was `seen`, or what it returns."""
        try:
            result = check(*arguments)
        except UserError as error:
            return self._line(title, str(error), passed=False)
        except Exception as error:
            where = "".join(included_lines(error).rpartition("  File ")[2].splitlines(keepends=True)[:2]).strip()
            return self._line(title, f"{type(error).__name__}: {error} {where and f'({where})'}", passed=False)
        self._line(title, seen or result, passed=True)
        return result

    def _described(self, *options: str) -> tuple[RunSpec, Setup]:
        config = compose("config", [*options, *self.options])
        return RunSpec.of(config), Setup.of(config)

    def _line(self, title: str, text: str, *, passed: bool) -> None:
        self.passed.append(passed)
        print(f"{'ok    ' if passed else 'WRONG '} {title}: {' '.join(text.split())}", flush=True)
