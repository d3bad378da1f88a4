"""Classroom 50's runner runs this in a student's checkout, for each submission, with what GitHub's machine has.

It writes ./result.json and ends with status 0. Any other status means that the fault is not the submission's: the
runner then records an error, with 0 of 0 points.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULT = Path.cwd() / "result.json"
OUR_FAULT = 3


def main() -> int:
    """Grade the checkout; returns the exit status."""
    RESULT.unlink(missing_ok=True)
    python = os.environ.get("LAB_PYTHON") or environment()
    with tempfile.TemporaryDirectory() as out:
        options = (HERE / "grade-options").read_text(encoding="utf-8").split()
        grade = [python, "-m", "harness", "grade", "--tree", str(Path.cwd()), "--out", out, *options]
        status = subprocess.run(grade, cwd=HERE).returncode
        graded = Path(out) / "classroom50.json"
        if not graded.is_file():
            print(f"::error::The grader ended with status {status}, which is not the submission's fault.")
            return OUR_FAULT
        shutil.copyfile(graded, RESULT)
    return 0


def environment() -> str:
    """The Python of an environment beside this file, made by noxfile.py."""
    subprocess.run([sys.executable, HERE / "noxfile.py"], check=True)
    return str(HERE / ".venv" / "bin" / "python")


if __name__ == "__main__":
    sys.exit(main())
