"""What a class handed in: a folder or an archive of submissions, or what a platform exports (`platforms`).

Nothing is followed or run, and nothing of a submission is written to disk. A submission is read when it is taken, and
not kept: a class of thousands is never in memory at once. Names and e-mails stay in `label` and `authors`: what is
taken is called "submission", also in errors that its author may see.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from harness.cohort import platforms
from harness.cohort.places import Node, root
from harness.cohort.platforms import METADATA, Part
from harness.cohort.roster import Student
from harness.errors import Unreadable, UsageError
from harness.sandbox import intake
from harness.sandbox.intake import Entry, Taken
from harness.text import inert

NEUTRAL = "submission"
LABEL_LIMIT = 120
"""Characters of a label: room for a name and a number."""
METADATA_LIMIT = 500_000_000
"""Bytes of Gradescope's metadata, which hold what an autograder printed: 5,000 students with 100 kB each."""
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
FOREIGN = (".rar", ".7z", ".tar.zst", ".gz", ".bz2", ".xz")
PROJECT = (".py", ".toml", ".md", ".ipynb")
"""How the names of files end that stand in one submission's folder, not in a folder of submissions."""
HIDDEN = {"__MACOSX", "__pycache__"}

Take = Callable[[Collection[str], Mapping[str, bytes]], Taken]


class Handed(NamedTuple):
    """One submission of the class, not yet read.

    label: what the platform calls it (folder, repository, user part); one line, printable, unique in the class, even
    where case does not count.
    problem: why it holds nothing to grade, where this is known without reading it; else nothing.
    take: reads it, given the names of the course's modules and the modules that the harness provides. It raises
    Unreadable when the submission holds nothing to grade, which is its author's to mend, and another UsageError when it
    cannot be read here and now, which is not. It may be called again; from one thread at a time.
    authors: what the platform says of them, for a roster to match field by field; empty fields are unknown.
    """

    label: str
    problem: str
    take: Take
    authors: tuple[Student, ...] = ()


class _Piece(NamedTuple):
    """A file or folder that a submission is made of."""

    part: Part
    node: Node


def found(path: Path) -> list[Handed]:
    """The submissions of a class, in order of their labels.

    Raises UsageError if there is no such file, if it holds no submissions, or if it is one submission and no class.
    """
    folder, items = path.resolve().name, _visible(root(path).items())
    while (inner := _wrapped(items)) is not None:
        folder, items = inner.name, _visible(inner.items())
    _refuse_one(path, items)
    authors = _authors(items)
    by_name: dict[str, list[_Piece]] = {name: [] for name in authors}
    for piece in _pieces(items, folder):
        by_name.setdefault(piece.part.label, []).append(piece)
    if not by_name:
        raise UsageError(
            f"{path}: no submissions there; give what holds a folder or an archive (.zip, .tar.gz) for each student, "
            "or a download from Canvas, Moodle, Gradescope or GitHub"
        )
    labels = _labels(by_name)
    handed = [_handed(labels[name], of, authors.get(name, ())) for name, of in by_name.items()]
    return sorted(handed, key=lambda each: each.label)


def _refuse_one(path: Path, items: Sequence[Node]) -> None:
    """Raise UsageError if this is one submission: a class has no Python at its top unless a platform named it."""
    folders = [node for node in items if node.entry is None]
    python = [node.name for node in items if _ends(node.name, (".py", "pyproject.toml"))]
    if _of_platform(items):
        return
    if not python and len(folders) == 1 == len(items) and path.is_file():
        python = [f"{folders[0].name}/{node.name}" for node in folders[0].items() if _ends(node.name, (".py",))]
    if python:
        raise UsageError(
            f"{path}: one submission, as {inert(min(python))} stands in it; give what holds a folder or an archive for "
            f"each student, or grade this one alone: nox -s grade -- --tree {path}"
        )


def _of_platform(items: Sequence[Node]) -> bool:
    """Whether a platform gave names to what stands there."""
    in_canvas = sum(node.entry is not None and platforms.canvas(node.name) is not None for node in items)
    return (
        2 * in_canvas > len(items)
        or any(platforms.moodle(node.name, is_folder=node.entry is None) for node in items)
        or any(node.name == METADATA for node in items)
    )


def _handed(label: str, pieces: Sequence[_Piece], authors: tuple[Student, ...]) -> Handed:
    known = authors or tuple({piece.part.author for piece in pieces} - {Student()})
    problem = "" if pieces else "the export holds no file of it"
    foreign = [_ending(node.name, (*ARCHIVES, *FOREIGN)) for _, node in pieces if node.entry is not None]
    if foreign and len(foreign) == len(pieces) and set(foreign) <= set(FOREIGN):
        problem = f"no archive that can be read ({foreign[0]}); hand in a .zip or a .tar.gz"
    return Handed(label, problem, partial(_take, pieces, problem), known)


def _pieces(items: Sequence[Node], folder: str) -> list[_Piece]:
    """What is (a part of) a submission among what stands at the top of a class, and of which one."""
    by_platform = _of_platform(items)
    stems = Counter(_stem(node) for node in items)
    pieces = []
    for node in items:
        part = platforms.moodle(node.name, is_folder=node.entry is None)
        if part is None and by_platform and node.entry is not None:
            part = platforms.canvas(node.name)
        if part is None and _may_be_submission(node):
            name = _stem(node) if stems[_stem(node)] == 1 else node.name
            part = Part(name, "", 0, platforms.classroom(folder, name))
        if part is not None:
            pieces.append(_Piece(part, node))
    return pieces


