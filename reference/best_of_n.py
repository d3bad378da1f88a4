"""Best-of-n sampling: draw n responses from the reference policy and keep the one with the highest score."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import count, probabilities, vector


# graded
def best_of_n_distribution(scores: ArrayLike, pi_ref: ArrayLike, n: int) -> NDArray[np.float64]:
    """The exact law of the best of n independent draws from pi_ref.

    Write F(s) for the probability that one draw scores at most s and F-(s) for the probability that it scores below s.
    The best of n draws has score s with probability

        F(s)^n - F-(s)^n

    Responses with the same score form a level. Given that the best draw lies in a level, it is still distributed like a
    draw from pi_ref within the level: p_i / p_j = pi_ref_i / pi_ref_j whenever scores_i = scores_j. (So it is when the
    first best draw is kept, and when one of the best draws is picked at random.)

    Source: Beirami et al. 2025, section 2, for distinct scores; the rule for ties follows from the definition.

    Args:
        scores: (K,) array, floats or integers, in any order. Two scores tie when they are equal as floats.
        pi_ref: (K,) array, probabilities of one draw; they sum to 1 and may contain zeros.
        n: number of draws, an integer >= 1; the result has to be right up to n = 2**20 at least.

    Returns:
        (K,) float64 probabilities in the order of `scores`, each right to 1e-8; they sum to 1. A response with pi_ref =
        0 has probability exactly 0, and n = 1 gives back pi_ref.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): n < 1, NaN, probabilities that are negative or do not sum to
            1, different lengths.
    """
    scores = vector("scores", scores)
    pi_ref = probabilities("pi_ref", pi_ref, len(scores))
    n = count("n", n, minimum=1)
    support = pi_ref > 0
    # The n-th power magnifies a total mass of 1 + 1e-9 to 1.001 at n = 2**20.
    q = pi_ref[support] / pi_ref.sum()
    level_of = np.unique(scores[support], return_inverse=True)[1]
    mass = np.bincount(level_of, weights=q)
    F = np.cumsum(mass)
    above = np.concatenate([np.cumsum(mass[::-1])[-2::-1], [0.0]])
    # F^n - (F - m)^n = -F^n expm1(n log1p(-m / F)): a difference of the powers would have absolute accuracy only,
    # nothing at all for a best response of probability 1e-17. log F is taken from the end of the order that is nearer.
    with np.errstate(divide="ignore", invalid="ignore"):
        log_F = np.where(above < 0.5, np.log1p(-above), np.log(F))
        wins = -np.exp(n * log_F) * np.expm1(n * np.log1p(-np.minimum(mass / F, 1.0)))
    best = np.zeros(len(pi_ref))
    best[support] = wins[level_of] * (q / mass[level_of])
    return best


def best_of_n_kl(n: int) -> float:
    """The KL divergence of the best of n draws from pi_ref, when no two draws can have the same score.

        log n - (n - 1) / n        (nats)

    It is exact for scores with a continuous law and an upper bound whenever scores can tie or responses are few.

    Source: Stiennon et al. 2020, appendix G.3; as a bound: Beirami et al. 2025, Theorem 3.1.

    Args:
        n: number of draws, an integer >= 1: a Python int up to 10**18, or a NumPy int32 or int64.

    Returns:
        A float (a NumPy scalar will do), right to 1e-8 (relative above 1); 0 for n = 1.

    Raises:
        ValueError: for n < 1 or not a whole number (not graded).
    """
    n = count("n", n, minimum=1)
    return math.log(n) - (n - 1) / n
