"""CSV files that Canvas and Moodle import: a row for each submission that has a score.

Contracts. Canvas: "How do I import grades in the Gradebook?", https://community.canvaslms.com/, and its importer,
lib/gradebook_importer.rb of https://github.com/instructure/canvas-lms (header, order of columns, `Points Possible`).
Moodle: "Grade import", https://docs.moodle.org/en/Grade_import, and grade/import/csv/classes/load_data.php of
https://github.com/moodle/moodle (columns are mapped by hand; a mark above 100 stops the import on most sites).

A submission without a score has no row: an empty cell may delete a mark that is there. No cell can be taken for a
formula, whatever a submission is called: OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from harness.report import words
from harness.result import Result
from harness.text import inert

FORMULA = re.compile(r"(^|[\s,;|'\"])([=+\-@＝＋－＠])")
"""What a spreadsheet may take for the beginning of a formula: at the start of a cell, or of what is one where lines are
split elsewhere than at commas."""


def canvas(results: Sequence[Result], assignment: str = "Lab") -> str:
    """The file for Canvas; a submission's name stands for the student's login."""
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment]
    possible = ["    Points Possible", "", "", "", "", _points(max((each.max_score for each in results), default=0.0))]
    rows = [["", "", "", each.submission.name, "", _points(each.score)] for each in results if each.score is not None]
    return _csv([header, possible, *rows])


def moodle(results: Sequence[Result], assignment: str = "Lab") -> str:
    """The file for Moodle; a submission's name stands for the username."""
    rows = [[each.submission.name, _points(each.score), _feedback(each)] for each in results if each.score is not None]
    return _csv([["username", assignment, f"{assignment} feedback"], *rows])


def cell(text: str) -> str:
    """`text` on one line, and no formula: an apostrophe keeps spreadsheets from reading it as one."""
    line = " ".join(inert(text).split())
    return FORMULA.sub(r"\1'\2", line)


def _feedback(result: Result) -> str:
    if not result.readable:
        return words.headline(result)
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
