"""What tables call a task: the `report` node of `conf/task/<task>.yaml`. Nothing of it enters a run."""

from collections.abc import Iterable
from dataclasses import dataclass

from elmo_bench.spec.config import task_yaml
from elmo_bench.spec.experiments import MAIN, Experiment, PaperFigures

OTHER = "other data"


@dataclass(frozen=True)
class TaskInfo:
    """Names of a task and its data on one suite; a task without a `report` node is called by its name."""

    title: str
    unit: str = "examples"
    data: str = ""  # of this suite
    trained: int | None = None  # examples in the paper's training split
    same: str = OTHER  # what the suite's data has in common with the paper's; empty if it is the paper's
    width: str = ""  # of the heads with size=cpu, as a fraction of the paper's
    probe: bool = False  # shown by experiments alone that sweep it, so that no table mixes it with other tasks

    def beside_paper(self, text: str) -> str:
        """Something of the paper, marked if the suite's data is not the paper's."""
        return f"{text} ({self.same})" if self.same else text


def task_info(task: str, suite: str) -> TaskInfo:
    """The task's names on this suite."""
    known = task_yaml(task).get("report", {})
    same = "" if suite == "paper" else known.get("same", {}).get(suite, OTHER)
    if not known:
        return TaskInfo(task, same=same)
    data = known["data"].get(suite, "")
    more = {key: known[key] for key in ("trained", "width", "probe") if key in known}
    return TaskInfo(known["title"], known["unit"], data, same=same, **more)


def in_paper_order(tasks: Iterable[str]) -> list[str]:
    """The tasks of table 1 in the paper's order, then the others by name."""
    order = list(Experiment.load(MAIN).paper)
    return sorted(tasks, key=lambda task: (order.index(task) if task in order else len(order), task))


def paper_heading(paper: PaperFigures, task: str, suite: str) -> str:
    """Heading of a column of the paper's figures: names the data set, and says if it is not the suite's."""
    return "paper: " + task_info(task, suite).beside_paper(paper.scored)
