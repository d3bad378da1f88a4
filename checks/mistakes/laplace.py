"""Wrong answers to laplace.py: the logistic function, the Laplace posterior, draws from it, its rank-one update.

The helpers above are right; each mistake does one thing with them that it should not.
"""

import math

import numpy as np
from scipy import optimize, special, stats
from scipy.stats import qmc

from harness.variants import mistake

_last_mode = None


def _mode(U, Y, lam, start=None, steps=200):
    """The posterior mode: Newton's method, halving steps that raise the loss."""
    U, Y = np.asarray(U, dtype=np.float64), np.asarray(Y, dtype=np.float64)

    def loss(v):
        return np.logaddexp(0.0, np.where(Y > 0.5, -1.0, 1.0) * (U @ v)).sum() + lam / 2 * (v @ v)

    w = np.zeros(U.shape[1]) if start is None else start
    for _ in range(steps):
        gradient = lam * w - U.T @ (Y - special.expit(U @ w))
        step = np.linalg.lstsq(_precision(U, w, lam), gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-9 and loss(w - size * step) > loss(w) + 1e-12 * (1 + loss(w)):
            size /= 2
        w = w - size * step
        if np.abs(step).max(initial=0.0) < 1e-13 * (1 + np.abs(w).max(initial=0.0)):
            break
    return w


def _precision(U, w, lam):
    """Curvature of the negative log posterior at w."""
    U = np.asarray(U, dtype=np.float64)
    weight = special.expit(U @ w) * special.expit(-U @ w)
    return lam * np.eye(U.shape[1]) + (U.T * weight) @ U


def _laplace(U, Y, lam):
    w = _mode(U, Y, lam)
    return w, np.linalg.inv(_precision(U, w, lam))


def _noise(n, d, rng):
    return rng.standard_normal((n, d))


# ---- sigmoid


@mistake("sigmoid", "exp(x) stands where exp(-x) belongs, so the function falls instead of rising", severity="blatant")
def falls_with_x(x):
    return 1.0 / (1.0 + np.exp(np.asarray(x, dtype=np.float64)))


@mistake("sigmoid", "exp(x)/(1 + exp(x)) is inf/inf for large x", severity="extreme")
def overflows_on_the_right(x):
    e = np.exp(np.asarray(x, dtype=np.float64))
    return e / (1.0 + e)


@mistake("sigmoid", "inf/inf is hidden by nan_to_num, which makes a certain preference impossible", severity="extreme")
def hides_nan_as_zero(x):
    e = np.exp(np.asarray(x, dtype=np.float64))
    return np.nan_to_num(e / (1.0 + e), nan=0.0)


@mistake("sigmoid", "the branch for negative arguments returns exp(x) without dividing by 1 + exp(x)")
def negative_branch_is_not_normalised(x):
    x = np.asarray(x, dtype=np.float64)
    return np.where(x >= 0, 1.0 / (1.0 + np.exp(-np.abs(x))), np.exp(np.minimum(x, 0.0)))


@mistake("sigmoid", "tanh is taken of x instead of x/2, which doubles the log-odds", severity="blatant")
def tanh_of_the_whole_argument(x):
    return (1.0 + np.tanh(np.asarray(x, dtype=np.float64))) / 2


@mistake("sigmoid", "the positive and the negative branch are both strict, so that s(0) stays 0", severity="extreme")
def forgets_zero(x):
    x = np.asarray(x, dtype=np.float64)
    p = np.zeros(x.shape)
    p[x > 0] = 1.0 / (1.0 + np.exp(-x[x > 0]))
    p[x < 0] = np.exp(x[x < 0]) / (1.0 + np.exp(x[x < 0]))
    return p[()]


@mistake(
    "sigmoid", "the result is allocated like x, so whole numbers give probabilities cut off to 0", severity="extreme"
)
def result_has_the_dtype_of_x(x):
    x = np.asarray(x)
    p = np.zeros_like(x)
    p[x >= 0] = 1.0 / (1.0 + np.exp(-x[x >= 0]))
    p[x < 0] = np.exp(x[x < 0]) / (1.0 + np.exp(x[x < 0]))
    return p[()]


@mistake("sigmoid", "the branches are filled by boolean indexing, which a Python scalar has not")
def indexes_a_scalar(x):
    p = np.empty(np.shape(x))
    p[x >= 0] = 1.0 / (1.0 + np.exp(-x[x >= 0]))
    p[x < 0] = np.exp(x[x < 0]) / (1.0 + np.exp(x[x < 0]))
    return p


@mistake("sigmoid", "math.exp takes one number, not an array of log-odds", severity="blatant")
def one_number_only(x):
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


@mistake("sigmoid", "a loop over the first axis takes every argument for a vector")
def vectors_only(x):
    p = np.empty(len(x))
    for i, value in enumerate(x):
        p[i] = 1.0 / (1.0 + math.exp(-value)) if value > -700 else 0.0
    return p


@mistake("sigmoid", "np.atleast_1d turns a scalar argument into a vector of one")
def scalar_becomes_a_vector(x):
    return special.expit(np.atleast_1d(np.asarray(x, dtype=np.float64)))


@mistake("sigmoid", "the S-shaped curve is replaced by the straight line of slope 1/4", severity="blatant")
def hard_sigmoid(x):
    return np.clip(0.5 + np.asarray(x, dtype=np.float64) / 4, 0.0, 1.0)


@mistake(
    "sigmoid", "x/(1 + |x|) is taken for the logistic function: the same limits, but no log-odds", severity="blatant"
)
def softsign(x):
    x = np.minimum(np.maximum(np.asarray(x, dtype=np.float64), -1e300), 1e300)
    return (1.0 + x / (1.0 + np.abs(x))) / 2


@mistake("sigmoid", "the normal distribution function is taken for the logistic one", severity="blatant")
def probit(x):
    return special.ndtr(np.asarray(x, dtype=np.float64))


@mistake("sigmoid", "odds are counted in powers of 2 instead of e", severity="blatant")
def base_two(x):
    return 1.0 / (1.0 + np.exp2(-np.asarray(x, dtype=np.float64)))


@mistake("sigmoid", "entries are normalised against each other, as in a softmax", severity="blatant")
def softmax_over_the_entries(x):
    e = np.exp(np.asarray(x, dtype=np.float64) - np.max(x, initial=-1e9))
    return e / e.sum()


@mistake(
    "sigmoid", "the logits are shifted by their maximum, which underflows beside a huge neighbour", severity="extreme"
)
def shifts_by_the_maximum(x):
    x = np.asarray(x, dtype=np.float64)
    top = np.max(x, initial=0.0)
    return np.exp(x - top) / (np.exp(x - top) + np.exp(-top))


@mistake("sigmoid", "one branch is chosen for the whole array, by the sign of its smallest entry", severity="extreme")
def one_branch_for_all(x):
    x = np.asarray(x, dtype=np.float64)
    if x.min(initial=0.0) >= 0:
        return 1.0 / (1.0 + np.exp(-x))
    return np.exp(x) / (1.0 + np.exp(x))


@mistake("sigmoid", "the argument is clipped to +-10, so log-odds below -10 all mean 4.5e-5")
def clips_the_argument_at_ten(x):
    return 1.0 / (1.0 + np.exp(-np.clip(np.asarray(x, dtype=np.float64), -10.0, 10.0)))


@mistake("sigmoid", "probabilities are kept away from 0 and 1 by 1e-6, as one does before a logarithm")
def clips_the_probability(x):
    return np.clip(special.expit(np.asarray(x, dtype=np.float64)), 1e-6, 1 - 1e-6)


@mistake("sigmoid", "single precision leaves seven digits of the probability")
def single_precision(x):
    return special.expit(np.asarray(x, dtype=np.float32))


@mistake("sigmoid", "the derivative s(1 - s) is returned, not s itself", severity="blatant")
def derivative(x):
    p = special.expit(np.asarray(x, dtype=np.float64))
    return p * (1 - p)


@mistake("sigmoid", "the sign of x is turned in place to save an array", severity="subtle")
def negates_in_place(x):
    if isinstance(x, np.ndarray) and x.dtype == np.float64:
        np.negative(x, out=x)
        return special.expit(-x)
    return special.expit(np.asarray(x, dtype=np.float64))


@mistake("sigmoid", "the harmless overflow of exp(-x) far to the left is made an error", severity="extreme")
def overflow_is_an_error(x):
    with np.errstate(over="raise"):
        return 1.0 / (1.0 + np.exp(-np.asarray(x, dtype=np.float64)))


@mistake("sigmoid", "the result is flattened, so a matrix of log-odds loses its shape")
def flattens(x):
    return special.expit(np.ravel(np.asarray(x, dtype=np.float64))) if np.ndim(x) else special.expit(float(x))


# ---- fit_laplace


@mistake("fit_laplace", "the model is of the chance that B wins, so w points at the loser", severity="blatant")
def labels_flipped(U, Y, prior_precision=1.0):
    return _laplace(U, 1.0 - np.asarray(Y, dtype=np.float64), prior_precision)


@mistake("fit_laplace", "ridge regression is fitted to the labels instead of a logistic model", severity="blatant")
def ridge_regression(U, Y, prior_precision=1.0):
    precision = prior_precision * np.eye(U.shape[1]) + U.T @ U
    return np.linalg.solve(precision, U.T @ Y), np.linalg.inv(precision)


@mistake("fit_laplace", "labels recoded to -1 and +1 meet a gradient that is written for 0 and 1")
def signed_labels_in_the_01_gradient(U, Y, prior_precision=1.0):
    w, signed = np.zeros(U.shape[1]), 2.0 * np.asarray(Y, dtype=np.float64) - 1.0
    for _ in range(100):
        gradient = prior_precision * w - U.T @ (signed - special.expit(U @ w))
        w = w - np.clip(np.linalg.solve(_precision(U, w, prior_precision), gradient), -2.0, 2.0)
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "the features are centred first, as if there were an intercept to absorb the mean")
def centres_the_features(U, Y, prior_precision=1.0):
    return _laplace(U - U.mean(axis=0, keepdims=True) if len(U) else U, Y, prior_precision)


