"""A run: the manifest of facts, their verdicts on one tree, the marks, the record."""

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest

from harness import facts as suite_facts
from harness.errors import UsageError
from harness.evaluate import Evidence, Outcome, Verdict
from harness.facts import Fact
from harness.marks import marks, read_points, rounded
from harness.plugin import Collector
from harness.result import (
    SCHEMA,
    Environment,
    FactResult,
    FunctionMarks,
    Isolation,
    Result,
    Submission,
    SubmittedFile,
    Suite,
)


class Request(NamedTuple):
    """What to grade, and how."""

    tree: Path
    suite: Path
    points: Path
    reference: Path
    only: tuple[str, ...] = ()
    reseed: int = 0


class Plan(NamedTuple):
    """A request whose names are resolved: the chosen facts and the points of their functions."""

    request: Request
    facts: list[Fact]
    all_facts: int
    owners: dict[str, str]
    points: dict[str, Fraction]


Progress = Callable[[Fact, Outcome], None]


def plan(request: Request) -> Plan:
    """Check the tree, list the facts and choose those that --only names. No submission code runs."""
    tree = request.tree
    if not tree.is_dir():
        raise UsageError(f"{tree}: no such folder; --tree takes the folder that holds closed_form.py, dpo.py, ...")
    every = suite_facts.manifest(request.suite)
    chosen = select(every, request.only)
    modules = {fact.module for fact in every}
    if not any((tree / f"{module}.py").is_file() for module in modules):
        raise UsageError(f"{tree}: none of the modules is there ({', '.join(sorted(modules))})")
    points = read_points(request.points, every)
    functions = {fact.function for fact in chosen}
    owners = {fact.function: fact.module for fact in every}
    return Plan(
        request, chosen, len(every), owners, {name: value for name, value in points.items() if name in functions}
    )


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
    """Ask the tree every fact of the plan."""
    started = time.perf_counter()
    by_id = {fact.id: fact for fact in plan.facts}
    verdicts: dict[str, Verdict] = {}
    outputs: dict[str, str] = {}

    def receive(fact_id: str, verdict: Verdict, output: str) -> None:
        if fact_id in by_id and fact_id not in verdicts:
            verdicts[fact_id], outputs[fact_id] = verdict, output
            if progress:
                progress(by_id[fact_id], verdict.outcome)

    message = _run_pytest(plan, receive)
    return record(plan, verdicts, outputs, time.perf_counter() - started, message)


def record(
    plan: Plan, verdicts: Mapping[str, Verdict], outputs: Mapping[str, str], seconds: float, message: str = ""
) -> Result:
    """Join the manifest with the verdicts: a fact without one is LOST, never passed."""
    lost = Verdict(Outcome.LOST, Evidence("the grader lost this fact: grade again"))
    joined = {fact.id: verdicts.get(fact.id, lost) for fact in plan.facts}
    outcomes = {fact_id: verdict.outcome for fact_id, verdict in joined.items()}
    complete = not {Outcome.ERROR, Outcome.LOST} & set(outcomes.values())
    exact = marks(plan.facts, outcomes, plan.points)
    score, max_score = rounded(exact.score), rounded(exact.max_score)
    request = plan.request
    return Result(
        schema=SCHEMA,
        submission=submission(request.tree),
        suite=Suite(_suite_digest(request), plan.all_facts, list(request.only)),
        environment=Environment(
            platform.python_version(), version("torch"), version("numpy"), platform.platform(), request.reseed
        ),
        complete=complete,
        score=round(sum(score.values()), 2) if complete else None,
        max_score=round(sum(max_score.values()), 2),
        isolation=Isolation("none", ["process boundary"]),
        functions=[
            FunctionMarks(plan.owners[name], name, score[name] if complete else None, max_score[name]) for name in score
        ],
        facts=[_fact_result(fact, joined[fact.id], outputs.get(fact.id, "")) for fact in plan.facts],
        seconds=round(seconds, 3),
        message=message,
    )


def submission(tree: Path) -> Submission:
    """The files of a tree, with their digests."""
    files = [
        SubmittedFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(tree.glob("*.py"))
        if path.is_file()
    ]
    whole = hashlib.sha256("".join(f"{file.name} {file.sha256}\n" for file in files).encode()).hexdigest()
    return Submission(tree.resolve().name, whole, files)


def _fact_result(fact: Fact, verdict: Verdict, output: str) -> FactResult:
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
        mistake=None,
        hint=fact.hint,
        replay=f"nox -s grade -- --only {fact.name}\n\n{verdict.replay}".rstrip(),
        lent=False,
        output=output,
        seconds=round(verdict.seconds, 4),
    )


def _run_pytest(plan: Plan, receive: Callable[[str, Verdict, str], None]) -> str:
    """Run the chosen facts under pytest and its workers; returns what went wrong with the run itself, or nothing.

    Every option comes from here: a submission's folder, a pytest.ini, a conftest.py or an installed plugin has no say.
    """
    root = plan.request.suite.resolve().parent
    collector = Collector(receive)
    owners = ",".join(f"{function}={module}" for function, module in plan.owners.items())
    options = [
        *("-c", os.devnull, "--rootdir", str(root), "--import-mode", "importlib", "-p", "no:cacheprovider"),
        *("-p", "no:terminal", "-p", "no:doctest", "-p", "no:unittest", "--noconftest"),
        *("-p", "xdist.plugin", "-p", "harness.plugin", "--strict-markers"),
        *("-n", str(workers(len(plan.facts))), "--dist", "worksteal", "--max-worker-restart", "4"),
        *("-o", "python_files=check_*.py", "-o", "python_functions=check_*"),
        *("--tree", str(plan.request.tree.resolve()), "--reseed", str(plan.request.reseed), "--owners", owners),
    ]
    with _environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="", OMP_NUM_THREADS="1", PYTHONPATH=str(root)):
        status = pytest.main([*options, *(str(root / fact.id) for fact in plan.facts)], plugins=[collector])
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or collector.errors:
        return "\n".join([f"pytest ended with status {int(status)}", *collector.errors])
    return ""


def workers(facts: int) -> int:
    """One worker per core, up to 4, for as many facts as are worth its start (about a second)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(4, cores, facts // 8))


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
    """A digest of what decides the marks: the facts, this package, the reference and the versions of the libraries."""
    root = request.suite.resolve().parent
    folders = [request.suite.resolve(), Path(__file__).parent, request.reference.resolve()]
    files = [path for folder in folders for pattern in ("*.py", "*.toml") for path in folder.rglob(pattern)]
    whole = hashlib.sha256()
    for path in sorted([*files, root / "constraints.txt", request.points.resolve()]):
        if path.is_file():
            name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
            whole.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return whole.hexdigest()
