"""Cases: one answer to one function each, asked the facts about it in warm worker processes.

Everything here is the course's own code and trusted, so it runs without a boundary: an answer stands in the place of
the reference's function, or a changed source in the place of a module of the reference.
"""

import functools
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from harness import facts as suite_facts
from harness.evaluate import evaluate
from harness.facts import SECONDS, Check, Fact
from harness.impl import Impl, Timeout
from harness.local import Local, sources_of
from harness.tree import Tree
from harness.variants import Variant, bank
from harness.verdict import Outcome

PATIENCE, WAIT = 2, 30
"""How many times its own limit a fact may take here: of computing time, and by the clock, on a loaded machine."""

MEMORY = 4 << 30
"""Bytes that a worker may hold; a mutant may ask for more than there is."""

KEEPS_ALL = ("reference", "right", "lending")
"""Kinds that hold every fact: where one does not, the smallest input is worth looking for."""

AnyFunction = Callable[..., Any]
Makes = Callable[[AnyFunction], AnyFunction]


class Course(NamedTuple):
    """Where the parts of a course lie.

    peers: a folder of comparisons with other people's libraries. equivalents: a list of the mutants that no fact can
    kill. derivations: a file of functions that derive false-alarm rates. record: what the last deep run found. A course
    may have none of these.
    """

    suite: Path
    reference: Path
    stubs: Path
    mistakes: Path
    right_answers: Path
    peers: Path | None = None
    equivalents: Path | None = None
    derivations: Path | None = None
    record: Path | None = None


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
    poisoned: another function, which raises when it is called; what is lent stands in for it, as in a graded run.
    noting: the finding says which other graded functions each fact called.
    """

    kind: str
    function: str
    name: str = ""
    source: bytes = b""
    stand_in: Makes | None = None
    facts: tuple[str, ...] = ()
    reseed: int = 0
    until_killed: bool = False
    poisoned: str = ""
    noting: bool = False


class Failure(NamedTuple):
    """A fact that did not hold, by name."""

    fact: str
    outcome: str
    message: str


class Finding(NamedTuple):
    """What came of a case. asked: the seconds of each fact that was asked, by name; failed: those that did not hold.

    called: of a case that is noting, the other graded functions that each fact called, by its name.
    """

    case: Case
    asked: dict[str, float]
    failed: list[Failure]
    called: dict[str, list[str]]


class Memory(Protocol):
    """Findings of earlier runs."""

    def finding(self, case: Case) -> Finding | None:
        """What was found of a case, if it need not be asked again."""

    def keep(self, finding: Finding) -> None:
        """Remember a finding."""


def ask(
    course: Course,
    cases: Sequence[Case],
    progress: Callable[[int, int], None] = lambda done, total: None,
    more: Callable[[Finding], Sequence[Case]] = lambda finding: (),
    memory: Memory | None = None,
) -> Iterator[Finding]:
    """Findings as they come, from one warm worker for each core.

    progress: is told how many cases are done, of how many. more: further cases that a finding gives rise to.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that a worker imports
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ProcessPoolExecutor(cores, initializer=_start, initargs=(course,)) as pool:
        waiting: set[Future[Finding]] = set()
        new, done, total = list(cases), 0, len(cases)
        try:
            while new or waiting:
                known = [memory.finding(case) if memory else None for case in new]
                waiting |= {pool.submit(_ask, case) for case, found in zip(new, known, strict=True) if not found}
                arrived = [found for found in known if found]
                if not arrived:
                    ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    arrived = [future.result() for future in ready]
                    if memory:
                        for finding in arrived:
                            memory.keep(finding)
                new = []
                for finding in arrived:
                    further = more(finding)
                    new += further
                    done, total = done + 1, total + len(further)
                    progress(done, total)
                    yield finding
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


# ---- in a worker ----


