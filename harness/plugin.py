"""A pytest plugin that turns the checks of a suite into verdicts.

Loaded by name (`-p harness.plugin`) in the process that asks for the run and in its xdist workers. pytest only
distributes the facts: each is evaluated here, and its verdict travels in the report. Nothing that a fact or a
submission raises reaches pytest, so nothing can skip, fail or end its session.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.evaluate import Verdict, evaluate
from harness.facts import describe
from harness.impl import Impl

VERDICT = "verdict"
_impl = pytest.StashKey[Impl]()


class Collector:
    """In the process that asked for the run: receives verdicts as they come."""

    def __init__(self, receive: Callable[[str, Verdict, str], None]) -> None:
        self._receive = receive
        self.errors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, value in report.user_properties:
                if name == VERDICT:
                    output = "".join(text for title, text in report.sections if title.startswith("Captured std"))
                    self._receive(report.nodeid, msgspec.convert(value, Verdict), output)
        if report.failed:
            self.errors.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(f"{report.nodeid}: {report.longreprtext}")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("facts")
    group.addoption("--tree", help="folder of the modules under test")
    group.addoption("--reseed", type=int, default=0, help="other seeds and inputs for the same facts")
    group.addoption("--owners", type=_owners, default={}, help="function=module,...: where each function stands")


def _owners(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(",") if pair)


@pytest.fixture(scope="session")
def impl(pytestconfig: pytest.Config) -> Impl:
    """The implementation under test."""
    if _impl not in pytestconfig.stash:
        options = pytestconfig.option
        pytestconfig.stash[_impl] = Impl(Path(options.tree), options.owners)
    return pytestconfig.stash[_impl]


@pytest.fixture
def seed() -> None:
    """Stands for the seed that `evaluate` gives."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    fact = describe(pyfuncitem.nodeid, pyfuncitem.obj)
    asked: Any = pyfuncitem.funcargs["impl"]
    verdict = evaluate(fact, pyfuncitem.obj, asked, pyfuncitem.config.option.reseed)
    pyfuncitem.user_properties.append((VERDICT, msgspec.to_builtins(verdict)))
    return True
