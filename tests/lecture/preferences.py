"""The lecture's preference pairs."""

import numpy as np


def make_pairs(r, pi_ref, n, seed, noisy=True):
    """Two draws a pair, equal ones dropped; without noise the second wins when the rewards are equal."""
    rng = np.random.default_rng(seed)
    one, other = (rng.choice(len(pi_ref), n, p=pi_ref) for _ in range(2))
    distinct = one != other
    one, other = one[distinct], other[distinct]
    lead = r[one] - r[other]
    one_wins = rng.random(len(lead)) < 1 / (1 + np.exp(-lead)) if noisy else lead > 0
    return np.where(one_wins, one, other), np.where(one_wins, other, one)
