"""`elmo-bench score`: what every task has in common; the figures are tested with the tasks."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.cli.score import main


@pytest.mark.parametrize("files", [[], ["one"], ["one", "two", "three"]])
def test_the_files_that_a_task_wants_are_named(files):
    with pytest.raises(UserError, match=r"srl: give 2 file\(s\): GOLD.* PRED"):
        main(["srl", *files])
