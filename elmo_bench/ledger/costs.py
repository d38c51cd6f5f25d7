"""What a frozen encoder costs on a machine, as `elmo-bench cost` measures it: a JSON file for each of both.

The file says which encoder it is of by settings and contents, as a run's spec does, so that figures of other weights
are noticed.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import digest, read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.schema import check

SCHEMA = 1
MAX_BYTES = 2**18
LARGEST = 1e15
SINGLE = "1"  # sentences a batch: the one that every file has
_NAME = re.compile(r"\w[\w.+=-]*")
_TIME = re.compile(r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\+00:00")
_ADVICE = "Remove it, or measure again with elmo-bench cost."


class Round(TypedDict):
    """One process that loaded the encoder and read the text. On a CPU, seconds are of its processor time."""

    load_seconds: float  # until the first sentence can be read; libraries that the encoder imports included
    memory_mib: float  # peak of the process above a process without encoder; on a GPU, peak of the GPU's memory
    tokens_per_second: dict[str, float]  # by sentences a batch


class Text(TypedDict):
    """What was read."""

    name: str  # sample, or the name of a file
    sentences: int
    tokens: int
    digest: str  # 12 hex digits


class Machine(TypedDict):
    """Where."""

    cpu: str  # model name of the processor
    device: str  # "cpu", or the model name of the GPU
    threads: int  # of torch, on the CPU
    python: str
    packages: dict[str, str]  # version by name


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


def middle(cost: EncoderCost, key: str) -> float:
    """The median over the rounds of `load_seconds` or `memory_mib`."""
    return median(each[key] for each in cost["rounds"])  # type: ignore[literal-required]


def rates(cost: EncoderCost, batch: str) -> list[float]:
    """Tokens a second of each round, lowest first."""
    return sorted(each["tokens_per_second"][batch] for each in cost["rounds"])


def best_batch(cost: EncoderCost) -> str:
    """The sentences a batch with the highest median of tokens a second; of equal ones the smallest."""
    return max(sorted(cost["rounds"][0]["tokens_per_second"], key=int), key=lambda batch: median(rates(cost, batch)))


def path_of(folder: Path, cost: EncoderCost) -> Path:
    """Where a measurement is kept: one for each machine and each encoder with its settings."""
    machine = cost["machine"]
    words = [machine["cpu"], *([machine["device"]] if machine["device"] != "cpu" else [])]
    versions = ("encoder.contextual.version",)
    name = digest({key: value for key, value in cost["settings"].items() if key not in versions})[:6]
    place = re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")[:80] or "machine"
    return folder / place / f"{cost['encoder']}-{name}.json"


def write_cost(folder: Path, cost: EncoderCost) -> Path:
    """Write a measurement atomically in place of an earlier one; its path. Raises UserError."""
    _check(cost)
    path = path_of(folder, cost)
    with atomic_write(path, "w") as handle:
        handle.write(json.dumps(cost, indent=1, ensure_ascii=False) + "\n")
    return path


@reader
def read_cost(path: Path) -> EncoderCost:
    """The measurement in a file. Raises UserError if it is damaged, of another version, or a link."""
    try:
        found = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
        _check(found)
    except UserError as error:
        text = str(error) if str(error).startswith(str(path)) else f"{path}: damaged ({error})"
        raise UserError(f"{text.rstrip('.')}. {_ADVICE}") from None
    return found


def costs_folder(ledger: Path) -> Path:
    """Where measurements are kept unless the user says otherwise: next to the ledger's folder."""
    return ledger.absolute().parent / "costs"


def read_costs(folder: Path) -> tuple[list[EncoderCost], list[str]]:
    """(every measurement, one line about each file that was skipped), by path; nothing if there is no folder."""
    found, problems = [], []
    for path in sorted(folder.glob("*/*.json")):
        try:
            found.append(read_cost(path))
        except UserError as error:
            problems.append(str(error))
    return found, problems


def _check(cost: Any) -> None:
    schema = cost.get("schema") if isinstance(cost, dict) else None
    if schema != SCHEMA or type(schema) is not int:
        raise UserError(f"schema {schema!r:.20}, this version reads {SCHEMA}")
    check(cost, EncoderCost, "cost")
    batches = cost["rounds"][0]["tokens_per_second"].keys() if cost["rounds"] else set()
    positive = [number for each in cost["rounds"] for number in each["tokens_per_second"].values()]
    counted = [number for each in cost["rounds"] for number in (each["load_seconds"], each["memory_mib"])]
    if (
        SINGLE not in batches
        or not all(batch.isascii() and batch.isdigit() and len(batch) < 10 for batch in batches)
        or any(each["tokens_per_second"].keys() != batches for each in cost["rounds"])
    ):
        raise UserError("cost.rounds: not measured with batches of one sentence, and with the same ones in each round")
    counted += [cost["parameters"], cost["stored_bytes"] or 0]
    if min(positive) <= 0 or min(counted) < 0 or max(*positive, *counted) > LARGEST:
        raise UserError("cost: a number that is too small or too large")
    machine = cost["machine"]
    shown = [machine["cpu"], machine["device"], cost["text"]["name"], *machine["packages"].values()]
    if not all(text.isprintable() and len(text) < 200 for text in shown):
        raise UserError("cost: a name that cannot be printed on a line")
    if not _NAME.fullmatch(cost["encoder"]) or not _TIME.fullmatch(cost["created"]):
        raise UserError("cost: not the name of an encoder and a time")