def _may_be_submission(node: Node) -> bool:
    """Whether a node that no platform named is a student's. What is no folder may be a link to one."""
    if node.entry is None or _ends(node.name, (*ARCHIVES, *FOREIGN)):
        return True
    return "link" in node.entry.problem and "." not in node.name


def _take(pieces: Sequence[_Piece], problem: str, modules: Collection[str], given: Mapping[str, bytes]) -> Taken:
    if problem:
        raise Unreadable(f"{NEUTRAL}: {problem}")
    entries = _files(pieces)
    if intake.home(entries, modules) is None:
        entries += _opened(entries, modules)
    taken = intake.taken_from(entries, modules, given, NEUTRAL, NEUTRAL)
    if not (set(modules) - set(given)) & set(taken.sources):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(taken.left_out.items())[:3])
        raise Unreadable(f"{NEUTRAL}: none of the modules can be read ({reasons})")
    return taken


def _files(pieces: Sequence[_Piece]) -> list[Entry]:
    """The files of a submission, under the names that its author gave them; the newest of those of one name."""
    named: dict[str, Entry] = {}
    below: list[Entry] = []
    for part, node in sorted(pieces, key=lambda piece: piece.part.age):
        if node.entry is None:
            below += node.files()
            continue
        if "link" in node.entry.problem:
            raise UsageError(f"{NEUTRAL}: {node.entry.problem}; put the folder or the archive itself in its place")
        name = part.original or f"{NEUTRAL}{_ending(node.name, ARCHIVES)}"
        named[name] = node.entry._replace(path=PurePosixPath(name))
    return [*named.values(), *below]


def _opened(entries: Sequence[Entry], modules: Collection[str]) -> list[Entry]:
    """What is in the archives among a submission's files, each as a folder of its own; archives in these stay closed.

    Together they are no larger than one may be. Raises Unreadable, with the reasons, if one cannot be read and no other
    holds a module.
    """
    opened: list[Entry] = []
    problems = []
    room = intake.ARCHIVE_LIMIT
    for entry in entries:
        if not _ends(entry.path.name, ARCHIVES):
            continue
        called = f"{NEUTRAL}: {inert(entry.path.name)}"
        data = b"" if entry.problem else entry.read(room + 1)
        try:
            if entry.problem or len(data) > room:
                raise Unreadable(f"{called}: {entry.problem or 'too large; hand in the Python files only'}")
            opened += [each._replace(path=entry.path / each.path) for each in intake.members(data, called)]
        except Unreadable as error:
            problems.append(str(error))
        room = max(0, room - len(data))
    if problems and intake.home(opened, modules) is None:
        raise Unreadable("; ".join(problems[:3]))
    return opened


def _stem(node: Node) -> str:
    """What a folder or an archive is called, without an archive's ending."""
    ending = _ending(node.name, (*ARCHIVES, *FOREIGN)) if node.entry is not None else ""
    return node.name[: len(node.name) - len(ending)] or node.name


def _visible(nodes: Sequence[Node]) -> list[Node]:
    return sorted(
        (node for node in nodes if not node.name.startswith(".") and node.name not in HIDDEN),
        key=lambda node: node.name,
    )


def _wrapped(items: Sequence[Node]) -> Node | None:
    """The one folder that stands there, if it holds a class and is not a submission itself."""
    folders = [node for node in items if node.entry is None]
    if len(folders) != 1 or any(_ends(node.name, (*ARCHIVES, *FOREIGN, *PROJECT, METADATA)) for node in items):
        return None
    if platforms.moodle(folders[0].name, is_folder=True) is not None:
        return None
    inner = folders[0].items()
    visible = _visible(inner)
    many = sum(node.entry is None or _ends(node.name, ARCHIVES) for node in visible) > 1
    project = any(node.name == ".git" or (node.entry is not None and _ends(node.name, PROJECT)) for node in inner)
    is_class = _of_platform(visible) or (many and not project) or _wrapped(visible) is not None
    return folders[0] if is_class else None


def _authors(items: Sequence[Node]) -> dict[str, tuple[Student, ...]]:
    """Gradescope's metadata, if they stand there: the authors by submission."""
    for node in items:
        if node.name == METADATA and node.entry is not None:
            data = node.entry.read(METADATA_LIMIT + 1)
            if len(data) > METADATA_LIMIT:
                raise UsageError(f"{METADATA}: larger than {METADATA_LIMIT:,} bytes; take it away, and pass a roster")
            return platforms.gradescope(data)
    return {}


def _labels(names: Collection[str]) -> dict[str, str]:
    """A label for each name: composed, on one line, nothing invisible in it, none equal to another in any case."""
    labels: dict[str, str] = {}
    used: set[str] = set()
    for name in sorted(names):
        plain = " ".join(inert(unicodedata.normalize("NFC", name)).split())[:LABEL_LIMIT] or "(no name)"
        label, count = plain, 1
        while label.casefold() in used:
            count += 1
            label = f"{plain} ({count})"
        used.add(label.casefold())
        labels[name] = label
    return labels


def _ends(name: str, endings: tuple[str, ...]) -> bool:
    return name.lower().endswith(endings)


def _ending(name: str, endings: tuple[str, ...]) -> str:
    """The longest ending of a name among those given, or nothing."""
    return max((ending for ending in endings if name.lower().endswith(ending)), key=len, default="")
