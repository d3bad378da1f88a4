"""Facts about laplace.py: the logistic function, the Laplace posterior, draws from it and its rank-one update.

Notation: s the logistic function, U the feature differences of the comparisons (rows u), Y their labels, lam the prior
precision, (w, C) = fit_laplace(U, Y, lam), I the identity; s' = s (1 - s).
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from harness.facts import fact
from harness.inputs import covariances, matrices, vectors
from harness.statistics import ALPHA, gaussian_sample, multinomial
from harness.tolerance import (
    EXACT,
    array,
    assert_at_most,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_monotone,
    assert_true,
    vector,
)

M, D = 7, 3
HUGE = (710.0, 800.0, 1e4, 1e308, np.inf)
SHAPES = ((1,), (5,), (2, 3), (1, 1), (2, 1, 4), (0,), ())

strengths = st.lists(st.integers(1, 1000), min_size=5, max_size=5).map(lambda a: np.array(a, dtype=np.float64))
labels = st.lists(st.integers(0, 1), min_size=M, max_size=M).map(lambda y: np.array(y, dtype=np.float64))
probabilities = st.integers(1, 99).map(lambda hundredths: hundredths / 100)
prior_precisions = st.integers(5, 500).map(lambda hundredths: hundredths / 100)


@fact(
    function="sigmoid",
    promise="The logistic function 1 / (1 + exp(-x)), element by element: the probability whose log-odds are x.",
    defines=True,
    weight=2,
    hint="s(x) is the probability whose log-odds are x.",
)
@given(strengths, strengths)
def check_sigmoid_turns_log_odds_into_probabilities(impl, a, b):
    r"""A contestant of strength a beats one of strength b with log-odds log a - log b, so with probability a/(a + b).

        s(log a - log b) = a / (a + b)

    Source: Bradley and Terry 1952, where the strengths are exp(reward).
    """
    assert_exact(impl.laplace.sigmoid(np.log(a) - np.log(b)), a / (a + b))


@fact(
    function="sigmoid",
    promise="sigmoid(0) is 0.5",
    hint="At 0 neither branch of a case distinction may be left out: s(0) = 1/2.",
)
def check_sigmoid_is_a_half_with_slope_a_quarter_at_zero(impl):
    r"""Equal rewards are a coin flip, and a small advantage moves the odds by a quarter of it.

        s(x) = 1/2 + x/4 + O(x^3),   s(0) = s(-0) = 1/2

    Source: Taylor expansion at 0, where s' = s (1 - s) = 1/4.
    """
    small = np.array([1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
    x = np.concatenate([[0.0, -0.0], small, -small])
    assert_exact(impl.laplace.sigmoid(x), 0.5 + x / 4)
    assert_exact(impl.laplace.sigmoid(0.0), 0.5)


@fact(
    function="sigmoid",
    promise="1 / (1 + exp(-x))",
    hint="Large positive arguments need the same care as large negative ones.",
)
@given(vectors(6, bound=45.0))
def check_sigmoid_of_opposite_arguments_adds_up_to_one(impl, x):
    r"""Either A is preferred or B is: the probabilities of the two answers add up to 1, and they never fall with x.

        s(x) + s(-x) = 1,   s increasing

    Source: exp(-x) s(x) = s(-x).
    """
    x = np.sort(x)
    upward, downward = vector(impl.laplace.sigmoid(x), 6), vector(impl.laplace.sigmoid(-x), 6)
    assert_exact(upward + downward, np.ones(6))
    assert_monotone(upward, "s falls from one argument to a larger one")


@fact(
    function="sigmoid",
    promise="1 / (1 + exp(-x)) … right to 1e-8",
    hint="Far left s(x) is small, not zero and not constant: do not clip the argument early.",
)
def check_sigmoid_decays_like_exp(impl):
    r"""Far to the left the logistic function is the exponential function.

        exp(x) - exp(2 x) <= s(x) <= exp(x)

    Source: s(x) = exp(x) s(-x), and 1 - exp(x) <= s(-x) <= 1.
    """
    x = np.linspace(-36.0, -10.0, 53)
    assert_exact(impl.laplace.sigmoid(x), np.exp(x))


@fact(
    function="sigmoid",
    promise="sigmoid(+inf) is 1, sigmoid(-inf) is 0; nothing is NaN for large |x|. … +-inf allowed, any size",
    hint="inf/inf is NaN: choose a form in which nothing but a harmless term overflows.",
)
def check_sigmoid_is_zero_or_one_at_huge_arguments(impl):
    r"""Arguments of any size, infinite ones too, give the limits 0 and 1, never NaN.

        s(x) -> 1 for x -> inf,   s(x) -> 0 for x -> -inf

    Source: the limits of exp.
    """
    x = np.array(HUGE)
    assert_exact(impl.laplace.sigmoid(x), np.ones(len(x)))
    assert_exact(impl.laplace.sigmoid(-x), np.zeros(len(x)))
    for huge in HUGE:
        assert_exact(impl.laplace.sigmoid(huge), 1.0)
        assert_exact(impl.laplace.sigmoid(-huge), 0.0)


@fact(
    function="sigmoid",
    promise="element by element",
    hint="No entry may depend on its neighbours: no shift by a maximum, no branch for a whole array.",
)
def check_sigmoid_acts_on_each_entry_alone(impl, seed):
    r"""An entry's value is the same in every company: among huge entries, among thousands, on its own.

        s((x_1, ..., x_n))_i = s(x_i)

    Source: the definition, element by element.
    """
    rng = np.random.default_rng(seed)
    odds = np.exp(rng.uniform(-3.0, 3.0, 3001))
    assert_exact(impl.laplace.sigmoid(np.log(odds)), odds / (1 + odds))
    for ratio in (1 / 5, 5.0):
        for huge in (-1000.0, 1000.0):
            company = np.array([np.log(ratio), huge])
            assert_exact(impl.laplace.sigmoid(company), [ratio / (1 + ratio), float(huge > 0)])


@fact(
    function="sigmoid",
    promise="numbers of any shape … of the shape of x (for a scalar x a Python float, a NumPy scalar or an array of "
    "shape ())",
    hint="Scalars, matrices and empty arrays come back in the shape in which they came.",
)
def check_sigmoid_keeps_the_shape(impl, seed):
    r"""The result has the shape of the argument; a scalar gives a scalar.

        shape of s(x) = shape of x

    Source: the definition, element by element.
    """
    rng = np.random.default_rng(seed)
    for shape in SHAPES:
        odds = rng.uniform(0.1, 10.0, shape)
        assert_exact(impl.laplace.sigmoid(np.asarray(np.log(odds))), odds / (1 + odds))
    assert_exact(impl.laplace.sigmoid(float(np.log(3.0))), 0.75)
    assert_exact(impl.laplace.sigmoid(np.log(3.0)), 0.75)


@fact(
    function="sigmoid",
    promise="numbers of any shape, integers or floats, a scalar too",
    hint="Integers may come in, but probabilities must come out: mind the dtype of the result.",
)
def check_sigmoid_takes_integers(impl):
    r"""Whole numbers have the same values as the floats they equal.

        s(n) = s(n + 0.0)

    Source: the definition on the integers; tanh has the same odds at half the argument.
    """
    integers = np.array([-30, -3, -1, 0, 1, 2, 30])
    assert_exact(impl.laplace.sigmoid(integers), (1 + np.tanh(integers / 2)) / 2)
    assert_exact(impl.laplace.sigmoid(integers.reshape(7, 1)), ((1 + np.tanh(integers / 2)) / 2).reshape(7, 1))
    assert_exact(impl.laplace.sigmoid(2), float(1 + np.tanh(1.0)) / 2)
    assert_exact(impl.laplace.sigmoid(np.int64(-2000)), 0.0)


@fact(function="sigmoid", promise="x is not modified.", hint="Write into a new array, not into x.")
def check_sigmoid_leaves_its_argument_alone(impl):
    r"""The argument is read, not written, whatever its shape and signs.

        x before = x after

    Source: the conventions of the course.
    """
    for x in (np.array([-2.0, 0.0, 3.0]), np.array([[1.0, 2.0], [800.0, 4.0]]), np.array([-1.0, -900.0])):
        assert_leaves_arguments_alone(impl.laplace.sigmoid, x)


@fact(
    function="fit_laplace",
    promise="w = argmin_v -sum_i [ Y_i log s(U_i . v) + (1 - Y_i) log s(-U_i . v) ] + prior_precision / 2 |v|^2 cov "
    "= ( prior_precision I + sum_i p_i (1 - p_i) U_i U_i^T )^-1, p_i = s(U_i . w), s = sigmoid … w, float64 "
    "(d,), the posterior mode, where no component of the gradient of the penalised loss is larger than 1e-5 (times "
    "the largest |U_ij|, where that is above 1), and cov, float64 (d, d), symmetric, the inverse Hessian there to 1e-8 "
    "(relative above 1), or to where the penalised loss is flat to rounding",
    defines=True,
    weight=3,
    hint="At the mode the gradient of likelihood and prior together is 0; cov is the inverse of the Hessian there.",
)
@settings(max_examples=25)
@given(matrices(M, D), labels, prior_precisions)
def check_laplace_posterior_sits_at_the_mode_with_its_curvature(impl, U, Y, lam):
    r"""The residuals balance the pull of the prior at w, and the covariance is the inverse curvature there.

        U^T (Y - s(U w)) = lam w,   C^-1 = lam I + sum_i s'(u_i . w) u_i u_i^T

    Source: Bishop 2006, section 4.5.1, eq. 4.142 to 4.144 (4.143 prints the inverse of S_N as S_N).
    """
    assert_laplace(impl.laplace.fit_laplace(U, Y, lam), U, Y, lam)


@fact(
    function="fit_laplace",
    promise="inverse variance of each weight under the prior, > 0; 1 where it is not given",
    hint="prior_precision is 1 unless the caller says otherwise.",
)
@settings(max_examples=10)
@given(matrices(M, D), labels)
def check_prior_precision_is_one_by_default(impl, U, Y):
    r"""Without a prior precision the prior is the standard normal law; it may be given by its name.

        fit_laplace(U, Y) = fit_laplace(U, Y, prior_precision=1)

    Source: the signature.
    """
    assert_laplace(impl.laplace.fit_laplace(U, Y), U, Y, 1.0)
    assert_laplace(impl.laplace.fit_laplace(U, Y, prior_precision=0.4), U, Y, 0.4)


@fact(
    function="fit_laplace",
    promise="Without comparisons (m = 0, U of shape (0, d)) they are 0 and I / prior_precision.",
    hint="With m = 0 every sum over comparisons is 0; only the prior is left.",
)
def check_posterior_without_comparisons_is_the_prior(impl):
    r"""Nothing observed, nothing learnt.

        m = 0:  w = 0,  C = I / lam

    Source: an empty sum.
    """
    for d, lam in ((1, 0.5), (4, 1.0), (3, 7.0), (2, 0.01), (3, 1e-6)):
        w, cov = posterior(impl.laplace.fit_laplace(np.zeros((0, d)), np.zeros(0), lam), d)
        assert_exact(w, np.zeros(d))
        assert_exact(cov, np.eye(d) / lam)


@fact(
    function="fit_laplace",
    promise="labels, 1 where A was preferred and 0 where B was; integers, floats or booleans",
    hint="Labels are 1 where A won and 0 where B did, whatever their dtype.",
)
@settings(max_examples=10)
@given(matrices(M, D), labels, prior_precisions)
def check_labels_are_zero_or_one_of_any_kind(impl, U, Y, lam):
    r"""Integer and boolean labels mean the same as floats, and exchanging the two answers turns w around.

        (U, 1 - Y) has the posterior N(-w, C)

    Source: s(-x) = 1 - s(x).
    """
    w, cov = posterior(impl.laplace.fit_laplace(U, Y, lam), D)
    near = 2 * leeway(U, w, lam)
    close = near * sensitivity(U)
    for kind in (np.int64, np.bool_):
        again, same = posterior(impl.laplace.fit_laplace(U, Y.astype(kind), lam), D)
        assert_exact(again, w, f"labels of {np.dtype(kind)} give another w than floats", within=near)
        assert_exact(same, cov, f"labels of {np.dtype(kind)} give another cov than floats", within=close)
        turned, same = posterior(impl.laplace.fit_laplace(U, (1 - Y).astype(kind), lam), D)
        assert_exact(turned, -w, "exchanged answers do not turn w around", within=near)
        assert_exact(same, cov, "exchanged answers change cov", within=close)


@fact(
    function="fit_laplace",
    promise="The sum runs over the comparisons (it is not a mean)",
    hint="The likelihood is a sum over all comparisons, repeated and void ones included.",
)
@settings(max_examples=15)
@given(matrices(M, D), labels, prior_precisions, st.integers(2, 5))
def check_every_repetition_of_a_comparison_counts(impl, U, Y, lam, times):
    r"""k copies of the data under a k times stronger prior have the same mode and a k-th of the covariance.

        (U, Y) k times, k lam:  w, C / k;   comparisons of a reply with itself (u = 0) change nothing

    Source: the log posterior is k times as large; at u = 0 the likelihood is 1/2 for every w.
    """
    w, cov = posterior(impl.laplace.fit_laplace(U, Y, lam), D)
    near = 2 * leeway(U, w, lam)
    for k in (1, times):
        repeated, answers = np.vstack([U] * k + [np.zeros((3, D))]), np.concatenate([*([Y] * k), [1.0, 0.0, 1.0]])
        mode, spread = posterior(impl.laplace.fit_laplace(repeated, answers, k * lam), D)
        assert_exact(mode, w, within=near)
        assert_exact(k * spread, cov, within=near * sensitivity(U))


@fact(
    function="fit_laplace",
    promise="the prior is N(0, I / prior_precision) … used as they are: not centred, not scaled",
    hint="A direction in which no comparison differs keeps its prior: mean 0 and variance 1/lam.",
)
def check_unseen_direction_keeps_its_prior(impl, seed):
    r"""The data say nothing about a direction v that is orthogonal to every u; the prior stays as it was.

        U v = 0:  w . v = 0,   C v = v / lam

    Source: the likelihood is constant along v, and precisions add.
    """
    rng = np.random.default_rng(seed)
    for d, m, lam in ((3, 9, 1e-3), (5, 2, 0.3), (4, 25, 40.0)):
        v = rng.standard_normal(d)
        v /= np.linalg.norm(v)
        U, Y = rng.standard_normal((m, d)), rng.integers(0, 2, m).astype(np.float64)
        # The last problem leaves out a whole column: no spread to divide by.
        v = np.eye(d)[1] if d == 4 else v
        U = U - np.outer(U @ v, v)
        w, cov = posterior(impl.laplace.fit_laplace(U, Y, lam), d)
        assert_exact(w @ v, 0.0, within=d * steepest(U) / lam)
        assert_exact(cov @ v, v / lam, within=10 * EXACT * max(1.0, 1 / lam))


@fact(
    function="fit_laplace",
    promise="and cov is the inverse Hessian at the optimum … one row for each comparison",
    hint="Any number of features and comparisons must do, one of each included.",
)
def check_posterior_is_right_for_every_size(impl, seed):
    r"""One feature or a dozen, one comparison or hundreds: the gradient is 0 and the covariance the inverse curvature.

        U^T (Y - s(U w)) = lam w,   C^-1 = lam I + U^T diag(s'(U w)) U

    Source: Bishop 2006, section 4.5.1, eq. 4.142 to 4.144.
    """
    rng = np.random.default_rng(seed)
    for m, d in ((1, 1), (1, 4), (3, 12), (20, 1), (6, 6), (180, 5), (700, 9)):
        U, Y = answered_comparisons(rng, m, d, size=1.0)
        assert_laplace(impl.laplace.fit_laplace(U, Y, 1.3), U, Y, 1.3)


@fact(
    function="fit_laplace",
    promise="used as they are: not centred, not scaled … also for features of size 100",
    hint="Features may be large: iterate until the gradient is 0, and let no logarithm overflow.",
)
def check_posterior_is_right_for_features_of_size_60(impl, seed):
    r"""Features are used as they are: a column of size 60 needs more steps, not another answer.

        U^T (Y - s(U w)) = lam w   for |U_ij| of about 20 and 60, answers with and without errors

    Source: Bishop 2006, section 4.5.1, eq. 4.142 to 4.144.
    """
    rng = np.random.default_rng(seed)
    for size, lam in ((20.0, 1.0), (60.0, 1.0), (60.0, 0.05)):
        U, Y = answered_comparisons(rng, 40, D, size=size)
        assert_laplace(impl.laplace.fit_laplace(U, Y, lam), U, Y, lam)
        # Newton's method takes about 15 steps for answers without errors.
        Y = (U @ rng.standard_normal(D) > 0).astype(np.float64)
        assert_laplace(impl.laplace.fit_laplace(U, Y, lam), U, Y, lam)


@fact(
    function="fit_laplace",
    promise="The optimum is unique and finite, for labels that a plane separates too.",
    hint="Follow prior_precision from very weak to very strong priors, for separable answers too.",
)
def check_posterior_is_right_for_weak_and_strong_priors(impl, seed):
    r"""Answers that a plane separates have a finite mode under every prior; a strong prior leaves only the first step.

        |w|^2 <= 2 m log 2 / lam;   lam -> inf:  lam w -> U^T (Y - 1/2)

    Source: the log posterior at w is at least that at 0, which is -m log 2; expansion of the gradient at 0.
    """
    rng = np.random.default_rng(seed)
    m = 11
    U = rng.standard_normal((m, D))
    Y = (U @ rng.standard_normal(D) > 0).astype(np.float64)
    for lam in (1e-3, 0.05, 0.5, 10.0, 1e3):
        w, cov = posterior(impl.laplace.fit_laplace(U, Y, lam), D)
        assert_at_most(w @ w, 2 * m * np.log(2) / lam, "|w|^2 for separable answers")
        assert_laplace((w, cov), U, Y, lam)
    lam = 1e6
    w, cov = posterior(impl.laplace.fit_laplace(U, Y, lam), D)
    assert_exact(lam * w, U.T @ (Y - 0.5), within=0.02)
    assert_exact(lam * cov, np.eye(D), within=0.02)


@fact(
    function="fit_laplace",
    promise="Arguments are not modified. … Nothing is left to chance: the same arguments give the same w and cov.",
    hint="Work on copies of U and Y, and start every fit afresh.",
)
def check_fit_leaves_its_arguments_alone(impl, seed):
    r"""The comparisons are read, not written, and a second fit gives the same as the first.

        U, Y before = U, Y after;   fit_laplace(U, Y, lam) is a function

    Source: the conventions of the course.
    """
    rng = np.random.default_rng(seed)
    U, Y = answered_comparisons(rng, M, D, size=1.0)
    assert_leaves_arguments_alone(impl.laplace.fit_laplace, U, Y, 0.7)
    w, cov = posterior(impl.laplace.fit_laplace(U, Y, 0.7), D)
    impl.laplace.fit_laplace(3.0 * U[:, :2], 1.0 - Y, 2.0)
    again, same = posterior(impl.laplace.fit_laplace(U, Y, 0.7), D)
    assert_exact(again, w, "the second fit differs from the first")
    assert_exact(same, cov, "the second fit differs from the first")


@fact(
    function="posterior_samples",
    promise="draws from the normal law N(w, cov)",
    defines=True,
    weight=3,
    false_alarm=ALPHA,
    hint="If z is standard normal, w + L z has covariance L L^T: mind which side L stands on when draws are rows.",
)
def check_samples_have_the_mean_and_covariance_of_the_posterior(impl, seed):
    r"""The draws scatter around w as the covariance says, correlations included.

        E x = w,   E (x - w)(x - w)^T = C

    Detects standard deviations that are off by 5%, and correlations off by 0.2.

    Source: the definition of N(w, C); chi-square laws of whitened draws.
    """
    rng = np.random.default_rng(seed)
    w, cov = np.array([0.5, -2.0, 1.5]), np.array([[1.44, -1.08, 0.2], [-1.08, 1.06, 0.05], [0.2, 0.05, 0.29]])
    design = gaussian_sample(D, detects=1.05)
    draws = array(impl.laplace.posterior_samples(w, cov, design.n, rng), (design.n, D))
    design.check(draws, w, cov, "draws from the posterior")


@fact(
    function="posterior_samples",
    promise="draws from the normal law N(w, cov)",
    false_alarm=2 * ALPHA,
    hint="The noise is Gaussian: a right mean and covariance are not enough.",
)
def check_samples_are_gaussian(impl, seed):
    r"""Whitened draws are standard normal, coordinate by coordinate and in their length.

        z = L^-1 (x - w), L L^T = C:   z_j ~ N(0, 1),   |z|^2 ~ chi-square with d degrees of freedom

    Detects uniform and logistic noise of the right variance, and a multivariate t law of 8 degrees of freedom.

    Source: the definition of N(w, C).
    """
    d, tenths = 5, np.arange(11) / 10
    rng = np.random.default_rng(seed)
    root = np.tril(rng.uniform(-1.0, 1.0, (d, d)), -1) + np.diag([0.5, 2.0, 1.0, 0.7, 3.0])
    w, normal, length = rng.uniform(-5.0, 5.0, d), stats.norm.ppf(tenths), stats.chi2.ppf(tenths, d)
    uniform = stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)).cdf(normal)
    logistic = stats.logistic(scale=np.sqrt(3) / np.pi).cdf(normal)
    student = stats.f(d, 8).cdf(length / d * 8 / 6)
    coordinates = multinomial(np.diff(tenths), detects=[np.diff(uniform), np.diff(logistic)])
    lengths = multinomial(np.diff(tenths), detects=[np.diff(student)])
    n = max(-(-coordinates.n // d), lengths.n)
    draws = array(impl.laplace.posterior_samples(w, root @ root.T, n, rng), (n, d))
    z = np.linalg.solve(root, (draws - w).T).T
    coordinates.check(histogram(z.ravel()[: coordinates.n], normal), "coordinates of whitened draws")
    lengths.check(histogram((z[: lengths.n] ** 2).sum(axis=1), length), "squared lengths of whitened draws")


@fact(
    function="posterior_samples",
    promise="n independent draws from the normal law N(w, cov) … rows independent",
    false_alarm=2 * ALPHA,
    hint="Each row has noise of its own: no mirrored, reused or chained draws.",
)
def check_rows_are_independent(impl, seed):
    r"""Two rows of one call, next to each other or half a sample apart, are independent.

        (x_i, x_j) ~ N((w, w), diag(C, C))   for i != j

    Detects mirrored and repeated draws, and chains with a correlation of 0.5.

    Source: the definition of independent draws.
    """
    rng = np.random.default_rng(seed)
    w, cov = np.array([3.0, -1.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    design = gaussian_sample(4, detects=1.1)
    draws = array(impl.laplace.posterior_samples(w, cov, 2 * design.n, rng), (2 * design.n, 2))
    both, covs = np.tile(w, 2), np.kron(np.eye(2), cov)
    design.check(draws.reshape(design.n, 4), both, covs, "neighbouring draws")
    design.check(np.hstack([draws[: design.n], draws[design.n :]]), both, covs, "draws half a sample apart")


@fact(
    function="posterior_samples",
    promise="n independent draws … it advances, so that the next call gives other draws",
    false_alarm=ALPHA,
    hint="A single draw is as random as one among many, and rng goes on between calls.",
)
def check_small_calls_are_as_random_as_large_ones(impl, seed):
    r"""Calls for one draw and for two draws give three independent draws, and so do the next calls.

        (x_1; y_1, y_2) ~ N((w, w, w), diag(C, C, C))   for x from n = 1 and y from n = 2

    Detects draws recentred to their own mean, standard deviations 15% off, and a generator that stands still.

    Source: the definition of independent draws.
    """
    rng = np.random.default_rng(seed)
    w, cov = np.array([-0.4, 7.0]), np.array([[0.3, -0.4], [-0.4, 1.7]])
    design = gaussian_sample(6, detects=1.15)
    draws = np.empty((design.n, 6))
    for row in draws:
        row[:2] = array(impl.laplace.posterior_samples(w, cov, 1, rng), (1, 2)).ravel()
        row[2:] = array(impl.laplace.posterior_samples(w, cov, 2, rng), (2, 2)).ravel()
    design.check(draws, np.tile(w, 3), np.kron(np.eye(3), cov), "draws of small calls")


@fact(
    function="posterior_samples",
    promise="covariance matrix, symmetric positive definite, of any scale",
    false_alarm=5 * ALPHA,
    hint="Add nothing to the covariance: tiny and huge variances are right as they are.",
)
def check_spread_is_right_at_every_scale(impl, seed):
    r"""Variances of 1e-30 or 1e12, of very different sizes side by side, and a single dimension are no special cases.

        c x ~ N(c w, c^2 C)   whenever x ~ N(w, C)

    Detects standard deviations that are off by 10%, such as by a fixed amount added to the diagonal.

    Source: linear maps of normal laws.
    """
    rng = np.random.default_rng(seed)
    w, cov = np.array([1e3, -2e3, 5e2]), np.array([[1.0, 0.7, 0.1], [0.7, 2.0, -0.3], [0.1, -0.3, 0.4]])
    units = np.array([1e-2, 1.0, 1e2])
    problems = (
        (w, 1e-12 * cov),
        (0 * w, 1e-30 * cov),
        (w, 1e12 * cov),
        (w, cov * np.outer(units, units)),
        (w[:1], np.array([[9e-8]])),
    )
    for mean, spread in problems:
        design = gaussian_sample(len(mean), detects=1.1)
        draws = array(impl.laplace.posterior_samples(mean, spread, design.n, rng), (design.n, len(mean)))
        design.check(draws, mean, spread, f"draws with variances {np.diag(spread)}")


@fact(
    function="posterior_samples",
    promise="float64 (n, d): one draw a row, rows independent; shape (0, d) for n = 0. … number of draws, n >= 0",
    hint="The result is (n, d): one draw a row, also for n = 0, n = 1 and d = 1.",
)
def check_samples_stand_in_rows(impl, seed):
    r"""n draws in d dimensions are n rows of d finite numbers, no two alike.

        shape (n, d)   for n = 0, 1, d and others

    Source: the definition.
    """
    rng = np.random.default_rng(seed)
    for n, d in ((0, 3), (1, 3), (3, 3), (5, 1), (1, 1), (2, 6), (300, 2)):
        draws = array(impl.laplace.posterior_samples(np.arange(d) * 10.0, np.eye(d) + 0.5, n, rng), (n, d))
        assert_true(bool(np.isfinite(draws).all()), "a draw is not finite", got=draws)
        assert_true(len(np.unique(draws)) == n * d, "draws repeat each other", got=draws)


@fact(
    function="posterior_samples",
    promise="where all randomness comes from; it advances, so that the next call gives other draws. … The same state "
    "of rng gives the same draws. w and cov are not modified.",
    hint="All randomness comes from rng, which goes on; w and cov are only read.",
)
def check_samples_follow_the_generator(impl, seed):
    r"""The same state of the generator gives the same draws, another state gives others, and nothing else is changed.

        rng -> x is a function, and rng moves on

    Source: the conventions of the course.
    """
    w, cov = np.array([1.0, 2.0, 0.0]), np.diag([1.0, 4.0, 0.25]) + 0.1
    rng = np.random.default_rng(seed)
    first = array(impl.laplace.posterior_samples(w, cov, 4, rng), (4, D))
    second = array(impl.laplace.posterior_samples(w, cov, 4, rng), (4, D))
    again = array(impl.laplace.posterior_samples(w, cov, 4, np.random.default_rng(seed)), (4, D))
    other = array(impl.laplace.posterior_samples(w, cov, 4, np.random.default_rng(seed + 1)), (4, D))
    assert_exact(again, first, "the same seed gave other draws")
    assert_true(not (first == second).any(), "the next call repeats draws: does rng advance?", got=second)
    assert_true(not (first == other).any(), "another seed gave the same draws", got=other)
    assert_leaves_arguments_alone(impl.laplace.posterior_samples, w, cov, 4, np.random.default_rng(seed))


@fact(
    function="sherman_morrison_update",
    promise="The covariance after one more comparison, by a rank-one update … (cov^-1 + p(1-p) u u^T)^-1 … right to "
    "1e-8 (relative above 1)",
    defines=True,
    weight=3,
    hint="One more comparison adds p(1-p) u u^T to the precision: look up the inverse of a rank-one change.",
)
@given(covariances(D), vectors(D), probabilities)
def check_sherman_morrison_covariance_update_is_the_inverse_identity(impl, cov, u, p):
    r"""The Sherman-Morrison update inverts the precision that one more comparison has raised.

        C' = (C^-1 + p (1-p) u u^T)^-1

    Source: Sherman and Morrison 1950.
    """
    assert_exact(impl.laplace.sherman_morrison_update(cov, u, p), updated(cov, [(u, p)]))


@fact(
    function="sherman_morrison_update",
    promise="(cov^-1 + p(1-p) u u^T)^-1",
    hint="The determinant shrinks by the same factor that stands in the update's denominator.",
)
def check_update_divides_the_determinant_by_what_was_learnt(impl, seed):
    r"""The volume of the posterior shrinks by 1 + p(1-p) u^T C u, in one dimension and in a dozen.

        det C' = det C / (1 + p (1-p) u^T C u)

    Source: matrix determinant lemma; Harville 1997, section 18.1.
    """
    rng = np.random.default_rng(seed)
    for d in (1, 2, 5, 12):
        cov, u, p = random_covariance(rng, d), rng.standard_normal(d), float(rng.uniform(0.05, 0.95))
        new = array(impl.laplace.sherman_morrison_update(cov, u, p), (d, d))
        assert_exact(new, updated(cov, [(u, p)]))
        shrinkage = np.linalg.slogdet(cov)[1] - np.linalg.slogdet(new)[1]
        assert_exact(shrinkage, np.log(1 + p * (1 - p) * (u @ cov @ u)), within=1e-6)


@fact(
    function="sherman_morrison_update",
    promise="(cov^-1 + p(1-p) u u^T)^-1 … A Laplace posterior with w held fixed changes in this way, whatever the "
    "answer to the comparison.",
    weight=2,
    hint="Each update starts from the covariance it is given, and remembers nothing.",
)
def check_updates_commute_and_add_up(impl, seed):
    r"""Comparisons taken one by one, in any order and repeated, give what all of them give at once.

        C -> ... -> (C^-1 + sum_i p_i (1-p_i) u_i u_i^T)^-1

    Source: precisions add; Sherman and Morrison 1950.
    """
    rng = np.random.default_rng(seed)
    cov = random_covariance(rng, 4)
    comparisons = [(rng.standard_normal(4), float(rng.uniform(0.05, 0.95))) for _ in range(6)]
    comparisons += comparisons[:2]
    expected = updated(cov, comparisons)
    for order in (comparisons, comparisons[::-1]):
        new = cov
        for u, p in order:
            new = array(impl.laplace.sherman_morrison_update(new, u, p), (4, 4))
        assert_exact(new, expected, within=1e-7)


@fact(
    function="sherman_morrison_update",
    promise="(cov^-1 + p(1-p) u u^T)^-1 … symmetric up to rounding",
    hint="The change is a multiple of (C u)(C u)^T, and it takes away.",
)
@given(covariances(4), vectors(4), probabilities)
def check_update_shrinks_in_one_direction_only(impl, cov, u, p):
    r"""No direction becomes less certain, and a direction that is uncorrelated with u keeps its variance.

        C' symmetric, 0 < C' <= C;   v^T C u = 0  =>  C' v = C v

    Source: C - C' is a multiple of (C u)(C u)^T.
    """
    new = array(impl.laplace.sherman_morrison_update(cov, u, p), (4, 4))
    assert_exact(new, new.T, "the update is not symmetric")
    assert_at_most(-np.linalg.eigvalsh(new).min(), 0.0, "minus the smallest variance")
    assert_at_most(np.linalg.eigvalsh(new - cov).max(), 0.0, "the largest growth of a variance")
    # Rows of `rest` span the directions v with v . C u = 0.
    rest = np.linalg.svd((cov @ u)[None, :])[2][1:]
    assert_exact(rest @ new, rest @ cov, "an uncorrelated direction changed", within=4 * EXACT)


@fact(
    function="sherman_morrison_update",
    promise="zero changes nothing … 0 and 1 change nothing",
    hint="A certain answer (p = 0 or 1) or equal features (u = 0) teach nothing: divide by neither.",
)
@given(covariances(D), vectors(D))
def check_void_comparison_changes_nothing(impl, cov, u):
    r"""An answer that is known beforehand, and a comparison of equal features, leave the covariance as it is.

        C' = C   if p = 0, p = 1 or u = 0

    Source: p (1-p) u u^T = 0.
    """
    for p in (0.0, 1.0):
        assert_exact(impl.laplace.sherman_morrison_update(cov, u, p), cov)
        assert_exact(impl.laplace.sherman_morrison_update(cov, 1e7 * u, p), cov, "a certain answer, and a long u")
        assert_exact(impl.laplace.sherman_morrison_update(cov, np.zeros(D), p), cov)
    assert_exact(impl.laplace.sherman_morrison_update(cov, np.zeros(D), 0.37), cov)


@fact(
    function="sherman_morrison_update",
    promise="probability, under the fitted w, that A is preferred, in [0, 1]; p and 1 - p give the same",
    hint="A small p(1-p) still counts where u is long: do not clip p.",
)
def check_nearly_certain_answer_counts_by_its_weight(impl, seed):
    r"""Where the answer is nearly certain a long u makes up for the small weight; only the product matters.

        C'(u, p) depends on sqrt(p (1-p)) u alone

    Source: p (1-p) u u^T = (sqrt(p (1-p)) u)(sqrt(p (1-p)) u)^T.
    """
    rng = np.random.default_rng(seed)
    cov, direction = random_covariance(rng, D), rng.standard_normal(D)
    expected = updated(cov, [(2 * direction, 0.5)])
    for p in (1e-2, 1e-3, 1e-4, 1e-6, 1e-7, 1e-10, 1 - 1e-3, 1 - 1e-6):
        u = direction / np.sqrt(p * (1 - p))
        assert_exact(impl.laplace.sherman_morrison_update(cov, u, p), expected)
    long = 100 * direction
    assert_exact(impl.laplace.sherman_morrison_update(cov, long, 0.3), updated(cov, [(long, 0.3)]))


@fact(
    function="sherman_morrison_update",
    promise="(cov^-1 + p(1-p) u u^T)^-1 … right to 1e-8 (relative above 1)",
    hint="The formula has no scale of its own: no jitter, no threshold below which nothing happens.",
)
def check_update_follows_the_units_of_the_features(impl, seed):
    r"""Measuring the weights in other units scales covariance and update alike; no change is too small to be made.

        C'(c^2 C, u / c) = c^2 C'(C, u)

    Source: p (1-p) u^T C u has no unit.
    """
    rng = np.random.default_rng(seed)
    cov, u = random_covariance(rng, D), rng.standard_normal(D)
    for c in (1.0, 1e3, 1e5):
        for length in (1.0, 0.1, 1e-3, 4e-4):
            new = array(impl.laplace.sherman_morrison_update(c**2 * cov, length * u / c, 0.3), (D, D))
            assert_exact(new / c**2, updated(cov, [(length * u, 0.3)]))


@fact(
    function="sherman_morrison_update",
    promise="a new array … Arguments are not modified.",
    hint="Return a new array: `cov -= ...` changes the caller's covariance.",
)
def check_update_leaves_its_arguments_alone(impl, seed):
    r"""The covariance that is passed in stays the one before the comparison.

        C, u before = C, u after

    Source: the conventions of the course.
    """
    rng = np.random.default_rng(seed)
    for d in (1, 4):
        cov, u = random_covariance(rng, d), rng.standard_normal(d)
        for p in (0.4, 0.0):
            assert_leaves_arguments_alone(impl.laplace.sherman_morrison_update, cov, u, p)


def posterior(got, d):
    """The (w, cov) that was returned, as arrays of shapes (d,) and (d, d)."""
    assert_true(isinstance(got, (tuple, list)) and len(got) == 2, "expected the pair (w, cov)", got=got)
    return vector(got[0], d), array(got[1], (d, d))


def assert_laplace(got, U, Y, lam):
    """`got` is the mode of the log posterior and the inverse of the curvature there, as exactly as can be asked."""
    d = U.shape[1]
    w, cov = posterior(got, d)
    gradient = U.T @ (Y - expit(U @ w)) - lam * w
    flat = bool((np.abs(gradient) <= steepest(U)).all())
    assert_true(flat, "the gradient of the log posterior at w is not 0", got=gradient, expected=np.zeros(d))
    # A Hessian that is one small step behind w will do: this is where an optimiser that compares losses, of size
    # m log 2 and curvature lam or more, sees no difference any more.
    behind = EXACT + float(np.sqrt(np.finfo(np.float64).eps * len(U) * np.log(2) / lam))
    close = behind * max(1.0, float(np.abs(w).max())) * sensitivity(U)
    assert_exact(cov, np.linalg.inv(curvature(U, w, lam)), "cov is not the inverse curvature at w", within=close)


def steepest(U):
    """The largest slope that is promised at a mode: BFGS of common libraries stops at 1e-5 unless told otherwise."""
    return 1e-5 * max(1.0, float(np.abs(U).max(initial=0.0)))


def curvature(U, w, lam):
    z = U @ w
    return lam * np.eye(len(w)) + (U.T * (expit(z) * expit(-z))) @ U


def leeway(U, w, lam):
    """How far, to first order, a slope that is allowed may leave w from the mode."""
    return steepest(U) * float(np.abs(np.linalg.inv(curvature(U, w, lam))).sum(axis=1).max())


def sensitivity(U):
    """How much the curvature changes, relatively, for an error of w: a logit moves by up to |u|_1 times as much."""
    return 1 + float(np.abs(U).sum(axis=1).max(initial=0.0))


def answered_comparisons(rng, m, d, *, size):
    """(U, Y): m comparisons with features of about `size`, answered according to random weights."""
    U = size * rng.standard_normal((m, d))
    return U, (rng.random(m) < expit(U @ rng.standard_normal(d) / size)).astype(np.float64)


def random_covariance(rng, d):
    """A (d, d) covariance with correlations and eigenvalues from 0.2 on."""
    a = rng.standard_normal((d, d)) / np.sqrt(d)
    return a @ a.T + np.diag(rng.uniform(0.2, 1.0, d))


def updated(cov, comparisons):
    """The inverse of the precision that all comparisons (u, p) have raised."""
    return np.linalg.inv(np.linalg.inv(cov) + sum(p * (1 - p) * np.outer(u, u) for u, p in comparisons))


def histogram(values, edges):
    """How many values fall in each cell between the edges (the outer ones may be infinite)."""
    return np.bincount(np.searchsorted(edges[1:-1], values), minlength=len(edges) - 1)
