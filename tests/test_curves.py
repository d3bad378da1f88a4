"""Curves: the course's own are exact, and one that cannot be drawn says why and costs nothing else."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from checks import curves as course
from harness import curves
from harness.curves import Plot, curve, exact, own
from harness.impl import Impl
from harness.local import Local, sources_of
from harness.report import figures
from harness.result import Curve, Result, read
from tests.small_course import RIGHT, write_suite, write_tree

ROOT = Path(__file__).parent.parent
OWNERS = {
    "optimal_policy": "closed_form",
    "best_of_n_distribution": "best_of_n",
    "train_rlhf_pg": "policy_gradient",
    "train_dpo": "dpo",
    "overoptimization_experiment": "overoptimization",
    "run": "online_collection",
}
IDS = curves.ids(ROOT / "checks", OWNERS)
SMALL_OWNERS = {"double": "shapes", "coin": "shapes"}


def drawn(source: str, draw: Callable[[Any], Plot]) -> Curve:
    """The curve of a tree of one module."""
    impl = Impl(Local({"shapes": source.encode()}), SMALL_OWNERS)
    return curves.ask("suite/curves.py::curve", draw, impl, SMALL_OWNERS)


@curve("double")
def doubles(impl):
    """Doubles.

    Yours are twice the numbers.
    """
    x = np.array([0.5, 1.0, 2.0])
    return Plot("x", "2 x", [exact("2 x", x, x + x), own("yours", x, impl.shapes.double(x))])


# ---- the course's own ----


@pytest.fixture(scope="module")
def of_the_reference() -> dict[str, Curve]:
    impl = Impl(Local(sources_of(ROOT / "reference")), OWNERS)
    names = (curve_id.rpartition("::")[2] for curve_id in IDS)
    return {name: curves.ask(f"checks/curves.py::{name}", getattr(course, name), impl, OWNERS) for name in names}


def test_the_reference_draws_them_all(of_the_reference: dict[str, Curve]) -> None:
    assert len(of_the_reference) == 5
    for found in of_the_reference.values():
        assert found.message == ""
        assert {series.exact for series in found.series} == {True, False}
        assert not any(series.missing for series in found.series)
        assert figures.svg(found).startswith('<svg role="img"')


def test_the_reference_lies_on_the_exact_curves(of_the_reference: dict[str, Curve]) -> None:
    line, dots = of_the_reference["curve_price_of_reward"].series
    assert np.interp(dots.x, line.x, line.y) == pytest.approx(dots.y, abs=2e-3)
    assert all(y <= np.interp(x, line.x, line.y) + 2e-3 for x, y in zip(dots.x, dots.y, strict=True))
    best = of_the_reference["curve_best_of_n"].series
    for counted, yours in zip(best[::2], best[1::2], strict=True):
        assert counted.exact and not yours.exact
        assert yours.y == pytest.approx(counted.y)
    _, optimum, by_gradient, by_dpo = of_the_reference["curve_two_ways_to_the_optimum"].series
    assert by_gradient.y == pytest.approx(optimum.y, abs=0.01)
    assert by_dpo.y == pytest.approx(optimum.y, abs=0.002)
    normal, score, gold, picked = of_the_reference["curve_overoptimization"].series
    assert picked.y[:7] == pytest.approx(normal.y[:7], abs=0.4)
    assert score.y[-1] > picked.y[-1] > gold.y[-1]
    perfect, offline, online, _ = of_the_reference["curve_gold_against_labels"].series
    assert online.x == list(range(20, 181, 20))
    assert abs(online.y[-1] - perfect.y[-1]) < 0.2 < perfect.y[-1] - offline.y[-1]


def test_what_is_exact_agrees_with_other_ways_to_know_it() -> None:
    line = course.curve_price_of_reward(FixedAnswers(course.Q)).lines[0]
    for t in (0.5, 1.0, 3.0):
        p = softmax(np.log(course.Q) + t * course.R)
        assert np.interp((p * np.log(p / course.Q)).sum(), line.x, line.y) == pytest.approx(p @ course.R, abs=2e-3)
    assert course.better_of_two(np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.0]))[:4] == pytest.approx([0.01, 0.08, 0.27, 0.64])
    assert course.mean_of_best_normal(1) == pytest.approx(0, abs=1e-9)
    assert course.mean_of_best_normal(2) == pytest.approx(1 / math.sqrt(math.pi))
    assert course.mean_of_best_normal(3) == pytest.approx(1.5 / math.sqrt(math.pi))


class FixedAnswers:
    """An implementation that answers everything alike."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def __getattr__(self, module: str) -> Any:
        return self if module in OWNERS.values() else lambda *arguments, **keywords: self._answer


