"""The reference's online half: extremes, input without meaning, untouched arguments, and its short cuts."""

from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, xlogy

from reference import online_collection as online
from reference.acquisition import RULES, acquisition_scores
from reference.laplace import fit_laplace, posterior_samples, sherman_morrison_update, sigmoid
from reference.online_collection import BETA, STRATEGIES, pick_batch, pick_double_thompson, run
from reference.world import World, exact_stats, optimal_logprobs

N, D = 40, 4


def generator(seed=0):
    return np.random.default_rng(seed)


def posterior(d=D, seed=1, size=1.0):
    """A mean and a covariance in general position."""
    rng = generator(seed)
    root = rng.normal(size=(d, d + 2))
    return rng.normal(size=d), size * (root @ root.T) / (d + 2)


class SmallWorld:
    """A hand-made world with what `run` may use, and no more; it writes down what it is asked."""

    def __init__(self, seed=0):
        rng = generator([seed, 11])
        self.X = rng.integers(-2, 3, (N, D)).astype(float)
        self.gold = self.X @ [1.0, -0.7, 0.4, 0.2]
        lp = rng.normal(size=N)
        self.ref_lp = lp - np.log(np.exp(lp).sum())
        self.sampled, self.labelled, self.fitted = [], [], []

    def sample(self, logprobs, n, rng):
        draws = rng.choice(N, n, p=np.exp(logprobs) / np.exp(logprobs).sum())
        self.sampled.append((np.array(logprobs), draws))
        return draws

    def label(self, a, b, rng):
        answers = (rng.random(len(a)) < expit(self.gold[a] - self.gold[b])).astype(float)
        self.labelled.append((np.array(a), np.array(b), answers))
        return answers

    def downstream(self, w, beta):
        assert beta == BETA
        self.fitted.append(np.array(w))
        return {"gold": np.exp(optimal_logprobs(self.ref_lp, self.X @ w, beta)) @ self.gold}


# sigmoid


def test_sigmoid_is_right_in_both_tails_without_warnings():
    with np.errstate(all="raise", under="ignore"):
        for x in (-745.0, -700.0, -40.0, -1e-9, 0.0, 1e-9, 3.0, 36.0):
            with mpmath.workdps(40):
                exact = 1 / (1 + mpmath.exp(-mpmath.mpf(x)))
            assert abs(sigmoid(x) / float(exact) - 1) < 1e-12
        np.testing.assert_array_equal(sigmoid([1e4, -1e4, np.inf, -np.inf, 1e308]), [1, 0, 1, 0, 1])
    assert sigmoid(40.0) * sigmoid(-40.0) > 0


@pytest.mark.parametrize("x", [3, 3.0, np.float32(3), np.array(3), [3], np.ones((2, 3), dtype=int), np.zeros((0, 2))])
def test_sigmoid_keeps_the_shape_and_returns_float64(x):
    assert np.shape(sigmoid(x)) == np.shape(x)
    assert np.asarray(sigmoid(x)).dtype == np.float64


# fit_laplace


def loss_of(w, U, Y, prior_precision):
    return np.sum(np.logaddexp(0, U @ w) - Y * (U @ w)) + prior_precision / 2 * (w @ w)


def test_newton_is_damped_where_the_plain_step_cycles():
    U = np.array([[-579.96, 294.74], [-42.52, 12.75], [167.6, 366.08], [-198.84, 354.12], [-1679.29, -154.1]])
    w, cov = fit_laplace(U, np.zeros(5), 3.92)
    p = expit(U @ w)
    np.testing.assert_allclose(U.T @ -p, 3.92 * w, atol=1e-9)
    np.testing.assert_allclose(cov @ (3.92 * np.eye(2) + (U.T * (p * (1 - p))) @ U), np.eye(2), atol=1e-7)


