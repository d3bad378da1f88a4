"""The reference at extremes that no fact asks a student for. Each value was derived independently, most by mpmath."""

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from reference.best_of_n import best_of_n_distribution, best_of_n_kl
from reference.closed_form import PI_REF, R_TRUE, kl, optimal_policy, tv
from reference.dpo import dpo_loss, implicit_reward, train_dpo
from reference.overoptimization import N_LIST, fit_reward_model, overoptimization_experiment
from reference.policy_gradient import reinforce_loss, train_rlhf_pg
from reference.preferences import make_pairs

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# closed_form


@pytest.mark.parametrize("beta", [1e-3, 1e-6, 1e-12, 1e-14, 1e-16, 1e-300, 5e-324])
def test_small_beta_leaves_tied_best_responses_the_ratio_of_pi_ref(beta):
    policy = optimal_policy([3, 3, 0, 1], [0.1, 0.3, 0.5, 0.1], beta)
    np.testing.assert_allclose(policy, [0.25, 0.75, 0, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("beta", [1e-3, 0.05, 0.5, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-4])
def test_optimal_policy_against_fifty_digits(beta, scale):
    r, q = scale * np.array([0.3, -1.1, 0.7, 0.69, -0.2]), np.array([0.1, 1e-300, 1e-12, 0.6, 0.3 - 1e-12])
    with mpmath.workdps(50):
        weights = [mpmath.mpf(qi) * mpmath.exp(mpmath.mpf(ri) / mpmath.mpf(beta)) for ri, qi in zip(r, q, strict=True)]
        exact = [float(weight / mpmath.fsum(weights)) for weight in weights]
    np.testing.assert_allclose(optimal_policy(r, q, beta), exact, rtol=1e-9, atol=1e-14)


def test_large_beta_moves_in_proportion_to_the_advantage():
    beta = 1e6
    step = PI_REF * (R_TRUE - PI_REF @ R_TRUE)
    np.testing.assert_allclose(beta * (optimal_policy(R_TRUE, PI_REF, beta) - PI_REF), step, atol=1e-5)


def test_a_forbidden_response_stays_forbidden_and_has_no_influence():
    policy = optimal_policy([1.0, 1e300, 0.0], [0.5, 0.0, 0.5], 1e-3)
    assert policy[1] == 0
    np.testing.assert_array_equal(policy, [1, 0, 0])


@pytest.mark.parametrize(
    ("p", "q", "exact"),
    [
        ([1, 0], [1e-310, 1], 713.8013788281542),
        ([1, 0], [0.5, 0.5], np.log(2)),
        ([0.5, 0.5], [1, 0], INF),
        ([0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3], np.log(1.5)),
        ([0.5, 0.5, 0], [0.5, 0.5, 0], 0),
        ([1.0], [1.0], 0),
    ],
)
def test_kl_at_its_edges(p, q, exact):
    assert kl(p, q) == pytest.approx(exact, abs=1e-12)


def test_kl_of_nearly_equal_policies_is_never_negative():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        p = rng.dirichlet(np.ones(6))
        q = p * (1 + 1e-12 * rng.normal(size=6))
        assert 0 <= kl(p, q / q.sum()) < 1e-15
        assert str(kl(p, p)) == "0.0"


def test_tv_of_disjoint_and_equal_policies():
    assert tv([1, 0], [0, 1]) == 1
    assert tv([0.1] * 10, [0.1] * 10) == 0
    assert tv([0.7, 0.2, 0.1], [0.1, 0.2, 0.7]) == pytest.approx(0.6, abs=1e-15)


# best_of_n


def exact_best_of_n(scores, q, n):
    """F^n - F-^n in eighty digits, by comparing every score with every other one."""
    with mpmath.workdps(80):
        q = [mpmath.mpf(float(x)) for x in q]
        total = mpmath.fsum(q)
        law = []
        for i, score in enumerate(scores):
            at_most = mpmath.fsum(x for x, s in zip(q, scores, strict=True) if s <= score) / total
            below = mpmath.fsum(x for x, s in zip(q, scores, strict=True) if s < score) / total
            level = mpmath.fsum(x for x, s in zip(q, scores, strict=True) if s == score)
            law.append(float((at_most**n - below**n) * q[i] / level) if q[i] else 0.0)
    return np.array(law)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1024, 2**20, 10**12])
