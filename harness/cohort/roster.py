"""Who is who: a CSV of the class, and which submission is whose. Nobody is ever guessed."""

import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.errors import UsageError
from harness.text import inert


class Student(NamedTuple):
    """A row of a roster; what it does not say is empty.

    label: what the platform calls the student's submission, if somebody wrote it down. number: the student's, as the
    school gives it. canvas: the number that Canvas gives to its users.
    """

    label: str = ""
    number: str = ""
    login: str = ""
    email: str = ""
    name: str = ""
    section: str = ""
    canvas: str = ""
    github: str = ""


class Matching(NamedTuple):
    """Whose the submissions are.

    students: by label; more than one for a group. strangers: by label, why nobody is named: no row of the roster is an
    author's, or more than one, or an author has another submission. absent: the students without a submission.
    """

    students: dict[str, tuple[Student, ...]]
    strangers: dict[str, str]
    absent: list[Student]


COLUMNS = {
    "label": ("label", "submission", "folder", "repository"),
    "number": (
        "number",
        "id",
        "student id",
        "student number",
        "sid",
        "id number",
        "idnumber",
        "sis user id",
        "identifier",
    ),
    "login": ("login", "username", "user name", "sis login id"),
    "email": ("email", "e-mail", "email address", "e-mail address"),
    "name": ("name", "full name", "fullname", "student"),
    "section": ("section", "sections"),
    "canvas": ("canvas id",),
    "github": ("github", "github username"),
}
"""What a field's column may be called, in any case: by hand, or as Canvas, Gradescope, Moodle and GitHub export it."""
FIRST_NAMES, LAST_NAMES = {"first name", "firstname"}, {"last name", "lastname", "surname"}
IDENTIFYING = ("label", "number", "login", "email", "canvas", "github")
"""The fields that tell students apart."""
NOT_A_STUDENT = "Points Possible"
"""What the second row of a Canvas gradebook says in the place of a name."""


def read(path: Path) -> list[Student]:
    """The students of a CSV with a header; separated by commas, semicolons or tabs.

    Raises UsageError, with the line, if it is none, has no column that tells students apart, or has two rows with one
    number, login, e-mail or label.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: the roster cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # as in UTF-16 without a mark
        raise UsageError(f"{path}: the roster is no text in UTF-8; save it as `CSV UTF-8`")
    rows = _rows(text, path)
    first = next(rows, None)
    if first is None:
        raise UsageError(
            f"{path}: the roster is empty; its first line names the columns, as in `number,login,email,name`"
        )
    fields = _fields(first[1], path)
    students = list(_students(rows, fields, path))
    if not students:
        raise UsageError(f"{path}: the roster has a header and no students")
    return students


def _rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines' numbers and their cells, without the empty ones."""
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.replace("\xa0", " ").strip() for cell in cells]
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: the roster is no CSV ({error})") from None


def _fields(header: Sequence[str], path: Path) -> list[str]:
    """The field of each column, empty for those that are of no use here."""
    names = [cell.casefold().replace("_", " ") for cell in header]
    of_canvas = any(name.startswith("sis ") for name in names)
    known = {name: field for field, columns in COLUMNS.items() for name in columns}
    known |= dict.fromkeys(FIRST_NAMES, "first") | dict.fromkeys(LAST_NAMES, "last")
    if of_canvas:
        known["id"] = "canvas"
    fields = [known.get(name, "") for name in names]
    twice = [field for field, count in Counter(filter(None, fields)).items() if count > 1]
    if twice:
        columns = " and ".join(repr(cell) for cell, field in zip(header, fields, strict=True) if field == twice[0])
        raise UsageError(f"{path}: the roster has two columns for the {twice[0]}: {inert(columns)}; leave one out")
    if not set(fields) & set(IDENTIFYING):
        raise UsageError(
            f"{path}: the roster has no column that tells students apart: label, number, login, email, canvas id or "
            f"github (found: {inert(', '.join(header))[:200]})"
        )
    return fields


def _students(rows: Iterable[tuple[int, list[str]]], fields: list[str], path: Path) -> Iterator[Student]:
    seen: dict[tuple[str, str], int] = {}
    for line, cells in rows:
        if any(cells[len(fields) :]):
            raise UsageError(f"{path}, line {line}: the row has more cells than the header has columns")
        found = {field: cell for field, cell in zip(fields, cells, strict=False) if field}
        name = " ".join(filter(None, [found.pop("first", ""), found.pop("last", "")]))
        student = Student(**{"name": name} | found)
        if student.name == NOT_A_STUDENT or not any(student):
            continue
        known_by = [(field, same) for field in IDENTIFYING if (same := comparable(getattr(student, field)))]
        if not known_by:
            raise UsageError(f"{path}, line {line}: nothing in the row tells the student apart ({inert(student.name)})")
        for key in known_by:
            if key in seen:
                raise UsageError(f"{path}, line {line}: the {key[0]} {inert(key[1])} is that of line {seen[key]}, too")
            seen[key] = line
        yield student


def matched(authors: Mapping[str, Sequence[Student]], students: Sequence[Student]) -> Matching:
    """Whose the submissions are. authors: by label, what the platform says of them; it may be nothing.

    A row with a submission's label is its author's. Else it is the one row that is equal, but for case, in what the
    platform says of the author: number, login, e-mail, number in Canvas, name at GitHub, and no other row in any of
    them. Where it says nothing, it is the one row that has the label in one of these columns.
    """
    labelled = {comparable(student.label): student for student in students if student.label}
    rows = {field: _by(field, students) for field in IDENTIFYING[1:]}
    found: dict[str, tuple[Student, ...]] = {}
    strangers: dict[str, str] = {}
    for label, known in authors.items():
        owner = labelled.get(comparable(label))
        told = [author for author in known if any(getattr(author, field) for field in rows)]
        everywhere = [{row for index in rows.values() for row in index.get(comparable(label), ())}]
        candidates = [_candidates(author, rows) for author in told] or everywhere
        unclear = [len(each) for each in candidates if len(each) != 1]
        if owner is not None:
            found[label] = (owner,)
        elif 0 in unclear:
            strangers[label] = "no row of the roster is its author's"
        elif unclear:
            strangers[label] = "more than one row may be its author's"
        else:
            found[label] = tuple(dict.fromkeys(student for each in candidates for student in each))
    counts = Counter(student for each in found.values() for student in each)
    shared = [label for label, each in found.items() if any(counts[student] > 1 for student in each)]
    strangers |= {label: "its author has another submission, too" for label in shared}
    absent = [student for student in students if student not in counts]
    return Matching({label: each for label, each in found.items() if label not in shared}, strangers, absent)


def _by(field: str, students: Iterable[Student]) -> dict[str, set[Student]]:
    """The students by what they have in a field. A name at GitHub is looked for as a login, and the other way round."""
    index: dict[str, set[Student]] = {}
    for student in students:
        for name in ("login", "github") if field in ("login", "github") else (field,):
            index.setdefault(comparable(getattr(student, name)), set()).add(student)
    index.pop("", None)
    return index


def _candidates(author: Student, rows: Mapping[str, Mapping[str, set[Student]]]) -> set[Student]:
    return {row for field, index in rows.items() for row in index.get(comparable(getattr(author, field)), ())}


def comparable(text: str) -> str:
    """`text` in Unicode's composed form and without case: the only likeness that counts."""
    return unicodedata.normalize("NFC", text.strip()).casefold()
