"""Wrong answers to online_collection.py: batches of questions, double Thompson sampling, the collection run.

The pieces at the top are right; each mistake puts one thing in the place of one of them.
"""

from itertools import combinations

import numpy as np
from scipy.special import expit, logsumexp

from harness.variants import mistake

BETA = 0.3
RULES = ("random", "bald", "dopt")
STRATEGIES = ("offline_random", "offline_bald", "online_random", "online_bald", "online_dopt", "online_dts")


def _fit(U, Y, lam=1.0):
    """Mode and covariance of the Laplace posterior, by damped Newton steps."""
    V, w = np.where(np.asarray(Y)[:, None] > 0.5, U, -U), np.zeros(U.shape[1])

    def loss(v):
        return np.logaddexp(0.0, -V @ v).sum() + lam / 2 * (v @ v)

    def precision(v):
        return lam * np.eye(len(v)) + (V.T * (expit(V @ v) * expit(-V @ v))) @ V

    for _ in range(100):
        step, size = np.linalg.solve(precision(w), lam * w - V.T @ expit(-V @ w)), 1.0
        while size > 1e-9 and loss(w - size * step) > loss(w) + 1e-12 * (1 + loss(w)):
            size /= 2
        w = w - size * step
        if np.abs(step).max() < 1e-13 * (1 + np.abs(w).max()):
            break
    cov = np.linalg.inv(precision(w))
    return w, (cov + cov.T) / 2


def _draw(w, cov, n, rng):
    """n draws from N(w, cov), one a row."""
    return w + rng.standard_normal((n, len(w))) @ np.linalg.cholesky(cov).T


def _entropy(z):
    """Entropy of an answer with logit z."""
    size = np.abs(z)
    return size * expit(-size) + np.log1p(np.exp(-size))


def _bald(U, samples):
    """Mutual information between the answers and the weights, over draws of the weights."""
    z = samples @ U.T
    p = np.clip(expit(z).mean(axis=0), 1e-300, 1 - 1e-16)
    return _entropy(np.log(p) - np.log1p(-p)) - _entropy(z).mean(axis=0)


def _gain(U, w, C):
    """p(1-p) u'Cu, which orders questions as the log-determinant gain does."""
    p = expit(U @ w)
    return p * (1 - p) * np.einsum("ij,jk,ik->i", U, C, U, optimize=True)


def _scores(rule, U, w, C, rng):
    if rule == "random":
        return rng.random(len(U))
    return _bald(U, _draw(w, C, 64, rng)) if rule == "bald" else np.log1p(_gain(U, w, C))


def _first_best(scores):
    return int(np.flatnonzero(scores >= np.max(scores) - 1e-12)[0])


def _propose(pool, rng, n=3000):
    """Random candidates: two positions of the pool, not one and the same."""
    i, j = rng.integers(len(pool), size=n), rng.integers(len(pool), size=n)
    return pool[i[i != j]], pool[j[i != j]]


def _lower(C, u, p):
    """The covariance after the question u."""
    Cu, weight = C @ u, p * (1 - p)
    return C - np.outer(Cu, Cu) * (weight / (1 + weight * (u @ Cu)))


def _update(C, u, w):
    return _lower(C, u, expit(u @ w))


def _retire(scores, picked):
    scores[picked] = -np.inf


def _batch(rule, X, candidates, w, cov, per, rng, scores=_scores, update=_update, choose=_first_best, retire=_retire):
    """(A, B): `per` greedy picks among the candidates."""
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule}")
    a, b = candidates
    U, C, picked = X[a] - X[b], np.array(cov), []
    for _ in range(per):
        values = np.array(scores(rule, U, w, C, rng))
        retire(values, picked)
        picked.append(choose(values))
        C = update(C, U[picked[-1]], w)
    return a[np.array(picked, dtype=int)], b[np.array(picked, dtype=int)]


# ---- pick_batch


@mistake("pick_batch", "the covariance is not updated within the batch, so it asks one question in many wordings")
def no_update_within_the_batch(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=lambda C, u, w: C)


@mistake("pick_batch", "all candidates are scored once and the best `per` of them are taken together")
def top_of_one_scoring(rule, world, pool, w, cov, per, rng):
    a, b = _propose(pool, rng)
    if rule not in RULES:
        raise ValueError(rule)
    best = np.argsort(-_scores(rule, world.X[a] - world.X[b], w, cov, rng), kind="stable")[:per]
    return a[best], b[best]


@mistake("pick_batch", "the updated covariance is computed, but scores go on using the one that was passed in")
def scores_under_the_first_covariance(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        return _scores(rule, U, w, cov, rng)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "BALD's draws are made once, before the first pick, and used for the whole batch")
def one_set_of_draws(rule, world, pool, w, cov, per, rng):
    samples = _draw(w, cov, 64, rng)

    def scores(rule, U, w, C, rng):
        return _bald(U, samples) if rule == "bald" else _scores(rule, U, w, C, rng)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "BALD's draws come from N(0, C): the posterior's spread without its mean")
def draws_around_zero(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        return _scores(rule, U, np.zeros(len(w)) if rule == "bald" else w, C, rng)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "scores and updates are taken at w = 0, where every answer is a fair coin")
def all_at_zero(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, rng), np.zeros(len(w)), cov, per, rng)


@mistake("pick_batch", "the update takes p averaged over posterior draws instead of p at w")
def update_at_the_predictive(rule, world, pool, w, cov, per, rng):
    def update(C, u, w):
        return _lower(C, u, expit(_draw(w, C, 64, rng) @ u).mean())

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=update)


@mistake("pick_batch", "the update adds to the covariance, so a direction that was asked looks less known")
def update_adds(rule, world, pool, w, cov, per, rng):
    def update(C, u, w):
        return 2 * C - _update(C, u, w)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=update)


@mistake("pick_batch", "the update leaves out the weight p(1-p)")
def update_without_weight(rule, world, pool, w, cov, per, rng):
    def update(C, u, w):
        return C - np.outer(C @ u, C @ u) / (1 + u @ C @ u)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=update)


@mistake("pick_batch", "the update takes every answer for a fair coin, p(1-p) = 1/4")
def update_at_one_half(rule, world, pool, w, cov, per, rng):
    def update(C, u, w):
        return _lower(C, u, 0.5)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=update)


@mistake("pick_batch", "the update leaves out its denominator")
def update_without_denominator(rule, world, pool, w, cov, per, rng):
    def update(C, u, w):
        p = expit(u @ w)
        lowered = C - p * (1 - p) * np.outer(C @ u, C @ u)
        # A matrix that is no covariance any more cannot be drawn from.
        return lowered if np.linalg.eigvalsh(lowered)[0] > 0 else 1e-9 * np.eye(len(u))

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=update)


@mistake("pick_batch", "the update is made for x(a) + x(b) instead of the difference")
def update_with_the_sum(rule, world, pool, w, cov, per, rng):
    if rule not in RULES:
        raise ValueError(rule)
    a, b = _propose(pool, rng)
    C, picked = np.array(cov), []
    for _ in range(per):
        values = _scores(rule, world.X[a] - world.X[b], w, C, rng)
        _retire(values, picked)
        picked.append(_first_best(values))
        C = _update(C, world.X[a[picked[-1]]] + world.X[b[picked[-1]]], w)
    return a[picked], b[picked]


