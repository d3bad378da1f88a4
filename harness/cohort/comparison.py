"""What changed between two runs of a gradebook, and why: the marks, the facts, what the runs differ in."""

from collections.abc import Iterator
from typing import NamedTuple

from harness.cohort.gradebook import Gradebook
from harness.cohort.keys import key_of_result
from harness.cohort.mark import Mark
from harness.result import Result


class FactChange(NamedTuple):
    """A fact whose outcome is another. before, after: the outcomes; empty where the fact was not asked."""

    id: str
    before: str
    after: str


class Change(NamedTuple):
    """A submission that two runs tell differently of. before, after: None where a run has no such submission.

    facts: those with another outcome. causes: which parts of the keys differ: submission, suite, selection,
    environment, level, reseed. Equal facts and another score: the points are shared otherwise.
    """

    label: str
    before: Mark | None
    after: Mark | None
    facts: list[FactChange]
    causes: list[str]


def diff(book: Gradebook, first: int, second: int) -> Iterator[Change]:
    """The submissions whose mark, points to reach, fault or outcome of a fact differs, by label.

    Raises UsageError, before the first change, if there is no such run.
    """
    before = {mark.label: mark for mark in book.marks(first)}
    after = {mark.label: mark for mark in book.marks(second)}
    return _changes(book, before, after)


def _changes(book: Gradebook, before: dict[str, Mark], after: dict[str, Mark]) -> Iterator[Change]:
    for label in sorted({*before, *after}):
        old, new = before.get(label), after.get(label)
        if old and new and (old.result_id, old.fault) == (new.result_id, new.fault):
            continue
        facts, causes = _why(*(book.result(mark.result_id) for mark in (old, new) if mark and mark.result_id))
        same = old and new and (old.score, old.max_score, old.fault) == (new.score, new.max_score, new.fault)
        if facts or not same:
            yield Change(label, old, new, facts, causes)


def _why(*results: Result) -> tuple[list[FactChange], list[str]]:
    """The facts and the parts of the keys that differ between two results; none where there is only one."""
    if len(results) < 2:
        return [], []
    keys = [key_of_result(each) for each in results]
    causes = [field for field in keys[0]._fields if getattr(keys[0], field) != getattr(keys[1], field)]
    old, new = ({fact.id: str(fact.outcome) for fact in each.facts} for each in results)
    names = list(dict.fromkeys([*old, *new]))
    return [
        FactChange(name, old.get(name, ""), new.get(name, "")) for name in names if old.get(name) != new.get(name)
    ], causes
