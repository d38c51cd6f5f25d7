"""Writes the commit into the wheel, so that a record says which code made it where the
package is installed.
"""

import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithCommit(build_py):
    """Adds `elmo_bench/commit.txt`: the commit, with `-dirty` behind it if files
    differ; nothing without git.
    """

    def run(self):
        super().run()
        here = Path(__file__).resolve().parent
        commands = [
            "rev-parse --show-toplevel",
            "describe --always --abbrev=40 --exclude=* --dirty",
        ]
        quiet = {"cwd": here, "text": True, "stderr": subprocess.DEVNULL}
        try:
            top, commit = (
                subprocess.check_output(["git", *each.split()], **quiet)
                for each in commands
            )
        except (OSError, subprocess.CalledProcessError):
            return
        # else of a repository around this one
        if not self.editable_mode and Path(top.strip()).resolve() == here:
            Path(self.build_lib, "elmo_bench", "commit.txt").write_text(commit)


setup(cmdclass={"build_py": BuildWithCommit})
