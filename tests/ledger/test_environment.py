"""Which code made a record, where the package is installed."""

import pytest

from elmo_bench.ledger import environment


@pytest.mark.parametrize(
    ("text", "commit", "dirty"),
    [(None, None, None), ("c" * 40, "c" * 40, False), (f"{'c' * 40}-dirty\n", "c" * 40, True)],
)
def test_the_commit_is_read_from_the_wheel(tmp_path, text, commit, dirty):
    (tmp_path / "elmo_bench").mkdir()
    if text is not None:
        (tmp_path / "elmo_bench" / "commit.txt").write_text(text)
    made = environment([], tmp_path)
    assert (made["commit"], made["dirty"]) == (commit, dirty)
