"""Marks: exact shares, the rule that rubbish earns nothing, columns that add up."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.facts import Fact
from harness.marks import marks, read_points, rounded
from harness.verdict import Outcome


def a_fact(function: str, name: str, weight: int = 1, defines: bool = False) -> Fact:
    return Fact(f"checks/check_m.py::check_{name}", "m", function, "title", "", "source", "hint", weight, defines, 0.0)


FACTS = [a_fact("f", "a", weight=2, defines=True), a_fact("f", "b"), a_fact("f", "c"), a_fact("g", "d", defines=True)]
POINTS = {"f": Fraction(6), "g": Fraction(4)}


def outcomes(*held: str) -> dict[str, Outcome]:
    return {f.id: Outcome.PASSED if f.name.removeprefix("check_") in held else Outcome.FAILED for f in FACTS}


def test_points_are_shared_by_weight() -> None:
    assert marks(FACTS, outcomes("a", "b"), POINTS).score == {"f": Fraction(9, 2), "g": 0}


def test_nothing_is_earned_without_the_defining_fact() -> None:
    assert marks(FACTS, outcomes("b", "c", "d"), POINTS).score == {"f": 0, "g": 4}


def test_a_fact_without_outcome_has_not_passed() -> None:
    assert marks(FACTS, {}, POINTS).score == {"f": 0, "g": 0}


def test_functions_without_chosen_facts_do_not_count() -> None:
    assert marks(FACTS[3:], outcomes("d"), POINTS).max_score == {"g": 4}


@given(st.lists(st.fractions(0, 20), min_size=1, max_size=12))
def test_rounded_columns_add_up_and_never_round_up_to_full_marks(values: list[Fraction]) -> None:
    column = rounded({str(i): value for i, value in enumerate(values)})
    total = sum(round(100 * value) for value in column.values())
    assert total == int(100 * sum(values))
    assert all(abs(column[str(i)] - value) < Fraction(1, 100) for i, value in enumerate(values))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "points.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_points_are_exact_fractions(tmp_path: Path) -> None:
    path = write(tmp_path, "[m]\nf = 0.1\ng = 3\n")
    assert read_points(path, FACTS) == {"f": Fraction(1, 10), "g": 3}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[m]\nf = 1\n", "no points for g"),
        ("[m]\nf = 1\ng = 1\nh = 1\n", "a function h"),
        ("[other]\nf = 1\n[m]\ng = 1\n", "f of other"),
        ("[m]\nf = -1\ng = 1\n", "f has"),
        ("[m]\nf = true\ng = 1\n", "f has"),
        ("[m]\nf = nan\ng = 1\n", "no table of points"),
        ("f = 1\n", "outside a [module] table"),
        ("[m\n", "no table of points"),
    ],
)
def test_a_points_file_that_does_not_fit_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(UsageError, match=r"points\.toml") as error:
        read_points(write(tmp_path, text), FACTS)
    assert named in str(error.value)


def test_a_missing_points_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_points(tmp_path / "none.toml", FACTS)
