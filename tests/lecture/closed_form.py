"""The lecture's optimum in closed form, KL and total variation."""

import numpy as np


def optimal_policy(r, pi_ref, beta):
    """Softmax of log pi_ref + r / beta; the shift comes after the division."""
    scores = np.log(pi_ref) + r / beta
    weights = np.exp(scores - np.max(scores))
    return weights / np.sum(weights)


def kl(p, q):
    """The sum over the support of p, as it rounds: below 0 for nearly equal policies."""
    support = p > 0
    ratio = p[support] / q[support]
    return float(np.sum(p[support] * np.log(ratio)))


def tv(p, q):
    """Half the L1 distance."""
    return float(np.sum(np.abs(p - q)) / 2)
