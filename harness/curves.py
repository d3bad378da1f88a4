"""A submission's own curves beside the exact ones: what a suite's `curves.py` asks, when the facts have been asked.

    @curve("optimal_policy")
    def curve_price_of_reward(impl):
        \"\"\"Title in one sentence.

        What to see in it, in a paragraph.
        \"\"\"
        return Plot("KL", "reward", [own("your policies", x, y), exact("the best there is", x, y)])

Curves decide no marks. As a fact does, one asks `impl`, and its exact side never comes from the code under test. One
that fails, or takes more than its time, is left out, and a sentence says why.
"""

import inspect
import math
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from harness.facts import Fact, SuiteError, import_module
from harness.impl import Crashed, Impl, Raised, Timeout, Todo
from harness.result import Curve, Series
from harness.text import inert
from harness.tolerance import Contradiction

FILE = "curves"
SECONDS = 2.0
"""The usual limit of a curve, in CPU seconds of the machine where the limits of the facts were chosen."""
POINTS = 200
LARGEST = 1e9
"""Points of a series, and the largest number that is drawn: what a submission returns may be anything."""

Scale = Literal["linear", "log"]
AnyDraw = TypeVar("AnyDraw", bound=Callable[[Any], "Plot"])


class Line(NamedTuple):
    """A series before it is checked."""

    name: str
    x: ArrayLike
    y: ArrayLike
    exact: bool


class Plot(NamedTuple):
    """What a curve function returns. ticks: the names of x = 0, 1, 2, ... where x counts things."""

    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    ticks: Sequence[str] = ()


class Asked(NamedTuple):
    """What the decorator adds: the functions that a curve is about, and its limit."""

    functions: tuple[str, ...]
    seconds: float


def own(name: str, x: ArrayLike, y: ArrayLike) -> Line:
    """A series of the submission's."""
    return Line(name, x, y, exact=False)


def exact(name: str, x: ArrayLike, y: ArrayLike) -> Line:
    """A series that is known."""
    return Line(name, x, y, exact=True)


def curve(*functions: str, seconds: float = SECONDS) -> Callable[[AnyDraw], AnyDraw]:
    """Mark a function of `curves.py` as a curve of these graded functions; its docstring is its title and caption."""

    def mark(draw: AnyDraw) -> AnyDraw:
        draw.asked = Asked(functions, seconds)  # type: ignore[attr-defined]
        return draw

    return mark


def ids(suite: Path, functions: Collection[str]) -> list[str]:
    """The ids of a suite's curves that are about these functions alone, in file order; none if it draws none."""
    if not (suite / f"{FILE}.py").is_file():
        return []
    module = import_module(suite, FILE)
    draws = {name: value for name, value in vars(module).items() if hasattr(value, "asked")}
    return [
        f"{suite.name}/{FILE}.py::{name}" for name, draw in draws.items() if set(draw.asked.functions) <= set(functions)
    ]


def ask(curve_id: str, draw: Callable[[Any], Plot], impl: Impl, owners: dict[str, str]) -> Curve:
    """The curve of one submission. Never raises for what the submission does."""
    functions, seconds = draw.asked  # type: ignore[attr-defined]
    title, caption = _docstring(curve_id, draw)
    empty = Curve(curve_id, list(functions), title, caption)

    def left_out(why: str) -> Curve:
        return Curve(curve_id, list(functions), title, caption, message=inert(why))

    facts = [Fact(curve_id, owners[name], name, title, "", "", "", 0, False, 0.0, seconds) for name in functions]
    unwritten = [fact.function for fact in facts if impl.backend.is_stub(fact)]
    if unwritten:
        return left_out(f"{' and '.join(unwritten)} {'is' if len(unwritten) == 1 else 'are'} still to be written")
    try:
        impl.begin(facts[0], 0)
        with np.errstate(all="ignore"):
            plot = draw(impl)
        return _checked(empty, plot)
    except (Todo, Timeout, Crashed) as ended:
        return left_out(str(ended))
    except (Raised, Contradiction) as error:
        return left_out(error.message)
    except Exception as error:  # of a curve, too: nothing hangs on it
        return left_out(f"the answers cannot be drawn ({type(error).__name__}: {error})")
    finally:
        impl.backend.end()


def _checked(empty: Curve, plot: Plot) -> Curve:
    """The series as finite floats; what is none of these is left out of its series."""
    series = []
    for line in plot.lines:
        x, y = np.asarray(line.x, dtype=np.float64).ravel(), np.asarray(line.y, dtype=np.float64).ravel()
        if len(x) != len(y) or len(x) > POINTS:
            raise ValueError(f"{line.name}: {len(y)} values for {len(x)} points")
        pairs = [
            (a, b)
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
            if all(math.isfinite(value) and abs(value) < LARGEST for value in (a, b))
            and (a > 0 or plot.x_scale == "linear")
            and (b > 0 or plot.y_scale == "linear")
        ]
        if not pairs and len(x):
            raise ValueError(f"{line.name}: none of the {len(x)} values is a number that can be drawn")
        series.append(Series(line.name, [a for a, _ in pairs], [b for _, b in pairs], line.exact, len(x) - len(pairs)))
    return Curve(
        empty.id,
        empty.functions,
        empty.title,
        empty.caption,
        plot.x_label,
        plot.y_label,
        plot.x_scale,
        plot.y_scale,
        list(plot.ticks),
        series,
    )


def _docstring(curve_id: str, draw: Callable[..., Any]) -> tuple[str, str]:
    title, _, caption = (inspect.getdoc(draw) or "").partition("\n\n")
    if not (title and caption):
        raise SuiteError(f"{curve_id}: a curve needs a title and a caption")
    return (re.sub(r"\s+", " ", title).strip(), re.sub(r"\s+", " ", caption).strip())
