"""The archive for students: it grades from a clean folder, answers nothing, and comes out the same everywhere."""

import ast
import io
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from harness.__main__ import main
from harness.errors import UsageError
from harness.publish.archive import packed
from harness.publish.handout import handout
from harness.stubs import generate
from tests.small_project import ROOT, copy_project, lay_out, run
from tests.test_stubs import EVERY_LOOP, answered, is_distinctive, lines

# What anybody writes who uses NumPy or has a number of things to do: it answers nothing.
EVERYBODY = EVERY_LOOP | {
    "with np.errstate(divide='ignore'):",
    "with np.errstate(over='ignore'):",
    "for _ in range(per):",
}
GRADE = (sys.executable, "-m", "harness", "grade")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it is now."""
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def files(project: Path) -> dict[str, bytes]:
    return handout(project)


@pytest.fixture(scope="module")
def copy(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's copy, in a clean folder."""
    return lay_out(files, tmp_path_factory.mktemp("copy"))


def test_holds_what_a_student_needs_and_nothing_of_the_instructors(files):
    assert {name.split("/")[0] for name in files} == {
        *(".github", ".gitignore", "README.md", "checks", "constraints.txt", "harness", "noxfile.py"),
        *("pyproject.toml", "student"),
    }
    of_instructors = (
        *("reference/", "mistakes", "peers", "not_graded", "equivalen"),
        *("validation", "publish", "cohort", ".pyc"),
    )
    assert [name for name in files if any(part in name for part in of_instructors)] == []
    assert {"checks/points.toml", "checks/given/world.py", "student/dpo.py", "harness/plugin.py"} <= files.keys()


def test_the_fingerprints_of_mistakes_go_along(project, files, tmp_path):
    project = shutil.copytree(project, tmp_path / "used")
    (project / "checks" / "fingerprints.json").write_text("{}", encoding="utf-8")
    assert handout(project) == {**files, "checks/fingerprints.json": b"{}"}


def test_nothing_in_it_answers(files):
    """No distinctive line of a graded body or a private helper stands in any file, Python or not."""
    stubs = generate(ROOT / "reference")
    answers = {
        line
        for path in sorted((ROOT / "reference").rglob("*.py"))
        for function in answered(path, stubs)
        for line in lines(function)
        if is_distinctive(line) and line not in EVERYBODY
    }
    assert len(answers) > 100, "the reference's answers were not found; this test would pass on anything"
    handed = {line for name, data in files.items() if name.endswith(".py") for line in lines(ast.parse(data))}
    assert sorted(answers & handed) == []
    others = {name: data.decode() for name, data in files.items() if not name.endswith(".py")}
    assert [(name, line) for name, text in others.items() for line in answers if line in text] == []


def test_hands_out_stubs_whatever_lies_in_the_students_folder(project, files, tmp_path):
    project = shutil.copytree(project, tmp_path / "used")
    shutil.rmtree(project / "student")
    shutil.copytree(project / "reference", project / "student")
    for stray in ("checks/solutions.md", "checks/.cache", "harness/.notes", "harness/__pycache__/tree.cpython-311.pyc"):
        (project / stray).parent.mkdir(exist_ok=True)
        (project / stray).write_text("the answer", encoding="utf-8")
    assert handout(project) == files


def test_is_the_same_byte_for_byte_wherever_it_is_made(project, files, tmp_path):
    project = shutil.copytree(project, tmp_path / "elsewhere")
    for path in project.rglob("*"):
        if path.is_file():
            if path.suffix in (".py", ".toml", ".md"):
                path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
            path.chmod(0o600)
            os.utime(path, (1e9, 1e9))
    other = handout(project)
    assert [name for name in files if other.get(name) != files[name]] == []
    assert packed(dict(reversed(other.items()))) == packed(files)


def test_the_archive_says_nothing_of_where_and_when_it_was_made(files):
    with zipfile.ZipFile(io.BytesIO(packed({**files, "run": b"#!/bin/sh\n"}))) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted([*files, "run"])
    assert {(entry.date_time, entry.create_system, entry.compress_type) for entry in entries} == {
        ((1980, 1, 1, 0, 0, 0), 3, zipfile.ZIP_STORED)
    }
    assert [entry.filename for entry in entries if entry.external_attr >> 16 & 0o111] == ["run"]


def test_it_grades_from_a_clean_folder(project, copy):
    untouched = run(*GRADE, "--only", "best_of_n_kl", cwd=copy)
    assert untouched.returncode == 1, untouched.stdout + untouched.stderr
    assert "Start here: best_of_n_kl in student/best_of_n.py" in untouched.stdout
    written = copy / "student" / "best_of_n.py"
    written.write_bytes((project / "reference" / "best_of_n.py").read_bytes())
    shutil.copy(project / "reference" / "_arguments.py", copy / "student")
    solved = run(*GRADE, "--only", "best_of_n_kl", cwd=copy)
    assert solved.returncode == 0, solved.stdout + solved.stderr


def test_it_offers_only_what_it_can_do(copy):
    listing = run(sys.executable, "-m", "nox", "--noxfile", copy / "noxfile.py", "--list", cwd=copy).stdout
    sessions = {line.split()[1] for line in listing.splitlines() if line.startswith("- ")}
    assert {"grade", "demo"} <= sessions
    assert not sessions & {"validate", "stubs", "handout", "bundle", "tests", "bench", "cohort"}
    refused = run(sys.executable, "-m", "harness", "validate", cwd=copy)
    assert refused.returncode == 2
    assert "invalid choice: 'validate'" in refused.stderr and "Traceback" not in refused.stderr


def test_another_share_of_the_points_goes_along(tmp_path):
    files, points = handout(ROOT), tmp_path / "week.toml"
    points.write_bytes(files["checks/points.toml"].replace(b"kl = 4", b"kl = 40"))
    assert handout(ROOT, points) == {**files, "checks/points.toml": points.read_bytes()}
    points.write_text("[closed_form]\nkl = 4\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no points for"):
        handout(ROOT, points)


def test_a_students_copy_cannot_make_one(tmp_path, capsys):
    with pytest.raises(UsageError, match="a handout is made in the whole project"):
        handout(tmp_path)
    assert main(["handout", "--project", str(tmp_path)]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_the_command_writes_the_archive_and_its_digest(project, files, tmp_path, capsys):
    assert main(["handout", "--project", str(project), "--out", str(tmp_path / "new" / "lab.zip")]) == 0
    assert (tmp_path / "new" / "lab.zip").read_bytes() == packed(files)
    assert "SHA-256" in capsys.readouterr().out
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "lab.zip"]
