"""Mistakes in scoring candidate comparisons.

Notation: u a row of U, C the covariance, P (m, S) the probabilities sigma(u . w_k) that the draws W predict, h the
entropy of a coin in nats, v = u^T C u the variance of the logit.
"""

import copy

import numpy as np
from scipy.special import entr, expit, ndtr, rel_entr

from harness.variants import mistake


def _h(p):
    return entr(p) + entr(1 - p)


def _predictions(U, samples):
    return expit(np.asarray(U) @ np.asarray(samples).T)


def _own_draws(w, cov, rng, n=256):
    return np.asarray(w) + rng.standard_normal((n, len(w))) @ np.linalg.cholesky(cov).T


def _bald(U, samples):
    P = _predictions(U, samples)
    return _h(P.mean(axis=1)) - _h(P).mean(axis=1)


def _variance(U, cov):
    return np.einsum("ij,jk,ik->i", U, cov, U)


def _weight(U, w):
    z = np.asarray(U) @ w
    return expit(z) * expit(-z)


def _dopt(U, w, cov):
    return np.log1p(_weight(U, w) * _variance(U, cov))


def _uniform(U, rng):
    return rng.random(len(U))


def _scores(rule, U, w, cov, rng, samples, bald=_bald, dopt=_dopt, draws=_own_draws, uniform=_uniform):
    """The right scores, but for the pieces that a mistake brings."""
    if rule == "random":
        return uniform(U, rng)
    if rule == "dopt":
        return dopt(U, w, cov)
    if rule == "bald":
        return bald(U, draws(w, cov, rng) if samples is None else samples)
    raise ValueError(f"rule: {rule!r} is unknown")


# --- bald: the information


@mistake(
    "acquisition_scores",
    "BALD is the mean entropy of the predictions, what the answer does not tell.",
    severity="blatant",
)
def mean_entropy_alone(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _h(_predictions(U, W)).mean(axis=1))


@mistake("acquisition_scores", "BALD is the entropy of the mean prediction: uncertainty sampling.")
def entropy_of_the_mean_alone(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _h(_predictions(U, W).mean(axis=1)))


@mistake("acquisition_scores", "The two entropies of BALD are subtracted the other way round.", severity="blatant")
def negative_information(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: -_bald(U, W))


@mistake("acquisition_scores", "The mean prediction is taken to be σ(u · w) at the mode.")
def mean_prediction_at_the_mode(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        return _h(expit(np.asarray(U) @ w)) - _h(_predictions(U, W)).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "The mean prediction is σ of the mean logit.")
def prediction_of_the_mean_logit(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        return _h(expit(np.asarray(U) @ np.mean(W, axis=0))) - _h(_predictions(U, W)).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "The mean entropy is the entropy at the mode, σ(u · w).")
def entropy_at_the_mode(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        return _h(_predictions(U, W).mean(axis=1)) - _h(expit(np.asarray(U) @ w))

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "BALD is measured in bits.")
def information_in_bits(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _bald(U, W) / np.log(2.0))


@mistake("acquisition_scores", "BALD is scaled to [0, 1] by the largest score of the candidates.")
def scaled_by_the_best(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        scores = _bald(U, W)
        return scores / max(scores.max(), 1e-12)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "The entropy has the term −p log p alone; the other answer is forgotten.")
