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

from harness.asking import Boundary, Grader, Job
from harness.constants import draw_constants_of
from harness.result import Curve
from harness.sandbox.probe import Isolation, Level
from harness.verdict import Verdict

VERDICT, CURVE = "verdict", "curve"
_boundary = pytest.StashKey[Boundary]()
_grader = pytest.StashKey[Grader]()


class Collector:
    """In the process that asked for the run: hands out the job and receives verdicts as they come, and curves."""

    def __init__(self, job: Job, receive: Callable[[str, Verdict], None]) -> None:
        self._job, self._receive = job, receive
        self.curves: dict[str, Curve] = {}
        self.errors: list[str] = []
        self.isolation: Isolation | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        if self._job.process == "here":
            _start(config, self._job)

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


def pytest_configure(config: pytest.Config) -> None:
    """In a worker: start what takes seconds, beside the collection."""
    job = getattr(config, "workerinput", {}).get("job")
    if job is not None:
        _start(config, msgspec.convert(job, Job))


def _start(config: pytest.Config, job: Job) -> None:
    config.stash[_boundary] = Boundary(job.process, job.without)
    config.stash[_grader] = Grader(job, config.stash[_boundary])
    draw_constants_of(Path(job.suite))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _boundary in config.stash:
        config.stash[_boundary].close()


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
