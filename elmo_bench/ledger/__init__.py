"""The ledger: what a run is, where its files lie, and what its record says. Imports nothing of ours but the floor."""

from elmo_bench.ledger.environment import environment
from elmo_bench.ledger.identity import Identity, canonical, run_hash
from elmo_bench.ledger.lease import Lease, read_lease
from elmo_bench.ledger.lock import HeldElsewhere, is_held, run_lock
from elmo_bench.ledger.options import dotted, spelled
from elmo_bench.ledger.paths import RunPaths, runs_in
from elmo_bench.ledger.record import SCHEMA, Record, check_record, now
from elmo_bench.ledger.store import (
    Failure,
    read_failures,
    read_ledger,
    read_outcomes,
    read_record,
    write_failure,
    write_record,
)

__all__ = [
    "SCHEMA",
    "Failure",
    "HeldElsewhere",
    "Identity",
    "Lease",
    "Record",
    "RunPaths",
    "canonical",
    "check_record",
    "dotted",
    "environment",
    "is_held",
    "now",
    "read_failures",
    "read_lease",
    "read_ledger",
    "read_outcomes",
    "read_record",
    "run_hash",
    "run_lock",
    "runs_in",
    "spelled",
    "write_failure",
    "write_record",
]
