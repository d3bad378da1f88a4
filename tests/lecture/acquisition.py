"""Acquisition scores as lectures write them down: entropies with a clipped logarithm."""

import numpy as np

from .laplace import posterior_samples, sigmoid


def acquisition_scores(rule, U, w, cov, rng, samples=None):
    """One score for each candidate, higher is better."""
    if rule == "random":
        return rng.random(len(U))
    if rule == "dopt":
        p = sigmoid(U @ w)
        return np.log1p(p * (1 - p) * np.sum((U @ cov) * U, axis=1))
    if rule == "bald":
        if samples is None:
            samples = posterior_samples(w, cov, 200, rng)
        p = sigmoid(U @ samples.T)
        return _entropy(p.mean(axis=1)) - _entropy(p).mean(axis=1)
    raise ValueError(f"rule: {rule!r} is unknown")


def _entropy(p):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -p * np.log(p) - (1 - p) * np.log(1 - p)
