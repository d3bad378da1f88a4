"""A run: the manifest of facts, their verdicts on one tree, the marks, the record."""

import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from harness import curves, feedback, fingerprints, probes
from harness import facts as suite_facts
from harness.errors import Unreadable, UsageError
from harness.evaluate import Evidence, Outcome, Verdict
from harness.facts import Fact
from harness.local import sources_of
from harness.marks import marks, read_points, rounded
from harness.plugin import Collector, Job
from harness.result import (
    SCHEMA,
    Curve,
    Environment,
    FactResult,
    FunctionMarks,
    IsolationRecord,
    Result,
    Submission,
    SubmittedFile,
    Suite,
)
from harness.sandbox.intake import Taken, shadowed, take
from harness.sandbox.probe import Isolation, Level
from harness.text import inert
from harness.workers import workers

DECIDES_NO_MARKS = {
    *("mistakes", "not_graded.toml", "points.toml"),
    *("fingerprinting.py", "publish", "stubs.py", "validation", "variants.py"),
}
"""What lies below a suite and this package and is not graded with; points are, from the file that a request names."""


class Request(NamedTuple):
    """What to grade, and how.

    process: "auto" or "process". require: the least level of isolation. draw: whether the curves are asked as well.
    """

    tree: Path
    suite: Path
    points: Path
    reference: Path
    only: tuple[str, ...] = ()
    reseed: int = 0
    process: str = "auto"
    require: Level = Level.NONE
    without: tuple[str, ...] = ()
    debug: bool = False
    pdb: bool = False
    draw: bool = True


class Plan(NamedTuple):
    """A request that is understood: the submission in memory, the chosen facts, the points of their functions.

    unreadable: why nothing of the submission could be read, or nothing.
    """

    request: Request
    submission: Taken
    facts: list[Fact]
    all_facts: int
    owners: dict[str, str]
    points: dict[str, Fraction]
    unreadable: str = ""


Progress = Callable[[Fact, Outcome], None]


def plan(request: Request) -> Plan:
    """List the facts, choose those that --only names, and read the submission. None of its code runs."""
    every = suite_facts.manifest(request.suite)
    given = sources_of(request.suite / "given")
    points = read_points(request.points, every)
    unreadable = ""
    try:
        submission = take(request.tree, {fact.module for fact in every}, given)
    except Unreadable as error:
        submission, unreadable = Taken(inert(request.tree.resolve().name), {}, {}), inert(str(error))
    order = list(points)
    every.sort(key=lambda fact: order.index(fact.function))  # that of the lecture, which the points file keeps
    chosen = select(every, request.only)
    functions = {fact.function for fact in chosen}
    owners = {fact.function: fact.module for fact in every}
    chosen_points = {name: value for name, value in points.items() if name in functions}
    return Plan(request, submission, chosen, len(every), owners, chosen_points, unreadable)


def select(facts: Sequence[Fact], names: Iterable[str]) -> list[Fact]:
    """The facts of the named modules, functions and facts, in file order; all of them when nothing is named."""
    wanted = list(names)
    known = {name for fact in facts for name in (fact.module, fact.function, fact.name)}
    for name in wanted:
        if name.rpartition("::")[2] not in known:
            near = get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "give a module, a function or a fact"
            raise UsageError(f"--only {name}: nothing has that name; {hint}")
    short = {name.rpartition("::")[2] for name in wanted}
    return [fact for fact in facts if not short or short & {fact.module, fact.function, fact.name}]


