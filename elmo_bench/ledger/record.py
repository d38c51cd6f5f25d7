"""What a run leaves in the ledger, key by key: a record, in version 3 of its schema.

It is plain JSON and, in Python, a model with these attributes, in the order of the
file. Scores are what the task's metric reports, in percent if they are shares. Keys
with a default are left out where they do not apply; all other keys are always present.
"""

import marshal
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from elmo_bench.base.json import digest
from elmo_bench.ledger.model import Model

SCHEMA: Literal[3] = 3
MOST_LAYERS = 1000  # of a mix: a page names each
_TIME = "%Y-%m-%dT%H:%M:%S+00:00"  # one format, so that times sort as texts
Attempt = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Place = Annotated[str, Field(pattern=r"^(input|output)( \w[\w.+=-]*)?$")]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Steps = Annotated[int, Field(gt=0, le=10**9)]
Figure = Annotated[float, Field(ge=-1e15, le=1e15)]
# A count stays a whole number, so that it is written as read.
CountOrFigure = Annotated[int, Field(ge=-(10**15), le=10**15)] | Figure
Percent = Annotated[float, Field(ge=0, le=100)]
Time = Annotated[
    str, Field(pattern=r"^\d{4}(-\d\d){2}T\d\d(:\d\d){2}\+00:00$")
]  # as now() writes it
Split = Literal["dev", "test"]
SCORED: tuple[Split, ...] = ("dev", "test")
# Counts of a type: one of them is above 0 if an answer is of this type.
_OF_ANSWERS = ("correct", "guessed", "excess")


class Spec(Model):
    """`RunSpec.to_json()`: everything that can change a score, except the seed."""

    suite: str  # which data: open, paper, or the name of the user's own
    task: str  # name in conf/task
    encoder: str  # the encoder's name
    size: str  # cpu or paper
    settings: dict[str, Any]  # known from the config alone
    # Digests of data, weights and vectors; null until they were read.
    contents: dict[str, Any] | None


class SplitScores(Model):
    """What the metric reports for one split.

    All of it follows from the counts of its outcomes.
    """

    # Every figure by its name, the main score among them.
    overall: dict[str, CountOrFigure]
    # The same per class, if the metric has classes.
    by_type: dict[str, dict[str, CountOrFigure]] = Field(default={})


class Scores(Model):
    """Both splits, scored with the parameters of the best epoch."""

    dev: SplitScores
    test: SplitScores

    def of(self, split: str) -> SplitScores:
        """The scores on dev or test."""
        return {"dev": self.dev, "test": self.test}[split]


class MixWeights(Model):
    """One mix after one epoch."""

    # After the softmax, lowest layer first.
    weights: Annotated[list[Figure], Field(min_length=1, max_length=MOST_LAYERS)]
    gamma: Figure  # the factor before the weighted sum
    # Mean norm of each layer's vectors over the tokens of dev.
    norms: Annotated[list[Amount], Field(max_length=MOST_LAYERS)]


class Epochs(Model):
    """Counted from 1."""

    run: int  # how many were trained
    best: int  # the epoch whose parameters were scored


class Curves(Model):
    """One number per epoch."""

    dev: list[Percent]  # the main score on dev
    # mean over the steps of the epoch, weighted by their examples
    train_loss: list[Figure] = Field(default=[])
    lr: list[Amount] = Field(default=[])  # learning rate of the epoch's first step
    seconds: list[Amount] = Field(default=[])  # wall time of the epoch
    steps: list[Steps]  # training steps of the epoch


class Tuned(Model):
    """What was trained of the encoder, which is kept with the head."""

    # full: every number that a layer depends on. lora: new adapters of rank 8 on the
    # query and the value of attention.
    way: Literal["lora", "full"]
    count: Count  # of numbers


class Parameters(Model):
    """How many numbers the model has."""

    trainable: Count  # given to the optimiser, a tuned encoder's included
    frozen: Count  # in the encoder and in frozen vectors
    tuned: Tuned | None = None  # left out for a frozen encoder


class Counts(Model):
    """Examples per split, as trained and scored on.

    After data.train_fraction, data.max_train and data.max_eval; of train, without texts
    that are too long.
    """

    train: Annotated[int, Field(ge=1, le=10**15)]  # trained on
    dev: Count  # used to choose the epoch
    test: Count  # scored once, at the end

    def of(self, split: str) -> int:
        """The examples of dev or test."""
        return {"dev": self.dev, "test": self.test}[split]


class Data(Model):
    """What was trained and scored on; its digest is in `spec.contents`."""

    counts: Counts
    # What a reader of the scores must know, such as examples left out; one sentence
    # each.
    notes: list[str]
    # What comparing the splits found, by name, such as test sentences that are in
    # train.
    checks: dict[str, int]


class Cost(Model):
    """What the run took, earlier attempts that it resumed included.

    Seconds are wall time. Processor time (cpu) counts all threads of the run's process,
    and no work on a GPU. With store.mode=off, training steps compute layers too.
    """

    # Of the whole run, from building the head to the scores: data and weights were read
    # before.
    seconds: Amount
    train_seconds: Amount  # of training steps, without scoring dev
    # Of computing the frozen layers or reading them from the cache.
    encode_seconds: Amount = 0.0
    cpu_seconds: Amount  # processor time of the whole run
    train_cpu_seconds: Amount  # processor time of training steps
    encode_cpu_seconds: Amount = 0.0  # processor time of the frozen layers
    tokens_per_second: Amount  # while training, by wall time
    # Of the process with the files that it maps, such as the cache of frozen layers, or
    # of the GPU if there is one.
    peak_memory_mib: Amount


