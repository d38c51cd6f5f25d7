"""The record that a run leaves behind: version 1 of its schema, key by key.

A record is plain JSON and, in Python, the dict of the same shape. Scores are what the task's metric reports, in percent
where they are shares. Keys marked NotRequired are left out where they do not apply; everything else is always there.
"""

from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.identity import Identity, run_hash
from elmo_bench.ledger.schema import check

SCHEMA = 1
_TIME = "%Y-%m-%dT%H:%M:%S+00:00"  # one format, so that times sort as texts


class SplitScores(TypedDict):
    """What the metric says about one split."""

    overall: dict[str, float]  # every figure by its name, the main score among them
    by_type: NotRequired[dict[str, dict[str, float]]]  # the same per class, where the metric has classes


class Scores(TypedDict):
    """Both splits, scored with the parameters of the best epoch."""

    dev: SplitScores
    test: SplitScores


class MixWeights(TypedDict):
    """One mix after one epoch."""

    weights: list[float]  # after the softmax, lowest layer first
    gamma: float  # the factor before the weighted sum


class Epochs(TypedDict):
    """Counted from 1."""

    run: int  # how many were trained
    best: int  # the one whose parameters were scored


class Parameters(TypedDict):
    """How many numbers the model holds."""

    trainable: int  # what the optimiser saw
    frozen: int  # the encoder's and the frozen vectors'


class Counts(TypedDict):
    """Examples per split, after data.train_fraction and data.max_train."""

    train: int  # what the head learned from
    dev: int  # what chose the epoch
    test: int  # what was scored once, at the end


class Data(TypedDict):
    """What was trained and scored on."""

    fingerprint: str  # checksum of the examples
    counts: Counts
    note: NotRequired[str]  # anything a reader of the scores must know, such as items left out


class Checksums(TypedDict):
    """SHA-256 of what was loaded."""

    weights: NotRequired[str]  # of the encoder
    vectors: NotRequired[str]  # of the static table


class Cost(TypedDict):
    """What the run took, resumed parts included."""

    seconds: float  # wall time of the whole run
    tokens_per_second: float  # while training
    peak_memory_mib: float  # of the process, or of the GPU where there is one
    encode_seconds: NotRequired[float]  # wall time of computing the frozen layers, or of finding them in the store


class Kept(TypedDict):
    """The best head, without the encoder."""

    file: str  # relative to the record's folder
    bytes: int  # its size


class Environment(TypedDict):
    """Where the run happened."""

    python: str  # version
    platform: str  # operating system and machine
    cpu: str  # model name of the processor
    device: str  # "cpu", or the model name of the GPU
    threads: int  # of torch, on the CPU
    precision: str  # of training, such as float32 or bf16
    packages: dict[str, str]  # version by name
    commit: str | None  # of this project; null outside a git checkout
    dirty: bool | None  # whether files outside results/ differed from the commit


class Record(TypedDict):
    """One finished run."""

    schema: int  # SCHEMA
    suite: str  # which data: mini, open or paper
    task: str  # name in conf/task
    encoder: str  # name in conf/encoder
    seed: int  # of everything random in the run
    hash: str  # run_hash(identity)
    identity: Identity  # everything that can change a score
    overrides: list[str]  # key=value that set it apart from the plain run of its suite, task, encoder and size
    config: dict[str, Any]  # the config, fully resolved
    metric: str  # name of the main score in scores.*.overall
    selected_on: Literal["dev"]  # the split that chose the epoch
    scores: Scores
    layer_weights: list[dict[str, MixWeights]]  # per epoch, by place (input, output); empty where there is no mix
    epochs: Epochs
    parameters: Parameters
    data: Data
    checksums: Checksums
    cost: Cost
    kept: Kept
    environment: Environment
    created: str  # when the run finished: UTC, as now() writes it


def now() -> str:
    """This second, as `created` wants it."""
    return datetime.now(UTC).strftime(_TIME)


def check_record(record: Any) -> None:
    """Raise UserError, naming the key, unless this is a whole record of this schema that agrees with itself."""
    found = record.get("schema") if isinstance(record, dict) else None
    if isinstance(record, dict) and found != SCHEMA:
        raise UserError(f"record.schema: {found!r} where this version of elmo-bench reads {SCHEMA}")
    check(record, Record, "record")
    for split, scores in (("dev", record["scores"]["dev"]), ("test", record["scores"]["test"])):
        if record["metric"] not in scores["overall"]:
            raise UserError(f"record.scores.{split}.overall: without its {record['metric']}")
    if record["hash"] != run_hash(record["identity"]):
        raise UserError(f"record.hash: {record['hash']} is not the hash of record.identity")
    if record["layer_weights"] and not 1 <= record["epochs"]["best"] <= len(record["layer_weights"]):
        raise UserError(f"record.epochs.best: {record['epochs']['best']} is not an epoch of record.layer_weights")
    try:
        datetime.strptime(record["created"], _TIME)
    except ValueError:
        raise UserError(f"record.created: {record['created']!r} is not a UTC time such as {now()}") from None
