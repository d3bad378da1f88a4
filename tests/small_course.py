"""A course of two functions in one module, with right, wrong and odd answers: what the harness is tested on."""

from pathlib import Path
from textwrap import dedent

CHECKS = '''
"""Facts about shapes.py."""

import numpy as np
from hypothesis import given

from harness.facts import fact
from harness.inputs import vectors
from harness.statistics import frequency
from harness.tolerance import assert_exact, assert_leaves_arguments_alone


@fact(function="double", promise="Twice x", weight=2, defines=True, hint="Add x to itself.")
@given(vectors(3))
def check_double_is_x_plus_x(impl, x):
    """Doubling adds a vector to itself.

        double(x) = x + x

    Source: the definition.
    """
    assert_exact(impl.shapes.double(x), x + x)


@fact(function="double", promise="Twice x", hint="Work on a copy.")
def check_double_leaves_its_argument_alone(impl):
    """Doubling makes a new array.

        x' = x   after double(x)

    Source: the docstring.
    """
    assert_leaves_arguments_alone(impl.shapes.double, np.array([1.0, 2.0]))


@fact(function="coin", promise="n tosses", defines=True, false_alarm=1e-9, hint="Use rng.")
def check_coin_is_fair(impl, seed):
    """Heads come half the time.

        P(heads) = 1/2

    Source: the definition.
    """
    design = frequency(0.5, detects=0.6)
    tosses = impl.shapes.coin(design.n, np.random.default_rng(seed))
    design.check(int(np.sum(tosses)), "heads")
'''

RIGHT = '''
import numpy as np

def double(x):
    """Twice x.

    Source: arithmetic.
    """
    return np.asarray(x) + x

def coin(n, rng):
    """n tosses.

    Source: arithmetic.
    """
    return rng.random(n) < 0.5
'''

STUBS = '''
def double(x):
    """Twice x."""
    raise NotImplementedError

def coin(n, rng):
    """n tosses."""
    raise NotImplementedError
'''

POINTS = "[shapes]\ndouble = 6\ncoin = 4\n"


def write_suite(folder: Path, checks: str = CHECKS) -> Path:
    """A suite named as `folder`, which must be no importable name elsewhere."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "check_shapes.py").write_text(dedent(checks), encoding="utf-8")
    (folder / "points.toml").write_text(POINTS, encoding="utf-8")
    return folder


def write_tree(folder: Path, source: str = RIGHT, **others: str) -> Path:
    """A tree that holds shapes.py and other modules by name."""
    folder.mkdir(parents=True)
    for name, text in {"shapes": source, **others}.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    return folder
