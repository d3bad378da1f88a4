"""The proof of a small course, and every way in which it can fall short."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.facts import manifest
from harness.validation.cases import Course
from harness.validation.proof import prove
from harness.variants import bank
from tests.small_course import CHECKS, RIGHT, STUBS, write_suite, write_tree

ROOT = Path(__file__).parent.parent
HEAD = "import numpy as np\nfrom harness.variants import mistake, right_answer\n\n"
MISTAKES = (
    HEAD
    + """
@mistake("double", "x is squared", severity="blatant")
def squares(x): return np.asarray(x) ** 2

@mistake("double", "x is overwritten")
def overwrites(x):
    x *= 2
    return x

@mistake("coin", "heads come three times in four")
def biased(n, rng): return rng.random(n) < 0.75
"""
)
ANSWERS = (
    HEAD
    + """
@right_answer("double", "by a factor")
def factor(x): return 2 * np.asarray(x)

@right_answer("coin", "by an integer")
def integers(n, rng): return rng.integers(2, size=n) == 1
"""
)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    # workers import the suite anew, by its folder's name
    monkeypatch.syspath_prepend(tmp_path)
    return Course(
        write_suite(tmp_path / f"suite_{tmp_path.name}"),
        write_tree(tmp_path / "right"),
        write_tree(tmp_path / "stubs", STUBS),
        write_tree(tmp_path / "mistakes", MISTAKES),
        write_tree(tmp_path / "answers", ANSWERS),
    )


def test_a_sound_course_is_proved(course: Course) -> None:
    steps: list[tuple[int, int]] = []
    proof = prove(course, progress=lambda done, total: steps.append((done, total)))
    assert proof.holds, proof
    assert proof.killed == {"double": (2, 2), "coin": (1, 1)}
    assert proof.unharmed == {"double": (1, 1), "coin": (1, 1)}
    assert steps[-1] == (7, 7)
    assert set(prove(course, ["coin"]).facts) == {"coin"}


def test_everything_that_falls_short_is_named(course: Course) -> None:
    (course.mistakes / "shapes.py").write_text(MISTAKES.replace("rng.random(n) < 0.75", "rng.random(n) < 0.5"))
    (course.right_answers / "shapes.py").write_text(ANSWERS.replace("2 * np.asarray(x)", "2.001 * np.asarray(x)"))
    (course.stubs / "shapes.py").write_text(STUBS.replace("raise NotImplementedError", "return x + x", 1))
    (course.reference / "shapes.py").write_text(RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * 3"))
    proof = prove(course)
    assert not proof.holds
    assert [v.identifier for v in proof.survivors] == ["shapes::biased"]
    assert [v.identifier for v, _ in proof.harmed] == ["shapes::factor"]
    assert proof.stubs_written == ["double"]
    assert proof.reference_fails == ["check_double_is_x_plus_x"]


def test_a_suite_that_cries_wolf_does_not_hold(course: Course) -> None:
    (course.suite / "check_shapes.py").write_text(CHECKS.replace("false_alarm=1e-9", "false_alarm=1e-5"))
    assert not prove(course).holds


def test_what_is_not_the_whole_project_is_an_error_of_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness", "validate", "--mistakes", str(tmp_path / "none")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "no such folder" in run.stderr


# ---- the banks of this course ----

MISTAKE_BANK, ANSWER_BANK = ROOT / "checks" / "mistakes", ROOT / "tests" / "right_answers"


def test_the_banks_are_large_enough_for_every_function() -> None:
    mistakes, answers = bank(MISTAKE_BANK), bank(ANSWER_BANK)
    for function in {fact.function for fact in manifest(ROOT / "checks")}:
        assert sum(v.function == function for v in mistakes) >= 8, function
        assert sum(v.function == function for v in answers) >= 3, function
    assert len(mistakes) >= 200
    assert len(answers) >= 70


def test_every_mistake_has_a_sentence_of_its_own() -> None:
    sentences = [variant.says for variant in bank(MISTAKE_BANK)]
    assert len(set(sentences)) == len(sentences)
    assert all(len(sentence) > 10 for sentence in sentences)


def test_no_mistake_comes_from_the_reference() -> None:
    for path in MISTAKE_BANK.glob("*.py"):
        assert not re.search(r"^\s*(from|import) (reference|student)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
