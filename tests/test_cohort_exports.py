"""What leaves the gradebook is what a platform reads, and no more: names stay out of reports and of lines of JSON."""

import argparse
import csv
import html
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from harness.cohort import dashboard, exports, gradebook_command
from harness.cohort.gradebook import Gradebook
from harness.cohort.roster import Student
from harness.errors import GraderFault, UsageError
from harness.result import Result, SubmittedFile
from tests.gradebook_writers import RUN, STUDENT, graded
from tests.sample_results import HOSTILE, mixed, unreadable, whole

BOB = Student(number="18", login="bob", email="bob@example.org", name="Bob Noyce", section="B", canvas="204273")
CEM = Student(number="19", login="cem", email="cem@example.org", name="Cem Kaya")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    """Ada's mark changed by hand, a group of two, somebody unknown, one that was not graded, one that is stale."""
    with Gradebook(tmp_path / "lab.sqlite", create=True) as opened:
        run = opened.begin(RUN, {"team 4": [Student(number="18"), Student(email="CEM@example.org")]})
        opened.keep(run, "ada", graded())
        opened.keep(run, "team 4", graded("d4", score=15.0))
        opened.keep(run, "stranger", graded("d5", score=1.0))
        opened.fail(run, "eve", "the worker was lost")
        opened.end(run)
        again = opened.begin(RUN)
        opened.fail(again, "team 4", "no room")
        opened.adjust("ada", -2, "a day late", "tutor")
        yield opened


def enrol(book: Gradebook) -> None:
    book.enrol([STUDENT, BOB, CEM, Student(number="99", name="Quiet One")], "class.csv")


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


# ---- sheets ----


@pytest.mark.parametrize("roster", [True, False])
def test_a_submission_that_was_handed_in_anew_takes_the_place_of_the_old_one(tmp_path: Path, roster: bool) -> None:
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        for label, key, score in (("submission_9", "d1", 2.0), ("submission_10", "d2", 9.0)):
            run = book.begin(RUN, {label: [STUDENT._replace(label=label)]})
            book.keep(run, label, graded(key, score=score))
        if roster:
            enrol(book)
        sheet = exports.sheet(book, "gradescope")
        assert sheet.rows == 1
        assert "9.00" in sheet.text or "9.0" in sheet.text
        assert sheet.left_out == ["submission_9: its author handed in submission_10 later"]
        # A run by itself has the mark that it gave, whatever came later.
        for number, score in ((1, 2.0), (2, 9.0)):
            assert exports.sheet(book, "gradescope", run=number).left_out == []
            assert [mark.score for mark in book.marks(number)] == [score]
            assert exports.sheet(book, "gradescope", run=number).rows == 1


def test_canvas_finds_every_student_of_the_roster(book: Gradebook) -> None:
    enrol(book)
    sheet = exports.sheet(book, "canvas", "Lab (42)")
    header, possible, *rows = cells(sheet.text)
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab (42)"]
    assert possible == ["Points Possible", "", "", "", "", "15.00"]
    assert rows == [
        ["Ada Lovelace", "", "17", "ada", "", "3.83"],
        ["Bob Noyce", "204273", "18", "bob", "B", "15.00"],
        ["Cem Kaya", "", "19", "cem", "", "15.00"],
    ]
    assert sheet.rows == 3
    assert sheet.left_out == ["eve: the worker was lost", "stranger: no row of the roster is its author's"]


def test_moodle_has_what_identifies_a_user(book: Gradebook) -> None:
    enrol(book)
    header, ada, bob, cem = cells(exports.sheet(book, "moodle", "Lab 1").text)
    assert header == ["username", "idnumber", "email", "Lab 1", "Lab 1 feedback"]
    assert ada[:4] == ["ada", "17", "ada@example.org", "3.83"]
    assert ada[4].startswith("5.83 of 15 points; 2 of 6 facts hold. Points are missing in: double")
    assert ada[4].endswith(" 2 points were taken away by hand: a day late.")
    assert [bob[:4], cem[:4]] == [["bob", "18", "bob@example.org", "15.00"], ["cem", "19", "cem@example.org", "15.00"]]


