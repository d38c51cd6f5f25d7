"""The ledger: the folder of records. Its schema, its files, its locks.

Imports nothing of ours but `base`.
"""

from elmo_bench.base.machine import environment
from elmo_bench.base.metric import TYPE
from elmo_bench.ledger.checks import Copies, record_of
from elmo_bench.ledger.locks import (
    HeldElsewhere,
    Holder,
    holder_of,
    new_attempt,
    run_lock,
)
from elmo_bench.ledger.outcomes import (
    CLUSTER,
    PAIRS,
    digest_of,
    joined,
    of_split,
    slices_of,
    types_of,
)
from elmo_bench.ledger.paths import RunPaths, check_exists, list_runs
from elmo_bench.ledger.record import (
    SCHEMA,
    SCORED,
    Record,
    Scores,
    Spec,
    learned,
    now,
    run_hash,
    score_of,
    settings_key,
    work_minutes_of,
)
from elmo_bench.ledger.store import (
    Keep,
    Ledger,
    holders_of,
    read_all,
    read_listed,
    read_outcomes,
    read_record,
    read_record_at,
    rewrite_record,
    write_record,
)
