"""What leaves the gradebook: sheets for Canvas, Moodle and Gradescope, lines of JSON, a folder of students' reports.

Sheets hold what a platform needs to know a student by: what the roster says, or without one the platform itself. Of a
student, lines of JSON hold the label of the submission alone, and reports not even that, but in the file's name. What
Canvas and Moodle call a submission holds its author's name, so a label is as private as a name.
"""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.cohort.gradebook import Gradebook
from harness.cohort.mark import Mark
from harness.cohort.tally import Entry
from harness.errors import UsageError
from harness.report import html
from harness.report.gradebook import Row, canvas_sheet, feedback, gradescope_sheet, moodle_sheet
from harness.report.words import number
from harness.result import Result
from harness.text import inert

SHEETS = ("canvas", "moodle", "gradescope")
NEUTRAL_NAME = "submission"
NAME_LIMIT = 80
RESERVED = {"con", "prn", "aux", "nul", *(f"{device}{place}" for device in ("com", "lpt") for place in range(10))}
"""Names that Windows gives to devices, whatever their extension: "Naming Files, Paths, and Namespaces",
https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file."""


class Sheet(NamedTuple):
    """A file for a platform. left_out: a line for each submission that has no row in it, and why."""

    text: str
    rows: int
    left_out: list[str]


def sheet(book: Gradebook, platform: str, assignment: str = "Lab", run: int | None = None) -> Sheet:
    """The marks for one of SHEETS, adjustments included: a row for each student, or for a submission that is nobody's.

    Raises UsageError if there is no mark, or if the marks are out of different totals.
    """
    every, replaced = book.marks(run), book.replaced(run)
    marks = [mark for mark in every if mark.score is not None and mark.label not in replaced]
    if not marks:
        raise UsageError(f"{book.path}: there are no marks to export")
    possible = one_total([mark for mark in marks if not mark.stale] or marks)
    others = {
        mark.label: f"its mark is stale, and out of {number(mark.max_score or 0.0)} points"
        for mark in marks
        if mark.max_score != possible
    }
    left_out = [f"{mark.label}: {mark.fault}" for mark in every if mark.score is None]
    absent = book.matching(run).strangers | replaced | others
    left_out += [
        f"{each.label}: {absent[each.label]}" for each in every if each.score is not None and each.label in absent
    ]
    enrolled = bool(book.students())
    rows = [
        row
        for mark in marks
        if mark.label not in others
        for row in _rows(mark, book.result(mark.result_id or 0) if platform != "canvas" else None, enrolled)
    ]
    if platform == "canvas":
        text = canvas_sheet(rows, assignment, possible)
    elif platform == "moodle":
        text = moodle_sheet(rows, assignment)
    else:
        text = gradescope_sheet(rows)
    return Sheet(text, len(rows), left_out)


def one_total(marks: Iterable[Mark]) -> float:
    """The points that can be reached, if they are the same for all marks; raises UsageError if they are not."""
    totals = sorted({mark.max_score or 0.0 for mark in marks})
    if len(totals) != 1:
        raise UsageError(
            f"the newest marks are out of different totals ({', '.join(map(number, totals))} points), as --points was "
            "another: choose a run with --run; `nox -s gradebook -- runs` lists them"
        )
    return totals[0]


def _rows(mark: Mark, result: Result | None, enrolled: bool) -> list[Row]:
    """A row for each student whose submission it is; the label stands for the login where nobody ever said whose."""
    told = ""
    if result is not None:
        told = " ".join([feedback(result), *_by_hand(mark)])
    row = Row(
        score=mark.adjusted or 0.0,
        max_score=mark.max_score or 0.0,
        feedback=told,
        functions=tuple(
            (f"{each.module}.{each.function}", each.score or 0.0, each.max_score)
            for each in (result.functions if result else ())
        ),
    )
    if not enrolled and not mark.students:
        return [row._replace(login=mark.label)]
    return [
        row._replace(
            **{field: getattr(student, field) for field in ("login", "number", "email", "name", "section", "canvas")}
        )
        for student in mark.students
    ]


def _by_hand(mark: Mark) -> list[str]:
    """What was done to a mark by hand, and why, as its student reads it; a comment alone is for instructors."""
    return [
        f"{number(abs(each.points))} point{' was' if abs(each.points) == 1 else 's were'} "
        f"{'added' if each.points > 0 else 'taken away'} by hand: {inert(each.comment).strip().removesuffix('.')}."
        for each in mark.adjustments
        if each.points
    ]


def json_lines(book: Gradebook, run: int | None = None) -> Iterator[str]:
    """A line of JSON for each submission: its mark, what it is made of, what was added by hand.

    The roster's names and e-mails are not in it; labels, comments and their authors are, and may be names.
    """
    for mark in book.marks(run):
        result = book.result(mark.result_id) if mark.result_id else None
        line: dict[str, object] = {
            name: value for name, value in mark._asdict().items() if name not in ("students", "result_id")
        }
        line |= {"adjustments": [each._asdict() for each in mark.adjustments], **(_told(result) if result else {})}
        yield msgspec.json.encode(line).decode() + "\n"


