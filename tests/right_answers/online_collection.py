"""Right answers to online_collection.py, written in other ways than the reference: they must pass every fact."""

import itertools

import numpy as np
import torch
from scipy import optimize, special, stats

from harness.variants import right_answer

STRATEGIES = ("offline_random", "offline_bald", "online_random", "online_bald", "online_dopt", "online_dts")


def _require(name, known):
    if name not in known:
        raise ValueError(f"expected one of {known}, got {name!r}")


def _best(scores):
    """The first position within 1e-12 of the best."""
    return int(np.nonzero(np.asarray(scores) > np.max(scores) - 1e-12)[0][0])


def _lowered(C, u, w):
    weight = special.expit(u @ w) * special.expit(-(u @ w))
    return C - weight / (1 + weight * (u @ C @ u)) * np.outer(C @ u, C @ u)


def _h(p):
    return special.entr(p) + special.entr(1 - p)


def _bald(U, samples):
    p = special.expit(U @ samples.T)
    return _h(p.mean(axis=1)) - _h(p).mean(axis=1)


def _gain(U, w, C):
    z = U @ w
    return np.log1p(special.expit(z) * special.expit(-z) * ((U @ C) * U).sum(axis=1))


def _posterior(U, Y):
    """SciPy's trust region, and Newton steps to finish."""

    def loss(w):
        return np.logaddexp(0, U @ w).sum() - Y @ (U @ w) + w @ w / 2

    def gradient(w):
        return U.T @ (special.expit(U @ w) - Y) + w

    def hessian(w):
        return (U.T * (special.expit(U @ w) * special.expit(-U @ w))) @ U + np.eye(len(w))

    w = optimize.minimize(loss, np.zeros(U.shape[1]), jac=gradient, hess=hessian, method="trust-exact").x
    for _ in range(4):
        w = w - np.linalg.solve(hessian(w), gradient(w))
    return w, np.linalg.inv(hessian(w))


# ---- pick_batch


@right_answer("pick_batch", "all pairs of positions of a small pool, 3,000 of them without replacement of a large one")
def all_pairs_of_a_small_pool(rule, world, pool, w, cov, per, rng):
    _require(rule, ("random", "bald", "dopt"))
    pairs = list(itertools.combinations(range(len(pool)), 2))
    if len(pairs) > 3000:
        pairs = [pairs[k] for k in rng.choice(len(pairs), 3000, replace=False)]
    C = np.array(cov)
    picked: list[tuple[int, int]] = []
    while len(picked) < per:
        U = np.array([world.X[pool[i]] - world.X[pool[j]] for i, j in pairs])
        if rule == "random":
            k = int(rng.integers(len(pairs)))
        elif rule == "bald":
            k = _best(_bald(U, rng.multivariate_normal(w, C, 40)))
        else:
            k = _best(_gain(U, w, C))
        picked.append(pairs.pop(k))
        C = _lowered(C, U[k], w)
    numbers = np.array([(pool[i], pool[j]) for i, j in picked], dtype=np.int64).reshape(per, 2)
    return numbers[:, 0], numbers[:, 1]


@right_answer(
    "pick_batch", "the precision is kept and raised, inverted for each pick; 16 draws; no candidate is void if it can"
)
def keeps_the_precision(rule, world, pool, w, cov, per, rng):
    if rule not in ["random", "bald", "dopt"]:
        raise ValueError("unknown rule " + repr(rule))
    first = rng.integers(0, len(pool), 3000)
    second = (first + rng.integers(1, len(pool), 3000)) % len(pool)
    candidates = [(pool[i], pool[j]) for i, j in zip(first, second, strict=True)]
    different = [pair for pair in candidates if pair[0] != pair[1]]
    a, b = np.array(different or candidates).T
    U, precision = world.X[a] - world.X[b], np.linalg.inv(cov)
    open_, A, B = np.ones(len(U), dtype=bool), [], []
    for _ in range(per):
        C = np.linalg.inv(precision)
        if rule == "random":
            score = rng.uniform(size=len(U))
        elif rule == "bald":
            root = np.linalg.cholesky((C + C.T) / 2)
            score = _bald(U, np.stack([w + root @ rng.normal(size=len(w)) for _ in range(16)]))
        else:
            score = _gain(U, w, C)
        k = _best(np.where(open_, score, -np.inf))
        open_[k] = False
        A.append(b[k])
        B.append(a[k])
        precision = precision + special.expit(U[k] @ w) * special.expit(-U[k] @ w) * np.outer(U[k], U[k])
    return np.array(A, dtype=np.int64), np.array(B, dtype=np.int64)