def test_best_of_n_against_eighty_digits(n):
    rng = np.random.default_rng(n)
    scores = rng.integers(-3, 4, size=40)
    q = rng.dirichlet(np.full(40, 0.1)) + 1e-30
    q[:3] = 0
    q /= q.sum()
    exact = exact_best_of_n(scores, q, n)
    np.testing.assert_allclose(best_of_n_distribution(scores, q, n), exact, rtol=1e-9, atol=1e-300)


def test_best_of_n_of_very_rare_best_responses():
    scores, q, n = [5, 4, 1, 0], [1e-12, 1e-9, 0.5, 0.5 - 1e-9 - 1e-12], 1024
    np.testing.assert_allclose(best_of_n_distribution(scores, q, n), exact_best_of_n(scores, q, n), rtol=1e-12)
    assert best_of_n_distribution([1, 0], [1e-300, 1], 2**20)[0] == pytest.approx(2**20 * 1e-300, rel=1e-12)


def test_best_of_n_sums_to_one_over_many_responses():
    rng = np.random.default_rng(5)
    q, scores = rng.dirichlet(np.full(2000, 0.3)), rng.normal(size=2000)
    for n in (1, 16, 16384, 2**20):
        assert best_of_n_distribution(scores, q, n).sum() == pytest.approx(1, abs=1e-12)
        assert best_of_n_distribution(scores, q.astype(np.float32), n).sum() == pytest.approx(1, abs=1e-12)


def test_best_of_n_ties():
    np.testing.assert_allclose(best_of_n_distribution([0, 1, 1, -1], [0.3, 0.2, 0.1, 0.4], 10**6), [0, 2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(best_of_n_distribution([7, 7, 7], [0.5, 0.3, 0.2], 9), [0.5, 0.3, 0.2], rtol=1e-15)
    tied, q = best_of_n_distribution([0.0, -0.0, -INF], [0.2, 0.3, 0.5], 2), [0.2, 0.3, 0.5]
    np.testing.assert_allclose(tied, [0.75 * 0.4, 0.75 * 0.6, 0.25], rtol=1e-15)
    np.testing.assert_allclose(best_of_n_distribution([3, 1, 2], q, 1), q, rtol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**20, 10**18, np.int64(64), np.int32(7)])
def test_best_of_n_kl_against_fifty_digits(n):
    with mpmath.workdps(50):
        exact = float(mpmath.log(int(n)) - mpmath.mpf(int(n) - 1) / int(n))
    assert best_of_n_kl(n) == pytest.approx(exact, rel=1e-14, abs=1e-15)
    assert isinstance(best_of_n_kl(n), float)


# preferences


def test_pairs_of_rewards_far_apart_are_decided():
    winners, losers = make_pairs([0.0, 1600.0, -1e6], [0.3, 0.3, 0.4], 5000, seed=1)
    r = np.array([0.0, 1600.0, -1e6])
    assert (r[winners] > r[losers]).all()


@pytest.mark.parametrize("n", [0, 1])
def test_no_pairs_give_empty_integer_arrays(n):
    for side in make_pairs([1.0], [1.0], n, seed=0):
        assert side.shape == (0,)
        assert np.issubdtype(side.dtype, np.integer)


# policy gradient


def test_the_gradient_vanishes_at_the_optimum_on_every_batch():
    beta, log_ref = 0.5, torch.tensor(np.log(PI_REF))
    logits = torch.tensor(np.log(optimal_policy(R_TRUE, PI_REF, beta)), requires_grad=True)
    for seed in range(20):
        y = torch.randint(0, 6, (7,), generator=torch.Generator().manual_seed(seed))
        (gradient,) = torch.autograd.grad(reinforce_loss(logits, y, torch.tensor(R_TRUE), log_ref, beta), logits)
        assert gradient.abs().max() < 1e-14


@pytest.mark.parametrize("y", [[2], [4, 4, 4, 4]])
def test_one_response_alone_has_no_advantage(y):
    logits = torch.tensor([0.3, -1.0, 2.0, 0.1, 5.0], dtype=torch.float64, requires_grad=True)
    r = torch.tensor([1e3, -1e3, 3.7, 0.1, 1e-3], dtype=torch.float64)
    loss = reinforce_loss(logits, torch.tensor(y), r, torch.zeros(5, dtype=torch.float64), 0.3)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient == 0).all()


