"""Facts about acquisition.py: how much the answer to a comparison is expected to teach.

Notation: s the logistic function, u a row of U (the feature difference of a candidate pair), C the posterior
covariance, h the entropy of a coin in nats, p_k = s(u . w_k) what draw k of the weights predicts for u.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import entr, expit, rel_entr

from harness.facts import fact
from harness.inputs import covariances, matrices, vectors
from harness.statistics import ALPHA, bounded_mean, multinomial
from harness.tolerance import (
    EXACT,
    array,
    assert_at_most,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_raises_value_error,
    assert_true,
    vector,
)

RULES = ("random", "bald", "dopt")
M, S, D = 5, 7, 3

# Draws of the weights around (2, 1, 0): they agree on some candidates and not on others.
draws = matrices(S, D, bound=2.0).map(lambda samples: samples + np.array([2.0, 1.0, 0.0]))


@fact(
    function="acquisition_scores",
    promise="How much a comparison is expected to teach, for each of m candidate pairs; higher is better. With s = "
    'sigmoid, h(p) = -p log p - (1-p) log(1-p) in nats … the score of a row u of U is "bald" h(mean_k p_k) - '
    "mean_k h(p_k), p_k = s(u . samples_k): the mutual information between the answer and the weights. … "
    '"dopt" log(1 + p(1-p) u^T cov u), p = s(u . w): by how much the comparison raises the log-determinant '
    "of the posterior precision.",
    defines=True,
    weight=3,
    hint="bald: the entropy of the mean prediction minus the mean entropy of the predictions; dopt: p is taken at w.",
)
@given(matrices(M, D), vectors(D), covariances(D), draws)
def check_scores_are_information_about_the_weights(impl, U, w, cov, samples):
    r"""BALD is the mutual information of answer and draw, dopt the growth of the log-determinant of the precision.

        bald = sum_k sum_y P(k) P(y|k) log(P(y|k) / P(y)),   P(k) = 1/S, P(y=1|k) = p_k
        dopt = log det(C^-1 + p(1-p) u u^T) - log det C^-1,   p = s(u . w)

    Source: Houlsby et al. 2011, eq. 2, as mutual information; matrix determinant lemma, Harville 1997,
    section 18.1.
    """
    rng = np.random.default_rng(0)
    assert_exact(impl.acquisition.acquisition_scores("bald", U, w, cov, rng, samples=samples), information(U, samples))
    gains = [log_determinant_gain(cov, [u], w) for u in U]
    assert_exact(impl.acquisition.acquisition_scores("dopt", U, w, cov, rng), gains)


@fact(
    function="acquisition_scores",
    promise="and h(0) = h(1) = 0 … BALD lies in [0, log 2] up to rounding of 1e-12, and is finite for logits of any "
    "size: two draws that are certain of opposite answers score log 2",
    weight=2,
    hint="0 log 0 is 0: opinions that are certain have no entropy, and must not be clipped.",
)
@given(st.integers(0, S), st.sampled_from([30.0, 37.0, 60.0, 800.0, 1e4]))
def check_certain_opposite_opinions_are_worth_the_entropy_of_the_vote(impl, votes, size):
    r"""If every draw is certain, the answer tells exactly which camp is right: log 2 for two equal camps, never NaN.

        p_k in {0, 1}, a share a of them 1:  bald = h(a);   one draw undecided: h(a) - h(1/2)/S

    Source: h(0) = h(1) = 0 in Houlsby et al. 2011, eq. 2.
    """
    certain = np.where(np.arange(S) < votes, size, -size)
    half, one_open = np.where(np.arange(S) % 2, size, -size)[:6], certain * (np.arange(S) > 0)
    for logits in (certain, half, one_open):
        p = (1 + np.sign(logits)) / 2
        share, undecided = p.mean(), np.mean(p == 0.5)
        expected = stats.bernoulli(share).entropy() - undecided * np.log(2) if 0 < share < 1 else 0.0
        # Two candidates, u = 1 and u = -1 in one dimension, and one of equal features.
        U, samples = np.array([[1.0], [-1.0], [0.0]]), logits[:, None]
        got = scores(impl, "bald", U, np.zeros(1), np.eye(1), samples=samples)
        assert_exact(got, [expected, expected, 0.0])
        assert_at_most(got.max(), np.log(2), "more than one bit from one answer", slack=1e-12)


@fact(
    function="acquisition_scores",
    promise="BALD lies in [0, log 2] up to rounding of 1e-12 … equal draws score 0 … S >= 1",
    hint="Draws that agree have nothing to learn from an answer, however uncertain it is.",
)
@given(matrices(M, D), vectors(D), st.sampled_from([1, 2, 5, 64]))
def check_draws_that_agree_score_zero(impl, U, opinion, s):
    r"""What all draws predict alike teaches nothing, though the answer itself may be a coin flip.

        w_1 = ... = w_S:  bald = 0,   even where h(mean_k p_k) = log 2;   so for S = 1 and for u = 0

    Source: the mutual information with a constant is 0.
    """
    samples = np.tile(opinion, (s, 1))
    U = np.vstack([U, np.zeros(D)])
    got = scores(impl, "bald", U, np.zeros(D), np.eye(D), samples=samples)
    assert_exact(got, np.zeros(M + 1))
    assert_at_most(-got.min(), 0.0, "minus the smallest information", slack=1e-12)


@fact(
    function="acquisition_scores",
    promise="where given, they are used and w and cov do not matter",
    hint="Given samples are the posterior: use them, all of them, and neither w, cov nor rng.",
)
@settings(max_examples=20)
@given(matrices(M, D), draws, st.permutations(range(S)), st.integers(2, 300))
def check_bald_sees_the_law_of_the_given_draws_only(impl, U, samples, order, copies):
    r"""Order and copies of the draws, the sign of u, and what w, C and rng are make no difference.

        bald is a function of u and of the law that puts 1/S on each draw

    Source: Houlsby et al. 2011, eq. 2: expectations under the posterior.
    """
    expected = information(U, samples)
    shuffled = np.tile(samples[order], (copies, 1))
    for w, scale in ((np.zeros(D), 1.0), (np.array([9.0, -9.0, 4.0]), 1e-3), (samples.mean(axis=0), 1e3)):
        for candidates in (U, -U):
            assert_exact(scores(impl, "bald", candidates, w, scale * np.eye(D), samples=shuffled), expected)


@fact(
    function="acquisition_scores",
    promise="Without samples the means are over own draws from N(w, cov), two or more, or exact.",
    weight=2,
    false_alarm=4 * ALPHA,
    hint="Without samples, BALD averages over draws from N(w, cov): at w, with all of the covariance.",
)
def check_bald_without_samples_averages_over_the_posterior(impl, seed):
    r"""Own draws come from N(w, C): u . w then has mean u . w and variance u^T C u, correlations included.

        I/4 <= E bald <= I,   I = h(E p) - E h(p),   p = s(z), z ~ N(u . w, u^T C u)

    The expectation over the draws is I or below, as h is concave: nearly I - I/S for S draws, and S is free. Candidates
    along the eigenvectors of C get independent scores. Detects a mean score that is too high by 0.08 (too low by 0.14),
    such as with w, C or the correlations left out, or with C^-1 or 2 C for C.

    Source: Houlsby et al. 2011, eq. 2; Jensen's inequality.
    """
    rng = np.random.default_rng(seed)
    # Mean and variance of the logit, error detected, and a share of I that two draws have: what is known, what is
    # decided anyway, what is open, and what is decided unless the weights are far from w.
    kinds = ((0.0, 0.01, 0.08, 1 / 3), (8.0, 4.0, 0.08, 1 / 3), (0.0, 30.0, 0.14, 1 / 3), (20.0, 100.0, 0.08, 1 / 4))
    each = 4
    d = each * len(kinds)
    exact = [gaussian_information(mean, variance) for mean, variance, *_ in kinds]
    # A score between 0 and log 2 of mean i has at most the variance i (log 2 - i).
    designs = [
        bounded_mean(sd=float(np.sqrt(i * (np.log(2) - i))), bound=float(np.log(2)), detects=detects)
        for i, (_, _, detects, _) in zip(exact, kinds, strict=True)
    ]
    calls = -(-max(design.n for design in designs) // each)
    found = np.empty((calls, len(kinds), each))
    for row in found:
        axes = np.linalg.qr(rng.standard_normal((d, d)))[0].T
        means, variances, *_ = np.repeat(np.array(kinds), each, axis=0).T
        got = scores(impl, "bald", axes, axes.T @ means, axes.T @ (variances[:, None] * axes), rng)
        row[:] = got.reshape(len(kinds), each)
    for k, (design, most) in enumerate(zip(designs, exact, strict=True)):
        mean = float(found[:, k].ravel()[: design.n].mean())
        where = f"mean score where u . w is {kinds[k][0]} and u^T C u is {kinds[k][1]}"
        design.check(mean, float(np.clip(mean, kinds[k][3] * most, most)), where)


@fact(
    function="acquisition_scores",
    promise="where all randomness comes from",
    hint="All randomness comes from rng, whatever the rule.",
)
def check_scores_follow_the_generator(impl, seed):
    r"""The same state of the generator gives the same scores; random scores differ from seed to seed and call to call.

        rng -> scores is a function;   BALD without samples depends on rng, unless it is exact

    Source: the conventions of the course.
    """
    setting = np.random.default_rng(seed)
    U, w, cov = setting.standard_normal((M, D)), setting.standard_normal(D), np.diag([1.0, 2.0, 0.5]) + 0.2
    # Variances of the logits of 3 at most, for which any quadrature is good.
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    for rule in RULES:
        first, again = (scores(impl, rule, U, w, cov, np.random.default_rng(seed)) for _ in range(2))
        assert_exact(again, first, f"{rule}: one seed, two results")
    rng = np.random.default_rng(seed)
    first, second = scores(impl, "random", U, w, cov, rng), scores(impl, "random", U, w, cov, rng)
    other = scores(impl, "random", U, w, cov, np.random.default_rng(seed + 1))
    assert_true(not (first == second).any(), "the next call repeats the scores: does rng advance?", got=second)
    assert_true(not (first == other).any(), "another seed gave the same random scores", got=other)
    first, other = (scores(impl, "bald", U, w, cov, np.random.default_rng(s)) for s in (seed, seed + 1))
    if (first == other).all():
        # Draws of a fixed seed are off by more than this; quadrature is not.
        exact = [gaussian_information(u @ w, u @ cov @ u) for u in U]
        assert_exact(first, exact, "bald: no randomness from rng, and not the exact information either", within=1e-3)


@fact(
    function="acquisition_scores",
    promise="log(1 + p(1-p) u^T cov u) … It has no factor 1/2, and p is taken at w. … Right to 1e-8.",
    weight=2,
    hint="The gain is a difference of log-determinants: no factor, any dimension, any scale of C.",
)
def check_dopt_gains_of_a_batch_add_up_and_diminish(impl, seed):
    r"""Scored one after another, each under the covariance that the others left, gains add up to the gain of the batch.

        sum_i dopt(u_i; C_{i-1}) = log det(C_0^-1 + sum_i p_i(1-p_i) u_i u_i^T) - log det C_0^-1
        dopt(u; C_i) <= dopt(u; C_{i-1})

    Source: the determinant lemma, again and again. Diminishing gains: Krause and Guestrin 2005, for answers that are
    independent given the weights; log det form in Srinivas et al. 2010, section 2.
    """
    rng = np.random.default_rng(seed)
    for d, m, scale in ((1, 3, 1.0), (2, 6, 1e3), (9, 4, 1.0), (4, 12, 1e-2)):
        root = rng.standard_normal((d, d)) / np.sqrt(d)
        cov, w = scale * (root @ root.T + 0.3 * np.eye(d)), rng.standard_normal(d)
        U = rng.standard_normal((m, d))
        gains = np.empty((m, m))
        for i in range(m):
            gains[i] = scores(impl, "dopt", U, w, posterior_after(cov, U[:i], w), rng)
        assert_exact(np.trace(gains), log_determinant_gain(cov, U, w), within=m * EXACT)
        assert_at_most(np.diff(gains, axis=0).max(), 0.0, "the largest growth of a gain after another comparison")


@fact(
    function="acquisition_scores",
    promise='u = 0 scores 0 under "bald" and "dopt" … log(1 + p(1-p) u^T cov u)',
    hint="Where u is 0 or the answer is certain, dopt is 0; where u . w is 0, the weight is 1/4.",
)
def check_dopt_weighs_the_variance_by_that_of_the_answer(impl, seed):
    r"""An answer that is certain, or about equal features, teaches nothing; which reply is called A does not matter.

        u . w = 0:  log(1 + u^T C u / 4);   |u . w| -> inf or u = 0:  0;   dopt(-u) = dopt(u)

    Source: p (1-p) at p = 1/2, at 0 and at 1.
    """
    rng = np.random.default_rng(seed)
    cov = np.array([[2.0, 0.9], [0.9, 1.0]])
    for size in (60.0, 800.0, 1e4):
        u = rng.standard_normal(2)
        U = np.array([[0.0, size], [0.0, -size], [0.0, 0.0], [u[0], 0.0], [1.0, u[1]], [-1.0, -u[1]]])
        expected = [log_determinant_gain(cov, [row], np.array([0.0, 1.0])) for row in U]
        expected[:4] = [0.0, 0.0, 0.0, np.log1p(u[0] ** 2 / 2)]
        assert_exact(scores(impl, "dopt", U, np.array([0.0, 1.0]), cov), expected)


@fact(
    function="acquisition_scores",
    promise="The other rules ignore them. … p is taken at w",
    hint="dopt takes p at w: samples and rng are for the other rules.",
)
@settings(max_examples=15)
@given(matrices(M, D), vectors(D), covariances(D), draws)
def check_dopt_ignores_samples(impl, U, w, cov, samples):
    r"""The log-determinant gain is a function of u, w and C; draws of the weights that come along are not looked at.

        dopt = log(1 + s(u . w) s(-u . w) u^T C u)   with and without samples

    Source: Harville 1997, section 18.1, at the mode.
    """
    expected = [log_determinant_gain(cov, [u], w) for u in U]
    assert_exact(scores(impl, "dopt", U, w, cov, np.random.default_rng(1), samples=samples), expected)


@fact(
    function="acquisition_scores",
    promise='"random" a uniform draw from [0, 1), independent of everything: U gives only the number of scores.',
    false_alarm=2 * ALPHA,
    hint="random: one uniform number in [0, 1) for each candidate, each on its own.",
)
def check_random_scores_are_independent_and_uniform(impl, seed):
    r"""Random scores are uniform on [0, 1) and independent of each other and of the candidates.

        P(x_i < a, x_j < b) = a b   for candidates i != j

    Detects squares and maxima of uniform numbers, 10% of the interval left out, shuffled ranks and one number for all.

    Source: the definition.
    """
    rng = np.random.default_rng(seed)
    quarter, short = np.full(4, 1 / 4), np.diff(np.minimum(np.arange(5) / 4 / 0.9, 1.0))
    square, diagonal = np.diff(np.sqrt(np.arange(5) / 4)), (np.eye(4) / 4).ravel()
    wrong = [np.outer(short, short).ravel(), np.outer(square, square).ravel(), (diagonal + 3 / 16) / 4]
    design = multinomial(np.outer(quarter, quarter).ravel(), detects=wrong)
    m = 6
    setting = 5.0 * rng.standard_normal((m, D))
    # Half of the candidates are void and the first of the others are alike.
    U, w, samples = np.vstack([np.zeros((3, D)), setting[:2], setting[1:2]]), setting[5], setting
    small = [scores(impl, "random", U, w, np.eye(D), rng, samples=samples) for _ in range(-(-2 * design.n // m))]
    large = scores(impl, "random", rng.standard_normal((2 * design.n, D)), w, np.eye(D), rng)
    for got, message in ((np.concatenate(small)[: 2 * design.n], f"scores of {m}"), (large, "scores of many")):
        assert_true(bool((got >= 0).all() and (got < 1).all()), "a random score is outside [0, 1)", got=got)
        assert_true(len(np.unique(got)) > 0.9 * len(got), "random scores repeat each other", got=got)
        cells = (4 * got).astype(np.int64).reshape(-1, 2)
        design.check(np.bincount(4 * cells[:, 0] + cells[:, 1], minlength=16), f"pairs of random {message} candidates")


@fact(
    function="acquisition_scores",
    promise="for each of m candidate pairs … one row for each candidate",
    hint="A candidate's score does not depend on the other candidates, nor on how many there are.",
)
def check_candidates_are_scored_one_by_one(impl, seed):
    r"""One candidate alone scores what it scores among hundreds; a candidate that comes twice scores the same twice.

        scores((u_1, ..., u_m))_i = scores((u_i))

    Source: the definition of the scores, row by row.
    """
    rng = np.random.default_rng(seed)
    for m, s, d in ((1, 9, 2), (1, 1, 1), (5, 5, 5), (700, 3, 4), (3, 300, 1)):
        U, w, samples = rng.standard_normal((m, d)), rng.standard_normal(d), 2 * rng.standard_normal((s, d))
        U[-1] = U[0]
        cov = np.diag(rng.uniform(0.5, 2.0, d)) + 0.2
        bald = scores(impl, "bald", U, w, cov, samples=samples)
        assert_exact(bald, information(U, samples))
        dopt = scores(impl, "dopt", U, w, cov)
        assert_exact(dopt, [log_determinant_gain(cov, [u], w) for u in U])
        for i in {0, m // 2, m - 1}:
            assert_exact(scores(impl, "bald", U[i : i + 1], w, cov, samples=samples), bald[i : i + 1])
            assert_exact(scores(impl, "dopt", U[i : i + 1], w, cov), dopt[i : i + 1])
        array(impl.acquisition.acquisition_scores("bald", U, w, cov, rng), (m,))
        array(impl.acquisition.acquisition_scores("random", U, w, cov, rng), (m,))


@fact(
    function="acquisition_scores",
    promise="ValueError: an unknown rule (graded)",
    hint="A rule that is none of the three must not fall through to one of them: raise ValueError.",
)
def check_unknown_rule_raises_value_error(impl, seed):
    r"""A misspelt rule is an error, with and without samples.

        rule not in {random, bald, dopt}:  ValueError

    Source: the docstring.
    """
    rng = np.random.default_rng(seed)
    U, samples = rng.standard_normal((M, D)), rng.standard_normal((S, D))
    for rule in ("bold", "BALD", "d-opt", "thompson", "rand", "", "dopt2"):
        for given_samples in (None, samples):
            call = impl.acquisition.acquisition_scores
            assert_raises_value_error(call, rule, U, np.ones(D), np.eye(D), rng, samples=given_samples)


@fact(
    function="acquisition_scores",
    promise="Arguments are not modified.",
    hint="Candidates, posterior and draws are used again by the caller: work on copies.",
)
def check_scoring_leaves_its_arguments_alone(impl, seed):
    r"""Candidates, mean, covariance and draws are read, not written, whatever the rule.

        U, w, C, samples before = U, w, C, samples after

    Source: the conventions of the course.
    """
    rng = np.random.default_rng(seed)
    U, w, samples = rng.standard_normal((M, D)), rng.standard_normal(D), 300 * rng.standard_normal((S, D))
    for rule in RULES:
        for given_samples in (None, samples):
            assert_leaves_arguments_alone(
                impl.acquisition.acquisition_scores, rule, U, w, np.eye(D) + 0.1, rng, samples=given_samples
            )


def scores(impl, rule, U, w, cov, rng=None, samples=None):
    """The scores that were returned, one for each candidate. `rng` matters only where something is random."""
    rng = np.random.default_rng(0) if rng is None else rng
    if samples is None:
        return vector(impl.acquisition.acquisition_scores(rule, U, w, cov, rng), len(U))
    return vector(impl.acquisition.acquisition_scores(rule, U, w, cov, rng, samples=samples), len(U))


def information(U, samples):
    """Mutual information of the answer and the draw that is true: mean relative entropy to the mean prediction."""
    answers = np.stack([expit(U @ samples.T), expit(-U @ samples.T)])
    return rel_entr(answers, answers.mean(axis=2, keepdims=True)).mean(axis=2).sum(axis=0)


def gaussian_information(mean, variance):
    """Mutual information between the answer and the weights where the logit is N(mean, variance), by quadrature."""
    z = np.linspace(-10.0, 10.0, 4001)
    weight = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    p = expit(mean + np.sqrt(variance) * z)
    q = 1 - p
    return float(entr(weight @ p) + entr(weight @ q) - weight @ (entr(p) + entr(q)))


def log_determinant_gain(cov, U, w):
    """What the comparisons U add to the log-determinant of the precision at w."""
    return float(np.linalg.slogdet(cov)[1] - np.linalg.slogdet(posterior_after(cov, U, w))[1])


def posterior_after(cov, U, w):
    """The covariance after the comparisons U, with w held fixed."""
    precision = np.linalg.inv(cov)
    for u in U:
        precision = precision + expit(u @ w) * expit(-u @ w) * np.outer(u, u)
    return np.linalg.inv(precision)
