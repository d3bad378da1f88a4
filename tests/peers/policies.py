"""closed_form.py, policy_gradient.py and best_of_n.py beside SciPy, PyTorch and mpmath.

Each comparison makes one random input and asks both. Nothing stands beside online_collection.py: nobody else has
written pick_batch, pick_double_thompson or run as the lecture has them.
"""

import mpmath as mp
import numpy as np
import torch
from scipy import optimize, spatial, special, stats
from torch.distributions import Categorical, kl_divergence

from harness.validation.peers import peer
from tests.peers._inputs import DIGITS, extreme_policy, problem, sparse_policy


@peer("optimal_policy", library="scipy", allowed=1e-12)
def tilted_softmax(impl, rng):
    """softmax(r / β + log π_ref)."""
    r, q, beta = problem(rng)
    return impl.closed_form.optimal_policy(r, q, beta), special.softmax(r / beta + np.log(q))


@peer("optimal_policy", library="scipy", allowed=1e-6, inputs=10)
def maximiser_of_the_objective(impl, rng):
    """The objective itself, maximised numerically over the logits (BFGS)."""
    r, q, beta = problem(rng)
    return impl.closed_form.optimal_policy(r, q, beta), maximiser(r, q, beta)


@peer("optimal_policy", library="mpmath", allowed=1e-12)
def tilting_at_fifty_digits(impl, rng):
    """π_ref exp(r / β) / Z at 50 digits; rewards to ±1000, β from 10⁻³, π_ref from 10⁻³⁰⁰ and 0."""
    r, q, beta = rng.uniform(-1e3, 1e3, 6), extreme_policy(rng, 6), 10 ** rng.uniform(-3, 3)
    r[1] = r[0]  # tied rewards share like pi_ref
    with mp.workdps(DIGITS):
        weights = [mp.mpf(b) * mp.exp(mp.mpf(a) / mp.mpf(beta)) for a, b in zip(r, q, strict=True)]
        expected = [float(weight / mp.fsum(weights)) for weight in weights]
    return impl.closed_form.optimal_policy(r, q, beta), expected


@peer("kl", library="scipy", allowed=1e-12)
def sum_of_relative_entropies(impl, rng):
    """The sum of scipy.special.rel_entr; +inf included."""
    p, q = sparse_policy(rng, 6), rng.dirichlet(np.ones(6))
    if rng.random() < 0.2:
        p, q = q, p
    return impl.closed_form.kl(p, q), special.rel_entr(p, q).sum()


@peer("kl", library="torch", allowed=1e-12)
def torch_divergence(impl, rng):
    """torch.distributions.kl_divergence of two categorical laws."""
    p, q = rng.dirichlet(np.ones(7), 2)
    laws = (Categorical(torch.from_numpy(law)) for law in (p, q))
    return impl.closed_form.kl(p, q), kl_divergence(*laws).item()


@peer("kl", library="mpmath", allowed=1e-12)
def divergence_at_fifty_digits(impl, rng):
    """Σ p log(p / q) at 50 digits; probabilities from 10⁻³⁰⁰, and policies that differ by 10⁻⁹."""
    p, q = extreme_policy(rng, 6, zeros=1), extreme_policy(rng, 6, zeros=0)
    if rng.random() < 0.5:
        p = q * (1 + 1e-9 * rng.standard_normal(6))
        p /= p.sum()
    with mp.workdps(DIGITS):
        expected = mp.fsum(mp.mpf(a) * mp.log(mp.mpf(a) / mp.mpf(b)) for a, b in zip(p, q, strict=True) if a > 0)
    return impl.closed_form.kl(p, q), max(0.0, float(expected))


@peer("tv", library="scipy", allowed=1e-12)
def half_the_city_block(impl, rng):
    """Half of scipy.spatial.distance.cityblock."""
    p, q = sparse_policy(rng, 9), sparse_policy(rng, 9)
    return impl.closed_form.tv(p, q), spatial.distance.cityblock(p, q) / 2