def test_policy_gradient_keeps_zeros_and_needs_no_second_response():
    policy = train_rlhf_pg([1.0, 50.0, 0.0], [0.6, 0.0, 0.4], 1.0, steps=300)
    assert policy[1] == 0
    assert policy.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_array_equal(train_rlhf_pg([4.0], [1.0], 1.0, steps=5), [1])
    np.testing.assert_allclose(train_rlhf_pg(R_TRUE, PI_REF, 1.0, steps=0), PI_REF, rtol=1e-15)
    np.testing.assert_allclose(train_rlhf_pg(R_TRUE, PI_REF, 1.0, steps=50, batch=1), PI_REF, rtol=1e-12)


@pytest.mark.parametrize(("beta", "steps", "seed"), [(1.0, 1500, 0), (1.0, 1500, 1), (0.5, 3000, 2)])
def test_policy_gradient_reaches_the_optimum(beta, steps, seed):
    assert tv(train_rlhf_pg(R_TRUE, PI_REF, beta, steps=steps, seed=seed), optimal_policy(R_TRUE, PI_REF, beta)) < 0.003


def test_policy_gradient_with_many_responses_and_small_batches():
    rng = np.random.default_rng(7)
    r, q = rng.normal(size=24), rng.dirichlet(np.ones(24))
    assert tv(train_rlhf_pg(r, q, 1.0, batch=16), optimal_policy(r, q, 1.0)) < 0.03


# dpo


@pytest.mark.parametrize(("gap", "loss", "gradient"), [(2.0, 0.0, 0.0), (-2.0, 2e6, -1e6)])
def test_dpo_loss_at_huge_margins(gap, loss, gradient):
    logits = torch.tensor([gap, 0.0], dtype=torch.float64, requires_grad=True)
    value = dpo_loss(logits, torch.zeros(2, dtype=torch.float64), [0], [1], 1e6)
    (slope,) = torch.autograd.grad(value, logits)
    assert value.item() == pytest.approx(loss, rel=1e-14)
    np.testing.assert_allclose(slope, [gradient, -gradient], rtol=1e-14)


def test_dpo_loss_keeps_the_tail_of_large_margins():
    logits = torch.tensor([40.0, 0.0], dtype=torch.float64)
    value = dpo_loss(logits, torch.zeros(2, dtype=torch.float64), torch.tensor([0]), torch.tensor([1]), 1.0)
    assert value.item() == pytest.approx(float(mpmath.log1p(mpmath.exp(-40))), rel=1e-12)


def test_dpo_hessian_is_the_weighted_laplacian_of_the_pairs():
    beta, w, l = 0.7, [0, 1, 2, 0], [1, 2, 0, 3]  # noqa: E741
    logits = torch.tensor([0.3, -0.2, 1.1, 0.4], dtype=torch.float64)
    log_ref = torch.log(torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64))
    hessian = torch.autograd.functional.hessian(lambda z: dpo_loss(z, log_ref, w, l, beta), logits)
    laplacian = np.zeros((4, 4))
    for i, j in zip(w, l, strict=True):
        e = np.eye(4)[i] - np.eye(4)[j]
        p = 1 / (1 + np.exp(-beta * e @ (logits - log_ref).numpy()))
        laplacian += beta**2 * p * (1 - p) / len(w) * np.outer(e, e)
    np.testing.assert_allclose(hessian, laplacian, atol=1e-15)