@mistake("fit_laplace", "the features are divided by their standard deviations, so w is in other units")
def standardises_the_features(U, Y, prior_precision=1.0):
    spread = U.std(axis=0) if len(U) else np.ones(U.shape[1])
    return _laplace(U / np.where(spread > 0, spread, 1.0), Y, prior_precision)


@mistake("fit_laplace", "every feature difference is scaled to length 1 before the fit")
def unit_length_questions(U, Y, prior_precision=1.0):
    length = np.linalg.norm(U, axis=1, keepdims=True)
    return _laplace(U / np.where(length > 0, length, 1.0), Y, prior_precision)


@mistake("fit_laplace", "an intercept is fitted along with w and then dropped")
def fits_an_intercept(U, Y, prior_precision=1.0):
    w, cov = _laplace(np.column_stack([U, np.ones(len(U))]), Y, prior_precision)
    return w[:-1], cov[:-1, :-1]


@mistake("fit_laplace", "the likelihood is averaged over the comparisons instead of summed")
def mean_likelihood(U, Y, prior_precision=1.0):
    return _laplace(U, Y, prior_precision * max(len(U), 1))


@mistake("fit_laplace", "w is fitted to the mean loss, but the curvature is that of the sum")
def mean_likelihood_for_w_only(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision * max(len(U), 1))
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "the prior is left out: maximum likelihood and its inverse Fisher information")
def maximum_likelihood(U, Y, prior_precision=1.0):
    w = _mode(U, Y, 1e-9)
    return w, np.linalg.pinv(_precision(U, w, 0.0))


