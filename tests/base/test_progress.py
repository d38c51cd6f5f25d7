"""What a sweep shows while it runs."""

import io
import sys
from types import SimpleNamespace

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


def test_a_notebook_has_one_line_that_changes_every_second(monkeypatch, capsys):
    """And none for work of less than a second."""
    now = [0.0]
    shown = []

    def display(bundle, *, raw, display_id):
        assert raw and display_id
        shown.append(["new", bundle["text/plain"]])
        return SimpleNamespace(update=lambda bundle, raw: shown.append(["update", bundle["text/plain"]]))

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "IN_NOTEBOOK", True)
    with progress.progress("predict", 10) as meter:
        meter.advance(steps=10)
    assert shown == []
    with progress.progress("sweep", 4) as meter:
        meter.say("seed=0: done")
        for now[0] in (0.5, 2.0, 2.5, 4.0):
            meter.advance()
            meter.show({"seed=1": "epoch 2/3"})
    assert [[how, text.split("  ")[0]] for how, text in shown] == [  # without the estimate
        ["new", "sweep: step 2/4"],
        ["update", "sweep: step 4/4"],
        ["update", "sweep: 4/4 in 0:00:04"],
    ]
    assert capsys.readouterr().err == "seed=0: done\n"