def test_first_order_condition_with_heavy_tailed_features():
    rng = generator(2)
    for _ in range(300):
        m, d, size = int(rng.integers(1, 9)), int(rng.integers(1, 5)), 10 ** rng.uniform(-2, 3)
        U, Y = rng.standard_t(1.5, (m, d)) * size, rng.integers(0, 2, m)
        prior_precision = 10 ** rng.uniform(-2, 3)
        w, cov = fit_laplace(U, Y, prior_precision)
        gradient = U.T @ (expit(U @ w) - Y) + prior_precision * w
        assert np.abs(gradient).max() <= 1e-11 * np.abs(U).max() * (1 + np.abs(U).max())
        np.testing.assert_array_equal(cov, cov.T)
        eigenvalues = np.linalg.eigvalsh(cov)
        assert eigenvalues[0] > 0
        assert eigenvalues[-1] <= (1 + 1e-9) / prior_precision


def test_fit_agrees_with_a_general_optimiser():
    rng = generator(3)
    U, Y = rng.normal(size=(60, D)), rng.integers(0, 2, 60)
    w, _ = fit_laplace(U, Y, 0.7)
    other = minimize(loss_of, np.zeros(D), (U, Y, 0.7), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(w, other.x, atol=1e-6)


def test_scalar_optimum_in_closed_form():
    """One row e1 with label 1: w = sigmoid(-w) / prior_precision, here solved to 30 digits."""
    for prior_precision in (1e-12, 1.0, 1e12):
        w, cov = fit_laplace([[1.0, 0.0]], [1], prior_precision)
        with mpmath.workdps(30):
            start = float(w[0])
            exact = mpmath.findroot(lambda v, c=prior_precision: v * c * (1 + mpmath.exp(v)) - 1, start)
        assert w[0] == pytest.approx(float(exact), rel=1e-9)
        assert w[1] == 0
        assert cov[1, 1] == pytest.approx(1 / prior_precision, rel=1e-12)


def test_no_comparisons_give_the_prior():
    w, cov = fit_laplace(np.zeros((0, 3)), [], 4.0)
    np.testing.assert_array_equal(w, np.zeros(3))
    np.testing.assert_allclose(cov, np.eye(3) / 4, rtol=1e-15)


# posterior_samples


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_spread_is_right_at_every_scale(size):
    w, cov = posterior(size=size)
    draws = posterior_samples(0 * w, cov, 20_000, generator(4))
    np.testing.assert_allclose(np.cov(draws.T) / size, cov / size, atol=0.05)


def test_spread_is_right_when_the_scales_differ():
    scales = np.array([1e-9, 1.0, 1e9])
    correlation = np.array([[1, 0.8, -0.3], [0.8, 1, 0.1], [-0.3, 0.1, 1]])
    draws = posterior_samples(np.zeros(3), correlation * np.outer(scales, scales), 20_000, generator(5)) / scales
    np.testing.assert_allclose(np.cov(draws.T), correlation, atol=0.05)


def test_singular_covariances():
    w = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(posterior_samples(w, np.zeros((3, 3)), 5, generator()), np.tile(w, (5, 1)))
    v = np.array([1.0, 2.0, -1.0])
    steps = posterior_samples(w, np.outer(v, v), 2_000, generator()) - w
    along = steps @ v / (v @ v)
    np.testing.assert_allclose(steps, np.outer(along, v), atol=1e-12)
    assert np.std(along) == pytest.approx(1, abs=0.1)
    flat = posterior_samples(w, np.diag([2.0, 0.0, 1.0]), 100, generator())
    np.testing.assert_array_equal(flat[:, 1], np.full(100, -2.0))


def test_number_of_draws():
    w, cov = posterior()
    assert posterior_samples(w, cov, 0, generator()).shape == (0, D)
    rng = generator()
    first, second = posterior_samples(w, cov, 3, rng), posterior_samples(w, cov, 3, rng)
    assert first.shape == (3, D)
    assert not np.isclose(first, second).any()


# sherman_morrison_update


def test_update_equals_the_inverse_of_the_updated_precision():
    rng = generator(6)
    for d in (1, 2, 5, 9):
        _, cov = posterior(d, seed=d)
        for p in (1e-6, 0.02, 0.5, 0.9):
            u = rng.normal(size=d) * 3
            expected = np.linalg.inv(np.linalg.inv(cov) + p * (1 - p) * np.outer(u, u))
            got = sherman_morrison_update(cov, u, p)
            np.testing.assert_allclose(got, expected, atol=1e-9 * (1 + np.abs(expected).max()))
            np.testing.assert_array_equal(got, got.T)


def test_update_of_a_singular_covariance_keeps_its_null_space():
    np.testing.assert_allclose(sherman_morrison_update(np.diag([1.0, 0.0]), [1, 3], 0.5), np.diag([0.8, 0]), atol=1e-15)


def test_a_certain_answer_or_no_question_changes_nothing():
    _, cov = posterior()
    for u, p in ((np.ones(D), 0), (np.ones(D), 1.0), (np.zeros(D), 0.3)):
        np.testing.assert_array_equal(sherman_morrison_update(cov, u, p), cov)


def test_a_long_question_leaves_the_inverse_weight():
    cov = sherman_morrison_update(np.eye(2), [1e5, 0], 0.5)
    assert 1e10 * cov[0, 0] == pytest.approx(4, rel=1e-5)


# acquisition_scores


def plain_bald(U, samples):
    p = expit(samples @ U.T)

    def entropy(p):
        return -xlogy(p, p) - xlogy(1 - p, 1 - p)

    return entropy(p.mean(axis=0)) - entropy(p).mean(axis=0)


@pytest.mark.parametrize(("m", "draws", "size"), [(1, 1, 1.0), (7, 5, 3.0), (300, 64, 1.0), (5, 2_000, 30.0)])
def test_bald_is_the_formula(m, draws, size):
    rng = generator(7)
    U, samples = rng.normal(size=(m, D)) * size, rng.normal(size=(draws, D))
    got = acquisition_scores("bald", U, np.zeros(D), np.eye(D), rng, samples)
    np.testing.assert_allclose(got, plain_bald(U, samples), atol=1e-12)


def test_bald_of_saturated_opinions():
    samples = np.array([[1.0, 0.0], [-1.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        U = np.array([[1e300, 0], [800, 0], [0, 5], [0, 0]])
        scores = acquisition_scores("bald", U, [0, 0], np.eye(2), generator(), samples)
    np.testing.assert_allclose(scores, [np.log(2), np.log(2), 0, 0], atol=1e-15)


def test_bald_stays_in_its_range_and_within_an_eighth_of_the_variance():
    """The bound by which the reference leaves rows of pick_batch unscored."""
    rng = generator(8)
    for size in (1e-6, 0.1, 1.0, 10.0, 1e3):
        U, samples = rng.standard_t(2, (500, D)) * size, rng.normal(size=(9, D)) + rng.normal(size=D)
        scores = acquisition_scores("bald", U, np.zeros(D), np.eye(D), rng, samples)
        assert (scores >= 0).all() and (scores <= np.log(2)).all()
        assert (scores <= np.var(samples @ U.T, axis=0) / 8 + 1e-13).all()


def test_bald_draws_its_own_samples_only_when_none_are_given():
    w, cov = posterior()
    rng = generator(9)
    before = rng.bit_generator.state
    acquisition_scores("bald", np.eye(D), w, cov, rng, samples=np.ones((3, D)))
    acquisition_scores("dopt", np.eye(D), w, cov, rng)
    assert rng.bit_generator.state == before
    U = generator(10).normal(size=(20, D))
    many = posterior_samples(w, cov, 200_000, generator(11))
    np.testing.assert_allclose(acquisition_scores("bald", U, w, cov, rng), plain_bald(U, many), atol=0.04)


def test_dopt_is_the_gain_in_log_determinant_and_accurate_when_tiny():
    w, cov = posterior()
    U = generator(12).normal(size=(30, D))
    for u, score in zip(U, acquisition_scores("dopt", U, w, cov, generator()), strict=True):
        after = sherman_morrison_update(cov, u, expit(u @ w))
        assert score == pytest.approx(np.linalg.slogdet(cov)[1] - np.linalg.slogdet(after)[1], abs=1e-12)
    tiny = acquisition_scores("dopt", [[1e-9, 0]], [0, 0], np.eye(2), generator())
    assert tiny[0] == pytest.approx(0.25e-18, rel=1e-12)
    assert acquisition_scores("dopt", [[1.0]], [40.0], [[1e20]], generator())[0] == pytest.approx(
        np.log1p(np.exp(-40) * 1e20), rel=1e-12
    )


def test_random_scores_are_uniform_and_no_candidates_no_scores():
    w, cov = posterior()
    scores = acquisition_scores("random", np.zeros((20_000, D)), w, cov, generator(13))
    assert scores.min() >= 0 and scores.max() < 1
    np.testing.assert_allclose(np.quantile(scores, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.02)
    for rule in RULES:
        assert acquisition_scores(rule, np.zeros((0, D)), w, cov, generator()).shape == (0,)


# pick_batch


def plain_pick_batch(rule, world, pool, w, cov, per, rng):
    """The lecture's algorithm, every candidate scored at each pick; draws in the reference's order."""
    i, j = rng.integers(0, len(pool), (2, 3_000))
    a, b = pool[i], pool[j]
    a, b = a[a != b], b[pool[i] != pool[j]]
    U = world.X[a] - world.X[b]
    C, used, picked = cov.copy(), np.zeros(len(a), bool), []
    for _ in range(per):
        if rule == "bald":
            scores = plain_bald(U, posterior_samples(w, C, 64, rng))
        elif rule == "dopt":
            p = expit(U @ w)
            scores = np.log1p(p * (1 - p) * np.array([u @ C @ u for u in U]))
        else:
            scores = rng.random(len(U))
        scores[used] = -np.inf
        k = int(np.flatnonzero(scores >= scores.max() - 1e-12)[0])
        used[k] = True
        picked.append((a[k], b[k]))
        p = expit(U[k] @ w)
        C = np.linalg.inv(np.linalg.inv(C) + p * (1 - p) * np.outer(U[k], U[k]))
        C = (C + C.T) / 2
    return np.array(picked).T


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pool_kind", ["many replies", "few replies", "two replies"])
def test_short_cuts_of_pick_batch_change_no_pick(rule, pool_kind):
    world = SmallWorld(3)
    world.X[5] = world.X[9]  # different replies, equal features
    choices = {"many replies": N, "few replies": 6, "two replies": 2}[pool_kind]
    pool = generator(14).integers(0, choices, 60) + 4
    w, cov = posterior(seed=15, size=2.0)
    A, B = pick_batch(rule, world, pool % N, w, cov, 12, generator(16))
    expected = plain_pick_batch(rule, world, pool % N, w, cov, 12, generator(16))
    np.testing.assert_array_equal([A, B], expected)


def test_the_bound_that_spares_scoring_holds_for_every_logit():
    """KL(sigmoid(z) || sigmoid(m)) <= (z - m)^2 / 8, and nearly equal at m = 0."""
    m = np.concatenate([np.linspace(0.0, 60.0, 601), [100.0, 300.0, 700.0]])[:, None]
    steps = np.geomspace(1e-2, 1e3, 2000)
    step = np.concatenate([-steps, steps])[None, :]  # m < 0 mirrors m > 0
    divergence = expit(m + step) * step - (np.logaddexp(0.0, m + step) - np.logaddexp(0.0, m))
    share = divergence / step**2 * 8.0
    assert share.max() <= 1.0
    assert share[0].max() > 0.9999


def test_a_candidate_is_not_picked_twice():
    """Reply 1 differs along the one uncertain axis: it is in every pair, but not against the same reply each time."""
    world = SimpleNamespace(X=np.array([[0.0, 0], [5, 0], [0, 1e-9]]))
    A, B = pick_batch("dopt", world, np.arange(3), np.zeros(2), np.diag([1.0, 1e-12]), 30, generator())
    assert ((A == 1) | (B == 1)).all()
    assert len({(int(x), int(y)) for x, y in zip(A, B, strict=True)}) > 1


def test_more_pairs_than_candidates_start_anew():
    world = SimpleNamespace(X=np.array([[0.0], [1.0]]))
    A, B = pick_batch("dopt", world, np.array([0, 1]), np.zeros(1), np.eye(1), 3_100, generator())
    assert len(A) == len(B) == 3_100
    assert (A != B).all()


def test_pool_of_one_reply_gives_void_pairs():
    world = SmallWorld()
    w, cov = posterior()
    for rule in RULES:
        A, B = pick_batch(rule, world, np.full(5, 7), w, cov, 4, generator())
        np.testing.assert_array_equal([A, B], np.full((2, 4), 7))


def test_a_pool_with_one_odd_reply_is_not_wasted():
    world = SmallWorld()
    pool = np.full(100, 7)
    pool[31] = 8
    w, cov = posterior()
    A, B = pick_batch("dopt", world, pool, w, cov, 5, generator())
    assert (A != B).all()


# pick_double_thompson


def test_double_thompson_compares_replies_not_positions():
    world = SimpleNamespace(X=np.array([[1.0], [0.5], [0.0]]))
    pool = np.array([0, 0, 1, 2, 2, 2, 0])
    for cov in (np.zeros((1, 1)), np.array([[1e-18]])):
        A, B = pick_double_thompson(world, pool, [3.0], cov, 4_000, generator(17))
        assert (A == 0).all()
        np.testing.assert_allclose(np.bincount(B, minlength=3) / 4_000, [0, 0.25, 0.75], atol=0.03)


def test_double_thompson_favourites_have_the_law_of_two_independent_draws():
    """X = +1, -1, 0 and w ~ N(0.5, 4): the favourite is +1 with probability Phi(0.25), and 0 never."""
    world = SimpleNamespace(X=np.array([[1.0], [-1.0], [0.0]]))
    A, B = pick_double_thompson(world, np.arange(3), [0.5], [[4.0]], 20_000, generator(18))
    p = 0.5987063256829237
    mixed = 2 * p * (1 - p)
    assert (A != B).all()
    missing = 3 - A - B  # the reply that is not in the pair
    shares = [np.mean(missing == reply) for reply in (2, 1, 0)]
    expected = [mixed + (p**2 + (1 - p) ** 2) / 2, p**2 / 2, (1 - p) ** 2 / 2]
    np.testing.assert_allclose(shares, expected, atol=0.02)


def test_double_thompson_with_a_single_reply():
    w, cov = posterior()
    A, B = pick_double_thompson(SmallWorld(), np.array([7]), w, cov, 3, generator())
    np.testing.assert_array_equal([A, B], np.full((2, 3), 7))


# run


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_run_keeps_its_books(strategy):
    world = SmallWorld()
    result = run(world, strategy, rep=5, rounds=3, per=7, warmup=9, pool_size=31)
    assert list(result) == [9, 16, 23, 30]
    (_, a), (_, b), *pools = world.sampled
    np.testing.assert_array_equal(world.labelled[0][:2], [a, b])
    assert np.isnan(result[9][1])
    U, Y, w = np.zeros((0, D)), np.zeros(0), np.zeros(D)
    for (A, B, answers), (labels, (gold, pool_gold)), pool in zip(
        world.labelled, result.items(), [None, *pools], strict=True
    ):
        if pool is not None:  # the policy of the fit before, and pairs of its pool
            reward = world.X @ w if strategy.startswith("online") else np.zeros(N)
            source = optimal_logprobs(world.ref_lp, reward, BETA)
            np.testing.assert_allclose(pool[0], source, atol=1e-9)
            assert pool_gold == pytest.approx(world.gold[pool[1]].mean())
            assert np.isin([A, B], pool[1]).all()
        U, Y = np.vstack([U, world.X[A] - world.X[B]]), np.concatenate([Y, answers])
        w, _ = fit_laplace(U, Y)
        assert len(Y) == labels
        assert gold == pytest.approx(np.exp(optimal_logprobs(world.ref_lp, world.X @ w, BETA)) @ world.gold)


def test_run_is_a_function_of_rep_and_a_shorter_run_is_a_prefix():
    for strategy in STRATEGIES:
        long = run(SmallWorld(), strategy, 2, rounds=3, per=4, warmup=6, pool_size=20)
        again = run(SmallWorld(), strategy, 2, rounds=3, per=4, warmup=6, pool_size=20)
        short = run(SmallWorld(), strategy, 2, rounds=1, per=4, warmup=6, pool_size=20)
        np.testing.assert_equal(long, again)
        np.testing.assert_equal(short, dict(list(long.items())[:2]))
        assert run(SmallWorld(), strategy, 3, rounds=0, warmup=6)[6][0] != long[6][0]


def test_all_strategies_of_a_rep_share_the_warm_up():
    worlds = [SmallWorld() for _ in STRATEGIES]
    for world, strategy in zip(worlds, STRATEGIES, strict=True):
        run(world, strategy, 4, rounds=1, per=3, warmup=8, pool_size=10)
    for world in worlds[1:]:
        np.testing.assert_array_equal(world.labelled[0], worlds[0].labelled[0])


def test_online_beats_offline_and_comes_close_to_perfect():
    """The lecture's main claim, on few repetitions: with ten of them the difference is 0.6, its standard error 0.15."""
    world = World(0)
    results = online.compare_strategies(world, repetitions=4)
    for strategy in STRATEGIES:
        mean = results.final(strategy).mean()
        assert results.sft + 1 < mean < 4
        if strategy.startswith("online"):
            assert mean > results.final("offline_random").mean()
            assert results.perfect - mean < 0.5
            assert results.pool_gold[strategy][:, -1].mean() > 3
        else:
            assert results.pool_gold[strategy][:, -1].mean() < 1
    assert results.labels == list(range(20, 181, 20))
    assert results.perfect == exact_stats(optimal_logprobs(world.ref_lp, world.util, BETA), world.ref_lp)["gold"]


def test_demo_prints_its_tables_and_saves_its_figure(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(online, "compare_strategies", lambda world, watch: small_comparison())
    online.demo_online_collection(tmp_path)
    printed = capsys.readouterr().out
    assert all(name.split(",")[0] in printed for name in STRATEGIES.values())
    assert "180" in printed and "s.e." in printed
    assert (tmp_path / "online_collection.png").stat().st_size > 10_000


def small_comparison():
    """Results of the right shape without the work."""
    rng = generator(19)
    labels = list(range(20, 181, 20))
    values = {strategy: 3 + rng.random((3, len(labels))) for strategy in STRATEGIES}
    return online.Comparison(labels=labels, gold=values, pool_gold=values, sft=0.4, perfect=3.9)


# What holds for all of them

W, COV = posterior()
WORLD = SmallWorld()
POOL = np.array([1, 5, 5, 8, 13])
MEANINGLESS: dict[str, tuple[str, Any]] = {
    "sigmoid of NaN": ("x", lambda: sigmoid([0, np.nan])),
    "U is a vector": ("U", lambda: fit_laplace(np.ones(3), [1, 0, 1])),
    "U has NaN": ("U", lambda: fit_laplace([[np.nan]], [1])),
    "too few labels": ("Y", lambda: fit_laplace(np.ones((3, 2)), [1, 0])),
    "labels of -1": ("Y", lambda: fit_laplace(np.ones((2, 2)), [1, -1])),
    "no prior": ("prior_precision", lambda: fit_laplace(np.ones((2, 2)), [1, 0], 0)),
    "negative prior": ("prior_precision", lambda: fit_laplace(np.ones((2, 2)), [1, 0], -1)),
    "w has inf": ("w", lambda: posterior_samples([np.inf, 0], np.eye(2), 3, generator())),
    "cov of another size": ("cov", lambda: posterior_samples([0, 0], np.eye(3), 3, generator())),
    "cov not symmetric": ("cov", lambda: posterior_samples([0, 0], [[1.0, 0.5], [0.0, 1.0]], 3, generator())),
    "cov indefinite": ("cov", lambda: posterior_samples([0, 0], [[1, 2], [2, 1]], 3, generator())),
    "cov negative": ("cov", lambda: posterior_samples([0, 0], -np.eye(2), 3, generator())),
    "negative n": ("n", lambda: posterior_samples([0, 0], np.eye(2), -1, generator())),
    "p above 1": ("p", lambda: sherman_morrison_update(np.eye(2), [1, 0], 1.2)),
    "p is NaN": ("p", lambda: sherman_morrison_update(np.eye(2), [1, 0], np.nan)),
    "u of another size": ("cov", lambda: sherman_morrison_update(np.eye(2), [1, 0, 0], 0.5)),
    "unknown rule": ("rule", lambda: acquisition_scores("entropy", np.eye(D), W, COV, generator())),
    "columns of U": ("U", lambda: acquisition_scores("dopt", np.eye(D + 1), W, COV, generator())),
    "columns of samples": ("samples", lambda: acquisition_scores("bald", np.eye(D), W, COV, generator(), [[1.0]])),
    "no samples": ("samples", lambda: acquisition_scores("bald", np.eye(D), W, COV, generator(), np.ones((0, D)))),
    "unknown rule of a batch": ("rule", lambda: pick_batch("dts", WORLD, POOL, W, COV, 0, generator())),
    "pool of one position": ("pool", lambda: pick_batch("dopt", WORLD, POOL[:1], W, COV, 1, generator())),
    "pool of floats": ("pool", lambda: pick_batch("dopt", WORLD, POOL + 0.5, W, COV, 1, generator())),
    "negative per": ("per", lambda: pick_batch("dopt", WORLD, POOL, W, COV, -1, generator())),
    "empty pool": ("pool", lambda: pick_double_thompson(WORLD, POOL[:0], W, COV, 1, generator())),
    "unknown strategy": ("strategy", lambda: run(WORLD, "online_thompson", 0)),
    "unknown strategy, no rounds": ("strategy", lambda: run(WORLD, "offline_dopt", 0, rounds=0)),
    "negative rounds": ("rounds", lambda: run(WORLD, "online_dts", 0, rounds=-1)),
    "no warm-up": ("warmup", lambda: run(WORLD, "online_dts", 0, warmup=0)),
    "empty pools": ("pool_size", lambda: run(WORLD, "online_dts", 0, pool_size=0)),
}


@pytest.mark.parametrize("case", MEANINGLESS)
def test_meaningless_input_raises_with_the_name_of_the_argument(case):
    name, call = MEANINGLESS[case]
    with pytest.raises(ValueError, match=f"^{name}:"):
        call()


U_ROWS, LABELS = generator(20).normal(size=(6, D)), np.array([1, 0, 1, 1, 0, 0])
SAMPLES = generator(21).normal(size=(5, D))
CALLS: dict[str, tuple[Any, list[Any]]] = {
    "sigmoid": (lambda rng, x: sigmoid(x), [np.array([-3.0, 800.0])]),
    "fit_laplace": (lambda rng, U, Y: fit_laplace(U, Y), [U_ROWS, LABELS]),
    "posterior_samples": (lambda rng, w, cov: posterior_samples(w, cov, 4, rng), [W, COV]),
    "sherman_morrison_update": (lambda rng, cov, u: sherman_morrison_update(cov, u, 0.3), [COV, W]),
    **{
        f"acquisition_scores {rule}": (
            lambda rng, U, w, cov, samples, rule=rule: acquisition_scores(rule, U, w, cov, rng, samples),
            [U_ROWS, W, COV, SAMPLES],
        )
        for rule in RULES
    },
    **{
        f"pick_batch {rule}": (
            lambda rng, X, pool, w, cov, rule=rule: pick_batch(rule, SimpleNamespace(X=X), pool, w, cov, 5, rng),
            [WORLD.X, POOL, W, COV],
        )
        for rule in RULES
    },
    "pick_double_thompson": (
        lambda rng, X, pool, w, cov: pick_double_thompson(SimpleNamespace(X=X), pool, w, cov, 5, rng),
        [WORLD.X, POOL, W, COV],
    ),
    "run": (lambda rng: list(run(SmallWorld(), "online_bald", 1, 1, 5, 6, 10).values()), []),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_and_global_generators_stay_as_they_are_and_results_repeat(name):
    call, arguments = CALLS[name]
    copies = [argument.copy() for argument in arguments]
    state: Any = np.random.get_state()
    before = state[1].copy()
    first, second = (call(generator(22), *arguments) for _ in range(2))
    np.testing.assert_equal(first, second)
    state = np.random.get_state()
    np.testing.assert_array_equal(state[1], before)
    for argument, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(argument, copy)
    for argument in arguments:
        argument.flags.writeable = False
    np.testing.assert_equal(call(generator(22), *arguments), first)
