"""What tables call a task, an encoder and an amount of training data. Imports no
pandas.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from elmo_bench.spec.experiments import MAIN, Experiment
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import reads_own_data, task_yaml

BASELINE = "glove"  # static vectors: what an encoder is compared with
DAGGER = "†"
SEEN = "‡"
TRAINED_ON_THE_TASK = (
    f"{SEEN} the encoder's own training had examples of this task, by its card: an "
    "encoder to which the task is new may gain less."
)
NOT_CHECKED = "not checked"
UNCHECKED = (
    f"{NOT_CHECKED}: the task is not installed, so nothing here computes its scores "
    "again from the outcomes. Give its folder: --include FOLDER."
)
UNCONVERGED = "not converged"
NOT_CONVERGED = (
    f"{DAGGER} {UNCONVERGED}: a seed had fewer epochs than the task's budget, the "
    "task's yaml has no budget of epochs (docs/extend.md), or a seed learned nothing "
    "(0 on dev, or one answer to everything after every epoch). Its gains have no "
    "verdict."
)

QUICK_RUNS = (
    f"{DAGGER} quick=true: a fifth of the steps, so gains have no verdict. "
    "Quick runs are compared with quick runs alone."
)

OWN_NOT_CONVERGED = (
    f"{DAGGER} {UNCONVERGED}: a seed had other epochs than the task has (leave out "
    "task.training.epochs and task.training.least_steps), or learned nothing (0 on "
    "dev, or one answer to everything after every epoch). Its gains have no verdict."
)


def why_dagger(systems: Any) -> str:
    """What the dagger says of the marked ones of these systems, a frame."""
    amounts = set(systems[systems["mark"] == DAGGER].fraction)
    if amounts == {f"{QUICK}=true"}:
        return QUICK_RUNS
    is_own = all(reads_own_data(task) for task in set(systems.task))
    return OWN_NOT_CONVERGED if is_own else NOT_CONVERGED


def notes_on_marks(systems: Any) -> list[str]:
    """What the marks of these systems, a frame, say: a note for each kind of mark."""
    marks = set(systems["mark"])
    notes = []
    if DAGGER in marks:
        notes.append(why_dagger(systems))
    if NOT_CHECKED in marks:
        notes.append(UNCHECKED)
    return notes


def is_checked(task: str) -> bool:
    """Whether the task is installed, so that its records were checked when they were
    read.
    """
    return metric_of(task) is not None


def task_report(task: str) -> dict[str, Any]:
    """The `report` node of a task's yaml; empty without one. Nothing of it enters a
    run.
    """
    return task_yaml(task).get("report", {})


def task_title(task: str) -> str:
    """The task in words; its name if the yaml has no words for it."""
    return task_report(task).get("title", task)


def in_sentence(title: str) -> str:
    """A title within a sentence: it begins small, unless it is an abbreviation."""
    return f"{title[:1].lower()}{title[1:]}" if title[1:2].islower() else title


def task_unit(task: str) -> str:
    """What a training example is, such as `sentences`."""
    return task_report(task).get("unit", "examples")


def data_name(task: str, suite: str) -> str:
    """The data set of a task on this suite; empty if the yaml does not name it."""
    return task_report(task).get("data", {}).get(suite, "")


def is_probe(task: str) -> bool:
    """Whether only experiments that sweep this task show it, so that no table mixes it
    with other tasks.
    """
    return bool(task_report(task).get("probe", False))


def beside_the_papers(task: str, suite: str, text: str) -> str:
    """Something of the paper, with a remark if the data of this suite is not the
    paper's.
    """
    if suite == "paper":
        return text
    remark = task_report(task).get("same", {}).get(suite, "other data")
    return f"{text} ({remark})" if remark else text


def in_paper_order(tasks: Iterable[str]) -> list[str]:
    """The tasks of table 1 in the paper's order, then the others by name."""
    order = list(Experiment.load(MAIN).paper)
    return sorted(
        tasks,
        key=lambda task: (order.index(task) if task in order else len(order), task),
    )


def amount_in_words(fraction: Mapping[str, str]) -> str:
    """Such as `30 % of the training data`, for options that take a fraction of it;
    empty for all of it.
    """
    return ", ".join(_amount(option, value) for option, value in fraction.items())


def _amount(option: str, value: str) -> str:
    if option == "data.train_fraction":
        return f"{percent(float(value))} of the training data"
    if option == "data.max_train":
        return f"at most {int(value):,} training examples"
    if option == "quick":
        return "a fifth of the steps"
    return f"at least {value} steps an epoch"


def short(figure: float) -> str:
    """Two digits of a small figure, and a large one in whole numbers."""
    return f"{figure:.2g}" if figure < 10 else f"{figure:,.0f}"


def percent(share: float) -> str:
    """Two digits are enough: 0.1 % to 100 %."""
    return f"{100 * share:.3g} %" if share >= 0.1 else f"{100 * share:.2g} %"


def counted(count: int, what: str = "run") -> str:
    """Such as "1 run" and "1,200 more runs"."""
    plural = "" if count == 1 else "s"
    return f"{count:,} {what}{plural}"


def distinct_name(encoder: str, source: str | None, sources: Collection[str]) -> str:
    """The name of an encoder that was read from `source`, where runs of this name have
    several `sources`.

    It is the shortest end of the path that no other source has.
    """
    if not source or len(sources) < 2:
        return encoder
    end = _shortest_end(source, sources)
    return end if end.endswith(encoder) else f"{encoder} ({end})"


def _shortest_end(source: str, sources: Collection[str]) -> str:
    parts = source.split("/")
    for count in range(1, len(parts) + 1):
        end = "/".join(parts[-count:])
        same = [other for other in sources if f"/{other}".endswith(f"/{end}")]
        if len(same) == 1:
            return end
    return source
