"""How a fact ended, and what a report says of it: plain data, without the libraries that find it out."""

from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    """How a fact ended. ERROR and LOST are the grader's own faults: a run that holds one publishes no score."""

    PASSED = "passed"
    FAILED = "failed"
    TODO = "todo"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    ERROR = "error"
    LOST = "lost"


class Evidence(msgspec.Struct, frozen=True):
    """What a failure shows: the input, what was expected, what was got, in one message or side by side.

    differs: carets under the entries of `got` and `expected` that differ; the three are lines of the same columns.
    cause: the module that cannot be imported, or module.function that is missing, if nothing could be asked for that.
    helper: a function that this one calls and that fails facts itself, where no right one could be lent.
    """

    message: str = ""
    input: str = ""
    expected: str = ""
    got: str = ""
    differs: str = ""
    cause: str = ""
    helper: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of one fact.

    replay: plain Python that makes the last call again, on the unrounded input.
    answers: digests of the function's answers to the probes, if they were asked (`harness.fingerprints`).
    lent: the fact holds with the reference's functions in the place of the submission's other ones.
    by_load: it timed out on the wall clock, so a loaded machine may have been the reason.
    output: what the submission printed.
    """

    outcome: Outcome
    evidence: Evidence = Evidence()
    replay: str = ""
    lent: bool = False
    by_load: bool = False
    output: str = ""
    seconds: float = 0.0
    answers: list[str] = []
