"""One run over a class: what is known already, what is graded now, and all of it into the gradebook at once."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from harness.cohort.engine import Engine, Item
from harness.cohort.gradebook import Gradebook
from harness.cohort.keys import environment_digest, key_of
from harness.cohort.mark import Run
from harness.cohort.submissions import NEUTRAL, Handed
from harness.errors import Unreadable, UsageError
from harness.grading import environment, nothing_read
from harness.plan import Known, Request, plan_for, select
from harness.sandbox.intake import Taken
from harness.sandbox.probe import Level
from harness.text import inert


class State(Enum):
    """How a submission got through a run. UNREADABLE: it holds nothing to grade. FAILED: it could not be graded here.

    After either an earlier mark is kept.
    """

    GRADED = 1
    KNOWN = 2
    UNREADABLE = 3
    FAILED = 4


class Tell(Protocol):
    """Is told of each submission that is through; why: of one that was not graded."""

    def __call__(self, state: State, label: str, why: str, /) -> None: ...


class Class(NamedTuple):
    """What is graded, and where it is kept."""

    request: Request
    known: Known
    handed: Sequence[Handed]
    book: Gradebook


def check_readable(request: Request, known: Known, handed: Sequence[Handed]) -> None:
    """Raise UsageError if nothing of any submission can be read: then it is not they who are at fault."""
    why = ""
    for each in handed:
        try:
            each.take(known.modules, known.given)
            return
        except UsageError as error:
            why = why or f"{each.label}: {error}"
    raise UsageError(
        f"{request.tree}: none of the {len(handed)} submissions there can be read, so nothing is graded or kept; the "
        f"first is {inert(why)}. Name the folder or archive of this lab's submissions"
    )


def grade(group: Class, engine: Engine, command: str, workers: int, tell: Tell) -> int:
    """Grade what the gradebook does not know; returns the number of the run.

    Whatever ends it, what it has told of is kept; the next run begins with what is missing.
    """
    ready = engine.hello()
    request, book = group.request, group.book
    digest = environment_digest(environment(request.reseed))
    asked = {fact.function for fact in select(group.known.facts, request.only)}
    details = Run(
        *(command, str(request.tree), group.known.digest, tuple(request.only), digest),
        *(ready.level, request.reseed, workers, tuple(name for name in asked if group.known.points[name])),
    )
    run = book.begin(details, {each.label: each.authors for each in group.handed if each.authors})
    for graded in engine.grade(_unknown(group, run, details, tell)):
        if graded.result is None:
            book.fail(run, graded.label, inert(graded.fault))
            tell(State.FAILED, graded.label, graded.fault)
        else:
            book.keep(run, graded.label, graded.result, graded.shape)
            tell(State.GRADED, graded.label, "")
    book.end(run)
    return run


def _unknown(group: Class, run: int, details: Run, tell: Tell) -> Iterator[Item]:
    """The submissions that have to be graded; the others are through when they have been read.

    A result is known whatever worker it came from: all have the versions and, at least, the isolation that is required.
    """
    request, known, book = group.request, group.known, group.book
    for each in group.handed:
        try:
            taken = each.take(known.modules, known.given)
        except Unreadable as error:
            plan = plan_for(request, known, Taken(NEUTRAL, {}, {}), inert(str(error)))
            book.keep(run, each.label, nothing_read(plan))
            tell(State.UNREADABLE, each.label, str(error))
            continue
        except UsageError as error:
            book.fail(run, each.label, inert(str(error)))
            tell(State.FAILED, each.label, str(error))
            continue
        key = key_of(taken, known.digest, request.only, details.environment, details.level, request.reseed)
        result = max(book.known(key._replace(level=str(level))) or 0 for level in Level if level >= request.require)
        if not result:
            yield Item(each.label, taken)
        else:
            book.reuse(run, each.label, result)
            tell(State.KNOWN, each.label, "")
