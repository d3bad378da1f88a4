"""A copy of the project to publish from, and its archives laid out in a folder."""

import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from harness.publish.archive import packed

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("checks", "docs", "harness", "reference", "student")


def copy_project(folder: Path) -> Path:
    """The parts of the project that archives are made of."""
    folder.mkdir(exist_ok=True)
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".gitignore", "constraints.txt", "noxfile.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def lay_out(files: Mapping[str, bytes], folder: Path) -> Path:
    """Pack the files, and unpack them as a user's tool does, with their modes."""
    with zipfile.ZipFile(io.BytesIO(packed(files))) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, folder))
            path.chmod(entry.external_attr >> 16 & 0o777)
    return folder


def run(
    *command: str | Path, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command in a clean environment: nothing of this project is on its path."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    variables |= {"COLUMNS": "100", "LAB_PYTHON": sys.executable, **(environment or {})}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=300)
