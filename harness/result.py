"""The record of a run: what every report is made from, and its file `result.json`.

Schema 1. Numbers of points are rounded to two decimals here and nowhere else; a run with an ERROR or LOST fact is not
complete and has no score.
"""

import os
from pathlib import Path

import msgspec

from harness.verdict import Evidence, Outcome

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


class Series(msgspec.Struct, frozen=True):
    """A line of a curve, of the submission or `exact`. missing: how many of its points are no numbers to draw."""

    name: str
    x: list[float]
    y: list[float]
    exact: bool
    missing: int = 0


class Curve(msgspec.Struct, frozen=True):
    """What functions of the submission give, beside what is right; `message` says why there is nothing to draw.

    Scales are "linear" or "log"; ticks are the names of x = 0, 1, 2, ... where x counts things.
    """

    id: str
    functions: list[str]
    title: str
    caption: str
    x_label: str = ""
    y_label: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    ticks: list[str] = []
    series: list[Series] = []
    message: str = ""


class Result(msgspec.Struct, frozen=True):
    """readable: false when nothing of the submission could be read; then `message` says why, and no fact was asked."""

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
    readable: bool = True
    curves: list[Curve] = []


def write(result: Result, path: Path) -> None:
    """Replace `path` by the result, all or nothing."""
    text = msgspec.json.format(msgspec.json.encode(result), indent=1)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(text + b"\n")
    os.replace(partial, path)


def read(path: Path) -> Result:
    """The result in `path`; msgspec.ValidationError names what does not fit the schema."""
    return msgspec.json.decode(path.read_bytes(), type=Result)
