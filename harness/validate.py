"""The instructor's proof: the reference holds every fact, stubs hold none, mistakes die, right answers live.

Everything here is the course's own code and trusted, so it runs in warm worker processes without a boundary: a variant
stands in the place of the reference's function, and is asked the facts about that function.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from harness import facts as suite_facts
from harness.evaluate import Outcome, evaluate
from harness.facts import Check, Fact
from harness.impl import Impl, Timeout
from harness.local import Local, sources_of
from harness.source import is_stub
from harness.variants import Variant, bank

FALSE_ALARMS = 1e-6
"""What the declared rates of a whole suite may add up to."""

PATIENCE = 60
"""Seconds that one fact may take here, whoever answers it."""


class Course(NamedTuple):
    """Where the parts of a course lie."""

    suite: Path
    reference: Path
    stubs: Path
    mistakes: Path
    right_answers: Path


class Case(NamedTuple):
    """One answer to one function. variant: its place in its bank; -1 for the reference."""

    kind: str
    function: str
    variant: int


class Finding(NamedTuple):
    """What came of a case: the facts that were asked and did not hold, as (name, outcome, message)."""

    case: Case
    failed: list[tuple[str, str, str]]


class Proof(NamedTuple):
    """Everything that was found. Each list is empty when all is well."""

    facts: dict[str, int]
    killed: dict[str, tuple[int, int]]
    unharmed: dict[str, tuple[int, int]]
    reference_fails: list[str]
    stubs_written: list[str]
    survivors: list[Variant]
    harmed: list[tuple[Variant, list[tuple[str, str, str]]]]
    false_alarms: float

    @property
    def holds(self) -> bool:
        """Whether nothing falls short."""
        faults = (self.reference_fails, self.stubs_written, self.survivors, self.harmed)
        return not any(faults) and self.false_alarms <= FALSE_ALARMS


def prove(
    course: Course, only: Sequence[str] = (), progress: Callable[[int, int], None] = lambda done, total: None
) -> Proof:
    """Ask every case; `only` chooses functions or modules. `progress` is told how many cases are done, of how many."""
    facts = suite_facts.manifest(course.suite)
    functions = list(dict.fromkeys(f.function for f in facts if not only or {f.function, f.module} & set(only)))
    mistakes, answers = bank(course.mistakes), bank(course.right_answers)
    cases = [Case("reference", function, -1) for function in functions]
    for kind, variants in (("mistake", mistakes), ("right", answers)):
        cases += [Case(kind, v.function, number) for number, v in enumerate(variants) if v.function in functions]
    findings = dict(_ask_all(course, cases, progress))
    dead = [case for case in cases if case.kind == "mistake" and findings[case]]
    alive = [case for case in cases if case.kind == "right" and not findings[case]]
    stubs = sources_of(course.stubs)
    owners = {fact.function: fact.module for fact in facts}
    return Proof(
        facts={function: sum(fact.function == function for fact in facts) for function in functions},
        killed={function: _share(function, dead, mistakes) for function in functions},
        unharmed={function: _share(function, alive, answers) for function in functions},
        reference_fails=[name for case in cases if case.kind == "reference" for name, *_ in findings[case]],
        stubs_written=[function for function in functions if not is_stub(stubs.get(owners[function], b""), function)],
        survivors=[mistakes[case.variant] for case in _variants(cases, "mistake") if not findings[case]],
        harmed=[(answers[case.variant], findings[case]) for case in _variants(cases, "right") if findings[case]],
        false_alarms=sum(fact.false_alarm for fact in facts),
    )


def _variants(cases: Iterable[Case], kind: str) -> Iterator[Case]:
    return (case for case in cases if case.kind == kind and case.variant >= 0)


def _share(function: str, cases: Sequence[Case], variants: Sequence[Variant]) -> tuple[int, int]:
    return sum(case.function == function for case in cases), sum(v.function == function for v in variants)


def _ask_all(
    course: Course, cases: Sequence[Case], progress: Callable[[int, int], None]
) -> Iterator[tuple[Case, list[tuple[str, str, str]]]]:
    """Findings as they come, from one warm worker for each core."""
    os.environ["OMP_NUM_THREADS"] = "1"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ProcessPoolExecutor(cores, initializer=_start, initargs=(course,)) as pool:
        futures = [pool.submit(_ask, case) for case in cases]
        for done, future in enumerate(as_completed(futures), 1):
            finding = future.result()
            progress(done, len(cases))
            yield finding.case, finding.failed


# ---- in a worker ----


class _Worker(NamedTuple):
    checks: dict[str, Check]
    facts: list[Fact]
    owners: dict[str, str]
    sources: dict[str, bytes]
    variants: dict[str, list[Variant]]


_worker: list[_Worker] = []


def _start(course: Course) -> None:
    import torch

    torch.set_num_threads(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # variants may print, and libraries complain about them
        os.dup2(nothing, descriptor)
    checks = suite_facts.load(course.suite)
    facts = [suite_facts.describe(fact_id, check) for fact_id, check in checks.items()]
    facts.sort(key=lambda fact: not fact.defines)  # it kills most mistakes, and one kill is enough
    variants = {"mistake": bank(course.mistakes), "right": bank(course.right_answers)}
    owners = {fact.function: fact.module for fact in facts}
    _worker.append(_Worker(checks, facts, owners, sources_of(course.reference), variants))


def _ask(case: Case) -> Finding:
    """The facts that a case does not hold; of a mistake, the first is enough."""
    worker = _worker[0]
    replaced = {}
    if case.variant >= 0:
        replaced[case.function] = worker.variants[case.kind][case.variant].answer
    impl = Impl(Local(worker.sources, replaced=replaced), worker.owners)
    failed: list[tuple[str, str, str]] = []
    for fact in worker.facts:
        if fact.function == case.function:
            with _patience():
                verdict = evaluate(fact, worker.checks[fact.id], impl)
            if verdict.outcome is not Outcome.PASSED:
                failed.append((fact.name, verdict.outcome.value, verdict.evidence.message[:300]))
                if case.kind == "mistake":
                    break
    return Finding(case, failed)


@contextmanager
def _patience() -> Iterator[None]:
    """A fact that takes too long ends as a time-out; on Windows it does not."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def late(*_: object) -> None:
        raise Timeout(f"no answer after {PATIENCE} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
