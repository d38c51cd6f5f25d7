"""What the yaml of a task says of its data, of its heads and of its floor."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.spec.conf_files import choices, config_files, plain_yaml

STRONG = "strong"  # the choice of `head` that every task has: its own head
FLOOR = "floor"  # the head of encoders that have no vectors


@cache
def task_yaml(task: str, head: str = STRONG) -> dict[str, Any]:
    """`conf/task/<task>.yaml` as plain data, interpolations unresolved.

    head: a choice of `head`, whose keys replace the task's; its keys of `report` are
    added to the task's. {} if the task is unknown.
    """
    path = config_files("task").get(task)
    if not path:
        return {}
    content = plain_yaml(path)
    keys = (content.get("heads") or {}).get(head) or {}
    report: dict[str, Any] = {}
    for part in (content.get("report"), keys.get("report")):
        if part is not None and not isinstance(part, dict):
            raise UserError(f"task={task}: report in its yaml: give a mapping.")
        report |= part or {}
    return content | keys | {"report": report}


def head_choice(task: str, name: object) -> str:
    """The choice of `head` by the name of the head (`task.head.name`)."""
    for head in task_yaml(task).get("heads") or {}:
        if task_yaml(task, head)["head"]["name"] == name:
            return head
    return STRONG


def reads_own_data(task: str) -> bool:
    """Whether a task reads the user's own data (`data.file`) instead of suites."""
    return "file" in (task_yaml(task).get("data") or {})


def suite_tasks() -> list[str]:
    """The tasks that read suites, in order."""
    return [task for task in choices("task") if not reads_own_data(task)]


def floor_of(task: str) -> str | None:
    """The encoder that is the floor of a task on the user's own data, if it has one."""
    return task_yaml(task).get("report", {}).get("floor")


def refuse_floor(options: Sequence[str]) -> None:
    """Raises UserError if options choose a floor for its vectors: it has none."""
    floors = {floor_of(task) for task in choices("task")}
    for option in options:
        key, _, encoder = option.partition("=")
        if key == "encoder" and encoder in floors:
            raise no_vectors(encoder)


def no_vectors(encoder: str) -> UserError:
    """The error of a command that needs the frozen vectors of an encoder."""
    return UserError(
        f"encoder={encoder}: has no frozen vectors. Choose another encoder."
    )


def head_options(head: str) -> dict[str, str]:
    """The option that chooses a head, unless the task or the encoder brings it."""
    return {} if head in (STRONG, FLOOR) else {"head": head}


def put_head(config: DictConfig, used: Mapping[str, str]) -> None:
    """Put the keys of the chosen head in the place of the task's own.

    Raises UserError for a head that the task does not have.
    """
    if not {"task", "head"} <= used.keys():
        return
    heads = config.task.pop("heads", {})
    head = used["head"]
    if head == STRONG:
        return
    if head not in heads:
        raise UserError(_no_head(head, used))
    for key, value in heads[head].items_ex(resolve=False):
        if key != "report":
            config.task[key] = value


def _no_head(head: str, used: Mapping[str, str]) -> str:
    """One line for a head that the task does not have."""
    task = used["task"]
    others = ", ".join(filter(reads_own_data, choices("task")))
    if head == FLOOR:
        encoder = used["encoder"]
        return (
            f"encoder={encoder}: a floor, which task={task} lacks. It is for: {others}"
        )
    return (
        f"head={head}: task={task} has its own head alone. "
        f"Leave out the option, or choose one of: task={others}"
    )


def check_head(task: str, encoder: str, head: str) -> None:
    """Raises UserError for a floor's head without the floor, and the reverse."""
    floor = floor_of(task)
    if head == FLOOR and encoder != floor:
        raise UserError(
            f"encoder={encoder} head={head}: not the floor of task={task}, "
            f"which is encoder={floor}"
        )
    if head != FLOOR and floor and encoder == floor:
        raise UserError(
            f"encoder={encoder} head={head}: a floor has no vectors for another head. "
            "Leave out the head."
        )