@pytest.mark.parametrize(("beta", "share"), [(1.0, 0.75), (0.5, 0.9), (0.1, 3**10 / (1 + 3**10))])
def test_dpo_of_two_responses_in_closed_form(beta, share):
    np.testing.assert_allclose(train_dpo([0.5, 0.5], [0, 0, 0, 1], [1, 1, 1, 0], beta), [share, 1 - share], atol=1e-5)


def test_dpo_leaves_what_no_pair_mentions():
    policy = train_dpo([0.2, 0.3, 0.1, 0.4, 0.0], [0, 0, 0, 1], [1, 1, 1, 0], 1.0)
    root = 3**0.5
    expected = np.array([0.2 * root, 0.3 / root, 0.1, 0.4, 0.0])
    np.testing.assert_allclose(policy, expected / expected.sum(), atol=1e-6)
    assert policy[4] == 0


@pytest.mark.parametrize(("winners", "losers"), [([], []), ([2, 1], [2, 1])])
def test_dpo_without_information_returns_the_reference(winners, losers):
    np.testing.assert_allclose(train_dpo(PI_REF, winners, losers, 0.5, steps=50), PI_REF, rtol=1e-15)


def test_pairs_of_a_response_with_itself_do_not_move_the_optimum():
    w, l = [0, 0, 0, 1], [1, 1, 1, 0]  # noqa: E741
    np.testing.assert_allclose(train_dpo([0.5, 0.5], w + [1] * 9, l + [1] * 9, 0.5), [0.9, 0.1], atol=1e-5)


@pytest.mark.parametrize(
    ("steps", "recorded"), [(0, [0]), (1, [0, 1]), (200, [0, 200]), (399, [0, 200, 399]), (500, [0, 200, 400, 500])]
)
def test_record_holds_every_200th_step_and_the_last(steps, recorded):
    record: list[Any] = [("kept", None)]
    last = train_dpo(PI_REF, [0, 0, 1], [1, 2, 0], 0.5, steps=steps, record=record)
    assert [step for step, _ in record[1:]] == recorded
    np.testing.assert_allclose(record[1][1], PI_REF, rtol=1e-15)
    np.testing.assert_array_equal(record[-1][1], last)
    assert len({id(policy) for _, policy in record[1:]} | {id(last)}) == len(recorded) + 1
    last[:] = 0
    assert record[-1][1].sum() == pytest.approx(1)


def test_noise_free_pairs_end_on_the_best_response():
    winners, losers = make_pairs(R_TRUE, PI_REF, 3000, seed=4, noisy=False)
    record: list[Any] = []
    train_dpo(PI_REF, winners, losers, 0.1, steps=3000, record=record)
    costs = [kl(policy, PI_REF) for _, policy in record]
    assert (np.diff(costs[:6]) > 0).all()
    assert costs[-1] == pytest.approx(np.log(10), abs=1e-3)
    assert max(costs) <= np.log(10)


@pytest.mark.parametrize("beta", [0.05, 0.5, 2.0, 10.0])
def test_dpo_is_the_optimum_for_the_maximum_likelihood_rewards(beta):
    winners, losers = make_pairs(R_TRUE, PI_REF, 3000, seed=11)
    rewards = fit_reward_model(winners, losers, 6, l2=1e-12)
    assert tv(train_dpo(PI_REF, winners, losers, beta), optimal_policy(rewards, PI_REF, beta)) < 5e-4


def test_implicit_reward_at_its_edges():
    np.testing.assert_allclose(
        implicit_reward([1e-310, 1.0], [1.0, 1e-310], 2.0), [-2 * 713.8013788281542, 2 * 713.8013788281542], rtol=1e-14
    )
    np.testing.assert_array_equal(implicit_reward([1, 0], [0.5, 0.5], 1.0), [np.log(2), -INF])
    np.testing.assert_array_equal(implicit_reward([0.0, 0.5, 0.5], [0.0, 0.0, 1.0], 1.0), [NAN, INF, -np.log(2)])