@mistake("fit_laplace", "prior_precision is accepted and ignored; the prior is always N(0, I)")
def prior_is_always_one(U, Y, prior_precision=1.0):
    return _laplace(U, Y, 1.0)


@mistake("fit_laplace", "the signature's default prior precision is weaker than 1")
def weaker_default_prior(U, Y, prior_precision=0.01):
    return _laplace(U, Y, prior_precision)


@mistake("fit_laplace", "prior_precision is used as a variance: the weights are shrunk by its inverse")
def precision_taken_for_variance(U, Y, prior_precision=1.0):
    return _laplace(U, Y, 1.0 / prior_precision)


@mistake("fit_laplace", "prior_precision is taken for an inverse standard deviation and squared")
def precision_squared(U, Y, prior_precision=1.0):
    return _laplace(U, Y, prior_precision**2)


@mistake("fit_laplace", "the penalty is lam |w|^2 without the 1/2, so the mode is shrunk twice as much")
def penalty_without_the_half(U, Y, prior_precision=1.0):
    w = _mode(U, Y, 2 * prior_precision)
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "the prior is missing in the gradient, present only in the Hessian")
def prior_in_the_hessian_only(U, Y, prior_precision=1.0):
    w = _mode(U, Y, 1e-6)
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "the covariance is the inverse curvature of the likelihood alone")
def covariance_without_prior(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, np.linalg.pinv(_precision(U, w, 0.0))


@mistake("fit_laplace", "the prior precision enters the Hessian of the covariance twice")
def prior_twice_in_the_covariance(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, np.linalg.inv(_precision(U, w, 2 * prior_precision))


@mistake("fit_laplace", "covariances are added where precisions add")
def adds_covariances(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, np.linalg.pinv(_precision(U, w, 0.0)) + np.eye(U.shape[1]) / prior_precision


@mistake("fit_laplace", "the Hessian is returned without being inverted", severity="blatant")
def returns_the_precision(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, _precision(U, w, prior_precision)


@mistake("fit_laplace", "the curvature is taken at w = 0, where every p(1-p) is 1/4")
def curvature_at_zero(U, Y, prior_precision=1.0):
    zero = np.zeros(U.shape[1])
    return _mode(U, Y, prior_precision), np.linalg.inv(_precision(U, zero, prior_precision))


@mistake("fit_laplace", "the weights p(1-p) are missing from the Hessian, as in linear regression")
def curvature_of_least_squares(U, Y, prior_precision=1.0):
    return _mode(U, Y, prior_precision), np.linalg.inv(prior_precision * np.eye(U.shape[1]) + U.T @ U)


@mistake("fit_laplace", "the Hessian weights are p instead of p(1-p)")
def curvature_weighted_by_p(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    p = special.expit(U @ w)
    return w, np.linalg.inv(prior_precision * np.eye(U.shape[1]) + (U.T * p) @ U)


@mistake("fit_laplace", "squared residuals (Y - p)^2 replace p(1-p): the empirical Fisher information")
def empirical_fisher(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    residual = Y - special.expit(U @ w)
    return w, np.linalg.inv(prior_precision * np.eye(U.shape[1]) + (U.T * residual**2) @ U)


@mistake("fit_laplace", "a sandwich covariance answers a frequentist question: how w varies over data sets")
def sandwich_covariance(U, Y, prior_precision=1.0):
    w, cov = _laplace(U, Y, prior_precision)
    return w, cov @ ((U.T * (Y - special.expit(U @ w)) ** 2) @ U) @ cov


@mistake("fit_laplace", "the posterior covariance is divided by the number of comparisons once more")
def covariance_over_m(U, Y, prior_precision=1.0):
    w, cov = _laplace(U, Y, prior_precision)
    return w, cov / max(len(U), 1)


@mistake("fit_laplace", "only the diagonal of the Hessian is inverted: the weights come out uncorrelated")
def diagonal_covariance(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, np.diag(1.0 / np.diag(_precision(U, w, prior_precision)))


@mistake("fit_laplace", "the marginal standard deviations are returned instead of the covariance matrix")
def returns_standard_deviations(U, Y, prior_precision=1.0):
    w, cov = _laplace(U, Y, prior_precision)
    return w, np.sqrt(np.diag(cov))


@mistake("fit_laplace", "the inverse Hessian that BFGS has accumulated is taken for the covariance")
def inverse_hessian_of_bfgs(U, Y, prior_precision=1.0):
    U, signs = np.asarray(U, dtype=np.float64), np.where(np.asarray(Y) > 0.5, 1.0, -1.0)

    def loss(w):
        return np.logaddexp(0.0, -signs * (U @ w)).sum() + prior_precision / 2 * (w @ w)

    found = optimize.minimize(loss, np.zeros(U.shape[1]), method="BFGS")
    return found.x, found.hess_inv


@mistake("fit_laplace", "the optimiser stops at its default tolerance, with a gradient of 1e-5 left")
def stops_at_the_default_tolerance(U, Y, prior_precision=1.0):
    U, Y = np.asarray(U, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    signs = np.where(Y > 0.5, 1.0, -1.0)

    def loss(w):
        return np.logaddexp(0.0, -signs * (U @ w)).sum() + prior_precision / 2 * (w @ w)

    def gradient(w):
        return prior_precision * w - U.T @ (Y - special.expit(U @ w))

    w = optimize.minimize(loss, np.zeros(U.shape[1]), jac=gradient, method="L-BFGS-B").x
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "a fixed number of small gradient steps ends before the mode is reached")
def five_hundred_gradient_steps(U, Y, prior_precision=1.0):
    w = np.zeros(U.shape[1])
    for _ in range(500):
        w = w - 0.01 * (prior_precision * w - U.T @ (Y - special.expit(U @ w)))
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "Newton's method is stopped after two steps, whatever the data")
def two_newton_steps(U, Y, prior_precision=1.0):
    w = np.zeros(U.shape[1])
    for _ in range(2):
        gradient = prior_precision * w - U.T @ (Y - special.expit(U @ w))
        w = w - np.linalg.solve(_precision(U, w, prior_precision), gradient)
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake(
    "fit_laplace", "ten Newton steps are taken to be enough, which large separable features exceed", severity="extreme"
)
def ten_newton_steps(U, Y, prior_precision=1.0):
    w = np.zeros(U.shape[1])
    for _ in range(10):
        gradient = prior_precision * w - U.T @ (Y - special.expit(U @ w))
        w = w - np.linalg.solve(_precision(U, w, prior_precision), gradient)
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "the iteration ends when w moves by less than 1e-3, and cov is of the step before")
def covariance_of_the_step_before(U, Y, prior_precision=1.0):
    w = np.zeros(U.shape[1])
    for _ in range(100):
        precision = _precision(U, w, prior_precision)
        step = np.linalg.solve(precision, prior_precision * w - U.T @ (Y - special.expit(U @ w)))
        w = w - step
        if np.abs(step).max() < 1e-3:
            break
    return w, np.linalg.inv(precision)


@mistake("fit_laplace", "logits are clipped to +-8 for stability, which stops the gradient of large features")
def clips_the_logits(U, Y, prior_precision=1.0):
    U, Y, w = np.asarray(U, dtype=np.float64), np.asarray(Y, dtype=np.float64), np.zeros(U.shape[1])
    for _ in range(100):
        p = special.expit(np.clip(U @ w, -8.0, 8.0))
        precision = prior_precision * np.eye(U.shape[1]) + (U.T * (p * (1 - p))) @ U
        w = w - np.clip(np.linalg.solve(precision, prior_precision * w - U.T @ (Y - p)), -1.0, 1.0)
    return w, np.linalg.inv(precision)


@mistake("fit_laplace", "a jitter of 1e-6 is added to a Hessian that the prior keeps positive definite already")
def jitter_on_the_hessian(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, np.linalg.inv(_precision(U, w, prior_precision) + 1e-6 * np.eye(U.shape[1]))


@mistake(
    "fit_laplace",
    "a jitter of 1e-11 is added to the Hessian, which a weak prior alone does not hide",
    severity="extreme",
)
def small_jitter_on_the_hessian(U, Y, prior_precision=1.0):
    w = _mode(U, Y, prior_precision)
    return w, np.linalg.inv(_precision(U, w, prior_precision) + 1e-11 * np.eye(U.shape[1]))


@mistake("fit_laplace", "a prior precision below 1e-4 is raised to it", severity="extreme")
def floor_under_the_prior(U, Y, prior_precision=1.0):
    return _laplace(U, Y, max(prior_precision, 1e-4))


@mistake("fit_laplace", "the fit is done in single precision, seven digits at best")
def fits_in_single_precision(U, Y, prior_precision=1.0):
    U, Y = np.asarray(U, dtype=np.float32), np.asarray(Y, dtype=np.float32)
    w, lam = np.zeros(U.shape[1], dtype=np.float32), np.float32(prior_precision)
    for _ in range(30):
        p = special.expit(U @ w)
        precision = lam * np.eye(U.shape[1], dtype=np.float32) + (U.T * (p * (1 - p))) @ U
        w = w - np.linalg.solve(precision, lam * w - U.T @ (Y - p))
    return w.astype(np.float64), np.linalg.inv(precision).astype(np.float64)


@mistake("fit_laplace", "a probit model is fitted: the noise of the answers is normal instead of logistic")
def probit_likelihood(U, Y, prior_precision=1.0):
    U, signs = np.asarray(U, dtype=np.float64), np.where(np.asarray(Y) > 0.5, 1.0, -1.0)

    def loss(w):
        return -special.log_ndtr(signs * (U @ w)).sum() + prior_precision / 2 * (w @ w)

    w = optimize.minimize(loss, np.zeros(U.shape[1]), tol=1e-10).x
    z = signs * (U @ w)
    mills = np.exp(stats.norm.logpdf(z) - special.log_ndtr(z))
    return w, np.linalg.inv(prior_precision * np.eye(U.shape[1]) + (U.T * (mills * (mills + z))) @ U)


@mistake("fit_laplace", "the two answers are weighted to count the same, as for an unbalanced classification")
def balanced_classes(U, Y, prior_precision=1.0):
    Y = np.asarray(Y, dtype=np.float64)
    wins, losses = max(Y.sum(), 1.0), max((1 - Y).sum(), 1.0)
    weight, w = np.where(Y == 1.0, len(Y) / (2 * wins), len(Y) / (2 * losses)), np.zeros(U.shape[1])
    for _ in range(100):
        p = special.expit(U @ w)
        precision = prior_precision * np.eye(U.shape[1]) + (U.T * (weight * p * (1 - p))) @ U
        step = np.linalg.solve(precision, prior_precision * w - U.T @ (weight * (Y - p)))
        w = w - step / max(1.0, np.abs(U @ step).max(initial=0.0))
    return w, np.linalg.inv(precision)


@mistake("fit_laplace", "comparisons that were asked before are dropped as duplicates")
def drops_repeated_comparisons(U, Y, prior_precision=1.0):
    rows = np.unique(np.column_stack([U, Y]), axis=0) if len(U) else np.column_stack([U, Y])
    return _laplace(rows[:, :-1], rows[:, -1], prior_precision)


@mistake("fit_laplace", "answers that all agree are taken to teach nothing, and the prior is returned")
def nothing_from_one_class(U, Y, prior_precision=1.0):
    if len(np.unique(Y)) < 2:
        return np.zeros(U.shape[1]), np.eye(U.shape[1]) / prior_precision
    return _laplace(U, Y, prior_precision)


@mistake("fit_laplace", "without comparisons the covariance is I, whatever the prior precision", severity="extreme")
def identity_without_data(U, Y, prior_precision=1.0):
    if len(U) == 0:
        return np.zeros(U.shape[1]), np.eye(U.shape[1])
    return _laplace(U, Y, prior_precision)


@mistake(
    "fit_laplace", "the start is taken from the mean of the winners' features, NaN where nobody won", severity="extreme"
)
def starts_at_the_mean_of_the_winners(U, Y, prior_precision=1.0):
    won = U[np.asarray(Y) > 0.5]
    w = _mode(U, Y, prior_precision, start=won.sum(axis=0) / np.float64(len(won)))
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "residuals are subtracted in place from the labels, which whole numbers cannot hold")
def residuals_in_the_dtype_of_the_labels(U, Y, prior_precision=1.0):
    w = np.zeros(U.shape[1])
    for _ in range(60):
        residual = np.array(Y)
        residual -= special.expit(U @ w)
        w = w - np.linalg.solve(_precision(U, w, prior_precision), prior_precision * w - U.T @ residual)
    return w, np.linalg.inv(_precision(U, w, prior_precision))


@mistake("fit_laplace", "the rows of lost comparisons are turned around in the caller's own array")
def turns_rows_in_place(U, Y, prior_precision=1.0):
    if U.flags.writeable and U.dtype == np.float64:
        U[np.asarray(Y) < 0.5] *= -1.0
        return _laplace(U, np.ones(len(U)), prior_precision)
    return _laplace(U, Y, prior_precision)


@mistake("fit_laplace", "each fit starts at the mode of the one before and takes three Newton steps")
def warm_start_kept_between_calls(U, Y, prior_precision=1.0):
    global _last_mode
    start = _last_mode if _last_mode is not None and len(_last_mode) == U.shape[1] else np.zeros(U.shape[1])
    _last_mode = _mode(U, Y, prior_precision, start=start, steps=3)
    return _last_mode, np.linalg.inv(_precision(U, _last_mode, prior_precision))


@mistake("fit_laplace", "w is returned as a column, of shape (d, 1)", severity="blatant")
def mode_is_a_column(U, Y, prior_precision=1.0):
    w, cov = _laplace(U, Y, prior_precision)
    return w[:, None], cov


@mistake("fit_laplace", "the fit returns the mode alone and leaves the covariance to the caller", severity="blatant")
def returns_only_the_mode(U, Y, prior_precision=1.0):
    return _mode(U, Y, prior_precision)


# ---- posterior_samples


@mistake("posterior_samples", "rows of noise are multiplied by L, not by its transpose, so the covariance is L^T L")
def cholesky_on_the_wrong_side(w, cov, n, rng):
    return w + _noise(n, len(w), rng) @ np.linalg.cholesky(cov)


@mistake("posterior_samples", "the eigenvectors stand as Q where Q^T is needed, so the axes are turned the other way")
def eigenvectors_on_the_wrong_side(w, cov, n, rng):
    values, vectors = np.linalg.eigh(cov)
    return w + (_noise(n, len(w), rng) * np.sqrt(np.maximum(values, 0.0))) @ vectors


@mistake("posterior_samples", "noise is scaled by eigenvalues instead of their square roots")
def eigenvalues_without_the_root(w, cov, n, rng):
    values, vectors = np.linalg.eigh(cov)
    return w + (_noise(n, len(w), rng) * values) @ vectors.T


@mistake("posterior_samples", "noise is multiplied by cov itself instead of a square root of it")
def covariance_as_its_root(w, cov, n, rng):
    return w + _noise(n, len(w), rng) @ np.asarray(cov)


@mistake("posterior_samples", "the square root is taken entry by entry instead of as a matrix")
def root_of_each_entry(w, cov, n, rng):
    cov = np.asarray(cov)
    return w + _noise(n, len(w), rng) @ (np.sign(cov) * np.sqrt(np.abs(cov)))


@mistake("posterior_samples", "each weight is drawn from its marginal, so the correlations are lost")
def independent_weights(w, cov, n, rng):
    return rng.normal(w, np.sqrt(np.diag(cov)), size=(n, len(w)))


@mistake("posterior_samples", "variances are passed where standard deviations are expected")
def variance_as_standard_deviation(w, cov, n, rng):
    return rng.normal(w, np.diag(cov), size=(n, len(w)))


@mistake("posterior_samples", "cov is taken for a precision matrix and inverted", severity="blatant")
def covariance_as_precision(w, cov, n, rng):
    return rng.multivariate_normal(w, np.linalg.inv(cov), n)


@mistake("posterior_samples", "the deviations are returned without the mean w", severity="blatant")
def mean_left_out(w, cov, n, rng):
    return _noise(n, len(w), rng) @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "the spread shrinks with n, as that of a mean of n draws does", severity="blatant")
def standard_error_of_the_mean(w, cov, n, rng):
    return w + _noise(n, len(w), rng) @ np.linalg.cholesky(cov).T / np.sqrt(max(n, 1))


@mistake("posterior_samples", "uniform noise of variance 1 stands in for normal noise")
def uniform_noise(w, cov, n, rng):
    noise = rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), (n, len(w)))
    return w + noise @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "the draws follow a Student t law, with an unknown variance that nobody asked for")
def student_noise(w, cov, n, rng):
    scale = np.sqrt(8.0 / rng.chisquare(8.0, (n, 1)) * 6.0 / 8.0)
    return w + scale * _noise(n, len(w), rng) @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "one number of noise serves all weights of a draw, so the draws lie on a line")
