r"""Facts about online_collection.py: batches of questions, double Thompson sampling, and the whole collection run.

Notation: u = x(a) - x(b) the features of a question, N(w, C) the posterior of the weights, s = sigmoid, p = s(u . w);
a pool is a list of reply numbers, with copies. A pair is unordered: which of the two is called A is free.
What a run did is read off the world it ran in, which remembers (worlds.py).
"""

from itertools import combinations

import numpy as np
from scipy import stats
from scipy.special import expit

from checks.worlds import SpyWorld, bare_world, ordinary_world
from harness.facts import fact
from harness.statistics import ALPHA, frequency, multinomial, spend
from harness.tolerance import (
    Contradiction,
    array,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_raises_value_error,
    assert_true,
    describe,
    number,
)

BETA = 0.3
CANDIDATES = 3000
RULES = ("random", "bald", "dopt")
STRATEGIES = ("offline_random", "offline_bald", "online_random", "online_bald", "online_dopt", "online_dts")
FITTED = 1e-6  # w is right to 1e-8; features of a few units, divided by beta, cost two digits


@fact(
    function="pick_batch",
    promise="Pick `per` pairs of a pool greedily, each by its score given that the ones before it are already asked. "
    "… Score the candidates, u = X[a] - X[b], with `acquisition_scores` of the rule under N(w, C); at first "
    "C = cov. … Take the candidate with the best score … Update C as if the answer were in, with p = "
    "sigmoid(u . w): the information does not depend on the answer, and w stays. Then on with 2, until there "
    "are `per` pairs. … (A, B), two integer arrays (per,) of reply numbers (not positions): pair k compares "
    "A[k] and B[k].",
    defines=True,
    weight=3,
    hint="After each pick go on with the covariance that its answer would leave, with p at w.",
)
def check_batch_is_greedy_in_log_determinant(impl, seed):
    r"""Under "dopt" each pick has the largest information gain, given that the picks before it are asked.

        u_k = argmax_u log det(P_k + p(1-p) u u') - log det P_k,   P_1 = C^-1,   P_(k+1) = P_k + p(1-p) u_k u_k'

    Source: greedy maximisation of a log-determinant; Srinivas et al. 2010, section 2.
    """
    rng = np.random.default_rng(seed)
    for d, scale, per in ((2, 1.0, 3), (3, 1.0, 5), (4, 1.0, 5), (5, 0.5, 5), (2, 3.0, 3), (3, 3.0, 4)):
        world, pool, w, cov, greedy = greedy_problem(rng, d, scale, per)
        batch = batch_of(impl, "dopt", world, pool, w, cov, per, rng)
        batch, greedy = batch[np.lexsort(batch.T)], greedy[np.lexsort(greedy.T)]
        assert_true(np.array_equal(batch, greedy), "the batch is not the greedy one", batch, greedy)


@fact(
    function="pick_batch",
    promise='"bald" uses fresh draws from N(w, C) for each pick … Update C as if the answer were in',
    weight=2,
    false_alarm=ALPHA,
    hint="Draw the samples of each pick from the covariance that the picks before it leave.",
)
def check_bald_batch_asks_in_every_direction(impl, seed):
    r"""Under a wide posterior, d BALD picks from a star with d arms are linearly independent.

        C = 10^4 I, replies 0, e_1 ... e_d:   in the span of those asked the answer is known, outside it tells log 2

    Source: the mutual information of a batch counts what its questions share once; Kirsch et al. 2019 (BatchBALD).
    """
    rng = np.random.default_rng(seed)
    d = 3
    world = bare_world(np.vstack([np.zeros(d), np.eye(d)]))
    # With 64 draws a pick, chance misleads one batch in 10^5. Scores that forget the picks span in 96 of 216 batches.
    design = frequency(0.99, detects=0.5)
    spanning = 0
    for _ in range(design.n):
        batch = batch_of(impl, "bald", world, np.arange(d + 1), np.zeros(d), 1e4 * np.eye(d), d, rng)
        spanning += int(np.linalg.matrix_rank(world.X[batch[:, 0]] - world.X[batch[:, 1]]) == d)
    design._replace(high=design.n).check(spanning, "batches that ask in every direction")


@fact(
    function="pick_batch",
    promise='with `acquisition_scores` of the rule under N(w, C) … "bald" uses fresh draws from N(w, C)',
    weight=2,
    false_alarm=ALPHA,
    hint="Hand the rule on to the scores; BALD's draws come from N(w, C), not from N(0, C).",
)
def check_bald_asks_what_draws_dispute_and_dopt_what_the_mode_doubts(impl, seed):
    r"""BALD asks where posterior draws disagree, D-optimality where the mode is unsure, neither where both are sure.

        u . w ~ N(12, 36^2): BALD 0.5, dopt 0.008;   N(0, 0.49): 0.05 and 0.12;   N(20, 3^2): 0 and 0

    Source: Houlsby et al. 2011, eq. 2, against the log-determinant of the Laplace posterior.
    """
    rng = np.random.default_rng(seed)
    disputed, known = 3, 4
    world = bare_world(np.vstack([np.zeros(4), np.diag([0.7, 0.7, 1.0, 1.0])]))
    w, cov = np.array([0.0, 0.0, 12.0, 20.0]), np.diag([1.0, 1.0, 36.0**2, 9.0])
    with_disputed, with_known = np.array([2, disputed, 0, 1, disputed, 0]), np.array([2, known, 0, 1, known, 0])
    for rule in ("bald", "dopt"):
        batch = batch_of(impl, rule, world, with_known, w, cov, 2, rng)
        assert_true(not (batch == known).any(), f"{rule} asks what is known", batch)
    batch = batch_of(impl, "dopt", world, with_disputed, w, cov, 2, rng)
    assert_true(not (batch == disputed).any(), "dopt asks by another rule", batch)
    # All of 16 draws agree once in 1,500 picks. Of random batches one in three asks nothing else.
    design = frequency(0.95, detects=0.4)
    batches = (batch_of(impl, "bald", world, with_disputed, w, cov, 2, rng) for _ in range(design.n))
    asked = sum(int((batch == disputed).any(axis=1).all()) for batch in batches)
    design._replace(high=design.n).check(asked, "batches of bald that ask about what is disputed")


