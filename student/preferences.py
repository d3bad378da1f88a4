"""Preference pairs: two responses of the reference policy, and which of them is preferred."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


# graded
def make_pairs(
    r: ArrayLike, pi_ref: ArrayLike, n: int, seed: int, noisy: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw n pairs of responses and label each pair by the Bradley-Terry model.

    For each of n pairs two responses a and b are drawn from pi_ref, independently. A pair of a response with itself
    says nothing and is left out (it is not replaced by another one). In each of the others

        noisy:      a wins with probability sigma(r_a - r_b), independently of everything else
        not noisy:  the response with the higher reward wins; which one wins between equal rewards is free

    where sigma is the logistic function. So a pair drawn ends up as (winner i, loser j), i != j, with probability
    2 pi_ref_i pi_ref_j sigma(r_i - r_j).

    Source: Bradley and Terry 1952.

    Args:
        r: (K,) array, rewards: finite floats or integers. Differences as large as 1e6 must work.
        pi_ref: (K,) array, probabilities; they sum to 1 and may contain zeros.
        n: number of pairs drawn, an integer >= 0.
        seed: an integer >= 0. The same seed gives the same pairs, different seeds give different ones. In which order
            the random numbers are drawn is free.
        noisy: whether labels are random as above.

    Returns:
        (winners, losers): two integer arrays of the same length, at most n, with entries in 0..K-1. They are empty for
        n = 0 and for K = 1.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): negative n, probabilities that are negative or do not sum to
            1, NaN, different lengths.
    """
    raise NotImplementedError
