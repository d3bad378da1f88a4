"""Bayesian logistic regression as lectures write it down: plain sigmoid, undamped Newton, Cholesky."""

import numpy as np


def sigmoid(x):
    """1 / (1 + exp(-x)), which overflows to the right value."""
    return 1 / (1 + np.exp(-x))


def fit_laplace(U, Y, prior_precision=1.0):
    """Fifty undamped Newton steps from 0; they may cycle for features of size 100."""
    w = np.zeros(U.shape[1])
    for _ in range(50):
        p = sigmoid(U @ w)
        w = w - np.linalg.solve(_precision(U, p, prior_precision), U.T @ (p - Y) + prior_precision * w)
    return w, np.linalg.inv(_precision(U, sigmoid(U @ w), prior_precision))


def posterior_samples(w, cov, n, rng):
    """w + L z."""
    return w + rng.standard_normal((n, len(w))) @ np.linalg.cholesky(cov).T


def sherman_morrison_update(cov, u, p):
    """The rank-one update that the lecture's batches use."""
    weight = p * (1 - p)
    direction = cov @ u
    return cov - weight * np.outer(direction, direction) / (1 + weight * (u @ direction))


def _precision(U, p, prior_precision):
    return prior_precision * np.eye(U.shape[1]) + U.T @ (U * (p * (1 - p))[:, None])
