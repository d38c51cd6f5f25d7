"""What a run leaves in the ledger, key by key: a record, in version 3 of its schema.

It is plain JSON and, in Python, a dict of the same shape. Scores are what the task's metric reports, in percent if
they are shares. Keys marked NotRequired are left out where they do not apply; all other keys are always present.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest
from elmo_bench.ledger.schema import check

SCHEMA: Literal[3] = 3
_TIME = "%Y-%m-%dT%H:%M:%S+00:00"  # one format, so that times sort as texts
NEAR = 0.5  # points between the best of the dev curve and the score of the checkpoint that was loaded again, or a unit
MANY, SOME = 100, 20  # wrong items that no two seeds have in common; SOME: if their dev curves are equal too
CLOCKS = timedelta(days=1)  # by which clocks may differ
Attempt = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Place = Annotated[str, Field(pattern=r"^(input|output)( \w[\w.+=-]*)?$")]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Figure = Annotated[float, Field(ge=-1e15, le=1e15)]
Percent = Annotated[float, Field(ge=0, le=100)]


class Spec(TypedDict):
    """`RunSpec.to_json()`: everything that can change a score, except the seed."""

    suite: str  # which data: open or paper
    task: str  # name in conf/task
    encoder: str  # the encoder's name
    size: str  # cpu or paper
    settings: dict[str, Any]  # known from the config alone
    contents: dict[str, Any] | None  # digests of data, weights and vectors; null until they were read


class SplitScores(TypedDict):
    """What the metric reports for one split; all of it follows from the counts of its outcomes."""

    overall: dict[str, Figure]  # every figure by its name, the main score among them
    by_type: NotRequired[dict[str, dict[str, Figure]]]  # the same per class, if the metric has classes


class Scores(TypedDict):
    """Both splits, scored with the parameters of the best epoch."""

    dev: SplitScores
    test: SplitScores


class MixWeights(TypedDict):
    """One mix after one epoch."""

    weights: Annotated[list[Figure], Field(min_length=1)]  # after the softmax, lowest layer first
    gamma: Figure  # the factor before the weighted sum
    norms: NotRequired[list[Amount]]  # mean norm of each layer's vectors over the tokens of dev


class Epochs(TypedDict):
    """Counted from 1."""

    run: int  # how many were trained
    best: int  # the epoch whose parameters were scored


class Curves(TypedDict):
    """One number per epoch."""

    dev: list[Percent]  # the main score on dev
    steps: list[Annotated[Count, Field(gt=0, le=10**9)]]  # training steps of the epoch
    train_loss: NotRequired[list[Figure]]  # mean over the epoch
    lr: NotRequired[list[Amount]]  # learning rate of the epoch's first step
    seconds: NotRequired[list[Amount]]  # wall time of the epoch


class Parameters(TypedDict):
    """How many numbers the model has."""

    trainable: Count  # given to the optimiser
    frozen: Count  # in the encoder and in frozen vectors


class Counts(TypedDict):
    """Examples per split, after data.train_fraction and data.max_train."""

    train: Count  # trained on
    dev: Count  # used to choose the epoch
    test: Count  # scored once, at the end


class Data(TypedDict):
    """What was trained and scored on; its digest is in `spec.contents`."""

    counts: Counts
    notes: list[str]  # what a reader of the scores must know, such as examples left out; one sentence each
    checks: dict[str, int]  # what comparing the splits found, by name, such as test sentences that are in train


class Cost(TypedDict):
    """What the run took, earlier attempts that it resumed included. Seconds are wall time.

    Processor time (cpu) counts all threads of the run's process, and no work on a GPU.
    """

    seconds: Amount  # of the whole run, from building the head to the scores: data and weights were read before
    cpu_seconds: Amount  # the same in processor time
    train_seconds: Amount  # of training steps, without scoring dev; with store.mode=off they compute layers too
    train_cpu_seconds: Amount  # the same in processor time
    encode_seconds: NotRequired[Amount]  # of computing the frozen layers or reading them from the cache
    encode_cpu_seconds: NotRequired[Amount]  # the same in processor time
    tokens_per_second: Amount  # while training, by wall time
    peak_memory_mib: Amount  # of the process, or of the GPU if there is one


class Kept(TypedDict):
    """The best head, without the encoder."""

    file: str  # relative to the record's folder
    bytes: Count  # its size


class Environment(TypedDict):
    """Where the run happened."""

    python: str  # version
    platform: str  # operating system and machine
    cpu: str  # model name of the processor
    device: str  # "cpu", or the model name of the GPU
    threads: Count  # of torch, on the CPU
    precision: str  # of training, such as 32-true or bf16-mixed
    packages: dict[str, str]  # version by name; without those that are not installed
    kernels: dict[str, str]  # how parts were computed that can be computed in several ways: c, torch, packed float32 …
    commit: str | None  # of this project; null outside a git checkout
    dirty: bool | None  # whether files outside results/ differed from the commit
    source: NotRequired[str]  # the end of the path of weights and vectors, if it is more than a name
    code: NotRequired[dict[str, str]]  # a digest of the code of the `task` and the `encoder` that a folder included


class Record(TypedDict):
    """One finished run."""

    schema: Literal[3]  # SCHEMA
    attempt: Attempt  # 32 hex digits: the attempt that made the record
    spec: Spec
    hash: str  # 12 hex digits that identify the spec: run_hash(spec)
    seed: Count  # of everything random in the run
    metric: str  # name of the main score in scores.*.overall
    formula: str  # name of the function from the outcomes of a split to the main score
    selected_on: Literal["dev"]  # the split that chose the epoch
    scores: Scores
    outcomes: str  # 64 hex digits over the arrays beside the record: outcomes.digest_of
    layer_weights: list[dict[Place, MixWeights]]  # per epoch, by place (input; `input elmo` in a stack), or empty
    epochs: Epochs
    curves: Curves
    parameters: Parameters
    data: Data
    cost: Cost
    kept: Kept
    environment: Environment
    created: Annotated[str, Field(pattern=r"^\d{4}(-\d\d){2}T\d\d(:\d\d){2}\+00:00$")]  # the end, as now() writes it


def now() -> str:
    """This second, as `created` wants it."""
    return datetime.now(UTC).strftime(_TIME)


def minutes_of(record: Record) -> float:
    """What a run takes: on a GPU wall time, else the processor time of all threads, in which no pause counts."""
    return record["cost"]["seconds" if record["environment"]["device"] != "cpu" else "cpu_seconds"] / 60


def score_of(record: Record, split: str) -> float:
    """The main score of a record on dev or test."""
    return record["scores"][split]["overall"][record["metric"]]  # type: ignore[literal-required]


def run_hash(spec: Spec) -> str:
    """12 hex digits over the whole spec: its folder in the ledger."""
    return digest(spec)[:12]


def settings_key(spec: Spec) -> str:
    """12 hex digits over the spec without its contents: known before data and weights are read."""
    return digest({**spec, "contents": None})[:12]


def check_record(record: Any) -> None:
    """Raise UserError, naming the key, unless this is a complete record of this schema that agrees with itself.

    `Copies` compares it with other records; `report`, `compare`, `merge` and `check` also sum its outcomes.
    """
    check(record, Record, "record")
    try:
        hash_ = run_hash(record["spec"])
    except (TypeError, ValueError) as error:  # NaN
        raise UserError(f"record.spec: {error}") from None
    if record["spec"]["contents"] is None:
        raise UserError("record.spec.contents: null. Give the digests of data, weights and vectors.")
    if record["hash"] != hash_:
        raise UserError(f"record.hash: {record['hash']:.60} is not the hash of record.spec")
    try:
        late = datetime.fromisoformat(record["created"]) > datetime.now(UTC) + CLOCKS
    except ValueError as error:  # February 30
        raise UserError(f"record.created: {error}") from None
    if late:
        raise UserError(f"record.created: {record['created']} is in the future")
    _check_epochs(record)


def _check_epochs(record: Any) -> None:
    """The best epoch is the best of the dev curve, and its score is the one on dev."""
    main, curves = record["metric"], record["curves"]
    run, best = record["epochs"]["run"], record["epochs"]["best"]
    for split, scores in record["scores"].items():
        if main not in scores["overall"]:
            raise UserError(f"record.scores.{split}.overall: {main} missing")
        if not 0 <= (score := scores["overall"][main]) <= 100:
            raise UserError(f"record.scores.{split}.overall.{main}: {score} is not between 0 and 100")
    for name, curve in curves.items():
        if len(curve) != run:
            raise UserError(f"record.curves.{name}: {len(curve)} numbers of {run} epochs")
    for layers in (shapes := [_layers(epoch) for epoch in record["layer_weights"]]):
        if layers != shapes[0] or any(len(numbers) > 1 for numbers in layers.values()):
            raise UserError("record.layer_weights: the epochs, or weights and norms, are of other places or layers")
    if not 1 <= best <= min(run, len(record["layer_weights"]) or run):
        raise UserError(f"record.epochs.best: {best} is not an epoch of the run")
    chosen, top, dev = curves["dev"][best - 1], max(curves["dev"]), record["scores"]["dev"]["overall"][main]
    if chosen < top or abs(chosen - dev) > max(NEAR, 100 / max(1, _units(record, "dev"))):
        said = f"with dev {main} {chosen:.2f}; the best of its curve is {top:.2f}, the score of dev {dev:.2f}"
        raise UserError(f"record.epochs.best: {best}, {said}")


def _layers(epoch: Any) -> dict[str, set[int]]:
    """How many layers the mixes have, by place."""
    return {place: {len(own) for key, own in mix.items() if key != "gamma"} for place, mix in epoch.items()}


class Copies:
    """Notices a run that a ledger has under several seeds or specs.

    Two seeds of a run never agree on every item, unless the data are few or easy, the head learned nothing (see MANY,
    SOME and `_wrong`), or one epoch was enough, as for word senses. Their training losses always differ.
    """

    def __init__(self) -> None:
        self.known: dict[Any, tuple[str, int]] = {}  # hash and seed of an attempt, of outcomes
        self.layers: dict[str, Any] = {}  # `_layers` of a run, by hash

    def check(self, record: Record) -> None:
        """Raise UserError if an earlier record of another run has the same attempt, or the same outcomes.

        Where outcomes may agree by chance, the dev curves have to be the same too, and else the losses as well.
        """
        for own in map(_layers, record["layer_weights"][:1]):
            if self.layers.setdefault(record["hash"], own) != own:
                raise UserError("layer_weights: other places or layers than in another seed of the run")
        run, dev = (record["hash"], record["seed"]), record["curves"]["dev"]
        wrong, rises, loss = _wrong(record), len(set(dev)) > 1, record["curves"].get("train_loss")
        traits: list[tuple[Any, ...]] = [("attempt", record["attempt"])]
        if wrong >= MANY and rises:
            traits.append(("outcomes", run[0], record["outcomes"]))
        elif (wrong >= SOME and rises) or loss:
            more = () if wrong >= SOME and rises else loss
            traits.append(("outcomes and curves", run[0], record["outcomes"], *dev, *(more or ())))
        for trait in traits:
            if (other := self.known.setdefault(trait, run)) != run:
                raise UserError(f"the same {trait[0]} as seed {other[1]} of {other[0]}, so one of the two is a copy")


def _wrong(record: Record) -> float:
    """About how many units are wrong; 0 if that tells nothing: nothing is right, or one answer is always given."""
    scores: Any = record["scores"]
    types = [item for split in scores.values() for item in split.get("by_type", {}).items()]
    answered = [(kind, own) for kind, own in types if any(own.get(key) for key in ("correct", "guessed", "excess"))]
    always = len({kind for kind, _ in answered}) == 1 and all(
        own.get("correct") == own.get("gold") for _, own in answered
    )
    main = {split: own["overall"][record["metric"]] for split, own in scores.items()}
    if always or not any(main.values()):
        return 0
    return sum(_units(record, split) * (1 - score / 100) for split, score in main.items())


def _units(record: Any, split: str) -> float:
    """The items of a split; the gold mentions where items are documents."""
    types = record["scores"][split].get("by_type", {}).values()
    return max((own["recall_den"] for own in types if "recall_den" in own), default=record["data"]["counts"][split])