def test_implicit_reward_undoes_the_closed_form():
    for beta in (0.05, 0.5, 3.0):
        log_z = float(mpmath.log(mpmath.fsum(q * mpmath.exp(r / beta) for r, q in zip(R_TRUE, PI_REF, strict=True))))
        reward = implicit_reward(optimal_policy(R_TRUE, PI_REF, beta), PI_REF, beta)
        np.testing.assert_allclose(reward, R_TRUE - beta * log_z, atol=1e-12)


# over-optimisation


def stationarity(r, win, lose, l2):
    """The gradient of the reward model's objective."""
    pull = 1 / (1 + np.exp(r[win] - r[lose])) / len(win)
    return np.bincount(lose, pull, len(r)) - np.bincount(win, pull, len(r)) + 2 * l2 * r


@pytest.mark.parametrize(("K", "n", "l2"), [(2000, 1000, 1e-5), (6, 20000, 1e-5), (30, 300, 1e-2), (3, 5, 1.0)])
def test_reward_model_is_the_minimum(K, n, l2):
    rng = np.random.default_rng(K)
    win, lose = rng.integers(0, K, n), rng.integers(0, K, n)
    r = fit_reward_model(win, lose, K, l2=l2)
    assert np.abs(stationarity(r, win, lose, l2)).max() < 2e-9
    assert abs(r.sum()) < 1e-6
    assert (r[np.setdiff1d(np.arange(K), np.concatenate([win, lose]))] == 0).all()


def test_reward_model_of_one_pair_that_always_wins():
    for l2 in (1e-8, 1e-5, 1e-2, 1.0):
        x = float(mpmath.findroot(lambda t: 1 / (1 + mpmath.exp(2 * t)) - 2 * l2 * t, (0.01, 20), solver="anderson"))  # noqa: B023
        np.testing.assert_allclose(fit_reward_model([0], [1], 3, l2=l2), [x, -x, 0], atol=1e-6)


def test_reward_model_without_information():
    np.testing.assert_array_equal(fit_reward_model([], [], 4), np.zeros(4))
    np.testing.assert_array_equal(fit_reward_model([1, 2], [1, 2], 4), np.zeros(4))
    np.testing.assert_allclose(fit_reward_model([0, 1, 2], [1, 2, 0], 3), np.zeros(3), atol=1e-12)


def test_a_reward_model_of_no_pairs_picks_at_random():
    result = overoptimization_experiment(3, K=200, n_pairs=0)
    np.testing.assert_allclose(result["kl"], 0, atol=1e-12)
    np.testing.assert_allclose(result["gold"], result["gold_select"][0], atol=1e-12)
    assert np.isnan(result["corr"])
    assert result["n_seen"] == 0


def test_experiment_obeys_the_bounds():
    result = overoptimization_experiment(1, K=300, n_pairs=200)
    assert (np.diff(result["kl"]) >= 0).all()
    assert (result["kl"] <= result["kl_formula"] + 1e-12).all()
    assert (np.diff(result["proxy"]) >= -1e-12).all()
    assert (result["gold_select"] >= result["gold"] - 1e-12).all()
    assert all(len(result[key]) == len(N_LIST) for key in ("kl", "kl_formula", "proxy", "gold", "gold_select"))


# everywhere

