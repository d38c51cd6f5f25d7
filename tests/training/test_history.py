"""The history of a run: curves by epoch, costs, both across a kill."""

from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.progress import Clock
from elmo_bench.training.callbacks import Checkpoints, History
from tests.training.trainings import Mix, batches, fit, head_training

STEPS = 3
SCORES = (50.0, 70.0, 70.0, 60.0)


def run(folder, *, epochs, done=0):
    history = History(Clock().start())
    schedule = {"name": "exponential", "gamma": 0.5, "every": STEPS}
    module = head_training(schedule, SCORES[done:], steps=done * STEPS)
    fit(
        module, batches(STEPS), batches(1), epochs=epochs, resume=folder / "last.ckpt" if done else None,
        callbacks=[history, Checkpoints(folder, history)], default_root_dir=folder, logger=None,
    )  # fmt: skip
    return history


def test_curves_costs_and_mixes_by_epoch(tmp_path):
    history = run(tmp_path, epochs=4)
    assert history.scores == history.curves["dev"] == list(SCORES)
    assert history.curves["train_loss"] == [2, 5, 8, 11]
    assert history.curves["lr"] == [1, 0.5, 0.25, 0.125]
    assert history.curves["steps"] == [STEPS] * 4
    assert history.best_epoch == 2
    assert history.tokens == 4 * STEPS * 2
    assert history.mixes == [{"input": Mix().report()}] * 4
    assert 0 < history.training.read()[0] < sum(history.curves["seconds"]) < history.whole.read()[0]
    assert history.encoding.read() == [0, 0]


def test_a_resumed_run_goes_on_with_its_curves(tmp_path):
    before = run(tmp_path, epochs=2)
    kept = read_checkpoint(tmp_path / "last.ckpt")["callbacks"][before.state_key]
    assert kept["curves"] == before.curves
    after = run(tmp_path, epochs=4, done=2)
    assert after.curves["train_loss"] == [2, 5, 8, 11]
    assert (after.scores, after.curves["lr"]) == (list(SCORES), [1, 0.5, 0.25, 0.125])
    assert after.curves["steps"] == [STEPS] * 4
    assert after.curves["seconds"][:2] == before.curves["seconds"]
    assert after.tokens == 2 * before.tokens
    for name in ("whole", "training"):
        [wall, cpu], [wall_before, cpu_before] = getattr(after, name).read(), kept["clocks"][name]
        assert wall > wall_before > 0 and cpu > cpu_before > 0
