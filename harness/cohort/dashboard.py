"""`class.html`: one page about a class, for its instructor. It needs no network; scripts only sort, filter and shorten.

A pure function of the entries, which are read one after the other. What submissions are called and what they say is
text on it, whatever it holds.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from harness.cohort import distribution, items
from harness.cohort.items import Item
from harness.cohort.tally import (
    HELD,
    NO_FACT,
    NOTHING,
    PART,
    TODO,
    UNANSWERED,
    WHOLE,
    WRONG,
    Entry,
    Function,
    Statement,
    Student,
    Tally,
    tally,
)
from harness.report import html
from harness.report.words import number

__all__ = ["Entry", "page"]

FOLDER = Path(__file__).parent
SLOWEST = 10
"""How many of the slowest submissions are listed."""
LISTED = 5_000
"""Of how many submissions each has a row of its own: with 1.3 kB each, a larger page takes a browser many seconds."""


class FunctionRow(NamedTuple):
    """A function: of the submissions that answer anything, how many have it whole, in part, wrong, or not at all."""

    function: Function
    item: Item
    segments: list[tuple[str, float]]


class FactRow(NamedTuple):
    """A fact: of the submissions that answer anything, the shares for which it holds, is wrong, or is to do.

    place: in the order of the suite.
    """

    place: int
    fact: Statement
    function: Function
    item: Item
    segments: list[tuple[str, float]]


class MistakeRow(NamedTuple):
    """A named mistake, who made it, and of how many who answer the function. perhaps: how many are not certain."""

    function: Function
    place: int
    says: str
    who: list[int]
    perhaps: int
    share: float


class SameProgram(NamedTuple):
    """Submissions whose programs are equal, and how many functions these answer."""

    who: list[int]
    answers: int


class StudentRow(NamedTuple):
    """A submission in the list. states: words to filter by. levels: how many functions it has, and how.

    strip: the same as SVG paths, a cell for each function.
    """

    place: int
    student: Student
    held: int
    asked: int
    states: list[str]
    levels: dict[str, int]
    strip: dict[str, str]


STATES = {
    "full": "full marks",
    "blank": "answer nothing",
    "unreadable": "could not be read",
    "ungraded": "not graded",
    "stale": "stale mark",
    "changed": "changed by hand",
    "ended": "timed out or crashed",
    "same": "same program as another",
}
"""What submissions can be filtered by, in the words of the page."""


def page(entries: Iterable[Entry]) -> str:
    """The whole page, for any number of submissions."""
    group = tally(entries)
    marks = distribution.distribution(
        [(student.score, student.max_score) for student in group.students if student.score is not None]
    )
    same = same_programs(group.students)
    repeated = {place for each in same for place in each.who}
    rows = [_student_row(place, student, place in repeated) for place, student in enumerate(group.students)]
    counts = {state: sum(state in row.states for row in rows) for state in STATES}
    answering = sum(student.answers > 0 for student in group.students)
    shown = {
        "group": group,
        "marks": marks,
        "picture": Markup(distribution.picture(marks)) if marks else "",
        "functions": function_rows(group),
        "facts": fact_rows(group),
        "mistakes": mistake_rows(group),
        "same": same,
        "slowest": sorted(rows, key=lambda row: -row.student.seconds)[:SLOWEST],
        "rows": rows,
        "listed": len(rows) <= LISTED,
        "counts": counts,
        "states": STATES,
        "answering": answering,
        "by_chance": 2 * items.by_chance(answering) if answering >= items.LEAST else None,
        "least": items.LEAST,
        "number": number,
        "percent": percent,
        "signed": signed,
    }
    return html.filled(
        FOLDER / "class.html", [html.FOLDER / "page.css", FOLDER / "class.css"], FOLDER / "class.js", shown
    )


def function_rows(group: Tally) -> list[FunctionRow]:
    """A row for each function, in the order of the points file."""
    answering = [student for student in group.students if student.answers]
    points, most = _answering(group, group.points), _answering(group, group.most)
    shares = np.divide(points, most, out=np.full(points.shape, np.nan), where=most > 0)
    rest = items.rests(points, most)
    rows = []
    for place, function in enumerate(group.functions):
        levels = [student.levels[place] for student in answering]
        kinds = {"whole": WHOLE, "part": PART, "wrong": NOTHING, "todo": UNANSWERED}
        segments = _segments({kind: levels.count(level) for kind, level in kinds.items()})
        rows.append(FunctionRow(function, items.item(shares[:, place], rest[:, place]), segments))
    return rows


def fact_rows(group: Tally) -> list[FactRow]:
    """A row for each fact, the hardest first; those alike in file order.

    The rest to which a fact is compared is all functions but its own, whose facts stand and fall together.
    """
    outcomes = _answering(group, group.outcomes)
    rest = items.rests(_answering(group, group.points), _answering(group, group.most))
    rows = []
    for place, fact in enumerate(group.facts):
        column = outcomes[:, place]
        held = np.where(column == NO_FACT, np.nan, column == HELD)
        kinds = {"whole": HELD, "wrong": WRONG, "todo": TODO}
        segments = _segments({kind: int((column == ending).sum()) for kind, ending in kinds.items()})
        item = items.item(held, rest[:, fact.function])
        rows.append(FactRow(place, fact, group.functions[fact.function], item, segments))
    return sorted(rows, key=lambda row: 2.0 if row.item.difficulty is None else row.item.difficulty)


def mistake_rows(group: Tally) -> list[MistakeRow]:
    """A row for each named mistake, the most frequent first. A submission counts once for each of its mistakes."""
    made: defaultdict[tuple[int, str], dict[int, bool]] = defaultdict(dict)
    for place, student in enumerate(group.students):
        for mistake in student.mistakes:
            by = made[mistake.function, mistake.says]
            by[place] = by.get(place, False) or mistake.certain
    rows = []
    for (function, says), by in made.items():
        tried = sum(student.levels[function] in (WHOLE, PART, NOTHING) for student in group.students)
        perhaps = sum(not certain for certain in by.values())
        rows.append(MistakeRow(group.functions[function], function, says, list(by), perhaps, len(by) / max(tried, 1)))
    return sorted(rows, key=lambda row: (-len(row.who), row.place, row.says))


def same_programs(students: list[Student]) -> list[SameProgram]:
    """Groups of equal programs, those that answer most first. What answers nothing is no program of anybody's."""
    by_shape: defaultdict[str, list[int]] = defaultdict(list)
    for place, student in enumerate(students):
        if student.shape and student.answers:
            by_shape[student.shape].append(place)
    groups = [
        SameProgram(who, max(students[place].answers for place in who)) for who in by_shape.values() if len(who) > 1
    ]
    return sorted(groups, key=lambda each: (-each.answers, -len(each.who), each.who))


