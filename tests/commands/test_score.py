"""`python -m elmo_bench score`: what every task has in common; the figures are tested with the tasks."""

import pytest

from elmo_bench.commands.score import main
from elmo_bench.errors import UserError


@pytest.mark.parametrize("files", [[], ["one"], ["one", "two", "three"]])
def test_the_files_that_a_task_wants_are_named(files):
    with pytest.raises(UserError, match=r"srl: give 2 file\(s\): GOLD.* PRED"):
        main(["srl", *files])