def grade(plan: Plan, progress: Progress | None = None) -> Result:
    """Ask the submission every fact of the plan; none, and it has no points, if nothing of it could be read."""
    if plan.unreadable:
        nothing = record(plan, {}, message=plan.unreadable)
        functions = [msgspec.structs.replace(row, score=0.0) for row in nothing.functions]
        return msgspec.structs.replace(nothing, readable=False, complete=True, score=0.0, functions=functions, facts=[])
    started = time.perf_counter()
    run = _Run(plan, progress)
    request = plan.request
    wanted = curves.ids(request.suite, plan.points) if request.draw and not request.debug else []
    run.ask(plan.facts, wanted)
    slowed = [fact for fact in plan.facts if fact.id in run.verdicts and run.verdicts[fact.id].by_load]
    if slowed:
        run.ask(slowed, alone=True)
    drawn = [run.curves[curve_id] for curve_id in wanted if curve_id in run.curves]
    return record(plan, run.verdicts, time.perf_counter() - started, run.isolation, run.message, drawn)


def record(
    plan: Plan,
    verdicts: Mapping[str, Verdict],
    seconds: float = 0.0,
    isolation: Isolation | None = None,
    message: str = "",
    drawn: Sequence[Curve] = (),
) -> Result:
    """Join the manifest with the verdicts: a fact without one is LOST, never passed."""
    lost = Verdict(Outcome.LOST, Evidence("the grader lost this fact: grade again"))
    joined = {fact.id: verdicts.get(fact.id, lost) for fact in plan.facts}
    request = plan.request
    known, whole = fingerprints.read(request.suite), not {fact.name for fact in plan.facts} & set(request.only)
    named = feedback.named(known, probes.load(request.suite), plan.facts, joined, whole)
    told = feedback.told(named, plan.facts, joined)
    if not request.reference.is_dir():  # nothing was lent
        joined = feedback.folded(joined, plan.facts, plan.submission.sources, named)
    outcomes = {fact_id: verdict.outcome for fact_id, verdict in joined.items()}
    complete = not {Outcome.ERROR, Outcome.LOST} & set(outcomes.values())
    exact = marks(plan.facts, outcomes, plan.points)
    score, max_score = rounded(exact.score), rounded(exact.max_score)
    isolation = isolation or Isolation(Level.NONE, [])
    return Result(
        schema=SCHEMA,
        submission=_submission(plan.submission, sources_of(request.suite / "given")),
        suite=Suite(_suite_digest(request), plan.all_facts, list(request.only)),
        environment=Environment(
            platform.python_version(), version("torch"), version("numpy"), platform.platform(), request.reseed
        ),
        complete=complete,
        score=round(sum(score.values()), 2) if complete else None,
        max_score=round(sum(max_score.values()), 2),
        isolation=IsolationRecord(str(isolation.level), isolation.leaks),
        functions=[
            FunctionMarks(plan.owners[name], name, score[name] if complete else None, max_score[name]) for name in score
        ],
        facts=[_fact_result(fact, joined[fact.id], told.get(fact.id)) for fact in plan.facts],
        seconds=round(seconds, 3),
        message=message,
        curves=list(drawn),
    )


def _submission(taken: Taken, given: Collection[str]) -> Submission:
    """The files that were taken, and those that were not, with the reasons."""
    own = {name: data for name, data in taken.sources.items() if name not in given}
    unused = {f"{name}.py": "never imported: a library has this name" for name in shadowed(own)}
    files = [
        SubmittedFile(f"{name}.py", hashlib.sha256(data).hexdigest(), unused.get(f"{name}.py"))
        for name, data in sorted(own.items())
    ]
    files += [SubmittedFile(name, "", reason) for name, reason in sorted(taken.left_out.items())]
    return Submission(taken.name, taken.digest(), files)


def _fact_result(fact: Fact, verdict: Verdict, mistake: str | None) -> FactResult:
    return FactResult(
        id=fact.id,
        module=fact.module,
        function=fact.function,
        title=fact.title,
        formula=fact.formula,
        source=fact.source,
        weight=fact.weight,
        defines=fact.defines,
        outcome=verdict.outcome,
        evidence=verdict.evidence,
        mistake=mistake,
        hint=fact.hint,
        replay=f"nox -s grade -- --only {fact.name}\n\n{verdict.replay}".rstrip(),
        lent=verdict.lent,
        output=verdict.output if verdict.outcome is not Outcome.PASSED else "",  # 64 kB each, for 200 facts
        seconds=round(verdict.seconds, 4),
    )