def test_a_sheet_in_gradescopes_layout(book: Gradebook) -> None:
    enrol(book)
    header, ada, bob, _ = cells(exports.sheet(book, "gradescope").text)
    functions = ["1: shapes.double (6.67 pts)", "2: shapes.coin (3.33 pts)", "3: planes.area (2.50 pts)",
                 "4: planes.edge (2.50 pts)"]  # fmt: skip
    assert header == ["Name", "SID", "Email", "Sections", "Total Score", "Max Points", "Status", *functions]
    assert ada == [
        "Ada Lovelace",
        "17",
        "ada@example.org",
        "",
        "3.83",
        "15.00",
        "Graded",
        "3.33",
        "0.00",
        "0.00",
        "2.50",
    ]
    assert bob[:7] == ["Bob Noyce", "18", "bob@example.org", "B", "15.00", "15.00", "Graded"]


@pytest.mark.parametrize("platform", exports.SHEETS)
def test_without_a_roster_a_label_stands_for_the_login(book: Gradebook, platform: str) -> None:
    sheet = exports.sheet(book, platform)
    place = {"canvas": 3, "moodle": 0, "gradescope": 0}[platform]
    assert [row[place] for row in cells(sheet.text)[-4:]] == ["ada", "stranger", "", ""]  # two are named
    assert sheet.left_out == ["eve: the worker was lost"]


def without_roster(tmp_path: Path, platform: str, **authors: Student) -> list[list[str]]:
    """The cells of a sheet of these submissions, whose authors the platform names."""
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        run = book.begin(RUN, {label: [author] for label, author in authors.items()})
        for label in [*authors, "zoe"]:
            book.keep(run, label, graded())
        return cells(exports.sheet(book, platform).text)


def test_canvas_knows_the_authors_of_its_download_without_a_roster(tmp_path: Path) -> None:
    _, _, ada, zoe = without_roster(tmp_path, "canvas", lovelaceada_102=Student(canvas="102"))
    assert ada == ["", "102", "", "", "", "5.83"]
    assert zoe == ["", "", "", "zoe", "", "5.83"], "whom it does not name, it may know by the label"


def test_gradescopes_authors_are_in_its_layout_without_a_roster(tmp_path: Path) -> None:
    author = Student(number="0007", email="ada@example.org")
    _, ada, zoe = without_roster(tmp_path, "gradescope", submission_11=author)
    assert ada[:5] == ["", "0007", "ada@example.org", "", "5.83"]
    assert zoe[0] == "zoe"


def test_moodle_takes_the_marks_of_its_participants_as_a_worksheet(tmp_path: Path) -> None:
    authors = {"Ada Lovelace_201": Student(number="Participant 201"), "bob": Student(number="18")}
    header, ada, bob, zoe = without_roster(tmp_path, "moodle", **authors)
    identified = ["Identifier", "username", "idnumber"]
    assert header == [*identified, "Grade", "Last modified (grade)", "Feedback comments"]
    assert ada[:5] == ["Participant 201", "", "", "5.83", ""] and ada[5].startswith("5.83 of 15 points")
    assert (bob[:3], zoe[:3]) == (["", "", "18"], ["", "zoe", ""])


@pytest.mark.parametrize("platform", exports.SHEETS)
@pytest.mark.parametrize("text", ["=1+1", "@SUM(1)", "\t=1", '"=1', "a;=1", "＝1", "-1", "+1", HOSTILE])
def test_no_cell_can_be_taken_for_a_formula(tmp_path: Path, platform: str, text: str) -> None:
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        book.keep(book.begin(RUN), text, graded())
        book.adjust(text, -1, text, text)
        alone = exports.sheet(book, platform, text)
        book.enrol([Student(text, text, text, text, text, text, text, text)], text)
        for sheet in (alone, exports.sheet(book, platform, text)):
            assert sheet.rows == 1
            for row in cells(sheet.text):
                assert not [cell for cell in row if re.match(r'[\s"]*[=+\-@＝＋－＠]', cell)], row


