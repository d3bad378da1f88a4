"""laplace.py and acquisition.py beside scikit-learn, SciPy, PyTorch and mpmath."""

import mpmath as mp
import numpy as np
import torch
from scipy import linalg, special, stats
from torch.autograd.functional import hessian
from torch.nn import functional

from harness.validation.peers import peer
from tests.peers._inputs import DIGITS, comparisons, covariance, logistic_regression


@peer("sigmoid", library="scipy", allowed=1e-15)
def expit_of_scipy(impl, rng):
    """scipy.special.expit."""
    x = rng.standard_cauchy((3, 4)) * 10
    return impl.laplace.sigmoid(x), special.expit(x)


@peer("sigmoid", library="mpmath", allowed=1e-15)
def logistic_at_fifty_digits(impl, rng):
    """1 / (1 + exp(−x)) at 50 digits; |x| to 1000."""
    x = rng.uniform(-1, 1, 8) * 10 ** rng.uniform(-8, 3, 8)
    with mp.workdps(DIGITS):
        expected = [float(1 / (1 + mp.exp(-mp.mpf(value)))) for value in x]
    return impl.laplace.sigmoid(x), expected


@peer("fit_laplace", library="scikit-learn", allowed=1e-8)
def penalised_logistic_regression(impl, rng):
    """LogisticRegression (newton-cholesky) without intercept, C = 1 / prior_precision: the mode w."""
    U, Y, prior = comparisons(rng)
    return impl.laplace.fit_laplace(U, Y, prior)[0], logistic_regression(U, Y, 1 / prior)


@peer("fit_laplace", library="torch", allowed=1e-8)
def inverse_hessian_of_torch(impl, rng):
    """The inverse of torch.autograd.functional.hessian of cross-entropy and penalty, at scikit-learn's mode."""
    U, Y, prior = comparisons(rng)
    features, labels = torch.from_numpy(U), torch.from_numpy(Y).double()

    def loss(w):
        cross_entropy = functional.binary_cross_entropy_with_logits(features @ w, labels, reduction="sum")
        return cross_entropy + prior / 2 * w @ w

    precision = hessian(loss, torch.from_numpy(logistic_regression(U, Y, 1 / prior)))
    return impl.laplace.fit_laplace(U, Y, prior)[1], linalg.inv(precision.numpy())


@peer("posterior_samples", library="scipy", allowed=0.024, inputs=3)
def densities_of_the_draws(impl, rng):
    """−2 log density (multivariate_normal) of 20,000 draws against χ², Kolmogorov–Smirnov; 10⁻⁹ allows 0.024."""
    w, cov = rng.normal(0, 3, 4), covariance(rng, 4)
    draws = impl.laplace.posterior_samples(w, cov, 20_000, rng)
    law = stats.multivariate_normal(w, cov)
    lengths = -2 * (law.logpdf(draws) - law.logpdf(w))
    return stats.kstest(lengths, stats.chi2(4).cdf).statistic, 0.0


@peer("posterior_samples", library="scipy", allowed=0.024, inputs=3)
def projections_of_the_draws(impl, rng):
    """A random projection of 20,000 draws against scipy.stats.norm, Kolmogorov–Smirnov; 10⁻⁹ allows 0.024."""
    w, cov, direction = rng.normal(0, 3, 4), covariance(rng, 4), rng.standard_normal(4)
    draws = impl.laplace.posterior_samples(w, cov, 20_000, rng) @ direction
    return stats.kstest(draws, stats.norm(w @ direction, np.sqrt(direction @ cov @ direction)).cdf).statistic, 0.0


@peer("sherman_morrison_update", library="scipy", allowed=1e-10)
def inverse_of_the_precision(impl, rng):
    """scipy.linalg.inv of C⁻¹ + p (1 − p) u uᵀ."""
    d = int(rng.integers(1, 8))
    cov, u, p = covariance(rng, d), rng.normal(0, 3, d), rng.random()
    direct = linalg.inv(linalg.inv(cov) + p * (1 - p) * np.outer(u, u))
    return impl.laplace.sherman_morrison_update(cov, u, p), direct