class _Run:
    """The verdicts of a plan, as they come."""

    def __init__(self, plan: Plan, progress: Progress | None) -> None:
        self._plan, self._progress = plan, progress
        self._by_id = {fact.id: fact for fact in plan.facts}
        self.verdicts: dict[str, Verdict] = {}
        self.curves: dict[str, Curve] = {}
        self.isolation: Isolation | None = None
        self.message = ""

    def ask(self, facts: Sequence[Fact], curve_ids: Sequence[str] = (), alone: bool = False) -> None:
        """Run facts and then curves under pytest and its workers; `alone`, one after the other.

        Every option comes from here: no file of a submission, no pytest.ini and no installed plugin has a say.
        """
        request = self._plan.request
        root = request.suite.resolve().parent
        collector = Collector(self._job(), self._receive)
        here = ["-n", "0", "-s"]
        spread = ["-n", "1" if alone else str(workers(len(facts))), "--dist", "worksteal", "--max-worker-restart", "4"]
        options = [
            *("-c", os.devnull, "--rootdir", str(root), "--import-mode", "importlib", "-p", "no:cacheprovider"),
            *("-p", "no:terminal", "-p", "no:doctest", "-p", "no:unittest", "-p", "no:faulthandler", "--noconftest"),
            *("-p", "xdist.plugin", "-p", "harness.plugin", "--strict-markers", *(here if request.debug else spread)),
            *("-o", f"python_files=check_*.py {curves.FILE}.py", "-o", "python_functions=check_* curve_*"),
        ]
        names = [*(fact.id for fact in facts), *curve_ids]
        variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}
        with _environment(**variables, PYTHONPATH=str(root)):
            status = pytest.main([*options, *(str(root / name) for name in names)], plugins=[collector])
        self.isolation = collector.isolation or self.isolation
        self.curves |= collector.curves
        if status == pytest.ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or collector.errors:
            self.message = "\n".join([f"pytest ended with status {int(status)}", *collector.errors])

    def _receive(self, fact_id: str, verdict: Verdict) -> None:
        if fact_id in self._by_id:
            self.verdicts[fact_id] = verdict
            if self._progress:
                self._progress(self._by_id[fact_id], verdict.outcome)

    def _job(self) -> Job:
        request = self._plan.request
        return Job(
            sources=self._plan.submission.sources,
            left_out=self._plan.submission.left_out,
            owners=self._plan.owners,
            process="here" if request.debug else request.process if sys.platform == "linux" else "process",
            require=int(request.require),
            reseed=request.reseed,
            folder=f"{request.tree.resolve()}{os.sep}" if request.debug else "",
            reference=str(request.reference.resolve()) if request.reference.is_dir() else "",
            without=list(request.without),
            pdb=request.pdb,
            suite="" if request.debug else str(request.suite.resolve()),
        )


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


def _suite_digest(request: Request) -> str:
    """A digest of what decides the marks: facts, points, this package, the reference, the versions of the libraries.

    It is the same here and in an autograder, which lacks what decides nothing.
    """
    folders = [request.suite.resolve(), Path(__file__).parent, request.reference.resolve()]
    files = [
        (f"{folder.name}/{path.relative_to(folder).as_posix()}", path)
        for folder in folders
        for pattern in ("*.py", "*.toml")
        for path in folder.rglob(pattern)
        if DECIDES_NO_MARKS.isdisjoint(path.relative_to(folder).parts)
    ]
    files += [("constraints.txt", request.suite.resolve().parent / "constraints.txt"), ("points.toml", request.points)]
    whole = hashlib.sha256()
    for name, path in sorted(files):
        if path.is_file():
            whole.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return whole.hexdigest()
