"""`python -m tests.ledger.make_golden`: make the records in `tests/ledger/golden` again, one of each task, in a minute or two.

They are real runs, cut short: 60 examples of the mini suite, two epochs. Make them again, and commit them, when the schema
of a record changes or a task's settings do; `test_golden.py` reads them as later versions will.
"""

import shutil
from pathlib import Path

from elmo_bench.ledger import RunPaths
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import tasks

GOLDEN = Path(__file__).parent / "golden"
PROBES = ("pos", "deprel", "wsd")  # read one encoder alone
OPTIONS = ("suite=mini", "data.max_train=60", "task.training.epochs=2", "logger=none", "trainer.threads=1", "store=ram")


def main() -> None:
    """Replace the folder."""
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for task in tasks():
        encoder = "elmo_only" if task in PROBES else "elmo"
        config = compose("config", [f"task={task}", f"encoder={encoder}", f"ledger={GOLDEN}", *OPTIONS])
        record, _ = run(config)
        paths = RunPaths.of(GOLDEN, record)
        shutil.rmtree(paths.work)  # the head
        for path in (paths.lock, paths.lease):
            path.unlink(missing_ok=True)
        print(paths.record.relative_to(GOLDEN), paths.record.stat().st_size, paths.outcomes.stat().st_size)


if __name__ == "__main__":
    main()