# ---- what may go wrong ----


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise ValueError('no such number')", "ValueError: no such number"),
        ("raise NotImplementedError", "double is still to be written"),
        ("return 'two'", "could not convert string"),
        ("return [1.0]", "yours: 1 values for 3 points"),
        ("return np.full(3, np.nan)", "yours: none of the 3 values is a number that can be drawn"),
        ("return np.full(3, 1e300)", "yours: none of the 3 values is a number that can be drawn"),
        ("return open", "double returned"),
    ],
)
def test_a_curve_that_cannot_be_drawn_says_why(body: str, says: str) -> None:
    found = drawn(f"import numpy as np\ndef double(x):\n    {body}\n", doubles)
    assert says in found.message
    assert found.series == []
    assert (found.title, found.caption) == ("Doubles.", "Yours are twice the numbers.")


def test_numbers_that_cannot_be_drawn_are_counted() -> None:
    found = drawn("import numpy as np\ndef double(x):\n    return np.array([1.0, np.inf, 4.0])\n", doubles)
    assert found.series[1].y == [1.0, 4.0]
    assert found.series[1].missing == 1
    assert figures.rows(found.series[1]) == [("0.5", "1"), ("2", "4")]


def test_a_logarithmic_axis_takes_positive_numbers_only() -> None:
    @curve("double")
    def draw(impl):
        """Title.

        Caption.
        """
        return Plot("x", "y", [own("yours", [1, 2, 3], [0.0, -1.0, 5.0])], y_scale="log")

    assert drawn(RIGHT, draw).series[0].y == [5.0]


def test_the_picture_follows_wild_values_only_so_far() -> None:
    found = drawn("def double(x):\n    return x * [2, 2, 1e8]\n", doubles)
    low, high = figures._limits(found.series)
    assert -1 < low < 1 < 4 < high < 20


CURVES = '''
from harness.curves import Plot, curve, exact, own

@curve("double", seconds=0.5)
def curve_of_doubles(impl):
    """Doubles.

    Twice as much.
    """
    return Plot("x", "y", [exact("2 x", [1, 2], [2, 4]), own("yours", [1, 2], impl.shapes.double([1.0, 2.0]))])

@curve("double", "coin")
def curve_of_both(impl):
    """Both.

    A caption.
    """
    return Plot("x", "y", [own("heads", [1], [1.0])])
'''


def graded(tmp_path: Path, source: str, *options: str) -> Result:
    suite = write_suite(tmp_path / "drawing_suite")
    (suite / "curves.py").write_text(CURVES, encoding="utf-8")
    tree = write_tree(tmp_path / "tree", source)
    arguments = [
        "--suite",
        suite,
        "--reference",
        tmp_path / "none",
        "--tree",
        tree,
        "--out",
        tmp_path / "out",
        *options,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness", "grade", *map(str, arguments)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return read(tmp_path / "out" / "result.json")


def test_a_run_draws_what_its_functions_give(tmp_path: Path) -> None:
    result = graded(tmp_path, RIGHT)
    assert [found.title for found in result.curves] == ["Doubles.", "Both."]
    assert result.curves[0].series[1].y == [2.0, 4.0]
    assert result.score == result.max_score
    assert len(result.facts) == 3


def test_only_draws_curves_of_what_was_chosen(tmp_path: Path) -> None:
    assert [found.title for found in graded(tmp_path, RIGHT, "--only", "double").curves] == ["Doubles."]


def test_a_curve_that_takes_too_long_costs_nothing_else(tmp_path: Path) -> None:
    source = RIGHT.replace("return np.asarray(x) + x", "return [0] if isinstance(x, list) and spin() else x + x")
    result = graded(tmp_path, source + "\ndef spin():\n    while True: pass\n")
    assert result.score == result.max_score
    assert any(part in result.curves[0].message for part in ("computing time", "no answer"))
    assert result.curves[1].message == ""
