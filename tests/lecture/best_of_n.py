"""The lecture's law of best-of-n: no ties, sorted scores."""

import math

import numpy as np


def best_of_n_distribution(scores, pi_ref, n):
    """Differences of powers of the distribution function; among tied scores, argsort's last takes the most."""
    order = np.argsort(scores)
    below = np.concatenate([[0.0], np.cumsum(pi_ref[order])])
    law = np.zeros_like(pi_ref)
    law[order] = np.diff(below**n)
    return law


def best_of_n_kl(n):
    """log n - (n - 1) / n."""
    return math.log(n) - (n - 1) / n
