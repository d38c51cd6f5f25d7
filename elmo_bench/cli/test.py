"""`elmo-bench --include FOLDER test`: whether the encoders and tasks of a folder keep their contracts."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.include import included_lines
from elmo_bench.cli import parser
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.run_spec import described


def main(arguments: list[str]) -> int:
    """Print a line for each check. The exit code is 1 if one says what is wrong. Raises UserError without a folder."""
    command = parser("test")
    command.add_argument("options", nargs="*", help="key=value for all of them, such as data.root=FOLDER")
    options = command.parse_args(arguments).options
    passed = []
    for folder in include.folders:
        for group, check in (("encoder", _encoder), ("task", _task)):
            for path in sorted(folder.glob(f"conf/{group}/*.yaml")):
                passed.append(_passes(f"{group} {path.stem}", check(path.stem, options)))
    if not passed:
        raise UserError("no encoder and no task to test. Give a folder that has one: --include FOLDER.")
    return int(not all(passed))


def _passes(title: str, checks: Iterator[str]) -> bool:
    """Print what each check saw, up to the first that fails, which says what is wrong."""
    try:
        for seen in checks:
            print(f"ok     {title}: {seen}", flush=True)
    except Exception as error:
        where = "".join(included_lines(error).rpartition("  File ")[2].splitlines(keepends=True)[:2]).strip()
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        where = where and kind and f" ({where})"
        print(f"WRONG  {title}: {' '.join(f'{kind}{error}{where}'.split())}", flush=True)
        return False
    return True


def _encoder(name: str, options: Sequence[str]) -> Iterator[str]:
    """Check the encoders of a yaml: one, several in a stack, or none."""
    from elmo_bench.runner.contract_parts import check_weights

    _, setup = described(f"encoder={name}", *options)
    yield "its yaml is read"
    for given in setup.encoders.values():
        encoder = load_encoder(**given)
        yield "vectors are float32 [layers, tokens, dim], finite, and the same in every batch"
        yield check_weights(encoder, given)


def _task(name: str, options: Sequence[str]) -> Iterator[str]:
    """Check a task: its data, its head, which can also be built without an encoder, and its metric."""
    from elmo_bench.runner import contract, contract_parts
    from elmo_bench.runner.data import build_data, read_splits, training_fraction
    from elmo_bench.runner.split_checks import check_splits

    run = described(f"task={name}", "encoder=elmo", *options)
    yield "its yaml is read"
    for part in ("data", "head", "metric"):
        task_class(run[0].task, part)
    data = build_data(*run)
    splits = read_splits(data, *run)
    check_splits(splits, f"task={name}")
    yield contract_parts.check_data(data, splits, read_splits(data, *run))
    drawn = (training_fraction(splits["train"], seed=seed, limit=contract.FEW) for seed in range(20))
    train = next(  # of examples with one label, nothing is learned
        (some for some in drawn if len({repr(each.gold) for each in some}) > 1), splits["train"][: contract.FEW]
    )
    for each in (described(f"task={name}", "encoder=none", *options), run):
        trial = contract.Trial(each, data, splits, train)
        yield f"head with encoder={each[0].encoder}: {contract.check_gradients(trial)}"
    yield contract.check_training(trial)
    yield contract.check_learning(trial)  # first: of a head that learned nothing, hardly any prediction differs
    yield contract.check_saving(trial)
    yield contract.check_batches(trial)
    yield contract.check_gold(trial)
    predicted = trial.predict(trial.others)
    yield contract_parts.check_metric(trial.metric, trial.others, predicted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"predictions{data.ending}"
        yield contract_parts.check_files(data, trial.metric, trial.others, predicted, path)
