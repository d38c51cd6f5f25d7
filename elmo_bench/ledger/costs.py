"""What a frozen encoder costs on a machine, as `elmo-bench cost` measures it.

A JSON file for each encoder and machine. The file says which encoder it is of by
settings and contents, as a run's spec does.
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
from elmo_bench.ledger.model import Model
from elmo_bench.ledger.record import Environment

NAME = r"^\w[\w.+=-]*$"  # of an encoder
MAX_BYTES = 2**18
Passes = Annotated[list[Annotated[float, Field(gt=0, lt=1e15)]], Field(min_length=1)]
# Tokens a second by sentences a batch; each pass reads other sentences.
Rates = TypedDict("Rates", {"1": Passes, "8": Passes, "32": Passes, "128": Passes})


class EncoderCost(Model):
    """One file. On a CPU, seconds are of the processor time of one thread."""

    version: Literal[2] = Field(alias="schema")
    encoder: Annotated[str, Field(pattern=NAME)]  # as in the spec of a run
    settings: dict[str, Any]  # of the encoder, from the settings of a run
    # Checksums of its weights and vectors, as in the spec of a run.
    contents: dict[str, Any]
    environment: Environment
    text: str  # digest of all sentences, 12 hex digits
    tokens: int  # of all sentences
    tokens_per_second: Rates
    # Until the first sentence can be read; libraries that the encoder imports included.
    load_seconds: float
    # Peak of the process above the process before; on a GPU, peak of the GPU's memory.
    memory_mib: float
    # Numbers that are frozen: of networks and of whole tables of vectors.
    parameters: int
    created: str


def encoder_part(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the encoder among the settings of a run."""
    return {key: settings[key] for key in settings if key.startswith("encoder.")}


def encoder_key(settings: Mapping[str, Any], contents: Mapping[str, Any] | None) -> str:
    """Equal for two runs, or a run and a measurement, that use the same frozen encoder,
    weights and vectors."""
    contents = contents or {}
    frozen = {
        name: contents[name] for name in ("weights", "vectors") if name in contents
    }
    return digest([encoder_part(settings), frozen])


def write_cost(folder: Path, cost: EncoderCost) -> Path:
    """Write a measurement; returns its path.

    It replaces an earlier one of this machine, encoder, settings and contents.
    """
    settings = dict(cost.settings)
    settings.pop("encoder.contextual.version", None)
    name = f"{cost.encoder}-{digest([settings, cost.contents])[:6]}.json"
    where = cost.environment
    machine = where.cpu if where.device == "cpu" else where.device
    path = folder / file_name_of(machine) / name
    with atomic_write(path, "w") as handle:
        text = json.dumps(cost.to_json(), indent=1, ensure_ascii=False)
        handle.write(f"{text}\n")
    return path


def file_name_of(machine: str) -> str:
    """The model of a processor or GPU, as in the name of a file or folder."""
    name = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    return name[:80] or "machine"


@reader
def read_costs(folder: Path) -> tuple[list[EncoderCost], list[str]]:
    """(every measurement, one line about each file that was skipped), by path.

    Nothing if the folder is missing. A file is skipped if it is damaged, of another
    version, or a link.
    """
    costs, problems = [], []
    for path in sorted(folder.glob("*/*.json")):
        try:
            costs.append(_read_cost(path))
        except UserError as error:
            why = str(error).removeprefix(f"{path}: ")
            problems.append(
                f"{path}: {why}. Remove it, or measure again with elmo-bench cost."
            )
    return costs, problems


def _read_cost(path: Path) -> EncoderCost:
    if path.parent.is_symlink():
        raise UserError("in a folder that is a link")
    content = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
    return EncoderCost.read(content, "cost")
