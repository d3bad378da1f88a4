"""Each format keeps to the contract of the system that reads it, whatever a submission is called, prints or raises.

The contracts stand in the modules of `harness/report`, with their addresses; here they are told again as types, or put
to the consumer's own rules.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import junitparser
import msgspec
import pytest
from msgspec import Meta

from harness import report, result
from harness.report import classroom50, github, gradebook, gradescope, junit, prairielearn, words
from harness.result import Result
from harness.verdict import Outcome
from tests.sample_results import HOSTILE, fact, incomplete, many, many_without_score, mixed, unreadable, whole

SCORED = pytest.mark.parametrize("make", [mixed, whole, unreadable])
ALL = pytest.mark.parametrize("make", [mixed, whole, unreadable, incomplete, many, many_without_score])
Points = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object with no other fields."""


# ---- Gradescope ----


class GradescopeTest(_Strict):
    name: str
    score: Points
    max_score: Points
    status: Literal["passed", "failed"]
    output: str
    output_format: Literal["text"]


class Gradescope(_Strict):
    score: Points
    execution_time: Count
    output: str
    output_format: Literal["text"]  # the default renders HTML
    visibility: Literal["visible"]
    stdout_visibility: Literal["hidden"]
    tests: list[GradescopeTest]


@SCORED
def test_gradescope(make: Callable[[], Result]) -> None:
    graded = make()
    document = msgspec.json.decode(gradescope.results(graded) or "", type=Gradescope)
    assert document.score == graded.score
    assert math.isclose(sum(test.score for test in document.tests), document.score)
    assert math.isclose(sum(test.max_score for test in document.tests), graded.max_score)
    assert all(test.score <= test.max_score for test in document.tests)
    assert all((test.status == "passed") == (test.score == test.max_score) for test in document.tests)


def test_gradescope_shows_no_test_as_passed_that_lacks_nothing_but_points() -> None:
    free = [msgspec.structs.replace(row, score=0.0, max_score=0.0) for row in mixed().functions]
    graded = msgspec.structs.replace(mixed(), functions=free, score=0.0, max_score=0.0)
    document = json.loads(gradescope.results(graded) or "")
    assert [test["status"] for test in document["tests"]] == ["failed", "failed", "failed", "passed"]


# ---- PrairieLearn ----


class PrairieLearnTest(_Strict):
    name: str
    description: str
    points: Points
    max_points: Points
    output: str


class PrairieLearn(_Strict):
    gradable: bool
    message: str = ""
    score: Annotated[float, Meta(ge=0, le=1)] | None = None
    tests: list[PrairieLearnTest] = []
    format_errors: list[str] = []


@ALL
def test_prairielearn(make: Callable[[], Result]) -> None:
    graded = make()
    text = prairielearn.results(graded)
    assert len(text.encode()) < 1_000_000
    document = msgspec.json.decode(text, type=PrairieLearn)
    if graded.score is None or not graded.readable:
        assert (document.gradable, document.score, document.tests) == (False, None, [])
        assert (document.message, document.format_errors) == ("", [words.headline(graded)])  # both would be shown
    else:
        assert document.gradable
        assert document.score == pytest.approx(graded.score / graded.max_score)
        assert math.isclose(sum(test.points for test in document.tests), graded.score, abs_tol=1e-9)


# ---- Classroom 50 ----


class Classroom50Test(_Strict):
    name: Text = msgspec.field(name="test-name")
    passed: bool
    score: Count
    max_score: Count = msgspec.field(name="max-score")
    message: str


class Classroom50(_Strict):
    schema: Literal["classroom50/result/v1"]
    classroom: Text
    assignment: Text
    assignment_type: Literal["individual", "group", "team"]
    owner: Text
    submission: Annotated[str, Meta(pattern="^submit/")]
    commit: Text
    release: Text
    review: Text
    datetime: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$")]
    score: Count
    max_score: Count = msgspec.field(name="max-score")
    tests: list[Classroom50Test]


RUNNER = {
    "CLASSROOM": "cs-principles",
    "ASSIGNMENT": "lab",
    "ASSIGNMENT_TYPE": "individual",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-06-01T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://github.com/x/y/commit/1",
    "RELEASE_URL": "https://github.com/x/y/releases/tag/1",
    "REVIEW_URL": "https://github.com/x/y/compare/0...1",
}


@SCORED
def test_classroom50_has_whole_points_that_add_up(make: Callable[[], Result]) -> None:
    graded = make()
    document = msgspec.json.decode(classroom50.results(graded, RUNNER) or "", type=Classroom50)
    assert document.max_score == graded.max_score
    assert document.score == math.floor(graded.score or 0)
    assert (document.score, document.max_score) == (
        sum(test.score for test in document.tests),
        sum(test.max_score for test in document.tests),
    )
    assert all(test.score <= test.max_score for test in document.tests)
    assert all(test.score == test.max_score for test in document.tests if test.passed)


