"""Autograders: each platform's contract laid out in a folder, and its entry script run there."""

import json
import os
import shutil
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from harness.__main__ import main
from harness.errors import UsageError
from harness.publish.archive import packed
from harness.publish.bundle import PLATFORMS, bundle
from tests.small_project import ROOT, copy_project, lay_out, run

FUNCTION = "best_of_n_kl"  # few facts, and quick ones
IDENTITY = {
    "CLASSROOM": "cs",
    "ASSIGNMENT": "lab",
    "ASSIGNMENT_TYPE": "individual",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-10-01T10-00-00Z-a1b2c3d",
    "COMMIT_URL": "https://example.org/commit",
    "RELEASE_URL": "https://example.org/release",
    "REVIEW_URL": "https://example.org/review",
}


class Place:
    """A platform's folders, with its bundle in place."""

    def __init__(self, platform: str, home: Path) -> None:
        self.platform, self.home = platform, home
        files = bundle(ROOT, platform, [FUNCTION])
        match platform:
            case "gradescope":
                grader = lay_out(files, home / "source")
                (home / "results").mkdir()
                self.submission, self.results = home / "submission", home / "results" / "results.json"
                self.entry = [shutil.copy(grader / "run_autograder", home)]  # as Gradescope does
                self.variables = {"AUTOGRADER": str(home)}
            case "prairielearn":
                course = lay_out(files, home / "course")
                shutil.copytree(course / "serverFilesCourse", home / "serverFilesCourse")
                self.submission, self.results = home / "student", home / "results" / "results.json"
                self.entry = [home / "serverFilesCourse" / "preference_lab" / "run.sh"]
                self.variables = {"GRADE": str(home)}
            case _:
                grader = lay_out(files, home / "runtime" / "lab")
                self.submission, self.results = home / "checkout", home / "checkout" / "result.json"
                self.entry = ["python3", grader / "autograder.py"]
                self.variables = IDENTITY

    def grade(self, tree: Path, **variables: str) -> tuple[int, Any]:
        """Hand in a tree and run the entry script: its status, and what it published, or None."""
        shutil.copytree(tree, self.submission / "student" if self.platform == "classroom50" else self.submission)
        self.results.parent.mkdir(exist_ok=True)
        self.results.write_text('{"score": 17}', encoding="utf-8")  # of an earlier run
        ran = run(*self.entry, cwd=self.submission, environment={**self.variables, **variables})
        published = json.loads(self.results.read_text(encoding="utf-8")) if self.results.exists() else None
        print(ran.stdout, ran.stderr)
        return ran.returncode, published


@pytest.fixture(params=PLATFORMS)
def place(request, tmp_path) -> Place:
    return Place(request.param, tmp_path)


def share(platform: str, published: dict[str, Any]) -> float:
    """The share of the points that a platform's results give."""
    match platform:
        case "gradescope":
            assert published["score"] == sum(test["score"] for test in published["tests"])
            return published["score"] / sum(test["max_score"] for test in published["tests"])
        case "prairielearn":
            assert published["gradable"]
            return published["score"]
        case _:
            assert {name: published[name] for name in ("classroom", "assignment", "owner")} == {
                **{"classroom": "cs", "assignment": "lab", "owner": "ada"}
            }
            return published["score"] / published["max-score"]


def test_a_right_answer_gets_full_marks(place):
    status, published = place.grade(ROOT / "reference")
    assert (status, share(place.platform, published)) == (0, 1.0)


@pytest.mark.parametrize("place", ["gradescope", "prairielearn"], indirect=True)
def test_stubs_get_a_zero_which_is_theirs(place):
    status, published = place.grade(ROOT / "student")
    assert (status, share(place.platform, published)) == (0, 0.0)


