"""Bayesian logistic regression on preference pairs: the Laplace posterior and its rank-one update.

The reward is linear in known features, r(y) = w . x(y), and people prefer A to B with probability sigmoid(w . u) where
u = x(A) - x(B). Under the prior w ~ N(0, I / prior_precision) the posterior is approximated by a normal law N(w, cov).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

# given
Array = NDArray[np.float64]


# graded
def sigmoid(x: ArrayLike) -> Array:
    r"""The logistic function 1 / (1 + exp(-x)), element by element: the probability whose log-odds are x.

    Source: Bradley and Terry 1952, where x is the logarithm of a ratio of strengths.

    Args:
        x: numbers of any shape, integers or floats, a scalar too; +-inf allowed, any size.

    Returns:
        float64, of the shape of x (for a scalar x a Python float, a NumPy scalar or an array of shape ()), right
        to 1e-8. sigmoid(0) is 0.5, sigmoid(+inf) is 1, sigmoid(-inf) is 0; nothing is NaN for large |x|. x is not
        modified.

    Raises (not graded):
        ValueError: x holds NaN.
    """
    raise NotImplementedError


def fit_laplace(U: ArrayLike, Y: ArrayLike, prior_precision: float = 1.0) -> tuple[Array, Array]:
    r"""Laplace approximation N(w, cov) of the posterior of a Bayesian logistic regression without intercept.

        w   = argmin_v  -sum_i [ Y_i log s(U_i . v) + (1 - Y_i) log s(-U_i . v) ] + prior_precision / 2 |v|^2
        cov = ( prior_precision I + sum_i p_i (1 - p_i) U_i U_i^T )^-1,   p_i = s(U_i . w),   s = sigmoid

    The sum runs over the comparisons (it is not a mean), the prior is N(0, I / prior_precision), and cov is the inverse
    Hessian at the optimum. The optimum is unique and finite, for labels that a plane separates too.

    Args:
        U: (m, d) features of A minus features of B, one row for each comparison, used as they are: not centred, not
            scaled.
        Y: (m,) labels, 1 where A was preferred and 0 where B was; integers, floats or booleans.
        prior_precision: inverse variance of each weight under the prior, > 0; 1 where it is not given.

    Returns:
        w, float64 (d,), the posterior mode, where no component of the gradient of the penalised loss is larger than
        1e-5 (times the largest |U_ij|, where that is above 1), and cov, float64 (d, d), symmetric, the inverse Hessian
        there to 1e-8 (relative above 1), or to where the penalised loss is flat to rounding; also for features of size
        100. Without comparisons (m = 0, U of shape (0, d)) they are 0 and I / prior_precision. Arguments are not
        modified. The optimiser is free. Nothing is left to chance: the same arguments give the same w and cov.

    Raises (not graded):
        ValueError: U is not a finite (m, d) array, Y is not m labels of 0 and 1, or prior_precision is not positive.

    Source: Bishop 2006, "Pattern Recognition and Machine Learning", section 4.5.1, eq. 4.140 to 4.144 (what 4.143
    prints as S_N is its inverse).
    """
    raise NotImplementedError


def posterior_samples(w: ArrayLike, cov: ArrayLike, n: int, rng: np.random.Generator) -> Array:
    """n independent draws from the normal law N(w, cov).

    Source: the definition of a normal law in d dimensions.

    Args:
        w: (d,) mean.
        cov: (d, d) covariance matrix, symmetric positive definite, of any scale.
        n: number of draws, n >= 0.
        rng: where all randomness comes from; it advances, so that the next call gives other draws. The order in which
            it is used is free.

    Returns:
        float64 (n, d): one draw a row, rows independent; shape (0, d) for n = 0. The same state of rng gives the same
        draws. w and cov are not modified.

    Raises (not graded):
        ValueError: w is not a finite vector; cov is not a symmetric (d, d) matrix, or has a negative eigenvalue; n < 0.
            (A singular cov, zero included, is no error of the reference: the draws lie in w + range(cov).)
    """
    raise NotImplementedError


def sherman_morrison_update(cov: ArrayLike, u: ArrayLike, p: float) -> Array:
    r"""The covariance after one more comparison, by a rank-one update in O(d^2).

        (cov^-1 + p(1-p) u u^T)^-1,   from cov itself: nothing is inverted

    A Laplace posterior with w held fixed changes in this way, whatever the answer to the comparison.

    Args:
        cov: (d, d) covariance matrix, symmetric positive definite.
        u: (d,) feature difference of the comparison; zero changes nothing.
        p: probability, under the fitted w, that A is preferred, in [0, 1]; p and 1 - p give the same, 0 and 1 change
            nothing.

    Returns:
        float64 (d, d), a new array, symmetric up to rounding, right to 1e-8 (relative above 1). Arguments are not
        modified.

    Raises (not graded):
        ValueError: cov is not a symmetric (d, d) matrix, u not a finite vector of its length, or p not in [0, 1].

    Source: Sherman and Morrison 1950, "Adjustment of an inverse matrix corresponding to a change in one element of a
    given matrix", Annals of Mathematical Statistics 21(1).
    """
    raise NotImplementedError