def test_marks_out_of_different_totals_are_no_sheet(book: Gradebook) -> None:
    run = book.begin(RUN)
    book.keep(run, "ada", whole())
    with pytest.raises(UsageError, match=r"different totals \(10, 15 points\).*choose a run with --run"):
        exports.sheet(book, "canvas")
    assert cells(exports.sheet(book, "canvas", run=run).text)[1][-1] == "10.00"


def test_a_stale_mark_out_of_another_total_has_no_row(book: Gradebook) -> None:
    run = book.begin(RUN._replace(suite="other points"))
    book.keep(run, "stranger", whole())
    book.fail(run, "ada", "no room")
    sheet = exports.sheet(book, "canvas", run=run)
    assert [row[3:] for row in cells(sheet.text)[2:]] == [["stranger", "", "10.00"]]
    assert sheet.left_out == ["ada: its mark is stale, and out of 15 points"]


def test_no_mark_is_no_sheet(tmp_path: Path) -> None:
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        book.fail(book.begin(RUN), "ada", "lost")
        with pytest.raises(UsageError, match="there are no marks to export"):
            exports.sheet(book, "moodle")


# ---- lines of JSON, and the page of the class ----


def test_lines_of_json_tell_all_but_names(book: Gradebook) -> None:
    enrol(book)
    text = "".join(exports.json_lines(book))
    ada, eve, _, team = [json.loads(line) for line in text.splitlines()]
    assert (ada["label"], ada["score"], ada["adjusted"], ada["run"]) == ("ada", 5.83, 3.83, 1)
    assert [(each["points"], each["comment"]) for each in ada["adjustments"]] == [(-2.0, "a day late")]
    assert ada["facts"]["suite/check_shapes.py::check_second"] == "failed"
    assert ada["mistakes"] == {"suite/check_shapes.py::check_second": "3 x in the place of 2 x"}
    assert (eve["score"], eve["fault"]) == (None, "the worker was lost")
    assert (team["stale"], team["fault"], team["adjusted"]) == (True, "no room", 15.0)
    for student in (STUDENT, BOB, CEM):
        assert not [word for word in (student.name, student.email) if word in text]


def test_the_page_of_the_class_has_every_submission(book: Gradebook) -> None:
    entries = list(exports.entries(book))
    shown = [(entry.label, entry.score, entry.fault) for entry in entries]
    assert shown == [
        ("ada", 3.83, ""),
        ("eve", None, "the worker was lost"),
        ("stranger", 1.0, ""),
        ("team 4", 15.0, "no room"),
    ]
    assert entries[0].result == graded()
    assert "stranger" in dashboard.page(entries)


# ---- reports ----


def named(result: Result, *words: str) -> Result:
    """A result whose submission, message and files that were left out say these words."""
    files = [SubmittedFile(f"{word.upper()}_notes.txt", "", f"{word}: not a Python module's name") for word in words]
    submission = msgspec.structs.replace(result.submission, name=" ".join(words), files=files)
    return msgspec.structs.replace(result, submission=submission, message=f"/class/{words[0]}: no modules")


def test_a_report_names_nobody(tmp_path: Path) -> None:
    words = ["lovelaceada_204272", STUDENT.name, STUDENT.email, STUDENT.login]
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        run = book.begin(RUN, {words[0]: [Student(number="17")]})
        book.keep(run, words[0], named(mixed("x"), *words))
        book.keep(run, "bob", named(unreadable(), "bob"))
        book.enrol([STUDENT, BOB], "class.csv")
        assert exports.reports(book, tmp_path / "reports") == 2
    report = (tmp_path / "reports" / "lovelaceada_204272.html").read_text(encoding="utf-8")
    assert "5.83" in report
    assert not re.search("lovelace|example.org|204272", report, re.IGNORECASE)
    unread = (tmp_path / "reports" / "bob.html").read_text(encoding="utf-8")
    assert "no modules" in unread
    assert "bob" not in unread.casefold()


