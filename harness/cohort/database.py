"""The file of a gradebook: its schema, how it is opened, and what its errors mean.

SQLite with a write-ahead log. A transaction that was committed is on the disk (`synchronous=FULL`); one that was not,
leaves nothing. Rows are only ever added: triggers refuse to change, replace or delete one, whoever asks.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import GraderFault, UsageError

APPLICATION = 0x47524442
"""What the header of the file says it is of: `GRDB` in ASCII."""
VERSION = 2
BUSY_SECONDS = 30.0

TABLES = {
    "runs": """
        id INTEGER PRIMARY KEY, started TEXT NOT NULL, command TEXT NOT NULL, source TEXT NOT NULL, suite TEXT NOT NULL,
        selection TEXT NOT NULL, environment TEXT NOT NULL, level TEXT NOT NULL, reseed INTEGER NOT NULL,
        workers INTEGER NOT NULL, functions TEXT NOT NULL""",
    "run_ends": "id INTEGER PRIMARY KEY REFERENCES runs, ended TEXT NOT NULL",
    "results": """
        id INTEGER PRIMARY KEY, submission TEXT NOT NULL, suite TEXT NOT NULL, selection TEXT NOT NULL,
        environment TEXT NOT NULL, level TEXT NOT NULL, reseed INTEGER NOT NULL, readable INTEGER NOT NULL,
        score REAL NOT NULL, max_score REAL NOT NULL, shape TEXT NOT NULL, json BLOB NOT NULL, created TEXT NOT NULL""",
    "authors": """
        id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, label TEXT NOT NULL, number TEXT NOT NULL,
        login TEXT NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL, section TEXT NOT NULL, canvas TEXT NOT NULL,
        github TEXT NOT NULL""",
    "marks": """
        id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, label TEXT NOT NULL,
        result INTEGER REFERENCES results, fault TEXT NOT NULL, created TEXT NOT NULL,
        UNIQUE (run, label), CHECK ((result IS NULL) = (fault <> ''))""",
    "adjustments": """
        id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, label TEXT NOT NULL, points REAL NOT NULL,
        comment TEXT NOT NULL, author TEXT NOT NULL, created TEXT NOT NULL""",
    "rosters": "id INTEGER PRIMARY KEY, source TEXT NOT NULL, created TEXT NOT NULL",
    "students": """
        id INTEGER PRIMARY KEY, roster INTEGER NOT NULL REFERENCES rosters, label TEXT NOT NULL, number TEXT NOT NULL,
        login TEXT NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL, section TEXT NOT NULL, canvas TEXT NOT NULL,
        github TEXT NOT NULL""",
}
"""Columns by table.

runs: a command that grades, with the functions that give points in it, which make its lab; run_ends: those that reached
their end. authors: what a platform says of the authors of a run's submissions. results: whole ones, zlib of their JSON,
with what they are reused by. marks: a row for each submission of a run, with a result or the reason why there is none.
adjustments: points to add to a submission's mark, and comments, made upon the mark of a run; they count in every run of
its lab, and in no other's. students: the rows of a roster; the newest roster counts.
"""
INDEXES = (
    "CREATE INDEX results_by_key ON results (submission, suite, selection, environment, level, reseed)",
    "CREATE INDEX marks_by_label ON marks (label, run)",
    "CREATE INDEX authors_by_label ON authors (run, label)",
)

RUNS = """
    SELECT runs.id, started, coalesce(ended, ''), count(result), count(label) - count(result),
        command, source, suite, selection, environment, level, reseed, workers, functions
    FROM runs LEFT JOIN run_ends USING (id) LEFT JOIN marks ON run = runs.id GROUP BY runs.id ORDER BY runs.id"""
_LAB = """(
        SELECT id FROM runs WHERE functions =
            (SELECT functions FROM runs WHERE id = coalesce(:run, (SELECT max(run) FROM marks))))"""
"""The runs of the lab that a run is of, or the newest that marks something."""
LABELS = f"SELECT label, max(run) FROM marks WHERE run IN {_LAB} GROUP BY label"
"""The submissions of a lab, each with its newest run."""
ADJUSTMENTS = f"SELECT label, points, comment, author, created FROM adjustments WHERE run IN {_LAB} ORDER BY id"
MARKS = f"""
    WITH
    own AS (SELECT * FROM marks WHERE run IN {_LAB} AND (:run IS NULL OR run <= :run)),
    graded AS (SELECT label, run, result, readable FROM own JOIN results ON results.id = result),
    first_read AS (SELECT label, min(run) AS run FROM graded WHERE readable GROUP BY label),
    counted AS (
        SELECT graded.* FROM graded LEFT JOIN first_read USING (label)
        WHERE readable OR first_read.run IS NULL OR graded.run < first_read.run),
    newest AS (SELECT label, max(run) AS run, result, fault FROM own WHERE :run IS NULL OR run = :run GROUP BY label),
    kept AS (SELECT label, max(run) AS run, result FROM counted GROUP BY label)
    SELECT label, score, max_score, coalesce(kept.run < newest.run, 0), fault,
        kept.result, coalesce(kept.run, newest.run), coalesce(shape, ''), coalesce(readable, 1),
        CASE WHEN kept.result IS NOT newest.result THEN newest.result END
    FROM newest LEFT JOIN kept USING (label) LEFT JOIN results ON results.id = kept.result ORDER BY label"""
"""The marks of a lab, or of the submissions of one run as they stood after it.