def broken(tmp_path: Path, script: str) -> str:
    """A Python that is none."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    python.chmod(0o755)
    return str(python)


@pytest.mark.parametrize("fault", ["exit 3", "kill -9 $$", "exec sleep 60"])
def test_a_fault_of_the_grader_is_never_a_zero(place, tmp_path, fault):
    if "sleep" in fault and place.platform == "classroom50":
        pytest.skip("there the runner has a clock, and publishes nothing when it runs out")
    status, published = place.grade(ROOT / "student", LAB_PYTHON=broken(tmp_path, fault), LAB_SECONDS="1")
    assert status == 3
    if place.platform == "prairielearn":  # where no results are a 0
        assert published["gradable"] is False and "score" not in published
    else:
        assert published is None


@pytest.mark.parametrize("place", ["gradescope", "prairielearn"], indirect=True)
def test_a_place_that_cannot_confine_publishes_no_score(place):
    for options in place.home.rglob("grade-options"):
        options.write_text("--isolation process --require full\n")
    status, published = place.grade(ROOT / "reference")
    if place.platform == "prairielearn":
        assert published["gradable"] is False and "score" not in published
    else:
        assert (status, published) == (3, None)


def test_a_submission_without_modules_is_told_so(place, tmp_path):
    (tmp_path / "essay").mkdir()
    (tmp_path / "essay" / "essay.txt").write_text("My best work.", encoding="utf-8")
    status, published = place.grade(tmp_path / "essay")
    assert status == 0
    if place.platform == "prairielearn":
        assert published["gradable"] is False
    else:
        assert published["score"] == 0
    assert "best_of_n" in json.dumps(published)


@pytest.mark.parametrize("place", ["gradescope", "prairielearn"], indirect=True)
def test_what_a_submission_must_not_read_is_closed_to_other_users(place):
    place.grade(ROOT / "student", LAB_PYTHON="/bin/true")
    closed = {"gradescope": ("source", "submission", "results"), "prairielearn": ("serverFilesCourse", "student")}
    for name in closed[place.platform]:
        assert stat.S_IMODE((place.home / name).stat().st_mode) == 0o700


@pytest.mark.parametrize("platform", PLATFORMS)
def test_is_the_same_byte_for_byte_wherever_it_is_made(platform, tmp_path):
    project = copy_project(tmp_path / "project")
    elsewhere = shutil.copytree(project, tmp_path / "elsewhere")
    for path in elsewhere.rglob("*"):
        os.utime(path, (1e9, 1e9))
    command = (sys.executable, "-m", "harness", "bundle", platform, "--only", "kl", "--only", "dpo", "--out", "it.zip")
    assert {run(*command, cwd=root).returncode for root in (project, elsewhere)} == {0}
    assert (project / "it.zip").read_bytes() == (elsewhere / "it.zip").read_bytes()


def test_grades_with_the_options_that_it_was_made_with(tmp_path):
    points = tmp_path / "week.toml"
    points.write_bytes((ROOT / "checks" / "points.toml").read_bytes().replace(b"kl = 4", b"kl = 40"))
    files = bundle(ROOT, "gradescope", ["kl", "dpo"], points)
    assert files["grade-options"] == b"--require partial\n--only kl\n--only dpo\n"
    assert files["checks/points.toml"] == points.read_bytes()
    assert bundle(ROOT, "classroom50")["grade-options"] == b"--require full\n"


@pytest.mark.parametrize(
    ("only", "points", "says"),
    [(["dpoo"], None, "--only dpoo: nothing has that name"), ([], "[closed_form]\nkl = 4", "no points for")],
)
def test_refuses_options_that_no_submission_could_be_graded_with(tmp_path, only, points, says):
    file = tmp_path / "points.toml"
    file.write_text(points or "", encoding="utf-8")
    with pytest.raises(UsageError, match=says):
        bundle(ROOT, "gradescope", only, file if points else None)
    with pytest.raises(UsageError, match="a bundle is made in the whole project"):
        bundle(tmp_path, "gradescope")


def test_its_marks_name_the_same_suite_as_marks_that_were_made_here(tmp_path):
    project, grader = copy_project(tmp_path / "project"), lay_out(bundle(ROOT, "gradescope"), tmp_path / "source")
    code = (
        "from pathlib import Path; from harness.digest import suite_digest; checks = Path('checks'); "
        "print(suite_digest(checks, Path('reference'), (checks / 'points.toml').read_bytes()))"
    )
    here, there = (run(sys.executable, "-c", code, cwd=root).stdout for root in (project, grader))
    assert len(here.strip()) == 64 and here == there
    (grader / "checks" / "points.toml").write_text("", encoding="utf-8")
    assert run(sys.executable, "-c", code, cwd=grader).stdout != here


def test_lends_from_the_reference_unless_the_bundle_is_published():
    for platform in PLATFORMS:
        names = bundle(ROOT, platform).keys()
        lends = any("reference/dpo.py" in name for name in names)
        assert lends == (platform != "classroom50")
        assert not [name for name in names if "mistakes" in name or "publish" in name or ".pyc" in name]


def test_a_prairielearn_question_names_what_is_there():
    files = bundle(ROOT, "prairielearn")
    question = json.loads(files["questions/preference_lab/info.json"])
    grading = question["externalGradingOptions"]
    assert files[grading["entrypoint"].removeprefix("/grade/")].startswith(b"#!")
    assert grading["serverFilesCourse"] == ["preference_lab/"]
    assert grading["timeout"] == 600 and b"LAB_SECONDS:-570" in files["serverFilesCourse/preference_lab/run.sh"]
    other = json.loads(bundle(ROOT, "prairielearn", ["kl"])["questions/preference_lab/info.json"])
    assert uuid.UUID(question["uuid"]) != uuid.UUID(other["uuid"])
    assert {name for name in files if name.startswith("image/")} == {
        *("image/Dockerfile", "image/constraints.txt", "image/noxfile.py", "image/pyproject.toml")
    }


def test_scripts_are_executable_and_parse(tmp_path):
    for platform in ("gradescope", "prairielearn"):
        folder = lay_out(bundle(ROOT, platform), tmp_path / platform)
        scripts = [path for path in folder.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!")]
        assert {path.name for path in scripts} <= {"run_autograder", "setup.sh", "run.sh"} and scripts
        for script in scripts:
            assert os.access(script, os.X_OK)
            subprocess.run(["bash", "-n", script], check=True)


def test_the_command_knows_the_platforms(tmp_path, capsys):
    for platform in PLATFORMS:
        out = tmp_path / f"{platform}.zip"
        assert main(["bundle", platform, "--project", str(ROOT), "--out", str(out)]) == 0
        assert out.read_bytes() == packed(bundle(ROOT, platform))
    with pytest.raises(SystemExit):
        main(["bundle", "--help"])
    assert f"{{{','.join(PLATFORMS)}}}" in capsys.readouterr().out
