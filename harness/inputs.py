"""Hypothesis strategies for inputs in general position.

No two rewards are equal and no probability is zero unless ties or zeros are asked for; numbers are short decimals,
so that the smallest failing input of a report can be read and typed. `k` is the number of responses.
"""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rewards(k: int, *, ties: bool = False, bound: float = 6.0) -> SearchStrategy[Array]:
    """(k,) rewards in [-bound, bound], two decimals. With `ties`, at least two are equal and not all (k >= 3)."""
    steps = round(100 * bound)
    numbers = st.integers(-steps, steps)
    if not ties:
        return st.lists(numbers, min_size=k, max_size=k, unique=True).map(_hundredths)
    levels = st.lists(numbers, min_size=2, max_size=max(2, k - 1), unique=True)
    return levels.flatmap(lambda values: _every_level_used(values, k)).map(_hundredths)


def policies(k: int, *, zeros: bool = False) -> SearchStrategy[Array]:
    """(k,) probabilities, all different, none below 1/1000 of the largest. With `zeros`, at least one is 0, not all."""
    weights = st.lists(st.integers(1, 1000), min_size=k, max_size=k, unique=True).map(
        lambda w: np.array(w, dtype=np.float64)
    )
    if zeros:
        absent = st.lists(st.integers(0, k - 1), min_size=1, max_size=k - 1, unique=True)
        weights = st.tuples(weights, absent).map(lambda pair: _without(*pair))
    return weights.map(lambda w: w / w.sum())


def scored_policies(k: int, *, ties: bool = False) -> SearchStrategy[tuple[Array, Array]]:
    """(scores, pi_ref), both (k,)."""
    return st.tuples(rewards(k, ties=ties), policies(k))


def betas(low: float = 0.2, high: float = 5.0) -> SearchStrategy[float]:
    """The strength of the KL penalty, two decimals."""
    return st.integers(round(100 * low), round(100 * high)).map(lambda hundredths: hundredths / 100)


def problems(k: int, *, zeros: bool = False) -> SearchStrategy[tuple[Array, Array, float]]:
    """(r, pi_ref, beta): what the RLHF objective is made of."""
    return st.tuples(rewards(k), policies(k, zeros=zeros), betas())


def batches(k: int, size: int) -> SearchStrategy[NDArray[np.int64]]:
    """(size,) responses in 0..k-1, repetitions allowed."""
    return st.lists(st.integers(0, k - 1), min_size=size, max_size=size).map(lambda y: np.array(y, dtype=np.int64))


def preference_pairs(k: int, n: int) -> SearchStrategy[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(winners, losers), both (n,): n comparisons of two different responses."""
    pair = st.lists(st.integers(0, k - 1), min_size=2, max_size=2, unique=True)
    return st.lists(pair, min_size=n, max_size=n).map(_columns)


def vectors(size: int, *, bound: float = 3.0) -> SearchStrategy[Array]:
    """(size,) numbers in [-bound, bound], two decimals."""
    steps = round(100 * bound)
    return st.lists(st.integers(-steps, steps), min_size=size, max_size=size).map(_hundredths)


def matrices(rows: int, columns: int, *, bound: float = 3.0) -> SearchStrategy[Array]:
    """(rows, columns) numbers in [-bound, bound], two decimals."""
    return vectors(rows * columns, bound=bound).map(lambda flat: flat.reshape(rows, columns))


def covariances(d: int) -> SearchStrategy[Array]:
    """(d, d) symmetric positive definite matrices, no two variances alike, correlated."""
    return matrices(d, d, bound=1.0).map(lambda a: a @ a.T + np.diag(0.1 + 0.07 * np.arange(d)))


def _hundredths(numbers: list[int]) -> Array:
    return np.array(numbers, dtype=np.float64) / 100


def _every_level_used(levels: list[int], k: int) -> SearchStrategy[list[int]]:
    extra = st.lists(st.sampled_from(levels), min_size=k - len(levels), max_size=k - len(levels))
    return extra.flatmap(lambda more: st.permutations(levels + more)).map(list)


def _without(weights: Array, absent: list[int]) -> Array:
    weights = weights.copy()
    weights[absent] = 0.0
    return weights


def _columns(pairs: list[list[int]]) -> Any:
    winners, losers = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
    return winners, losers
