"""preferences.py, dpo.py and overoptimization.py beside choix, torchtune, scikit-learn, SciPy and mpmath."""

import importlib.util
from pathlib import Path

import choix
import mpmath as mp
import numpy as np
import torch
from scipy import special, stats

from harness.validation.files import import_file
from harness.validation.peers import peer
from tests.peers._inputs import (
    DIGITS,
    bradley_terry,
    centred,
    different_pairs,
    extreme_policy,
    logistic_regression,
    problem,
)


@peer("make_pairs", library="choix", allowed=0.1, inputs=3)
def rewards_from_pairs(impl, rng):
    """Spectral ranking (ilsr_pairwise_dense) of 200,000 draws finds the rewards again, six standard errors allowed."""
    r, q = rng.uniform(-1.5, 1.5, 4), rng.dirichlet(np.full(4, 20.0))
    winners, losers = impl.preferences.make_pairs(r, q, 200_000, int(rng.integers(1000)))
    return r - r.mean(), bradley_terry((winners, losers), 4)


@peer("dpo_loss", library="torchtune", allowed=1e-12)
def dpo_loss_of_torchtune(impl, rng):
    """DPOLoss: value and gradient."""
    _, q, beta = problem(rng)
    logits, pairs = rng.normal(0, 2, len(q)), different_pairs(rng, len(q), 15)
    free, ref = torch.tensor(logits, requires_grad=True), torch.log(torch.from_numpy(q))
    policy = torch.log_softmax(free, dim=0)
    winners, losers = (torch.from_numpy(side) for side in pairs)
    per_pair, *_ = torchtune_loss(beta)(policy[winners], policy[losers], ref[winners], ref[losers])
    (slope,) = torch.autograd.grad(per_pair.mean(), free)
    value, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), *pairs, beta)
    return np.append(gradient, value), np.append(slope.numpy(), per_pair.mean().item())


@peer("dpo_loss", library="mpmath", allowed=1e-12)
def dpo_loss_at_fifty_digits(impl, rng):
    """−mean log σ(margin) and its derivative at 50 digits; margins to ±10⁶."""
    logits, log_ref = rng.uniform(-30, 30, 4), np.log(rng.dirichlet(np.ones(4)))
    beta, pairs = 10 ** rng.uniform(-2, 4), different_pairs(rng, 4, 5)
    with mp.workdps(DIGITS):
        ratio = [mp.mpf(a) - mp.mpf(b) for a, b in zip(logits, log_ref, strict=True)]
        value, gradient = mp.mpf(0), [mp.mpf(0)] * 4
        for won, lost in zip(*pairs, strict=True):
            tail = mp.exp(-mp.mpf(beta) * (ratio[won] - ratio[lost]))
            value += mp.log1p(tail) / 5
            gradient[won] -= mp.mpf(beta) * tail / (1 + tail) / 5
            gradient[lost] += mp.mpf(beta) * tail / (1 + tail) / 5
        expected = [float(x) for x in (*gradient, value)]
    got, slope = impl.value_and_grad("dpo_loss", logits, log_ref, *pairs, beta)[::-1]
    return np.append(got, slope), expected


@peer("train_dpo", library="choix", allowed=0.002, inputs=4)
def optimum_of_the_data(impl, rng):
    """π_ref tilted by the Bradley–Terry rewards of ilsr_pairwise_dense."""
    q, beta = rng.dirichlet(np.full(5, 10.0)), rng.uniform(0.3, 2.0)
    pairs = different_pairs(rng, 5, 400)
    tilted = special.softmax(np.log(q) + bradley_terry(pairs, 5) / beta)
    return impl.dpo.train_dpo(q, *pairs, beta), tilted


@peer("implicit_reward", library="scipy", allowed=1e-12)
def relative_entropy_per_mass(impl, rng):
    """β rel_entr(π, π_ref) / π."""
    p, q = rng.dirichlet(np.ones(6), 2)
    beta = rng.uniform(0.1, 5)
    return impl.dpo.implicit_reward(p, q, beta), beta * special.rel_entr(p, q) / p


@peer("implicit_reward", library="mpmath", allowed=1e-12)
def log_ratio_at_fifty_digits(impl, rng):
    """β log(π / π_ref) at 50 digits; probabilities from 10⁻³⁰⁰, and π = 0."""
    p, q, beta = extreme_policy(rng, 6, zeros=1), extreme_policy(rng, 6, zeros=0), 10 ** rng.uniform(-3, 3)
    with mp.workdps(DIGITS):
        pairs = zip(p, q, strict=True)
        expected = [float(mp.mpf(beta) * mp.log(mp.mpf(a) / mp.mpf(b))) if a > 0 else -np.inf for a, b in pairs]
    return impl.dpo.implicit_reward(p, q, beta), expected


@peer("fit_reward_model", library="choix", allowed=1e-4, inputs=20)
def bradley_terry_with_a_penalty(impl, rng):
    """opt_pairwise with α = n l2 (Newton)."""
    k, n, l2 = 6, 80, 10 ** rng.uniform(-4, -1)
    winners, losers = different_pairs(rng, k, n)
    fitted = choix.opt_pairwise(k, list(zip(winners, losers, strict=True)), alpha=n * l2, tol=1e-12)
    return centred(impl.overoptimization.fit_reward_model(winners, losers, k, l2)), centred(fitted)


@peer("fit_reward_model", library="scikit-learn", allowed=1e-4)
def logistic_regression_on_differences(impl, rng):
    """LogisticRegression (newton-cholesky) on the differences of one-hot vectors, C = 1 / (4 l2 n), mirrored."""
    k, n, l2 = 6, 80, 10 ** rng.uniform(-4, -1)
    winners, losers = different_pairs(rng, k, n)
    rows = np.eye(k)[winners] - np.eye(k)[losers]
    w = logistic_regression(np.vstack([rows, -rows]), np.repeat([1, 0], n), 1 / (4 * l2 * n))
    return centred(impl.overoptimization.fit_reward_model(winners, losers, k, l2)), centred(w)


@peer("overoptimization_experiment", library="scipy", allowed=1e-10, inputs=1)
def formula_of_the_experiment(impl, rng):
    """kl_formula beside minus the entropy of scipy.stats.beta(n, 1)."""
    e = impl.overoptimization.overoptimization_experiment(int(rng.integers(1000)), K=20, n_pairs=30, steps=50)
    n_list = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384]
    return e["kl_formula"], [-stats.beta(n, 1).entropy() for n in n_list]


def torchtune_loss(beta):
    """torchtune's DPOLoss. Its file needs torch alone; the package would import data sets and tokenizers."""
    package = importlib.util.find_spec("torchtune")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("torchtune")
    return import_file(Path(package.origin).parent / "rlhf" / "loss" / "dpo.py").DPOLoss(beta=beta)
