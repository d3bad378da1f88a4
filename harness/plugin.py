"""A pytest plugin that turns the checks of a suite into verdicts, and its curves into points.

Loaded by name (`-p harness.plugin`) in the process that asks for the run and in its xdist workers. pytest only
distributes the facts: each is evaluated here, and its verdict travels in the report. Nothing that a fact or a
submission raises reaches pytest, so nothing can skip, fail or end its session. A worker holds the submission as bytes;
only the process behind its client ever runs them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from harness import curves, probes
from harness.evaluate import Evidence, Outcome, Verdict, evaluate
from harness.facts import Fact, describe
from harness.impl import Impl
from harness.local import Local
from harness.result import Curve
from harness.sandbox.backend import Confined
from harness.sandbox.client import Client
from harness.sandbox.lender import Lender
from harness.sandbox.probe import Isolation, Level, probe

VERDICT, CURVE = "verdict", "curve"
_grader = pytest.StashKey["Grader"]()


class Job(msgspec.Struct, frozen=True):
    """What a worker needs to know. process: "auto", "process" (the portable one) or "here" (no boundary, to debug).

    suite: its folder, where the probes are, if they are to be asked. reference: the folder to lend from, or nothing.
    without: layers of confinement to leave off, for tests.
    """

    sources: dict[str, bytes]
    left_out: dict[str, str]
    owners: dict[str, str]
    process: str
    require: int
    reseed: int = 0
    folder: str = ""
    reference: str = ""
    without: list[str] = []
    pdb: bool = False
    suite: str = ""


class Collector:
    """In the process that asked for the run: hands out the job and receives verdicts as they come, and curves."""

    def __init__(self, job: Job, receive: Callable[[str, Verdict], None]) -> None:
        self._job, self._receive = job, receive
        self.curves: dict[str, Curve] = {}
        self.errors: list[str] = []
        self.isolation: Isolation | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        if self._job.process == "here":
            config.stash[_grader] = Grader(self._job)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["job"] = msgspec.to_builtins(self._job, builtin_types=(bytes,))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, value in report.user_properties:
                if name == VERDICT:
                    level, leaks, verdict = cast(tuple[int, list[str], Any], value)
                    self._met(Isolation(Level(level), leaks))
                    self._receive(report.nodeid, msgspec.convert(verdict, Verdict))
                elif name == CURVE and value is not None:
                    self.curves[report.nodeid] = msgspec.convert(value, Curve)
        if report.failed:
            self.errors.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(f"{report.nodeid}: {report.longreprtext}")

    def _met(self, isolation: Isolation) -> None:
        """A run is as well isolated as its worst worker."""
        if self.isolation is None or isolation.level < self.isolation.level:
            self.isolation = isolation


class Grader:
    """A worker's submission, behind its boundary."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._client = _client(job)
        self._isolation: Isolation | None = None
        if self._client is None:
            backend: Confined | Local = Local(job.sources, job.folder, job.pdb)
        else:
            lender = Lender(Path(job.reference), job.owners) if job.reference else None
            backend = Confined(self._client, job.sources, job.left_out, job.owners, lender)
        self._impl = Impl(backend, job.owners)
        self._probes = probes.load(Path(job.suite)) if job.suite else probes.Probes({}, frozenset())
        self._asked: set[str] = set()

    def ask(self, fact_id: str, check: Callable[..., None]) -> tuple[Isolation, Verdict]:
        """The verdict on one fact, and how well the submission was isolated; below what was required nothing is run."""
        isolation = self._probed()
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
        if self._probed().level < self._job.require:
            return None
        return curves.ask(curve_id, curve, self._impl, self._job.owners)

    def _probed(self) -> Isolation:
        if self._isolation is None:
            self._isolation = Isolation(Level.NONE, []) if self._client is None else probe(self._client)
        return self._isolation

    def close(self) -> None:
        """Leave no process behind."""
        if self._client is not None:
            self._client.close()


def _client(job: Job) -> Client | None:
    if job.process == "here":
        return None
    if job.process == "process":
        from harness.sandbox.portable import Portable

        return Portable()
    from harness.sandbox.forked import Forked

    return Forked(frozenset(job.without))


def pytest_configure(config: pytest.Config) -> None:
    """In a worker: start what takes seconds, beside the collection."""
    job = getattr(config, "workerinput", {}).get("job")
    if job is not None:
        config.stash[_grader] = Grader(msgspec.convert(job, Job))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _grader in config.stash:
        config.stash[_grader].close()


@pytest.fixture
def impl() -> None:
    """Stands for the implementation that `evaluate` gives."""


@pytest.fixture
def seed() -> None:
    """Stands for the seed that `evaluate` gives."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    grader = pyfuncitem.config.stash[_grader]
    if hasattr(pyfuncitem.obj, "asked"):
        pyfuncitem.user_properties.append((CURVE, msgspec.to_builtins(grader.draw(pyfuncitem.nodeid, pyfuncitem.obj))))
        return True
    isolation, verdict = grader.ask(pyfuncitem.nodeid, pyfuncitem.obj)
    value = (int(isolation.level), isolation.leaks, msgspec.to_builtins(verdict))
    pyfuncitem.user_properties.append((VERDICT, value))
    return True
