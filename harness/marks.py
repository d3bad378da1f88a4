"""From outcomes to points: a pure function, in exact fractions until the last step."""

import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from harness.errors import UsageError
from harness.facts import Fact
from harness.verdict import Outcome


class Marks(NamedTuple):
    """Exact points of each function, in the order of the points file, and what each could have had."""

    score: dict[str, Fraction]
    max_score: dict[str, Fraction]


def read_points(path: Path, facts: Sequence[Fact]) -> dict[str, Fraction]:
    """The points of a file."""
    return points_of(read_table(path), facts, path)


def read_table(path: Path) -> bytes:
    """The bytes of a table of points."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None


def points_of(data: bytes, facts: Sequence[Fact], path: Path) -> dict[str, Fraction]:
    """Points of each function, in file order; the table names every function that facts are about, and no other.

    path: where it stands, for what is said of it.
    """
    try:
        tables = tomllib.loads(data.decode(), parse_float=Fraction)
    except ValueError as error:
        raise UsageError(f"{path}: no table of points ({error})") from None
    owners = {fact.function: fact.module for fact in facts}
    points: dict[str, Fraction] = {}
    for module, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {module} stands outside a [module] table")
        for function, value in table.items():
            if owners.get(function) != module:
                raise UsageError(f"{path}: no facts are about a function {function} of {module}")
            if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or value < 0:
                raise UsageError(f"{path}: {function} has {value!r} points; give a number, 0 or more")
            points[function] = Fraction(value)
    missing = [function for function in owners if function not in points]
    if missing:
        raise UsageError(f"{path}: no points for {', '.join(missing)}")
    return points


def marks(facts: Sequence[Fact], outcomes: Mapping[str, Outcome], points: Mapping[str, Fraction]) -> Marks:
    """Share each function's points among its facts by weight; nothing is earned unless its defining facts hold.

    A fact without an outcome has not passed. Functions without facts in `facts` are left out.
    """
    score: dict[str, Fraction] = {}
    for function in points:
        own = [fact for fact in facts if fact.function == function]
        if not own:
            continue
        held = [fact for fact in own if outcomes.get(fact.id) is Outcome.PASSED]
        defined = all(fact in held for fact in own if fact.defines)
        share = Fraction(sum(fact.weight for fact in held), sum(fact.weight for fact in own))
        score[function] = points[function] * share if defined else Fraction(0)
    return Marks(score, {function: points[function] for function in score})


def rounded(values: Mapping[str, Fraction], decimals: int = 2) -> dict[str, float]:
    """Each value to `decimals`, by largest remainder: the column adds up to the rounded sum, which is the full marks
    only when nothing is missing (a sum is rounded down)."""
    unit = 10**decimals
    scaled = {name: value * unit for name, value in values.items()}
    floors = {name: value.numerator // value.denominator for name, value in scaled.items()}
    total = sum(scaled.values(), Fraction(0))
    spare = total.numerator // total.denominator - sum(floors.values())
    by_remainder = sorted(scaled, key=lambda name: floors[name] - scaled[name])
    for name in by_remainder[:spare]:
        floors[name] += 1
    return {name: floor / unit for name, floor in floors.items()}
