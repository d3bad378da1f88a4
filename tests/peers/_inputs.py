"""Random inputs of the comparisons, and models of libraries that several of them fit."""

import choix
import numpy as np
from scipy import special
from sklearn.linear_model import LogisticRegression

DIGITS = 50
"""Decimal digits of mpmath, of which 15 make a float."""


def problem(rng):
    """(r, pi_ref, beta): ordinary ones."""
    k = int(rng.integers(2, 9))
    return rng.normal(0, 2, k), rng.dirichlet(np.full(k, 2.0)), rng.uniform(0.2, 3)


def sparse_policy(rng, k):
    """(k,) probabilities, about a third of them 0."""
    p = rng.dirichlet(np.ones(k)) * (rng.random(k) < 0.67)
    p[rng.integers(k)] += 0.1
    return p / p.sum()


def extreme_policy(rng, k, zeros=1):
    """(k,) probabilities from 1e-300 to 1, and as many that are 0."""
    p = 10 ** -(300 * rng.random(k) ** 4)
    p[rng.choice(k, zeros, replace=False)] = 0.0
    return p / p.sum()


def covariance(rng, d):
    """(d, d), positive definite."""
    root = rng.standard_normal((d, d))
    return root @ root.T + 0.1 * np.eye(d)


def comparisons(rng):
    """U, Y with both labels, and a prior precision."""
    m, d = int(rng.integers(4, 60)), int(rng.integers(1, 6))
    U = rng.normal(0, rng.choice([0.3, 1.0, 5.0]), (m, d))
    Y = (rng.random(m) < special.expit(U @ rng.standard_normal(d))).astype(int)
    Y[:2] = 0, 1
    return U, Y, 10 ** rng.uniform(-1, 1)


def different_pairs(rng, k, n):
    """(winners, losers), both (n,): a cycle through all k responses, so that every one can be reached, then chance."""
    winners = np.append(np.arange(k), rng.integers(k, size=n - k)) if n >= k else rng.integers(k, size=n)
    shift = np.append(np.ones(k, dtype=np.int64), rng.integers(1, k, size=n - k)) if n >= k else rng.integers(1, k, n)
    return winners, (winners + shift) % k


def bradley_terry(pairs, k):
    """(k,) maximum-likelihood rewards of choix, centred."""
    wins = np.zeros((k, k))
    np.add.at(wins, pairs, 1)
    return centred(choix.ilsr_pairwise_dense(wins, tol=1e-12))


def logistic_regression(X, y, c):
    """(d,) weights of scikit-learn, without intercept."""
    model = LogisticRegression(C=c, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    return model.fit(X, y).coef_[0]


def centred(r):
    """r less its mean."""
    return np.asarray(r) - np.mean(r)
