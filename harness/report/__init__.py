"""Everything that is made of a result: the page, the files of the platforms, the lines of a workflow.

Each format is a pure function of `harness.result.Result` in a module of its own; `docs/instructor.md`, section
"Formats", says where each contract stands and what each format says when there is no score.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from harness import result as record
from harness.report import classroom50, github, gradebook, gradescope, html, junit, prairielearn
from harness.result import Result

RESULT = "result.json"
PAGE = "report.html"
FORMATS: dict[str, Callable[[Result], str | None]] = {
    "gradescope.json": gradescope.results,
    "prairielearn.json": prairielearn.results,
    "classroom50.json": lambda result: classroom50.results(result, os.environ),
    "junit.xml": junit.document,
    "github-summary.md": github.summary,
    "github-annotations.txt": github.annotations,
    "canvas.csv": lambda result: gradebook.canvas([result]),
    "moodle.csv": lambda result: gradebook.moodle([result]),
    PAGE: html.page,
}
"""Files by name. None: the format has no way to say that there is no score but to be absent."""


def files(result: Result) -> Mapping[str, str | None]:
    """The content of every format's file."""
    return {name: made(result) for name, made in FORMATS.items()}


def write(result: Result, folder: Path) -> None:
    """Replace the files in `folder` by those of this result, `result.json` first; each all or nothing."""
    record.write(result, folder / RESULT)
    for name, content in files(result).items():
        if content is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_text(folder / name, content)


def clear(folder: Path) -> None:
    """Leave no file of an earlier result, which might be taken for one of the next."""
    for name in (RESULT, *FORMATS):
        (folder / name).unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    """Replace the file at `path`, all or nothing; line ends stay as they are."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content.encode("utf-8", "replace"))
    os.replace(partial, path)