def report_of(book: Gradebook, folder: Path, label: str) -> str:
    """The text of one report."""
    exports.reports(book, folder)
    page = (folder / f"{label}.html").read_text("utf-8")
    text = re.sub(r"(?s)<(style|script)>.*?</\1>|<[^>]*>", " ", page)
    return " ".join(html.unescape(text).split())


def test_a_report_gives_the_mark_of_the_sheet_and_what_was_done_by_hand(book: Gradebook, tmp_path: Path) -> None:
    enrol(book)
    book.adjust("ada", 1.0, "Ada Lovelace asked <well>.", "tutor")
    book.adjust("ada", 0.0, "see me", "prof")
    assert cells(exports.sheet(book, "canvas").text)[2][-1] == "4.83"
    told = report_of(book, tmp_path / "reports", "ada")
    assert told.startswith("4.83 of 15 · submission Report on submission 4.83 of 15 points 2 of 6 facts hold")
    assert "2 points were taken away by hand: a day late." in told
    assert "1 point was added by hand: submission asked <well>." in told
    assert "That makes 4.83 of 15 points; without it there were 5.83." in told
    assert "see me" not in told and "tutor" not in told


def test_a_report_of_what_could_not_be_read_tells_what_was_added(tmp_path: Path) -> None:
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        book.keep(book.begin(RUN), "ada", unreadable())
        book.adjust("ada", 3.0, "told in person", "tutor")
        told = report_of(book, tmp_path / "reports", "ada")
    assert told.startswith("3 of 15 · submission Report on submission Nothing could be read")
    assert "3 points were added by hand: told in person. That makes 3 of 15 points; without it there were 0." in told


def test_a_stale_report_says_so(book: Gradebook, tmp_path: Path) -> None:
    told = report_of(book, tmp_path / "reports", "team_4-" + exports._short_digest("team 4"))
    assert "This is the report of an earlier run: the last one could not grade or read the submission." in told
    assert "by hand" not in told and "no room" not in told


def test_a_name_that_is_a_modules_does_not_rename_the_module(tmp_path: Path) -> None:
    with Gradebook(tmp_path / "lab.sqlite", create=True) as book:
        run = book.begin(RUN, {"planes": [Student(login="Shapes", github="ada-l")]})
        book.keep(run, "planes", named(mixed("x"), "planes.py", "shapes.py", "coin.txt", "ada-l"))
        exports.reports(book, tmp_path / "reports")
    report = (tmp_path / "reports" / "planes.html").read_text(encoding="utf-8")
    for word in ("planes.py: not a", "shapes.py: not a", "coin.txt: not a", "submission: not a"):
        assert word in report
    assert "ada-l" not in report


LABELS = ["ada", "Ada", "../../etc/passwd", "a/b", "a\\b", "con", "NUL.txt", "x" * 300, "x" * 301, "名前", "", ".", 
          "..", ".hidden", "trailing.", "a b", "a:b", "a\0b", "\udc80", "-rf", "ok_1.2+x@y-z"]  # fmt: skip


def test_files_have_names_that_every_system_takes() -> None:
    names = exports.file_names(LABELS)
    assert len({name.casefold() for name in names.values()}) == len(LABELS)
    for name in names.values():
        assert re.fullmatch(r"[A-Za-z0-9@+][A-Za-z0-9_.@+-]{0,90}", name), name
        assert not name.endswith(".")
        assert name.partition(".")[0].casefold() not in exports.RESERVED
    assert names["ok_1.2+x@y-z"] == "ok_1.2+x@y-z"


