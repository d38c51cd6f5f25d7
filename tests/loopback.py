"""A web server on this machine, which can be told to misbehave as real ones do."""

import http.server
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Site:
    """What the server has, how it behaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True  # send a part where a part is asked for
    cuts: list[int] = field(default_factory=list)  # break off the next answers after so many bytes
    statuses: list[int] = field(default_factory=list)  # give these before anything else
    headers: dict[str, str] = field(default_factory=dict)  # these replace what would be sent
    delay: float = 0.0  # seconds before the body
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    address: str = ""

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    @property
    def wanted(self) -> list[str | None]:
        """The Range header of each request."""
        return [headers.get("Range") for _, headers in self.asked]


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
        content = site.files[self.path]
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")) if site.ranges else None
        start = int(asked[1]) if asked else 0
        body, total = content[start:], len(content)
        status = 200 if asked is None else 206 if start < total else 416
        headers = {"Content-Length": str(len(body))}
        if asked:
            headers["Content-Range"] = f"bytes {f'{start}-{total - 1}' if body else '*'}/{total}"
        self.send_response(status)
        for name, value in (headers | site.headers).items():
            self.send_header(name, value)
        self.end_headers()
        time.sleep(site.delay)
        with suppress(ConnectionError):  # a client may give up; a traceback would land in another test's output
            self.wfile.write(body[: site.cuts.pop(0)] if site.cuts else body)

    def log_message(self, *_):
        pass


@contextmanager
def loopback() -> Iterator[Site]:
    """A site on 127.0.0.1 while the block runs."""
    site = Site()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    server.daemon_threads = True
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
