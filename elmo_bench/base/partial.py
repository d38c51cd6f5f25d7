"""The part of a download that has arrived, from which the next try resumes."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.base.files import sha256_of
from elmo_bench.base.progress import progress
from elmo_bench.base.unfinished import hold, remove_stale, unfinished

if TYPE_CHECKING:
    from requests import Response

# HTTP statuses.
OK = 200
PARTIAL = 206
NO_RANGE = 416  # the file is not longer than its part
_MEGABYTE = 10**6


class DownloadError(Exception):
    """Why a file could not be downloaded, in a few words.

    Another try would not help.
    """


class Partial:
    """The part of a download, in a file next to `path`.

    With a checksum it stays after a kill or an error, and the next download goes on
    from there. Without one it is used within this download alone, under the server's
    mark of the file's version (`ETag`), because the file could have changed meanwhile.
    """

    def __init__(self, path: Path, checksum: str | None):
        self.path = path
        self.checksum = checksum
        self.part = unfinished(path, "part")
        self.version = ""  # the server's, of what is in the file
        self.start = 0  # bytes that were there before the last answer

    def __enter__(self) -> "Partial":
        try:
            self.file = self.part.open("ab")
        except OSError as error:
            error.filename = str(self.path)
            raise
        hold(self.file)
        if not self.checksum:
            self._empty()
        return self

    def __exit__(self, *_: object) -> None:
        is_useful = self.checksum and self.file.seek(0, os.SEEK_END)
        self.file.close()
        if not is_useful:
            self.part.unlink(missing_ok=True)
        remove_stale(self.path.parent)

    def _empty(self) -> None:
        self.file.truncate(0)
        self.start = self.file.seek(0)

    def wanted(self) -> dict[str, str]:
        """The headers that ask for the rest of the file."""
        self.start = self.file.seek(0, os.SEEK_END)
        if not self.start or not (self.checksum or self.version):
            return {}
        headers = {"Range": f"bytes={self.start}-"}
        if self.version:
            headers["If-Range"] = self.version
        return headers

    def save(self, response: "Response") -> None:
        """Write a server's answer: the rest of the file, or all of it.

        Raises DownloadError for bytes that were not asked for.
        """
        if response.status_code == NO_RANGE:  # no more bytes: `finish` checks them
            return
        etag = response.headers.get("ETag", "")
        if response.status_code == PARTIAL:
            first = f"bytes {self.start}-"
            is_rest = response.headers.get("Content-Range", "").startswith(first)
            if not is_rest or (self.version and etag != self.version):
                raise DownloadError("another part of the file than was asked for")
        else:
            self._empty()
        self.version = etag if etag.startswith('"') else ""  # a weak one is not enough
        length = response.headers.get("Content-Length", "")
        total = None
        if length.isdigit():
            total = (self.start + int(length)) // _MEGABYTE
        with progress(f"{self.path.name}, MB", total=total) as meter:
            for piece in response.iter_content(2**16):
                self.file.write(piece)
                meter.advance(steps=self.file.tell() // _MEGABYTE - meter.steps)

    def finish(self) -> bool:
        """Give a complete file its name; False to start over.

        Raises DownloadError for a file with another checksum, unless it began in an
        earlier answer.
        """
        self.file.flush()
        os.fsync(self.file.fileno())
        if self.checksum and sha256_of(self.part) != self.checksum:
            is_first_answer = self.start == 0
            self._empty()
            if is_first_answer:
                raise DownloadError("the download does not have the SHA-256 published")
            return False
        self.part.replace(self.path)
        return True