def entropy_of_one_answer(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        return entr(P.mean(axis=1)) - entr(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "BALD is the variance of the predictions over the draws.")
def variance_of_predictions(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _predictions(U, W).var(axis=1))


@mistake("acquisition_scores", "BALD is the standard deviation of the predictions over the draws.")
def spread_of_predictions(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _predictions(U, W).std(axis=1))


@mistake("acquisition_scores", "BALD is the variance of the logits over the draws.")
def variance_of_logits(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: np.var(np.asarray(U) @ np.asarray(W).T, axis=1))


@mistake("acquisition_scores", "Each draw casts a hard vote, and BALD is the entropy of the votes.")
def entropy_of_votes(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _h((_predictions(U, W) > 0.5).mean(axis=1)))


@mistake(
    "acquisition_scores", "Disagreement is the mean KL from the mean prediction to each draw, the divergence reversed."
)
def reversed_divergence(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        mean = P.mean(axis=1, keepdims=True)
        return (rel_entr(mean, P) + rel_entr(1 - mean, 1 - P)).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake(
    "acquisition_scores", "Disagreement is the largest KL of a draw to the mean prediction instead of the mean one."
)
def largest_divergence(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        mean = P.mean(axis=1, keepdims=True)
        return (rel_entr(P, mean) + rel_entr(1 - P, 1 - mean)).max(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "Answers are drawn from each prediction, and BALD is estimated from them.")
def information_from_drawn_answers(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        return _h((rng.random(P.shape) < P).mean(axis=1)) - _h(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "The means run over the candidates instead of over the draws.", severity="blatant")
def means_over_candidates(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, bald=lambda U, W: _bald(W, U))


@mistake(
    "acquisition_scores", "The axis of the draws is found by its length, which fails when there are as many candidates."
)
def axis_by_length(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        axis = P.shape.index(len(W))
        return _h(P.mean(axis=axis)) - _h(P).mean(axis=axis)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "A U with d rows is taken for its transpose, candidates in columns.", severity="extreme")
def turns_square_candidates(rule, U, w, cov, rng, samples=None):
    return _scores(rule, np.transpose(U) if np.shape(U) == np.shape(cov) else U, w, cov, rng, samples)


@mistake("acquisition_scores", "Features are centred over the candidates before they are scored.")
def centres_candidates(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U - np.mean(U, axis=0), w, cov, rng, samples)


@mistake("acquisition_scores", "Feature differences are scaled to unit length.")
def unit_length_candidates(rule, U, w, cov, rng, samples=None):
    length = np.linalg.norm(U, axis=1, keepdims=True)
    return _scores(rule, U / np.where(length > 0, length, 1.0), w, cov, rng, samples)


# --- bald: extremes


@mistake("acquisition_scores", "Probabilities are clipped to [0.01, 0.99] before their entropy.")
def clips_predictions(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = np.clip(_predictions(U, W), 0.01, 0.99)
        return _h(P.mean(axis=1)) - _h(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake(
    "acquisition_scores", "Probabilities are clipped to [1e-6, 1 − 1e-6] before their entropy.", severity="extreme"
)
def clips_predictions_a_little(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = np.clip(_predictions(U, W), 1e-6, 1 - 1e-6)
        return _h(P.mean(axis=1)) - _h(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "Logits are clipped to ±10 before the logistic function.", severity="extreme")
def clips_logits(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = expit(np.clip(np.asarray(U) @ np.asarray(W).T, -10.0, 10.0))
        return _h(P.mean(axis=1)) - _h(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


def _h_without_limit(p):
    with np.errstate(divide="ignore", invalid="ignore"):
        return -p * np.log(p) - (1 - p) * np.log(1 - p)


@mistake("acquisition_scores", "0 log 0 is NaN where a prediction saturates.", severity="extreme")
def zero_times_infinity(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        return _h_without_limit(P.mean(axis=1)) - _h_without_limit(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake(
    "acquisition_scores",
    "Scores that come out as NaN are set to 0, so certain disagreement is worth nothing.",
    severity="extreme",
)
def nan_becomes_zero(rule, U, w, cov, rng, samples=None):
    return np.nan_to_num(zero_times_infinity(rule, U, w, cov, rng, samples))


@mistake("acquisition_scores", "Draws whose entropy is NaN are left out of the mean entropy.", severity="extreme")
def leaves_out_certain_draws(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(U, W)
        entropy = _h_without_limit(P)
        known = ~np.isnan(entropy)
        rest = np.where(known, entropy, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return _h(P.mean(axis=1)) - rest

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "σ(z) is exp(z) / (1 + exp(z)), NaN for logits above 709.", severity="extreme")
def exponential_overflows(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        with np.errstate(over="ignore", invalid="ignore"):
            e = np.exp(np.asarray(U) @ np.asarray(W).T)
            P = e / (1 + e)
        return _h(P.mean(axis=1)) - _h(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "1e-3 is added inside the logarithms of the entropy.")
def epsilon_inside_the_logarithm(rule, U, w, cov, rng, samples=None):
    def h(p):
        return -p * np.log(p + 1e-3) - (1 - p) * np.log(1 - p + 1e-3)

    def bald(U, W):
        P = _predictions(U, W)
        return h(P.mean(axis=1)) - h(P).mean(axis=1)

    return _scores(rule, U, w, cov, rng, samples, bald=bald)


@mistake("acquisition_scores", "Everything is computed in float32, which leaves seven digits.")
def single_precision(rule, U, w, cov, rng, samples=None):
    def bald(U, W):
        P = _predictions(np.float32(U), np.float32(W))
        return _h(P.mean(axis=1)) - _h(P).mean(axis=1)

    def dopt(U, w, cov):
        return _dopt(np.float32(U), np.float32(w), np.float32(cov))

    return _scores(rule, U, w, cov, rng, samples, bald=bald, dopt=dopt)


# --- bald: whose draws


@mistake("acquisition_scores", "The draws that are given are ignored, and own ones are made.")
def ignores_samples(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, None)


@mistake("acquisition_scores", "Only the first 50 of the draws given are used.")
def first_draws_only(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, None if samples is None else samples[:50])


@mistake("acquisition_scores", "Draws are resampled with replacement before they are used.")
def bootstraps_samples(rule, U, w, cov, rng, samples=None):
    if rule == "bald" and samples is not None:
        samples = samples[rng.integers(len(samples), size=len(samples))]
    return _scores(rule, U, w, cov, rng, samples)


@mistake(
    "acquisition_scores",
    "A single draw that is given is replaced by own draws, for it cannot disagree.",
    severity="extreme",
)
def replaces_a_single_draw(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, None if samples is None or len(samples) < 2 else samples)


@mistake("acquisition_scores", "The mode w is added to the draws given, as if they were errors around it.")
def shifts_samples_by_the_mode(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, None if samples is None else samples + w)


@mistake("acquisition_scores", "The draws given are centred at w, because that is the posterior mean.")
def recentres_samples(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, None if samples is None else samples - samples.mean(axis=0) + w)


@mistake("acquisition_scores", "BALD cannot do without samples.", severity="blatant")
def needs_samples(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, cov, rng: None)


@mistake("acquisition_scores", "`samples or …` asks a whole array whether it is true.", severity="blatant")
def asks_whether_samples_are_true(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples or _own_draws(w, cov, rng))


@mistake("acquisition_scores", "Own draws come from the prior N(0, I).")
def draws_from_the_prior(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: rng.standard_normal((256, len(w))))


@mistake("acquisition_scores", "Own draws have mean 0 instead of w.")
def draws_around_zero(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(0 * w, C, rng))


@mistake("acquisition_scores", "Own draws have the identity for their covariance.")
def draws_with_unit_covariance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(w, np.eye(len(w)), rng))


@mistake("acquisition_scores", "Own draws use the variances of cov and leave out its correlations.")
def draws_without_correlations(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(w, np.diag(np.diag(C)), rng))


@mistake("acquisition_scores", "Own draws multiply by cov itself instead of by a root of it.")
def draws_with_covariance_as_root(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(w, C @ C, rng))


@mistake("acquisition_scores", "Own draws take cov for the precision.")
def draws_with_inverse_covariance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(w, np.linalg.inv(C), rng))


@mistake("acquisition_scores", "Standard normal rows are multiplied by the lower Cholesky factor from the wrong side.")
def draws_with_the_root_turned(rule, U, w, cov, rng, samples=None):
    def draws(w, C, rng):
        return w + rng.standard_normal((256, len(w))) @ np.linalg.cholesky(C)

    return _scores(rule, U, w, cov, rng, samples, draws=draws)


@mistake("acquisition_scores", "A single draw is made, which never disagrees with itself.", severity="blatant")
def one_own_draw(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(w, C, rng, n=1))


@mistake("acquisition_scores", "All own draws are the same one, repeated.")
def one_draw_repeated(rule, U, w, cov, rng, samples=None):
    def draws(w, C, rng):
        return np.tile(_own_draws(w, C, rng, n=1), (256, 1))

    return _scores(rule, U, w, cov, rng, samples, draws=draws)


@mistake("acquisition_scores", "Own draws come from NumPy's global generator.")
def draws_from_the_global_generator(rule, U, w, cov, rng, samples=None):
    def draws(w, C, rng):
        return np.random.multivariate_normal(w, C, size=256)

    return _scores(rule, U, w, cov, rng, samples, draws=draws)


@mistake("acquisition_scores", "Own draws come from a generator with a fixed seed, so their errors never average out.")
def draws_with_a_fixed_seed(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, C, rng: _own_draws(w, C, np.random.default_rng(0)))


@mistake(
    "acquisition_scores", "Without samples BALD is Houlsby's approximation for a probit, which is off by up to 5%."
)
def probit_approximation(rule, U, w, cov, rng, samples=None):
    if rule != "bald" or samples is not None:
        return _scores(rule, U, w, cov, rng, samples)
    slope, c2 = np.sqrt(np.pi / 8), np.pi * np.log(2) / 2
    mean, v = slope * np.asarray(U) @ w, slope**2 * _variance(U, cov)
    return _h(ndtr(mean / np.sqrt(1 + v))) - np.log(2) * np.sqrt(c2 / (c2 + v)) * np.exp(-(mean**2) / (2 * (c2 + v)))


@mistake("acquisition_scores", "Without samples BALD is v p(1 − p) / 2, its limit for a small covariance.")
def small_covariance_limit(rule, U, w, cov, rng, samples=None):
    if rule != "bald" or samples is not None:
        return _scores(rule, U, w, cov, rng, samples)
    return np.minimum(0.5 * _weight(U, w) * _variance(U, cov), np.log(2.0))


@mistake(
    "acquisition_scores", "Without samples BALD is a quadrature with three nodes, too coarse for a wide posterior."
)
def coarse_quadrature(rule, U, w, cov, rng, samples=None):
    if rule != "bald" or samples is not None:
        return _scores(rule, U, w, cov, rng, samples)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = weights / weights.sum()
    P = expit((np.asarray(U) @ w)[:, None] + np.sqrt(_variance(U, cov))[:, None] * nodes)
    return _h(P @ weights) - _h(P) @ weights


# --- dopt


@mistake("acquisition_scores", "dopt has the factor ½ of a Gaussian's information.")
def half_the_gain(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: 0.5 * _dopt(U, w, C))


@mistake("acquisition_scores", "dopt is p(1 − p) uᵀCu itself, without log(1 + ·).")
def gain_without_logarithm(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _weight(U, w) * _variance(U, C))


@mistake("acquisition_scores", "dopt is log(p(1 − p) uᵀCu), without the 1.")
def gain_without_one(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        with np.errstate(divide="ignore"):
            return np.log(_weight(U, w) * _variance(U, C))

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "dopt leaves out p(1 − p).")
def gain_without_weight(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: np.log1p(_variance(U, C)))


@mistake("acquisition_scores", "dopt takes p(1 − p) = ¼ for every candidate.")
def weight_of_a_quarter(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: np.log1p(0.25 * _variance(U, C)))


@mistake("acquisition_scores", "dopt weighs with p instead of p(1 − p).")
def weight_is_the_probability(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: np.log1p(expit(U @ w) * _variance(U, C)))


@mistake(
    "acquisition_scores", "dopt weighs with the standard deviation √(p(1 − p)) of the answer, not with its variance."
)
def weight_is_the_spread(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: np.log1p(_weight(U, w) ** 0.5 * _variance(U, C)))


@mistake("acquisition_scores", "dopt squares p(1 − p).")
def weight_squared(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: np.log1p(_weight(U, w) ** 2 * _variance(U, C)))


@mistake("acquisition_scores", "p(1 − p) multiplies the logarithm instead of standing inside.")
def weight_outside_the_logarithm(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _weight(U, w) * np.log1p(_variance(U, C)))


@mistake(
    "acquisition_scores", "dopt weighs with the predictive probability that is moderated by the variance of the logit."
)
def moderated_weight(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        v = _variance(U, C)
        z = (U @ w) / np.sqrt(1 + np.pi / 8 * v)
        return np.log1p(expit(z) * expit(-z) * v)

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "dopt averages p(1 − p) over the draws where some are given.")
def weight_over_samples(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        if samples is None:
            return _dopt(U, w, C)
        P = _predictions(U, samples)
        return np.log1p((P * (1 - P)).mean(axis=1) * _variance(U, C))

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "dopt takes p at the mean of the draws where some are given.")
def mode_from_samples(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w if samples is None or rule != "dopt" else np.mean(samples, axis=0), cov, rng, samples)


@mistake("acquisition_scores", "dopt leaves out the covariance: uᵀu instead of uᵀCu.")
def gain_without_covariance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _dopt(U, w, np.eye(len(w))))


@mistake("acquisition_scores", "dopt uses the variances of C and leaves out its correlations.")
def gain_without_correlations(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _dopt(U, w, np.diag(np.diag(C))))


@mistake("acquisition_scores", "dopt takes cov for the precision: uᵀC⁻¹u.")
def gain_with_inverse_covariance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _dopt(U, w, np.linalg.inv(C)))


@mistake("acquisition_scores", "dopt uses |Cu|², by which the trace falls, instead of uᵀCu.")
def trace_instead_of_determinant(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _dopt(U, w, C @ C))


@mistake("acquisition_scores", "dopt is the fall of the covariance's trace: A-optimality.")
def fall_of_the_trace(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        weight = _weight(U, w)
        return weight * _variance(U, C @ C) / (1 + weight * _variance(U, C))

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "dopt takes the standard deviation √(uᵀCu) of the logit for its variance.")
def root_of_the_variance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: np.log1p(_weight(U, w) * _variance(U, C) ** 0.5))


@mistake("acquisition_scores", "uᵀCu is |Lu|² with the lower Cholesky factor, which should be transposed.")
def quadratic_form_with_the_root_turned(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        root = np.linalg.cholesky(C)
        return np.log1p(_weight(U, w) * ((U @ root.T) ** 2).sum(axis=1))

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "u C is summed without the second u.")
def second_feature_vector_missing(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        return np.log1p(_weight(U, w) * np.abs((U @ C).sum(axis=1)))

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "The rows of U C Uᵀ are summed instead of taking its diagonal.")
def sums_the_gram_matrix(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        return np.log1p(_weight(U, w) * np.abs((U @ C @ U.T).sum(axis=1)))

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake(
    "acquisition_scores", "dopt is the change of the covariance's log-determinant, so the best candidate scores lowest."
)
def gain_with_the_sign_of_the_covariance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: -_dopt(U, w, C))


@mistake("acquisition_scores", "dopt is measured in bits.")
def gain_in_bits(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _dopt(U, w, C) / np.log(2.0))


@mistake(
    "acquisition_scores", "dopt is the whole log-determinant of the precision after the comparison, not its growth."
)
def log_determinant_afterwards(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, dopt=lambda U, w, C: _dopt(U, w, C) - np.linalg.slogdet(C)[1])


@mistake("acquisition_scores", "Candidates are scored as if those before them in the list had been asked already.")
def updates_between_candidates(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        scores = np.empty(len(U))
        for i, u in enumerate(U):
            scores[i] = _dopt(U[i : i + 1], w, C)[0]
            gain, Cu = _weight(u, w), C @ u
            C = C - gain * np.outer(Cu, Cu) / (1 + gain * u @ Cu)
        return scores

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


@mistake("acquisition_scores", "Every candidate gets the gain of asking all of them together.")
def gain_of_the_whole_batch(rule, U, w, cov, rng, samples=None):
    def dopt(U, w, C):
        after = np.linalg.inv(C) + (np.asarray(U) * _weight(U, w)[:, None]).T @ U
        return np.full(len(U), np.linalg.slogdet(after)[1] + np.linalg.slogdet(C)[1])

    return _scores(rule, U, w, cov, rng, samples, dopt=dopt)


# --- random


@mistake("acquisition_scores", "random is one number for all candidates.", severity="blatant")
def one_random_number(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: np.full(len(U), rng.random()))


@mistake("acquisition_scores", "random is a scalar.", severity="blatant")
def random_scalar(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.random())


@mistake("acquisition_scores", "random has a number for each feature of each candidate.", severity="blatant")
def random_matrix(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.random(np.shape(U)))


@mistake("acquisition_scores", "random scores are standard normal.")
def normal_scores(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.standard_normal(len(U)))


@mistake("acquisition_scores", "random scores are uniform on [−1, 1).")
def symmetric_uniform_scores(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.uniform(-1.0, 1.0, len(U)))


@mistake("acquisition_scores", "random scores are a shuffled ranking divided by m, so they are not independent.")
def shuffled_ranks(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.permutation(len(U)) / len(U))


@mistake("acquisition_scores", "random scores are coin flips, 0 or 1.")
def coin_flips(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.integers(0, 2, len(U)).astype(float))


@mistake("acquisition_scores", "random scores are normalised to sum to 1.")
def random_probabilities(rule, U, w, cov, rng, samples=None):
    def uniform(U, rng):
        scores = rng.random(len(U))
        return scores / scores.sum()

    return _scores(rule, U, w, cov, rng, samples, uniform=uniform)


@mistake("acquisition_scores", "random comes from NumPy's global generator.")
def random_from_the_global_generator(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: np.random.random(len(U)))


@mistake("acquisition_scores", "random comes from a generator that is seeded anew in every call.")
def random_with_a_fixed_seed(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: np.random.default_rng(0).random(len(U)))


@mistake("acquisition_scores", "random draws from a copy of rng, so every call repeats the same scores.")
def random_from_a_copy(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, copy.deepcopy(rng), samples)


@mistake("acquisition_scores", "random gives candidates without a difference the score 0.", severity="extreme")
def void_candidates_score_zero(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, uniform=lambda U, rng: rng.random(len(U)) * np.any(U, axis=1))


@mistake("acquisition_scores", "Candidates with equal features share one random score.", severity="extreme")
def equal_candidates_share_a_score(rule, U, w, cov, rng, samples=None):
    def uniform(U, rng):
        distinct, place = np.unique(U, axis=0, return_inverse=True)
        return rng.random(len(distinct))[place.ravel()]

    return _scores(rule, U, w, cov, rng, samples, uniform=uniform)


# --- rules, shapes and the caller's arrays


@mistake("acquisition_scores", "bald and dopt are mixed up.", severity="blatant")
def rules_swapped(rule, U, w, cov, rng, samples=None):
    return _scores({"bald": "dopt", "dopt": "bald"}.get(rule, rule), U, w, cov, rng, samples)


@mistake("acquisition_scores", "An unknown rule falls through to dopt.")
def unknown_rule_is_dopt(rule, U, w, cov, rng, samples=None):
    return _scores(rule if rule in ("random", "bald") else "dopt", U, w, cov, rng, samples)


@mistake("acquisition_scores", "An unknown rule falls through to random scores.")
def unknown_rule_is_random(rule, U, w, cov, rng, samples=None):
    return _scores(rule if rule in ("bald", "dopt") else "random", U, w, cov, rng, samples)


@mistake("acquisition_scores", "An unknown rule returns None.")
def unknown_rule_is_none(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples) if rule in ("random", "bald", "dopt") else None


@mistake("acquisition_scores", "The rule is looked up in a dictionary, which raises KeyError for an unknown one.")
def unknown_rule_is_a_key_error(rule, U, w, cov, rng, samples=None):
    known = {name: name for name in ("random", "bald", "dopt")}
    return _scores(known[rule], U, w, cov, rng, samples)


@mistake("acquisition_scores", "The rule is checked by an assertion, which is no ValueError.")
def unknown_rule_is_an_assertion(rule, U, w, cov, rng, samples=None):
    assert rule in ("random", "bald", "dopt"), rule
    return _scores(rule, U, w, cov, rng, samples)


@mistake("acquisition_scores", "A rule counts as known when its first letter is.")
def first_letter_decides(rule, U, w, cov, rng, samples=None):
    return _scores({"r": "random", "b": "bald", "d": "dopt"}.get(rule[:1], rule), U, w, cov, rng, samples)


@mistake(
    "acquisition_scores",
    "Capitals are forgiven: BALD passes for bald instead of being an unknown rule.",
    severity="extreme",
)
def capitals_are_forgiven(rule, U, w, cov, rng, samples=None):
    return _scores(rule.lower(), U, w, cov, rng, samples)


@mistake("acquisition_scores", "With samples given, every rule is scored as bald.")
def samples_mean_bald(rule, U, w, cov, rng, samples=None):
    return _scores(rule if samples is None else "bald", U, w, cov, rng, samples)


@mistake("acquisition_scores", "A single candidate gives a number instead of an array of one.", severity="extreme")
def squeezes_the_scores(rule, U, w, cov, rng, samples=None):
    return np.squeeze(_scores(rule, U, w, cov, rng, samples))


@mistake("acquisition_scores", "Scores are returned as a column of shape (m, 1).", severity="blatant")
def returns_a_column(rule, U, w, cov, rng, samples=None):
    return np.reshape(_scores(rule, U, w, cov, rng, samples), (-1, 1))


@mistake("acquisition_scores", "Scores are sorted, best first, and lose their candidates.", severity="blatant")
def sorts_the_scores(rule, U, w, cov, rng, samples=None):
    return np.sort(_scores(rule, U, w, cov, rng, samples))[::-1]


@mistake("acquisition_scores", "Scores are rounded to six digits.")
def rounds_the_scores(rule, U, w, cov, rng, samples=None):
    return np.round(_scores(rule, U, w, cov, rng, samples), 6)


@mistake("acquisition_scores", "The caller's draws are centred in place.")
def centres_samples_in_place(rule, U, w, cov, rng, samples=None):
    scores = _scores(rule, U, w, cov, rng, samples)
    if rule == "bald" and samples is not None:
        samples -= samples.mean(axis=0)
    return scores


@mistake(
    "acquisition_scores",
    "A jitter of 1e-6 is added to the diagonal of the caller's covariance before each factorisation.",
)
def jitters_the_covariance_in_place(rule, U, w, cov, rng, samples=None):
    if rule == "bald" and samples is None:
        cov[np.diag_indices_from(cov)] += 1e-6
    return _scores(rule, U, w, cov, rng, samples)


@mistake("acquisition_scores", "U is multiplied by C in place on the way to uᵀCu.")
def multiplies_candidates_in_place(rule, U, w, cov, rng, samples=None):
    scores = _scores(rule, U, w, cov, rng, samples)
    if rule == "dopt":
        U[:] = U @ cov
    return scores


@mistake("acquisition_scores", "Own draws for bald have twice the covariance.")
def own_draws_with_twice_the_covariance(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, cov, rng: _own_draws(w, 2 * np.asarray(cov), rng))


@mistake("acquisition_scores", "Own draws for bald lie around a w that is shrunk by a fifth.")
def own_draws_around_a_shrunk_mode(rule, U, w, cov, rng, samples=None):
    return _scores(rule, U, w, cov, rng, samples, draws=lambda w, cov, rng: _own_draws(0.8 * np.asarray(w), cov, rng))