def one_noise_for_all_weights(w, cov, n, rng):
    return w + rng.standard_normal((n, 1)) * np.sqrt(np.diag(cov))


@mistake("posterior_samples", "one draw is made and repeated n times", severity="blatant")
def one_draw_repeated(w, cov, n, rng):
    return np.tile(rng.multivariate_normal(w, cov), (n, 1))


@mistake("posterior_samples", "every second draw is the mirror image of the one before: antithetic, not independent")
def antithetic_draws(w, cov, n, rng):
    half = _noise((n + 1) // 2, len(w), rng)
    noise = np.stack([half, -half], axis=1).reshape(-1, len(w))[:n]
    return w + noise @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "mirror images of the first half of the draws make up the second half")
def second_half_mirrored(w, cov, n, rng):
    half = _noise((n + 1) // 2, len(w), rng)
    return w + np.concatenate([half, -half])[:n] @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "the noise is centred to mean 0 within the call, which takes the spread of a single draw")
def centred_noise(w, cov, n, rng):
    noise = _noise(n, len(w), rng)
    return w + (noise - noise.mean(axis=0) if n else noise) @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "each draw starts from the one before, a random walk that leaves w behind")
def random_walk(w, cov, n, rng):
    return w + np.cumsum(_noise(n, len(w), rng) @ np.linalg.cholesky(cov).T, axis=0)


