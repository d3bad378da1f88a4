"""The gradebook: every run, every result whole, and what a submission's mark is now. Nothing is ever overwritten.

    with Gradebook(path, create=True) as book:
        run = book.begin(Run("nox -s cohort -- class", "class", key.suite, key.selection, ...))
        known = book.known(key)
        book.reuse(run, "ada", known) if known else book.keep(run, "ada", result, shape)
        book.end(run)

Each call that writes is one short transaction: after it returns, power may fail. Several processes may write at once.
A label is what the platform calls a submission. Times are UTC.
"""

import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from harness.cohort import database
from harness.cohort.keys import Key, key_of_result
from harness.cohort.mark import Adjustment, Mark, PastRun, Run
from harness.cohort.roster import Matching, Student, matched
from harness.errors import GraderFault, UsageError
from harness.result import Result

STUDENT = ", ".join(Student._fields)
"""The columns of authors and students, which are those of a roster."""


class Gradebook:
    """An open gradebook; close it, or use it in a `with`. For one thread.

    Every method raises GraderFault with one sentence when the disk is full or the file stays locked; what was written
    before is kept, and the method may be called again. UsageError when the file cannot be written.
    """

    def __init__(self, path: Path, create: bool = False) -> None:
        """Raises UsageError if `path` is no gradebook, or there is none and it is not to be created."""
        self.path = path
        self._connection = database.opened(path, create)

    def __enter__(self) -> "Gradebook":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    # ---- writing ----

    def begin(self, run: Run, authors: Mapping[str, Sequence[Student]] | None = None) -> int:
        """Add a run; returns its number.

        authors: by label, what the platform says of the authors of a submission; it is kept in here alone.
        """
        texts = [storable(run.command), storable(run.source), run.suite, json.dumps(run.selection)]
        row = [_now(), *texts, *run[4:-1], json.dumps(sorted(run.functions))]
        with self._writing():
            number = self._add("runs", f"started, {', '.join(Run._fields)}", row)
            for label, each in (authors or {}).items():
                for author in each:
                    self._add("authors", f"run, {STUDENT}", [number, *map(storable, author._replace(label=label))])
        return number

    def keep(self, run: int, label: str, result: Result, shape: str = "") -> int:
        """Add a result and make it the submission's mark in this run; returns the result's number.

        Raises ValueError for a result that is not complete: call `fail`. GraderFault if the run has a mark already.
        """
        if not result.complete or result.score is None:
            raise ValueError("a result that is not complete is no mark")
        key = key_of_result(result)
        row = [
            *key._replace(selection=json.dumps(key.selection)),  # type: ignore[arg-type]
            *(result.readable, result.score, result.max_score, shape),
            *(zlib.compress(msgspec.json.encode(result)), _now()),
        ]
        with self._writing():
            columns = "submission, suite, selection, environment, level, reseed"
            number = self._add("results", f"{columns}, readable, score, max_score, shape, json, created", row)
            self._mark(run, label, number, "")
        return number

    def reuse(self, run: int, label: str, result_id: int) -> None:
        """Make a result that is known the submission's mark in this run."""
        with self._writing():
            self._mark(run, label, result_id, "")

    def fail(self, run: int, label: str, why: str) -> None:
        """Say that the submission could not be graded in this run. An earlier mark is kept, and is stale."""
        with self._writing():
            self._mark(run, label, None, why or "no reason is known")

    def end(self, run: int) -> None:
        """The run is through: every submission has a result or a reason."""
        with self._writing():
            self._add("run_ends", "id, ended", [run, _now()])

    def adjust(self, label: str, points: float, comment: str, author: str, run: int | None = None) -> int:
        """Add points (or a comment, with 0) to a submission's mark, in whatever run of the lab it is or will be.

        run: any of the lab, or the newest run's lab is meant. Returns the run that the mark is of. Raises UsageError if
        there is no such run, or the lab has no such label.
        """
        label = storable(label)
        with self._writing():
            self._check_run(run)
            newest = dict(self._rows(database.LABELS, {"run": run}))
            if label not in newest:
                near = get_close_matches(label, newest)
                marks = "`nox -s gradebook -- marks` lists them; --run names a run of another lab"
                hint = f"did you mean {' or '.join(near)}?" if near else marks
                raise UsageError(f"{label}: no submission of this lab has that label; {hint}")
            row = [newest[label], label, points, storable(comment), storable(author), _now()]
            self._add("adjustments", "run, label, points, comment, author, created", row)
        return int(newest[label])

    def enrol(self, students: Sequence[Student], source: str) -> None:
        """Add a roster; from now on it says who is who."""
        with self._writing():
            roster = self._add("rosters", "source, created", [storable(source), _now()])
            for student in students:
                row = [roster, *map(storable, student)]
                self._add("students", f"roster, {STUDENT}", row)

    # ---- reading ----

    def known(self, key: Key) -> int | None:
        """The number of the newest result with an equal key, or None. What could not be read is always read again."""
        row = self._row(
            "SELECT max(id) FROM results WHERE readable AND submission = ? AND suite = ? AND selection = ?"
            " AND environment = ? AND level = ? AND reseed = ?",
            *key._replace(selection=json.dumps(key.selection)),  # type: ignore[arg-type]
        )
        return None if row is None or row[0] is None else int(row[0])

    def runs(self) -> list[PastRun]:
        """All runs, in order."""
        runs = []
        for row in self._rows(database.RUNS):
            number, started, ended, graded, failed, *fields = row
            named = dict(zip(Run._fields, fields, strict=True))
            run = Run(**named | {name: tuple(json.loads(named[name])) for name in ("selection", "functions")})
            runs.append(PastRun(number, started, ended, graded, failed, run))
        return runs

    def marks(self, run: int | None = None) -> list[Mark]:
        """The marks by label: of the lab of the newest run, or those of one run, as they stood when it was through.

        What a run could not grade or read has the mark that an earlier run of the lab gave, which is stale. Raises
        UsageError if there is no such run.
        """
        self._check_run(run)
        rows = self._rows(database.MARKS, {"run": run})
        added = self._adjustments(run)
        students = self.matching(run).students if self.students() else self._authors(run)
        whys = [unread and (self.result(unread).message or "nothing of it could be read") for *_, unread in rows]
        return [
            _mark(students.get(row[0], ()), added.get(row[0], ()), why or "", *row[:-1])
            for row, why in zip(rows, whys, strict=True)
        ]

    def result(self, result_id: int) -> Result:
        """A result, whole. Raises UsageError if there is none, or another version of the course wrote it."""
        row = self._row("SELECT json FROM results WHERE id = ?", result_id)
        if row is None:
            raise UsageError(f"{self.path}: there is no result {result_id}")
        try:
            return msgspec.json.decode(zlib.decompress(row[0]), type=Result)
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.path}: result {result_id} is of another version of the course ({error})") from None

    def _adjustments(self, run: int | None) -> dict[str, tuple[Adjustment, ...]]:
        """By label, all adjustments and comments of a lab, in order."""
        added: dict[str, tuple[Adjustment, ...]] = {}
        for label, *row in self._rows(database.ADJUSTMENTS, {"run": run}):
            added[label] = (*added.get(label, ()), Adjustment(*row))
        return added

    def matching(self, run: int | None = None) -> Matching:
        """Whose the submissions (of a run) are, as the newest roster says; without a roster, nobody's and no strangers.

        One that its authors have handed in anew, under another label, is not theirs any more.
        """
        students, replaced = self.students(), self.replaced(run)
        authors = self._authors(run) if students else {}
        found = matched({label: each for label, each in authors.items() if label not in replaced}, students)
        told = {label: why for label, why in replaced.items() if label in authors}
        return found._replace(strangers=found.strangers | told)

    def replaced(self, run: int | None = None) -> dict[str, str]:
        """By label, what is said of a submission whose authors have handed in anew: Gradescope gives it a new number.

        They are known by what the platform says of them. In a run by itself there are none.
        """
        if run is not None:
            return {}
        last = dict(self._rows(database.LABELS, {"run": None}))
        labels: dict[frozenset[Student], list[str]] = {}
        for label, authors in self._authors().items():
            if authors:
                labels.setdefault(frozenset(author._replace(label="") for author in authors), []).append(label)
        newest = {label: max(own, key=last.__getitem__) for own in labels.values() for label in own}
        return {
            label: f"its author handed in {other} later" for label, other in newest.items() if last[label] < last[other]
        }

    def _authors(self, run: int | None = None) -> dict[str, tuple[Student, ...]]:
        """By label, what the platform said last of the authors of each submission: those of whom it says something."""
        authors: dict[str, tuple[Student, ...]] = {}
        for label, *fields in self._rows(database.AUTHORS, {"run": run}):
            authors[label] = authors.get(label, ()) + ((Student(label, *fields),) if any(fields) else ())
        return authors

    def students(self) -> list[Student]:
        """The rows of the newest roster."""
        newest = "roster = (SELECT max(id) FROM rosters)"
        return [Student(*row) for row in self._rows(f"SELECT {STUDENT} FROM students WHERE {newest} ORDER BY id")]

    # ---- SQLite ----

    def _writing(self) -> AbstractContextManager[None]:
        return database.transaction(self._connection, self.path)

    def _add(self, table: str, columns: str, row: Sequence[object]) -> int:
        places = ", ".join("?" for _ in row)
        return int(self._connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", row).lastrowid or 0)

    def _mark(self, run: int, label: str, result_id: int | None, fault: str) -> None:
        try:
            row = [run, storable(label), result_id, storable(fault), _now()]
            self._add("marks", "run, label, result, fault, created", row)
        except sqlite3.IntegrityError as error:
            raise GraderFault(f"{self.path}: run {run} cannot mark {label!r} ({error})") from None

    def _check_run(self, run: int | None) -> None:
        if run is not None and self._row("SELECT 1 FROM runs WHERE id = ?", run) is None:
            raise UsageError(f"{self.path}: there is no run {run}; `nox -s gradebook -- runs` lists them")

    def _row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        return next(iter(self._rows(query, values)), None)

    def _rows(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        with database.told(self.path):
            return self._connection.execute(query, values).fetchall()


def _mark(students: tuple[Student, ...], added: tuple[Adjustment, ...], unread: str, *row: Any) -> Mark:
    label, score, max_score, stale, fault, number, run, shape, readable = row
    points = sum(each.points for each in added)
    adjusted = None if score is None else max(0.0, round(score + points, 2))
    state = (bool(stale), fault or unread, number, run, shape, bool(readable))
    return Mark(label, students, score, max_score, added, points, adjusted, *state)


def storable(text: str) -> str:
    """`text` as SQLite can hold it: what is no Unicode (part of a file's name) is spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