@peer("reinforce_loss", library="torch", allowed=1e-12)
def score_function_of_torch(impl, rng):
    """The gradient through torch.distributions.Categorical.log_prob."""
    r, q, beta = problem(rng)
    logits, y = rng.normal(0, 2, len(r)), rng.integers(len(r), size=12)
    free = torch.tensor(logits, requires_grad=True)
    log_prob = Categorical(logits=free).log_prob(torch.from_numpy(y))
    gain = torch.from_numpy(r[y] + beta * np.log(q[y])) - beta * log_prob.detach()
    (slope,) = torch.autograd.grad(-((gain - gain.mean()) * log_prob).mean(), free)
    return impl.value_and_grad("reinforce_loss", logits, y, r, np.log(q), beta)[1], slope.numpy()


@peer("train_rlhf_pg", library="scipy", allowed=0.02, inputs=2)
def end_of_training(impl, rng):
    """The objective itself, maximised numerically (BFGS); training promises 0.01 in total variation."""
    r, q = rng.uniform(-2, 2, 5), rng.dirichlet(np.full(5, 10.0))
    trained = impl.policy_gradient.train_rlhf_pg(r, q, 1.0, steps=1500, seed=int(rng.integers(1000)))
    return trained, maximiser(r, q, 1.0)


@peer("best_of_n_distribution", library="scipy", allowed=1e-9)
def largest_of_n_uniforms(impl, rng):
    """Differences of scipy.stats.beta(n, 1), the law of the largest of n uniform variables; no ties."""
    scores, q, n = rng.permutation(7), rng.dirichlet(np.ones(7)), int(2 ** rng.uniform(0, 20))
    upper = np.minimum(np.cumsum(q[np.argsort(scores)]), 1.0)
    steps = np.diff(stats.beta(n, 1).cdf(np.append(0.0, upper)))
    return impl.best_of_n.best_of_n_distribution(scores, q, n), steps[scores]


@peer("best_of_n_distribution", library="mpmath", allowed=1e-11)
def powers_at_fifty_digits(impl, rng):
    """F^n − F₋^n, shared among ties like π_ref, at 50 digits; n to 2²⁰, masses from 10⁻¹⁵ and 0."""
    scores, n = rng.integers(4, size=8).astype(float), int(2 ** rng.uniform(0, 20))
    q = 10 ** rng.uniform(-15, 0, 8)
    q[0] = 0.0
    q /= q.sum()
    with mp.workdps(DIGITS):
        mass = [mp.mpf(x) for x in q]
        mass = [m / mp.fsum(mass) for m in mass]
        expected = []
        for s, m in zip(scores, mass, strict=True):
            upto = mp.fsum(other for t, other in zip(scores, mass, strict=True) if t <= s)
            below = mp.fsum(other for t, other in zip(scores, mass, strict=True) if t < s)
            expected.append(float((upto**n - below**n) * m / (upto - below)) if m else 0.0)
    return impl.best_of_n.best_of_n_distribution(scores, q, n), expected


@peer("best_of_n_kl", library="scipy", allowed=1e-10)
def entropy_of_a_beta_law(impl, rng):
    """Minus the differential entropy of scipy.stats.beta(n, 1)."""
    n = int(2 ** rng.uniform(0, 20))
    return impl.best_of_n.best_of_n_kl(n), -stats.beta(n, 1).entropy()


@peer("best_of_n_kl", library="mpmath", allowed=1e-12)
def logarithm_at_fifty_digits(impl, rng):
    """log n − 1 + 1/n at 50 digits; n to 10¹⁸."""
    n = int(10 ** rng.uniform(0, 18))
    with mp.workdps(DIGITS):
        expected = float(mp.log(n) - 1 + mp.mpf(1) / n)
    return impl.best_of_n.best_of_n_kl(n), expected


def maximiser(r, q, beta):
    """The maximiser of E[r] - beta KL over all policies, by BFGS on logits from pi_ref."""

    def loss(logits):
        p = special.softmax(logits)
        return beta * stats.entropy(p, q) - p @ r

    return special.softmax(optimize.minimize(loss, np.log(q), jac="3-point", options={"gtol": 1e-9}).x)