@mistake("pick_batch", "u is a view of the row that is zeroed to retire the pair, so the update is with u = 0")
def update_with_a_zeroed_view(rule, world, pool, w, cov, per, rng):
    if rule not in RULES:
        raise ValueError(rule)
    a, b = _propose(pool, rng)
    U, C, picked = world.X[a] - world.X[b], np.array(cov), []
    for _ in range(per):
        picked.append(_first_best(_scores(rule, U, w, C, rng)))
        u = U[picked[-1]]
        U[picked[-1]] = 0.0
        C = _update(C, u, w)
    return a[picked], b[picked]


@mistake("pick_batch", "w is moved after each pick as if the likelier answer had come")
def believes_the_likelier_answer(rule, world, pool, w, cov, per, rng):
    mode = np.array(w)

    def scores(rule, U, w, C, rng):
        return _scores(rule, U, mode, C, rng)

    def update(C, u, w):
        C, p = _update(C, u, mode), expit(u @ mode)
        mode[:] = mode + C @ u * (float(p >= 0.5) - p)
        return C

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores, update=update)


@mistake("pick_batch", "the D-optimal score leaves out p(1-p): it asks the longest question, known or not")
def longest_question(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        return np.einsum("ij,jk,ik->i", U, C, U) if rule == "dopt" else _scores(rule, U, w, C, rng)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "the score is the uncertainty of the answer at w, which is noise as much as ignorance")
def uncertainty_sampling(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        return rng.random(len(U)) if rule == "random" else _entropy(U @ w)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake(
    "pick_batch", "BALD is the entropy of the mean answer alone: noise that no answer removes counts as information"
)
def entropy_of_the_mean_answer(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        if rule != "bald":
            return _scores(rule, U, w, C, rng)
        p = np.clip(expit(_draw(w, C, 64, rng) @ U.T).mean(axis=0), 1e-300, 1 - 1e-16)
        return _entropy(np.log(p) - np.log1p(-p))

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "D-optimality is replaced by the fall of the trace of the covariance: A-optimality")
def trace_for_determinant(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        if rule != "dopt":
            return _scores(rule, U, w, C, rng)
        p = expit(U @ w)
        return p * (1 - p) * ((U @ C) ** 2).sum(axis=1) / (1 + _gain(U, w, C))

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "the lowest score is taken instead of the highest", severity="blatant")
def lowest_score(rule, world, pool, w, cov, per, rng):
    def lowest(scores):
        return int(np.argmin(np.where(np.isinf(scores), np.inf, scores)))

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, choose=lowest)


@mistake("pick_batch", "pairs are picked at random whatever their scores", severity="blatant")
def any_candidate(rule, world, pool, w, cov, per, rng):
    return _batch("random" if rule in RULES else rule, world.X, _propose(pool, rng), w, cov, per, rng)


@mistake("pick_batch", "a pair is drawn with a probability in proportion to its score instead of the best being taken")
def in_proportion_to_the_score(rule, world, pool, w, cov, per, rng):
    def drawn(scores):
        weights = np.where(np.isinf(scores), 0.0, np.maximum(scores, 0.0)) + 1e-12
        return int(rng.choice(len(scores), p=weights / weights.sum()))

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, choose=drawn)


@mistake("pick_batch", "BALD's and D-optimality's scores are exchanged")
def rules_exchanged(rule, world, pool, w, cov, per, rng):
    other = {"bald": "dopt", "dopt": "bald"}.get(rule, rule)
    return _batch(other, world.X, _propose(pool, rng), w, cov, per, rng)


@mistake("pick_batch", "every rule but BALD falls through to D-optimality, the random one too")
def random_is_dopt(rule, world, pool, w, cov, per, rng):
    return _batch("dopt" if rule == "random" else rule, world.X, _propose(pool, rng), w, cov, per, rng)


@mistake("pick_batch", "a picked candidate is not retired and may win again and again")
def never_retires(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, retire=lambda scores, picked: None)


@mistake("pick_batch", "only the last pick is retired, so that two candidates take turns")
def retires_the_last_pick_only(rule, world, pool, w, cov, per, rng):
    def retire(scores, picked):
        scores[picked[-1:]] = -np.inf

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, retire=retire)


@mistake("pick_batch", "each reply is asked about once in a batch at most: all pairs with it are retired")
def each_reply_once(rule, world, pool, w, cov, per, rng):
    a, b = _propose(pool, rng)

    def retire(scores, picked):
        used = np.concatenate([a[picked], b[picked]])
        spent = np.isin(a, used) | np.isin(b, used)
        scores[spent if not spent.all() else picked] = -np.inf

    return _batch(rule, world.X, (a, b), w, cov, per, rng, retire=retire)


@mistake("pick_batch", "new candidates are proposed before each pick, so the same best pair is found again")
def new_candidates_for_each_pick(rule, world, pool, w, cov, per, rng):
    if rule not in RULES:
        raise ValueError(rule)
    C, pairs = np.array(cov), np.zeros((per, 2), dtype=int)
    for k in range(per):
        a, b = _propose(pool, rng)
        best = _first_best(_scores(rule, world.X[a] - world.X[b], w, C, rng))
        pairs[k] = a[best], b[best]
        C = _update(C, world.X[a[best]] - world.X[b[best]], w)
    return pairs[:, 0], pairs[:, 1]


@mistake("pick_batch", "twenty candidates are looked at instead of 3,000")
def twenty_candidates(rule, world, pool, w, cov, per, rng):
    candidates = _propose(pool, rng, 20)
    while len(candidates[0]) < per:
        candidates = _propose(pool, rng, 20 + per)
    return _batch(rule, world.X, candidates, w, cov, per, rng)


@mistake("pick_batch", "as many candidates are proposed as the pool has replies")
def as_many_candidates_as_replies(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, rng, max(len(pool), 4 * per)), w, cov, per, rng)


@mistake(
    "pick_batch", "the candidates are the first 3,000 pairs of a list: in a large pool, all with its first replies"
)
def first_pairs_of_the_list(rule, world, pool, w, cov, per, rng):
    i, j = np.array(list(combinations(range(len(pool)), 2)))[:3000].T
    return _batch(rule, world.X, (pool[i], pool[j]), w, cov, per, rng)


@mistake("pick_batch", "candidates are neighbours in the pool only")
def neighbours_only(rule, world, pool, w, cov, per, rng):
    i = rng.integers(len(pool), size=3000)
    return _batch(rule, world.X, (pool[i], pool[(i + 1) % len(pool)]), w, cov, per, rng)


@mistake("pick_batch", "A comes from the first half of the pool and B from the second: pairs within a half are missed")
def one_of_each_half(rule, world, pool, w, cov, per, rng):
    half = len(pool) // 2
    i, j = rng.integers(half, size=3000), rng.integers(half, len(pool), size=3000)
    return _batch(rule, world.X, (pool[i], pool[j]), w, cov, per, rng)