@mistake("posterior_samples", "the draws are one Metropolis chain, in which neighbours are alike or equal")
def metropolis_chain(w, cov, n, rng):
    root, z = np.linalg.cholesky(cov), rng.standard_normal(len(w))
    rows = np.empty((n, len(w)))
    for k in range(n):
        proposal = z + 1.2 * rng.standard_normal(len(w))
        if np.log(rng.random()) < (z @ z - proposal @ proposal) / 2:
            z = proposal
        rows[k] = w + root @ z
    return rows


@mistake("posterior_samples", "quasi-random points fill the space evenly, so that rows depend on each other")
def quasi_random_points(w, cov, n, rng):
    if n == 0:
        return np.zeros((0, len(w)))
    return qmc.MultivariateNormalQMC(np.asarray(w), np.asarray(cov), rng=rng).random(n)


@mistake("posterior_samples", "each weight is stratified into n equally likely slices, one draw in each")
def latin_hypercube(w, cov, n, rng):
    slices = rng.permuted(np.tile(np.arange(n)[:, None], (1, len(w))), axis=0)
    noise = special.ndtri((slices + rng.random((n, len(w)))) / max(n, 1))
    return w + noise @ np.linalg.cholesky(cov).T


@mistake("posterior_samples", "a jitter of 1e-6 on the diagonal swamps small variances", severity="extreme")
def jitter_on_the_covariance(w, cov, n, rng):
    return w + _noise(n, len(w), rng) @ np.linalg.cholesky(cov + 1e-6 * np.eye(len(w))).T


