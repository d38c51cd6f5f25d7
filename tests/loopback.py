"""A web server on this machine, which can be told to misbehave as real ones do."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Site:
    """What the server has, how it behaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)  # break off the next answers after so many bytes
    statuses: list[int] = field(default_factory=list)  # give these before anything else
    ranges: bool = False  # whether it can send the rest of a file
    headers: dict[str, str] = field(default_factory=dict)  # these replace what would be sent
    delay: float = 0.0  # seconds before the body
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    address: str = ""

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


class _Handler(http.server.BaseHTTPRequestHandler):
    site: Site

    def do_GET(self):
        site = self.site
        site.asked.append((self.path, dict(self.headers)))
        if site.statuses or self.path not in site.files:
            self.send_response(site.statuses.pop(0) if site.statuses else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = site.files[self.path]
        wanted = self.headers.get("Range")
        same = self.headers.get("If-Range") in (None, site.headers.get("ETag"))
        if site.ranges and wanted and same:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206 if start < len(body) else 416)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        else:
            self.send_response(200)
        for name, value in ({"Content-Length": str(len(body))} | site.headers).items():
            self.send_header(name, value)
        self.end_headers()
        time.sleep(site.delay)
        with suppress(ConnectionError):  # a client may give up; a traceback would land in another test's output
            self.wfile.write(body[: site.cuts.pop(0)] if site.cuts else body)

    def log_message(self, *_):
        pass


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on 127.0.0.1 that answers by this class while the block runs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def loopback() -> Iterator[Site]:
    """A site on 127.0.0.1 while the block runs."""
    site = Site()
    with serving(type("Handler", (_Handler,), {"site": site})) as site.address:
        yield site
