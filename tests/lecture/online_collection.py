"""The lecture's rounds of collection: pairs of one reply, and duplicates of a picked pair, are asked like any other."""

import numpy as np

from .acquisition import acquisition_scores
from .laplace import fit_laplace, posterior_samples, sherman_morrison_update, sigmoid

BETA = 0.3
STRATEGIES = ("offline_random", "offline_bald", "online_random", "online_bald", "online_dopt", "online_dts")


def pick_batch(rule, world, pool, w, cov, per, rng):
    """Greedy picks among 3,000 random pairs of positions; a picked row becomes 0, its duplicates stay."""
    left, right = (rng.integers(0, len(pool), 3000) for _ in range(2))
    distinct = left != right
    a, b = pool[left[distinct]], pool[right[distinct]]
    U = world.X[a] - world.X[b]
    picked = []
    for _ in range(per):
        samples = posterior_samples(w, cov, 64, rng) if rule == "bald" else None
        best = int(np.argmax(acquisition_scores(rule, U, w, cov, rng, samples=samples)))
        picked.append(best)
        u = U[best].copy()
        cov = sherman_morrison_update(cov, u, sigmoid(u @ w))
        U[best] = 0.0
    return a[picked], b[picked]


def pick_double_thompson(world, pool, w, cov, per, rng):
    """The favourites of two draws; one position twice is replaced by a draw from the whole pool, itself included."""
    first, second = [], []
    for _ in range(per):
        favourites = [int(np.argmax(world.X[pool] @ draw)) for draw in posterior_samples(w, cov, 2, rng)]
        if favourites[0] == favourites[1]:
            favourites[1] = int(rng.integers(len(pool)))
        first.append(pool[favourites[0]])
        second.append(pool[favourites[1]])
    return np.array(first), np.array(second)


def run(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    """Warm up, then collect in rounds; the rule is read off the end of the strategy's name."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: {strategy!r} is unknown")
    rng = np.random.default_rng(rep)
    a, b = (world.sample(world.ref_lp, warmup, rng) for _ in range(2))
    U, Y = world.X[a] - world.X[b], world.label(a, b, rng)
    w, cov = fit_laplace(U, Y)
    results = {warmup: (world.downstream(w, BETA)["gold"], np.nan)}
    for _ in range(rounds):
        tilted = optimal_logprobs(world.ref_lp, world.X @ w, BETA)
        pool = world.sample(world.ref_lp if strategy.startswith("offline") else tilted, pool_size, rng)
        if strategy.endswith("random"):
            a, b = (pool[rng.integers(0, pool_size, per)] for _ in range(2))
        elif strategy.endswith("dts"):
            a, b = pick_double_thompson(world, pool, w, cov, per, rng)
        else:
            a, b = pick_batch("bald" if strategy.endswith("bald") else "dopt", world, pool, w, cov, per, rng)
        U = np.concatenate([U, world.X[a] - world.X[b]])
        Y = np.concatenate([Y, world.label(a, b, rng)])
        w, cov = fit_laplace(U, Y)
        results[len(Y)] = (world.downstream(w, BETA)["gold"], float(world.gold[pool].mean()))
    return results


def optimal_logprobs(ref_lp, r, beta):
    """Log-probabilities of the RLHF policy for rewards r."""
    scores = ref_lp + r / beta
    top = scores.max()
    return scores - top - np.log(np.sum(np.exp(scores - top)))
