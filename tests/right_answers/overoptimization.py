"""Right answers to the functions of overoptimization.py, written in other ways than the reference."""

import math
import random
from collections import Counter, defaultdict
from itertools import accumulate

import numpy as np
import torch
import torch.nn.functional as F
from scipy import stats
from scipy.optimize import minimize, root
from scipy.special import betainc, digamma, expit, log_expit

from harness.variants import right_answer

_N_LIST = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384]

# --- fit_reward_model -------------------------------------------------------------------------------------------------


@right_answer("fit_reward_model", "Adam in float32 over all pairs, in PyTorch")
def adam_in_float32(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    r = torch.zeros(K, requires_grad=True)
    w, l = torch.tensor(np.asarray(win)), torch.tensor(np.asarray(lose))  # noqa: E741 - winner and loser
    optimizer = torch.optim.Adam([r], lr=lr)
    for _ in range(steps):
        loss = -F.logsigmoid(r[w] - r[l]).mean() + l2 * (r**2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return r.detach().numpy().astype(np.float64)


class _Fit:
    """The objective over the responses that occur, from a table of how often i beat j, in shares of all pairs."""

    def __init__(self, win, lose, l2):
        win, lose = np.asarray(win), np.asarray(lose)
        self.seen, position = np.unique(np.append(win, lose), return_inverse=True)
        self.size, self.l2 = len(self.seen), l2
        self.wins = np.zeros((self.size, self.size))
        np.add.at(self.wins, (position[: len(win)], position[len(win) :]), 1 / len(win))

    def value(self, r):
        return -(self.wins * log_expit(r[:, None] - r)).sum() + self.l2 * r @ r

    def gradient(self, r):
        pull = self.wins * expit(r - r[:, None])
        return pull.sum(axis=0) - pull.sum(axis=1) + 2 * self.l2 * r

    def hessian(self, r):
        chance = expit(r[:, None] - r)
        weight = (self.wins + self.wins.T) * chance * (1 - chance)
        return np.diag(weight.sum(axis=1) + 2 * self.l2) - weight

    def spread(self, r, K):
        full = np.zeros(K)
        full[self.seen] = r
        return full


@right_answer("fit_reward_model", "Newton's method with step halving, on a table of wins")
def newton_with_halving(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    fit = _Fit(win, lose, l2)
    r = np.zeros(fit.size)
    for _ in range(min(steps, 100)):
        direction, step = -np.linalg.solve(fit.hessian(r), fit.gradient(r)), 1.0
        while fit.value(r + step * direction) > fit.value(r) + 1e-15 and step > 1e-9:
            step /= 2
        r = r + step * direction
        if np.abs(direction).max() < 1e-11:
            break
    return fit.spread(r, K)


@right_answer("fit_reward_model", "trust-region Newton of SciPy, with the exact Hessian")
def trust_region(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    fit = _Fit(win, lose, l2)
    found = minimize(
        fit.value, np.zeros(fit.size), jac=fit.gradient, hess=fit.hessian, method="trust-exact", options={"gtol": 1e-10}
    )
    return fit.spread(found.x, K)


@right_answer("fit_reward_model", "BFGS of SciPy as it comes")
def bfgs_as_it_comes(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    win, lose = np.asarray(win), np.asarray(lose)

    def loss(r):
        return -log_expit(r[win] - r[lose]).mean() + l2 * (r @ r)

    def gradient(r):
        missing = expit(r[lose] - r[win]) / len(win)
        return np.bincount(lose, missing, K) - np.bincount(win, missing, K) + 2 * l2 * r

    return minimize(loss, np.zeros(K), jac=gradient, method="BFGS").x


@right_answer("fit_reward_model", "the first-order conditions, solved as equations by SciPy's root")
def first_order_conditions(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    fit = _Fit(win, lose, l2)
    start = minimize(fit.value, np.zeros(fit.size), jac=fit.gradient, method="L-BFGS-B").x
    return fit.spread(root(fit.gradient, start, jac=fit.hessian, tol=1e-10).x, K)


@right_answer("fit_reward_model", "Adam in NumPy on the different pairs and their counts, then Newton steps to polish")
def adam_then_newton(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    pairs = Counter(zip(map(int, win), map(int, lose), strict=True))
    w, l = np.array(list(pairs)).T  # noqa: E741 - winner and loser
    shares = np.array(list(pairs.values())) / len(win)
    r, m, v = np.zeros(K), np.zeros(K), np.zeros(K)
    for t in range(1, steps + 1):
        pull, g = shares * expit(r[l] - r[w]), 2 * l2 * r
        np.subtract.at(g, w, pull)
        np.add.at(g, l, pull)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        r = r - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    fit = _Fit(win, lose, l2)
    s = r[fit.seen]
    for _ in range(3):
        s = s - np.linalg.solve(fit.hessian(s), fit.gradient(s))
    return fit.spread(s, K)


@right_answer("fit_reward_model", "logistic regression on one-hot differences of all K responses, L-BFGS of PyTorch")
def torch_lbfgs(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    won, lost = (F.one_hot(torch.as_tensor(np.asarray(side)), K).double() for side in (win, lose))
    design, r = won - lost, torch.zeros(K, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [r], max_iter=max(steps, 1), tolerance_grad=1e-11, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = F.softplus(-(design @ r)).mean() + l2 * r @ r
        loss.backward()
        return loss

    optimizer.step(closure)
    return r.detach().numpy().copy()


# --- overoptimization_experiment --------------------------------------------------------------------------------------


@right_answer(
    "overoptimization_experiment", "Adam in float32, legacy generator, the reference first, pairs swapped in place"
)
def legacy_generator(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    rng = np.random.RandomState([seed % 2**32, seed // 2**32])
    pi_ref = rng.gamma(0.3, size=K)
    pi_ref /= pi_ref.sum()
    r_true = rng.randn(K)
    pairs = rng.choice(K, size=(n_pairs, 2), p=pi_ref)
    second_wins = rng.rand(n_pairs) > expit(r_true[pairs[:, 0]] - r_true[pairs[:, 1]])
    pairs[second_wins] = pairs[second_wins][:, ::-1]
    r_hat = adam_in_float32(pairs[:, 0].copy(), pairs[:, 1].copy(), K, l2=l2, steps=steps)

    def law(scores, n):
        order = np.argsort(scores, kind="stable")
        levels, first = np.unique(scores[order], return_index=True)
        F = np.add.accumulate(np.add.reduceat(pi_ref[order], first))
        F /= F[-1]
        wins = np.diff(F**n, prepend=0.0)
        level = np.searchsorted(levels, scores)
        return wins[level] * pi_ref / np.bincount(level, weights=pi_ref)[level]

    def weighted(x, y):
        covariance = np.cov(x, y, aweights=pi_ref)
        return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])

    out = {name: np.zeros(len(_N_LIST)) for name in ("kl", "kl_formula", "proxy", "gold", "gold_select")}
    for i, n in enumerate(_N_LIST):
        p = law(r_hat, n)
        seen = p > 0
        out["kl"][i] = max(0.0, (p[seen] * np.log(p[seen] / pi_ref[seen])).sum())
        out["kl_formula"][i] = math.log(n) + 1 / n - 1
        out["proxy"][i], out["gold"][i] = p @ r_hat, p @ r_true
        out["gold_select"][i] = law(r_true, n) @ r_true
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = {"corr_w": weighted(r_hat, r_true), "corr": np.corrcoef(r_hat, r_true)[0, 1]}
    return out | correlations | {"n_seen": len(set(pairs.ravel().tolist()))}


@right_answer(
    "overoptimization_experiment", "a stream of its own for each kind of draw, inverse CDF, Newton, all n at once"
)
def separate_streams(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    worlds, references, first, second, coins = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(5))
    pi_ref, r_true = references.dirichlet([0.3] * K), worlds.standard_normal(K)
    F_ref = np.cumsum(pi_ref)
    a, b = (np.searchsorted(F_ref / F_ref[-1], rng.random(n_pairs), side="right") for rng in (first, second))
    # Bradley-Terry as a race: the difference of two Gumbel variables is logistic
    noise = coins.gumbel(size=(2, n_pairs))
    a_wins = r_true[a] + noise[0] > r_true[b] + noise[1]
    r_hat = newton_with_halving(np.where(a_wins, a, b), np.where(a_wins, b, a), K, l2=l2)

    def laws(scores):
        """(len(N_LIST), K): the powers of P(score <= s) and of P(score < s), from all comparisons."""
        values, level = np.unique(scores, return_inverse=True)
        at_most = np.tril(np.ones((len(values), len(values)))) @ np.bincount(level, pi_ref)
        at_most /= at_most[-1]
        powers = at_most ** np.array(_N_LIST)[:, None]
        wins = np.diff(powers, axis=1, prepend=0.0)
        return wins[:, level] * pi_ref / np.bincount(level, pi_ref)[level]

    p, best, n = laws(r_hat), laws(r_true), np.array(_N_LIST)
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(p > 0, p * (np.log(p) - np.log(pi_ref)), 0.0).sum(axis=1)
        x, y = r_hat - pi_ref @ r_hat, r_true - pi_ref @ r_true
        corr_w = (pi_ref * x) @ y / np.sqrt((pi_ref * x) @ x * ((pi_ref * y) @ y))
        corr = stats.zscore(r_hat) @ stats.zscore(r_true) / K
    return {
        "n_seen": np.count_nonzero(np.bincount(np.append(a, b), minlength=K)),
        "corr": corr,
        "corr_w": corr_w,
        "kl": np.maximum(kl, 0),
        "kl_formula": np.log(n) - (n - 1) * (digamma(n + 1) - digamma(n)),
        "proxy": p @ r_hat,
        "gold": p @ r_true,
        "gold_select": best @ r_true,
    }


@right_answer("overoptimization_experiment", "PyTorch throughout: its generator, multinomial, L-BFGS, float64")
def torch_throughout(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    generator = torch.Generator().manual_seed(int(seed))
    r_true = torch.randn(K, generator=generator, dtype=torch.float64)
    gammas = torch._standard_gamma(torch.full((K,), 0.3, dtype=torch.float64), generator)
    pi_ref = gammas / gammas.sum()
    pairs = torch.multinomial(pi_ref, 2 * n_pairs, replacement=True, generator=generator).reshape(2, n_pairs)
    chance = torch.sigmoid(r_true[pairs[0]] - r_true[pairs[1]])
    a_wins = torch.bernoulli(chance, generator=generator).bool()
    win, lose = torch.where(a_wins, pairs, pairs.flip(0))
    r_hat = torch.from_numpy(newton_with_halving(win.numpy(), lose.numpy(), K, l2=l2))

    def law(scores, n):
        _, level = torch.unique(scores, return_inverse=True)
        mass = torch.zeros(int(level.max()) + 1, dtype=torch.float64).index_add_(0, level, pi_ref)
        F_level = mass.cumsum(0) / mass.sum()
        before = torch.cat([torch.zeros(1, dtype=torch.float64), F_level[:-1]])
        return (F_level**n - before**n)[level] * pi_ref / mass[level]

    curves: dict[str, list[float]] = {name: [] for name in ("kl", "kl_formula", "proxy", "gold", "gold_select")}
    for n in _N_LIST:
        p = law(r_hat, n)
        curves["kl"].append(torch.xlogy(p, p / pi_ref).sum().clamp(min=0).item())
        curves["kl_formula"].append(math.log(n) - 1 + 1 / n)
        curves["proxy"].append((p @ r_hat).item())
        curves["gold"].append((p @ r_true).item())
        curves["gold_select"].append((law(r_true, n) @ r_true).item())

    def correlation(weights):
        x, y = r_hat - weights @ r_hat, r_true - weights @ r_true
        return ((weights * x * y).sum() / ((weights * x * x).sum() * (weights * y * y).sum()).sqrt()).item()

    return {name: np.array(curve) for name, curve in curves.items()} | {
        "n_seen": len(torch.unique(pairs)),
        "corr_w": correlation(pi_ref),
        "corr": correlation(torch.full((K,), 1 / K, dtype=torch.float64)),
    }


@right_answer("overoptimization_experiment", "Python's own random numbers, lists and sums")
def plain_python(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    rng = random.Random(int(seed))
    gammas = [rng.gammavariate(0.3, 1) for _ in range(K)]
    q = [g / math.fsum(gammas) for g in gammas]
    cumulative = list(accumulate(q))
    r_true = [rng.gauss(0, 1) for _ in range(K)]
    win, lose = [], []
    for _ in range(n_pairs):
        a, b = rng.choices(range(K), cum_weights=cumulative, k=2)
        a_wins = rng.random() < 1 / (1 + math.exp(r_true[b] - r_true[a]))
        win.append(a if a_wins else b)
        lose.append(b if a_wins else a)
    r_hat = [float(x) for x in trust_region(win, lose, K, l2=l2)]

    def law(scores, n):
        mass: defaultdict[float, float] = defaultdict(float)
        for score, share in zip(scores, q, strict=True):
            mass[score] += share
        below, conditional = 0.0, {}
        for score in sorted(mass):
            at_most = min(below + mass[score], 1.0)
            conditional[score] = (at_most**n - below**n) / mass[score]
            below = at_most
        return [conditional[score] * share for score, share in zip(scores, q, strict=True)]

    def mean(weights, values):
        return math.fsum(w * v for w, v in zip(weights, values, strict=True))

    def correlation(weights):
        x = [v - mean(weights, r_hat) for v in r_hat]
        y = [v - mean(weights, r_true) for v in r_true]
        covariance = mean(weights, [s * t for s, t in zip(x, y, strict=True)])
        scale = math.sqrt(mean(weights, [s * s for s in x]) * mean(weights, [t * t for t in y]))
        return covariance / scale  # ZeroDivisionError where all of r_hat is 0

    curves: dict[str, list[float]] = {name: [] for name in ("kl", "kl_formula", "proxy", "gold", "gold_select")}
    for n in _N_LIST:
        p = law(r_hat, n)
        kl = math.fsum(s * math.log(s / t) for s, t in zip(p, q, strict=True) if s > 0)
        curves["kl"].append(max(kl, 0.0))
        curves["kl_formula"].append(math.log(n) - (n - 1) / n)
        curves["proxy"].append(mean(p, r_hat))
        curves["gold"].append(mean(p, r_true))
        curves["gold_select"].append(mean(law(r_true, n), r_true))
    return {name: np.array(curve) for name, curve in curves.items()} | {
        "n_seen": len({*win, *lose}),
        "corr_w": correlation(q),
        "corr": correlation([1 / K] * K),
    }


@right_answer(
    "overoptimization_experiment", "order statistics: the law of the largest of n uniforms, mapped through quantiles"
)
def quantiles_of_the_largest(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    r_true, pi_ref = stats.norm.ppf(rng.random(K)), rng.dirichlet(np.full(K, 0.3))
    draws = (
        rng.multinomial(1, pi_ref, size=(n_pairs, 2)).argmax(axis=2)
        if K < 100
        else rng.choice(K, (n_pairs, 2), p=pi_ref)
    )
    chance = expit(r_true[draws[:, 0]] - r_true[draws[:, 1]])
    swap = rng.binomial(1, chance) == 0
    draws[swap] = np.flip(draws[swap], axis=1)
    r_hat = first_order_conditions(draws[:, 0], draws[:, 1], K, l2=l2)

    n = np.array(_N_LIST)[:, None]

    def laws(scores):
        """(len(N_LIST), K): the largest of n uniform numbers is Beta(n, 1), and falls into a level's interval."""
        better, tied = (compare(scores, scores[:, None]) @ pi_ref for compare in (np.greater, np.equal))
        in_level = betainc(n, 1, 1 - better) - betainc(n, 1, np.maximum(1 - better - tied, 0))
        return in_level * pi_ref / tied

    p = laws(r_hat)
    kl = [stats.entropy(row, pi_ref) for row in p]
    data = np.stack([r_hat, r_true])
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.cov(data, aweights=pi_ref)
        corr_w = c[0, 1] / np.sqrt(c[0, 0] * c[1, 1])
        corr = np.cov(data)[0, 1] / np.prod(np.std(data, axis=1, ddof=1))
    return {
        "kl": np.maximum(kl, 0.0),
        "kl_formula": (np.log(n) - (n - 1) / n)[:, 0],
        "proxy": p @ r_hat,
        "gold": p @ r_true,
        "gold_select": laws(r_true) @ r_true,
        "n_seen": int(np.isin(np.arange(K), draws).sum()),
        "corr_w": corr_w,
        "corr": corr,
    }
