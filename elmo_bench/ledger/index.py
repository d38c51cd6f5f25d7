"""An index of a ledger in the local cache folder: what commands need of each record with an unchanged file.

The files of the ledger are the truth. An entry counts only for a file of the same size, times and inode, and only with
its checksum, so a damaged index gives no wrong answer. It may be deleted at any time. An index that is damaged or of
another version is made again; one that is locked, read-only or cannot be made is done without.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.reading import reader
from elmo_bench.ledger.record import Brief, Record, brief

WAIT = 2.0  # seconds for another process that writes
YOUNG = 2 * 10**9  # nanoseconds: a file this new may change again without a change of its times
# SQLite's codes for an index that is locked, read-only or on a full disk, rather than damaged.
_UNUSABLE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
DAMAGED = (sqlite3.Error, UnicodeDecodeError)  # the latter from text or a message with damaged characters
_TABLES = """
    CREATE TABLE IF NOT EXISTS records (suite, task, encoder, hash, seed, state, spec, environment, text, checksum,
        PRIMARY KEY (suite, task, encoder, hash, seed)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS parts (key PRIMARY KEY, text) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS results (key PRIMARY KEY, text, checksum) WITHOUT ROWID;
"""

Key = tuple[str, str, str, str, int]  # suite, task, encoder, hash, seed


class Entry(NamedTuple):
    """What the index holds of a record."""

    state: str  # of the file: see `state_of`
    spec: str  # key of a part, as many records share a spec
    environment: str  # key of a part
    text: str  # JSON of the rest of the `Brief`


class Index:
    """The index of one ledger; use it in a `with` block. Nothing that it does raises an error of SQLite or the disk."""

    def __init__(self, ledger: Path):
        self._parts: dict[str, Any] = {}  # by key: records share them in memory too
        self._new: dict[str, str] = {}  # texts of parts that may not be stored yet
        self._replaced = False  # whether the file was damaged, or of another version, and removed
        name = blake2b(os.fsencode(os.path.realpath(ledger)), digest_size=8).hexdigest()
        try:
            self._path = cache_folder() / "ledgers" / f"{name}.sqlite"
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # there may be no home folder
            self._connection = _in_memory()
        else:
            self._connection = self._open()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    @reader
    def entries(self, *, suite: str | None, task: str | None, encoder: str | None) -> dict[Key, Entry]:
        """What is known of the records in these folders; only entries that are undamaged."""
        given = {"suite": suite, "task": task, "encoder": encoder}
        wanted = {name: value for name, value in given.items() if value is not None}
        where = " AND ".join(["TRUE", *(f"{name} = ?" for name in wanted)])
        found: dict[Key, Entry] = {}
        with self._guarded() as connection:
            for row in connection.execute(f"SELECT * FROM records WHERE {where}", tuple(wanted.values())):
                key, entry = row[:5], Entry(*row[5:9])
                if row[9] == _checksum(*map(str, (*key, *entry))):
                    found[key] = entry
            used = {part for entry in found.values() for part in (entry.spec, entry.environment)}
            stored = connection.execute("SELECT key, text FROM parts")
            texts = {key: text for key, text in stored if key in used and key == _checksum(str(text))}
            self._parts |= zip(texts, _parsed(list(texts.values())), strict=True)
        return {k: entry for k, entry in found.items() if {entry.spec, entry.environment} <= self._parts.keys()}

    def entry(self, record: Record, state: str) -> Entry:
        """The entry of a record that was just read, not stored yet."""
        rest: dict[str, Any] = dict(brief(record))
        spec, environment = self._part(rest.pop("spec")), self._part(rest.pop("environment"))
        return Entry(state, spec, environment, json.dumps(rest, separators=(",", ":")))

    def briefs(self, entries: list[Entry]) -> Iterator[Brief]:
        """The records of entries, which are removed from the list as they are read: the texts take much memory.

        Equal specs and environments are one object, which must not be changed.
        """
        while entries:
            some, entries[:1000] = entries[:1000], []
            for entry, record in zip(some, _parsed([entry.text for entry in some]), strict=True):
                record["spec"], record["environment"] = self._parts[entry.spec], self._parts[entry.environment]
                yield record

    def store(self, fresh: Mapping[Key, Entry], gone: Iterable[Key]) -> None:
        """Keep these entries, and forget entries of files that no longer exist."""
        gone = list(gone)
        if not fresh and not gone:
            return
        with self._guarded() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            used = {part for entry in fresh.values() for part in (entry.spec, entry.environment)}
            connection.executemany(
                "INSERT OR REPLACE INTO parts VALUES (?, ?)", [(key, self._new[key]) for key in used & self._new.keys()]
            )
            connection.executemany(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*key, *entry, _checksum(*map(str, (*key, *entry)))) for key, entry in fresh.items()],
            )
            same = " AND ".join(f"{name} = ?" for name in ("suite", "task", "encoder", "hash", "seed"))
            connection.executemany(f"DELETE FROM records WHERE {same}", gone)
            connection.execute(
                "DELETE FROM parts WHERE key NOT IN (SELECT spec FROM records UNION SELECT environment FROM records)"
            )

    def results(self) -> dict[str, Any]:
        """Results that `store_results` kept, by key."""
        found: dict[str, Any] = {}
        with self._guarded() as connection:
            for key, text, checksum in connection.execute("SELECT * FROM results"):
                if checksum == _checksum(str(key), str(text)):
                    found[key] = json.loads(text)
        return found

    def store_results(self, results: Mapping[str, Any]) -> None:
        """Keep JSON values by a key that names everything they depend on."""
        if not results:
            return
        texts = {key: json.dumps(value) for key, value in results.items()}
        with self._guarded() as connection, connection:
            connection.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?)",
                [(key, text, _checksum(key, text)) for key, text in texts.items()],
            )

    def _part(self, value: Any) -> str:
        text = json.dumps(value, separators=(",", ":"))
        key = _checksum(text)
        if key not in self._parts:
            self._parts[key], self._new[key] = value, text
        return key

    def _open(self) -> sqlite3.Connection:
        """The file, made if there is none."""
        connection = None
        try:
            connection = sqlite3.connect(self._path, timeout=WAIT, isolation_level=None)
            # What a killed process wrote in part is found by the checksums, so no journal is needed on the disk.
            connection.executescript("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")
            [found] = connection.execute("PRAGMA user_version").fetchone()
            if found not in (0, _version()):
                raise sqlite3.DatabaseError("of another version")
            if found == 0:
                connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_version()}; COMMIT;")
            return connection
        except DAMAGED as error:
            return self._after(error, connection)

    def _after(self, error: Exception, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        """What to use after an error: a new file if this one is damaged, else an index in memory."""
        if connection is not None:
            connection.close()
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # the rest is detail
        if code in _UNUSABLE or self._replaced:
            return _in_memory()
        self._replaced = True
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            return _in_memory()
        return self._open()

    @contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        """The connection, for a block that an error of SQLite may end early."""
        try:
            yield self._connection
        except DAMAGED as error:
            self._connection = self._after(error, self._connection)


def state_of(path: Path | str, *, now: int) -> str | None:
    """Size, times and inode of a file, which differ after a change; None if it is missing, or too new to tell.

    `now`: time.time_ns() before the file is read.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if max(found.st_mtime_ns, found.st_ctime_ns) > now - YOUNG:
        return None
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


@cache
def code_of(*packages: str) -> str:
    """A digest of the modules of these packages of `elmo_bench`: a change of the code is another version."""
    root = Path(__file__).parents[1]
    files = sorted(path for package in packages for path in (root / package).rglob("*.py"))
    return _checksum(*(path.read_text(encoding="utf-8") for path in files))


def _version() -> int:
    return int(code_of("base", "ledger"), 16) % 2**31 or 1


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(_TABLES)
    return connection


def _parsed(texts: list[str]) -> Iterator[Any]:
    """The values of JSON texts. Many are parsed as one, since equal keys are then shared."""
    for start in range(0, len(texts), 1000):
        yield from json.loads(f"[{','.join(texts[start : start + 1000])}]")


def _checksum(*texts: str) -> str:
    return blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
