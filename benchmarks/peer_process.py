"""The peer as a process of its own, asked and answered in JSON lines (see `peer/worker.py`)."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError

HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".peer" / "bin" / "python"


class PeerProcess:
    """`with PeerProcess(python, threads=2) as peer: peer.ask("encode", batches=…)`."""

    def __init__(self, python: Path, *, threads: int):
        if not python.exists():
            raise UserError(f"{python}: the peer's environment is not there; make it with: make peer")
        self.process = subprocess.Popen(
            [python, HERE / "peer" / "worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request, wait for its answer; RuntimeError where the peer ended (its traceback is on stderr)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise RuntimeError(f"the peer ended at '{do}', with code {self.process.wait()}") from None

    def __enter__(self) -> "PeerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
