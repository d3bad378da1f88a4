"""The record of a run: what every report is made from, and its file `result.json`.

Schema 1. Numbers of points are rounded to two decimals here and nowhere else; a run with an ERROR or LOST fact is not
complete and has no score.
"""

import os
from pathlib import Path

import msgspec

from harness.evaluate import Evidence, Outcome

SCHEMA = 1


class SubmittedFile(msgspec.Struct, frozen=True):
    """One file of a submission; `left_out` says why it was not read, or is None."""

    name: str
    sha256: str
    left_out: str | None = None


class Submission(msgspec.Struct, frozen=True):
    name: str
    digest: str
    files: list[SubmittedFile]


class Suite(msgspec.Struct, frozen=True):
    """digest: of everything that decides the marks. selection: the names of --only, empty for all facts."""

    digest: str
    facts: int
    selection: list[str]


class Environment(msgspec.Struct, frozen=True):
    python: str
    torch: str
    numpy: str
    platform: str
    reseed: int


class IsolationRecord(msgspec.Struct, frozen=True):
    """level: none, process, partial or full. missing: what was not contained."""

    level: str
    missing: list[str]


class FunctionMarks(msgspec.Struct, frozen=True):
    module: str
    function: str
    score: float | None
    max_score: float


class FactResult(msgspec.Struct, frozen=True):
    id: str
    module: str
    function: str
    title: str
    formula: str
    source: str
    weight: int
    defines: bool
    outcome: Outcome
    evidence: Evidence
    mistake: str | None
    hint: str
    replay: str
    lent: bool
    output: str
    seconds: float


class Result(msgspec.Struct, frozen=True):
    schema: int
    submission: Submission
    suite: Suite
    environment: Environment
    complete: bool
    score: float | None
    max_score: float
    isolation: IsolationRecord
    functions: list[FunctionMarks]
    facts: list[FactResult]
    seconds: float
    message: str = ""


def write(result: Result, path: Path) -> None:
    """Replace `path` by the result, all or nothing."""
    text = msgspec.json.format(msgspec.json.encode(result), indent=1)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(text + b"\n")
    os.replace(partial, path)


def read(path: Path) -> Result:
    """The result in `path`; msgspec.ValidationError names what does not fit the schema."""
    return msgspec.json.decode(path.read_bytes(), type=Result)