class _Worker(NamedTuple):
    checks: dict[str, Check]
    facts: list[Fact]
    owners: dict[str, str]
    sources: dict[str, bytes]
    variants: dict[tuple[str, str], Variant]
    lent: dict[str, AnyFunction]


_worker: list[_Worker] = []


def _start(course: Course) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # variants may print, and libraries complain about them
        os.dup2(nothing, descriptor)
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    checks = suite_facts.load(course.suite)
    facts = [suite_facts.describe(fact_id, check) for fact_id, check in checks.items()]
    # Cheap ones first, and of them the one that kills most: answers may be asked until one kills.
    facts.sort(key=lambda fact: (is_dear(fact), not fact.defines))
    banks = {"mistake": bank(course.mistakes), "right": bank(course.right_answers)}
    variants = {(kind, variant.identifier): variant for kind, found in banks.items() for variant in found}
    owners = {fact.function: fact.module for fact in facts}
    sources = sources_of(course.reference)
    tree = Tree(sources)
    lent = {function: getattr(tree.module(module), function) for function, module in owners.items()}
    _worker.append(_Worker(checks, facts, owners, sources, variants, lent))


def is_dear(fact: Fact) -> bool:
    """Whether a fact takes seconds where others take hundredths: its limit is above the usual one."""
    return fact.seconds > SECONDS


def _ask(case: Case) -> Finding:
    """Ask a case its facts."""
    worker = _worker[0]
    called: list[str] = []
    impl = Impl(_backend(case, worker, called), worker.owners)
    finding = Finding(case, {}, [], {})
    for fact in worker.facts:
        if fact.function != case.function or (case.facts and fact.name not in case.facts):
            continue
        called.clear()
        with _patience(fact.seconds):
            verdict = evaluate(fact, worker.checks[fact.id], impl, case.reseed, shrink=case.kind in KEEPS_ALL)
        finding.asked[fact.name] = round(verdict.seconds, 3)
        if case.noting:
            finding.called[fact.name] = sorted(set(called))
        if verdict.outcome is not Outcome.PASSED:
            finding.failed.append(Failure(fact.name, verdict.outcome.value, verdict.evidence.message[:300]))
            if case.until_killed or verdict.outcome is Outcome.TIMEOUT:
                break
    return finding


def _backend(case: Case, worker: _Worker, called: list[str]) -> Local:
    """The reference, with the case's answer in it. called: where to note the other functions that are called."""
    place = (worker.owners[case.function], case.function)
    if case.source:
        return Local({**worker.sources, place[0]: case.source})
    if case.poisoned:
        poisoned = (worker.owners[case.poisoned], case.poisoned)
        return Local(worker.sources, replaced={poisoned: _poison}, lent=worker.lent)
    replaced: dict[tuple[str, str], Makes] = {}
    if case.noting:
        others = ((module, name) for name, module in worker.owners.items() if name != case.function)
        replaced = {other: functools.partial(_noting, called) for other in others}
    variant = worker.variants.get((case.kind, case.name))
    if variant:
        replaced[place] = lambda own: variant.answer
    elif case.stand_in:
        replaced[place] = case.stand_in
    return Local(worker.sources, replaced=replaced)


def _poison(own: AnyFunction) -> AnyFunction:
    @functools.wraps(own)
    def raises(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{own.__name__} was called")

    return raises


def _noting(called: list[str], own: AnyFunction) -> AnyFunction:
    @functools.wraps(own)
    def noting(*arguments: Any, **keywords: Any) -> Any:
        called.append(own.__name__)
        return own(*arguments, **keywords)

    return noting


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """A fact that takes too long ends as a time-out; on Windows it does not."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_: object) -> None:
        raise Timeout(f"no answer after {PATIENCE} times the limit of {seconds:g} s")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, PATIENCE), (signal.SIGALRM, signal.ITIMER_REAL, WAIT))
    for name, timer, times in timers:
        signal.signal(name, late)
        signal.setitimer(timer, times * seconds)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