def percent(share: float | None) -> str:
    """In whole percent; 0 and 100 only where they are meant exactly."""
    if share is None:
        return "–"
    whole = round(100 * share)
    return f"{whole if share in (0, 1) else min(max(whole, 1), 99)}\u00a0%"


def signed(value: float | None) -> str:
    """A correlation, with a minus sign of its own."""
    return "–" if value is None else f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _answering(group: Tally, array: NDArray[Any]) -> NDArray[Any]:
    """The rows of submissions that answer something: of these the statistics are."""
    return array[[place for place, student in enumerate(group.students) if student.answers]]


def _segments(counts: dict[str, int]) -> list[tuple[str, float]]:
    total = sum(counts.values())
    return [(kind, count / total) for kind, count in counts.items() if count]


def _student_row(place: int, student: Student, repeated: bool) -> StudentRow:
    states = {
        "full": student.full,
        "blank": student.blank,
        "unreadable": bool(student.unreadable),
        "ungraded": student.score is None,
        "stale": student.stale,
        "changed": student.changed is not None,
        "ended": student.timeouts + student.crashes > 0,
        "same": repeated,
    }
    held = student.outcomes.count(HELD)
    asked = len(student.outcomes) - student.outcomes.count(NO_FACT)
    levels = {"whole": student.levels.count(WHOLE), "in part": student.levels.count(PART)}
    levels["wrong"] = student.levels.count(NOTHING)
    met = [state for state, is_so in states.items() if is_so]
    return StudentRow(place, student, held, asked, met, levels, _strip(student))


def _strip(student: Student) -> dict[str, str]:
    """What was earned of each function as a column of at most 10; a wrong answer is a low one of its own kind."""
    cells: dict[str, str] = {"whole": "", "part": "", "wrong": ""}
    for place, (level, (points, most)) in enumerate(zip(student.levels, student.earned, strict=False)):
        if level == WHOLE:
            cells["whole"] += f"M{place} 0v10"
        elif level == PART:
            cells["part"] += f"M{place} {10 - max(1, round(10 * points / most))}V10"
        elif level == NOTHING:
            cells["wrong"] += f"M{place} 8v2"
    return {kind: path for kind, path in cells.items() if path}
