"""A digest of what decides the marks: two runs of one submission under equal digests give equal marks."""

import hashlib
from pathlib import Path

DECIDES_NO_MARKS = {
    *("mistakes", "not_graded.toml", "points.toml"),
    *("cohort", "fingerprinting.py", "publish", "stubs.py", "validation", "variants.py"),
}
"""What lies below a suite and this package and is not graded with; points are, from the file that a request names."""


def suite_digest(suite: Path, reference: Path, points: bytes) -> str:
    """Of the facts, the points, this package, the reference and the versions of the libraries.

    It is the same here and in an autograder, which lacks what decides nothing.
    """
    folders = [suite.resolve(), Path(__file__).parent, reference.resolve()]
    contents = [
        (f"{folder.name}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        for folder in folders
        for pattern in ("*.py", "*.toml")
        for path in folder.rglob(pattern)
        if path.is_file() and DECIDES_NO_MARKS.isdisjoint(path.relative_to(folder).parts)
    ]
    constraints = suite.resolve().parent / "constraints.txt"
    if constraints.is_file():
        contents.append(("constraints.txt", constraints.read_bytes()))
    whole = hashlib.sha256()
    for name, data in sorted([*contents, ("points.toml", points)]):
        whole.update(f"{name}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()