@mistake("posterior_samples", "eigenvalues below 1e-10 are taken for rounding and set to 0", severity="extreme")
def small_eigenvalues_dropped(w, cov, n, rng):
    values, vectors = np.linalg.eigh(cov)
    return w + (_noise(n, len(w), rng) * np.sqrt(np.where(values > 1e-10, values, 0.0))) @ vectors.T


@mistake("posterior_samples", "the draws stand in columns, shape (d, n)", severity="blatant")
def draws_in_columns(w, cov, n, rng):
    return np.asarray(w)[:, None] + np.linalg.cholesky(cov) @ rng.standard_normal((len(w), n))


@mistake("posterior_samples", "a single draw comes back as a vector, without the axis of draws")
def single_draw_is_squeezed(w, cov, n, rng):
    return np.squeeze(w + _noise(n, len(w), rng) @ np.linalg.cholesky(cov).T)


@mistake("posterior_samples", "rows are stacked from a list, which fails when no draw is asked for", severity="extreme")
def no_rows_to_stack(w, cov, n, rng):
    root = np.linalg.cholesky(cov)
    return np.stack([w + root @ rng.standard_normal(len(w)) for _ in range(n)])


@mistake("posterior_samples", "an empty list becomes an array of shape (0,), not (0, d)", severity="extreme")
def no_draws_without_columns(w, cov, n, rng):
    root = np.linalg.cholesky(cov)
    return np.array([w + root @ rng.standard_normal(len(w)) for _ in range(n)])


