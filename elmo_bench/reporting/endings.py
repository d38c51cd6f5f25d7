"""What a run prints when it ends: its scores, the published row, what comes next.

Importing this imports no pandas and no torch.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from elmo_bench.base import include
from elmo_bench.base.errors import redacted
from elmo_bench.base.metric import measure
from elmo_bench.ledger import Record, RunPaths, learned, score_of
from elmo_bench.reporting.after_sweep import (
    Flags,
    Next,
    in_ledger,
    predict_command,
    report_command,
)
from elmo_bench.reporting.names import BASELINE, counted
from elmo_bench.reporting.published import Published, processor, published, verdict
from elmo_bench.spec.budget import epochs_of
from elmo_bench.spec.conf_files import choices
from elmo_bench.spec.describe import label_of, needs_gpu
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import QUICK, REFIT
from elmo_bench.spec.sweeps import LEDGER
from elmo_bench.spec.task_files import FLOOR, floor_of

SEEDS = 3  # of the sweep that is suggested
NOTHING_LEARNED = (
    "the head learned nothing: it gives one answer to everything, or none that is "
    "right."
)
LOWER_RATE = "Look at the losses in its log, and give a lower rate (lr_scale=0.1)."


def outcome(ledger: Path, record: Record, state: str) -> str:
    """One line about a run that is done or skipped: its scores, its record."""
    if not learned(record):
        state += ", but the head learned nothing"
    if record.refit is not None:
        epochs = counted(record.refit.epochs, "epoch")
        state += f" and refitted on train and dev ({epochs})"
    main = measure(record.metric, record.scores.test.overall)
    dev = score_of(record, "dev")
    test = score_of(record, "test")
    path = RunPaths.of(ledger, record).record
    return f"{state}: dev {main} {dev:.2f}, test {main} {test:.2f}  {path}"


def already(record: Record, *more: str) -> str:
    """The state of a run that was in the ledger, and what else is to be said of it."""
    code = record.environment.code
    states = ["already in the ledger", *more]
    if code and code != RunSpec.of_record(record).code:
        states.append("with other code than its folder has now")
    return f"{', '.join(states)} (overwrite=true runs it again)"


def ending(
    record: Record,
    ledger: Path = LEDGER,
    *,
    options: Sequence[str] = (),
    made: bool = True,
    floor: Record | None = None,
    flags: Flags,
) -> Iterator[str]:
    """Lines about a run that is in the ledger.

    They say why it ended, whether it reproduces its published row, and what is next.

    options: of the run, as they were given. ledger: for the commands in it. made:
    whether this command trained it; otherwise nothing is said of reproducing. floor:
    the record that it is compared with, on data of the user's own. flags: of `predict`.
    """
    minutes = record.cost.seconds / 60
    numbers = record.parameters.trainable
    took = f"{minutes:.1f} minutes of wall time"
    yield f"{_best(record)}; {took}; {numbers:,} numbers were trained"
    if not learned(record):
        yield f"{NOTHING_LEARNED} {_advice(record)}"
    score = score_of(record, "test")
    row = published().get(record.hash)
    if row is not None and made:
        result = verdict(score, record.seed, processor(record.environment), row)
        yield f"published: test {record.metric} {_spread(row)}. This run: {result}."
    # A run without a default run has a label, too.
    is_default = label_of(RunSpec.of_record(record)) in ("", f"{QUICK}=true")
    base = _baseline(record) if is_default else None
    if base is not None:
        gain = f"{score - base.mean:+.2f} (a single seed; no test)"
        yield f"gain over the published {BASELINE}, {_spread(base)}: {gain}"
    if floor is not None:
        yield gain_over_floor(record, floor)
    commands: list[Next] = []
    if record.refit is not None:
        commands = _use_commands(record, ledger, flags)
    elif is_default:
        commands = _next(record, row, base, ledger, options)
    elif row is not None and _usual_epochs(record) > record.epochs.run:
        commands = _whole_run(record, ledger)
    yield from next_lines(commands or [report_command(ledger)])


def _use_commands(record: Record, ledger: Path, flags: Flags) -> list[Next]:
    """The commands that use a trained head, on data of the user's own."""
    if needs_gpu(RunSpec.of_record(record)):  # the head cannot predict
        return []
    path = RunPaths.of(ledger, record).record
    return [
        (predict_command(record, ledger, flags), "a new file, by this head"),
        (["export", str(path), "my-head"], "a folder that moves elsewhere"),
    ]


def gain_over_floor(record: Record, floor: Record) -> str:
    """One line: the floor's score, and how much higher the run's is."""
    least = score_of(floor, "test")
    gain = score_of(record, "test") - least
    return (
        f"gain over the floor {floor.spec.encoder}, {least:.2f}: "
        f"{gain:+.2f} (a single seed; no test)"
    )


