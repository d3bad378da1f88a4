"""Small hand-made reply worlds that remember what they were asked: for facts about online_collection.py.

An implementation takes such a world for the lab's own: arrays X, ref_lp, gold; methods sample, label, downstream. It
writes down every draw, question and reward model that it was shown, so that a fact can decide what a run did.

Notation: N replies, d features, r = X w, p proportional to exp(ref_lp + r / beta) the RLHF policy.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize
from scipy.special import expit, softmax, xlogy

from harness.shared import Shared

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SHARPNESS = 2.0
"""Logits of preference in a point of gold, as in the lab's world."""


class Draw(NamedTuple):
    """A call of `sample`: how many answers had been given before it, from which law, and what came out."""

    answers_before: int
    policy: Array
    replies: Indices


class Comparisons(NamedTuple):
    """Questions in the order they were asked, and the answers: 1 where a was preferred to b."""

    a: Indices
    b: Indices
    answers: Array

    def part(self, start: int, stop: int) -> "Comparisons":
        """Questions number `start` to `stop` - 1."""
        return Comparisons(self.a[start:stop], self.b[start:stop], self.answers[start:stop])

    def unordered(self) -> Indices:
        """(m, 2) the replies of each question, the smaller number first."""
        return np.sort(np.stack([self.a, self.b], axis=1), axis=1)


class SpyWorld(Shared):
    """A world that remembers.

    X: (N, d) features. gold: (N,) true quality. ref_lp: (N,) log-probabilities of the SFT policy, all equal if None.
    pool_laws: {n: (N,) probabilities}: once n answers are given, draws are made from this law, whatever policy is asked
    for. That holds the pools still, for facts about the choice of pairs. All arrays are read-only.
    """

    attributes = ("X", "gold", "ref_lp")
    methods = ("sample", "label", "downstream")

    def __init__(
        self,
        X: ArrayLike,
        gold: ArrayLike,
        ref_lp: ArrayLike | None = None,
        pool_laws: Mapping[int, ArrayLike] | None = None,
    ) -> None:
        self.X = _fixed(X)
        self.gold = _fixed(gold)
        self.ref_lp = _fixed(np.full(len(self.X), -np.log(len(self.X))) if ref_lp is None else ref_lp)
        self._pool_laws = {n: _fixed(law) for n, law in (pool_laws or {}).items()}
        self.draws: list[Draw] = []
        self.models: list[tuple[Array, float]] = []
        self._asked: list[Comparisons] = []

    def sample(self, logprobs: ArrayLike, n: int, rng: np.random.Generator) -> Indices:
        """(n,) independent draws from the policy with these log-probabilities."""
        lp = np.asarray(logprobs, dtype=np.float64)
        if lp.shape != self.ref_lp.shape or np.isnan(lp).any() or not np.isfinite(lp.max()):
            raise ValueError(f"logprobs: expected the log-probabilities of all {len(self.ref_lp)} replies")
        policy = softmax(lp)
        before = len(self.comparisons.a)
        due = [n for n in self._pool_laws if n <= before]
        law = self._pool_laws[max(due)] if due else policy
        replies = rng.choice(len(law), size=n, p=law)
        self.draws.append(Draw(before, policy, np.atleast_1d(replies)))
        return np.array(replies)

    def label(self, a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> Array:
        """(n,) answers: 1.0 with probability sigmoid(2 (gold[a] - gold[b])), else 0.0."""
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.ndim != 1 or a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
            raise ValueError("a, b: expected two arrays of reply numbers, equally long")
        answers = (rng.random(len(a)) < expit(SHARPNESS * (self.gold[a] - self.gold[b]))).astype(np.float64)
        self._asked.append(Comparisons(a.astype(np.int64), b.astype(np.int64), answers.copy()))
        return answers

    def downstream(self, w: ArrayLike, beta: float) -> dict[str, float]:
        """Exact statistics of the RLHF policy for the reward model X w."""
        w = np.array(w, dtype=np.float64)
        self.models.append((w, float(beta)))
        p = self.rlhf_policy(w, beta)
        entropy = -float(xlogy(p, p).sum())
        return {
            "gold": float(p @ self.gold),
            "kl": float(-entropy - p @ self.ref_lp),
            "entropy": entropy,
            "same": float(p @ p),
        }

    def rlhf_policy(self, w: Array, beta: float) -> Array:
        """(N,) the optimum of E r - beta KL for the reward r = X w."""
        policy: Array = softmax(self.ref_lp + self.X @ w / beta)
        return policy

    def posterior(self, labels: int) -> tuple[Array, Array]:
        """(w, C) of the Laplace posterior of the first `labels` answers, prior N(0, I).

        w is where the gradient of the log posterior vanishes, C the inverse of its curvature there.
        """
        asked = self.comparisons.part(0, labels)
        U = self.X[asked.a] - self.X[asked.b]

        def curvature(w: Array) -> Array:
            p = expit(U @ w)
            curved: Array = np.eye(U.shape[1]) + (U * (p * (1 - p))[:, None]).T @ U
            return curved

        root = optimize.root(
            lambda w: w - U.T @ (asked.answers - expit(U @ w)), np.zeros(U.shape[1]), jac=curvature, tol=1e-13
        )
        w, cov = np.asarray(root.x, dtype=np.float64), np.asarray(np.linalg.inv(curvature(root.x)), dtype=np.float64)
        return w, cov

    @property
    def comparisons(self) -> Comparisons:
        """Everything that was asked so far."""
        if not self._asked:
            return Comparisons(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return Comparisons(*(np.concatenate(column) for column in zip(*self._asked, strict=True)))

    def draws_after(self, answers: int) -> list[Draw]:
        """The draws that were made when just so many answers had been given."""
        return [draw for draw in self.draws if draw.answers_before == answers]

    def pool_after(self, answers: int) -> Indices:
        """The replies that came out of them."""
        return np.concatenate([np.zeros(0, np.int64), *(draw.replies for draw in self.draws_after(answers))])


def ordinary_world(
    rng: np.random.Generator, n: int = 12, d: int = 3, pool_laws: Mapping[int, ArrayLike] | None = None
) -> SpyWorld:
    """A world in general position: no two replies alike, an uneven SFT policy, gold with a floor."""
    X = 0.8 * rng.standard_normal((n, d))
    points = rng.uniform(0.4, 1.2, d) * rng.choice([-1.0, 1.0], d)
    return SpyWorld(X, np.maximum(X @ points, -0.9), np.log(rng.dirichlet(np.full(n, 3.0))), pool_laws)


def bare_world(X: ArrayLike) -> SpyWorld:
    """A world of which only the features matter."""
    X = np.asarray(X, dtype=np.float64)
    return SpyWorld(X, np.zeros(len(X)))


def _fixed(values: ArrayLike) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
