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
from elmo_bench.ledger.record import Environment
from elmo_bench.ledger.schema import check

NAME = r"^\w[\w.+=-]*$"  # of an encoder
Passes = Annotated[list[Annotated[float, Field(gt=0, lt=1e15)]], Field(min_length=1)]
# Tokens a second by sentences a batch; each pass reads other sentences.
Rates = TypedDict("Rates", {"1": Passes, "8": Passes, "32": Passes, "128": Passes})


class EncoderCost(TypedDict):
    """One file. On a CPU, seconds are of the processor time of one thread."""

    schema: Literal[2]
    encoder: Annotated[str, Field(pattern=NAME)]  # as in the spec of a run
    settings: dict[str, Any]  # of the encoder, from the settings of a run
    contents: dict[str, Any]  # checksums of its weights and vectors, as in the spec of a run
    environment: Environment
    text: str  # digest of all sentences, 12 hex digits
    tokens: int  # of all sentences
    tokens_per_second: Rates
    load_seconds: float  # until the first sentence can be read; libraries that the encoder imports included
    memory_mib: float  # peak of the process above the process before; on a GPU, peak of the GPU's memory
    parameters: int  # numbers that are frozen: of networks and of whole tables of vectors
    created: str


def encoder_part(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the encoder among the settings of a run."""
    return {key: value for key, value in settings.items() if key.startswith("encoder.")}


def encoder_key(settings: Mapping[str, Any], contents: Mapping[str, Any] | None) -> str:
    """Equal for two runs, or a run and a measurement, that use the same frozen encoder, weights and vectors."""
    own = {key: value for key, value in (contents or {}).items() if key in ("weights", "vectors")}
    return digest([encoder_part(settings), own])


def write_cost(folder: Path, cost: EncoderCost) -> Path:
    """Write a measurement in place of an earlier one of this machine, encoder, settings and contents; its path."""
    check(cost, EncoderCost, "cost")
    where, settings = cost["environment"], cost["settings"]
    kept = {key: value for key, value in settings.items() if key != "encoder.contextual.version"}
    own = digest([kept, cost["contents"]])[:6]
    machine = where["cpu"] if where["device"] == "cpu" else where["device"]
    place = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")[:80] or "machine"
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
            if path.parent.is_symlink():
                raise UserError("in a folder that is a link")
            cost = read_json(path, max_bytes=2**18, follow_links=False)
            check(cost, EncoderCost, "cost")
            costs.append(cost)
        except UserError as error:
            said = str(error).removeprefix(f"{path}: ")
            problems.append(f"{path}: {said}. Remove it, or measure again with elmo-bench cost.")
    return costs, problems
