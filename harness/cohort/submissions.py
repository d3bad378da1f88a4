"""What a class handed in: a folder or an archive of submissions, or what a platform exports.

Nothing is unpacked, followed or run. A submission is read when it is taken, and not kept: a class of thousands is never
in memory at once. Names and e-mails stay in `label` and `authors`: what is taken is called "submission".
"""

import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness.errors import UsageError
from harness.sandbox import intake
from harness.sandbox.intake import Taken
from harness.text import inert

NEUTRAL_NAME = "submission"

Take = Callable[[Collection[str], Mapping[str, bytes]], Taken]


class Handed(NamedTuple):
    """One submission of the class, not yet read.

    label: what the platform calls it (folder, repository, user part); one line, printable, unique in the class.
    problem: why it holds nothing to grade, where this is known without reading it; else nothing.
    take: reads it, given the names of the course's modules and the modules that the harness provides; raises Unreadable
    when it holds nothing to grade: its author's to mend. It may be called again; from one thread at a time.
    authors: for each author that the platform names, what a roster may know them by (ids, e-mail, user name).
    """

    label: str
    problem: str
    take: Take
    authors: tuple[tuple[str, ...], ...] = ()


def found(path: Path) -> list[Handed]:
    """The submissions of a class, in order of their labels.

    Raises UsageError if there is no such file, if it holds no submissions, or if it is one submission and no class.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: no such folder")
    handed = [
        Handed(inert(entry.name), "", partial(_take, Path(entry.path)))
        for entry in os.scandir(path)
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
    ]
    if not handed:
        raise UsageError(f"{path}: holds no submissions")
    return sorted(handed, key=lambda each: each.label)


def _take(path: Path, modules: Collection[str], given: Mapping[str, bytes]) -> Taken:
    return intake.take(path, modules, given)._replace(name=NEUTRAL_NAME)
