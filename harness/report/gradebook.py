"""CSV files that Canvas and Moodle import, or that have the layout of Gradescope's: a row for each score.

Contracts. Canvas: "How do I import grades in the Gradebook?", https://community.canvaslms.com/, and its importer,
lib/gradebook_importer.rb of https://github.com/instructure/canvas-lms (header, order of columns; the row of
points is that with `Points Possible` anywhere in its first cell).
Moodle: "Grade import", https://docs.moodle.org/en/Grade_import, and grade/import/csv/classes/load_data.php of
https://github.com/moodle/moodle (columns are mapped by hand; a mark above 100 stops the import on most sites, and so
does a user whom the site does not know). Participants' numbers are known to an assignment's importer of worksheets
alone, mod/assign/feedback/offline/importgradeslib.php: it finds its columns by their names, here those in English.
Gradescope imports no marks: the sheet has the layout in which it exports an assignment's (*Review Grades*, *Download
Grades*), for programs that read those. Gradescope does not publish it; it is read off files that others have shared.

A submission without a score has no row: an empty cell may delete a mark that is there. No cell can be taken for a
formula, whatever a submission is called: OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.report import words
from harness.result import Result
from harness.text import inert

ARCHIVE = re.compile(r"\.(zip|tar|tar\.gz|tgz|tar\.bz2|tar\.xz)$", re.IGNORECASE)
FORMULA = re.compile(r"(^|[\s,;|'\"])([=+\-@＝＋－＠])")
"""What a spreadsheet may take for the beginning of a formula: at the start of a cell, or of what is one where lines are
split elsewhere than at commas."""

PARTICIPANT = re.compile(r"Participant \d+")
"""How Moodle's grading worksheet calls a user, and the folders of its downloads, by their numbers."""


class Row(NamedTuple):
    """A student's mark, and how the student is known. functions: (name, score, points) of each."""

    score: float
    max_score: float
    login: str = ""
    number: str = ""
    email: str = ""
    name: str = ""
    section: str = ""
    canvas: str = ""
    feedback: str = ""
    functions: tuple[tuple[str, float, float], ...] = ()


def canvas(results: Sequence[Result], assignment: str = "Lab") -> str:
    """The file for Canvas; a submission's name, but for an archive's suffix, stands for the student's login."""
    rows = [Row(each.score, each.max_score, _login(each)) for each in results if each.score is not None]
    return canvas_sheet(rows, assignment, max((each.max_score for each in results), default=0.0))


def moodle(results: Sequence[Result], assignment: str = "Lab") -> str:
    """The file for Moodle; a submission's name, but for an archive's suffix, stands for the username."""
    rows = [
        Row(each.score, each.max_score, _login(each), feedback=feedback(each))
        for each in results
        if each.score is not None
    ]
    return moodle_sheet(rows, assignment)


def _login(result: Result) -> str:
    return ARCHIVE.sub("", result.submission.name)


def canvas_sheet(rows: Sequence[Row], assignment: str, possible: float) -> str:
    """The file for Canvas, whose importer looks for a student by ID, then by SIS User ID, SIS Login ID and name."""
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment]
    points = ["Points Possible", "", "", "", "", _points(possible)]
    students = [[row.name, row.canvas, row.number, row.login, row.section, _points(row.score)] for row in rows]
    return _csv([header, points, *students])


def moodle_sheet(rows: Sequence[Row], assignment: str) -> str:
    """The file for Moodle, with what may identify a user: one of these columns is mapped to the user.

    With a participant's number in it, it is a grading worksheet: *Upload grading worksheet* of the assignment takes it.
    It does not say when a mark was changed last, so a mark that is there already is replaced only if one asks for that.
    """
    numbers = [PARTICIPANT.fullmatch(row.number) for row in rows]
    columns = {
        "Identifier": [row.number if number else "" for row, number in zip(rows, numbers, strict=True)],
        "username": [row.login for row in rows],
        "idnumber": ["" if number else row.number for row, number in zip(rows, numbers, strict=True)],
        "email": [row.email for row in rows],
    }
    identified = {name: cells for name, cells in columns.items() if any(cells)} or {"username": columns["username"]}
    marks = [[_points(row.score), row.feedback] for row in rows]
    header = [*identified, assignment, f"{assignment} feedback"]
    if any(numbers):
        marks = [[score, "", told] for score, told in marks]
        header = [*identified, "Grade", "Last modified (grade)", "Feedback comments"]
    return _csv([header, *([*who, *mark] for *who, mark in zip(*identified.values(), marks, strict=True))])


def gradescope_sheet(rows: Sequence[Row]) -> str:
    """The file for what reads Gradescope's own sheets; a column for each function that every row has alike."""
    functions = [(name, possible) for name, _, possible in rows[0].functions] if rows else []
    functions = [each for each in functions if all(each in [(one[0], one[2]) for one in row.functions] for row in rows)]
    titles = [f"{place}: {name} ({possible:.2f} pts)" for place, (name, possible) in enumerate(functions, 1)]
    scores = [{name: score for name, score, _ in row.functions} for row in rows]
    return _csv(
        [
            ["Name", "SID", "Email", "Sections", "Total Score", "Max Points", "Status", *titles],
            *(
                [
                    *(row.name or row.login, row.number, row.email, row.section),
                    *(_points(row.score), _points(row.max_score), "Graded"),
                    *(_points(earned[name]) for name, _ in functions),
                ]
                for row, earned in zip(rows, scores, strict=True)
            ),
        ]
    )


def cell(text: str) -> str:
    """`text` on one line, and no formula: an apostrophe keeps spreadsheets from reading it as one."""
    line = " ".join(inert(text).split())
    return FORMULA.sub(r"\1'\2", line)


def feedback(result: Result) -> str:
    """The marks in a sentence or two, and the functions whose points are missing."""
    if not result.readable:
        return f"{words.headline(result)}."
    lost = [
        f"{row.function} {words.number(row.score or 0.0)} of {words.number(row.max_score)}"
        for row in result.functions
        if row.score != row.max_score
    ]
    return f"{words.headline(result)}. " + (f"Points are missing in: {', '.join(lost)}." if lost else "")


def _points(points: float | None) -> str:
    return "" if points is None else f"{points:.2f}"


def _csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows([[cell(value) for value in row] for row in rows])
    return text.getvalue()
