"""A folder or an archive as what stands at one place, and below: the same for both. Nothing is followed."""

import os
import stat
import tarfile
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from harness.errors import UsageError
from harness.sandbox import intake
from harness.sandbox.intake import Entry

CLASS_ENTRY_LIMIT = 500_000
"""Files and folders of a class's archive: 5,000 students with 100 each. They are listed in memory (1.4 kB each)."""
CLASS_LIMIT = 20_000_000_000
"""Bytes that a class's .tar.gz may unpack to: 5,000 students with 4 MB each, the most that counts of a submission."""
FOLDER = "a folder"
"""The problem of what stands for a folder that an archive lists: it may hold nothing, and is a submission still."""
LINK = "not a regular file (a link or a device)"


class Node(NamedTuple):
    """A file or a folder. entry: of a file. items: what stands directly in a folder; files: every file below it."""

    name: str
    entry: Entry | None
    items: "Callable[[], list[Node]]"
    files: Callable[[], Iterable[Entry]]


def root(path: Path) -> Node:
    """A folder or an archive that somebody names; raises UsageError when it is neither.

    An archive stays open as long as something of it may be read. A compressed .tar can be read from its beginning only:
    its bytes are unpacked, as one stream, to a temporary file that has no name; its members are not.
    """
    if path.is_dir():
        return _on_disk(path)
    if not path.is_file():
        raise UsageError(f"{path}: no such folder or archive")
    try:
        entries = [each for each in islice(_members(path), CLASS_ENTRY_LIMIT + 1) if each.problem != intake.OUTSIDE]
    except intake.UNREADABLE as error:
        raise UsageError(
            f"{path}: cannot be read as a .zip or .tar.gz ({intake.why(error)}); download it again, or unpack it and "
            "give the folder"
        ) from None
    if len(entries) > CLASS_ENTRY_LIMIT:
        raise UsageError(f"{path}: more than {CLASS_ENTRY_LIMIT:,} files; unpack it, and give the folder")
    if entries and all(entry.problem in ("encrypted", FOLDER) for entry in entries):
        raise UsageError(f"{path}: encrypted; unpack it, and give the folder")
    return _packed(path.name, [_here(entry) for entry in entries], 0)


def _here(entry: Entry) -> Entry:
    """The same file, which is nobody's fault but the disk's or the class's archive's if it cannot be read."""
    return entry._replace(read=partial(read, entry, called=entry.path.name))


def read(entry: Entry, limit: int, *, called: str) -> bytes:
    """At most `limit` bytes of a file; raises UsageError, which says what it is called, when it cannot be read."""
    try:
        return entry.read(limit)
    except intake.UNREADABLE as error:
        raise UsageError(f"{called}: cannot be read here ({intake.why(error)})") from None


def _on_disk(path: Path) -> Node:
    return Node(path.name, None, partial(_listed, path), partial(_below, path))


def _listed(path: Path) -> list[Node]:
    """What stands directly in a folder."""
    nodes = []
    try:
        with os.scandir(path) as found:
            for each in found:
                if each.is_dir(follow_symlinks=False):
                    nodes.append(_on_disk(Path(each.path)))
                    continue
                status = each.stat(follow_symlinks=False)
                problem = "" if stat.S_ISREG(status.st_mode) else LINK
                entry = Entry(PurePosixPath(each.name), status.st_size, problem, intake.reads(Path(each.path)))
                nodes.append(Node(each.name, _here(entry), list, list))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({intake.why(error)})") from None
    return nodes


def _below(path: Path) -> list[Entry]:
    try:
        return [_here(entry) for entry in intake.folder(path)]
    except OSError as error:
        raise UsageError(f"the folder cannot be read ({intake.why(error)})") from None


def _packed(name: str, entries: list[Entry], depth: int) -> Node:
    """A folder of an archive, by the files below it."""

    def items() -> list[Node]:
        folders: dict[str, list[Entry]] = {}
        nodes = []
        for entry in entries:
            here = entry.path.parts[depth : depth + 1]
            if len(entry.path.parts) > depth + 1:
                folders.setdefault(here[0], []).append(entry)
            elif here and entry.problem == FOLDER:
                folders.setdefault(here[0], [])
            elif here:
                nodes.append(Node(here[0], entry, list, list))
        return [*nodes, *(_packed(each, below, depth + 1) for each, below in folders.items())]

    def files() -> list[Entry]:
        return [entry for entry in entries if entry.problem != FOLDER][: intake.ENTRY_LIMIT]

    return Node(name, None, items, files)


def _members(path: Path) -> Iterator[Entry]:
    """The files and folders that an archive on disk lists. It is open until nothing of it can be read any more."""
    with path.open("rb") as file:
        first = file.read(8)
    if first.startswith(intake.ZIP):
        zipped = zipfile.ZipFile(path)
        yield from intake.zipped(zipped)
        folders = [intake.zipped_name(info) for info in zipped.infolist() if info.filename.endswith(("/", "\\"))]
    else:
        stream = _seekable(path, first)
        try:
            tarred = tarfile.TarFile(fileobj=stream)
        except BaseException:
            stream.close()
            raise
        weakref.finalize(tarred, stream.close)
        yield from intake.tarred(tarred)
        folders = [info.name for info in tarred if info.isdir()]
    for folder in folders:
        yield from intake.member(folder, 0, FOLDER, bytes)


def _seekable(path: Path, first: bytes) -> IO[bytes]:
    """A .tar to read from anywhere: itself, or what it unpacks to. first: the bytes that it begins with."""
    opener = next((opener for start, opener in intake.PACKED.items() if first.startswith(start)), None)
    if opener is None:
        return path.open("rb")
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 (it is returned)
    try:
        with opener(path) as stream:
            while chunk := stream.read(1_000_000):
                unpacked.write(chunk)
                if unpacked.tell() > CLASS_LIMIT:
                    raise UsageError(
                        f"{path}: unpacks to more than {CLASS_LIMIT:,} bytes; unpack it, and give the folder"
                    )
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return unpacked
