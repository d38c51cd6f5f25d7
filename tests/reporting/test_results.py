"""What is committed in results/ is what its ledger renders to."""

from pathlib import Path

import pytest

from elmo_bench.cli import report

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.slow
def test_rendered_again_it_is_the_same_byte_for_byte(tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    for name in ("runs", "costs"):
        (out / name).symlink_to(RESULTS / name)
    for discussion in RESULTS.glob("DISCUSSION-*.md"):
        (out / discussion.name).write_bytes(discussion.read_bytes())
    assert report.main(["--ledger", str(out / "runs"), "--out", str(out)]) == 0
    assert _rendered(out) == _rendered(RESULTS), "run `make report` and commit what it writes"


def _rendered(folder):
    paths = [folder / "README.md", folder / "index.html"]
    paths += [path for name in ("tables", "figures") for path in (folder / name).iterdir()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(paths)}
