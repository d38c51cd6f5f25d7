"""A stand-in of the Hugging Face Hub on this machine: it makes repositories, takes commits and gives files.

The protocol is the one that huggingface_hub speaks; large files come by LFS, as to the real Hub where Xet is off.
"""

import base64
import hashlib
import http.server
import json
import re
from contextlib import contextmanager

import pyarrow
from pyarrow import parquet

from elmo_bench.spec.config import compose
from elmo_bench.spec.names import task_class
from tests.loopback import serving

COMMIT = "1" * 40


class Hub(http.server.BaseHTTPRequestHandler):
    """One commit a repository: a new push replaces what its files held."""

    repositories: dict[str, dict[str, bytes]]
    large: dict[str, bytes]  # by SHA-256
    asked: list[str]

    def do_GET(self):
        body, path = self.rfile.read(int(self.headers.get("Content-Length", 0))), self.path.partition("?")[0]
        self.asked.append(f"{self.command} {path}")
        if self.command == "POST" and self.headers.get("Authorization") != "Bearer hf_token":
            return self._send(b"{}", 401)
        for pattern, answer in ANSWERS.items():
            if found := re.fullmatch(pattern, f"{self.command} {path}"):
                return answer(self, body, **found.groupdict())
        return self._send(b"{}", 404, {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_PUT = do_POST = do_GET

    def _send(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, content):
        self._send(json.dumps(content).encode(), 200, {"Content-Type": "application/json"})

    def create(self, body):
        asked = json.loads(body)
        repo = f"{asked['organization']}/{asked['name']}"
        self.repositories.setdefault(repo, {})
        self._json({"url": f"http://{self.headers['Host']}/{repo}", "name": repo, "id": repo})

    def preupload(self, body, repo):
        files = [file["path"] for file in json.loads(body)["files"]]
        modes = {file: "lfs" if file.endswith(".safetensors") else "regular" for file in files}
        self._json({"files": [{"path": f, "uploadMode": modes[f], "shouldIgnore": False} for f in files]})

    def batch(self, body, repo):
        upload = {"href": f"http://{self.headers['Host']}/upload"}
        objects = json.loads(body)["objects"]
        self._json({"objects": [o | {"actions": {"upload": upload}} for o in objects], "transfer": "basic"})

    def upload(self, body):
        self.large[hashlib.sha256(body).hexdigest()] = body
        self._send(b"")

    def commit(self, body, repo):
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.repositories[repo][value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                self.repositories[repo][value["path"]] = self.large[value["oid"]]
        address = f"http://{self.headers['Host']}/{repo}/commit/{COMMIT}"
        self._json({"success": True, "commitUrl": address, "commitOid": COMMIT})

    def info(self, body, repo, revision):
        if repo not in self.repositories:
            return self._send(b"{}", 404, {"X-Error-Code": "RepoNotFound"})
        if revision not in ("main", COMMIT):
            return self._send(b"{}", 404, {"X-Error-Code": "RevisionNotFound"})
        siblings = [{"rfilename": file, "size": len(held)} for file, held in self.repositories[repo].items()]
        return self._json({"id": repo, "sha": COMMIT, "siblings": siblings})

    def tree(self, body, repo):
        files = self.repositories[repo].items()
        self._json([{"type": "file", "path": f, "size": len(c), "oid": hashlib.sha1(c).hexdigest()} for f, c in files])

    def resolve(self, body, repo, file):
        content = self.repositories[repo].get(file)
        if content is None:
            return self._send(b"", 404, {"X-Error-Code": "EntryNotFound"})
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        return self._send(content, 200, {"ETag": etag, "X-Repo-Commit": COMMIT})

    def log_message(self, *_):
        pass


_REPO = r"(?P<repo>[\w.-]+/[\w.-]+)"
ANSWERS = {
    r"POST /api/repos/create": Hub.create,
    r"POST /api/validate-yaml": lambda hub, body: hub._json({}),
    rf"POST /api/models/{_REPO}/preupload/main": Hub.preupload,
    rf"POST /{_REPO}\.git/info/lfs/objects/batch": Hub.batch,
    r"PUT /upload": Hub.upload,
    rf"POST /api/models/{_REPO}/commit/main": Hub.commit,
    rf"GET /api/models/{_REPO}/revision/(?P<revision>.+)": Hub.info,
    rf"GET /api/datasets/{_REPO}": lambda hub, body, repo: hub.info(body, repo, "main"),
    rf"GET /api/models/{_REPO}/tree/{COMMIT}": Hub.tree,
    rf"(?:GET|HEAD) /(?:datasets/)?{_REPO}/resolve/(?:{COMMIT}|refs%2F[^/]+)/(?P<file>.+)": Hub.resolve,
}


@contextmanager
def hub_on_loopback():
    """(its address, its class with `repositories` and `asked`) while the block runs."""
    handler = type("Stand", (Hub,), {"repositories": {}, "large": {}, "asked": []})
    with serving(handler) as address:
        yield address, handler


def as_parquet(columns, features=None, **more) -> bytes:
    """A parquet file of these columns, with the Hub's description of them."""
    made = pyarrow.table(columns, **more)
    if features:
        made = made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    parquet.write_table(made, sink := pyarrow.BufferOutputStream())
    return sink.getvalue().to_pybytes()


def from_hub(monkeypatch, task, columns):
    """(the paper suite of a task from this table of the Hub, what was asked of it); the task ner tests downloads."""
    table, asked = type("Table", (dict,), {"column_names": property(list)})(columns), []
    read = lambda repo, file, revision: asked.append((repo, file, revision)) or table  # noqa: E731
    monkeypatch.setattr("elmo_bench.base.hub.hub_table", read)
    options = compose("config", [f"task={task}", "task.data.paper.source=hub"]).task.data
    return task_class(task, "data")(**options).read("paper", None), asked