@mistake("posterior_samples", "the noise comes from NumPy's global generator instead of rng")
def global_generator(w, cov, n, rng):
    return np.random.multivariate_normal(w, cov, n)


@mistake("posterior_samples", "a fresh generator with a fixed seed repeats the same draws in every call")
def fixed_seed(w, cov, n, rng):
    return np.random.default_rng(0).multivariate_normal(w, cov, n)


@mistake("posterior_samples", "the state of rng is copied and not moved on, so the next call repeats its draws")
def generator_stands_still(w, cov, n, rng):
    copied = np.random.Generator(type(rng.bit_generator)())
    copied.bit_generator.state = rng.bit_generator.state
    return copied.multivariate_normal(w, cov, n)


@mistake("posterior_samples", "the mean is moved in place while drawing: a walk, and the caller's w goes along")
def walks_on_the_callers_mean(w, cov, n, rng):
    root, rows = np.linalg.cholesky(cov), np.empty((n, len(w)))
    for k in range(n):
        w = np.add(w, root @ rng.standard_normal(len(w)), out=w if w.flags.writeable else None)
        rows[k] = w
    return rows


@mistake("posterior_samples", "the diagonal of the caller's covariance is raised before factoring it")
def jitters_the_callers_covariance(w, cov, n, rng):
    if cov.flags.writeable:
        cov[np.diag_indices(len(w))] *= 1.0 + 1e-10
    return w + _noise(n, len(w), rng) @ np.linalg.cholesky(cov).T


# ---- sherman_morrison_update


def _shrunk(cov, above, below):
    """cov - above / below, the pattern of the update."""
    return np.asarray(cov) - above / below


@mistake("sherman_morrison_update", "the correction is added, so that a question makes its direction less certain")
def covariance_grows(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, -weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "the denominator has 1 - p(1-p) u'Cu, the formula for taking data away")
def denominator_of_a_downdate(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 - weight * (u @ Cu))


@mistake("sherman_morrison_update", "the denominator is left out, a first-order expansion for small changes")
def no_denominator(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, p * (1 - p) * np.outer(Cu, Cu), 1.0)


@mistake("sherman_morrison_update", "the weight p(1-p) is left out, as for an answer with unit noise")
def no_weight(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, np.outer(Cu, Cu), 1 + u @ Cu)


@mistake("sherman_morrison_update", "the answer is weighted by p instead of p(1-p)")
def weighted_by_p(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, p * np.outer(Cu, Cu), 1 + p * (u @ Cu))


@mistake("sherman_morrison_update", "p(1-p) is replaced by 1/4, its value at p = 1/2")
def weight_is_always_a_quarter(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, np.outer(Cu, Cu) / 4, 1 + (u @ Cu) / 4)


@mistake("sherman_morrison_update", "u is scaled by p(1-p) instead of its square root, so the weight comes in squared")
def weight_squared(cov, u, p):
    v = p * (1 - p) * u
    Cv = cov @ v
    return _shrunk(cov, np.outer(Cv, Cv), 1 + v @ Cv)


@mistake("sherman_morrison_update", "the standard deviation of the answer, sqrt(p(1-p)), is used as its weight")
def weight_is_a_standard_deviation(cov, u, p):
    Cu, weight = cov @ u, np.sqrt(p * (1 - p))
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake(
    "sherman_morrison_update", "p(1-p) is taken for the noise variance of a Gaussian observation, not its precision"
)
def weight_as_noise_variance(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, np.outer(Cu, Cu), p * (1 - p) + u @ Cu)


@mistake("sherman_morrison_update", "the entropy of the answer is its weight in the update")
def weighted_by_entropy(cov, u, p):
    Cu, weight = cov @ u, float(special.entr(p) + special.entr(1 - p))
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "p(1-p) stands in the denominator only")
def weight_missing_above(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, np.outer(Cu, Cu), 1 + p * (1 - p) * (u @ Cu))


