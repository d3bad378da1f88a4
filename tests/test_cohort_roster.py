"""A roster is read as platforms export it, refused in one sentence where it is wrong, and nobody in it is guessed."""

from pathlib import Path

import pytest

from harness.cohort import roster
from harness.cohort.roster import Student, matched
from harness.errors import UsageError

ADA = Student(number="17", login="ada", email="Ada@example.org", name="Ada Lovelace")
BOB = Student(number="18", login="bob", email="bob@example.org", name="Bob Noyce")


def read(folder: Path, content: str | bytes) -> list[Student]:
    path = folder / "class.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return roster.read(path)


PLAIN = "number,login,email,name\n17,ada,Ada@example.org,Ada Lovelace\n18,bob,bob@example.org,Bob Noyce\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\n\n") + ",,,\n",
        PLAIN.replace("number,login", "Student_ID, USERNAME "),
        PLAIN.replace("17,ada", '"17", ada\xa0'),
        "last name,email,first name,hobby,sid,username\nLovelace,Ada@example.org,Ada,chess,17,ada\n"
        "Noyce,bob@example.org,Bob,,18,bob\n",
    ],
)
def test_a_roster_may_look_in_many_ways(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == [ADA, BOB]


def test_rosters_of_platforms(tmp_path: Path) -> None:
    canvas = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Lab (42)\n    Points Possible,,,,,100.00\n"
        '"Lovelace, Ada",204272,17,ada,"Lab 1, Monday",\n'
    )
    assert read(tmp_path, canvas) == [
        Student(number="17", login="ada", name="Lovelace, Ada", section="Lab 1, Monday", canvas="204272")
    ]
    gradescope = "First Name,Last Name,SID,Email,Sections,Role\nAda,Lovelace,17,ada@example.org,A,Student\n"
    assert read(tmp_path, gradescope) == [
        Student(number="17", email="ada@example.org", name="Ada Lovelace", section="A")
    ]
    moodle = "First name,Last name,ID number,Email address\nAda,Lovelace,17,ada@example.org\n"
    assert read(tmp_path, moodle) == [Student(number="17", email="ada@example.org", name="Ada Lovelace")]
    github = "identifier,github_username,github_id,name\n17,ada-l,583231,Ada Lovelace\n"
    assert read(tmp_path, github) == [Student(number="17", github="ada-l", name="Ada Lovelace")]


WRONG: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty; its first line names the columns"),
    "blank": ("\n \n", "is empty"),
    "header alone": ("number,name\n", "has a header and no students"),
    "missing columns": ("name,hobby\nAda,chess\n", "no column that tells students apart: .* (found: name, hobby)"),
    "two columns for one": ("number,SID\n17,18\n", "two columns for the number: 'number' and 'SID'"),
    "a number twice": (PLAIN + "17,ada2,a2@example.org,Ada Two\n", "line 4: the number 17 is that of line 2, too"),
    "an e-mail twice": (PLAIN + "19,x,BOB@example.org,X\n", "line 4: the email bob@example.org is that of line 3, too"),
    "a row twice": (PLAIN + PLAIN.splitlines()[1], "line 4: the number 17 is that of line 2, too"),
    "a row of nobody": ("number,name\n17,Ada\n,Bob\n", "line 3: nothing in the row tells the student apart (Bob)"),
    "too many cells": ("number,name\n17,Lovelace, Ada\n", "line 2: the row has more cells than the header has columns"),
    "an open quote": ('number,name\n17,"Ada\n', "is no CSV"),
    "Latin-1": ("number,name\n17,Zoë\n".encode("latin-1"), "is no text in UTF-8; save it as `CSV UTF-8`"),
    "UTF-16": (PLAIN.encode("utf-16"), "is no text in UTF-8"),
    "a workbook": (b"PK\x03\x04\x14\x00\x06\x00\xff\xfe\x00", "is no text in UTF-8"),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), "is no text in UTF-8"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_roster_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    content, sentence = WRONG[name]
    with pytest.raises(UsageError) as refused:
        read(tmp_path, content)
    message = str(refused.value)
    assert message.startswith(str(tmp_path / "class.csv"))
    assert "\n" not in message
    for part in sentence.split(" .* "):
        assert part in message


