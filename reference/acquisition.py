"""Which comparison to ask for: expected information about the reward model, one score for each candidate pair."""

import numpy as np
from numpy.typing import ArrayLike

from ._arguments import finite_vector
from .laplace import Array, _covariance, _matrix, posterior_samples, sigmoid

# given
RULES = ("random", "bald", "dopt")


# graded
_N_SAMPLES = 256  # posterior draws behind BALD where the caller brings none; the score is low by 1/256 of itself
_BLOCK = 128  # candidates at a time, so that arrays stay small (1,900 candidates, 64 draws: 0.9 ms, at once 3.5 ms)


def acquisition_scores(
    rule: str,
    U: ArrayLike,
    w: ArrayLike,
    cov: ArrayLike,
    rng: np.random.Generator,
    samples: ArrayLike | None = None,
) -> Array:
    r"""How much a comparison is expected to teach, for each of m candidate pairs; higher is better.

    With s = sigmoid, h(p) = -p log p - (1-p) log(1-p) in nats and h(0) = h(1) = 0, the score of a row u of U is

        "bald"    h(mean_k p_k) - mean_k h(p_k),   p_k = s(u . samples_k): the mutual information between the answer and
                  the weights. Without samples the means are over own draws from N(w, cov), two or more, or exact.
        "dopt"    log(1 + p(1-p) u^T cov u),   p = s(u . w): by how much the comparison raises the log-determinant of
                  the posterior precision. It has no factor 1/2, and p is taken at w.
        "random"  a uniform draw from [0, 1), independent of everything: U gives only the number of scores.

    Args:
        rule: one of `RULES`.
        U: (m, d) features of A minus features of B, one row for each candidate; u = 0 scores 0 under "bald" and "dopt".
        w: (d,) posterior mean.
        cov: (d, d) posterior covariance.
        rng: where all randomness comes from.
        samples: (S, d) draws of the weights for "bald", S >= 1; where given, they are used and w and cov do not matter.
            The other rules ignore them.

    Returns:
        float64 (m,). BALD lies in [0, log 2] up to rounding of 1e-12, and is finite for logits of any size: two draws
        that are certain of opposite answers score log 2, equal draws score 0. Right to 1e-8. Arguments are not
        modified.

    Raises:
        ValueError: an unknown rule (graded); arrays that are not finite or do not fit each other (not graded).

    Source: BALD is eq. 2 of Houlsby et al. 2011, "Bayesian Active Learning for Classification and Preference
    Learning", arXiv 1112.5745. The log-determinant gain is the matrix determinant lemma (Harville 1997, "Matrix Algebra
    From a Statistician's Perspective", section 18.1).
    """
    if rule not in RULES:
        raise ValueError(f"rule: must be one of {', '.join(RULES)}, got {rule!r}")
    if rule == "random":
        return rng.random(len(_matrix("U", U)))
    w = finite_vector("w", w)
    U = _matrix("U", U, len(w))
    if rule == "dopt":
        z = U @ w
        variance = np.einsum("ij,ij->i", U @ _covariance(cov, len(w)), U)  # of the logit u . w
        return np.log1p(sigmoid(z) * sigmoid(-z) * variance)
    samples = posterior_samples(w, cov, _N_SAMPLES, rng) if samples is None else _matrix("samples", samples, len(w))
    if len(samples) == 0:
        raise ValueError("samples: expected at least one draw of the weights")
    mean_p, mean_entropy = np.empty(len(U)), np.empty(len(U))
    for start in range(0, len(U), _BLOCK):
        block = slice(start, start + _BLOCK)
        mean_p[block], mean_entropy[block] = _means(samples @ U[block].T)
    return np.maximum(_entropy(mean_p) - mean_entropy, 0.0)


def _means(z: Array) -> tuple[Array, Array]:
    """Mean probability and mean entropy of the answers over the draws, for an (S, m) array of logits."""
    # One exponential serves both, and saturation harms neither: the rarer answer has probability q = sigmoid(-|z|), and
    # the entropy is |z| q + log(1 + exp(-|z|)).
    size = np.abs(z)
    small = np.exp(-size)
    q = small / (1.0 + small)
    # The logarithms of a column are those of a few products; one of 512 factors up to 2 does not overflow.
    products = np.multiply.reduceat(1.0 + small, range(0, len(z), 512), axis=0)
    entropy = np.einsum("sm,sm->m", size, q) + np.log(products).sum(axis=0)
    return 0.5 + np.copysign(0.5 - q, z).mean(axis=0), entropy / len(z)


def _entropy(p: Array) -> Array:
    """Entropy in nats of a coin with probability p."""
    both = np.stack([p, 1.0 - p])
    return -np.sum(both * np.log(np.where(both > 0.0, both, 1.0)), axis=0)
