"""The files of a submission, read once, as bytes: from a folder, a .zip or a .tar.gz.

Nothing is unpacked, followed or run. What is not taken is named, with the reason: links and devices, other names than a
module's, files that are too large, what the harness provides itself.
"""

import bz2
import gzip
import hashlib
import lzma
import os
import re
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from harness.errors import Unreadable, UsageError
from harness.text import inert

FILE_LIMIT = 1_000_000
TOTAL_LIMIT = 4_000_000
COUNT_LIMIT = 200
ENTRY_LIMIT = 5_000
ARCHIVE_LIMIT = 50_000_000
"""Bytes of an archive, and of what a .tar.gz unpacks to: `tarfile` reads a header as long as it says it is."""
DIRECTORY_LIMIT = 100_000
"""Entries of a .zip: `zipfile` lists all of them, 0.6 kB each, before the first can be looked at."""
MODULE_NAME = re.compile(r"[A-Za-z_]\w*\.py", re.ASCII)
UNREADABLE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, ValueError, RuntimeError),  # the last is also what is not implemented, encrypted or recursive
    *(OverflowError, MemoryError),  # sizes that a header makes up
)
PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""What opens a compressed .tar, by its first bytes."""
ZIP = (b"PK\3\4", b"PK\5\6", b"PK\7\b")
"""How a .zip begins. `zipfile.is_zipfile` looks for its end, and finds one in a .tar that holds a .zip."""
OUTSIDE = "its path leads out of the archive"
CLUTTER = {"__MACOSX", "__pycache__", "node_modules", "venv", "build", "dist"}
LIBRARIES = {"numpy", "scipy", "torch"}


class Taken(NamedTuple):
    """A submission in memory. sources: the bytes of each module by name. left_out: the reason by file name."""

    name: str
    sources: dict[str, bytes]
    left_out: dict[str, str]

    def digest(self) -> str:
        """A digest of what was taken, by name."""
        lines = (f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in sorted(self.sources.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


class Entry(NamedTuple):
    """A file that could be taken. read: gives at most so many bytes. problem: why it is none, or nothing."""

    path: PurePosixPath
    size: int
    problem: str
    read: Callable[[int], bytes]


def take(path: Path, modules: Collection[str], given: Mapping[str, bytes]) -> Taken:
    """Read the submission at `path`.

    modules: names of the course's modules; the folder that holds most of them is the submission, at the top or one or
    more levels down. given: modules that the harness provides; a submission's own are left out.
    Raises UsageError when there is no such file, Unreadable when it holds nothing to grade.
    """
    if path.is_dir():
        try:
            entries = list(folder(path))
        except OSError as error:
            raise UsageError(f"{error.filename or path}: cannot be read ({why(error)}); make it readable") from None
    elif path.is_file():
        with path.open("rb") as file:
            entries = list(members(file.read(ARCHIVE_LIMIT + 1), str(path)))
    else:
        raise UsageError(f"{path}: no such folder or archive; --tree takes what holds closed_form.py, dpo.py, ...")
    return taken_from(entries, modules, given, path.resolve().name, str(path))


def taken_from(
    entries: Collection[Entry], modules: Collection[str], given: Mapping[str, bytes], name: str, called: str
) -> Taken:
    """Read what counts among the files of one submission. name: of the submission; called: what an error calls it."""
    top = home(entries, modules)
    if top is None:
        raise Unreadable(f"{called}: none of the modules is there ({', '.join(sorted(modules))})")
    sources: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    for entry in entries:
        if entry.path.parent != top:
            within = entry.path.relative_to(top).parts if entry.path.is_relative_to(top) else ()
            if len(within) > 1 and within[0] in modules:
                left_out[f"{within[0]}/"] = f"folders are not read; {within[0]}.py is what counts"
            continue
        file, reason, data = entry.path.name, _reason(entry, sources), b""
        if not reason:
            try:
                data = entry.read(FILE_LIMIT + 1)
            except UNREADABLE as error:
                reason = f"cannot be read ({inert(why(error))})"
        if not reason and entry.path.stem in given:
            if data != given[entry.path.stem]:
                left_out[file] = "changed, but given: the course's own copy is used"
            continue
        if not reason:
            if sum(map(len, sources.values())) + len(data) > TOTAL_LIMIT:
                reason = f"the files together are larger than {TOTAL_LIMIT:,} bytes"
            elif len(data) > FILE_LIMIT:
                reason = f"larger than {FILE_LIMIT:,} bytes"
        if not reason:
            sources[entry.path.stem] = data
            continue
        left_out[inert(file[:100])] = reason
        if len(left_out) > COUNT_LIMIT:
            break
    return Taken(inert(name), sources | dict(given), left_out)


def shadowed(sources: Collection[str]) -> list[str]:
    """Names of a submission's modules that `import` never finds, as a library or the standard library comes first."""
    return sorted(name for name in sources if name in LIBRARIES or name in sys.stdlib_module_names)


def _reason(entry: Entry, taken: Mapping[str, bytes]) -> str:
    """Why an entry of the submission's own folder is not taken, or nothing."""
    stem = entry.path.stem
    if entry.problem:
        return entry.problem
    if not MODULE_NAME.fullmatch(entry.path.name):
        return "not a Python module's name"
    if entry.size > FILE_LIMIT:
        return f"larger than {FILE_LIMIT:,} bytes"
    if len(taken) >= COUNT_LIMIT:
        return f"more than {COUNT_LIMIT} files"
    if stem in taken:
        return "twice in the archive"
    if any(stem.lower() == other.lower() for other in taken):
        return "its name differs from another's only in case"
    return ""


