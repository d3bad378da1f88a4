"""The archive for students: stubs, facts and what asks them. Nothing in it answers a fact."""

from pathlib import Path

from harness.digest import DECIDES_NO_MARKS
from harness.errors import UsageError
from harness.facts import manifest
from harness.marks import read_points
from harness.publish.archive import below, files_in, text
from harness.stubs import generate, given_modules

COMMANDS = (".gitignore", "constraints.txt", "noxfile.py", "pyproject.toml")
FILES = Path(__file__).parent / "files"


def handout(root: Path, points: Path | None = None) -> dict[str, bytes]:
    """The files of a student's copy, by path.

    The stubs are made afresh from the reference: whatever somebody tried out in student/ stays there.
    root: the project. points: stands in the place of checks/points.toml.
    """
    reference = root / "reference"
    if not reference.is_dir():
        raise UsageError(f"{reference}: no such folder; a handout is made in the whole project")
    stubs = {name: source.encode() for name, source in generate(reference).items()}
    return {
        **below("student", stubs),
        **grader(root, points),
        "README.md": text(root / "docs" / "student.md"),
        ".github/workflows/grade.yml": text(FILES / "grade.yml"),
    }


def grader(root: Path, points: Path | None = None) -> dict[str, bytes]:
    """What grades, here and in an autograder: the facts without the bank, the harness, the versions, the commands.

    Raises UsageError if the points are not those of the facts.
    """
    suite = files_in(root / "checks", ["*.py", "points.toml", "fingerprints.json"])
    given = {name: source.encode() for name, source in given_modules(root / "reference").items()}
    if points:
        read_points(points, manifest(root / "checks"))
        suite["points.toml"] = text(points)
    harness = files_in(root / "harness", ["**/*"])
    grading = {name: data for name, data in harness.items() if name.split("/")[0] not in DECIDES_NO_MARKS}
    return {
        **below("checks", {**suite, **below("given", given)}),
        **below("harness", grading),
        **{name: text(root / name) for name in COMMANDS},
    }
