"""What a frozen encoder costs on a machine, as `elmo-bench cost` measures it: a JSON file for each of both.

The file says which encoder it is of by settings and contents, as a run's spec does, so that figures of other weights
are noticed.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import digest, read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.schema import check

SCHEMA = 1
MAX_BYTES = 2**18
SINGLE = "1"  # sentences a batch: the one that every file has


class Round(TypedDict):
    """One process that loaded the encoder and read the text. On a CPU, seconds are of its processor time."""

    load_seconds: float  # until the first sentence can be read; libraries that the encoder imports included
    memory_mib: float  # peak of the process above a process without encoder; on a GPU, peak of the GPU's memory
    tokens_per_second: dict[str, float]  # by sentences a batch


class Machine(TypedDict):
    """Where it was measured; `device` is "cpu" or the model name of the GPU, `threads` those of torch on the CPU."""

    cpu: str
    device: str
    threads: int
    python: str
    packages: dict[str, str]


class Text(TypedDict):
    """What was read; `digest` has 12 hex digits."""

    name: str
    sentences: int
    tokens: int
    digest: str


class EncoderCost(TypedDict):
    """One file."""

    schema: int  # SCHEMA
    encoder: str  # as in the spec of a run
    settings: dict[str, Any]  # of the encoder, from the settings of a run
    contents: dict[str, Any]  # checksums of its weights and vectors, as in the spec of a run
    machine: Machine
    text: Text
    rounds: list[Round]
    parameters: int  # numbers that are frozen: of networks and of whole tables of vectors
    stored_bytes: int | None  # of the files that it was loaded from; null if that is not known
    created: str


def encoder_part(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the encoder among the settings of a run."""
    return {key: value for key, value in settings.items() if key.startswith("encoder.")}


def encoder_key(settings: Mapping[str, Any], contents: Mapping[str, Any] | None) -> str:
    """Equal for two runs, or a run and a measurement, that use the same frozen encoder, weights and vectors."""
    own = {key: value for key, value in (contents or {}).items() if key in ("weights", "vectors")}
    return digest([encoder_part(settings), own])


def write_cost(folder: Path, cost: EncoderCost) -> Path:
    """Write a measurement in place of an earlier one of this machine and this encoder with its settings; its path."""
    _check(cost)
    machine, settings = cost["machine"], cost["settings"]
    own = digest({key: value for key, value in settings.items() if key != "encoder.contextual.version"})[:6]
    words = f"{machine['cpu']} {machine['device'] if machine['device'] != 'cpu' else ''}"
    place = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:80] or "machine"
    path = folder / place / f"{cost['encoder']}-{own}.json"
    with atomic_write(path, "w") as handle:
        handle.write(json.dumps(cost, indent=1, ensure_ascii=False) + "\n")
    return path


@reader
def read_cost(path: Path) -> EncoderCost:
    """The measurement in a file. Raises UserError if it is damaged, of another version, or a link."""
    try:
        _check(cost := read_json(path, max_bytes=MAX_BYTES, follow_links=False))
    except UserError as error:
        said = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {said}. Remove it, or measure again with elmo-bench cost.") from None
    return cost


def read_costs(folder: Path) -> tuple[list[EncoderCost], list[str]]:
    """(every measurement, one line about each file that was skipped), by path; nothing if there is no folder."""
    costs, problems = [], []
    for path in sorted(folder.glob("*/*.json")):
        try:
            costs.append(read_cost(path))
        except UserError as error:
            problems.append(str(error))
    return costs, problems


def _check(cost: Any) -> None:
    if not isinstance(cost, dict) or cost.get("schema") != SCHEMA:
        raise UserError(f"not of schema {SCHEMA}, which this version reads")
    check(cost, EncoderCost, "cost")
    rates = [each["tokens_per_second"] for each in cost["rounds"]]
    if not rates or SINGLE not in rates[0] or any(each.keys() != rates[0].keys() for each in rates):
        raise UserError("cost.rounds: not measured with batches of one sentence, and with the same ones in each round")
    if not all(batch.isdecimal() and 0 < each[batch] < 1e15 for each in rates for batch in each):
        raise UserError("cost.rounds: a batch that is no number, or a rate that is none")
    if not re.fullmatch(r"\w[\w.+=-]*", cost["encoder"]):
        raise UserError("cost.encoder: not the name of an encoder")