def why(error: Exception) -> str:
    """What an error says, without the path that an OSError names: that is the grader's, and may hold a name."""
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


def home(entries: Iterable[Entry], modules: Collection[str]) -> PurePosixPath | None:
    """The folder with most of the course's modules; the one nearest the top among equals."""
    counts: dict[PurePosixPath, int] = {}
    for entry in entries:
        if entry.path.suffix == ".py" and entry.path.stem in modules:
            counts[entry.path.parent] = counts.get(entry.path.parent, 0) + 1
    return min(counts, key=lambda folder: (-counts[folder], len(folder.parts), str(folder)), default=None)


def folder(top: Path) -> Iterator[Entry]:
    """The files of a folder and of those below it, links not followed.

    Raises OSError for a folder that may not be listed: what is in it would seem not to have been handed in.
    """
    seen = 0
    for folder, folders, names in os.walk(top, onerror=_raise, followlinks=False):
        folders[:] = sorted(name for name in folders if not _is_clutter(name))
        for name in sorted(names):
            seen += 1
            if seen > ENTRY_LIMIT:
                return
            path = Path(folder, name)
            if _is_clutter(name):
                continue
            status = path.lstat()
            problem = "" if stat.S_ISREG(status.st_mode) else "not a regular file (a link or a device)"
            yield Entry(PurePosixPath(path.relative_to(top).as_posix()), status.st_size, problem, reads(path))


def _raise(error: OSError) -> None:
    raise error


def reads(path: Path) -> Callable[[int], bytes]:
    """What reads at most so many bytes of a regular file; a link that took its place is not followed."""

    def read(limit: int) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            return file.read(limit)

    return read


def members(data: bytes, called: str) -> Iterator[Entry]:
    """The files of an archive in memory; one is decompressed no further than its limit, when it is read."""
    if len(data) > ARCHIVE_LIMIT:
        raise Unreadable(f"{called}: larger than {ARCHIVE_LIMIT:,} bytes; hand in the Python files only")
    try:
        if not data.startswith(ZIP):
            yield from islice(_unpacked_tar(data), ENTRY_LIMIT)
        elif data.count(b"PK\1\2") > DIRECTORY_LIMIT:
            raise Unreadable(f"{called}: more than {DIRECTORY_LIMIT:,} files; hand in the Python files only")
        else:
            yield from islice(zipped(zipfile.ZipFile(BytesIO(data))), ENTRY_LIMIT)
    except UNREADABLE as error:
        raise Unreadable(f"{called}: neither a folder nor a readable .zip or .tar.gz ({inert(why(error))})") from None


def _unpacked_tar(data: bytes) -> Iterator[Entry]:
    """The files of a .tar, compressed or not; of one that unpacks to too much, those at the beginning."""
    opened = next((opener for first, opener in PACKED.items() if data.startswith(first)), None)
    if opened is not None:
        with opened(BytesIO(data)) as file:
            data = file.read(ARCHIVE_LIMIT)
    try:
        yield from tarred(tarfile.TarFile(fileobj=BytesIO(data)))
    except tarfile.ReadError:
        if len(data) < ARCHIVE_LIMIT:
            raise


def zipped(archive: zipfile.ZipFile) -> Iterator[Entry]:
    """The files of a .zip."""
    for info in archive.infolist():
        if not info.filename.endswith(("/", "\\")):  # `is_dir` fails on an empty name
            link = stat.S_ISLNK(info.external_attr >> 16)
            problem = "a link" if link else "encrypted" if info.flag_bits & 1 else ""
            yield from member(zipped_name(info), info.file_size, problem, partial(_unzip, archive, info))


def zipped_name(info: zipfile.ZipInfo) -> str:
    """A member's name. macOS writes UTF-8 and does not say so; `zipfile` then takes it for the code page of DOS."""
    try:
        return info.filename if info.flag_bits & 0x800 else info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    with archive.open(info) as file:
        return file.read(limit)


def tarred(archive: tarfile.TarFile) -> Iterator[Entry]:
    """The files of a .tar that is not compressed.

    Raises ReadError where a header leads back, as one of negative size does: `tarfile` would read in circles for ever.
    """
    last = -1
    for info in archive:
        if info.offset <= last:
            raise tarfile.ReadError("its headers lead in a circle")
        last = info.offset
        if not info.isdir():
            problem = "" if info.isreg() else "not a regular file (a link or a device)"
            yield from member(info.name, info.size, problem, partial(_untar, archive, info))


def _untar(archive: tarfile.TarFile, info: tarfile.TarInfo, limit: int) -> bytes:
    file = archive.extractfile(info)
    return file.read(limit) if file is not None else b""


def member(name: str, size: int, problem: str, read: Callable[[int], bytes]) -> Iterator[Entry]:
    """An archive's member; a path that leads out of the archive is no path of it."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        path, problem = PurePosixPath(path.name), OUTSIDE
    if not any(_is_clutter(part) for part in path.parts):
        yield Entry(path, size, problem, read)


def _is_clutter(name: str) -> bool:
    return name.startswith(".") or name in CLUTTER
