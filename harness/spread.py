"""The facts of one run asked under pytest, spread over its workers."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from harness import curves
from harness.facts import Fact
from harness.grading import Answers, Progress
from harness.plan import Plan, job
from harness.plugin import Collector
from harness.verdict import Verdict
from harness.workers import workers


def ask(plan: Plan, facts: Sequence[Fact], curve_ids: Sequence[str], alone: bool, progress: Progress | None) -> Answers:
    """Run facts and then curves under pytest and its workers; `alone`, one after the other.

    Every option comes from here: no file of a submission, no pytest.ini and no installed plugin has a say.
    """
    request = plan.request
    root = request.suite.resolve().parent
    by_id = {fact.id: fact for fact in facts}
    verdicts: dict[str, Verdict] = {}

    def receive(fact_id: str, verdict: Verdict) -> None:
        if fact_id in by_id:
            verdicts[fact_id] = verdict
            if progress:
                progress(by_id[fact_id], verdict.outcome)

    collector = Collector(job(plan), receive)
    here = ["-n", "0", "-s", "-p", "no:debugging"]  # pytest's own breakpoint() wants its terminal plugin
    spread = ["-n", "1" if alone else str(workers(len(facts))), "--dist", "worksteal", "--max-worker-restart", "4"]
    options = [
        *("-c", os.devnull, "--rootdir", str(root), "--import-mode", "importlib", "-p", "no:cacheprovider"),
        *("-p", "no:terminal", "-p", "no:doctest", "-p", "no:unittest", "-p", "no:faulthandler", "--noconftest"),
        *("-p", "xdist.plugin", "-p", "harness.plugin", "--strict-markers", *(here if request.debug else spread)),
        *("-o", f"python_files=check_*.py {curves.FILE}.py", "-o", "python_functions=check_* curve_*"),
    ]
    names = [*by_id, *curve_ids]
    variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}
    with _environment(**variables, PYTHONPATH=str(root)):
        status = pytest.main([*options, *(str(root / name) for name in names)], plugins=[collector])
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    message = ""
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or collector.errors:
        message = "\n".join([f"pytest ended with status {int(status)}", *collector.errors])
    return Answers(verdicts, collector.curves, collector.isolation, message)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
