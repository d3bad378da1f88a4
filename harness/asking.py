"""One submission behind its boundary, asked one fact after another: what every way of grading has in common."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from harness import curves, probes
from harness.evaluate import evaluate
from harness.facts import Check, Fact, describe
from harness.impl import Impl
from harness.local import Local
from harness.result import Curve
from harness.sandbox.backend import Confined
from harness.sandbox.client import Client
from harness.sandbox.lender import Lender
from harness.sandbox.probe import Isolation, Level, probe
from harness.verdict import Evidence, Outcome, Verdict


class Job(msgspec.Struct, frozen=True):
    """What a worker needs to know. process: "auto", "process" (the portable one) or "here" (no boundary, to debug).

    suite: its folder. reference: the folder to lend from, or nothing. folder: where the submission lies, to debug.
    without: layers of confinement to leave off, for tests.
    """

    sources: dict[str, bytes]
    left_out: dict[str, str]
    owners: dict[str, str]
    suite: str
    process: str
    require: int
    reseed: int = 0
    folder: str = ""
    reference: str = ""
    without: list[str] = []
    pdb: bool = False


class Boundary:
    """What keeps submissions apart from this process: a client, and how well it contains. It outlives a submission."""

    def __init__(self, process: str, without: list[str] | None = None) -> None:
        self.client = _client(process, without or [])
        self._isolation: Isolation | None = None

    def isolation(self) -> Isolation:
        """The level, found by effect at the first call."""
        if self._isolation is None:
            self._isolation = Isolation(Level.NONE, []) if self.client is None else probe(self.client)
        return self._isolation

    def close(self) -> None:
        """Leave no process behind."""
        if self.client is not None:
            self.client.close()


class Grader:
    """A submission behind its boundary."""

    def __init__(self, job: Job, boundary: Boundary) -> None:
        self._job, self._boundary = job, boundary
        if boundary.client is None:
            backend: Confined | Local = Local(job.sources, job.folder, job.pdb)
            self._probes = probes.Probes({}, frozenset())
        else:
            lender = Lender(Path(job.reference), job.owners) if job.reference else None
            backend = Confined(boundary.client, job.sources, job.left_out, job.owners, lender)
            self._probes = probes.load(Path(job.suite))
        self._impl = Impl(backend, job.owners)
        self._asked: set[str] = set()

    def ask(self, fact_id: str, check: Check) -> tuple[Isolation, Verdict]:
        """The verdict on one fact, and how well the submission was isolated; below what was required nothing is run."""
        isolation = self._boundary.isolation()
        if isolation.level < self._job.require:
            required = Level(self._job.require)
            message = f"not run: isolation here is {isolation.level}, and {required} is required"
            return isolation, Verdict(Outcome.ERROR, Evidence(message))
        fact = describe(fact_id, check)
        verdict = evaluate(fact, check, self._impl, self._job.reseed)
        return isolation, self._with_answers(verdict, fact)

    def _with_answers(self, verdict: Verdict, fact: Fact) -> Verdict:
        """With the first failure of a function come its answers to the probes."""
        probed = self._probes.by_function.get(fact.function)
        if (
            verdict.outcome is not Outcome.FAILED
            or verdict.evidence.cause
            or fact.function in self._asked
            or not probed
        ):
            return verdict
        self._asked.add(fact.function)
        try:
            answers = probes.answers(self._impl, fact, probed, lend=self._impl.backend.can_lend(fact))
        except Exception:  # whatever a probe stumbles over: no mistake is named, and marks are as they were
            return verdict
        return msgspec.structs.replace(verdict, answers=answers)

    def draw(self, curve_id: str, curve: Callable[..., curves.Plot]) -> Curve | None:
        """One curve of the submission; None below the required isolation."""
        if self._boundary.isolation().level < self._job.require:
            return None
        return curves.ask(curve_id, curve, self._impl, self._job.owners)


def _client(process: str, without: list[str]) -> Client | None:
    if process == "here":
        return None
    if process == "process":
        from harness.sandbox.portable import Portable

        return Portable()
    from harness.sandbox.forked import Forked

    return Forked(frozenset(without))
