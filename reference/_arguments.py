"""What the functions of this package accept as arguments.

Each function returns the argument in the one form that the mathematics needs (never the caller's own array when that
would be written to), or raises a ValueError that starts with the argument's name.
"""

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A policy that comes out of float32 arithmetic sums to 1 only to about 1e-7.
SUM_TOLERANCE = 1e-6


def vector(name: str, values: ArrayLike, length: int | None = None) -> NDArray[np.float64]:
    """A non-empty vector of real numbers without NaN, as float64; infinities are allowed."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected a vector of real numbers, got {values!r:.80}") from error
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: expected a non-empty vector, got an array of shape {array.shape}")
    if length is not None and array.size != length:
        raise ValueError(f"{name}: expected {length} entries, one for each response, got {array.size}")
    if np.isnan(array).any():
        raise ValueError(f"{name}: contains NaN")
    return array


def finite_vector(name: str, values: ArrayLike, length: int | None = None) -> NDArray[np.float64]:
    """A non-empty vector of finite real numbers, as float64."""
    array = vector(name, values, length)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains an infinite value")
    return array


def probabilities(name: str, values: ArrayLike, length: int | None = None) -> NDArray[np.float64]:
    """A vector of probabilities that sum to 1 (to SUM_TOLERANCE), as float64, as given: not renormalised."""
    array = finite_vector(name, values, length)
    if (array < 0).any():
        raise ValueError(f"{name}: contains a negative probability, {array.min()}")
    if abs(array.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(f"{name}: probabilities must sum to 1, these sum to {array.sum()}")
    return array


def positive(name: str, value: float, *, or_zero: bool = False) -> float:
    """A finite number above 0 (or from 0 on), as a Python float."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected a number, got {value!r:.80}") from error
    if not math.isfinite(number) or number < 0 or (number == 0 and not or_zero):
        raise ValueError(f"{name}: must be finite and {'at least' if or_zero else 'above'} 0, got {number}")
    return number


def count(name: str, value: int, minimum: int = 0) -> int:
    """A whole number, at least `minimum`, as a Python int. A float with a whole value (1e6) will do."""
    try:
        number = int(value) if float(value).is_integer() else operator.index(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: expected a whole number, got {value!r:.80}") from error
    if number < minimum:
        raise ValueError(f"{name}: must be at least {minimum}, got {number}")
    return number


def responses(name: str, values: ArrayLike, K: int) -> NDArray[np.int64]:
    """A vector of responses (integers from 0 to K - 1), possibly empty, as int64."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a vector of responses, got an array of shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name}: responses are integers, got {array.dtype}")
    if array.min() < 0 or array.max() >= K:
        raise ValueError(f"{name}: responses lie between 0 and {K - 1}, got {array.min()} to {array.max()}")
    return array.astype(np.int64)


def pairs(
    winner_name: str, winners: ArrayLike, loser_name: str, losers: ArrayLike, K: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two columns of a table of preference pairs, equally long, possibly empty, as int64."""
    won, lost = responses(winner_name, winners, K), responses(loser_name, losers, K)
    if len(won) != len(lost):
        raise ValueError(f"{loser_name}: expected one for each of the {len(won)} {winner_name}, got {len(lost)}")
    return won, lost