def test_classroom50_gives_the_full_points_only_for_all_facts() -> None:
    nearly = msgspec.structs.replace(whole().functions[0], score=6.66)
    graded = msgspec.structs.replace(whole(), functions=[nearly, whole().functions[1]], score=9.99)
    document = json.loads(classroom50.results(graded, RUNNER) or "")
    assert (document["score"], document["max-score"]) == (9, 10)


def test_classroom50_is_silent_elsewhere() -> None:
    assert classroom50.results(whole(), {**RUNNER, "CLASSROOM": ""}) is None


# ---- no score ----


def test_a_run_without_a_score_publishes_none() -> None:
    graded = incomplete()
    assert gradescope.results(graded) is None
    assert classroom50.results(graded, RUNNER) is None
    assert gradebook.canvas([graded]).count("\n") == 2  # header, points possible
    assert gradebook.moodle([graded]).count("\n") == 1
    assert "::error title=Marks::No marks: 1 of 6 facts could not be decided." in github.annotations(graded)
    assert github.summary(graded).startswith("## No marks: 1 of 6 facts could not be decided")
    assert "No marks" in report.html.page(graded)


def test_files_are_replaced_and_those_of_another_run_removed(tmp_path: Path) -> None:
    report.write(whole(), tmp_path)
    assert result.read(tmp_path / "result.json") == whole()
    names = {"canvas.csv", "github-annotations.txt", "github-summary.md", "gradescope.json", "junit.xml", "moodle.csv",
             "prairielearn.json", "report.html", "result.json"}  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == names
    report.write(incomplete(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names - {"gradescope.json"}
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    report.clear(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# ---- JUnit ----

ATTRIBUTES = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set[str]()),
    "testsuite": ({"name", "tests", "failures", "errors", "time"}, {"name", "tests", "failures", "errors"}),
    "testcase": ({"name", "time", "classname"}, {"name"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "system-out"},
}


@ALL
def test_junit(make: Callable[[], Result], tmp_path: Path) -> None:
    graded = make()
    path = tmp_path / "junit.xml"
    path.write_text(junit.document(graded), encoding="utf-8")
    tree: Any = junitparser.JUnitXml.fromfile(str(path))
    suites = list(tree)
    cases = [case for suite in suites for case in suite]
    for suite in suites:
        kinds = [type(case.result[0]).__name__ if case.result else "" for case in suite]
        counted = (len(kinds), kinds.count("Failure"), kinds.count("Error"))
        assert counted == (suite.tests, suite.failures, suite.errors)
    for count in ("tests", "failures", "errors"):
        assert getattr(tree, count) == sum(getattr(suite, count) for suite in suites)
    if graded.readable:
        ours = {Outcome.ERROR, Outcome.LOST}
        held = {fact.id.rpartition("::")[2] for fact in graded.facts if fact.outcome is Outcome.PASSED}
        broken = {fact.id.rpartition("::")[2] for fact in graded.facts if fact.outcome in ours}
        assert {case.name for case in cases if not case.result} == held
        assert {case.name for case in cases if "Error" in {type(each).__name__ for each in case.result}} == broken
        assert len(cases) == len(graded.facts)
    else:
        assert [case.name for case in cases] == ["can be read"]
    for element in tree._elem.iter():
        allowed, required = ATTRIBUTES[element.tag]
        assert required <= set(element.attrib) <= allowed
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert re.fullmatch(r"\d+\.\d+", element.get("time", "0.0"))


# ---- GitHub ----


def commands(text: str) -> list[tuple[str, str]]:
    """(name, message) of what a runner takes for a command: `::` at the start of a line, or `##[` anywhere in it."""
    found = []
    for line in text.splitlines():
        new = re.match(r"\s*::([\w-]+)(?: [^:]*(?::(?!:)[^:]*)*)?::(.*)", line)
        old = re.search(r"##\[([\w-]+)[^\]]*\](.*)", line)
        if new:
            found.append((new[1].lower(), new[2]))
        elif old:
            found.append((old[1].lower(), old[2]))
    return found


@ALL
def test_annotations_are_ours_and_no_more_than_github_shows(make: Callable[[], Result]) -> None:
    text = github.annotations(make())
    found = commands(text)
    assert len(found) == len(text.splitlines())
    for kind in ("error", "warning", "notice"):
        assert sum(name == kind for name, _ in found) <= 10
    assert {name for name, _ in found} <= {"error", "notice"}
    assert found[-1][1].startswith(words.headline(make())[:40].partition("\n")[0])


def test_annotations_say_how_many_facts_they_leave_out() -> None:
    assert "::error::291 more facts do not hold" in github.annotations(many())


@ALL
def test_summary_fits_and_keeps_a_submission_in_code_blocks(make: Callable[[], Result]) -> None:
    text = github.summary(make())
    assert len(text.encode()) < 2**20
    fence = ""
    for line in text.splitlines():
        mark = re.match(r"`{3,}", line)
        if not fence and mark:
            fence = mark[0]
        elif line == fence:
            fence = ""
        elif not fence:
            assert "<" not in line.replace("\\<", ""), line
            assert "owned" not in line or line.startswith("## "), line  # a headline, escaped
    assert not fence


def test_summary_says_that_there_is_more() -> None:
    assert "it stands in the report" in github.summary(many())


def test_what_is_printed_behind_the_fence_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with github.fence():
        print(HOSTILE)
    first, *inside, last = capsys.readouterr().out.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert last == f"::{token}::"
    assert token not in "".join(inside)


def test_the_summary_is_added_to_that_of_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    github.tell(whole(), str(path))
    assert path.read_text(encoding="utf-8") == "before\n" + github.summary(whole())
    assert capsys.readouterr().out == github.annotations(whole())


# ---- Canvas and Moodle ----


def cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_canvas() -> None:
    header, possible, *rows = cells(gradebook.canvas([mixed("ada"), whole(), incomplete()], "Lab 1"))
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 1"]
    assert possible == ["Points Possible", "", "", "", "", "15.00"]
    assert rows == [["", "", "", "ada", "", "5.83"], ["", "", "", "ada", "", "10.00"]]


def test_moodle() -> None:
    header, *rows = cells(gradebook.moodle([mixed("ada"), incomplete()], "Lab 1"))
    assert header == ["username", "Lab 1", "Lab 1 feedback"]
    assert rows == [["ada", "5.83", "5.83 of 15 points; 2 of 6 facts hold. Points are missing in: double 3.33 of 6.67, "
                                    "coin 0 of 3.33, area 0 of 2.5."]]  # fmt: skip


@pytest.mark.parametrize("name", ["ada", "ada.zip", "ada.tar.gz", "ada.TGZ"])
def test_an_archive_is_its_students(name: str) -> None:
    assert cells(gradebook.canvas([mixed(name)]))[2][3] == "ada"
    assert cells(gradebook.moodle([mixed(name)]))[1][0] == "ada"


FORMULAS = ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", '"=1', "a;=1", 'a",=1', "＝1", "a\n=1", "'=1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_can_be_taken_for_a_formula(name: str) -> None:
    graded = mixed(name)
    for make in (gradebook.canvas, gradebook.moodle):
        for delimiter in (",", ";", "\t"):
            for row in cells(make([graded]), delimiter):
                assert not [cell for cell in row if re.match(r'[\s"]*[=+\-@＝＋－＠]', cell)]


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("ada", "ada.lovelace@example.org", "Mary-Ann O'Neill", "lab_1 (2)"):
        assert gradebook.cell(name) == name


# ---- words ----


def test_what_is_to_be_read_first() -> None:
    failed = Outcome.FAILED
    facts = [
        fact("first", failed),  # defines double
        fact("second", failed),
        fact("heads", failed, "coin"),
        fact("tails", failed, "coin"),
        fact("area", failed, "area", "planes"),
        fact("edge", failed, "edge", "planes"),
        fact("side", failed, "side", "planes"),
        fact("hole", Outcome.TODO, "hole", "planes"),
        fact("flat", Outcome.PASSED, "flat", "planes"),
    ]
    causes = {
        "check_area": {"cause": "planes.py"},
        "check_edge": {"cause": "planes.py"},
        "check_side": {"helper": "coin"},
    }
    facts = [
        msgspec.structs.replace(
            each, evidence=msgspec.structs.replace(each.evidence, **causes.get(each.id.rpartition("::")[2], {}))
        )
        for each in facts
    ]
    graded = msgspec.structs.replace(mixed(), facts=facts)
    names = [each.id.rpartition("::")[2].removeprefix("check_") for each in facts if each.id in words.telling(graded)]
    assert names == ["first", "heads", "tails", "area"]
    chosen = msgspec.structs.replace(graded, suite=msgspec.structs.replace(graded.suite, selection=["double"]))
    assert len(words.telling(chosen)) == 7
    row = graded.functions[0]
    text = words.accounts(graded, row, 10_000)
    assert text.count("Add x to itself.") == 1
    assert text.endswith("FAILED: The law of second holds.")
    side = words.account(facts[6], in_full=False)
    assert side == "FAILED: The law of side holds. (may hold once coin is right)"


def test_an_account_is_in_the_order_of_a_failure() -> None:
    text = words.account(mixed("42").facts[1])
    parts = ["FAILED: The law", "double(x) = x + x", "input", "got", "expected", "^^^", "why", "3 x in the place",
             "printed", "Add x", "definition", "python3 noxfile.py -s grade"]  # fmt: skip
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