def test_no_roster_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.csv: the roster cannot be read"):
        roster.read(tmp_path / "none.csv")


# ---- whose is it ----


def test_a_label_that_is_a_students_names_the_student() -> None:
    cem = Student(number="19", canvas="204", github="cem-x", label="late/cem")
    labels = ["17", "bob@EXAMPLE.org", "late/cem"]
    found = matched({label: () for label in labels}, [ADA, BOB, cem])
    assert found.students == {"17": (ADA,), "bob@EXAMPLE.org": (BOB,), "late/cem": (cem,)}
    assert (found.strangers, found.absent) == ({}, [])
    for name in ("19", "204", "Cem-X"):
        assert matched({name: ()}, [cem]).students == {name: (cem,)}


@pytest.mark.parametrize("label", ["ada_1", "ad", "adaa", "Ada Lovelace", "lovelace", "", "17 ", "ada@example.com"])
def test_nobody_is_guessed(label: str) -> None:
    found = matched({label: ()}, [ADA, BOB])
    if label.strip() == "17":
        assert found.students == {label: (ADA,)}  # blanks around a name are no part of it
    else:
        assert found.students == {}
        assert found.strangers == {label: "no row of the roster is its author's"}
        assert found.absent == [ADA, BOB]


def test_what_may_be_two_students_is_nobodys() -> None:
    other = Student(number="ada", login="20")
    found = matched({"ada": ()}, [ADA, other])
    assert found.students == {}
    assert found.strangers == {"ada": "more than one row may be its author's"}


def test_what_the_platform_says_is_compared_field_by_field() -> None:
    said = {
        "submission_9": (Student(number="18", email="b@elsewhere.org"),),
        "ada": (Student(email="nobody@example.org"),),  # not the label: the platform says who it is
        "x": (Student(number="ada"),),
    }
    found = matched(said, [ADA, BOB])
    assert found.students == {"submission_9": (BOB,)}
    assert found.strangers == dict.fromkeys(["ada", "x"], "no row of the roster is its author's")
    contradiction = matched({"s": (Student(number="17", email="bob@example.org"),)}, [ADA, BOB])
    assert contradiction.strangers == {"s": "more than one row may be its author's"}


def test_a_name_at_github_is_a_login_there() -> None:
    cem = Student(number="19", github="Cem-X")
    assert matched({"lab-cem-x": (Student(login="cem-x"),)}, [ADA, cem]).students == {"lab-cem-x": (cem,)}


def test_of_whom_the_platform_says_nothing_the_label_counts() -> None:
    assert matched({"ada": (Student(name="Somebody"),)}, [ADA]).students == {"ada": (ADA,)}


def test_a_group_is_all_of_its_authors_or_nobody() -> None:
    both = (Student(number="17"), Student(email="bob@example.org", number="18"))
    assert matched({"team": both}, [ADA, BOB]).students == {"team": (ADA, BOB)}
    found = matched({"team": (*both, Student(number="99"))}, [ADA, BOB])
    assert (found.students, list(found.strangers)) == ({}, ["team"])


def test_two_submissions_of_one_student_are_nobodys() -> None:
    found = matched({"17": (), "ada": (), "bob": ()}, [ADA, BOB])
    assert found.students == {"bob": (BOB,)}
    assert found.strangers == dict.fromkeys(["17", "ada"], "its author has another submission, too")


def test_accents_are_the_same_however_they_are_written() -> None:
    zoe = Student(login="zoe\u0308")
    assert matched({"ZO\u00cb": ()}, [zoe]).students == {"ZO\u00cb": (zoe,)}