class Kept(Model):
    """The best head, with what was trained of the encoder and nothing else of it."""

    file: str  # relative to the record's folder
    bytes: Count  # its size


class Refit(Model):
    """The kept head was trained once more on train and dev, for use.

    The scores belong to the head that was trained on train alone.
    """

    epochs: Steps  # as many as dev chose; of a floor, the number of its C
    examples: Count  # of train and dev
    cpu_seconds: Amount  # processor time, which `cost` lacks


class Serving(Model):
    """What it takes to use the head, on data of the user's own."""

    # Of the files of the frozen encoder and of the static vectors; `kept` has the head.
    frozen_bytes: Count
    # Processor milliseconds to encode and predict an example of test, in batches; left
    # out on a GPU.
    text_ms: Amount | None = None


class Environment(Model):
    """Where the run happened."""

    python: str  # version
    platform: str  # operating system and machine
    cpu: str  # model name of the processor
    packages: dict[str, str]  # version by name; without those that are not installed
    commit: str | None  # of this project; null outside a git checkout
    dirty: bool | None  # whether files outside results/ differed from the commit
    device: str  # "cpu", or the model name of the GPU
    threads: Count  # of torch, on the CPU
    precision: str  # of training, such as 32-true or bf16-mixed
    # How parts were computed that can be computed in several ways: c, torch, packed
    # float32 …
    kernels: dict[str, str]
    source: str = ""  # the end of the path of weights and vectors, if more than a name
    # A digest of the code of the `task` and the `encoder` that a folder included.
    code: dict[str, str] = Field(default={})
    # Commit and versions that the run was started with, if it was killed and resumed
    # with others.
    started_with: dict[str, str] = Field(default={})


class Record(Model):
    """One finished run."""

    version: Literal[3] = Field(alias="schema")  # SCHEMA
    attempt: Attempt  # 32 hex digits: the attempt that made the record
    spec: Spec
    hash: str  # 12 hex digits that identify the spec: run_hash(spec)
    seed: Count  # of everything random in the run
    metric: str  # name of the main score in scores.*.overall
    formula: str  # name of the function from the outcomes of a split to the main score
    selected_on: Literal["dev"]  # the split that chose the epoch
    scores: Scores
    outcomes: str  # 64 hex digits over the arrays of the .npz: outcomes.digest_of
    # Per epoch, by place (input; `input elmo` in a stack), or empty.
    layer_weights: list[dict[Place, MixWeights]]
    epochs: Epochs
    curves: Curves
    parameters: Parameters
    data: Data
    cost: Cost
    kept: Kept
    environment: Environment
    # {option: value} where the run differs from the default run of its day, values as
    # on the command line. Earlier versions left it out.
    changes: dict[str, str] | None = None
    # {name: SHA-256} of the files of data, weights and vectors that the run read, and
    # of what else decides what is read from them: see runner/finished.py. Left out if a
    # file may have changed meanwhile, and by earlier versions.
    files: dict[str, str] | None = None
    # On data of the user's own; left out by earlier versions.
    serving: Serving | None = None
    # What the kept head was trained on besides; left out if it is the one scored.
    refit: Refit | None = None
    # {key of a record: why and how} of what was corrected after the run wrote it.
    corrected: dict[str, str] = Field(default={})
    created: Time  # the end of the run

    @property
    def main_scores(self) -> dict[str, float]:
        """The main score on dev and test."""
        return {split: score_of(self, split) for split in SCORED}


def now() -> str:
    """This second, as `created` wants it."""
    return datetime.now(UTC).strftime(_TIME)


def work_minutes_of(record: Record) -> float:
    """The minutes of work of a run.

    On a GPU wall time, else the processor time of all threads, in which no pause
    counts.
    """
    on_gpu = record.environment.device != "cpu"
    seconds = record.cost.seconds if on_gpu else record.cost.cpu_seconds
    return seconds / 60


def score_of(record: Record, split: str) -> float:
    """The main score of a record on dev or test."""
    return record.scores.of(split).overall[record.metric]


def learned(record: Record) -> bool:
    """Whether a run learned something.

    It did not if it scores 0 on dev, or the same after every one of several epochs
    while its head gives one answer to everything, as far as the scores by type show.
    """
    curve = record.curves.dev
    scores = record.scores.dev
    is_flat = len(curve) > 1 and len(set(curve)) == 1 and curve[0] < 100
    if is_flat and len(answered(scores)) < 2:
        return False
    return scores.overall[record.metric] > 0


def answered(scores: SplitScores) -> set[str]:
    """The types that the head gave as an answer, as far as the scores by type show."""
    types = set()
    for name, counts in scores.by_type.items():
        if any(counts.get(key) for key in _OF_ANSWERS):
            types.add(name)
    return types


def run_hash(spec: Spec) -> str:
    """12 hex digits over the whole spec: its folder in the ledger."""
    return _digest(spec.to_json())[:12]


def settings_key(spec: Spec) -> str:
    """12 hex digits over the spec without its contents.

    It is known before data and weights are read.
    """
    return _digest(spec.to_json() | {"contents": None})[:12]


def _digest(value: dict[str, Any]) -> str:
    """`digest`, which is computed once for the seeds of a run, read in turn."""
    try:
        # Version 2 writes equal bytes for equal values of equal types alone.
        content = marshal.dumps(value, 2)
    except ValueError:  # types that JSON reads from no file
        return digest(value)
    return _digest_of(content)


@lru_cache(maxsize=16)
def _digest_of(content: bytes) -> str:
    return digest(marshal.loads(content))
