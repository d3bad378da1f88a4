"""The lecture's experiment on over-optimisation: a reward model by Adam in float32, then best-of-n exactly."""

import numpy as np
import torch
import torch.nn.functional as F

from .best_of_n import best_of_n_distribution, best_of_n_kl
from .closed_form import kl

N_LIST = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384]


def fit_reward_model(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    """Adam from 0 on the penalised likelihood; its steps do not keep the sum of the rewards at 0."""
    rewards = torch.zeros(K, requires_grad=True)
    optimizer = torch.optim.Adam([rewards], lr=lr)
    for _ in range(steps):
        loss = l2 * (rewards**2).sum() - F.logsigmoid(rewards[win] - rewards[lose]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return rewards.detach().numpy()


def overoptimization_experiment(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    """One world, one reward model, and what best-of-n makes of it."""
    rng = np.random.default_rng(seed)
    r_true = rng.normal(size=K)
    pi_ref = rng.dirichlet(np.full(K, 0.3))
    one, other = (rng.choice(K, n_pairs, p=pi_ref) for _ in range(2))
    one_wins = rng.random(n_pairs) < 1 / (1 + np.exp(r_true[other] - r_true[one]))
    r_hat = fit_reward_model(np.where(one_wins, one, other), np.where(one_wins, other, one), K, l2, steps)
    by_proxy = [best_of_n_distribution(r_hat, pi_ref, n) for n in N_LIST]
    by_truth = [best_of_n_distribution(r_true, pi_ref, n) for n in N_LIST]
    weighted = np.cov(r_hat, r_true, aweights=pi_ref)
    return {
        "kl": np.array([kl(p, pi_ref) for p in by_proxy]),
        "kl_formula": np.array([best_of_n_kl(n) for n in N_LIST]),
        "proxy": np.array([p @ r_hat for p in by_proxy]),
        "gold": np.array([p @ r_true for p in by_proxy]),
        "gold_select": np.array([p @ r_true for p in by_truth]),
        "n_seen": len({*one.tolist(), *other.tolist()}),
        "corr_w": weighted[0, 1] / np.sqrt(weighted[0, 0] * weighted[1, 1]),
        "corr": np.corrcoef(r_hat, r_true)[0, 1],
    }
