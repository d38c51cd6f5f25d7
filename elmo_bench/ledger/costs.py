"""What a frozen encoder costs on a machine, as `elmo-bench cost` measures it: a JSON file for each of both.

The file says which encoder it is of by settings and contents, as a run's spec does.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import digest, read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.schema import check

SINGLE = "1"  # sentences a batch: the one that every file has
Batch = Annotated[str, Field(pattern=r"^\d+$")]
Rate = Annotated[float, Field(gt=0, lt=1e15)]


class Round(TypedDict):
    """One process that loaded the encoder and read the text. On a CPU, seconds are of its processor time."""

    load_seconds: float  # until the first sentence can be read; libraries that the encoder imports included
    memory_mib: float  # peak of the process above a process without encoder; on a GPU, peak of the GPU's memory
    tokens_per_second: dict[Batch, Rate]  # by sentences a batch


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

    schema: Literal[1]
    encoder: Annotated[str, Field(pattern=r"^\w[\w.+=-]*$")]  # as in the spec of a run
    settings: dict[str, Any]  # of the encoder, from the settings of a run
    contents: dict[str, Any]  # checksums of its weights and vectors, as in the spec of a run
    machine: Machine
    text: Text
    rounds: Annotated[list[Round], Field(min_length=1)]
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
def read_costs(folder: Path) -> tuple[list[EncoderCost], list[str]]:
    """(every measurement, one line about each file that was skipped), by path; nothing if there is no folder.

    A file is skipped if it is damaged, of another version, or a link.
    """
    costs, problems = [], []
    for path in sorted(folder.glob("*/*.json")):
        try:
            _check(cost := read_json(path, max_bytes=2**18, follow_links=False))
            costs.append(cost)
        except UserError as error:
            said = str(error).removeprefix(f"{path}: ")
            problems.append(f"{path}: {said}. Remove it, or measure again with elmo-bench cost.")
    return costs, problems


def _check(cost: Any) -> None:
    check(cost, EncoderCost, "cost")
    batches = [each["tokens_per_second"].keys() for each in cost["rounds"]]
    if SINGLE not in batches[0] or any(each != batches[0] for each in batches):
        raise UserError("cost.rounds: not measured with batches of one sentence, and with the same ones in each round")
