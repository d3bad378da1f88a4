"""Autograders to upload: the grader, and the scripts that a platform runs.

Each platform's scripts lie in files/; what they have in common is how they grade: `python -m harness grade` with the
options in the file `grade-options`, in an environment that noxfile.py makes of constraints.txt.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.facts import manifest
from harness.plan import select
from harness.publish.archive import below, files_in, text
from harness.publish.handout import FILES, grader

NAME = "preference_lab"
"""What the lab is called in a PrairieLearn course: folders of this name hold its question and its grader."""

ENVIRONMENT = ("constraints.txt", "noxfile.py", "pyproject.toml")
"""What noxfile.py needs to make the environment."""


def bundle(root: Path, platform: str, only: Sequence[str] = (), points: Path | None = None) -> dict[str, bytes]:
    """The files of an autograder, by path; one of PLATFORMS.

    only, points: as in `grade`; they hold for every submission. Raises UsageError if they name what is not there.
    """
    if not (root / "reference").is_dir():
        raise UsageError(f"{root / 'reference'}: no such folder; a bundle is made in the whole project")
    select(manifest(root / "checks"), only)
    level, lay_out = PLATFORMS[platform]
    options = [("--require", level), *(("--only", name) for name in only)]
    files = grader(root, points)
    files["grade-options"] = "".join(f"{option} {value}\n" for option, value in options).encode()
    return lay_out(root, files, only)


def gradescope(root: Path, files: dict[str, bytes], only: Sequence[str]) -> dict[str, bytes]:
    """An archive as Gradescope takes it: setup.sh and run_autograder at its top."""
    return {**files, **reference(root), **files_in(FILES / "gradescope", ["*"])}


def prairielearn(root: Path, files: dict[str, bytes], only: Sequence[str]) -> dict[str, bytes]:
    """Folders of a PrairieLearn course, and one to build the grader's image in."""
    scripts = FILES / "prairielearn"
    question = json.loads(text(scripts / "info.json"))
    question["uuid"] = str(uuid.uuid5(uuid.NAMESPACE_URL, " ".join([NAME, *only])))
    return {
        **below(f"serverFilesCourse/{NAME}", {**files, **reference(root), "run.sh": text(scripts / "run.sh")}),
        f"questions/{NAME}/info.json": json.dumps(question, indent=2).encode() + b"\n",
        f"questions/{NAME}/question.html": text(scripts / "question.html"),
        **below("image", {"Dockerfile": text(scripts / "Dockerfile"), **{name: files[name] for name in ENVIRONMENT}}),
    }


def classroom50(root: Path, files: dict[str, bytes], only: Sequence[str]) -> dict[str, bytes]:
    """The folder of one assignment's autograder. Without the reference: Classroom 50 publishes it on the web."""
    return {**files, **files_in(FILES / "classroom50", ["*"])}


def reference(root: Path) -> dict[str, bytes]:
    """What is lent to a submission in the place of its wrong helpers."""
    return below("reference", files_in(root / "reference", ["*.py"]))


LayOut = Callable[[Path, dict[str, bytes], Sequence[str]], dict[str, bytes]]
PLATFORMS: dict[str, tuple[str, LayOut]] = {
    "gradescope": ("partial", gradescope),
    "prairielearn": ("full", prairielearn),
    "classroom50": ("full", classroom50),
}
"""The least isolation that a platform's containers are known to give, and what lays out the files."""
