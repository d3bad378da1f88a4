"""Cases: one answer to one function each, asked the facts about it in warm worker processes.

Everything here is the course's own code and trusted, so it runs without a boundary: an answer stands in the place of
the reference's function, or a changed source in the place of a module of the reference.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from harness import facts as suite_facts
from harness.evaluate import Outcome, evaluate
from harness.facts import Check, Fact
from harness.impl import Impl, Timeout
from harness.local import Local, sources_of
from harness.tree import Tree
from harness.variants import Variant, bank

PATIENCE = 4
"""How many times its own limit a fact may take here, by the clock, whoever answers it."""

KEEPS_ALL = ("reference", "right")
"""Kinds that hold every fact: where one does not, the smallest input is worth looking for."""

AnyFunction = Callable[..., Any]


class Course(NamedTuple):
    """Where the parts of a course lie."""

    suite: Path
    reference: Path
    stubs: Path
    mistakes: Path
    right_answers: Path


class Case(NamedTuple):
    """One answer to one function, and what it is asked. It travels to a worker, so it holds plain values.

    kind: what it is to the proof: "reference", "mistake", "right", or any other word.
    function: the one that the facts are about.
    name: tells it from the others of its kind; of a mistake and a right answer, the identifier of the variant.
    source: stands in the place of the source of the function's module, if it is not empty: a mutant.
    stand_in: makes the answer out of the reference's own function; a function of a module, so that it can travel.
    facts: names of the facts to ask; all that are about the function, if empty.
    reseed: as in `nox -s grade -- --reseed N`.
    until_killed: the first fact that does not hold is the last. One that times out is the last in any case.
    """

    kind: str
    function: str
    name: str = ""
    source: bytes = b""
    stand_in: Callable[[AnyFunction], AnyFunction] | None = None
    facts: tuple[str, ...] = ()
    reseed: int = 0
    until_killed: bool = False


class Failure(NamedTuple):
    """A fact that did not hold, by name."""

    fact: str
    outcome: str
    message: str


class Finding(NamedTuple):
    """What came of a case. asked: the seconds of each fact that was asked, by name; failed: those that did not hold."""

    case: Case
    asked: dict[str, float]
    failed: list[Failure]


def ask(
    course: Course, cases: Sequence[Case], progress: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[Finding]:
    """Findings as they come, from one warm worker for each core. `progress` is told how many are done, of how many."""
    os.environ["OMP_NUM_THREADS"] = "1"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ProcessPoolExecutor(cores, initializer=_start, initargs=(course,)) as pool:
        futures = [pool.submit(_ask, case) for case in cases]
        for done, future in enumerate(as_completed(futures), 1):
            finding = future.result()
            progress(done, len(cases))
            yield finding


# ---- in a worker ----


class _Worker(NamedTuple):
    checks: dict[str, Check]
    facts: list[Fact]
    owners: dict[str, str]
    sources: dict[str, bytes]
    variants: dict[tuple[str, str], Variant]


_worker: list[_Worker] = []


def _start(course: Course) -> None:
    import torch

    torch.set_num_threads(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # variants may print, and libraries complain about them
        os.dup2(nothing, descriptor)
    checks = suite_facts.load(course.suite)
    facts = [suite_facts.describe(fact_id, check) for fact_id, check in checks.items()]
    facts.sort(key=lambda fact: not fact.defines)  # it kills most mistakes, and may be asked until one kills
    banks = {"mistake": bank(course.mistakes), "right": bank(course.right_answers)}
    variants = {(kind, variant.identifier): variant for kind, found in banks.items() for variant in found}
    owners = {fact.function: fact.module for fact in facts}
    _worker.append(_Worker(checks, facts, owners, sources_of(course.reference), variants))


def _ask(case: Case) -> Finding:
    """Ask a case its facts."""
    worker = _worker[0]
    impl = Impl(_backend(case, worker), worker.owners)
    finding = Finding(case, {}, [])
    for fact in worker.facts:
        if fact.function != case.function or (case.facts and fact.name not in case.facts):
            continue
        with _patience(PATIENCE * fact.seconds):
            verdict = evaluate(fact, worker.checks[fact.id], impl, case.reseed, shrink=case.kind in KEEPS_ALL)
        finding.asked[fact.name] = verdict.seconds
        if verdict.outcome is not Outcome.PASSED:
            finding.failed.append(Failure(fact.name, verdict.outcome.value, verdict.evidence.message[:300]))
            if case.until_killed or verdict.outcome is Outcome.TIMEOUT:
                break
    return finding


def _backend(case: Case, worker: _Worker) -> Local:
    """The reference, with the case's answer in it."""
    module = worker.owners[case.function]
    if case.source:
        return Local({**worker.sources, module: case.source})
    if case.stand_in:
        own = getattr(Tree(worker.sources).module(module), case.function)
        return Local(worker.sources, replaced={case.function: case.stand_in(own)})
    variant = worker.variants.get((case.kind, case.name))
    return Local(worker.sources, replaced={case.function: variant.answer} if variant else {})


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """A fact that takes too long ends as a time-out; on Windows it does not."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def late(*_: object) -> None:
        raise Timeout(f"no answer after {seconds:.0f} s")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
