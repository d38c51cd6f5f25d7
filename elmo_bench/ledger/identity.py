"""What makes a run the run it is: change anything here and it is another run, with another place in the ledger."""

import hashlib
import json
from typing import Any, TypedDict

from elmo_bench.ledger.schema import check


class Identity(TypedDict):
    """Everything that can change a score but the seed; no path, device, threads, logger, store or launcher."""

    settings: dict[str, Any]  # what the user chose: task, encoder, mix, place, size, training, precision, data fraction
    contents: dict[str, Any]  # what stood behind the names: checksums of weights and vectors, data, version of the task


def canonical(value: Any) -> str:
    """The one JSON text of plain data: keys sorted, no spaces, floats by repr; 1 and 1.0 are the same number."""
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def run_hash(identity: Identity) -> str:
    """12 hex digits that name a run; raises UserError for NaN, infinities and what JSON cannot hold."""
    check(identity, Identity, "identity")
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:12]


def _whole(value: Any) -> Any:
    """`lr=1` on the command line and `lr: 1.0` in a yaml must not be two runs."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
