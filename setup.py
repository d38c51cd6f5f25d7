"""Writes the commit into the wheel and the sdist, so that a record says which code made
it where the package is installed.
"""

import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
COMMIT = Path("elmo_bench", "commit.txt")


def commit():
    """The commit of this checkout, with `-dirty` behind it if files differ; None
    without git.

    A run writes to `results`, which changes no code (see base/machine.py).
    """
    commands = (
        ["rev-parse", "--show-toplevel"],
        ["rev-parse", "HEAD"],
        ["status", "--porcelain", "--", ".", ":(exclude)results"],
    )
    quiet = {"cwd": HERE, "text": True, "stderr": subprocess.DEVNULL}
    try:
        top, head, changes = (
            subprocess.check_output(["git", *command], **quiet).strip()
            for command in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    if Path(top).resolve() != HERE:  # a repository around this one
        return None
    return f"{head}-dirty" if changes else head


class BuildWithCommit(build_py):
    """Adds the commit to what is installed. An sdist has it already."""

    def run(self):
        if self.editable_mode:
            super().run()
            return
        # An earlier build of this folder may have left what is no longer there.
        shutil.rmtree(Path(self.build_lib, "elmo_bench"), ignore_errors=True)
        made_of = commit()
        super().run()
        if made_of is not None:
            Path(self.build_lib, COMMIT).write_text(f"{made_of}\n")


class SdistWithCommit(sdist):
    """Adds the commit to the sdist, where there is no git to ask."""

    def make_release_tree(self, base_dir, files):
        made_of = commit()
        super().make_release_tree(base_dir, files)
        if made_of is not None:
            Path(base_dir, COMMIT).write_text(f"{made_of}\n")


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SdistWithCommit})
