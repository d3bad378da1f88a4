"""What facts quote of the docstrings: each kind of drift is named, and the course has none."""

from inspect import cleandoc
from pathlib import Path

import pytest

from harness import facts
from harness.facts import Fact
from harness.validation.drift import docstrings, drift, findings
from tests.small_course import write_suite, write_tree

ROOT = Path(__file__).parents[1]

DOUBLE = cleandoc("""
    Add x to itself: x + x. The result is
    a new array.

        double(x) = x + x;   whether it is computed by a product is free

    Args:
        x, y: (K,) array. What is left of y (which is free) decides nothing.

    Returns:
        1. Numbers (their dtype is free). Infinite ones are not graded.

    Raises:
        ValueError: no numbers (graded); x is None (not graded).

    Source: Somebody 1999,
    section 2.
""")
COIN = cleandoc("""
    Tosses, heads half the time.

    Raises (not graded):
        ValueError: n is negative.

    Source: the definition.
""")
DOCSTRINGS = {"shapes.double": DOUBLE, "shapes.coin": COIN}
EXEMPT = {
    "everywhere": {"(K,) array": "the shape of an argument"},
    "shapes.double": {"What is left of y": "nobody looks", "decides nothing": "nobody looks"},
}


def a_fact(name: str, function: str, promise: str, formula: str = "x", source: str = "the definition.") -> Fact:
    where = f"checks/check_shapes.py::check_{name}"
    return Fact(where, "shapes", function, "A title.", formula, source, "a hint", 1, False, 0.0, promise=promise)


SUM = a_fact("sum", "double", "Add x to itself: x + x. … double(x) = x + x … no numbers (graded)")
COPY = a_fact("copy", "double", "The result is a new array. … Numbers")
FAIR = a_fact("fair", "coin", "Tosses, heads half the time.")


def found(*suite: Fact, texts=DOCSTRINGS, exempt=EXEMPT) -> list[str]:
    return [str(finding) for finding in findings(suite or (SUM, COPY, FAIR), texts, exempt)]


def test_what_agrees_has_no_findings():
    assert found() == []


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (a_fact("copy", "double", ""), "quotes no promise of shapes.double"),
        (
            a_fact("copy", "double", "The result is a new array. … a new matrix … Numbers"),
            'does not say "a new matrix"',
        ),
        (a_fact("copy", "double", "The result is a new array. … Number"), 'does not say "Number"'),
        (a_fact("copy", "double", COPY.promise, formula=""), "no formula"),
        (a_fact("copy", "double", COPY.promise, source="Theorem 3."), "without author and year"),
        (a_fact("copy", "double", COPY.promise, source="Somebody et al. 1998, eq. 1."), "cites Somebody 1998"),
    ],
)
def test_a_fact_that_drifted_is_named(fact, problem):
    got = found(SUM, fact, FAIR)
    assert any(finding.startswith(f"{fact.id}: ") and problem in finding for finding in got), got


def test_a_promise_that_no_fact_quotes_is_named():
    assert found(SUM, FAIR) == [
        'shapes.double: no fact quotes "The result is a new array": '
        "ask for it, say that it is free, or exempt it in not_graded.toml",
        'shapes.double: no fact quotes "Numbers": ask for it, say that it is free, or exempt it in not_graded.toml',
    ]


def test_only_what_says_so_is_free():
    """A semicolon, a full stop and a remark in parentheses are the limits of what "free" and "not graded" excuse."""
    promised = (
        DOUBLE.replace("; ", ", ").replace("(which is free)", "(which is any)").replace("x is None (not graded)", "")
    )
    assert any("which is any" in finding for finding in found(texts={**DOCSTRINGS, "shapes.double": promised}))
    graded = DOUBLE.replace("are not graded", "are infinite")
    assert any("Infinite ones" in finding for finding in found(texts={**DOCSTRINGS, "shapes.double": graded}))
    raises = COIN.replace("Raises (not graded):", "Raises:")
    assert any("n is negative" in finding for finding in found(texts={**DOCSTRINGS, "shapes.coin": raises}))


def test_a_docstring_without_source_is_named():
    texts = {**DOCSTRINGS, "shapes.coin": COIN.partition("\n\nSource")[0]}
    assert found(texts=texts) == ["shapes.coin: the docstring names no `Source:`"]


@pytest.mark.parametrize(
    ("place", "words", "reason", "problem"),
    [
        (
            "everywhere",
            "(B,) array",
            "old",
            'everywhere: not_graded.toml exempts "(B,) array", which no docstring says',
        ),
        ("shapes.double", "three times", "old", 'exempts "three times", which the docstring does not say'),
        ("shapes.double", "a new array", "asked", 'exempts "a new array", which facts quote'),
        ("shapes.double", "What is left of y", "", 'exempts "What is left of y" without a reason'),
        ("shapes.triple", "x", "gone", "shapes.triple: not_graded.toml names it, and no fact is about it"),
    ],
)
def test_an_exemption_that_excuses_nothing_is_named(place, words, reason, problem):
    exempt = {**EXEMPT, place: {**EXEMPT.get(place, {}), words: reason}}
    (finding,) = found(exempt=exempt)
    assert problem in finding


def test_docstrings_and_exemptions_are_read_from_files(tmp_path):
    suite = write_suite(tmp_path / "drifting_course")
    tree = write_tree(tmp_path / "tree", 'def double(x):\n    """Twice x, in place.\n\n    Not: this.\n    """\n')
    (suite / "not_graded.toml").write_text('["shapes.double"]\n"Not: this" = "a reason"\n', encoding="utf-8")
    manifest = facts.manifest(suite)
    assert docstrings(tree, manifest) == {"shapes.double": "Twice x, in place.\n\nNot: this.", "shapes.coin": ""}
    problems = [finding.problem for finding in drift(suite, tree, manifest)]
    assert any('no fact quotes "in place"' in problem for problem in problems)
    assert not any("this" in problem for problem in problems)


def test_the_course_has_not_drifted():
    assert list(map(str, drift(ROOT / "checks", ROOT / "reference", facts.manifest(ROOT / "checks")))) == []