@right_answer(
    "pick_batch", "each different question is scored once, BALD with 300 draws; the random rule is one draw of all"
)
def scores_each_question_once(rule, world, pool, w, cov, per, rng):
    _require(rule, ("random", "bald", "dopt"))
    i, j = rng.integers(len(pool), size=(2, 3000))
    a, b = pool[i[i != j]], pool[j[i != j]]
    if rule == "random":
        picked = rng.choice(len(a), per, replace=False)
        return a[picked], b[picked]
    questions, number = np.unique(np.round(world.X[a] - world.X[b], 12), axis=0, return_inverse=True)
    number, C = number.ravel(), cov.copy()
    out: list[int] = []
    for _ in range(per):
        scores = _gain(questions, w, C) if rule == "dopt" else _bald(questions, rng.multivariate_normal(w, C, 300))
        scores = scores[number]
        scores[out] = -1.0
        out.append(_best(scores))
        C = _lowered(C, world.X[a[out[-1]]] - world.X[b[out[-1]]], w)
    chosen = np.array(out, dtype=int)
    return a[chosen], b[chosen]


@right_answer("pick_batch", "D-optimality by variances that each pick lowers, BALD by exact integrals over the logit")
def variances_and_integrals(rule, world, pool, w, cov, per, rng):
    _require(rule, ("random", "bald", "dopt"))
    i, j = rng.integers(len(pool), size=(2, 3000))
    a, b = pool[i[i != j]], pool[j[i != j]]
    U = world.X[a] - world.X[b]
    z, CU = U @ w, U @ cov
    weight = special.expit(z) * special.expit(-z)
    used, grid = np.zeros(len(U), dtype=bool), stats.norm.ppf((np.arange(400) + 0.5) / 400)
    picked = np.zeros(per, dtype=int)
    for t in range(per):
        variance = np.maximum((CU * U).sum(axis=1), 0.0)
        if rule == "dopt":
            score = np.log1p(weight * variance)
        elif rule == "bald":
            laws, law = np.unique(np.round(np.stack([np.abs(z), variance], axis=1), 12), axis=0, return_inverse=True)
            p = special.expit(laws[:, :1] + np.sqrt(laws[:, 1:]) * grid)
            score = (_h(p.mean(axis=1)) - _h(p).mean(axis=1))[law.ravel()]
        else:
            score = rng.random(len(U))
        k = picked[t] = _best(np.where(used, -np.inf, score))
        used[k] = True
        CU = CU - np.outer(CU @ U[k], CU[k]) * (weight[k] / (1 + weight[k] * variance[k]))
    return a[picked], b[picked]


