"""SQLite files that lose nothing: one writer at a time, every commit on the disk before it is
acknowledged.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from worldprobe.errors import UserError

ANSWERS = "answers.sqlite"
IDENTITIES = "identities.sqlite"
DAY_MS = 24 * 3600 * 1000
#: How long a writer waits for another one, in this process or the next, before the page is told to
#: try again.
PATIENCE_SECONDS = 4.0


class UnavailableError(Exception):
    """The database could not take the change now (locked, disk full): nothing was stored, and
    nothing may be acknowledged.
    """


def steady_clock() -> Callable[[], float]:
    """The time in seconds since 1970: as it was at the start, plus what has passed since, or the
    machine's where that is earlier.

    So a clock that is set ahead ends nobody's time, and one that was ahead at the start (the
    hardware's, before the network's time was there) is right as soon as it is corrected.
    """
    start, began = time.time(), time.monotonic()
    return lambda: min(start + time.monotonic() - began, time.time())


class Database:
    """One SQLite file, shared by all threads of this process: one of them writes at a time, any
    number read.

    Args:
        path: the file; it exists.
        clock: the time in seconds since 1970; None is ``steady_clock``.
    """

    def __init__(self, path: Path, clock: Callable[[], float] | None = None) -> None:
        self.path, self.clock = path, clock or steady_clock()
        self._lock = threading.Lock()
        self._connection = connect(path)
        self._readers: deque[sqlite3.Connection] = deque()

    def now(self) -> int:
        """The time in milliseconds since 1970."""
        return round(self.clock() * 1000)

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction that begins by taking the write lock, so that what it reads is still true
        when it writes.

        At the end of the block the change is on the disk.

        Raises:
            UnavailableError: locked for too long, disk full, or damaged; nothing was stored, and
                the change may be repeated.
        """
        if not self._lock.acquire(timeout=PATIENCE_SECONDS):
            raise UnavailableError("busy")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            self._roll_back()
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            raise UnavailableError(str(error)) from error
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._lock.release()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Several reads of one state, while others write.

        Raises:
            UnavailableError: as ``write``.
        """
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = connect(self.path)
            connection.execute("PRAGMA query_only = ON")
        try:
            connection.execute("BEGIN")
            yield connection
        except sqlite3.OperationalError as error:
            raise UnavailableError(str(error)) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._readers.append(connection)

    def forget_deleted(self, is_vacuumed: bool = True) -> None:
        """Leave no byte of deleted rows: in the file they are overwritten at once, here their
        copies in the log go, too.

        Args:
            is_vacuumed: rewrite the whole file as well.

        Raises:
            UnavailableError: another process was reading or writing all the time.
        """
        with self._lock:
            try:
                if is_vacuumed:
                    self._connection.execute("VACUUM")
                deadline = time.monotonic() + PATIENCE_SECONDS
                while self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    if time.monotonic() > deadline:
                        raise UnavailableError("another process is using the database")
                    time.sleep(0.05)
            except sqlite3.OperationalError as error:
                raise UnavailableError(str(error)) from error

    def back_up(self, target: Path) -> None:
        """Copy the whole database as it is at one moment, while others go on writing."""
        reader = connect(self.path)
        copy = sqlite3.connect(target)
        try:
            reader.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()
            reader.close()

    def close(self) -> None:
        """Move the log's content into the file and close it."""
        with self._lock:
            while self._readers:
                self._readers.pop().close()
            with contextlib.suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection with the settings that durability and deletion rest on; transactions are begun
    by hand.
    """
    connection = sqlite3.connect(
        path, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    for setting in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",
        "temp_store = MEMORY",
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def create(
    path: Path,
    tables: str,
    facts: Mapping[str, str],
    rows: Callable[[sqlite3.Connection], None] | None = None,
) -> None:
    """Create a database, readable by its owner only; it takes its name when it is whole.

    Args:
        path: where.
        tables: its schema.
        facts: what it states about itself, besides the schema's version.
        rows: inserts its first rows.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.executescript(tables)
            connection.execute("BEGIN")
            entries = {"schema_version": str(SCHEMA_VERSION)} | dict(facts)
            connection.executemany("INSERT INTO facts VALUES (?, ?)", entries.items())
            if rows:
                rows(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()
        os.link(temporary, path)  # fails where another process was quicker
    finally:
        temporary.unlink(missing_ok=True)


def read_facts(path: Path) -> dict[str, str]:
    """Facts that a database states about itself.

    Raises:
        UserError: there is none, it is damaged, or a newer worldprobe wrote it.
    """
    if not path.is_file():
        raise UserError(
            path,
            "there is no such database.",
            "Give the folder that `human serve` was started with.",
        )
    try:
        connection = sqlite3.connect(path, timeout=PATIENCE_SECONDS)
        try:
            facts = dict(connection.execute("SELECT name, value FROM facts"))
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        problem = f"cannot be read ({error}): something uses it, or its disk has no file locks."
        fix = "Stop what is using it, or move the folder to a local disk; its answers are whole."
        raise UserError(path, problem, fix) from error
    except sqlite3.DatabaseError as error:
        problem = f"is not a readable survey database ({error})."
        raise UserError(
            path, problem, "Stop what is using it, or restore a backup made by `human backup`."
        ) from error
    version = facts.get("schema_version", "?")
    if version != str(SCHEMA_VERSION):
        problem = (
            f"has version {version} of the tables; this worldprobe uses version {SCHEMA_VERSION}."
        )
        raise UserError(path, problem, "Use the worldprobe that created it.")
    return facts


#: Bumped when the tables change.
SCHEMA_VERSION = 2

ANSWER_TABLES, IDENTITY_TABLES = (
    resources.files("worldprobe_survey").joinpath(f"{name}.sql").read_text(encoding="utf-8")
    for name in ("answers", "identities")
)


def add_tally(answers: Database, kind: str) -> None:
    """Count one event of today; a database that is busy loses the count, never the request."""
    with contextlib.suppress(UnavailableError), answers.write() as connection:
        count_tally(connection, kind, answers.now())


def count_tally(connection: sqlite3.Connection, kind: str, now: int) -> None:
    """Count one event within a transaction.

    Args:
        connection: of the answers.
        kind: what happened.
        now: milliseconds since 1970.
    """
    day = datetime.fromtimestamp(now / 1000, UTC).date().isoformat()
    connection.execute(
        "INSERT INTO tallies VALUES (?, ?, 1) ON CONFLICT (day, kind) DO UPDATE SET n = n + 1",
        (day, kind),
    )