@peer("acquisition_scores", library="scipy", allowed=1e-12)
def information_by_entropies(impl, rng):
    """bald: scipy.stats.entropy of the mean answer, less the mean entropy."""
    U, w, cov = rng.normal(0, 2, (9, 3)), rng.standard_normal(3), covariance(rng, 3)
    samples = rng.multivariate_normal(w, cov, 30)
    p = special.expit(samples @ U.T)
    information = stats.entropy([p.mean(0), 1 - p.mean(0)]) - stats.entropy([p, 1 - p]).mean(0)
    return impl.acquisition.acquisition_scores("bald", U, w, cov, rng, samples=samples), information


@peer("acquisition_scores", library="mpmath", allowed=1e-12)
def information_at_fifty_digits(impl, rng):
    """bald at 50 digits; logits to ±10⁴."""
    U, samples = rng.normal(0, 10 ** rng.uniform(-3, 4), (3, 1)), rng.standard_normal((7, 1))
    with mp.workdps(DIGITS):
        expected = [float(information([mp.mpf(u) * mp.mpf(s) for s in samples[:, 0]])) for u in U[:, 0]]
    got = impl.acquisition.acquisition_scores("bald", U, np.zeros(1), np.eye(1), rng, samples=samples)
    return got, expected


@peer("acquisition_scores", library="scipy", allowed=1e-10)
def gain_in_log_determinant(impl, rng):
    """dopt: log det C − log det of scipy.linalg.inv(C⁻¹ + p (1 − p) u uᵀ)."""
    U, w, cov = rng.normal(0, 2, (6, 4)), rng.standard_normal(4), covariance(rng, 4)
    gains = []
    for u, p in zip(U, special.expit(U @ w), strict=True):
        after = linalg.inv(linalg.inv(cov) + p * (1 - p) * np.outer(u, u))
        gains.append(np.log(linalg.det(cov)) - np.log(linalg.det(after)))
    return impl.acquisition.acquisition_scores("dopt", U, w, cov, rng), gains


@peer("acquisition_scores", library="mpmath", allowed=1e-12)
def gain_at_fifty_digits(impl, rng):
    """dopt at 50 digits, one feature of size 10⁻⁸ to 10⁴."""
    size = 10 ** rng.uniform(-8, 4)
    U, w, variance = rng.normal(0, size, (4, 1)), rng.normal(0, 3, 1), 10 ** rng.uniform(-3, 3)
    with mp.workdps(DIGITS):
        small = [mp.exp(-abs(mp.mpf(u) * mp.mpf(w[0]))) for u in U[:, 0]]
        expected = [
            float(mp.log1p(e / (1 + e) ** 2 * mp.mpf(variance) * mp.mpf(u) ** 2))
            for e, u in zip(small, U[:, 0], strict=True)
        ]
    return impl.acquisition.acquisition_scores("dopt", U, w, np.array([[variance]]), rng), expected


@peer("acquisition_scores", library="scipy", allowed=0.024, inputs=2)
def uniform_scores(impl, rng):
    """random: 20,000 scores against scipy.stats.uniform, Kolmogorov–Smirnov; 10⁻⁹ allows 0.024."""
    scores = impl.acquisition.acquisition_scores("random", np.ones((20_000, 1)), np.zeros(1), np.eye(1), rng)
    return stats.kstest(scores, stats.uniform.cdf).statistic, 0.0


def information(logits):
    """h(mean p) - mean h(p) of an mpmath list of logits."""

    def both(z):  # probabilities of both answers, neither of them rounded to 0
        e = mp.exp(-abs(z))
        return e / (1 + e), 1 / (1 + e)

    def entropy(pair):
        return -mp.fsum(p * mp.log(p) for p in pair if p > 0)

    answers = [both(z) if z > 0 else both(z)[::-1] for z in logits]
    mean = [mp.fsum(side) / len(answers) for side in zip(*answers, strict=True)]
    return entropy(mean) - mp.fsum(map(entropy, answers)) / len(answers)