@mistake("pick_batch", "the upper limit of rng.integers is taken to be included, so the last position is left out")
def last_position_left_out(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool[:-1], rng), w, cov, per, rng)


@mistake("pick_batch", "candidates come from all replies of the world instead of the pool")
def candidates_from_the_world(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(np.arange(len(world.X)), rng), w, cov, per, rng)


@mistake(
    "pick_batch", "replies equal to each other are left out, which leaves nothing in a pool of one", severity="extreme"
)
def nothing_left_in_a_pool_of_one(rule, world, pool, w, cov, per, rng):
    a, b = _propose(pool, rng)
    return _batch(rule, world.X, (a[a != b], b[a != b]), w, cov, per, rng)


@mistake("pick_batch", "positions of the pool are returned instead of reply numbers", severity="blatant")
def returns_positions(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X[pool], _propose(np.arange(len(pool)), rng), w, cov, per, rng)


@mistake("pick_batch", "features are looked up at positions of the pool instead of at its reply numbers")
def features_of_positions(rule, world, pool, w, cov, per, rng):
    a, b = _batch(rule, world.X, _propose(np.arange(len(pool)), rng), w, cov, per, rng)
    return pool[a], pool[b]


@mistake("pick_batch", "one (per, 2) array is returned instead of the two arrays A and B")
def returns_one_array(rule, world, pool, w, cov, per, rng):
    return np.stack(_batch(rule, world.X, _propose(pool, rng), w, cov, per, rng), axis=1)


@mistake("pick_batch", "Python lists are returned where arrays are promised", severity="blatant")
def returns_lists(rule, world, pool, w, cov, per, rng):
    a, b = _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng)
    return a.tolist(), b.tolist()


@mistake("pick_batch", "the batch holds one pair too many", severity="blatant")
def one_pair_too_many(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, rng), w, cov, per + 1, rng)


@mistake("pick_batch", "the batch holds one pair too few", severity="blatant")
def one_pair_too_few(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, rng), w, cov, per - 1, rng)


@mistake("pick_batch", "candidates are drawn from NumPy's global generator")
def global_candidates(rule, world, pool, w, cov, per, rng):
    i, j = np.random.randint(len(pool), size=(2, 3000))
    return _batch(rule, world.X, (pool[i[i != j]], pool[j[i != j]]), w, cov, per, rng)


@mistake("pick_batch", "the candidates' generator has a fixed seed: every call proposes the same positions")
def same_candidates_in_every_call(rule, world, pool, w, cov, per, rng):
    return _batch(rule, world.X, _propose(pool, np.random.default_rng(0)), w, cov, per, rng)


@mistake("pick_batch", "the random rule draws its scores from a generator of its own")
def scores_from_another_generator(rule, world, pool, w, cov, per, rng):
    def scores(rule, U, w, C, rng):
        return _scores(rule, U, w, C, np.random.default_rng() if rule == "random" else rng)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, scores=scores)


@mistake("pick_batch", "the updates of the batch are written into the caller's covariance")
def lowers_the_callers_covariance(rule, world, pool, w, cov, per, rng):
    def update(C, u, w):
        if cov.flags.writeable:
            cov[:] = _update(cov, u, w)
        return _update(C, u, w)

    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng, update=update)


@mistake("pick_batch", "the caller's pool is shuffled in place")
def shuffles_the_callers_pool(rule, world, pool, w, cov, per, rng):
    if pool.flags.writeable:
        rng.shuffle(pool)
    return _batch(rule, world.X, _propose(pool, rng), w, cov, per, rng)


@mistake("pick_batch", "an unknown rule runs D-optimality")
def unknown_rule_is_dopt(rule, world, pool, w, cov, per, rng):
    return _batch(rule if rule in RULES else "dopt", world.X, _propose(pool, rng), w, cov, per, rng)


@mistake("pick_batch", "the rule is understood whatever its case, so that a name nobody promised is accepted")
def any_case_will_do(rule, world, pool, w, cov, per, rng):
    return _batch(rule.lower(), world.X, _propose(pool, rng), w, cov, per, rng)


@mistake("pick_batch", "an unknown rule raises KeyError from a table of rules")
def unknown_rule_is_a_key_error(rule, world, pool, w, cov, per, rng):
    return _batch({name: name for name in RULES}[rule], world.X, _propose(pool, rng), w, cov, per, rng)


# ---- pick_double_thompson


def _two_favourites(scores, rng):
    """Positions of the best reply under each of two draws; scores (2, n)."""
    return _first_best(scores[0]), _first_best(scores[1])


def _another_reply(pool, reply, rng):
    others = pool[pool != reply]
    return rng.choice(others if len(others) else pool)


def _thompson(X, pool, w, cov, per, rng, draw=_draw, favourites=_two_favourites, opponent=_another_reply):
    pairs = np.zeros((per, 2), dtype=int)
    for k in range(per):
        i, j = favourites(draw(w, cov, 2, rng) @ X[pool].T, rng)
        pairs[k] = pool[i], pool[j]
        if pool[i] == pool[j]:
            pairs[k, 1] = opponent(pool, pool[i], rng)
    return pairs[:, 0], pairs[:, 1]


@mistake(
    "pick_double_thompson", "scores are equal only to the last bit: rounding picks the favourite", severity="extreme"
)
def favourite_by_the_last_bit(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        return int(np.argmax(scores[0])), int(np.argmax(scores[1]))

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "draws that agree are left alone: a reply is compared with itself")
def agreement_left_alone(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, cov, per, rng, opponent=lambda pool, reply, rng: reply)


@mistake("pick_double_thompson", "the opponent is drawn from all positions, so that a reply may meet itself")
def opponent_may_be_itself(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, cov, per, rng, opponent=lambda pool, reply, rng: rng.choice(pool))


