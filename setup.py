"""Writes the commit into the wheel, so that a record says which code made it where the package is installed."""

import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithCommit(build_py):
    """Adds `elmo_bench/commit.txt`: the commit, with `-dirty` behind it if files differ; nothing without git."""

    def run(self):
        super().run()
        describe = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
        try:
            done = subprocess.run(describe, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return
        if not self.editable_mode:
            Path(self.build_lib, "elmo_bench", "commit.txt").write_text(done.stdout)


setup(cmdclass={"build_py": BuildWithCommit})