def _best(record: Record) -> str:
    """Which epoch was chosen and why the run ended; of a floor, which C."""
    best = record.epochs.best
    run = record.epochs.run
    if RunSpec.of_record(record).head == FLOOR:
        settings = record.spec.settings
        c = settings["task.head.c"] * settings["task.head.factor"] ** (best - 1)
        return f"best C on dev: {c:g}, number {best} of {run}"
    return f"best epoch on dev: {best} of {run} ({_why_ended(record)})"


def _why_ended(record: Record) -> str:
    """Why training ended, and whether it had fewer epochs than the default run."""
    most = epochs_of(record.spec)
    if record.epochs.run != most:
        return f"then no better dev score; at most {most}"
    if record.spec.settings.get(QUICK):
        return "quick=true: a fifth of the steps, so no verdict"
    usual = _usual_epochs(record)
    if most < usual:
        return f"its budget, shortened from {usual}: compare leaves it out"
    return "its budget"


def _advice(record: Record) -> str:
    """What may help a head that learned nothing."""
    most = epochs_of(record.spec)
    usual = _usual_epochs(record)
    if most < usual:
        return f"It had {most} of {usual} epochs: train it longer."
    return LOWER_RATE


def _usual_epochs(record: Record) -> int:
    """The most epochs of the default run, or else the epochs of the run."""
    spec = RunSpec.of_record(record)
    option = "task.training.epochs"
    usual = (spec.usual or {}).get(option, spec.settings.get(option))
    return usual if isinstance(usual, int) else record.epochs.run


def report_folder(ledger: Path) -> Path:
    """Where `report` writes if no folder is named.

    No other ledger takes the place of the committed results.
    """
    if ledger == LEDGER:
        return Path("results")
    if ledger.name in ("", ".."):  # `.` and `..` name no folder
        ledger = ledger.resolve()
    return ledger.parent / f"{ledger.absolute().name}-report"


def next_lines(commands: Iterable[tuple[Sequence[str], str]]) -> Iterator[str]:
    """Lines with commands, as a shell reads them here, and what each is for."""
    yield "next:"
    for words, about in commands:
        command = redacted(shlex.join(["elmo-bench", *include.options(), *words]))
        yield f"  {command:<72} # {about}"


def _spread(row: Published) -> str:
    if row.sd is None:
        return f"{row.mean:.2f}"
    return f"{row.mean:.2f} ± {row.sd:.2f} over {len(row.seeds)} seeds"


def _baseline(record: Record) -> Published | None:
    """The published default run of the baseline on the same data.

    None for the baseline itself.
    """
    spec = record.spec
    if spec.encoder == BASELINE:
        return None
    data = (spec.contents or {}).get("data")
    wanted = (spec.task, BASELINE, spec.size, "", data)
    for row in published().values():
        if (row.task, row.encoder, row.size, row.label, row.data) == wanted:
            return row
    return None


def _next(
    record: Record,
    row: Published | None,
    base: Published | None,
    ledger: Path,
    options: Sequence[str],
) -> list[Next]:
    """The sweep and the comparison that follow a default run.

    None for an encoder that a folder or a repository names.
    """
    spec = record.spec
    of_experiment = any(option.startswith("experiment=") for option in options)
    if of_experiment or spec.encoder not in choices("encoder"):
        return []
    floor = floor_of(spec.task)
    is_reference = spec.encoder in (BASELINE, floor)
    encoder = "elmo" if is_reference else spec.encoder
    where = _shared_options(options)
    if not any(option.startswith("task=") for option in options):
        where.insert(0, f"task={spec.task}")
    seeds = ",".join(map(str, range(SEEDS)))
    sweep = ["sweep", *where, f"encoder={BASELINE},{encoder}", f"seed={seeds}"]
    count = 2 * SEEDS
    if floor is not None:
        count += 1  # a sweep makes the floor too
    about = f"{count} runs"
    if record.spec.settings.get(QUICK):
        about += ", all of their steps"
    if row is not None and base is not None:
        minutes = SEEDS * (row.minutes + base.minutes)
        about += f", about {minutes:.0f} minutes on one core"
    suite = ["--suite", spec.suite]
    compare = ["compare", encoder, BASELINE, *suite, *in_ledger(ledger)]
    return [
        (sweep, about),
        (compare, f"{encoder} minus {BASELINE}, its interval, a verdict"),
    ]


def _shared_options(options: Sequence[str]) -> list[str]:
    """The options that the runs of a sweep over encoders and seeds have in common."""
    shared = []
    for option in options:
        group = option.partition("=")[0].partition(".")[0]
        if group not in ("encoder", "seed", "overwrite", QUICK, REFIT):
            shared.append(option)
    return shared


def _whole_run(record: Record, ledger: Path) -> list[Next]:
    """The default run of a published run that was shortened (experiment=hello)."""
    spec = record.spec
    command = ["run", f"task={spec.task}", f"encoder={spec.encoder}"]
    if ledger != LEDGER:
        command.append(f"ledger={ledger}")
    about = f"the whole run, {_usual_epochs(record)} epochs instead of "
    return [(command, f"{about}{record.epochs.run}"), report_command(ledger)]
