"""What to grade, understood before any code of a submission runs: the facts, their points, the submission in memory."""

import os
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from harness import facts as suite_facts
from harness import fingerprints, probes
from harness.asking import Job
from harness.digest import suite_digest
from harness.errors import Unreadable, UsageError
from harness.facts import Fact
from harness.fingerprints import Fingerprints
from harness.local import sources_of
from harness.marks import points_of, read_table
from harness.probes import Probes
from harness.sandbox.intake import Taken, take
from harness.sandbox.probe import Level
from harness.text import inert


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


class Known(NamedTuple):
    """What is the same for every submission. facts: all of them, in the order of the points.

    points: of all functions. given: modules that the harness provides. digest: of what decides the marks.
    """

    facts: list[Fact]
    owners: dict[str, str]
    points: dict[str, Fraction]
    given: dict[str, bytes]
    fingerprints: Fingerprints
    probes: Probes
    digest: str

    @property
    def modules(self) -> set[str]:
        """The modules that hold what is graded."""
        return set(self.owners.values())


class Plan(NamedTuple):
    """A request that is understood: the submission in memory, the chosen facts, the points of their functions.

    unreadable: why nothing of the submission could be read, or nothing.
    """

    request: Request
    known: Known
    submission: Taken
    facts: list[Fact]
    points: dict[str, Fraction]
    unreadable: str = ""


def load(request: Request, points: bytes | None = None) -> Known:
    """List the facts, and read what goes with them. points: their table, where it is not the file of the request."""
    every = suite_facts.manifest(request.suite)
    table = read_table(request.points) if points is None else points
    shares = points_of(table, every, request.points)
    order = list(shares)
    every.sort(key=lambda fact: order.index(fact.function))  # that of the lecture, which the points file keeps
    return Known(
        facts=every,
        owners={fact.function: fact.module for fact in every},
        points=shares,
        given=sources_of(request.suite / "given"),
        fingerprints=fingerprints.read(request.suite),
        probes=probes.load(request.suite),
        digest=suite_digest(request.suite, request.reference, table),
    )


def plan(request: Request) -> Plan:
    """Choose the facts that --only names, and read the submission. None of its code runs."""
    known = load(request)
    try:
        return plan_for(request, known, take(request.tree, known.modules, known.given))
    except Unreadable as error:
        nothing = Taken(inert(request.tree.resolve().name), {}, {})
        return plan_for(request, known, nothing, inert(str(error)))


def plan_for(request: Request, known: Known, submission: Taken, unreadable: str = "") -> Plan:
    """The plan for one submission; the tree that the request names is not looked at."""
    chosen = select(known.facts, request.only)
    functions = {fact.function for fact in chosen}
    points = {name: value for name, value in known.points.items() if name in functions}
    return Plan(request, known, submission, chosen, points, unreadable)


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


def job(plan: Plan) -> Job:
    """What asks the submission of a plan needs to know."""
    request = plan.request
    return Job(
        sources=plan.submission.sources,
        left_out=plan.submission.left_out,
        owners=plan.known.owners,
        suite=str(request.suite.resolve()),
        process=kind_of_process(request),
        require=int(request.require),
        reseed=request.reseed,
        folder=f"{request.tree.resolve()}{os.sep}" if request.debug else "",
        reference=str(request.reference.resolve()) if request.reference.is_dir() else "",
        without=list(request.without),
        pdb=request.pdb,
    )


def kind_of_process(request: Request) -> str:
    """What a submission runs in: "auto", "process" or "here"."""
    if request.debug:
        return "here"
    return request.process if sys.platform == "linux" else "process"