def _told(result: Result) -> dict[str, object]:
    return {
        "submission": result.submission.digest,
        "suite": result.suite,
        "environment": result.environment,
        "isolation": result.isolation.level,
        "seconds": result.seconds,
        "message": result.message,
        "functions": result.functions,
        "facts": {fact.id: fact.outcome for fact in result.facts},
        "mistakes": {fact.id: fact.mistake for fact in result.facts if fact.mistake},
    }


def entries(book: Gradebook, run: int | None = None) -> Iterator[Entry]:
    """The class for its page, one submission after the other."""
    for mark in book.marks(run):
        result = book.result(mark.result_id) if mark.result_id else None
        seconds = result.seconds if result else 0.0
        yield Entry(mark.label, mark.adjusted, mark.max_score or 0.0, result, mark.shape, seconds, mark.fault)


def reports(
    book: Gradebook, folder: Path, run: int | None = None, followed: Callable[[list[Mark]], Iterable[Mark]] = iter
) -> int:
    """Write the report of each submission that has a mark into a new folder; returns how many.

    A report gives the mark as the sheets do: with what was added by hand, and why.
    followed: passes the marks on, one for each report that is written next, and may show how far it is. Raises
    UsageError if the folder holds something: an older report might be taken for one of these.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder}: is not empty, and old reports could be taken for new ones; name a new folder")
        folder.chmod(0o700)  # the names of the reports are labels
        marks = [mark for mark in book.marks(run) if mark.result_id]
        names = file_names([mark.label for mark in marks])
        for mark in followed(marks):
            result = book.result(mark.result_id or 0)
            neutral = _neutral(result, mark)
            content = html.page(_neutral_result(result, neutral), mark.adjusted, list(map(neutral, _notes(mark))))
            write_private(folder / f"{names[mark.label]}.html", [content])
    except OSError as error:
        raise UsageError(f"{folder}: the reports cannot be written ({error.strerror})") from None
    return len(marks)


def _notes(mark: Mark) -> list[str]:
    """What a report says of a mark beside its result."""
    notes = _by_hand(mark)
    if notes:
        sums = f"{number(mark.adjusted or 0.0)} of {number(mark.max_score or 0.0)} points"
        notes.append(f"That makes {sums}; without it there were {number(mark.score or 0.0)}.")
    if mark.stale:
        notes.append("This is the report of an earlier run: the last one could not grade or read the submission.")
    return notes


def _neutral(result: Result, mark: Mark) -> Callable[[str], str]:
    """Takes away the names that a platform gives to a submission and its files, or a roster to a student.

    A name that is also a module's or a function's is left: every report has these, and would say what is not so.
    """
    names = {mark.label, *(name for each in mark.students for name in (each.name, each.email, each.login, each.github))}
    of_course = {name.casefold() for row in result.functions for name in (row.module, row.function)}
    of_course |= {file.name.removesuffix(".py").casefold() for file in result.submission.files if file.sha256}
    kept = sorted((name for name in names if name and name.casefold() not in of_course), key=len, reverse=True)
    words = "|".join(map(re.escape, kept))

    def neutral(text: str) -> str:
        return (
            text if not words else re.sub(rf"(?<![^\W_])(?:{words})(?![^\W_])", NEUTRAL_NAME, text, flags=re.IGNORECASE)
        )

    return neutral


def _neutral_result(result: Result, neutral: Callable[[str], str]) -> Result:
    """The result with neutral texts, where they are a platform's or the submission's own."""
    files = [
        msgspec.structs.replace(file, name=neutral(file.name), left_out=neutral(file.left_out))
        if file.left_out
        else file
        for file in result.submission.files
    ]
    submission = msgspec.structs.replace(result.submission, name=NEUTRAL_NAME, files=files)
    return msgspec.structs.replace(result, submission=submission, message=neutral(result.message))


def file_names(labels: Iterable[str]) -> dict[str, str]:
    """A file name for each label, on every system: the label, if it is one, and no two that differ only in case."""
    plain = {label: re.sub(r"[^A-Za-z0-9_.@+-]+", "_", label).strip("._-")[:NAME_LIMIT] for label in labels}
    times = Counter(name.casefold() for name in plain.values())
    return {
        label: name
        if name == label and times[name.casefold()] == 1 and name.partition(".")[0].casefold() not in RESERVED
        else f"{name.replace('.', '_') or NEUTRAL_NAME}-{_short_digest(label)}"
        for label, name in plain.items()
    }


def _short_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def write_private(path: Path, chunks: Iterable[str]) -> None:
    """Replace the file at `path`, all or nothing; only its owner may read it. Line ends stay as they are."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # new, 0600, no link is followed
    try:
        with open(descriptor, "wb") as file:
            for chunk in chunks:
                file.write(chunk.encode("utf-8", "replace"))
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
