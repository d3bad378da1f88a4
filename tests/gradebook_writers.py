"""What other processes do to a gradebook, for tests: write until they are done, stopped, or out of room.

Started from a fork server that has imported all this already, a process begins to write within milliseconds.
"""

import multiprocessing
import os
import resource
import tempfile
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec

from harness.cohort.gradebook import Gradebook
from harness.cohort.keys import key_of_result
from harness.cohort.mark import Run
from harness.cohort.roster import Student
from harness.errors import GraderFault, UsageError
from harness.result import Result
from tests.sample_results import mixed

NOBODY = 65534
STUDENT = Student(number="17", login="ada", email="ada@example.org", name="Ada Lovelace")


def graded(digest: str = "d1", **changes: Any) -> Result:
    """A complete result of a submission with this digest."""
    result = mixed("submission")
    submission = msgspec.structs.replace(result.submission, digest=digest)
    return msgspec.structs.replace(result, submission=submission, **changes)


KEY = key_of_result(graded())
FUNCTIONS = ("area", "coin", "double", "edge")
RUN = Run("nox -s cohort -- class", "class", *KEY[1:], workers=2, functions=FUNCTIONS)


def started(target: Any, *arguments: object) -> BaseProcess:
    """A process that runs one of the functions below."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    process = server.Process(target=target, args=arguments)
    process.start()
    return process


def write(path: Path, told: Path, name: str, count: int) -> None:
    """Keep `count` results in a run of its own; a line in `told` for each, once it is committed."""
    with Gradebook(path, create=True) as book, told.open("ab", buffering=0) as lines:
        run = book.begin(RUN)
        for place in range(count):
            book.keep(run, f"{name}-{place}", graded(f"{name}-{place}"))
            lines.write(f"{name}-{place}\n".encode())


def fill(path: Path, told: Path, limit: int) -> None:
    """Write into a gradebook that may grow to `limit` bytes; then without the limit. What is said stands in `told`."""
    with Gradebook(path, create=True) as book:
        run = book.begin(RUN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        kept = until_full(book, run)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        book.keep(run, f"ada-{len(kept) - 1}", graded("after"))
        told.write_text("\n".join(kept), encoding="utf-8")


def until_full(book: Gradebook, run: int, most: int = 10_000) -> list[str]:
    """Keep results until there is no room; the labels of those that were kept, and the sentence that ended it."""
    kept: list[str] = []
    try:
        for place in range(most):
            book.keep(run, f"ada-{place}", graded(f"ada-{place}"))
            kept.append(f"ada-{place}")
    except GraderFault as error:
        return [*kept, str(error)]
    raise AssertionError("there was room for all")


def forbidden(path: Path, told: Path) -> None:
    """Write as a user who may not; root may write anything, and becomes nobody."""
    with told.open("w", encoding="utf-8") as lines:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        try:
            with Gradebook(path, create=True) as book:
                book.begin(RUN)
            lines.write("written")
        except (GraderFault, UsageError) as error:
            lines.write(f"{type(error).__name__}: {error}")


def public_folder() -> Path:
    """A new folder that every user can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    return folder
