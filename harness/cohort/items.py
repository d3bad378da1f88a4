"""Item analysis: how hard each part of a lab was for a class, and how well it tells submissions apart.

Difficulty and the corrected item-total correlation are those of classical test theory: Crocker and Algina,
"Introduction to Classical and Modern Test Theory", 1986, chapter 14.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
LEAST = 10
"""With fewer submissions a correlation says nothing: by chance alone it is beyond ±0.6 in one of twenty."""
ALIKE = 1e-9
"""Shares that differ by less are equal; sums of rounded points are off by 1e-15."""


class Item(NamedTuple):
    """A function or a fact. asked: of how many submissions.

    difficulty: the mean share that was earned, so that 1 is the easiest; None if no submission was asked.
    discrimination: the correlation with what was earned elsewhere; None where there is none to speak of.
    """

    asked: int
    difficulty: float | None
    discrimination: float | None

    @property
    def suspect(self) -> bool:
        """Those who earn it earn less elsewhere, by more than three standard errors of chance."""
        return self.discrimination is not None and self.discrimination < -3 * by_chance(self.asked)


def item(earned: Floats, rest: Floats, least: int = LEAST) -> Item:
    """The statistics of an item, from (n,) shares earned of it and of the rest, NaN where they were not asked."""
    known = earned[~np.isnan(earned)]
    difficulty = float(known.mean()) if known.size else None
    return Item(known.size, difficulty, correlation(earned, rest, least))


def rests(score: Floats, most: Floats) -> Floats:
    """What each submission earned in all functions but one, as a share of what it could; NaN where it could nothing.

    score, most: (n, functions), points and their maxima, 0 where a function was not asked. Gives (n, functions).
    """
    could = most.sum(axis=1, keepdims=True) - most
    earned = score.sum(axis=1, keepdims=True) - score
    return np.divide(earned, could, out=np.full(could.shape, np.nan), where=could > ALIKE)


def correlation(x: Floats, y: Floats, least: int = LEAST) -> float | None:
    """Pearson's correlation over the pairs without NaN: the point-biserial one where x is 0 or 1.

    None where one side is constant, or where there are fewer than `least` pairs.
    """
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if x.size < max(least, 2) or np.ptp(x) < ALIKE or np.ptp(y) < ALIKE:
        return None
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))


def by_chance(n: int) -> float:
    """The standard error of a correlation of n pairs that have nothing to do with each other."""
    return float((n - 1) ** -0.5) if n > 1 else 1.0