@right_answer("pick_batch", "PyTorch throughout, with torch's own topk over scores that are masked")
def in_torch(rule, world, pool, w, cov, per, rng):
    _require(rule, {"random", "bald", "dopt"})
    X = torch.tensor(np.asarray(world.X))
    pairs = torch.tensor(rng.integers(len(pool), size=(3000, 2)))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    replies = torch.tensor(np.asarray(pool, dtype=np.int64))[pairs]
    U, mode, C = X[replies[:, 0]] - X[replies[:, 1]], torch.tensor(np.asarray(w)), torch.tensor(np.array(cov))
    mask, picked = torch.zeros(len(U), dtype=torch.float64), []
    for _ in range(per):
        if rule == "random":
            scores = torch.tensor(rng.random(len(U)))
        elif rule == "dopt":
            scores = torch.log1p(torch.sigmoid(U @ mode) * torch.sigmoid(-(U @ mode)) * ((U @ C) * U).sum(dim=1))
        else:
            draws = mode + torch.tensor(rng.standard_normal((64, len(w)))) @ torch.linalg.cholesky(C).T
            p = torch.sigmoid(draws @ U.T)
            entropy = torch.special.entr(p) + torch.special.entr(1 - p)
            mean = p.mean(dim=0)
            scores = torch.special.entr(mean) + torch.special.entr(1 - mean) - entropy.mean(dim=0)
        scores = scores + mask
        k = int((scores >= scores.max() - 1e-12).nonzero()[0])
        mask[k] = -torch.inf
        picked.append(replies[k].tolist())
        Cu, p = C @ U[k], torch.sigmoid(U[k] @ mode)
        C = C - torch.outer(Cu, Cu) * (p * (1 - p) / (1 + p * (1 - p) * (U[k] @ Cu)))
    columns = np.array(picked, dtype=np.int32).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


# ---- pick_double_thompson


@right_answer("pick_double_thompson", "pair by pair; which reply is called A is decided by a coin")
def pair_by_pair_with_a_coin(world, pool, w, cov, per, rng):
    A, B = [], []
    for _ in range(per):
        first, second = (pool[_best(world.X[pool] @ rng.multivariate_normal(w, cov))] for _ in range(2))
        if first == second:
            others = [reply for reply in pool if reply != first]
            second = others[rng.integers(len(others))] if others else first
        if rng.random() < 0.5:
            first, second = second, first
        A.append(int(first))
        B.append(int(second))
    return np.array(A, dtype=np.int64), np.array(B, dtype=np.int64)


@right_answer(
    "pick_double_thompson", "all draws at once; opponents by rejection, from positions drawn until they differ"
)
def opponents_by_rejection(world, pool, w, cov, per, rng):
    values, vectors = np.linalg.eigh(cov)
    draws = w + (rng.standard_normal((2, per, len(w))) * np.sqrt(np.maximum(values, 0))) @ vectors.T
    scores = draws @ world.X[pool].T
    A, B = pool[(scores >= scores.max(axis=2, keepdims=True) - 1e-12).argmax(axis=2)]
    B = B.copy()
    if len(set(pool.tolist())) > 1:
        while (same := A == B).any():
            B[same] = pool[rng.integers(len(pool), size=int(same.sum()))]
    return A, B


@right_answer(
    "pick_double_thompson", "opponents by the counts of the different replies; the first of a pair is replaced"
)
def opponents_by_counts(world, pool, w, cov, per, rng):
    replies, copies = np.unique(pool, return_counts=True)
    pairs = np.empty((per, 2), dtype=np.int64)
    L = np.linalg.cholesky(cov)
    for pair in pairs:
        for side in (1, 0):
            pair[side] = pool[_best(world.X[pool] @ (w + L @ rng.standard_normal(len(w))))]
        if pair[0] == pair[1] and len(replies) > 1:
            weights = copies * (replies != pair[1])
            pair[0] = rng.choice(replies, p=weights / weights.sum())
    return tuple(pairs.T)


@right_answer("pick_double_thompson", "scores are drawn jointly by their own covariance X C X', never the weights")
def joint_scores(world, pool, w, cov, per, rng):
    # Copies of a reply have one score, which they share; the replies stand in the order of their first positions.
    order = np.array(list(dict.fromkeys(pool.tolist())), dtype=np.int64)
    values, vectors = np.linalg.eigh(world.X[order] @ cov @ world.X[order].T)
    values[: -len(w)] = 0.0  # the rank is d at most; what rounding leaves there is not random
    root = vectors * np.sqrt(np.maximum(values, 0))
    A, B = np.empty((2, per), dtype=np.int64)
    for k in range(per):
        first, second = world.X[order] @ w + rng.standard_normal((2, len(order))) @ root.T
        A[k], B[k] = order[_best(first)], order[_best(second)]
    for same in np.flatnonzero(A == B):
        others = pool[pool != A[same]]
        B[same] = rng.choice(others) if others.size else A[same]
    return A, B


