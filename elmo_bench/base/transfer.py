"""One address to one file over HTTP: every byte is counted, and a cut connection goes on where it was cut.

What has come lies in `part`; beside it `part`.tag keeps what the server called that version of the file (its ETag or
Last-Modified), so that the rest of another version is never glued to it. `requests` is imported where it is used: that
takes a third of a second, and most runs download nothing.
"""

import errno
import os
import re
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.base.progress import progress

if TYPE_CHECKING:
    from requests import Response, Session

CHUNK = 2**16  # bytes
CONNECT, READ = 10.0, 60.0  # seconds to wait for a connection, and for the next byte
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each new try; they begin anew whenever more has come than before
TRANSIENT = (408, 429, 500, 502, 503, 504)  # answers of a server that may soon give another


class TransferError(Exception):
    """Why a file did not come, in a few words."""


class _Again(Exception):
    """The same, where another try may help."""


def transfer(url: str, part: Path) -> None:
    """All bytes of `url` in `part`, on disk; goes on from what an earlier call left there. Raises TransferError."""
    import requests

    with requests.Session() as session:
        if url.startswith("https:"):
            session.adapters.pop("http://")  # no redirect leaves TLS
        furthest, pauses = -1, iter(PAUSES)
        while True:
            try:
                return _attempt(session, url, part, first=furthest < 0)
            except _Again as error:
                came = part.stat().st_size if part.exists() else 0
                if came > furthest >= 0:
                    pauses = iter(PAUSES)
                furthest = max(furthest, came)
                if (pause := next(pauses, None)) is None:
                    kept = "; what came is kept: start again to go on" if came else ""
                    raise TransferError(f"{error}, after {len(PAUSES) + 1} tries{kept}") from None
            time.sleep(pause)


def _attempt(session: "Session", url: str, part: Path, *, first: bool) -> None:
    import requests

    tag = part.with_name(f"{part.name}.tag")
    version = tag.read_text(encoding="utf-8") if tag.exists() else ""
    have = part.stat().st_size if version and part.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    try:
        with session.get(url, headers=headers, stream=True, timeout=(CONNECT, READ)) as response:
            start, total = _extent(response, have, version)
            if start is None:
                tag.unlink(missing_ok=True)
                raise _Again("the server changed the file meanwhile")
            if start == 0:
                part.write_bytes(b"")
                tag.write_text(_version(response), encoding="utf-8")
            if start != total:
                _save(response, part, start, total)
    except requests.exceptions.RequestException as error:
        raise _explained(error, first) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TransferError("the disk is full") from None
        raise
    came = part.stat().st_size
    if total is not None and came != total:
        raise _Again(f"cut off at {came:,} of {total:,} bytes")
    tag.unlink(missing_ok=True)


def _extent(response: "Response", have: int, version: str) -> tuple[int | None, int | None]:
    """(where the answer begins in the file, None where it does not fit; length of the whole file, None if not told)."""
    status, headers = response.status_code, response.headers
    if status in (206, 416):
        found = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", headers.get("Content-Range", ""))
        start, total = (int(found[1] or found[2]), int(found[2])) if found else (-1, 0)
        # A server that knows no If-Range sends the end of whatever lies there now.
        return (start if start == have and _version(response) in ("", version) else None), total
    if status in TRANSIENT:
        raise _Again(f"HTTP {status}")
    if status != 200:
        raise TransferError(f"HTTP {status}" + (", not there" if status in (404, 410) else ""))
    if headers.get("Content-Type", "").startswith("text/html"):
        raise TransferError("a web page came instead of the file")
    length = headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() and "Content-Encoding" not in headers else None


def _version(response: "Response") -> str:
    """What If-Range may hold: a strong ETag, else the date of the last change, else nothing."""
    etag = response.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")


def _save(response: "Response", part: Path, start: int, total: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - start > free:
        raise TransferError(f"{(total - start) / 1e6:,.1f} MB to come, but {part.parent} has {free / 1e6:,.1f} MB free")
    size, began = start, time.monotonic()
    title, megabytes = part.name.removesuffix(".part"), None if total is None else total // 10**6
    with part.open("ab") as handle, progress(title, total=megabytes, done=start // 10**6) as meter:
        for piece in response.iter_content(CHUNK):
            handle.write(piece)
            size += len(piece)
            while meter.steps < size // 10**6:
                meter.advance(text=f"MB, {(size - start) / 1e6 / max(time.monotonic() - began, 1e-9):.1f} MB/s")
        handle.flush()
        os.fsync(handle.fileno())


def _explained(error: Exception, first: bool) -> Exception:
    """TransferError where another try would not help: of what fails at the very start only a cut is worth one."""
    from requests import exceptions
    from urllib3.exceptions import NewConnectionError

    causes = list(_causes(error))
    system = next((cause.strerror for cause in reversed(causes) if isinstance(cause, OSError) and cause.strerror), "")
    why = system.lower() or "the connection was cut"
    if isinstance(error, exceptions.InvalidSchema):
        return TransferError("redirected away from https")
    if isinstance(error, exceptions.TooManyRedirects | exceptions.InvalidURL | exceptions.MissingSchema):
        return TransferError(str(error).rstrip("."))
    if isinstance(error, exceptions.SSLError) and not any(isinstance(cause, ssl.SSLEOFError) for cause in causes):
        return TransferError(f"no trusted TLS connection ({why})")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        why = "no such host, or no network"
    elif isinstance(error, exceptions.ConnectTimeout):
        why = f"no connection in {CONNECT:.0f} seconds"
    elif isinstance(error, exceptions.Timeout) or any(isinstance(cause, TimeoutError) for cause in causes):
        why = f"nothing came for {READ:.0f} seconds"
    elif isinstance(error, exceptions.ProxyError):
        why = f"the proxy does not answer ({why})"
    never = isinstance(error, exceptions.ConnectTimeout | exceptions.ProxyError)
    never |= any(isinstance(cause, NewConnectionError) for cause in causes)
    return TransferError(why) if never and first else _Again(why)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
