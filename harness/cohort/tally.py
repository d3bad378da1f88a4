"""What the page of a class needs of its results, read one after the other: a short row of each, and arrays."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.result import FactResult, FunctionMarks, Result
from harness.text import inert
from harness.verdict import Outcome

WHOLE, PART, NOTHING, UNANSWERED, UNASKED = "wpnu-"
"""What a submission has of a function, a character each."""
HELD, WRONG, TODO, NO_FACT = range(4)
"""How a fact ended, a byte each."""
PERHAPS = "perhaps, by the facts that fail: "
"""How a report begins where it is not certain of a mistake (`harness.fingerprints.Named`)."""


class Entry(NamedTuple):
    """A submission of a class and its newest mark.

    label: what the platform calls it. score: with adjustments; None if it has no mark. result: what the mark was made
    of; None if nothing could be graded. shape: a digest of its program, equal where programs are; "" if there is none.
    fault: why the last run could not grade it, or nothing. With a mark all the same, that is an earlier run's: stale.
    """

    label: str
    score: float | None
    max_score: float
    result: Result | None
    shape: str
    seconds: float
    fault: str


class Mistake(NamedTuple):
    """A named mistake. function: its place among the functions. certain: recognised by answers, not by facts alone."""

    function: int
    says: str
    certain: bool


class Student(NamedTuple):
    """A submission as the page shows it. Its texts hold no invisible character.

    changed: what grading gave, where the mark is another by hand. unreadable: why nothing of it could be read.
    levels: a character for each function (WHOLE, ...). earned: points and their maximum for each function.
    outcomes: a byte for each fact (HELD, ...). slowest: the name of the fact that took longest, and its seconds.
    """

    label: str
    score: float | None
    max_score: float
    changed: float | None
    fault: str
    unreadable: str
    shape: str
    seconds: float
    levels: str
    earned: tuple[tuple[float, float], ...]
    outcomes: bytes
    mistakes: tuple[Mistake, ...]
    timeouts: int
    crashes: int
    slowest: tuple[str, float]

    @property
    def stale(self) -> bool:
        """Its mark is of an earlier run than the last."""
        return bool(self.fault) and self.score is not None

    @property
    def answers(self) -> int:
        """How many functions it answers, rightly or not."""
        return sum(level in (WHOLE, PART, NOTHING) for level in self.levels)

    @property
    def blank(self) -> bool:
        """It answers nothing, as the functions that are handed out do."""
        return UNANSWERED in self.levels and not self.answers

    @property
    def full(self) -> bool:
        """It has full marks."""
        return self.score is not None and self.score >= self.max_score > 0


class Function(NamedTuple):
    """A graded function. points: the most that it gives."""

    module: str
    name: str
    points: float


class Statement(NamedTuple):
    """A fact. function: its place among the functions."""

    name: str
    title: str
    function: int


class Tally(NamedTuple):
    """A class of n submissions, in the order of their labels, g functions and f facts.

    points, most: (n, g), 0 where a function was not asked. outcomes: (n, f) of HELD, ...
    suites: the digests of the suites and the selections that the results are of. environments: likewise, versions.
    """

    students: list[Student]
    functions: list[Function]
    facts: list[Statement]
    points: NDArray[np.float64]
    most: NDArray[np.float64]
    outcomes: NDArray[np.uint8]
    suites: set[tuple[str, ...]]
    environments: set[tuple[str, ...]]


def tally(entries: Iterable[Entry]) -> Tally:
    """Read all entries; of each, a few hundred bytes are kept."""
    reader = _Reader()
    students = sorted(map(reader.student, entries), key=lambda student: student.label)
    functions, facts = list(reader.functions.values()), list(reader.facts.values())
    points, most = np.zeros((2, len(students), len(functions)))
    outcomes = np.full((len(students), len(facts)), NO_FACT, dtype=np.uint8)
    for row, student in enumerate(students):
        for place, (score, maximum) in enumerate(student.earned):
            points[row, place], most[row, place] = score, maximum
        outcomes[row, : len(student.outcomes)] = np.frombuffer(student.outcomes, dtype=np.uint8)
    students = [student._replace(levels=student.levels.ljust(len(functions), UNASKED)) for student in students]
    return Tally(students, functions, facts, points, most, outcomes, reader.suites, reader.environments)


class _Reader:
    """Turns entries into rows. Functions and facts have places, in the order in which they are first met."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.facts: dict[str, Statement] = {}
        self.suites: set[tuple[str, ...]] = set()
        self.environments: set[tuple[str, ...]] = set()
        self._function_places: dict[str, int] = {}
        self._fact_places: dict[str, int] = {}

    def student(self, entry: Entry) -> Student:
        """The row of an entry. A result that is not complete is none; of an unreadable one nothing was asked."""
        result = entry.result if entry.result is not None and entry.result.complete else None
        asked = result.facts if result else []
        if result:
            self._meet(result)
        taken = {file.name for file in result.submission.files if not file.left_out} if result else set()
        levels, earned = [UNASKED] * len(self.functions), [(0.0, 0.0)] * len(self.functions)
        for row in result.functions if result and asked else []:
            place = self._function_places[row.function]
            levels[place] = _level(row, [fact for fact in asked if fact.function == row.function], taken)
            earned[place] = (row.score or 0.0, row.max_score)
        outcomes = bytearray([NO_FACT]) * len(self.facts)
        for fact in asked:
            outcomes[self._fact_places[fact.id]] = _ending(fact)
        slowest = max(asked, key=lambda fact: fact.seconds, default=None)
        graded = result.score if result else None
        return Student(
            label=inert(entry.label),
            score=entry.score,
            max_score=entry.max_score,
            changed=graded if _differ(graded, entry.score) else None,
            fault=inert(entry.fault),
            unreadable=inert(result.message or "nothing could be read") if result and not result.readable else "",
            shape=entry.shape,
            seconds=entry.seconds,
            levels="".join(levels),
            earned=tuple(earned),
            outcomes=bytes(outcomes),
            mistakes=tuple(dict.fromkeys(self._mistake(fact) for fact in asked if fact.mistake)),
            timeouts=sum(fact.outcome is Outcome.TIMEOUT for fact in asked),
            crashes=sum(fact.outcome is Outcome.CRASHED for fact in asked),
            slowest=(_name(slowest), slowest.seconds) if slowest else ("", 0.0),
        )

    def _meet(self, result: Result) -> None:
        """Give places to what is new, and note what the result is of."""
        self.suites.add((result.suite.digest, *result.suite.selection))
        environment = result.environment
        self.environments.add((environment.python, environment.torch, environment.numpy))
        for row in result.functions:
            self.functions.setdefault(row.function, Function(row.module, row.function, row.max_score))
            self._function_places.setdefault(row.function, len(self._function_places))
        for fact in result.facts:
            statement = Statement(_name(fact), fact.title, self._function_places[fact.function])
            self.facts.setdefault(fact.id, statement)
            self._fact_places.setdefault(fact.id, len(self._fact_places))

    def _mistake(self, fact: FactResult) -> Mistake:
        says = inert(fact.mistake or "")
        return Mistake(self._function_places[fact.function], says.removeprefix(PERHAPS), not says.startswith(PERHAPS))


def _differ(graded: float | None, score: float | None) -> bool:
    """Whether two marks differ; they are whole hundredths, and sums of these are off by 1e-14."""
    return graded is not None and score is not None and abs(graded - score) > 0.001


def _level(row: FunctionMarks, facts: list[FactResult], taken: set[str]) -> str:
    """How much of a function there is. One whose body, or whose file, is not there is not answered."""
    absent = {f"{row.module}.{row.function}", *({f"{row.module}.py"} - taken)}
    if all(fact.outcome is Outcome.TODO or fact.evidence.cause in absent for fact in facts):
        return UNANSWERED
    if all(fact.outcome is Outcome.PASSED for fact in facts):
        return WHOLE
    return PART if row.score else NOTHING


def _ending(fact: FactResult) -> int:
    return {Outcome.PASSED: HELD, Outcome.TODO: TODO}.get(fact.outcome, WRONG)


def _name(fact: FactResult) -> str:
    return fact.id.rpartition("::")[2]
