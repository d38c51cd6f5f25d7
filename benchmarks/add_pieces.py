"""Move the runs of transformers in a ledger to the hashes that they have since pieces are a part of a run's contents.

    python benchmarks/add_pieces.py LEDGER
    python benchmarks/add_pieces.py LEDGER --weights FOLDER --costs results/costs

A run of an encoder of kind `hf` from before then has the checksum of the encoder's files alone. The script loads
the encoder and adds the digest of its pieces to the record, the head and the folder's name. A record stays, with a
line why, if the files here are not the record's, or if it was made with another version of transformers or
tokenizers, whose pieces are not known: start the script with that version, too. `--weights` is the folder of a model
that a record names. `--costs` also changes the measurements of `elmo-bench cost`.

A killed script leaves every run whole, in its old place, in its new one or in both; start it again.
"""

import argparse
import copy
import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import read_json
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.hf_files import NAMES
from elmo_bench.ledger import (
    Record,
    RunPaths,
    Spec,
    list_runs,
    read_outcomes,
    read_record,
    run_hash,
    run_lock,
    write_record,
)
from elmo_bench.ledger.costs import EncoderCost, write_cost
from elmo_bench.runner.head_files import KeptHead, read_head, write_head
from elmo_bench.spec.run_spec import RunSpec

HEAD = "head.safetensors"
PIECES = re.compile(" pieces [0-9a-f]{64}")


def main(arguments: list[str] | None = None) -> int:
    """Print what was moved and what was not; 1 if a record or a measurement stays that should be moved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--weights", type=Path, action="append", default=[], help="the folder of a model")
    parser.add_argument("--costs", type=Path, help="the folder of the measurements")
    options = parser.parse_args(arguments)
    folders = {folder.name: str(folder) for folder in options.weights}
    moved, problems = 0, []
    for paths in list_runs(options.ledger)[0]:
        try:
            if paths.record.is_file():
                moved += move_run(paths, folders)
        except UserError as error:
            problems.append(str(error))
    print(f"{moved} records moved")
    if options.costs:
        problems += move_costs(options.costs, folders)
    for problem in problems:
        print(problem)
    return int(bool(problems))


def move_run(paths: RunPaths, folders: Mapping[str, str]) -> bool:
    """Whether the run is one of these and was moved. Raises UserError if it cannot be moved."""
    record = read_record(paths.record)
    spec = record.spec
    packages = record.environment.packages
    contents = with_pieces(spec.to_json(), packages, folders, where=str(paths.record))
    if contents == spec.contents:
        return False
    spec = spec.model_copy(update={"contents": contents})
    moved = record.model_copy(update={"spec": spec, "hash": run_hash(spec)})
    target = RunPaths.of(paths.ledger, moved)
    with run_lock(paths), run_lock(target):
        if not target.record.exists():
            write_run(paths, target, moved)
        elif read_record(target.record).attempt != record.attempt:
            raise UserError(f"{paths.record}: {target.record} is another record of this run. Remove one of them.")
        move_work(paths, target)
        paths.outcomes.unlink(missing_ok=True)
        paths.record.unlink()  # last: the run is known by it
    if not any(paths.folder.iterdir()):
        paths.folder.rmdir()
    return True


def write_run(paths: RunPaths, target: RunPaths, moved: Record) -> None:
    """Write the head, the outcomes and at last the record to their new places."""
    outcomes = read_outcomes(paths)
    if (paths.work / HEAD).is_file():
        head = move_head(read_head(paths.work / HEAD), moved.spec, target)
        kept = moved.kept.model_copy(update={"bytes": head.stat().st_size})
        moved = moved.model_copy(update={"kept": kept})
    write_record(target, moved, outcomes)


def with_pieces(spec: Mapping[str, Any], packages: Mapping[str, str], folders: Mapping[str, str], *, where: str) -> Any:
    """The contents of a spec, with the pieces of its transformers. `where` begins an error. Raises UserError."""
    contents = copy.deepcopy(spec["contents"])
    for part, options in RunSpec(**spec).encoders().items():
        if options["kind"] != "hf":
            continue
        checksum = contents["weights"][part] if part else contents["weights"]
        if PIECES.search(checksum):
            continue
        check_versions(packages, where)
        today = checksum_of(options, folders, where)
        if PIECES.sub("", today) != checksum:
            raise UserError(
                f"{where}: made with other files of {options['weights']} than are here, or in bfloat16. Run it again."
            )
        if part:
            contents["weights"][part] = today
        else:
            contents["weights"] = today
    return contents


def check_versions(packages: Mapping[str, str], where: str) -> None:
    """Raise UserError if a record was made with another version of what decides about pieces."""
    for name in HfEncoder.packages:
        made, here = packages.get(name), metadata.version(name)
        if made not in (None, here):
            raise UserError(
                f"{where}: made with {name} {made}, here is {here}. Install {name}=={made} for this script."
            )


def checksum_of(options: Mapping[str, Any], folders: Mapping[str, str], where: str) -> str:
    """Today's checksum of the encoder with these options of a spec. Raises UserError."""
    name = str(options["weights"])
    if name not in (*NAMES, *folders):
        raise UserError(f"{where}: where {name} is, no record says. Give its folder: --weights FOLDER/{name}")
    numbers = {key: value for key, value in options.items() if key not in ("kind", "version", "weights")}
    return _checksum(folders.get(name, name), tuple(sorted(numbers.items())))


@cache
def _checksum(weights: str, numbers: tuple[tuple[str, Any], ...]) -> str:
    return HfEncoder(weights=weights, **dict(numbers)).checksum


def move_head(head: KeptHead, spec: Spec, target: RunPaths) -> Path:
    """Write the head of a run to its new place; it names the spec and the checksums of its encoders."""
    weights = (spec.contents or {})["weights"]
    checksums = weights if isinstance(weights, dict) else {"": weights}
    changes = {"spec": spec, "encoders": head.about.encoders | checksums}
    about = head.about.model_copy(update=changes)
    return write_head(target.work / HEAD, KeptHead(head.tensors, about))


def move_work(paths: RunPaths, target: RunPaths) -> None:
    """Move the logs and predictions of a run beside its new head."""
    if not paths.work.is_dir():
        return
    target.work.mkdir(exist_ok=True)
    for path in paths.work.iterdir():
        if path.name != HEAD:
            os.replace(path, target.work / path.name)  # noqa: PTH105  replaces an empty folder, too
    (paths.work / HEAD).unlink(missing_ok=True)
    paths.work.rmdir()


def move_costs(root: Path, folders: Mapping[str, str]) -> list[str]:
    """Write the measurements of these encoders with their pieces; a line for each that cannot be changed."""
    problems = []
    for path in sorted(root.glob("*/*.json")):
        try:
            cost = read_json(path, follow_links=False)
            spec = {"suite": "", "task": "", "encoder": cost["encoder"], "size": ""}
            spec |= {"settings": cost["settings"], "contents": cost["contents"]}
            contents = with_pieces(spec, cost["environment"]["packages"], folders, where=str(path))
            if contents != cost["contents"]:
                changed = EncoderCost.read(cost | {"contents": contents}, "cost")
                written = write_cost(root, changed)
                if written != path:
                    path.unlink()
        except UserError as error:
            problems.append(str(error))
    return problems


if __name__ == "__main__":
    sys.exit(main())