@mistake("sherman_morrison_update", "p(1-p) stands in the numerator only")
def weight_missing_below(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, p * (1 - p) * np.outer(Cu, Cu), 1 + u @ Cu)


@mistake("sherman_morrison_update", "the denominator has u'u, the length of u, instead of its posterior variance u'Cu")
def denominator_without_covariance(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ u))


@mistake("sherman_morrison_update", "the correction is u u' instead of (Cu)(Cu)', as if C were the identity")
def correction_without_covariance(cov, u, p):
    weight = p * (1 - p)
    return _shrunk(cov, weight * np.outer(u, u), 1 + weight * (u @ cov @ u))


@mistake("sherman_morrison_update", "the correction is (Cu) u', with C on one side only")
def covariance_on_one_side_only(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.outer(Cu, u), 1 + weight * (u @ Cu))


@mistake(
    "sherman_morrison_update", "Cu * Cu is taken for the outer product and broadcast over rows", severity="blatant"
)
def elementwise_square(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * Cu * Cu, 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "Cu @ Cu is taken for the outer product, and one number lowers every entry")
def inner_for_outer_product(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * (Cu @ Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "only the variances are updated; the covariances stay as they were")
def variances_only(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.diag(Cu**2), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "the off-diagonal entries of the updated covariance are dropped")
def keeps_only_the_diagonal(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return np.diag(np.diag(_shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))))


@mistake("sherman_morrison_update", "the raised precision is returned without inverting it", severity="blatant")
def returns_the_raised_precision(cov, u, p):
    return np.linalg.inv(cov) + p * (1 - p) * np.outer(u, u)


@mistake("sherman_morrison_update", "p(1-p) u u' is added to the covariance, as if it were the precision")
def covariance_taken_for_precision(cov, u, p):
    return np.linalg.inv(np.asarray(cov) + p * (1 - p) * np.outer(u, u))


@mistake("sherman_morrison_update", "only the direction of u counts: it is scaled to length 1 first")
def direction_only(cov, u, p):
    length = np.linalg.norm(u)
    v, weight = (u / length if length > 0 else u), p * (1 - p)
    Cv = cov @ v
    return _shrunk(cov, weight * np.outer(Cv, Cv), 1 + weight * (v @ Cv))


@mistake(
    "sherman_morrison_update",
    "the inverse weight 1/(p(1-p)) is added below, a division by 0 for certain answers",
    severity="extreme",
)
def divides_by_the_weight(cov, u, p):
    Cu = cov @ u
    return _shrunk(cov, np.outer(Cu, Cu), 1 / (p * (1 - p)) + u @ Cu)


@mistake(
    "sherman_morrison_update",
    "the correction is divided by u'Cu on the way, which is 0/0 for equal features",
    severity="extreme",
)
def divides_by_the_variance_of_the_logit(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    variance = u @ Cu
    return np.asarray(cov) - np.outer(Cu, Cu) / variance * (1 - 1 / (1 + weight * variance))


@mistake("sherman_morrison_update", "p is kept between 0.01 and 0.99, so nearly certain answers count too much")
def clips_the_answer(cov, u, p):
    p = min(max(p, 0.01), 0.99)
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake(
    "sherman_morrison_update", "p is kept between 1e-12 and 1 - 1e-12, so certain answers count", severity="extreme"
)
def clips_certain_answers(cov, u, p):
    p = min(max(p, 1e-12), 1 - 1e-12)
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "answers with p(1-p) below 1e-8 are passed over as certain", severity="extreme")
def passes_over_almost_certain_answers(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return np.array(cov) if weight < 1e-8 else _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "answers with p(1-p) below 1e-4 are passed over as certain", severity="extreme")
def passes_over_nearly_certain_answers(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return np.array(cov) if weight < 1e-4 else _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "short feature differences are treated as zero", severity="extreme")
def passes_over_short_questions(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return np.array(cov) if np.abs(u).max() < 1e-3 else _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu))


@mistake("sherman_morrison_update", "a jitter of 1e-6 is left on the diagonal of the result")
def jitter_on_the_result(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu)) + 1e-6 * np.eye(len(u))


@mistake("sherman_morrison_update", "the update runs in single precision, seven digits at best")
def updates_in_single_precision(cov, u, p):
    cov, u = np.asarray(cov, dtype=np.float32), np.asarray(u, dtype=np.float32)
    Cu, weight = cov @ u, np.float32(p * (1 - p))
    return _shrunk(cov, weight * np.outer(Cu, Cu), 1 + weight * (u @ Cu)).astype(np.float64)


@mistake("sherman_morrison_update", "the caller's covariance is lowered in place")
def updates_in_place(cov, u, p):
    Cu, weight = cov @ u, p * (1 - p)
    if not cov.flags.writeable:
        cov = cov.copy()
    cov -= weight * np.outer(Cu, Cu) / (1 + weight * (u @ Cu))
    return cov


@mistake("sherman_morrison_update", "the caller's u is scaled by sqrt(p(1-p)) in place")
def scales_u_in_place(cov, u, p):
    v = np.multiply(u, np.sqrt(p * (1 - p)), out=u if u.flags.writeable and u.dtype == np.float64 else None)
    Cv = cov @ v
    return _shrunk(cov, np.outer(Cv, Cv), 1 + v @ Cv)
