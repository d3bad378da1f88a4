"""What a gradebook tells: a submission's mark, what was added to it by hand, and the runs that gave the marks."""

from typing import NamedTuple

from harness.cohort.roster import Student


class Run(NamedTuple):
    """What a run was started with. source: the submissions' folder or archive.

    functions: those that give points, by name. Runs that have the same are of one lab, however its suite or the
    points changed meanwhile: a mark of one takes the place of another's, and what is added by hand counts in all.
    """

    command: str
    source: str
    suite: str
    selection: tuple[str, ...]
    environment: str
    level: str
    reseed: int
    workers: int
    functions: tuple[str, ...]


class PastRun(NamedTuple):
    """A run as it stands. ended: empty while it goes on, or when it was stopped."""

    id: int
    started: str
    ended: str
    graded: int
    failed: int
    run: Run


class Adjustment(NamedTuple):
    """Points added to a mark by hand, 0 for a comment alone."""

    points: float
    comment: str
    author: str
    created: str


class Mark(NamedTuple):
    """A submission's mark. Without a result, score and max_score are None and `fault` says why.

    students: whose it is, as the newest roster says, or the platform where there is no roster; several for a group,
    none if it does not say. adjustments: of its lab; adjustment: the sum of their points; adjusted: the score with
    them, never below 0. stale: a later run could not grade or read it, for the reason `fault`. readable: false where
    nothing of the submission could be read, and never before.
    """

    label: str
    students: tuple[Student, ...]
    score: float | None
    max_score: float | None
    adjustments: tuple[Adjustment, ...]
    adjustment: float
    adjusted: float | None
    stale: bool
    fault: str
    result_id: int | None
    run: int
    shape: str
    readable: bool