def test_reports_go_into_a_folder_of_their_own(book: Gradebook, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    assert exports.reports(book, folder) == 3
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "made").mkdir(mode=0o777)
    exports.reports(book, tmp_path / "made")
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700
    with pytest.raises(UsageError, match="is not empty"):
        exports.reports(book, folder)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        exports.reports(book, tmp_path / "file")


def test_a_file_is_written_through_no_link_and_whole_or_not_at_all(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "folder" / "marks"
    path.parent.mkdir()
    victim.write_text("mine", encoding="utf-8")
    path.symlink_to(victim)
    for guess in (os.getpid(), "tmp", "new"):  # a name that can be foretold might be taken by a link
        path.with_name(f".marks.{guess}").symlink_to(victim)
    before = set(path.parent.iterdir())
    with pytest.raises(ZeroDivisionError):
        exports.write_private(path, (str(1 // number) for number in (1, 0)))
    exports.write_private(path, ["theirs"])
    assert victim.read_text(encoding="utf-8") == "mine"
    assert path.read_text(encoding="utf-8") == "theirs" and not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(path.parent.iterdir()) == before


# ---- what is typed ----


def typed(book: Gradebook, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    gradebook_command.add_arguments(parser)
    options = parser.parse_args([arguments[0], "--gradebook", str(book.path), *arguments[1:]])
    return int(options.verb(options))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
def test_every_verb_fits_80_columns(
    book: Gradebook, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    long = f"[bold]{'a-long_name' * 12}[/] 名前\x1b[31m"
    run = book.begin(RUN._replace(source="a/long/path" * 12, selection=("one", "two" * 30), reseed=3))
    book.keep(run, long, graded("d9"))
    book.fail(run, "ada", f"{long} was lost")
    book.adjust(long, 1.5, long, long)
    roster = tmp_path / "class.csv"
    roster.write_text(f"number;email;name\n17;ada;{'Ada ' * 30}\n18;x@example.org;Bob\n", encoding="utf-8")
    for verb in (
        ["runs"], ["marks"], ["marks", "--run", "1"], ["diff", "1", "2"], ["diff", "1", "3"],
        ["adjust", "ada", "-0.5", "--comment", "late", "--author", "me"], ["comment", "ada", "see me"],
        ["roster", str(roster)], ["marks"], ["export", "canvas"], ["export", "json"], ["page"], ["reports", "out"],
    ):  # fmt: skip
        assert typed(book, *verb) == 0
    told = capsys.readouterr().out
    assert max(map(cell_len, told.splitlines())) <= 80
    assert "\x1b" not in told
    assert "[bold]" in told
    for words in ("stale", "not graded", "Ada Ada", "-2.5", "Without a submission:", "no row of the roster"):
        assert words in told, words
    written = {path.name for path in (tmp_path / "build").iterdir()}
    assert written == {"canvas.csv", "marks.jsonl", "class.html"}


def test_a_difference_is_told_by_facts(book: Gradebook, capsys: pytest.CaptureFixture[str]) -> None:
    book.keep(2, "ada", msgspec.structs.replace(whole(), submission=graded().submission))
    assert typed(book, "diff", "1", "2") == 0
    told = capsys.readouterr().out
    assert "ada: 5.83 of 15 → 10 of 10" in told
    assert "crashed → passed: check_heads" in told
    assert "team 4: 15 of 15 → not graded (no room)" in told
    assert "4 submissions changed between runs 1 and 2." in told


@pytest.mark.parametrize("points", ["nan", "inf", "two", ""])
def test_points_are_a_number(book: Gradebook, points: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        typed(book, "adjust", "ada", points, "--comment", "x")
    assert "is no number of points" in capsys.readouterr().err


def test_a_full_disk_is_our_fault_in_a_sentence(
    book: Gradebook, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise GraderFault("marks: the disk is full")

    monkeypatch.setattr(Gradebook, "marks", full)
    assert typed(book, "marks") == 3
    said = "marks: the disk is full. What was kept before is kept; type the same command again.\n"
    assert capsys.readouterr().err == said
