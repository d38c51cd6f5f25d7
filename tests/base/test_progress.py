"""What a sweep shows while it runs."""

import io

from rich.console import Console
from rich.progress import Progress, TextColumn

from elmo_bench.base import progress
from elmo_bench.base.progress import Meter


def test_on_a_terminal_each_worker_has_a_line_until_its_run_ends():
    bar = Progress(TextColumn("{task.description} {task.fields[info]}"), console=Console(file=io.StringIO()))
    meter = Meter(bar, "sweep", 3, 0)
    meter.show({"seed=0": "epoch 1/3", "seed=1": ""})
    meter.show({"seed=1": "epoch 2/3"})
    assert [(task.description, task.fields["info"]) for task in bar.tasks] == [("sweep", ""), ("seed=1", "epoch 2/3")]


def test_without_one_there_is_a_line_a_minute_and_skipped_steps_do_not_count(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    meter = Meter(Progress(disable=True), "sweep", 4, 0)
    meter.skip()
    meter.advance()
    for second in range(0, 130, 10):
        now[0] = second
        meter.show({"seed=1": "epoch 2/3"})
    assert capsys.readouterr().err.splitlines() == ["sweep: 1/3 done; epoch 2/3"]
