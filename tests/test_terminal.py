"""The report in a terminal: 80 columns, any console, and nothing that a submission says can break it."""

import io
import os
import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from harness.result import (
    Environment,
    FactResult,
    FunctionMarks,
    IsolationRecord,
    Result,
    Submission,
    SubmittedFile,
    Suite,
)
from harness.terminal import report
from harness.verdict import Evidence, Outcome
from tests.small_course import RIGHT, write_suite, write_tree

ROOT = Path(__file__).parent.parent


def fact(name: str, function: str = "double", outcome: Outcome = Outcome.FAILED, **fields) -> FactResult:
    values: dict[str, Any] = {
        "id": f"checks/check_shapes.py::{name}",
        "module": "shapes",
        "function": function,
        "title": f"The title of {name}.",
        "formula": "double(x) = x + x",
        "source": "the definition.",
        "weight": 1,
        "defines": False,
        "outcome": outcome,
        "evidence": Evidence(),
        "mistake": None,
        "hint": "Add x to itself.",
        "replay": f"nox -s grade -- --only {name}\n\nfrom student.shapes import double\nprint(double(1))",
        "lent": False,
        "output": "",
        "seconds": 0.1,
    }
    return FactResult(**(values | fields))


def result(*facts: FactResult, selection: list[str] | None = None, files: list[SubmittedFile] | None = None) -> Result:
    rows = [FunctionMarks("shapes", name, 0.0, 5.0) for name in dict.fromkeys(one.function for one in facts)]
    return Result(
        schema=1,
        submission=Submission("student", "0", files or []),
        suite=Suite("0", len(facts), selection or []),
        environment=Environment("3", "2", "2", "here", 0),
        complete=True,
        score=0.0,
        max_score=5.0 * len(rows),
        isolation=IsolationRecord("full", []),
        functions=rows,
        facts=list(facts),
        seconds=1.0,
    )


def printed(of: Result, tree: str = "student") -> str:
    console = Console(file=io.StringIO(), width=80, color_system=None, highlight=False)
    report(of, console, tree)
    return console.file.getvalue()  # type: ignore[attr-defined]


def in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_a_failure_reads_in_the_order_of_a_teacher() -> None:
    evidence = Evidence("best of 2", "double(x=[1, 2])", "[2, 4]", "[3, 4]", " ^")
    text = printed(result(fact("check_a", evidence=evidence, mistake="x is trebled", output="hello")))
    assert in_order(
        text,
        "FAILED  double\n",
        "    The title of check_a.\n",
        "        double(x) = x + x\n",
        "    input     double(x=[1, 2])\n",
        "    got       [3, 4]\n    expected  [2, 4]\n               ^\n",
        "    why       best of 2\n",
        "    printed   hello\n",
        "    mistake   by the function's answers to several inputs: x is trebled\n",
        "    hint      Add x to itself.\n",
        "    source    the definition.\n",
        "    again     python3 noxfile.py -s grade -- --only check_a\n",
    ), text
    assert in_order(
        text,
        "    or        .venv/bin/python, in the folder that holds student/:\n",
        "from student.shapes import double\nprint(double(1))\n",
    )


def test_what_got_and_expected_say_is_not_said_again() -> None:
    text = printed(result(fact("check_a", evidence=Evidence("the values differ", "double(x=1)", "2", "3"))))
    assert "the values differ" not in text
    assert "why" not in text


def test_where_the_definition_fails_the_rest_is_named_unless_chosen_by_name() -> None:
    facts = fact("check_a", defines=True), fact("check_b"), fact("check_c", "coin")
    text = printed(result(*facts))
    assert text.count("FAILED") == 2
    assert "double: 1 more fact fails, perhaps for the same reason (--only NAME shows one)\n" in text
    assert "    - check_b\n" in text
    assert printed(result(*facts, selection=["double"])).count("FAILED") == 2
    assert printed(result(*facts, selection=["double", "suite/check_shapes.py::check_b"])).count("FAILED") == 3


def test_a_mistake_is_named_once_for_its_function() -> None:
    perhaps = "perhaps, by the facts that fail: the coin is biased"
    facts = [
        fact("check_a"),
        fact("check_b", mistake="x is trebled"),
        fact("check_c", mistake="x is trebled"),
        fact("check_d", "coin", defines=True),
        fact("check_e", "coin", mistake=perhaps),
    ]
    text = printed(result(*facts))
    assert text.count("x is trebled") == 1
    assert in_order(text, "The title of check_b", "x is trebled", "The title of check_c")
    seen_through = fact("check_f", "coin", mistake="the coin is biased", evidence=Evidence("no", helper="double"))
    assert "the coin is biased" not in printed(result(fact("check_a"), seen_through))
    assert in_order(text, "The title of check_d", "    - check_e\n", f"    mistake   {perhaps}\n")


def test_a_failure_of_a_helpers_making_is_one_line() -> None:
    facts = fact("check_a"), fact("check_b", "coin", evidence=Evidence("no", "coin(n=2)", helper="double"))
    text = printed(result(*facts))
    assert text.count("FAILED") == 1
    assert "coin: 1 fact may hold once double is right\n    - check_b\n" in text
    assert "the marks can only be higher" in text
    assert "Next: double in student/shapes.py" in text


def test_who_has_not_begun_is_shown_where_to_start() -> None:
    todo = [fact("check_a", outcome=Outcome.TODO), fact("check_b", outcome=Outcome.TODO)]
    text = printed(result(*todo, selection=["double"]))
    assert "It waits for you in student/shapes.py; its docstring says what to write.\nStart here: double" in text
    text = printed(result(*todo, fact("check_c", "coin", outcome=Outcome.TODO)))
    assert "2 functions wait for you in student/shapes.py; each docstring says what" in text


