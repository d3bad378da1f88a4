"""What is said between a Dask worker and the grading process that it keeps: messages in frames, over two pipes.

Both ends are the course's own; of a submission only bytes pass through. Light to import: a Dask worker holds nothing
of what grades.
"""

from typing import IO, Any

import msgspec

LENGTH = 8
"""Bytes of the length that stands before a message."""


class Start(msgspec.Struct, frozen=True, tag=True):
    """How to grade. suite, reference: folders; relative ones lie in the project of the process that grades.

    points: the table itself. digest: of the suite, and versions: of Python, torch and NumPy, without which nothing is
    graded here. only, reseed, process, require: as in `harness.plan.Request`.
    core: to run on, of those that there are; any, if it is negative. run: of which cohort this is, as another may be
    graded alike, at the same time and by the same workers.
    """

    suite: str
    reference: str
    points: bytes
    digest: str
    versions: tuple[str, str, str]
    only: tuple[str, ...] = ()
    reseed: int = 0
    process: str = "auto"
    require: int = 0
    core: int = -1
    run: str = ""


class Submission(msgspec.Struct, frozen=True, tag=True):
    """A submission's modules, and what was left out of it, with the reasons."""

    sources: dict[str, bytes]
    left_out: dict[str, str]


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The grading process has started. level: of isolation."""

    level: str


class Refused(msgspec.Struct, frozen=True, tag=True):
    """This place cannot grade as it was asked to."""

    why: str


class Step(msgspec.Struct, frozen=True, tag=True):
    """A fact is decided."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """A submission is graded. result: `harness.result.Result` as JSON. shape: as in `harness.cohort.shape`.

    by_load: a fact ran out of time for what may be the machine's fault. seconds: it took; evaluating: within the facts.
    """

    result: bytes
    shape: str
    by_load: bool
    seconds: float
    evaluating: float


class Fault(msgspec.Struct, frozen=True, tag=True):
    """The grader failed, not the submission."""

    why: str


Message = Start | Submission | Ready | Refused | Step | Done | Fault
_decode = msgspec.msgpack.Decoder(Message).decode


def write(stream: IO[bytes], message: Any) -> None:
    """Send a message."""
    data = msgspec.msgpack.encode(message)
    stream.write(len(data).to_bytes(LENGTH, "big") + data)
    stream.flush()


def read(stream: IO[bytes]) -> Message | None:
    """The next message; None when the other end is closed."""
    size = stream.read(LENGTH)
    if len(size) < LENGTH:
        return None
    data = stream.read(int.from_bytes(size, "big"))
    return _decode(data) if len(data) == int.from_bytes(size, "big") else None