@fact(
    function="pick_batch",
    promise="Score the candidates, u = X[a] - X[b], with `acquisition_scores` … Take the candidate with the best score",
    weight=2,
    false_alarm=3 * ALPHA,
    seconds=8.0,
    hint="Score every candidate, whatever its mean: one question of a thousand may be the disputed one.",
)
def check_bald_finds_the_one_disputed_reply_among_many(impl, seed):
    r"""BALD asks about the one reply that draws dispute, far from even odds or not, and of two rather the one of both.

        u . w ~ N(-100, 1000^2) among N(0, 1) and N(0, 2): BALD 0.69, at most 2/8 in expectation
        u . w ~ N(0, 4) among N(20, 4), N(20, 0.02) and N(0, 0.02): BALD 0.25, at most 0.02/8
        u . w ~ N(0, 16), as two replies move against each other, among N(0, 4): BALD 0.42, 0.25

    Source: Houlsby et al. 2011, eq. 2; a mutual information is at most an eighth of the variance of the logit.
    """
    rng = np.random.default_rng(seed)
    d = 80
    world, last = bare_world(np.vstack([np.zeros(d), np.eye(d)])), np.eye(d)[-1]
    # In the second case replies come in two halves, 20 apart: the disputed one has even odds against its own half only.
    replies = np.arange(1, d + 1)
    far = -100 * last, np.diag(1 + (1e6 - 1) * last), replies, 1
    near = np.repeat([20.0, 0.0], d // 2), np.diag(0.01 + 3.99 * last), replies, d // 2 + 1
    against = np.eye(d)[-2] - last
    often = np.append(replies, np.repeat([d - 1, d], 10))  # or the one pair might not be proposed
    two = np.zeros(d), 0.01 * np.eye(d) + 3.99 * np.outer(against, against), often, d - 1
    # With 16 draws a pick, chance misled one of 1,800 batches.
    design = frequency(0.98, detects=0.5)
    for w, cov, pool, least in (far, near, two):
        asked = 0
        for _ in range(design.n):
            batch = batch_of(impl, "bald", world, rng.permutation(pool), w, cov, 1, rng)
            asked += int((batch == d).any() and batch.min() >= least)
        design._replace(high=design.n).check(asked, "batches that ask about the disputed reply")


@fact(
    function="pick_batch",
    promise='With "random" every candidate is equally likely at each pick. … candidates that are one and the same '
    "position are left out",
    false_alarm=ALPHA,
    hint='Under "random" the scores are uniform draws, and the best of them is anywhere.',
)
def check_random_rule_makes_every_pair_equally_likely(impl, seed):
    r"""Under "random" every pair of the pool is picked with the same probability, whatever the posterior.

        P({i, j}) = 2 / (n (n - 1)),   n positions with different replies

    Source: the maximum of independent uniform scores is anywhere.
    """
    rng = np.random.default_rng(seed)
    world, pool = bare_world(rng.standard_normal((9, 2))), np.array([8, 3, 6, 1, 4])
    pairs = list(combinations(sorted(pool.tolist()), 2))
    one_left_out = np.array([float(8 not in pair) for pair in pairs])
    design = multinomial(np.full(len(pairs), 1 / len(pairs)), detects=[one_left_out / one_left_out.sum()])
    batches = [batch_of(impl, "random", world, pool, np.zeros(2), np.eye(2), 2, rng) for _ in range(design.n)]
    # One of each batch: whether candidates are drawn with replacement is free, and so is the order of a batch.
    design.check(counted([batch[rng.integers(2)] for batch in batches], pairs), "not every pair is equally likely")


@fact(
    function="pick_batch",
    promise="The same candidate is not picked again in this batch.",
    seconds=40.0,
    false_alarm=ALPHA,
    hint="Retire the candidate that was picked: its score must not win again.",
)
def check_no_candidate_is_picked_twice(impl, seed):
    r"""A pair is picked at most as often as it stands among the 3,000 candidates, whatever the rule.

        P(some pair is a candidate m times) <= n(n-1)/2 P(Bin(3000, 2/(n(n-1))) >= m)

    Source: union bound. The 81 widest pairs teach little, and are about 310 candidates: they must run out.
    """
    rng = np.random.default_rng(seed)
    n, per, ends = 40, 370, np.repeat([-1.0, 1.0], 9)
    x = np.append(ends, np.zeros(n - len(ends))) + rng.uniform(-0.1, 0.1, n)
    world, pairs = bare_world(x[:, None]), n * (n - 1) / 2
    most = int(stats.binom.isf(ALPHA / len(RULES) / pairs, CANDIDATES, 1 / pairs))
    for rule in RULES:
        batch = batch_of(impl, rule, world, rng.permutation(n), np.zeros(1), 0.01 * np.eye(1), per, rng)
        spend(ALPHA / len(RULES))
        _, times = np.unique(batch, axis=0, return_counts=True)
        assert_true(times.max() <= most, f"{rule}: one pair is picked again and again", times.max(), f"at most {most}")


@fact(
    function="pick_batch",
    promise="two positions of the pool, drawn uniformly and independently",
    false_alarm=2 * ALPHA,
    hint="Draw positions from 0 to n - 1: the first and the last one are as likely as any other.",
)
def check_first_and_last_position_are_as_likely_as_the_others(impl, seed):
    r"""Under "random" a position of the pool is in a pair as often as any other.

        P(position i is in a pair) = 2 / n

    Source: two of n positions. Detects a position that counts twice: numbers from -1 on, or up to n cut off at n - 1.
    """
    rng = np.random.default_rng(seed)
    n, per, once = 20, 96, 1 / 21
    twice = 4 * once * (1 - 2 * once) / (1 - 4 * once**2 - 19 * once**2)
    design = frequency(2 / n, detects=twice)
    world, pool = bare_world(rng.standard_normal((n, 2))), rng.permutation(n)
    # The 190 pairs without replacement scatter less than independent ones.
    batches = [
        batch_of(impl, "random", world, pool, np.zeros(2), np.eye(2), per, rng) for _ in range(design.n // per + 1)
    ]
    picked = np.concatenate(batches)[: design.n]
    for name, reply in (("first", pool[0]), ("last", pool[-1])):
        design.check(int((picked == reply).any(axis=1).sum()), f"pairs that hold the {name} position")


@fact(
    function="pick_batch",
    promise="Propose `N_CANDIDATES` candidate pairs at random: two positions of the pool, drawn uniformly and "
    "independently",
    seconds=10.0,
    false_alarm=2 * ALPHA,
    hint="Propose N_CANDIDATES = 3000 pairs of positions of the pool.",
)
def check_three_thousand_candidates_are_proposed(impl, seed):
    r"""3,000 random candidates hold the best pair of a pool of 50 nine times in ten.

        P(found) = 1 - (1 - 2/n^2)^3000 = 0.91 at n = 50, 0.45 at n = 100;   0.70 with 1,500 candidates at n = 50

    Source: independent draws of two positions. (Looking at more pairs finds it more often, and is right as well.)
    Detects half of the candidates, and that BALD sees only pairs that are candidates twice.
    """
    rng = np.random.default_rng(seed)
    twice = 1 - stats.binom.cdf(1, CANDIDATES, 2 / 100**2)
    for rule, n, less in (("dopt", 50, found(50, 1500)), ("bald", 100, twice)):
        world = bare_world(rng.permutation(n)[:, None] / n)
        best = sorted((int(world.X.argmin()), int(world.X.argmax())))
        design = frequency(found(n, CANDIDATES), detects=less)
        hits = 0
        for _ in range(design.n):
            batch = batch_of(impl, rule, world, rng.permutation(n), np.zeros(1), np.eye(1), 1, rng)
            hits += int((batch == best).all())
        design._replace(high=design.n).check(hits, f"{rule}: batches that hold the best pair of {n}")


@fact(
    function="pick_batch",
    promise="Propose `N_CANDIDATES` candidate pairs at random … where all randomness comes from",
    false_alarm=ALPHA,
    hint="Draw the candidates from the whole pool, in every call anew, and from the rng that was passed.",
)
def check_every_call_looks_at_other_candidates(impl, seed):
    r"""In a pool of 200 two calls rarely find one and the same question to be the best, unless it is the best of all.

        P = sum_(r >= 1) (c (1-c)^r)^2 = c (1-c)^2 / (2-c) <= 0.0902,   c = P(a given pair is a candidate)

    Source: one reply is far from all others; of its partners, r that are farther were no candidates. (c = 1 with all
    pairs as candidates, which is right as well: P = 0.)
    """
    rng = np.random.default_rng(seed)
    n = 200
    design = frequency(0.0902, detects=0.8)
    repeated = 0
    for _ in range(design.n):
        places = rng.permutation(n)
        world = bare_world(np.where(places == 0, 9.0, places / n)[:, None])
        pool, best = rng.permutation(n), sorted((int(places.argmin()), int(np.flatnonzero(places == 1)[0])))
        batches = [batch_of(impl, "dopt", world, pool, np.zeros(1), np.eye(1), 2, rng) for _ in range(2)]
        one, other = (batch[np.ptp(world.X[batch, 0], axis=1).argmax()].tolist() for batch in batches)
        repeated += int(one == other != best)
    design._replace(low=0).check(repeated, "two calls with one best question, which is not the best of the pool")


@fact(
    function="pick_batch",
    promise="In a pool that holds a single reply the pairs are void, that reply against itself. … n >= 2; a reply "
    "may stand in it several times",
    hint="Candidates with u = 0 score 0, and are picked where there is nothing else.",
)
def check_batch_from_a_pool_of_one_reply_is_void(impl, seed):
    r"""A pool that holds one reply only gives `per` pairs of that reply with itself.

        pool = (y, y, y, y):   A = B = (y, ..., y)

    Source: the edge case of the definition; late online pools come near it.
    """
    rng = np.random.default_rng(seed)
    world = bare_world(rng.standard_normal((9, 2)))
    for rule in RULES:
        batch = batch_of(impl, rule, world, np.full(4, 7), np.ones(2), np.eye(2), 3, rng)
        assert_true((batch == 7).all(), "a pool of one reply gives pairs of that reply", batch)


@fact(
    function="pick_batch",
    promise="where all randomness comes from … Arguments are not modified.",
    hint="Copy cov before you update it, and draw from rng alone.",
)
def check_batch_leaves_arguments_alone_and_follows_rng(impl, seed):
    r"""pool, w and cov stay as they are; one state of rng gives one batch, another state another batch.

        pick_batch(..., default_rng(s)) = pick_batch(..., default_rng(s))

    Source: all randomness comes from rng.
    """
    rng = np.random.default_rng(seed)
    world, pool = bare_world(rng.standard_normal((30, 3))), rng.permutation(30)
    w, cov = rng.standard_normal(3), covariance(rng, 3)
    for rule in RULES:
        pick_batch = impl.online_collection.pick_batch
        assert_leaves_arguments_alone(pick_batch, rule, world, pool, w, cov, 6, np.random.default_rng(seed))
        first, again, other = (
            batch_of(impl, rule, world, pool, w, cov, 6, np.random.default_rng(s)) for s in (seed, seed, seed + 1)
        )
        assert_true(np.array_equal(first, again), "one state of rng, two batches", again, first)
        # The others may answer alike: their scores can be exact, and the candidates all pairs.
        assert_true(rule != "random" or not np.array_equal(first, other), "two states of rng, one batch", other)


@fact(
    function="pick_batch",
    promise="ValueError: an unknown rule (graded)",
    hint="Compare the rule with RULES before you start, instead of falling back on another.",
)
def check_batch_of_an_unknown_rule_raises(impl):
    r"""A rule that is none of the three raises ValueError.

        pick_batch("BALD", ...), pick_batch("thompson", ...)

    Source: a misspelt name must not silently run something else.
    """
    world = bare_world(np.arange(8.0).reshape(4, 2))
    for rule in ("BALD", "thompson", "d-opt", ""):
        arguments = (rule, world, np.arange(4), np.zeros(2), np.eye(2), 2, np.random.default_rng(0))
        assert_raises_value_error(impl.online_collection.pick_batch, *arguments)


@fact(
    function="pick_double_thompson",
    promise="Pick `per` pairs by double Thompson sampling: the favourites of two reward models drawn from the "
    "posterior. For each pair anew, draw two independent weight vectors from N(w, cov). Each names its "
    "favourite, the reply of the pool with the highest X . weights … (A, B), two integer arrays (per,) of "
    "reply numbers (not positions): pair k compares A[k] and B[k].",
    defines=True,
    weight=3,
    false_alarm=ALPHA,
    hint="Two independent draws for each pair; each names the reply of the pool with the highest X . draw.",
)
def check_two_draws_name_the_two_replies(impl, seed):
    r"""On a line of n replies a draw names one of its ends, a or b; if both name one end, its opponent is random.

        p = Phi(v . w / sqrt(v' C v)), v from b to a:
        P({a, b}) = 2pq + (p^2 + q^2)/(n-1),   P(a with one in between) = p^2 (n-2)/(n-1),   for b with q = 1 - p

    Source: the score along the line is normal; double Thompson sampling as in Dwaracherla et al. 2024, simplified.
    """
    rng = np.random.default_rng(seed)
    n, d, deviations = 40, 3, 0.5
    v, cov = rng.standard_normal(d), covariance(rng, d)
    spread = np.sqrt(v @ cov @ v)
    w = rng.standard_normal(d)
    w += v * (deviations * spread - v @ w) / (v @ v)
    line = rng.permutation(n)
    world = bare_world(rng.standard_normal(d) + np.outer(line / (n - 1), v))
    b, a = int(line.argmin()), int(line.argmax())
    p = float(stats.norm.cdf(deviations))
    narrow = float(stats.norm.cdf(deviations * np.sqrt(2)))  # at half the variance
    wrong = [end_laws(p, 1 - p, n), end_laws(0.25, 0.25, n), end_laws(narrow**2, (1 - narrow) ** 2, n)]
    design = multinomial(end_laws(p * p, (1 - p) ** 2, n), detects=wrong)
    pairs = thompson(impl, world, rng.permutation(n), w, cov, 2 * design.n, rng)
    # Void pairs are the business of the next fact.
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][: design.n]
    with_a, with_b = (pairs == a).any(axis=1), (pairs == b).any(axis=1)
    assert_true((with_a | with_b).all(), "no draw names a reply between two others", pairs[~(with_a | with_b)][:3])
    counts = [(with_a & with_b).sum(), (with_a & ~with_b).sum(), (with_b & ~with_a).sum()]
    design.check(counts, "both ends, the better end, the worse end")


@fact(
    function="pick_double_thompson",
    promise="If the two name the same reply (replies are compared, not positions), the second is replaced by an "
    "opponent drawn uniformly from the positions of the pool that hold another reply … a reply may stand in "
    "it several times, and then is as many times as likely to be drawn as an opponent … The posterior is not "
    "updated within the batch",
    weight=2,
    false_alarm=2 * ALPHA,
    hint="If both draws name one reply, take the opponent uniformly from the positions that hold another reply.",
)
def check_pairs_follow_the_law_of_two_favourites(impl, seed):
    r"""Favourites are independent; one of both draws meets a uniform position of the pool that holds another reply.

        P({i, j}) = 2 f_i f_j + f_i^2 n_j/(n - n_i) + f_j^2 n_i/(n - n_j),   f_i = P(i is the favourite of a draw)

    n_i of the n positions hold i. In the plane f_i is the probability of a draw in the normal cone of vertex i.

    Source: definition; the probability of an orthant under a bivariate normal law.
    """
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * (np.arange(5) + rng.uniform(0, 0.5, 5)) / 5
    vertices = np.stack([2 * np.cos(angles), np.sin(angles)], axis=1)
    world = bare_world(np.vstack([vertices, [[0.1, 0.05], [-0.05, 0.1]]]))
    w, cov, f = plane_problem(rng, vertices)
    copies, f = np.array([1, 3, 1, 2, 1, 2, 4]), np.append(f, [0.0, 0.0])
    cells = list(combinations(range(7), 2))
    law = two_favourites(f, copies, cells)
    uncorrelated = np.append(favourites(vertices, w, np.diag(np.diag(cov))), [0.0, 0.0])
    design = multinomial(law, detects=[two_favourites(uncorrelated, copies, cells)])
    afresh = frequency(shared(law, cells), detects=0.9)
    pool, per = rng.permutation(np.repeat(np.arange(7), copies)), max(design.n, 2 * afresh.n)
    pairs = thompson(impl, world, pool, w, cov, per, rng)
    assert_true((pairs[:, 0] != pairs[:, 1]).all(), "a reply meets itself although the pool holds others", pairs)
    design.check(counted(pairs[: design.n], cells), "the pairs")
    first, second = pairs[0 : 2 * afresh.n : 2], pairs[1 : 2 * afresh.n : 2]
    common = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    afresh.check(int(common.sum()), "a pair shares a reply with the next")


@fact(
    function="pick_double_thompson",
    promise="(replies are compared, not positions) … drawn uniformly from the positions of the pool that hold "
    "another reply … A reply meets itself only if the pool holds no other.",
    false_alarm=ALPHA,
    hint="Compare replies, not positions: copies of the favourite are no opponents.",
)
def check_certain_favourite_meets_uniform_opponents(impl, seed):
    r"""If the posterior is certain, every pair is the best reply of the pool against another, drawn by position.

        pool (3, 0, 0, 0, 1, 3, 3), 3 the best:   P({3, 0}) = 3/4,   P({3, 1}) = 1/4

    Source: both draws name reply 3, at whichever of its positions.
    """
    rng = np.random.default_rng(seed)
    world = bare_world([[0.0, 1.0], [-1.0, 0.5], [9.0, 9.0], [1.0, 2.0]])
    design = multinomial([0.75, 0.25], detects=[[0.5, 0.5]])
    pairs = thompson(impl, world, np.array([3, 0, 0, 0, 1, 3, 3]), np.ones(2), 1e-12 * np.eye(2), design.n, rng)
    assert_true(((pairs == 3).sum(axis=1) == 1).all(), "each pair is reply 3 against another", pairs[:5])
    design.check(counted(pairs, [(0, 3), (1, 3)]), "the opponents")


@fact(
    function="pick_double_thompson",
    promise="among equal scores the first position of the pool that is within `TIE` of the best … and a pair may "
    "come again",
    false_alarm=2 * ALPHA,
    hint="Of equal scores take the first position; replies are told apart by number, and a pair may come again.",
)
def check_first_of_equal_favourites_meets_its_twin(impl, seed):
    r"""Of two best replies that score the same the first in the pool is the favourite, and the other a fair opponent.

        pool (3, 1, 0), x_3 = 1, x_1 = 1 or 1 + 2e-13, x_0 = 0:   P({3, 1}) = P({3, 0}) = 1/2
        P(the next pair is the same) = 1/2

    Source: definition; a pair may come again, as every pair is drawn anew.
    """
    rng = np.random.default_rng(seed)
    design, again = multinomial([0.5, 0.5], detects=[[0.95, 0.05]]), frequency(0.5, detects=0.05)
    arguments = np.array([3, 1, 0]), np.ones(1), 1e-12 * np.eye(1), 2, rng
    world, near = (bare_world([[0.0], [1.0 + more], [2.0], [1.0]]) for more in (0.0, 2e-13))
    pairs = np.stack([thompson(impl, world, *arguments) for _ in range(max(design.n, again.n))])
    assert_true((thompson(impl, near, *arguments) == 3).any(axis=1).all(), "reply 3 is within TIE of the best")
    assert_true((pairs == 3).any(axis=2).all(), "each pair holds reply 3, the first of the best", pairs[:5])
    design.check(counted(pairs[: design.n, 0], [(1, 3), (0, 3)]), "the opponents")
    again.check(int((pairs[: again.n, 0] == pairs[: again.n, 1]).all(axis=1).sum()), "a pair comes twice in a batch")


@fact(
    function="pick_double_thompson",
    promise="or from all positions if there is none",
    hint="If no position holds another reply, any position will do.",
)
def check_thompson_pairs_of_one_reply_are_void(impl, seed):
    r"""In a pool that holds one reply only, every pair is that reply with itself.

        pool = (y, y, y):   A = B = (y, ..., y)

    Source: the edge case of the definition; late online pools come near it.
    """
    rng = np.random.default_rng(seed)
    world = bare_world(rng.standard_normal((9, 2)))
    pairs = thompson(impl, world, np.full(3, 5), np.ones(2), np.eye(2), 4, rng)
    assert_true((pairs == 5).all(), "a pool of one reply gives pairs of that reply", pairs)


@fact(
    function="pick_double_thompson",
    promise="where all randomness comes from … Arguments are not modified.",
    hint="Draw from rng alone, and work on copies.",
)
def check_thompson_leaves_arguments_alone_and_follows_rng(impl, seed):
    r"""pool, w and cov stay as they are; one state of rng gives the same pairs again, another state others.

        pick_double_thompson(..., default_rng(s)) = pick_double_thompson(..., default_rng(s))

    Source: all randomness comes from rng.
    """
    rng = np.random.default_rng(seed)
    world, pool = bare_world(rng.standard_normal((30, 4))), rng.permutation(30)[:20]
    w, cov = 0.1 * rng.standard_normal(4), covariance(rng, 4)
    arguments = (world, pool, w, cov, 25)
    pick = impl.online_collection.pick_double_thompson
    assert_leaves_arguments_alone(pick, *arguments, np.random.default_rng(seed))
    first, again, other = (thompson(impl, *arguments, np.random.default_rng(s)) for s in (seed, seed, seed + 1))
    assert_true(np.array_equal(first, again), "one state of rng, two answers", again, first)
    assert_true(not np.array_equal(first, other), "two states of rng, one answer", other)


@fact(
    function="run",
    promise="Collect preferences in rounds with one strategy; report after each fit how good RLHF with that reward "
    "model is. … and `fit_laplace` (prior precision 1) fits w and cov to U = X[a] - X[b] and the answers of "
    "world.label(a, b). … asks world.label(A, B) for these pairs, adds them to all data so far, warm-up "
    "included, and fits again. … {number of labels so far: (gold, pool gold)} with rounds + 1 entries … gold "
    'is world.downstream(w, BETA)["gold"] of the reward model fitted to that many labels',
    defines=True,
    weight=3,
    hint="After every round fit to all answers so far, the warm-up included, and report that model's policy.",
)
def check_gold_is_of_the_policy_fitted_to_all_answers(impl, seed):
    r"""The entry at n labels is the gold of the RLHF policy whose reward model is fitted to the first n answers.

        sum_y gold(y) q(y) exp(w_n . x(y) / 0.3) / Z,   U'(Y - s(U w_n)) = w_n over the first n comparisons

    Source: definition, at n = warmup, warmup + per, ...; w_n by its first-order condition.
    """
    rng = np.random.default_rng(seed)
    for strategy in STRATEGIES:
        world = ordinary_world(rng)
        per = 30 if strategy.endswith(("random", "dts")) else 4  # of many answers none is forgotten
        report = collect(impl, world, strategy, seed, rounds=5, per=per, warmup=7, pool_size=11)
        for labels, (gold, _) in report.items():
            policy = world.rlhf_policy(world.posterior(labels)[0], BETA)
            assert_exact(gold, policy @ world.gold, f"{strategy}: gold after {labels} labels", within=FITTED)


@fact(
    function="run",
    promise='with world.sample: from world.ref_lp if the strategy is "offline_...", and from the RLHF policy of the '
    'current reward model, proportional to exp(ref_lp + X w / BETA), if "online_..."',
    weight=2,
    hint="Online, sample from the SFT policy tilted by X w / beta, w of the newest fit.",
)
def check_candidates_come_from_sft_or_from_the_current_policy(impl, seed):
    r"""Pools are drawn from the SFT policy offline, and online from the RLHF policy of the newest reward model.

        q(y) offline,   q(y) exp(w_n . x(y) / 0.3) / Z online;   the warm-up from q

    Source: definition; the policy is the closed form, eq. 4 of Rafailov et al. 2023.
    """
    rng = np.random.default_rng(seed)
    for strategy in STRATEGIES:
        world = ordinary_world(rng)
        rounds, per, warmup = 6, 3, 8
        collect(impl, world, strategy, seed, rounds=rounds, per=per, warmup=warmup, pool_size=9)
        sft = np.exp(world.ref_lp)
        for draw in world.draws:
            if draw.answers_before < warmup or strategy.startswith("offline"):
                assert_exact(draw.policy, sft, f"{strategy}: not drawn from the SFT policy", within=FITTED)
            elif draw.answers_before < warmup + rounds * per:
                current = world.rlhf_policy(world.posterior(draw.answers_before)[0], BETA)
                assert_exact(draw.policy, current, f"{strategy}: not drawn from the current policy", within=FITTED)


@fact(
    function="run",
    promise="Each round then 1. samples a fresh pool of `pool_size` replies … pool gold is the mean of world.gold "
    "over the pool (all of it, not the chosen pairs) that the last `per` of them came from: a pool of the "
    "policy one entry before. For the warm-up, which has no pool, pool gold is NaN. Both are floats.",
    hint="A fresh pool each round; the pairs come from it, and its gold is the mean over all of it.",
)
def check_every_round_asks_about_its_own_pool(impl, seed):
    r"""A round draws `pool_size` replies, asks `per` questions about them, and reports the mean gold of these replies.

        second entry = mean of gold over the pool (copies count);   NaN at the warm-up, which has no pool

    Source: definition.
    """
    rng = np.random.default_rng(seed)
    for strategy in STRATEGIES:
        world = ordinary_world(rng)
        warmup, per, size = 5, 3, 40
        report = collect(impl, world, strategy, seed, rounds=3, per=per, warmup=warmup, pool_size=size)
        for labels, (_, pool_gold) in report.items():
            if labels == warmup:
                assert_true(np.isnan(pool_gold), "there is no pool at the warm-up", pool_gold, float("nan"))
                continue
            pool, asked = world.pool_after(labels - per), world.comparisons.part(labels - per, labels).unordered()
            assert_true(len(pool) == size, f"{strategy}: size of the pool", len(pool), size)
            assert_true(np.isin(asked, pool).all(), f"{strategy}: questions about replies not in the pool", asked, pool)
            assert_exact(pool_gold, world.gold[pool].mean(), f"{strategy}: mean gold of the pool at {labels} labels")
        if strategy.startswith("offline"):  # an online policy may come down to one reply, and its pools to copies of it
            pools = [world.pool_after(labels) for labels in range(warmup, warmup + 3 * per, per)]
            for one, other in combinations(pools, 2):
                # Alike by chance: (sum q^2)^40, below 10^-20.
                assert_true(not np.array_equal(one, other), f"{strategy}: one pool in two rounds", one)


@fact(
    function="run",
    promise="The warm-up pairs and answers of a rep are the same for every strategy. … another rep other data",
    hint="Nothing before the first round may depend on the strategy.",
)
def check_warm_up_of_a_repetition_is_the_same_for_every_strategy(impl, seed):
    r"""Strategies share the warm-up of a repetition, pairs and answers; another repetition has another.

        (a, b, Y) of the warm-up depend on rep alone

    Source: definition; differences between strategies are paired.
    """
    warmup = 12
    seen = {}
    for strategy, rep in [*((name, 0) for name in STRATEGIES), ("online_dts", 1), ("offline_random", seed)]:
        world = ordinary_world(np.random.default_rng(seed))
        report = collect(impl, world, strategy, rep, rounds=1, per=2, warmup=warmup, pool_size=6)
        seen[strategy, rep] = np.stack([*world.comparisons.part(0, warmup), np.full(warmup, report[warmup][0])])
    first, *same = (seen[name, 0] for name in STRATEGIES)
    for other in same:
        assert_exact(other, first, "strategies differ in the warm-up", within=FITTED)
    for key in (("online_dts", 1), ("offline_random", seed)):
        assert_true(not np.array_equal(seen[key][:2], first[:2]), "two repetitions with one warm-up", seen[key][:2])


@fact(
    function="run",
    promise="Warm-up: `warmup` pairs, all replies drawn from the SFT policy with world.sample, are compared",
    false_alarm=ALPHA,
    hint="Both replies of a warm-up pair are drawn from the SFT policy.",
)
def check_warm_up_pairs_are_independent_draws_from_sft(impl, seed):
    r"""The warm-up compares two independent draws from the SFT policy.

        P({i, j}) is proportional to q_i q_j over pairs of different replies

    Source: definition.
    """
    q = np.array([0.38, 0.25, 0.2, 0.12, 0.05])
    design, cells = random_pairs_design(q)
    warmup = 3 * design.n
    world = SpyWorld(ordinary_world(np.random.default_rng(seed), n=5).X, np.zeros(5), np.log(q))
    collect(impl, world, "offline_random", seed, rounds=0, per=2, warmup=warmup, pool_size=5)
    drawn, needed = sum(len(draw.replies) for draw in world.draws if draw.answers_before < warmup), 2 * warmup
    assert_true(drawn >= needed, "too few draws: a reply serves in two pairs of the warm-up", drawn, needed)
    design.check(counted(different(world.comparisons.unordered())[: design.n], cells), "the warm-up pairs")


@fact(
    function="run",
    promise='"..._random": both replies from positions of the pool drawn uniformly',
    false_alarm=2 * ALPHA,
    hint="Both replies come from uniform positions of the whole pool.",
)
def check_random_pairs_are_spread_over_the_pool(impl, seed):
    r"""The random strategies compare replies at uniform positions of the pool.

        P({i, j}) is proportional to n_i n_j over pairs of different replies, n_i positions of the pool hold i

    Source: definition.
    """
    rng = np.random.default_rng(seed)
    q = np.array([0.38, 0.25, 0.2, 0.12, 0.05])
    design, cells = random_pairs_design(q)
    for strategy in ("offline_random", "online_random"):
        world = SpyWorld(ordinary_world(rng, n=5).X, np.zeros(5), np.log(q), pool_laws={6: q})
        collect(impl, world, strategy, seed, rounds=1, per=4 * design.n, warmup=6, pool_size=40)
        positions = np.bincount(world.pool_after(6), minlength=5)
        law = np.array([positions[i] * positions[j] for i, j in cells], dtype=np.float64)
        asked = different(world.comparisons.part(6, 6 + 4 * design.n).unordered())
        design._replace(law=tuple(law / law.sum())).check(counted(asked[: design.n], cells), "the random pairs")


@fact(
    function="run",
    promise='"..._random": both replies from positions of the pool drawn uniformly',
    false_alarm=2 * ALPHA,
    hint="Draw both positions below pool_size, and the two independently.",
)
def check_random_pairs_reach_every_position(impl, seed):
    r"""The random strategies pair any position of the pool with any other, in small pools and in large ones.

        pool of 5:   P({i, j}) is proportional to n_i n_j;   pool of 200:   P(one of the first 60) = 0.3, with copies

    Source: definition; here hardly a reply is in the pool twice, so that positions can be told.
    """
    rng = np.random.default_rng(seed)
    warmup, small, large, per = 4, 5, 200, 60
    X, gold, laws = rng.standard_normal((4000, 1)), np.zeros(4000), {warmup: np.full(4000, 1 / 4000)}
    half, last = [0.19] * 5 + [0.01] * 5, [0.16] * 6 + [0.01] * 4
    design = multinomial(np.full(10, 0.1), detects=[half, last])

    world = SpyWorld(X, gold, pool_laws=laws)
    collect(impl, world, "offline_random", seed, rounds=1, per=4 * design.n, warmup=warmup, pool_size=small)
    pool = world.pool_after(warmup)
    assert_true(len(pool) == small, "size of the pool", len(pool), small)
    replies, copies = np.unique(pool, return_counts=True)
    law = np.array([n * m for n, m in combinations(copies.tolist(), 2)], dtype=np.float64)
    asked = different(world.comparisons.part(warmup, warmup + 4 * design.n).unordered())[: design.n]
    counts = counted(asked, list(combinations(replies.tolist(), 2)))
    design._replace(law=tuple(law / law.sum())).check(counts, "the random pairs of a pool of 5")

    world = SpyWorld(X, gold, pool_laws=laws)
    collect(impl, world, "online_random", seed, rounds=1, per=per, warmup=warmup, pool_size=large)
    pool, asked = world.pool_after(warmup), world.comparisons.part(warmup, warmup + per).unordered()
    assert_true(len(pool) == large, "size of the pool", len(pool), large)
    early = frequency(float(np.isin(pool, pool[:per]).mean()), detects=0.95)
    # One reply of each pair: the two of a pair need not be independent.
    drawn = np.isin(asked, pool[:per])[np.arange(per), rng.integers(2, size=per)][: early.n]
    early.check(int(drawn.sum()), f"replies of the first {per} positions")


@fact(
    function="run",
    promise="chooses `per` pairs of the pool with the current w and cov",
    weight=2,
    hint="Pick with the w and cov of the newest fit.",
)
def check_dopt_asks_the_best_question_of_the_current_posterior(impl, seed):
    r"""Each round of "online_dopt" asks the question of its pool that gains most under the newest Laplace posterior.

        max over the batch of p(1-p) u'Cu = max over the pool,   (w, C) fitted to all answers before

    Source: the first of a greedy batch is the best alone.
    """
    rng = np.random.default_rng(seed)
    warmup, per, rounds = 9, 2, 8
    # In a pool of 14 some candidate is the best pair, but for (1 - 2/14^2)^3000 = 5e-14.
    for _ in range(3):
        world = ordinary_world(rng, n=8, pool_laws={warmup: np.full(8, 1 / 8)})
        collect(impl, world, "online_dopt", seed, rounds=rounds, per=per, warmup=warmup, pool_size=14)
        for labels in range(warmup, warmup + rounds * per, per):
            w, cov = world.posterior(labels)
            asked = world.comparisons.part(labels, labels + per).unordered()
            possible = np.array(list(combinations(np.unique(world.pool_after(labels)), 2)))
            got, best = (gains(world.X, pairs, w, np.linalg.inv(cov)).max() for pairs in (asked, possible))
            assert_exact(got, best, f"the best gain in the batch after {labels} labels", within=FITTED)


@fact(
    function="run",
    promise='"..._bald", "..._dopt": `pick_batch` with that rule',
    weight=2,
    seconds=12.0,
    false_alarm=2 * ALPHA,
    hint="offline_bald and online_bald pick by BALD, online_dopt by D-optimality.",
)
def check_strategies_pick_by_the_rule_they_name(impl, seed):
    r"""Where the mode is sure but draws disagree, the BALD strategies ask and "online_dopt" does not.

        u . w ~ N(m, sd^2) with m > 35 and sd near 200 for reply 4;   N(0, 0.49) between the others of the pool

    Source: Houlsby et al. 2011, eq. 2, against the log-determinant of the Laplace posterior.
    """
    # The warm-up compares replies 0 and 1, which differ a little in the third feature, and always prefers 1; so that
    # w_3 is about 0.5 with standard deviation 1. A pool holds reply 4, two hundred units away.
    X = np.array([[0, 0, 0], [0, 0, 0.025], [0.7, 0, 0], [0, 0.7, 0], [0, 0, 200]])
    ref_lp = np.array([np.log(0.5), np.log(0.5), -1e3, -1e3, -1e3])
    law = np.array([0.2, 0.0, 0.3, 0.3, 0.2])
    # Draws may agree about reply 4 by chance, most easily where few are taken. Of random batches one in three asks
    # nothing else.
    design = frequency(0.95, detects=0.4)
    for strategy, batches in (("offline_bald", design.n), ("online_bald", design.n), ("online_dopt", 1)):
        disputed = []
        for rep in range(batches):
            # Without reply 4 a pool is but once in 4e11.
            world = SpyWorld(X, [0, 2e3, 0, 0, 2e3], ref_lp, {80: law})
            collect(impl, world, strategy, seed + rep, rounds=1, per=2, warmup=80, pool_size=120)
            disputed.append((world.comparisons.part(80, 82).unordered() == 4).any(axis=1))
        if strategy == "online_dopt":
            assert_true(not np.any(disputed), "online_dopt asks by another rule", disputed)
        else:
            asked = int(np.all(disputed, axis=1).sum())
            design._replace(high=design.n).check(asked, f"batches of {strategy} that ask about what is disputed")


@fact(
    function="run",
    promise="with the current w and cov",
    false_alarm=2 * ALPHA,
    hint="Hand pick_batch the w and cov of the newest fit, and let it start each batch from them.",
)
def check_bald_strategies_ask_under_the_current_posterior(impl, seed):
    r"""BALD asks no more about what the answers of the rounds before have settled.

        reply 2 is 20 times reply 1, which won every comparison: u . w ~ N(42, 12^2), settled; it was N(0, 20^2)

    Source: Houlsby et al. 2011, eq. 2, under the newest Laplace posterior.
    """
    # Measured with 8 and 64 draws a pick: one pick in 300 asks about reply 2; under the first posterior three in four.
    design = frequency(0.01, detects=0.5)
    warmup, per = 4, design.n
    for strategy in ("offline_bald", "online_bald"):
        laws = {warmup: np.array([0.5, 0.5, 0.0, 0.0]), warmup + per: np.array([0.4, 0.0, 0.3, 0.3])}
        ref_lp = np.array([np.log(0.5), np.log(0.5), -1e3, -1e3])
        X = np.array([[0.0, 0.0], [1.0, 0.0], [20.0, 0.0], [0.0, 5.0]])
        world = SpyWorld(X, np.array([0.0, 5.0, 5.0, 0.0]), ref_lp, laws)
        collect(impl, world, strategy, seed, rounds=2, per=per, warmup=warmup, pool_size=40)
        settled = (world.comparisons.part(warmup + per, warmup + 2 * per).unordered() == 2).any(axis=1)
        design._replace(low=0).check(int(settled.sum()), f"{strategy}: questions that are settled")


@fact(
    function="run",
    promise='with the current w and cov … "..._dts": `pick_double_thompson`',
    weight=2,
    hint="Hand pick_double_thompson the posterior of the newest fit.",
)
def check_thompson_strategy_asks_about_favourites_of_the_current_posterior(impl, seed):
    r"""On a line, every pair of "online_dts" holds an end of the pool; once the posterior is sharp, its better end.

        argmax_y S x(y) is an end of the pool;   the upper one but for Phi(-w/sd), here below 10^-15

    Source: a linear function has its maximum at an end; definition of double Thompson sampling.
    """
    x = np.array([0.5, -1.0, 0.0, 1.0, -0.5])
    warmup, per = 4, 500
    world = SpyWorld(x[:, None], 0.5 * x, pool_laws={warmup: np.full(5, 0.2)})
    collect(impl, world, "online_dts", seed, rounds=2, per=per, warmup=warmup, pool_size=50)
    for labels in (warmup, warmup + per):
        asked, pool = x[world.comparisons.part(labels, labels + per).unordered()], x[world.pool_after(labels)]
        ends = [pool.min(), pool.max()] if labels == warmup else [pool.max()]
        assert_true(np.isin(asked, ends).any(axis=1).all(), "a pair without a favourite", ends)


@fact(
    function="run",
    promise="the seed of this repetition: all randomness comes from it. The same rep gives the same result … A run "
    "with fewer rounds is a prefix of a longer one. … integers; rounds >= 0, the others >= 1 (pool_size >= 2 "
    "for bald and dopt) … an integer >= 0",
    hint="Draw in the order of the rounds, from one generator made of rep.",
)
def check_shorter_run_is_a_prefix(impl, seed):
    r"""One rep gives one result; a run of fewer rounds is the beginning of a longer one, down to none at all.

        run(rounds=t)[n] = run(rounds=T)[n]   for n <= warmup + t per, t <= T

    Source: all randomness comes from rep, and nothing looks ahead.
    """
    for strategy in STRATEGIES:
        reports = []
        for rounds in (3, 3, 1, 0):
            world = ordinary_world(np.random.default_rng(seed))
            reports.append(collect(impl, world, strategy, 0, rounds=rounds, per=1, warmup=1, pool_size=2))
        longest, *others = reports
        for report in others:
            want = np.array([longest[labels] for labels in report])
            assert_exact(np.array(list(report.values())), want, f"{strategy}: one rep, two results")


@fact(
    function="run",
    promise="The defaults collect 180 labels. … keys warmup, warmup + per, ... in this order",
    hint="Keep the defaults of the signature.",
)
def check_defaults_are_eight_rounds_of_twenty(impl, seed):
    r"""Left to itself a run asks 180 questions, twenty to warm up and eight rounds of twenty, from pools of 200.

        keys 20, 40, ..., 180

    Source: the signature.
    """
    world = ordinary_world(np.random.default_rng(seed))
    report = impl.online_collection.run(world, "online_random", seed)
    assert_true(type(report) is dict and [*report] == [*range(20, 181, 20)], "the keys", report, "20, 40, ..., 180")
    assert_true(len(world.comparisons.a) == 180, "number of labels", len(world.comparisons.a), 180)
    sizes = [len(world.pool_after(labels)) for labels in range(20, 180, 20)]
    assert_true(set(sizes) == {200}, "sizes of the pools", sizes, 200)


@fact(
    function="run",
    promise="ValueError: an unknown strategy (graded), whatever `rounds` is",
    hint="Compare the name with STRATEGIES before you start; do not decide by how it begins or ends.",
)
def check_unknown_strategy_raises(impl):
    r"""A strategy that is none of the six raises ValueError, whatever `rounds` is.

        run(world, "online_thomson", 0)

    Source: a misspelt name must not silently run something else.
    """
    for strategy in ("online_thomson", "bald", "Online_bald", "online", "offline_dts", "offlinerandom", ""):
        for rounds in (0, 2):
            world = ordinary_world(np.random.default_rng(0))
            assert_raises_value_error(impl.online_collection.run, world, strategy, 0, rounds, 2, 3, 6)


def pairs_of(got, pool, per):
    """(per, 2) replies of each pair that was returned as (A, B), the smaller number first."""
    if type(got) not in (tuple, list) or len(got) != 2:
        raise Contradiction(f"expected two arrays (A, B), got {describe(got)}", got=got)
    pairs = np.stack([array(column, [per], integer=True).astype(np.int64) for column in got], axis=1)
    assert_true(np.isin(pairs, pool).all(), "replies that are not in the pool (are these positions?)", pairs, pool)
    return np.sort(pairs, axis=1)


def batch_of(impl, rule, world, pool, w, cov, per, rng):
    """The pairs of a batch, (per, 2)."""
    return pairs_of(impl.online_collection.pick_batch(rule, world, pool, w, cov, per, rng), pool, per)


def thompson(impl, world, pool, w, cov, per, rng):
    """The pairs that double Thompson sampling asks, (per, 2)."""
    return pairs_of(impl.online_collection.pick_double_thompson(world, pool, w, cov, per, rng), pool, per)


def collect(impl, world, strategy, rep, *, rounds, per, warmup, pool_size):
    """What a run reports, {labels: (gold, pool gold)}, after its shape and the number of labels are checked."""
    report = impl.online_collection.run(world, strategy, rep, rounds, per, warmup, pool_size)
    labels = [warmup + k * per for k in range(rounds + 1)]
    if type(report) is not dict or list(report) != labels:
        raise Contradiction(f"{strategy}: the keys are the numbers of labels, in order", got=report, expected=labels)
    for entry in report.values():
        if type(entry) not in (tuple, list) or len(entry) != 2:
            raise Contradiction(f"expected pairs (gold, gold of the pool), got {describe(entry)}", got=entry)
    asked = len(world.comparisons.a)
    assert_true(asked == labels[-1], f"{strategy}: number of labels", asked, labels[-1])
    return {n: (number(report[n][0]), number_or_nan(report[n][1])) for n in labels}


def number_or_nan(got):
    return float("nan") if isinstance(got, (float, np.floating)) and np.isnan(got) else number(got)


def gains(X, pairs, w, precision):
    """By how much the log-determinant of the precision grows with each question."""
    u = X[pairs[:, 0]] - X[pairs[:, 1]]
    p = expit(u @ w)
    grown = precision + (p * (1 - p))[:, None, None] * u[:, :, None] * u[:, None, :]
    return np.linalg.slogdet(grown)[1] - np.linalg.slogdet(precision)[1]


def greedy_problem(rng, d, scale, per):
    """(world, pool, w, C, greedy pairs) where every pick is the best by a margin, and none is best twice."""
    while True:
        world = bare_world(scale * rng.standard_normal((14, d)))
        replies = rng.permutation(14)[:7]
        pool = rng.permutation(np.append(replies, rng.choice(replies, 3)))
        w, cov = 1.5 * rng.standard_normal(d), covariance(rng, d)
        pairs, precision, picks = np.array(list(combinations(np.sort(replies), 2))), np.linalg.inv(cov), []
        for _ in range(per):
            gain = gains(world.X, pairs, w, precision)
            k, second = np.argsort(-gain, kind="stable")[:2]
            if k in picks or gain[k] - gain[second] < 1e-4:
                break
            picks.append(k)
            u = world.X[pairs[k, 0]] - world.X[pairs[k, 1]]
            precision = precision + expit(u @ w) * expit(-u @ w) * np.outer(u, u)
        else:
            return world, pool, w, cov, pairs[picks]


def covariance(rng, d):
    """A positive definite matrix with correlations and uneven variances."""
    root = rng.standard_normal((d, d))
    return root @ root.T / d + np.diag(0.2 + 0.3 * np.arange(d))


def found(n, candidates):
    """Chance that one pair of n positions is among independent candidates."""
    return 1 - (1 - 2 / n**2) ** candidates


def end_laws(both_a, both_b, n):
    """P of (both ends, a with one between, b with one between), given the chances that both draws name a, or b."""
    between = (n - 2) / (n - 1)
    return np.array([1 - (both_a + both_b) * between, both_a * between, both_b * between])


def favourites(vertices, w, cov):
    """P(vertex i is the favourite of a draw from N(w, C)), vertices in order around a convex polygon."""
    edges = [vertices[i] - vertices[[i - 1, (i + 1) % len(vertices)]] for i in range(len(vertices))]
    return np.array([stats.multivariate_normal.cdf(np.zeros(2), -edge @ w, edge @ cov @ edge.T) for edge in edges])


def plane_problem(rng, vertices):
    """(w, C, probabilities of the vertices to be a draw's favourite), none of them rare or all but certain."""
    while True:
        sd = rng.uniform(0.6, 1.4, 2)
        w, cov = 0.4 * rng.standard_normal(2), np.outer(sd, sd) * np.array([[1.0, 0.7], [0.7, 1.0]])
        f = favourites(vertices, w, cov)
        if f.min() > 0.05 and f.max() < 0.4:
            return w, cov, f


def two_favourites(f, copies, cells):
    """P of each unordered pair, see the fact."""
    others = sum(copies) - np.asarray(copies)
    law = [2 * f[i] * f[j] + f[i] ** 2 * copies[j] / others[i] + f[j] ** 2 * copies[i] / others[j] for i, j in cells]
    return np.array(law) / sum(law)


def shared(law, cells):
    """Chance that two independent pairs have a reply in common."""
    return sum(law[k] * law[m] for k in range(len(cells)) for m in range(len(cells)) if set(cells[k]) & set(cells[m]))


def random_pairs_design(q):
    """(design, cells) for different replies in proportion to q_i q_j; it sees uniform pairs, and a reply left out."""
    cells = list(combinations(range(len(q)), 2))
    law = np.array([q[i] * q[j] for i, j in cells])
    left_out = law * [float(2 not in cell) for cell in cells]
    wrong = [np.full(len(cells), 1 / len(cells)), left_out / left_out.sum()]
    return multinomial(law / law.sum(), detects=wrong), cells


def different(pairs):
    """The pairs that are not a reply with itself."""
    return pairs[pairs[:, 0] != pairs[:, 1]]


def counted(pairs, cells):
    """How often each cell was met."""
    met = [tuple(pair) for pair in np.asarray(pairs).tolist()]
    return [met.count(cell) for cell in cells]
