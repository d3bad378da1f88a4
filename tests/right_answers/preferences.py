"""Right answers to preferences.py, with other generators, other orders of draws and other forms of the noise."""

import math
import random

import numpy as np
import torch
from scipy.special import expit, log_expit

from harness.variants import right_answer


@right_answer("make_pairs", "one choice of shape (n, 2), a uniform number for every draw before any is left out")
def choice_of_rows(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    rewards = np.asarray(r, dtype=float)
    pairs = rng.choice(np.arange(len(rewards)), size=(n, 2), p=pi_ref)
    u = rng.uniform(size=n)
    gap = rewards[pairs[:, 0]] - rewards[pairs[:, 1]]
    first = np.where(u < expit(gap), 0, 1) if noisy else np.where(gap >= 0, 0, 1)
    rows = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    return pairs[rows, first[rows]], pairs[rows, 1 - first[rows]]


@right_answer("make_pairs", "Gumbel noise on both rewards: the difference is logistic")
def gumbel_on_both(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng([seed, 7])
    cumulative = np.cumsum(pi_ref)
    y = np.searchsorted(cumulative, rng.random((2, n)) * cumulative[-1], side="right")
    y = y[:, y[0] != y[1]]
    noise = rng.gumbel(size=y.shape) if noisy else np.zeros(y.shape)
    # The gap first, so that rewards of any size lose no digits to the noise.
    a_wins = (np.subtract(*np.asarray(r, dtype=float)[y]) + noise[0] - noise[1] > 0).astype(int)
    columns = np.arange(y.shape[1])
    return y[1 - a_wins, columns], y[a_wins, columns]


@right_answer("make_pairs", "a logistic threshold for the gap, from a Mersenne Twister")
def logistic_threshold(r, pi_ref, n, seed, noisy=True):
    rng = np.random.Generator(np.random.MT19937(seed))
    y = rng.choice(len(pi_ref), 2 * n, p=pi_ref)
    b, a = y[::2], y[1::2]
    keep = a != b
    a, b = a[keep], b[keep]
    threshold = rng.logistic(size=len(a)) if noisy else np.zeros(len(a))
    wins = np.asarray(r, dtype=float)[a] - np.asarray(r, dtype=float)[b] >= threshold
    winners, losers = a.copy(), b.copy()
    winners[~wins], losers[~wins] = b[~wins], a[~wins]
    return winners, losers


@right_answer("make_pairs", "Python's random.Random and a loop, lists turned into arrays at the end")
def python_loop(r, pi_ref, n, seed, noisy=True):
    rng = random.Random(seed)
    responses, weights = range(len(pi_ref)), [float(p) for p in pi_ref]
    winners, losers = [], []
    for _ in range(n):
        a, b = rng.choices(responses, weights, k=2)
        if a == b:
            continue
        gap = float(r[a]) - float(r[b])
        chance = 1 / (1 + math.exp(-gap)) if gap > 0 else math.exp(gap) / (1 + math.exp(gap))
        a_wins = rng.random() < chance if noisy else gap > 0
        winners.append(a if a_wins else b)
        losers.append(b if a_wins else a)
    return np.array(winners, dtype=int), np.array(losers, dtype=int)


@right_answer("make_pairs", "torch: multinomial draws, rewards and Bernoulli labels in float32")
def torch_draws(r, pi_ref, n, seed, noisy=True):
    generator = torch.Generator().manual_seed(seed)
    rewards = torch.tensor(np.asarray(r), dtype=torch.float32)
    if n == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    y = torch.multinomial(torch.tensor(np.asarray(pi_ref)), 2 * n, replacement=True, generator=generator).view(2, n)
    y = y[:, y[0] != y[1]]
    gap = rewards[y[0]] - rewards[y[1]]
    a_wins = torch.bernoulli(torch.sigmoid(gap), generator=generator).bool() if noisy else gap > 0
    return torch.where(a_wins, y[0], y[1]).numpy(), torch.where(a_wins, y[1], y[0]).numpy()


@right_answer("make_pairs", "multinomial counts over the table of ordered pairs, binomial wins, shuffled")
def counts_of_pairs(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    q, rewards = np.asarray(pi_ref), np.asarray(r, dtype=float)
    met = np.outer(q, q)
    times = rng.multinomial(n, (met / met.sum()).ravel()).reshape(met.shape)
    np.fill_diagonal(times, 0)
    gap = np.subtract.outer(rewards, rewards)
    wins = rng.binomial(times, expit(gap)) if noisy else np.where(gap > 0, times, 0)
    table = wins + (times - wins).T
    i, j = np.indices(table.shape)
    winners, losers = np.repeat(i.ravel(), table.ravel()), np.repeat(j.ravel(), table.ravel())
    order = rng.permutation(len(winners))
    return winners[order], losers[order]


@right_answer("make_pairs", "one draw for each pair from the law of (winner, loser), int32")
def joint_law(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    q, rewards, K = np.asarray(pi_ref, dtype=float), np.asarray(r, dtype=float), len(pi_ref)
    gap = np.subtract.outer(rewards, rewards)
    # Without noise the lower number wins between equal rewards.
    chance = expit(gap) if noisy else (gap > 0) + np.triu(gap == 0, 1)
    law = 2 * np.outer(q, q) * chance
    np.fill_diagonal(law, q**2)
    cell = rng.choice(K * K, size=n, p=law.ravel() / law.sum())
    winners, losers = np.divmod(cell, K)
    different = winners != losers
    return winners[different].astype(np.int32), losers[different].astype(np.int32)


@right_answer("make_pairs", "labels in log space: an exponential waiting time against -log sigma(gap)")
def log_space(r, pi_ref, n, seed, noisy=True):
    draws, labels = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    a, b = draws.choice(len(pi_ref), p=pi_ref, size=[2, n])
    a, b = a[a != b], b[a != b]
    gap = np.asarray(r, dtype=float)[a] - np.asarray(r, dtype=float)[b]
    # P(E > -log p) = p for a standard exponential E.
    a_wins = labels.exponential(size=len(a)) > -log_expit(gap) if noisy else gap > 0
    pairs = np.where(a_wins, [a, b], [b, a])
    return pairs[0], pairs[1]
