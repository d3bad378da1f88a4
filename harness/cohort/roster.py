"""Who is who: a CSV of the class, and which submission is whose. Nobody is ever guessed."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Student(NamedTuple):
    """A row of a roster; what it does not say is empty.

    label: what the platform calls the student's submission. number: the student's, as the school gives it. canvas: the
    number that Canvas gives to its users.
    """

    label: str = ""
    number: str = ""
    login: str = ""
    name: str = ""
    email: str = ""
    section: str = ""
    canvas: str = ""


COLUMNS = {
    "label": ("label", "submission", "folder", "github_username"),
    "number": ("number", "id", "student id", "sid", "id number", "sis user id", "identifier"),
    "login": ("login", "username", "sis login id"),
    "name": ("name", "student", "full name"),
    "email": ("email", "e-mail", "email address"),
    "section": ("section", "sections"),
    "canvas": ("canvas",),
}
"""What a field's column may be called, in any case: by hand, or as Canvas, Moodle, Gradescope and GitHub export it."""
NAMES = ("label", "number", "login", "email", "canvas")
"""The fields that a submission's label may be equal to."""


def matched(labels: Iterable[str], students: Sequence[Student]) -> dict[str, Student]:
    """The student of each label, where one student alone has it as label, number, login, e-mail or Canvas number.

    Text is compared letter by letter (in Unicode's composed form): no likeness counts.
    """
    owners: dict[str, set[Student]] = {}
    for student in students:
        for field in NAMES:
            owners.setdefault(_composed(getattr(student, field)), set()).add(student)
    owners.pop("", None)
    found = {label: owners.get(_composed(label), set()) for label in labels}
    return {label: next(iter(one)) for label, one in found.items() if len(one) == 1}


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