@mistake("pick_double_thompson", "the opponent is any other position, which may hold a copy of the favourite")
def opponent_at_another_position(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        here = int(np.flatnonzero(pool == reply)[0])
        return rng.choice(np.delete(pool, here)) if len(pool) > 1 else reply

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake("pick_double_thompson", "the opponent stands at the next position that holds another reply")
def opponent_at_the_next_position(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        turned = np.roll(pool, -int(np.flatnonzero(pool == reply)[0]))
        others = turned[turned != reply]
        return others[0] if len(others) else reply

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake(
    "pick_double_thompson", "replies with equal features count as one reply and are no opponents", severity="extreme"
)
def opponent_with_other_features(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        others = pool[(world.X[pool] != world.X[reply]).any(axis=1)]
        return rng.choice(others if len(others) else pool)

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake("pick_double_thompson", "the opponent is uniform over the different replies, not over the positions")
def opponent_uniform_over_replies(world, pool, w, cov, per, rng):
    return _thompson(
        world.X, pool, w, cov, per, rng, opponent=lambda pool, reply, rng: _another_reply(np.unique(pool), reply, rng)
    )


@mistake(
    "pick_double_thompson",
    "no opponent is looked for in a pool of one reply: a choice from nothing",
    severity="extreme",
)
def no_opponent_in_a_pool_of_one(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, cov, per, rng, opponent=lambda pool, reply, rng: rng.choice(pool[pool != reply]))


@mistake("pick_double_thompson", "the opponent comes from all replies of the world")
def opponent_from_the_world(world, pool, w, cov, per, rng):
    return _thompson(
        world.X,
        pool,
        w,
        cov,
        per,
        rng,
        opponent=lambda pool, reply, rng: _another_reply(np.arange(len(world.X)), reply, rng),
    )


@mistake("pick_double_thompson", "draws are repeated until they disagree; at most a hundred times, then any opponent")
def redraws_until_different(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        for scores in _draw(w, cov, 100, rng) @ world.X[pool].T:
            if pool[_first_best(scores)] != reply:
                return pool[_first_best(scores)]
        return _another_reply(pool, reply, rng)

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake("pick_double_thompson", "one more draw is made when two agree, before the opponent is drawn at random")
def one_more_draw(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        third = pool[_first_best(world.X[pool] @ _draw(w, cov, 1, rng)[0])]
        return third if third != reply else _another_reply(pool, reply, rng)

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake("pick_double_thompson", "a favourite of both draws meets the runner-up instead of a random opponent")
def runner_up_as_opponent(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        others = pool[pool != reply]
        return others[_first_best(world.X[others] @ w)] if len(others) else reply

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake("pick_double_thompson", "when the draws agree, both replies are replaced by random ones")
def both_replaced(world, pool, w, cov, per, rng):
    a, b = _thompson(world.X, pool, w, cov, per, rng, opponent=lambda pool, reply, rng: reply)
    for k in np.flatnonzero(a == b):
        a[k] = rng.choice(pool)
        b[k] = _another_reply(pool, a[k], rng)
    return a, b


@mistake("pick_double_thompson", "two reward models are drawn for the whole batch instead of for each pair")
def two_draws_for_the_batch(world, pool, w, cov, per, rng):
    both = _draw(w, cov, 2, rng)
    return _thompson(world.X, pool, w, cov, per, rng, draw=lambda w, cov, n, rng: both)


@mistake("pick_double_thompson", "one pair is picked and repeated", severity="blatant")
def one_pair_repeated(world, pool, w, cov, per, rng):
    a, b = _thompson(world.X, pool, w, cov, 1, rng)
    return np.repeat(a, per), np.repeat(b, per)


@mistake("pick_double_thompson", "the second draw of a pair serves as the first of the next: pairs form a chain")
def chained_draws(world, pool, w, cov, per, rng):
    chain = iter(_draw(w, cov, per + 1, rng))
    last = [next(chain)]

    def draw(w, cov, n, rng):
        last.append(next(chain))
        return np.stack(last[-2:])

    return _thompson(world.X, pool, w, cov, per, rng, draw=draw)


@mistake("pick_double_thompson", "both favourites are of one and the same draw, so they always agree")
def one_draw_for_both(world, pool, w, cov, per, rng):
    def draw(w, cov, n, rng):
        return np.repeat(_draw(w, cov, 1, rng), 2, axis=0)

    return _thompson(world.X, pool, w, cov, per, rng, draw=draw)


@mistake("pick_double_thompson", "one of the two favourites is that of the posterior mean")
def mean_for_one_of_them(world, pool, w, cov, per, rng):
    def draw(w, cov, n, rng):
        return np.stack([w, _draw(w, cov, 1, rng)[0]])

    return _thompson(world.X, pool, w, cov, per, rng, draw=draw)


@mistake("pick_double_thompson", "the best and the second best reply of one draw are compared")
def best_two_of_one_draw(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        i = _first_best(scores[0])
        others = np.where(pool == pool[i], -np.inf, scores[0])
        return i, int(np.argmax(others))

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "the opponent is always random, drawn or not")
def always_a_random_opponent(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        i = _first_best(scores[0])
        return i, i

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "both replies are drawn at random from the pool", severity="blatant")
def both_at_random(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, cov, per, rng, favourites=lambda scores, rng: rng.integers(len(pool), size=2))


@mistake("pick_double_thompson", "the draws name their worst replies", severity="blatant")
def names_the_worst(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, cov, per, rng, favourites=lambda scores, rng: _two_favourites(-scores, rng))


@mistake("pick_double_thompson", "the second draw names its worst reply, for contrast")
def best_against_worst(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        return _first_best(scores[0]), _first_best(-scores[1])

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "the opponent is the reply about which the two draws differ most")
def largest_disagreement(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        return _first_best(scores[0]), _first_best(scores[1] - scores[0])

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "every reply's score is drawn on its own, as if replies shared no weights")
def scores_drawn_independently(world, pool, w, cov, per, rng):
    mean, sd = world.X @ w, np.sqrt(np.einsum("ij,jk,ik->i", world.X, cov, world.X))

    def favourites(scores, rng):
        first, second = mean + sd * rng.standard_normal((2, len(mean)))
        return _first_best(first[pool]), _first_best(second[pool])

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "replies are drawn in proportion to exp(score) under the mean: Boltzmann exploration")
def boltzmann_exploration(world, pool, w, cov, per, rng):
    logits = world.X[pool] @ w
    p = np.exp(logits - logsumexp(logits))

    def favourites(scores, rng):
        return rng.choice(len(pool), size=2, p=p / p.sum())

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "the mean plus one standard deviation decides: an upper confidence bound, no draw")
def upper_confidence_bound(world, pool, w, cov, per, rng):
    bound = world.X[pool] @ w + np.sqrt(np.einsum("ij,jk,ik->i", world.X[pool], cov, world.X[pool]))

    def favourites(scores, rng):
        return _first_best(bound), _first_best(scores[1])

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "reward models are drawn around 0 instead of around w")
def drawn_around_zero(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, np.zeros(len(w)), cov, per, rng)


@mistake("pick_double_thompson", "each weight is drawn from its own marginal, without the correlations of cov")
def drawn_without_correlations(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, np.diag(np.diag(cov)), per, rng)


@mistake("pick_double_thompson", "the noise of the draws is multiplied by cov instead of a square root of it")
def drawn_with_cov_as_root(world, pool, w, cov, per, rng):
    def draw(w, cov, n, rng):
        return w + rng.standard_normal((n, len(w))) @ cov

    return _thompson(world.X, pool, w, cov, per, rng, draw=draw)


@mistake("pick_double_thompson", "reward models are drawn from the prior N(0, I) instead of the posterior")
def drawn_from_the_prior(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, np.zeros(len(w)), np.eye(len(w)), per, rng)


@mistake("pick_double_thompson", "the covariance is updated after each pair, as in a greedy batch")
def updates_within_the_batch(world, pool, w, cov, per, rng):
    C, pairs = np.array(cov), np.zeros((per, 2), dtype=int)
    for k in range(per):
        a, b = _thompson(world.X, pool, w, C, 1, rng)
        pairs[k] = a[0], b[0]
        C = _update(C, world.X[a[0]] - world.X[b[0]], w)
    return pairs[:, 0], pairs[:, 1]


@mistake("pick_double_thompson", "replies that were picked leave the pool, so later pairs are no favourites")
def picked_replies_leave(world, pool, w, cov, per, rng):
    left, pairs = np.array(pool), np.zeros((per, 2), dtype=int)
    for k in range(per):
        left = left if len(np.unique(left)) > 1 else np.array(pool)
        a, b = _thompson(world.X, left, w, cov, 1, rng)
        pairs[k] = a[0], b[0]
        left = left[(left != a[0]) & (left != b[0])]
        left = left if len(left) else np.array(pool)
    return pairs[:, 0], pairs[:, 1]


@mistake("pick_double_thompson", "a pair that was picked before in the batch is not picked again")
def no_pair_twice(world, pool, w, cov, per, rng):
    seen, a, b = set(), [], []
    for _ in range(per):
        for _ in range(20):
            first, second = (int(column[0]) for column in _thompson(world.X, pool, w, cov, 1, rng))
            if frozenset((first, second)) not in seen:
                break
        seen.add(frozenset((first, second)))
        a.append(first)
        b.append(second)
    return np.array(a, dtype=int), np.array(b, dtype=int)


@mistake("pick_double_thompson", "favourites are looked for among all replies of the world")
def favourites_of_the_world(world, pool, w, cov, per, rng):
    return _thompson(world.X, np.arange(len(world.X)), w, cov, per, rng)


@mistake("pick_double_thompson", "features are looked up at the first n replies instead of those of the pool")
def features_of_the_first_replies(world, pool, w, cov, per, rng):
    def draw(w, cov, n, rng):
        return _draw(w, cov, n, rng)

    def favourites(scores, rng):
        return _two_favourites(latest[0] @ world.X[: len(pool)].T, rng)

    latest = [None]

    def remembered(w, cov, n, rng):
        latest[0] = draw(w, cov, n, rng)
        return latest[0]

    return _thompson(world.X, pool, w, cov, per, rng, draw=remembered, favourites=favourites)


@mistake(
    "pick_double_thompson", "argsort()[-1] takes the last of equally good replies, not the first", severity="extreme"
)
def last_of_equal_scores(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        return tuple(np.argsort(scores, axis=1, kind="stable")[:, -1])

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "a choice among equally good replies is made at random", severity="extreme")
def any_of_equal_scores(world, pool, w, cov, per, rng):
    def favourites(scores, rng):
        return tuple(rng.choice(np.flatnonzero(row >= row.max() - 1e-12)) for row in scores)

    return _thompson(world.X, pool, w, cov, per, rng, favourites=favourites)


@mistake("pick_double_thompson", "positions of the pool are returned instead of replies", severity="blatant")
def thompson_returns_positions(world, pool, w, cov, per, rng):
    return _thompson(world.X[pool], np.arange(len(pool)), w, cov, per, rng)


@mistake("pick_double_thompson", "a list of pairs is returned instead of the two arrays A and B", severity="blatant")
def thompson_returns_a_list(world, pool, w, cov, per, rng):
    return [(int(a), int(b)) for a, b in zip(*_thompson(world.X, pool, w, cov, per, rng), strict=True)]


@mistake("pick_double_thompson", "the opponent is drawn from NumPy's global generator")
def global_opponent(world, pool, w, cov, per, rng):
    def opponent(pool, reply, rng):
        others = pool[pool != reply]
        return np.random.choice(others if len(others) else pool)

    return _thompson(world.X, pool, w, cov, per, rng, opponent=opponent)


@mistake("pick_double_thompson", "the reward models are drawn with a fixed seed: the same pairs in every call")
def same_draws_in_every_call(world, pool, w, cov, per, rng):
    return _thompson(world.X, pool, w, cov, per, np.random.default_rng(0))


@mistake("pick_double_thompson", "the caller's pool is sorted in place before copies are counted")
def sorts_the_callers_pool(world, pool, w, cov, per, rng):
    if pool.flags.writeable:
        pool.sort()
    return _thompson(world.X, pool, w, cov, per, rng)


# ---- run


class _Run:
    """The pieces of a run; a mistake replaces one of them."""

    def __init__(self, world, strategy, rep, per, warmup, pool_size):
        if strategy not in STRATEGIES:
            raise ValueError(f"unknown strategy {strategy}")
        self.world, self.per, self.warmup, self.pool_size = world, per, warmup, pool_size
        self.source, self.rule = strategy.split("_")
        self.rng = np.random.default_rng(rep)
        self.U, self.Y = np.zeros((0, world.X.shape[1])), np.zeros(0)

    def collect(self, rounds):
        self.ask(*self.first_pairs())
        self.w, self.cov = self.fit()
        report = {len(self.Y): (self.gold(), float("nan"))}
        for _ in range(rounds):
            pool = self.new_pool()
            self.ask(*self.pairs(pool))
            self.w, self.cov = self.fit()
            report[len(self.Y)] = (self.gold(), float(self.pool_gold(pool)))
        return report

    def first_pairs(self):
        world = self.world
        return world.sample(world.ref_lp, self.warmup, self.rng), world.sample(world.ref_lp, self.warmup, self.rng)

    def ask(self, a, b):
        self.U = np.concatenate([self.U, self.world.X[a] - self.world.X[b]])
        self.Y = np.concatenate([self.Y, self.answers(a, b)])

    def answers(self, a, b):
        return self.world.label(a, b, self.rng)

    def fit(self):
        return _fit(self.U, self.Y)

    def gold(self):
        return float(self.world.downstream(self.w, BETA)["gold"])

    def tilted(self, r, beta=BETA):
        lp = self.world.ref_lp + r / beta
        return lp - logsumexp(lp)

    def policy(self):
        return self.world.ref_lp if self.source == "offline" else self.tilted(self.world.X @ self.w)

    def new_pool(self):
        return np.asarray(self.world.sample(self.policy(), self.pool_size, self.rng))

    def pairs(self, pool):
        if self.rule == "random":
            return self.random_pairs(pool)
        return self.chosen(pool, self.w, self.cov)

    def random_pairs(self, pool):
        i, j = self.rng.integers(len(pool), size=(2, self.per))
        return pool[i], pool[j]

    def chosen(self, pool, w, cov):
        if self.rule == "dts":
            return _thompson(self.world.X, pool, w, cov, self.per, self.rng)
        return _batch(self.rule, self.world.X, _propose(pool, self.rng), w, cov, self.per, self.rng)

    def pool_gold(self, pool):
        return np.mean(self.world.gold[pool])


@mistake("run", "candidates always come from the SFT policy, online too", severity="blatant")
def always_offline(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.source = "offline"
    return run.collect(rounds)


@mistake("run", "candidates always come from the current policy, offline too", severity="blatant")
def always_online(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.source = "online"
    return run.collect(rounds)


@mistake("run", "the online policy multiplies the reward by beta instead of dividing it")
def policy_times_beta(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.policy = lambda: world.ref_lp if run.source == "offline" else run.tilted(world.X @ run.w, 1 / BETA)
    return run.collect(rounds)


@mistake("run", "the online policy is tilted by X w without dividing by beta")
def policy_without_beta(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.policy = lambda: world.ref_lp if run.source == "offline" else run.tilted(world.X @ run.w, 1.0)
    return run.collect(rounds)


@mistake("run", "the online policy is a softmax of the reward alone, without the SFT policy")
def policy_without_reference(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.policy = lambda: (
        world.ref_lp if run.source == "offline" else world.X @ run.w / BETA - logsumexp(world.X @ run.w / BETA)
    )
    return run.collect(rounds)


@mistake("run", "each round tilts the policy of the round before, so the KL is paid for again and again")
def policy_compounds(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    current = [np.asarray(world.ref_lp)]

    def policy():
        if run.source == "online":
            lp = current[0] + world.X @ run.w / BETA
            current[0] = lp - logsumexp(lp)
        return current[0]

    run.policy = policy
    return run.collect(rounds)


@mistake("run", "online candidates come from the policy of the fit before the newest one")
def policy_one_round_old(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    models = [np.zeros(world.X.shape[1])]

    def policy():
        models.append(run.w)
        return world.ref_lp if run.source == "offline" else run.tilted(world.X @ models[-2])

    run.policy = policy
    return run.collect(rounds)


@mistake("run", "the online policy is that of the warm-up's reward model in every round")
def policy_of_the_warm_up(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, models = _Run(world, strategy, rep, per, warmup, pool_size), []

    def policy():
        models.append(run.w)
        return world.ref_lp if run.source == "offline" else run.tilted(world.X @ models[0])

    run.policy = policy
    return run.collect(rounds)


@mistake("run", "online candidates are drawn with the true quality, which the reward model does not know")
def policy_knows_the_truth(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.policy = lambda: world.ref_lp if run.source == "offline" else run.tilted(2 * world.gold)
    return run.collect(rounds)


@mistake("run", "the online policy follows one draw of the weights instead of the mode")
def policy_of_a_draw(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.policy = lambda: (
        world.ref_lp if run.source == "offline" else run.tilted(world.X @ _draw(run.w, run.cov, 1, run.rng)[0])
    )
    return run.collect(rounds)


@mistake("run", "the online pool is filled with the replies of highest reward instead of samples of the policy")
def greedy_pool(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    sampled = run.new_pool
    run.new_pool = lambda: (
        sampled() if run.source == "offline" else np.resize(np.argsort(-(world.X @ run.w), kind="stable"), pool_size)
    )
    return run.collect(rounds)


@mistake("run", "half of an online pool still comes from the SFT policy")
def half_of_the_pool_from_sft(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    half = pool_size // 2
    run.new_pool = lambda: np.concatenate(
        [world.sample(world.ref_lp, half, run.rng), world.sample(run.policy(), pool_size - half, run.rng)]
    )
    return run.collect(rounds)


@mistake("run", "one pool is sampled before the first round and used in all of them")
def one_pool_for_all_rounds(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, pools = _Run(world, strategy, rep, per, warmup, pool_size), []
    sampled = run.new_pool

    def new_pool():
        pools.append(pools[0] if pools else sampled())
        return pools[0]

    run.new_pool = new_pool
    return run.collect(rounds)


@mistake("run", "each round adds its samples to the pool of the rounds before")
def pool_grows(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, pools = _Run(world, strategy, rep, per, warmup, pool_size), []
    sampled = run.new_pool

    def new_pool():
        pools.append(sampled())
        return np.concatenate(pools)

    run.new_pool = new_pool
    return run.collect(rounds)


@mistake("run", "pool_size is accepted and ignored: a pool always has 200 replies", severity="blatant")
def pool_size_ignored(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return _Run(world, strategy, rep, per, warmup, 200).collect(rounds)


@mistake("run", "per is accepted and ignored: a round always asks 20 questions", severity="blatant")
def per_ignored(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return _Run(world, strategy, rep, 20, warmup, pool_size).collect(rounds)


@mistake("run", "warmup is accepted and ignored: a run always starts with 20 answers", severity="blatant")
def warmup_ignored(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return _Run(world, strategy, rep, per, 20, pool_size).collect(rounds)


@mistake("run", "a round too many is run", severity="blatant")
def one_round_too_many(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds + 1)


@mistake("run", "a run left to itself has ten rounds, not eight")
def ten_rounds_by_default(world, strategy, rep, rounds=10, per=20, warmup=20, pool_size=200):
    return _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)


@mistake("run", "the model is fitted to the answers of the last round only")
def only_the_last_round_counts(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(run.U[-per:], run.Y[-per:]) if len(run.Y) > warmup else _fit(run.U, run.Y)
    return run.collect(rounds)


@mistake("run", "the warm-up answers are thrown away once the first round is in")
def warm_up_thrown_away(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(run.U[warmup:], run.Y[warmup:]) if len(run.Y) > warmup else _fit(run.U, run.Y)
    return run.collect(rounds)


@mistake("run", "the last posterior becomes the prior of the next fit instead of fitting all answers again")
def posterior_becomes_the_prior(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)

    def fit():
        if len(run.Y) == warmup:
            return _fit(run.U, run.Y)
        # Filtering: the answers of the round move the mode, under the covariance of the round before.
        U, Y, precision, w = run.U[-per:], run.Y[-per:], np.linalg.inv(run.cov), run.w
        for _ in range(50):
            p = expit(U @ w)
            curvature = precision + (U.T * (p * (1 - p))) @ U
            step = np.linalg.solve(curvature, precision @ (w - run.w) - U.T @ (Y - p))
            w = w - step / max(1.0, np.abs(U @ step).max())
        return w, np.linalg.inv(curvature)

    run.fit = fit
    return run.collect(rounds)


@mistake("run", "answers of earlier rounds are taken to be out of date, and count half as much with each round")
def old_answers_fade(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)

    def fit():
        age = (len(run.Y) - 1 - np.arange(len(run.Y))) // per
        root = np.sqrt(0.5**age)[:, None]
        return _fit(root * run.U, run.Y)

    run.fit = fit
    return run.collect(rounds)


@mistake("run", "the model of the warm-up is never fitted again")
def never_fitted_again(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(run.U[:warmup], run.Y[:warmup])
    return run.collect(rounds)


@mistake("run", "the fits use a weaker prior than N(0, I)")
def weak_prior(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(run.U, run.Y, 0.1)
    return run.collect(rounds)


@mistake("run", "the reported gold is of the model before the round's answers came in")
def gold_before_the_answers(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, seen = _Run(world, strategy, rep, per, warmup, pool_size), []
    newest = run.gold

    def gold():
        seen.append(newest())
        return seen[max(len(seen) - 2, 0)]

    run.gold = gold
    return run.collect(rounds)


@mistake("run", "features are x(b) - x(a) while the label says that a won")
def features_turned_around(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(-run.U, run.Y)
    return run.collect(rounds)


@mistake("run", "in the rounds, not in the warm-up, features are x(b) - x(a) while the label says that a won")
def round_features_turned_around(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(np.concatenate([run.U[:warmup], -run.U[warmup:]]), run.Y)
    return run.collect(rounds)


@mistake("run", "label(b, a) is asked where label(a, b) is meant", severity="blatant")
def asks_the_other_way_round(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.answers = lambda a, b: world.label(b, a, run.rng)
    return run.collect(rounds)


@mistake("run", "answers are read off the true quality instead of asking: no noise, no annotator")
def answers_without_noise(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.answers = lambda a, b: (world.gold[a] > world.gold[b]).astype(float)
    return run.collect(rounds)


@mistake("run", "every pair is asked three times and the majority recorded as one answer")
def majority_of_three(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.answers = lambda a, b: (sum(world.label(a, b, run.rng) for _ in range(3)) >= 2).astype(float)
    return run.collect(rounds)


@mistake("run", "pairs of a reply with itself are dropped, so there are fewer answers than asked for")
def void_pairs_dropped(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    ask = run.ask
    run.ask = lambda a, b: ask(np.asarray(a)[a != b], np.asarray(b)[a != b])
    return run.collect(rounds)


@mistake("run", "the reported gold is the reward model's own opinion of its policy")
def reports_the_proxy(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.gold = lambda: float(np.exp(run.tilted(world.X @ run.w)) @ (world.X @ run.w))
    return run.collect(rounds)


@mistake("run", "the reported gold is of the policy at beta = 1")
def reports_gold_at_beta_one(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.gold = lambda: float(world.downstream(run.w, 1.0)["gold"])
    return run.collect(rounds)


@mistake("run", "the reported gold is that of the single best reply under the reward model")
def reports_gold_of_the_best_reply(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.gold = lambda: float(world.gold[np.argmax(world.X @ run.w)])
    return run.collect(rounds)


@mistake("run", "the reported gold is a mean over samples of the policy instead of its expectation")
def reports_sampled_gold(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    estimates = np.random.default_rng(rep)
    run.gold = lambda: float(world.gold[world.sample(run.tilted(world.X @ run.w), 1000, estimates)].mean())
    return run.collect(rounds)


@mistake("run", "offline runs report the gold of the SFT policy, which they sample from")
def offline_reports_sft(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    newest = run.gold
    run.gold = lambda: newest() if run.source == "online" else float(np.exp(world.ref_lp) @ world.gold)
    return run.collect(rounds)


@mistake("run", "the second entry is the mean gold of the pairs that were asked, not of the pool")
def gold_of_the_asked(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, asked = _Run(world, strategy, rep, per, warmup, pool_size), []
    ask = run.ask
    run.ask = lambda a, b: (asked.append(np.concatenate([a, b])), ask(a, b))
    run.pool_gold = lambda pool: world.gold[asked[-1]].mean()
    return run.collect(rounds)


@mistake("run", "the second entry is the pool's mean reward under the model instead of its true quality")
def reward_of_the_pool(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.pool_gold = lambda pool: (world.X[pool] @ run.w).mean()
    return run.collect(rounds)


@mistake("run", "copies in the pool are counted once in its mean gold")
def gold_of_different_replies(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.pool_gold = lambda pool: world.gold[np.unique(pool)].mean()
    return run.collect(rounds)


@mistake("run", "the second entry is the expected gold of the policy behind the pool, not the mean of its samples")
def expected_gold_of_the_pools_policy(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, policies = _Run(world, strategy, rep, per, warmup, pool_size), []
    policy = run.policy
    run.policy = lambda: policies.append(policy()) or policies[-1]
    run.pool_gold = lambda pool: np.exp(policies[-1]) @ world.gold
    return run.collect(rounds)


@mistake("run", "the second entry is the mean over all replies of the world")
def gold_of_all_replies(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.pool_gold = lambda pool: world.gold.mean()
    return run.collect(rounds)


@mistake("run", "the gold of a pool is reported one round late, beside the next pool's answers")
def pool_gold_one_round_late(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, seen = _Run(world, strategy, rep, per, warmup, pool_size), [float("nan")]

    def pool_gold(pool):
        seen.append(world.gold[pool].mean())
        return seen[-2]

    run.pool_gold = pool_gold
    return run.collect(rounds)


@mistake("run", "the warm-up reports 0 as the gold of a pool that it has not")
def zero_for_no_pool(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return report | {warmup: (report[warmup][0], 0.0)}


@mistake("run", "the warm-up reports None, not NaN, as the gold of its missing pool")
def none_for_no_pool(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return report | {warmup: (report[warmup][0], None)}


@mistake("run", "keys are the numbers of the rounds instead of the labels so far", severity="blatant")
def keys_are_rounds(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return dict(enumerate(_Run(world, strategy, rep, per, warmup, pool_size).collect(rounds).values()))


@mistake("run", "keys are text, as in a JSON file", severity="blatant")
def keys_are_text(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return {str(labels): entry for labels, entry in report.items()}


@mistake("run", "keys count the labels without those of the warm-up")
def keys_without_warm_up(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return {labels - warmup: entry for labels, entry in report.items()}


@mistake("run", "the entry of the warm-up is missing from the report")
def no_entry_for_the_warm_up(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return {labels: entry for labels, entry in report.items() if labels > warmup}


@mistake("run", "only the gold is reported, without that of the pool", severity="blatant")
def gold_alone(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return {labels: entry[0] for labels, entry in report.items()}


@mistake("run", "a list of entries is returned instead of a dict by number of labels", severity="blatant")
def list_of_entries(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    report = _Run(world, strategy, rep, per, warmup, pool_size).collect(rounds)
    return [(labels, *entry) for labels, entry in report.items()]


@mistake("run", "the warm-up compares neighbours of one list of samples, each reply twice")
def warm_up_in_a_chain(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)

    def first_pairs():
        replies = world.sample(world.ref_lp, warmup + 1, run.rng)
        return replies[:-1], replies[1:]

    run.first_pairs = first_pairs
    return run.collect(rounds)


@mistake("run", "the warm-up compares replies that are uniform over the world instead of the SFT policy's")
def uniform_warm_up(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.first_pairs = lambda: run.rng.integers(len(world.X), size=(2, warmup))
    return run.collect(rounds)


@mistake("run", "the warm-up is random pairs of a pool of pool_size, so its replies come again and again")
def warm_up_from_a_pool(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)

    def first_pairs():
        pool = world.sample(world.ref_lp, pool_size, run.rng)
        return pool[run.rng.integers(pool_size, size=warmup)], pool[run.rng.integers(pool_size, size=warmup)]

    run.first_pairs = first_pairs
    return run.collect(rounds)


@mistake("run", "each strategy has a warm-up of its own: its name goes into the seed")
def seeded_by_strategy(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.rng = np.random.default_rng([rep, STRATEGIES.index(strategy)])
    return run.collect(rounds)


@mistake("run", "the number of rounds goes into the seed, so a shorter run is no prefix of a longer one")
def seeded_by_rounds(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.rng = np.random.default_rng([rep, rounds])
    return run.collect(rounds)


@mistake("run", "rep is accepted and ignored: every repetition has the same seed")
def same_seed_for_every_rep(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return _Run(world, strategy, 0, per, warmup, pool_size).collect(rounds)


@mistake("run", "the generator is not seeded, so no run can be repeated")
def not_seeded(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.rng = np.random.default_rng()
    return run.collect(rounds)


@mistake("run", "a fresh generator of the same seed is made for each round, whose pools then repeat their draws")
def seeded_anew_in_each_round(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    sampled = run.new_pool

    def new_pool():
        run.rng = np.random.default_rng(rep)
        return sampled()

    run.new_pool = new_pool
    return run.collect(rounds)


@mistake("run", "random pairs are neighbours in the pool")
def random_pairs_are_neighbours(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)

    def random_pairs(pool):
        i = run.rng.integers(len(pool), size=per)
        return pool[i], pool[(i + 1) % len(pool)]

    run.random_pairs = random_pairs
    return run.collect(rounds)


@mistake(
    "run", "random pairs take the pool in order, the first `per` against the next, again from the start at its end"
)
def random_pairs_in_order(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.random_pairs = lambda pool: (np.resize(pool, 2 * per)[:per], np.resize(pool, 2 * per)[per:])
    return run.collect(rounds)


@mistake("run", "random pairs never hold the last position of the pool: the upper limit of rng.integers is excluded")
def random_pairs_without_the_last(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    random_pairs = run.random_pairs
    run.random_pairs = lambda pool: random_pairs(pool[:-1] if len(pool) > 1 else pool)
    return run.collect(rounds)


@mistake("run", "random pairs take positions below `per` instead of below the size of the pool")
def random_pairs_of_the_first_positions(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    random_pairs = run.random_pairs
    run.random_pairs = lambda pool: random_pairs(pool[:per])
    return run.collect(rounds)


@mistake("run", "random pairs are drawn from the different replies of the pool, copies counted once")
def random_pairs_without_copies(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    random_pairs = run.random_pairs
    run.random_pairs = lambda pool: random_pairs(np.unique(pool))
    return run.collect(rounds)


@mistake("run", "random pairs compare a reply of the pool with one of the SFT policy")
def random_pairs_against_sft(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.random_pairs = lambda pool: (run.rng.choice(pool, per), world.sample(world.ref_lp, per, run.rng))
    return run.collect(rounds)


@mistake("run", "random pairs all hold the reply that the reward model likes best")
def random_pairs_with_the_best(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.random_pairs = lambda pool: (np.repeat(pool[np.argmax(world.X[pool] @ run.w)], per), run.rng.choice(pool, per))
    return run.collect(rounds)


@mistake("run", "the D-optimal strategy picks by BALD")
def dopt_picks_by_bald(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.rule = "bald" if run.rule == "dopt" else run.rule
    return run.collect(rounds)


@mistake("run", "the BALD strategies pick by D-optimality")
def bald_picks_by_dopt(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.rule = "dopt" if run.rule == "bald" else run.rule
    return run.collect(rounds)


@mistake("run", "double Thompson sampling falls through to random pairs")
def thompson_is_random(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.rule = "random" if run.rule == "dts" else run.rule
    return run.collect(rounds)


@mistake("run", "pairs are chosen with the w and cov of the warm-up in every round")
def chooses_with_the_first_posterior(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, posteriors = _Run(world, strategy, rep, per, warmup, pool_size), []
    chosen = run.chosen

    def with_the_first(pool, w, cov):
        posteriors.append((w, cov))
        return chosen(pool, *posteriors[0])

    run.chosen = with_the_first
    return run.collect(rounds)


@mistake("run", "pairs are chosen with the newest w, but the covariance of the warm-up")
def chooses_with_the_first_covariance(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, covariances = _Run(world, strategy, rep, per, warmup, pool_size), []
    chosen = run.chosen

    def with_the_first(pool, w, cov):
        covariances.append(cov)
        return chosen(pool, w, covariances[0])

    run.chosen = with_the_first
    return run.collect(rounds)


@mistake("run", "pairs are chosen with the newest covariance, but the w of the warm-up")
def chooses_with_the_first_mode(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, modes = _Run(world, strategy, rep, per, warmup, pool_size), []
    chosen = run.chosen

    def with_the_first(pool, w, cov):
        modes.append(w)
        return chosen(pool, modes[0], cov)

    run.chosen = with_the_first
    return run.collect(rounds)


@mistake("run", "pairs are chosen under the prior N(0, I), as if nothing had been learnt")
def chooses_under_the_prior(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    chosen, d = run.chosen, world.X.shape[1]
    run.chosen = lambda pool, w, cov: chosen(pool, np.zeros(d), np.eye(d))
    return run.collect(rounds)


@mistake("run", "the chosen pairs are positions of the pool and are asked as if they were replies")
def asks_about_positions(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    pairs = run.pairs
    run.pairs = lambda pool: tuple(np.searchsorted(np.sort(pool), column) for column in pairs(pool))
    return run.collect(rounds)


@mistake("run", "any other name runs double Thompson sampling, online")
def any_other_name_is_thompson(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    known = strategy if strategy in STRATEGIES else "online_dts"
    return _Run(world, known, rep, per, warmup, pool_size).collect(rounds)


@mistake("run", "the strategy is checked by its beginning and its end, so a cell of the table that is not there runs")
def any_beginning_with_any_end(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    source = next((name for name in ("offline", "online") if strategy.startswith(name)), None)
    rule = next((name for name in ("random", "bald", "dopt", "dts") if strategy.endswith(name)), None)
    if source is None or rule is None:
        raise ValueError(f"unknown strategy {strategy}")
    run = _Run(world, "online_random", rep, per, warmup, pool_size)
    run.source, run.rule = source, rule
    return run.collect(rounds)


@mistake("run", "the strategy is looked at in the first round only, so no rounds accept any name", severity="extreme")
def name_checked_in_the_first_round(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    known = strategy if rounds > 0 else "online_random"
    return _Run(world, known, rep, per, warmup, pool_size).collect(rounds)


@mistake("run", "an unknown strategy raises KeyError from the table of strategies")
def unknown_strategy_is_a_key_error(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return _Run(world, {name: name for name in STRATEGIES}[strategy], rep, per, warmup, pool_size).collect(rounds)


@mistake("run", "only the latest 100 answers are fitted to", severity="subtle")
def forgets_old_answers(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run = _Run(world, strategy, rep, per, warmup, pool_size)
    run.fit = lambda: _fit(run.U[-100:], run.Y[-100:])
    return run.collect(rounds)


@mistake("run", "from the fourth round on, pools come from the policy of the third", severity="subtle")
def policy_is_kept_from_the_third_round(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    run, policies = _Run(world, strategy, rep, per, warmup, pool_size), []
    newest = run.policy

    def kept():
        policies.append(newest())
        return policies[min(len(policies), 3) - 1]

    run.policy = kept
    return run.collect(rounds)


@mistake("run", "the entries are reported from the most labels down", severity="extreme")
def entries_from_the_last_to_the_first(world, strategy, rep, rounds=8, per=20, warmup=20, pool_size=200):
    return dict(reversed(_Run(world, strategy, rep, per, warmup, pool_size).collect(rounds).items()))
