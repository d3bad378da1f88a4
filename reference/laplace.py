"""Bayesian logistic regression on preference pairs: the Laplace posterior and its rank-one update.

The reward is linear in known features, r(y) = w . x(y), and people prefer A to B with probability sigmoid(w . u) where
u = x(A) - x(B). Under the prior w ~ N(0, I / prior_precision) the posterior is approximated by a normal law N(w, cov).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import count, finite_vector, positive

# given
Array = NDArray[np.float64]


# graded
_NEWTON_STEPS = 100  # heavy-tailed features of size 1e3 took at most 25 of them, ordinary ones 6
_SAME_HESSIAN = 1e-8  # a Newton step that moves no logit further than this meets one and the same Hessian to 8 digits


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
    x = np.asarray(x, dtype=np.float64)
    if np.isnan(x).any():
        raise ValueError("x: contains NaN")
    small = np.exp(-np.abs(x))  # in [0, 1]: never overflows
    return np.where(x >= 0, 1.0, small)[()] / (1.0 + small)


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
    U = _matrix("U", U)
    Y = _labels(Y, len(U))
    prior_precision = positive("prior_precision", prior_precision)
    prior = prior_precision * np.eye(U.shape[1])
    # Signed rows make the likelihood prod_i sigmoid(V_i . w): its tail keeps the digits that Y - sigmoid loses.
    V = np.where(Y[:, None] == 1.0, U, -U)

    def loss(w: Array) -> float:
        return float(np.logaddexp(0.0, -V @ w).sum() + 0.5 * prior_precision * (w @ w))

    w = np.zeros(U.shape[1])
    current = loss(w)
    for _ in range(_NEWTON_STEPS):
        margins = V @ w
        gradient = prior_precision * w - V.T @ sigmoid(-margins)
        step = np.linalg.solve(_precision(V, margins, prior), gradient)
        # Undamped Newton may cycle for features of size 100 and more, so the step is halved until the loss falls.
        # Rounding may hide the fall of a small step, hence the allowance.
        while loss(w - step) > current + 1e-13 * (1.0 + current):
            step /= 2
        w = w - step
        current = loss(w)
        if np.max(np.abs(V @ step), initial=0.0) <= _SAME_HESSIAN:
            break  # the loss was quadratic along this step, so it ended at the optimum
    cov = np.linalg.inv(_precision(V, V @ w, prior))
    return w, (cov + cov.T) / 2


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
    w = finite_vector("w", w)
    cov = _covariance(cov, len(w))
    n = count("n", n)
    return w + rng.standard_normal((n, len(w))) @ _square_root(cov).T


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
    u = finite_vector("u", u)
    cov = _covariance(cov, len(u))
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p: must be a probability between 0 and 1, got {p!r}")
    weight = p * (1.0 - p)
    cov_u = cov @ u
    return cov - np.outer(cov_u, cov_u) * (weight / (1.0 + weight * (u @ cov_u)))


def _precision(V: Array, margins: Array, prior: Array) -> Array:
    """Hessian of the negative log posterior."""
    weights = sigmoid(margins) * sigmoid(-margins)  # 1 - sigmoid would round to 0 at margins above 37
    return prior + V.T @ (weights[:, None] * V)


def _square_root(cov: Array) -> NDArray[np.floating]:
    """A matrix R with R R^T = cov, for singular covariances too."""
    scale = np.sqrt(np.diag(cov))
    scale[scale == 0.0] = 1.0
    eigenvalues, eigenvectors = np.linalg.eigh(cov / np.outer(scale, scale))
    rounding = 1e-14 * len(cov)
    if eigenvalues[0] < -1e4 * rounding:
        raise ValueError(f"cov: has a negative eigenvalue ({eigenvalues[0]:.3g} of its correlation matrix)")
    eigenvalues[eigenvalues < rounding] = 0.0
    return scale[:, None] * eigenvectors * np.sqrt(eigenvalues)


def _matrix(name: str, values: ArrayLike, columns: int | None = None) -> Array:
    """`values` as a finite (m, columns) float64 array, m = 0 included."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name}: expected an array with two axes, got shape {array.shape}")
    if columns is not None and array.shape[1] != columns:
        raise ValueError(f"{name}: expected {columns} columns, one for each weight, got {array.shape[1]}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains NaN or an infinite value")
    return array


def _covariance(values: ArrayLike, d: int) -> Array:
    """`values` as a symmetric (d, d) float64 array without negative variances."""
    cov = _matrix("cov", values, d)
    if len(cov) != d:
        raise ValueError(f"cov: expected shape ({d}, {d}), got {cov.shape}")
    variances = np.diag(cov)
    if (variances < 0.0).any():
        raise ValueError(f"cov: contains a negative variance, {variances.min()}")
    scale = np.sqrt(variances)
    if (np.abs(cov - cov.T) > 1e-8 * np.outer(scale, scale)).any():
        raise ValueError("cov: must be symmetric")
    return cov


def _labels(values: ArrayLike, m: int) -> Array:
    """`values` as m labels 0.0 or 1.0."""
    labels = np.asarray(values, dtype=np.float64)
    if labels.shape != (m,):
        raise ValueError(f"Y: expected {m} labels, one for each row of U, got shape {labels.shape}")
    if not np.isin(labels, (0.0, 1.0)).all():
        raise ValueError("Y: labels must be 0 or 1")
    return labels