A result of a submission of which nothing could be read counts, as no points, until one of it could be read; from
then on it is no mark, and the last column names it, as it says why.

A column without an aggregate, beside max(), is that of the row with the maximum: https://sqlite.org/lang_select.html,
"Bare columns in an aggregate query"."""
AUTHORS = f"""
    WITH
    newest AS (SELECT label, max(run) AS run FROM authors GROUP BY label),
    told AS (SELECT authors.* FROM authors JOIN newest USING (run, label))
    SELECT label, number, login, email, name, section, canvas, github
    FROM (SELECT DISTINCT label FROM marks WHERE run IN {_LAB} AND (:run IS NULL OR run = :run))
    LEFT JOIN told USING (label)
    ORDER BY label, id"""

_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_BROKEN = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT}


def opened(path: Path, create: bool) -> sqlite3.Connection:
    """A connection to the gradebook at `path`.

    create: make it if there is none; only its owner may read it, as it holds names and marks. Raises UsageError if it
    cannot be opened, GraderFault if the disk is full or another process does not let go of it.
    """
    try:
        if not path.exists():
            if not create:
                raise UsageError(f"{path}: no such gradebook; `nox -s cohort` makes it, --gradebook names another")
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        elif not path.is_file():
            raise UsageError(f"{path} is no file: --gradebook takes one")
    except OSError as error:
        raise UsageError(f"{path}: the gradebook cannot be opened ({error.strerror})") from None
    with told(path):
        connection = sqlite3.connect(path.absolute(), timeout=BUSY_SECONDS, isolation_level=None)
    try:
        with told(path):
            _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no gradebook of this version, before anything is written; make the tables of a new one."""
    new = _is_new(connection, path)
    _to_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if not new:
        return
    with transaction(connection, path):
        if not _is_new(connection, path):  # another process was first
            return
        for table, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
            for refused in _guards(table):
                connection.execute(refused)
        for index in INDEXES:
            connection.execute(index)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _guards(table: str) -> list[str]:
    """Triggers that keep a table's rows as they are. INSERT OR REPLACE deletes rows without any trigger for DELETE."""
    unique = "id = NEW.id" if table != "marks" else "id = NEW.id OR (run = NEW.run AND label = NEW.label)"
    refuse = f"SELECT RAISE(ABORT, '{table}: rows of a gradebook are never changed')"
    return [
        f"CREATE TRIGGER {table}_never_updated BEFORE UPDATE ON {table} BEGIN {refuse}; END",
        f"CREATE TRIGGER {table}_never_deleted BEFORE DELETE ON {table} BEGIN {refuse}; END",
        f"CREATE TRIGGER {table}_never_replaced BEFORE INSERT ON {table}"
        f" WHEN EXISTS (SELECT 1 FROM {table} WHERE {unique}) BEGIN {refuse}; END",
    ]


def _is_new(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is still empty. Raises UsageError if it is another program's or another version's."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and application != APPLICATION:
        raise UsageError(f"{path} is a database, but no gradebook: name another file with --gradebook")
    if tables and version != VERSION:
        raise UsageError(
            f"{path} is a gradebook of version {version} and this course reads version {VERSION}: "
            "use the course that wrote it, or name another file with --gradebook"
        )
    return not tables


def _to_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Readers and a writer at once. The change itself is not waited for by SQLite when two processes ask for it."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.02)


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All or nothing: waits for other writers, and leaves no trace if it raises."""
    with told(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite has taken it back itself when the disk is full
                connection.execute("ROLLBACK")
            raise


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say in a sentence what SQLite's errors mean for a gradebook."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _FULL:
            raise GraderFault(f"{path}: the disk is full or cannot be written ({error}): make room") from None
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise GraderFault(
                f"{path}: another process has been writing for {BUSY_SECONDS:.0f} s: wait until it has ended"
            ) from None
        if code in _UNWRITABLE:
            raise UsageError(
                f"{path}: the gradebook cannot be written ({error}); make the file and its folder writable, "
                "or copy it to another place and name that with --gradebook"
            ) from None
        if code in _BROKEN:
            raise UsageError(
                f"{path} is no gradebook, or a damaged one ({error}): name another with --gradebook"
            ) from None
        raise