@right_answer(
    "pick_double_thompson", "a shuffled list of positions: the first that holds another reply is the opponent"
)
def opponent_from_a_shuffled_list(world, pool, w, cov, per, rng):
    features, chosen = world.X[pool], []
    for draws in rng.multivariate_normal(w, cov, size=(per, 2), method="cholesky").reshape(per, 2, -1):
        i, j = (_best(features @ draw) for draw in draws)
        if pool[i] == pool[j]:
            shuffled = rng.permutation(len(pool))
            j = next((k for k in shuffled if pool[k] != pool[i]), shuffled[0])
        chosen.append([pool[j], pool[i]])
    return np.array([pair[0] for pair in chosen], dtype=int), np.array([pair[1] for pair in chosen], dtype=int)


# ---- run


@right_answer("run", "as in the lecture, with the strategy checked first")
def as_in_the_lecture(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    _require(strategy, STRATEGIES)
    rng = np.random.default_rng(rep)
    a, b = world.sample(world.ref_lp, warmup, rng), world.sample(world.ref_lp, warmup, rng)
    U, Y = world.X[a] - world.X[b], world.label(a, b, rng)
    w, cov = _posterior(U, Y)
    out = {warmup: (world.downstream(w, 0.3)["gold"], np.nan)}
    for _ in range(rounds):
        source = world.ref_lp
        if strategy.startswith("online"):
            source = special.log_softmax(world.ref_lp + world.X @ w / 0.3)
        pool = world.sample(source, pool_size, rng)
        if strategy.endswith("random"):
            a, b = pool[rng.integers(0, pool_size, per)], pool[rng.integers(0, pool_size, per)]
        elif strategy.endswith("dts"):
            a, b = pair_by_pair_with_a_coin(world, pool, w, cov, per, rng)
        else:
            a, b = scores_each_question_once(strategy.split("_")[1], world, pool, w, cov, per, rng)
        U = np.vstack([U, world.X[a] - world.X[b]])
        Y = np.concatenate([Y, world.label(a, b, rng)])
        w, cov = _posterior(U, Y)
        out[len(Y)] = (world.downstream(w, 0.3)["gold"], world.gold[pool].mean())
    return out


@right_answer("run", "lists of comparisons from which all is built anew; the warm-up is sampled in one call")
def lists_of_comparisons(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    _require(strategy, STRATEGIES)
    rng, asked, answers, report = np.random.default_rng(int(rep)), [], [], {}
    replies = world.sample(world.ref_lp, 2 * warmup, rng).tolist()
    batch, pool = list(zip(replies[::2], replies[1::2], strict=True)), None
    while True:
        for pair in batch:
            asked.append(pair)
            answers.append(float(world.label(np.array(pair[:1]), np.array(pair[1:]), rng)[0]))
        U = np.array([world.X[i] - world.X[j] for i, j in asked])
        w, cov = _posterior(U, np.array(answers))
        mean = float("nan") if pool is None else sum(float(world.gold[reply]) for reply in pool) / len(pool)
        report[len(answers)] = [float(world.downstream(w, 0.3)["gold"]), mean]
        if len(report) > rounds:
            return report
        lp = np.array(world.ref_lp)
        if strategy[:7] != "offline":
            lp += world.X @ w / 0.3
            lp -= special.logsumexp(lp)
        pool = world.sample(lp, pool_size, rng)
        rule = strategy[strategy.index("_") + 1 :]
        if rule == "random":
            batch = [tuple(rng.choice(pool, 2, replace=False).tolist()) for _ in range(per)]
        elif rule == "dts":
            batch = list(zip(*opponents_by_counts(world, pool, w, cov, per, rng), strict=True))
        else:
            batch = list(zip(*keeps_the_precision(rule, world, pool, w, cov, per, rng), strict=True))


@right_answer("run", "a generator of its own for each purpose, all from the seed of the repetition")
def one_generator_for_each_purpose(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    _require(strategy, STRATEGIES)
    pools, pairs, labels = (np.random.default_rng(seed) for seed in np.random.SeedSequence(rep).spawn(3))
    a, b = world.sample(world.ref_lp, 2 * warmup, pools).reshape(2, warmup)
    A, B, Y, report, mean_gold = a, b, world.label(a, b, labels), {}, np.float64("nan")
    w, cov = np.zeros(world.X.shape[1]), np.eye(world.X.shape[1])
    for t in range(rounds + 1):
        if t > 0:
            tilt = 0.0 if strategy.startswith("off") else world.X @ w / 0.3
            pool = world.sample(special.log_softmax(world.ref_lp + tilt), pool_size, pools)
            mean_gold = np.bincount(pool, minlength=len(world.gold)) @ world.gold / pool_size
            match strategy.split("_")[1]:
                case "random":
                    a, b = pairs.choice(pool, (2, per))
                case "dts":
                    a, b = opponents_by_rejection(world, pool, w, cov, per, pairs)
                case rule:
                    a, b = all_pairs_of_a_small_pool(rule, world, pool, w, cov, per, pairs)
            A, B, Y = np.append(A, a), np.append(B, b), np.append(Y, world.label(a, b, labels))
        w, cov = _posterior(world.X[A] - world.X[B], Y)
        report[warmup + t * per] = (world.downstream(w, 0.3)["gold"], mean_gold)
    return report


@right_answer("run", "each round's pool in small portions, fits that start at the last mode, pickers in a table")
def pools_in_portions(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    pickers = {"bald": variances_and_integrals, "dopt": variances_and_integrals}
    _require(strategy, STRATEGIES)
    where, how = strategy.split("_")
    rng = np.random.default_rng([2024, rep])
    U, w = np.zeros((warmup + rounds * per, world.X.shape[1])), np.zeros(world.X.shape[1])
    Y: list[float] = []
    report = {}

    def ask(a, b):
        U[len(Y) : len(Y) + len(a)] = world.X[a] - world.X[b]
        Y.extend(world.label(a, b, rng))

    def fit(w):
        V = U[: len(Y)] * (2 * np.array(Y) - 1)[:, None]
        for _ in range(200):
            q = special.expit(-V @ w)
            precision = np.eye(len(w)) + (V.T * (q * special.expit(V @ w))) @ V
            step = np.linalg.solve(precision, w - V.T @ q)
            # Newton's decrement damps: self-concordance makes this converge from anywhere.
            reach = np.abs(V @ step).max()
            w = w - step / (1 + (reach if reach > 1e-3 else 0.0))
            if np.abs(step).max() < 1e-14:
                break
        return w, np.linalg.inv(precision)

    pairs = [np.concatenate([world.sample(world.ref_lp, 1, rng) for _ in range(warmup)]) for _ in range(2)]
    ask(*pairs)
    w, cov = fit(w)
    report[warmup] = world.downstream(w, 0.3)["gold"], float("nan")
    for _ in range(rounds):
        lp = world.ref_lp if where == "offline" else world.ref_lp + world.X @ w / 0.3
        lp = lp - special.logsumexp(lp)
        sizes = [7] * (pool_size // 7) + [pool_size % 7] * (pool_size % 7 > 0)
        pool = np.concatenate([world.sample(lp, size, rng) for size in sizes])
        if how == "random":
            i = rng.integers(pool_size, size=per)
            a, b = pool[i], pool[(i + rng.integers(1, max(pool_size, 2), size=per)) % pool_size]
        elif how == "dts":
            a, b = opponent_from_a_shuffled_list(world, pool, w, cov, per, rng)
        else:
            a, b = pickers[how](how, world, pool, w, cov, per, rng)
        ask(a, b)
        w, cov = fit(w)
        report[len(Y)] = world.downstream(w, 0.3)["gold"], float(np.average(world.gold[pool]))
    return report