def test_an_exception_that_comes_again_is_shown_once() -> None:
    raised = Evidence("NameError: name 'torch' is not defined\n  shapes.py, line 3\n    torch", "double(x=1)")
    facts = [fact(f"check_{name}", evidence=raised) for name in "abc"]
    text = printed(result(*facts, selection=["double"]))
    assert text.count("NameError") == 1
    assert "double: 2 more facts fail with the same error\n    - check_b\n    - check_c\n" in text


def test_a_module_that_cannot_be_imported_is_told_once() -> None:
    message = "SyntaxError: '(' was never closed\n  shapes.py, line 3\n    return (x\n           ^"
    broken = Evidence(message, cause="shapes.py")
    text = printed(result(*(fact(f"check_{name}", name, evidence=broken) for name in ("double", "coin"))))
    assert "shapes.py cannot be imported: 2 facts about double, coin could not be asked\n" in text
    assert text.count("was never closed") == 1
    assert "Next: student/shapes.py, so that it can be imported\n" in text
    assert "The title" not in text, "what cannot be asked is not what comes next"
    another = printed(result(fact("check_a", evidence=Evidence(message, cause="planes.py"))))
    assert "Next: student/planes.py, so that it can be imported\n" in another, "where the error is, not who imports it"
    assert another.rstrip().endswith("then      python3 noxfile.py -s grade -- --only shapes")
    line, carets = next(pair for pair in pairwise(text.split("\n")) if "return (x" in pair[0])
    assert line.index("(") == carets.index("^"), "the caret stands under its character"


def test_a_library_that_is_not_there_is_told_with_those_that_are() -> None:
    missing = Evidence("ModuleNotFoundError: No module named 'pandas'\n  shapes.py, line 1", cause="shapes.py")
    assert "What may be imported: the standard library, NumPy, SciPy, torch" in printed(
        result(fact("check_a", evidence=missing))
    )


def test_a_long_command_is_broken_as_a_shell_allows() -> None:
    text = printed(result(fact("check_" + "a" * 60), selection=["x"]), "some/long/folder/of/a/submission")
    command = text[text.index("python3") :].replace("\\\n", "").split("\n")[0].split()
    assert command[5:] == ["--tree", "some/long/folder/of/a/submission", "--only", "check_" + "a" * 60]


anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
nasty = st.one_of(
    anything,
    st.sampled_from(
        [
            "\x1b[2J\x1b[31mred\x1b]0;title\x07",
            "[bold red]markup[/bold red] [link=file:///etc]x[/]",
            "\u202eabc\u2066def",
            "\ud800\udfff",
            "x" * 5000,
            "中文" * 200,
            "a\nFAILED  double\n\r\x0b\x0c\x85\u2028next",
            "\t" * 50 + "x",
            "e" + "\u0301" * 200,
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(nasty, nasty, nasty, st.sampled_from([Outcome.FAILED, Outcome.TIMEOUT, Outcome.CRASHED, Outcome.ERROR]))
def test_nothing_that_a_submission_says_can_break_it(text: str, other: str, third: str, outcome: Outcome) -> None:
    evidence = Evidence(text, other, third, text, other)
    caused = Evidence(text, cause="shapes.py")
    facts = (
        fact("check_a", outcome=outcome, evidence=evidence, output=text, mistake=other, formula=third),
        fact("check_b", "coin", evidence=caused),
    )
    out = printed(result(*facts, files=[SubmittedFile(text, "", other)]))
    for line in out.split("\n"):
        assert cell_len(line) <= 80, line
        assert not {unicodedata.category(character) for character in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"}, ascii(line)
    assert "[bold red]" not in text + other or "[bold red]" in out or "..." in out
    titles = [line for line in out.split("\n") if line.startswith(("FAILED", "PASSED"))]
    assert len(titles) == (outcome is Outcome.FAILED), "no text of a submission begins a line"


WRONG = RIGHT.replace("np.asarray(x) + x", "print('\\x1b[31m') or np.asarray(x) * 3")
SCRIPT = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("variables", "escapes"),
    [
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True),
        ({"TERM": "xterm-256color"}, True),
    ],
    ids=["dumb", "no colour", "colour"],
)
def test_a_terminal_of_any_kind(tmp_path: Path, variables: dict[str, str], escapes: bool) -> None:
    out = grade_in(tmp_path, variables, [sys.executable, "-c", SCRIPT])
    assert "FAILED" in out
    assert ("\x1b" in out) == escapes, "a dumb terminal gets no escape sequence"
    coloured = any(f"\x1b[{style}3{colour}m" in out for style in ("", "1;") for colour in range(8))
    assert coloured == (escapes and "NO_COLOR" not in variables)


@pytest.mark.parametrize(
    "variables", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}]
)
def test_a_c_locale_and_no_terminal(tmp_path: Path, variables: dict[str, str]) -> None:
    out = grade_in(tmp_path, variables, [])
    assert "FAILED  double" in out
    assert "\x1b" not in out
    assert max(map(cell_len, out.splitlines())) <= 80


def grade_in(tmp_path: Path, variables: dict[str, str], before: list[str]) -> str:
    """What is printed about a wrong answer."""
    suite, tree = write_suite(tmp_path / "small_suite"), write_tree(tmp_path / "student", WRONG)
    command = [*before, sys.executable, "-m", "harness", "grade", "--suite", str(suite), "--tree", tree.name]
    hidden = ("TERM", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "LC_ALL", "LANG")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(ROOT), **variables}
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=120
    )
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout.decode("utf-8")