CALLS: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    "optimal_policy": lambda: (optimal_policy, [R_TRUE.copy(), PI_REF.copy(), 0.5]),
    "kl": lambda: (kl, [PI_REF.copy(), PI_REF[::-1].copy()]),
    "tv": lambda: (tv, [PI_REF.copy(), PI_REF[::-1].copy()]),
    "best_of_n_distribution": lambda: (best_of_n_distribution, [R_TRUE.copy(), PI_REF.copy(), 3]),
    "make_pairs": lambda: (make_pairs, [R_TRUE.copy(), PI_REF.copy(), 50, 3]),
    "train_rlhf_pg": lambda: (train_rlhf_pg, [R_TRUE.copy(), PI_REF.copy(), 0.5, 5]),
    "train_dpo": lambda: (train_dpo, [PI_REF.copy(), np.array([0, 1]), np.array([1, 2]), 0.5, 5]),
    "implicit_reward": lambda: (implicit_reward, [PI_REF[::-1].copy(), PI_REF.copy(), 0.5]),
    "fit_reward_model": lambda: (fit_reward_model, [np.array([0, 1]), np.array([1, 2]), 4]),
    "overoptimization_experiment": lambda: (overoptimization_experiment, [5, 50, 30]),
    "dpo_loss": lambda: (
        dpo_loss,
        [torch.tensor(R_TRUE), torch.tensor(np.log(PI_REF)), torch.tensor([0, 1]), torch.tensor([1, 2]), 0.5],
    ),
    "reinforce_loss": lambda: (
        reinforce_loss,
        [torch.tensor(R_TRUE), torch.tensor([0, 1, 3]), torch.tensor(R_TRUE), torch.tensor(np.log(PI_REF)), 0.5],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_and_global_generators_are_left_alone(name):
    function, arguments = CALLS[name]()
    _, untouched = CALLS[name]()
    numpy_state, torch_state = pickle.dumps(np.random.get_state()), torch.get_rng_state()
    function(*arguments)
    for argument, before in zip(arguments, untouched, strict=True):
        np.testing.assert_array_equal(argument, before)
    assert pickle.dumps(np.random.get_state()) == numpy_state
    assert torch.equal(torch.get_rng_state(), torch_state)


@pytest.mark.parametrize("name", ["make_pairs", "train_rlhf_pg", "overoptimization_experiment"])
def test_the_seed_decides(name):
    def result(seed):
        if name == "make_pairs":
            return np.concatenate(make_pairs(R_TRUE, PI_REF, 40, seed))
        if name == "train_rlhf_pg":
            return train_rlhf_pg(R_TRUE, PI_REF, 0.5, steps=3, seed=seed)
        return overoptimization_experiment(seed, K=30, n_pairs=20)["gold"]

    np.testing.assert_array_equal(result(7), result(7))
    assert result(7).shape != result(8).shape or (result(7) != result(8)).any()


Q2, R2 = [0.5, 0.5], [1.0, 0.0]
LOGITS = torch.zeros(2, dtype=torch.float64)
MEANINGLESS: list[tuple[str, Callable[[], Any]]] = [
    ("r", lambda: optimal_policy([1.0, NAN], Q2, 1.0)),
    ("r", lambda: optimal_policy([1.0, INF], Q2, 1.0)),
    ("r", lambda: optimal_policy([[1.0, 2.0]], Q2, 1.0)),
    ("r", lambda: optimal_policy([], [], 1.0)),
    ("r", lambda: optimal_policy(["a", "b"], Q2, 1.0)),
    ("pi_ref", lambda: optimal_policy(R2, [0.5, 0.4], 1.0)),
    ("pi_ref", lambda: optimal_policy(R2, [1.5, -0.5], 1.0)),
    ("pi_ref", lambda: optimal_policy(R2, [0.5, NAN], 1.0)),
    ("pi_ref", lambda: optimal_policy(R2, [1.0], 1.0)),
    ("beta", lambda: optimal_policy(R2, Q2, 0.0)),
    ("beta", lambda: optimal_policy(R2, Q2, -1.0)),
    ("beta", lambda: optimal_policy(R2, Q2, NAN)),
    ("beta", lambda: optimal_policy(R2, Q2, INF)),
    ("beta", lambda: optimal_policy(R2, Q2, "much")),  # type: ignore[arg-type]
    ("p", lambda: kl([0.5, 0.6], Q2)),
    ("q", lambda: kl(Q2, [1.0])),
    ("q", lambda: tv(Q2, [0.2, 0.2])),
    ("scores", lambda: best_of_n_distribution([1.0, NAN], Q2, 2)),
    ("pi_ref", lambda: best_of_n_distribution(R2, [0.9, 0.2], 2)),
    ("n", lambda: best_of_n_distribution(R2, Q2, 0)),
    ("n", lambda: best_of_n_distribution(R2, Q2, 1.5)),  # type: ignore[arg-type]
    ("n", lambda: best_of_n_kl(0)),
    ("n", lambda: best_of_n_kl(-3)),
    ("n", lambda: best_of_n_kl(NAN)),  # type: ignore[arg-type]
    ("n", lambda: make_pairs(R2, Q2, -1, 0)),
    ("seed", lambda: make_pairs(R2, Q2, 1, -1)),
    ("pi_ref", lambda: make_pairs(R2, [0.5, 0.4], 1, 0)),
    ("steps", lambda: train_rlhf_pg(R2, Q2, 1.0, steps=-1)),
    ("batch", lambda: train_rlhf_pg(R2, Q2, 1.0, batch=0)),
    ("lr", lambda: train_rlhf_pg(R2, Q2, 1.0, lr=0)),
    ("beta", lambda: train_rlhf_pg(R2, Q2, 0.0)),
    ("seed", lambda: train_rlhf_pg(R2, Q2, 1.0, seed=-1)),
    ("y", lambda: reinforce_loss(LOGITS, torch.tensor([2]), LOGITS, LOGITS, 1.0)),
    ("y", lambda: reinforce_loss(LOGITS, torch.tensor([], dtype=torch.int64), LOGITS, LOGITS, 1.0)),
    ("r", lambda: reinforce_loss(LOGITS, torch.tensor([1]), LOGITS[:1], LOGITS, 1.0)),
    ("log_ref", lambda: reinforce_loss(LOGITS, torch.tensor([1]), LOGITS, LOGITS - INF, 1.0)),
    ("beta", lambda: reinforce_loss(LOGITS, torch.tensor([1]), LOGITS, LOGITS, -1.0)),
    ("logits", lambda: dpo_loss(LOGITS * NAN, LOGITS, [0], [1], 1.0)),
    ("log_ref", lambda: dpo_loss(LOGITS, LOGITS - INF, [0], [1], 1.0)),
    ("winners", lambda: dpo_loss(LOGITS, LOGITS, [], [], 1.0)),
    ("losers", lambda: dpo_loss(LOGITS, LOGITS, [0, 1], [1], 1.0)),
    ("losers", lambda: dpo_loss(LOGITS, LOGITS, [0], [2], 1.0)),
    ("winners", lambda: dpo_loss(LOGITS, LOGITS, [0.5], [1], 1.0)),
    ("beta", lambda: dpo_loss(LOGITS, LOGITS, [0], [1], 0.0)),
    ("winners", lambda: train_dpo(Q2, [-1], [1], 1.0)),
    ("winners", lambda: train_dpo([0.5, 0.5, 0.0], [2], [1], 1.0)),
    ("losers", lambda: train_dpo([0.5, 0.5, 0.0], [1], [2], 1.0)),
    ("steps", lambda: train_dpo(Q2, [0], [1], 1.0, steps=-5)),
    ("policy", lambda: implicit_reward([0.5, 0.6], Q2, 1.0)),
    ("pi_ref", lambda: implicit_reward(Q2, [1.0], 1.0)),
    ("beta", lambda: implicit_reward(Q2, Q2, 0)),
    ("win", lambda: fit_reward_model([3], [1], 3)),
    ("lose", lambda: fit_reward_model([1], [1, 2], 3)),
    ("K", lambda: fit_reward_model([0], [1], 0)),
    ("l2", lambda: fit_reward_model([0], [1], 2, l2=0.0)),
    ("seed", lambda: overoptimization_experiment(-1)),
    ("K", lambda: overoptimization_experiment(0, K=1)),
    ("n_pairs", lambda: overoptimization_experiment(0, n_pairs=-1)),
]


@pytest.mark.parametrize(("name", "call"), MEANINGLESS, ids=[f"{i}-{name}" for i, (name, _) in enumerate(MEANINGLESS)])
def test_meaningless_input_is_named(name, call):
    with pytest.raises(ValueError, match=f"^{name}: "):
        call()
