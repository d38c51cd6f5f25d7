"""Small disks that are really full or read-only, where this process may mount them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """A file system in memory, mounted at `path`."""

    def __init__(self, path: Path, kilobytes: int):
        self.path = path
        path.mkdir()
        self._mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs")

    def _mount(self, *options: str) -> None:
        done = subprocess.run(["mount", *options, self.path], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount a small disk here: {done.stderr.strip()}")

    def fill(self, *, leave: int = 0) -> None:
        """Take all the room but `leave` bytes."""
        status = os.statvfs(self.path)
        size = status.f_bavail * status.f_frsize - leave
        (self.path / "ballast").write_bytes(bytes(max(0, size)))

    def make_room(self) -> None:
        """Give the room back, and allow more."""
        (self.path / "ballast").unlink(missing_ok=True)
        self._mount("-o", "remount,rw,size=64m")

    def make_read_only(self) -> None:
        """Refuse every write from now on."""
        self._mount("-o", "remount,ro")


@contextmanager
def small_disk(path: Path, kilobytes: int) -> Iterator[Disk]:
    """A disk of so many KiB until the block ends; skips the test where mounting is not possible."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = Disk(path, kilobytes)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", path], check=False)
