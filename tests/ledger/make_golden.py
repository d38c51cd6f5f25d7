"""`python -m tests.ledger.make_golden`: make the records in `tests/ledger/golden` again, one of each task, in minutes.

They are real runs, cut short: 30 examples of the small data, two epochs. Make them again, and commit them, when the
schema of a record or a task's settings change; `test_golden.py` reads them as later versions will.
"""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from elmo_bench.ledger import list_runs
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from elmo_bench.spec.task_files import suite_tasks
from tests.runs import CUTS

GOLDEN = Path(__file__).parent / "golden"
PROBES = ("pos", "deprel", "wsd")  # read one encoder alone
OPTIONS = (
    "suite=open", f"data.root={CUTS}", "data.max_train=30", "task.training.epochs=2", "logger=none",
    "trainer.threads=1", "store=ram",
)  # fmt: skip


def main() -> None:
    """Replace the folder, once all runs are made: until then the checkout has no changes."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder)
        for task in suite_tasks():
            encoder = "elmo_only" if task in PROBES else "elmo"
            run(compose("config", [f"task={task}", f"encoder={encoder}", f"ledger={ledger}", *OPTIONS]))
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for made in list_runs(ledger)[0]:
            here = replace(made, ledger=GOLDEN)
            here.folder.mkdir(parents=True)
            shutil.copy(made.record, here.record)
            shutil.copy(made.outcomes, here.outcomes)


if __name__ == "__main__":
    main()
