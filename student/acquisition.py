"""Which comparison to ask for: expected information about the reward model, one score for each candidate pair."""

import numpy as np
from numpy.typing import ArrayLike

from .laplace import Array

# given
RULES = ("random", "bald", "dopt")


# graded
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
    raise NotImplementedError
