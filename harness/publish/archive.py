"""Archives that come out the same, byte for byte, wherever and whenever they are made."""

import io
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip archive knows
UNIX = 3
PLAIN, EXECUTABLE = 0o100644, 0o100755


def packed(files: Mapping[str, bytes]) -> bytes:
    """A zip archive of files by POSIX path: sorted, of one time, executable where a file starts with `#!`.

    It is not compressed: two builds of zlib may compress the same bytes differently.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = UNIX
            entry.external_attr = (EXECUTABLE if data.startswith(b"#!") else PLAIN) << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def write(data: bytes, path: Path) -> None:
    """Replace `path`, all or nothing; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(data)
    os.replace(partial, path)


def files_in(folder: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """The files of a folder that match a pattern, by POSIX path relative to it; hidden ones and bytecode never do."""
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {
        name: text(path)
        for name, path in sorted(names.items())
        if "__pycache__" not in name and not any(part.startswith(".") for part in name.split("/"))
    }


def text(path: Path) -> bytes:
    """A text file's bytes, with the line ends of Unix: a checkout may have others, and shells want these."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def below(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, one folder deeper."""
    return {f"{folder}/{name}": data for name, data in files.items()}
