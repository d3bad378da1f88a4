"""Facts about preferences.py: the law of preference pairs, drawn from pi_ref and labelled by Bradley-Terry.

Notation: q the reference policy, r the rewards, s the logistic function. A draw is two independent responses of q; it
ends in the cell (i, j) when i is preferred to j, and is dropped when both are the same response.
"""

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from harness.facts import fact
from harness.statistics import ALPHA, frequency, multinomial
from harness.tolerance import array, assert_at_most, assert_leaves_arguments_alone, assert_true

R = np.array([1.3, -0.8, 0.4, 2.1, -1.6])
PI_REF = np.array([0.22, 0.31, 0.17, 0.1, 0.2])


@fact(
    function="make_pairs",
    promise="Draw n pairs of responses and label each pair by the Bradley-Terry model. For each of n pairs two "
    "responses a and b are drawn from pi_ref, independently. … noisy: a wins with probability sigma(r_a - "
    "r_b)",
    defines=True,
    weight=3,
    false_alarm=ALPHA,
    hint="Draw both responses from pi_ref, leave out the pairs of a response with itself, and let a beat b with "
    "probability sigma(r_a - r_b), a new random number for each pair.",
)
def check_pairs_follow_the_bradley_terry_law(impl, seed):
    r"""A draw ends as (winner i, loser j) with the probability of meeting times that of winning.

        P(winner i, loser j) = 2 q_i q_j s(r_i - r_j)    for i != j
        P(dropped)           = sum_i q_i^2

    Source: Bradley and Terry 1952. Tells this law from Gaussian noise on the rewards, from Gumbel noise on one of the
    two, from 5% of flipped labels, from winning chances clipped to [0.1, 0.9], and from opponents drawn uniformly.
    """
    gap = np.subtract.outer(R, R)
    met = np.outer(PI_REF, PI_REF)
    uniform = np.outer(PI_REF, np.full(len(R), 1 / len(R)))
    one_sided = -np.expm1(-np.exp(gap))
    wrong_laws = [
        cells(met, norm.cdf(gap / np.sqrt(2))),
        cells(met, (one_sided + 1 - one_sided.T) / 2),
        cells(met, 0.95 * expit(gap) + 0.05 * expit(-gap)),
        cells(met, np.clip(expit(gap), 0.1, 0.9)),
        cells((uniform + uniform.T) / 2, expit(gap)),
    ]
    assert_law(impl, R, PI_REF, seed, wrong_laws, "these are not the pairs of a Bradley-Terry labeller")


@fact(
    function="make_pairs",
    promise="A pair of a response with itself says nothing and is left out (it is not replaced by another one). In "
    "each of the others noisy: a wins with probability sigma(r_a - r_b)",
    weight=2,
    false_alarm=ALPHA,
    hint="What is left out are pairs of a response with itself, not pairs of equal rewards: those are still compared.",
)
def check_equal_rewards_are_compared_by_a_fair_coin(impl, seed):
    r"""Two responses with the same reward meet like any others, and each wins half of the time.

        r_i = r_j   =>   P(winner i, loser j) = P(winner j, loser i) = q_i q_j

    Source: Bradley-Terry with s(0) = 1/2. The rewards are integers here, and three of the four are equal. Tells the
    fair coin from one that falls on a side with probability 0.45.
    """
    r, q = np.array([2, 1, 2, 2]), np.array([0.35, 0.2, 0.15, 0.3])
    chance = expit(np.subtract.outer(r, r).astype(float))
    unfair = chance + 0.05 * np.triu(chance == 0.5, 1) - 0.05 * np.tril(chance == 0.5, -1)
    assert_law(impl, r, q, seed, [cells(np.outer(q, q), unfair)], "equal rewards are not compared fairly")


@fact(
    function="make_pairs",
    promise="a wins with probability sigma(r_a - r_b)",
    false_alarm=ALPHA,
    hint="The winning chance is a function of r_a - r_b alone: never exponentiate a reward by itself.",
)
def check_only_reward_differences_count(impl, seed):
    r"""A constant added to every reward changes no probability, however large it is.

        P(winner i, loser j) is the same for r and for r + c,   here c = 2^19

    Source: the logistic function is applied to r_i - r_j; Rafailov et al. 2023, Lemma 1 (rewards that differ by a
    constant have the same preferences). Tells the law from fair coins and from labels without noise.
    """
    r, q = 2.0**19 + np.array([0.5, -0.75, 1.25]), np.array([0.5, 0.3, 0.2])
    gap, met = np.subtract.outer(r, r), np.outer(q, q)
    wrong_laws = [cells(met, np.full_like(gap, 0.5)), cells(met, np.where(gap > 0, 0.999, 0.001))]
    assert_law(impl, r, q, seed, wrong_laws, "the pairs depend on more than reward differences")


@fact(
    function="make_pairs",
    promise="rewards: finite floats or integers. Differences as large as 1e6 must work.",
    hint="sigma(r_a - r_b) must be 0 or 1 far out, not NaN and not a clipped value: use a sigmoid that cannot "
    "overflow.",
)
def check_a_far_better_response_always_wins(impl, seed):
    r"""Where rewards lie a thousand and more apart, noise never turns a label.

        r_i - r_j >= 1000   =>   P(j beats i) = s(r_j - r_i) <= e^-1000

    Source: the tail of the logistic function; the chance that a right answer fails is below e^-990.
    """
    r, q = np.array([-1000.0, 1e6, 0.0, -2500.0]), np.array([0.3, 0.1, 0.35, 0.25])
    winners, losers = pairs(impl.preferences.make_pairs(r, q, 3001, seed), 4, 3001)
    share = np.mean(r[winners] < r[losers]) if len(winners) else 1.0
    assert_true(share == 0.0, "a response wins that is thousands worse", got=f"{share:.1%} of pairs", expected="none")


@fact(
    function="make_pairs",
    promise="not noisy: the response with the higher reward wins",
    weight=2,
    false_alarm=ALPHA,
    hint="Without noise the higher reward wins every time; the same pairs meet as with noise, and ties stay in.",
)
def check_without_noise_the_higher_reward_wins(impl, seed):
    r"""With noisy=False the winner's reward is never below the loser's, and the same pairs meet.

        r_winner >= r_loser   always;      P(i and j meet) = 2 q_i q_j    for i != j, equal rewards included

    Source: the limit of Bradley-Terry for rewards that are multiplied by a growing number. Tells the law of the pairs
    from that of draws without replacement, and from one that leaves out equal rewards.
    """
    r, q = np.array([0.3, 1.7, 0.3, -2.2]), np.array([0.4, 0.25, 0.2, 0.15])
    kept = 1 - q @ q
    met = np.outer(q, q)
    different = np.where(np.subtract.outer(r, r) == 0, 0.0, met)
    np.fill_diagonal(different, np.diag(met))
    redrawn = met / (1 - q)[:, None]
    law = unordered(met)
    refilled = np.append(law[:-1] / kept, 0.0)
    other = unordered((redrawn + redrawn.T) / 2)
    no_ties = unordered(different)
    no_ties[-1] = 1 - no_ties[:-1].sum()
    design = multinomial(law, detects=[refilled, np.append(other[:-1], 0.0), no_ties])
    winners, losers = pairs(impl.preferences.make_pairs(r, q, design.n, seed, noisy=False), 4, design.n)
    share = np.mean(r[winners] < r[losers]) if len(winners) else 1.0
    assert_true(share == 0.0, "the smaller reward wins", got=f"in {share:.1%} of the pairs", expected="never")
    table = count_table(winners, losers, 4)
    counts = (table + table.T)[np.triu_indices(4, 1)]
    design.check(np.append(counts, design.n - len(winners)), "other pairs meet than those of two draws from pi_ref")


@fact(
    function="make_pairs",
    promise="are drawn from pi_ref … may contain zeros",
    hint="Draw with pi_ref exactly as it is given: no smoothing, no minimum probability.",
)
def check_a_response_without_reference_probability_never_appears(impl, seed):
    r"""A response with pi_ref = 0 is in no pair, be it the best or the worst.

        q_i = 0   =>   P(i in a pair) = 2 q_i (1 - q_i) = 0

    Source: the marginal of the law of the pairs.
    """
    r, q = np.array([9.0, 0.5, -0.25, 1.0, -9.0]), np.array([0.0, 0.4, 0.35, 0.25, 0.0])
    for noisy in (True, False):
        winners, losers = pairs(impl.preferences.make_pairs(r, q, 20_011, seed, noisy), 5, 20_011)
        seen = np.union1d(winners, losers)
        exact = np.array_equal(seen, [1, 2, 3])
        assert_true(exact, "the pairs hold other responses than pi_ref", got=seen, expected=[1, 2, 3])


@fact(
    function="make_pairs",
    promise="two integer arrays of the same length, at most n, with entries in 0..K-1. They are empty for n = 0 and "
    "for K = 1. … number of pairs drawn, an integer >= 0",
    hint="n draws, less those of a response with itself: fewer than n pairs, and sometimes none, is right.",
)
def check_no_pair_is_left_when_all_draws_are_the_same(impl, seed):
    r"""For n = 0, for K = 1 and for a deterministic pi_ref both arrays are empty; a handful of draws gives at most as
    many pairs.

        number of pairs <= n,     = 0   if n = 0 or max_i q_i = 1

    Source: every draw is then a pair of a response with itself, which is left out and not replaced.
    """
    for noisy in (True, False):
        for r, q, n in ((R, PI_REF, 0), (R[:1], np.ones(1), 7), (R[:3], np.array([0.0, 1.0, 0.0]), 11)):
            winners, _ = pairs(impl.preferences.make_pairs(r, q, n, seed, noisy), len(r), n)
            assert_true(len(winners) == 0, "pairs were made of nothing", got=len(winners), expected=0)
        for n in (1, 2, 3):
            pairs(impl.preferences.make_pairs(R, PI_REF, n, seed, noisy), 5, n)


@fact(
    function="make_pairs",
    promise="So a pair drawn ends up as (winner i, loser j), i != j, with probability 2 pi_ref_i pi_ref_j sigma(r_i "
    "- r_j).",
    false_alarm=ALPHA,
    hint="Responses may be many: keep their numbers in a type that can count them, and pi_ref in float64.",
)
def check_the_law_holds_for_many_responses(impl, seed):
    r"""Among 300 responses, the pairs between groups of responses add up as the single pairs do.

        P(winner in G, loser in H) = sum over i in G, j in H, i != j of 2 q_i q_j s(r_i - r_j)

    Source: the law of the pairs, summed over three groups of responses. Tells it from opponents drawn uniformly.
    """
    k = 300
    order = np.arange(k)
    q = 1.0 + 37 * order % k
    q /= q.sum()
    r = np.sin(order) - 1.5 * (order > 140)
    group = np.searchsorted([90, 210], order, side="right")
    cell = 3 * group[:, None] + group
    uniform = np.outer(q, np.full(k, 1 / k))
    chance = expit(np.subtract.outer(r, r))
    design = multinomial(
        lumped(np.outer(q, q), chance, cell), detects=[lumped((uniform + uniform.T) / 2, np.full((k, k), 0.5), cell)]
    )
    winners, losers = pairs(impl.preferences.make_pairs(r, q, design.n, seed), k, design.n)
    counts = np.bincount(cell[winners, losers], minlength=9)
    design.check(np.append(counts, design.n - len(winners)), "the pairs between three groups of responses are off")


@fact(
    function="make_pairs",
    promise="an integer >= 0. The same seed gives the same pairs, different seeds give different ones.",
    hint="Make one generator from `seed` and draw everything from it; 0 is a seed like any other.",
)
def check_the_seed_alone_decides_the_pairs(impl, seed):
    r"""The same seed gives the same pairs, and no two seeds give the same; with and without noise.

        make_pairs(r, q, n, seed) = make_pairs(r, q, n, seed)  !=  make_pairs(r, q, n, another seed)

    Source: the docstring. Two independent samples of 401 draws agree with a probability far below 1e-100.
    """
    for noisy in (True, False):
        seen: list[tuple[np.ndarray, np.ndarray]] = []
        for number in (0, 1, 10, 100, seed % 2**31, seed % 2**31 + 2):
            first, again = (pairs(impl.preferences.make_pairs(R, PI_REF, 401, number, noisy), 5, 401) for _ in range(2))
            assert_true(all(map(np.array_equal, first, again)), f"two calls with seed {number} differ")
            assert_true(
                not any(all(map(np.array_equal, first, other)) for other in seen),
                f"seed {number} gives the pairs of another seed",
            )
            seen.append(first)


@fact(
    function="make_pairs",
    promise="independently of everything else",
    false_alarm=2 * ALPHA,
    hint="Each response of a pair is a draw of its own, and so is each label: reuse none, shuffle none, round nothing.",
)
def check_draws_and_labels_scatter_like_chance(impl, seed):
    r"""Draws and labels are independent, so that their counts are neither tied together nor too regular.

        2n draws from 12 equal responses: P(at most 2 of them come up an odd number of times) = (1 + 66) / 2^11
        m pairs of two equal responses:   P(wins within 1 of m / 2) <= 0.12   for m >= 400

    Source: parities of independent uniform draws are uniform but for their sum; a binomial's largest probabilities.
    """
    first = seed % 2**31
    scatter = frequency(67 / 2**11, detects=0.95)
    even = 0
    for number in range(first, first + scatter.n):
        drawn = pairs(impl.preferences.make_pairs(np.zeros(12), np.full(12, 1 / 12), 400, number), 12, 400)
        even += int((np.bincount(np.concatenate(drawn), minlength=12) % 2).sum() <= 2)
    scatter.check(even, "data sets in which hardly a response comes up an odd number of times")
    regular = frequency(0.12, detects=0.95)._replace(low=0)
    balanced = 0
    for number in range(first, first + regular.n):
        winners, _ = pairs(impl.preferences.make_pairs(np.zeros(2), np.full(2, 0.5), 1000, number), 2, 1000)
        balanced += int(abs(2 * np.count_nonzero(winners) - len(winners)) <= 2)
    regular.check(balanced, "data sets in which both responses win equally often")


@fact(
    function="make_pairs",
    promise="The arguments are not modified.",
    hint="Write into new arrays: r and pi_ref belong to the caller.",
)
def check_rewards_and_reference_are_left_alone(impl, seed):
    r"""Drawing pairs changes neither r nor pi_ref.

        r and pi_ref are the same bits before and after

    Source: the docstring.
    """
    for r, pi_ref in ((R, PI_REF), (np.array([3, -1, 0]), np.array([0.7, 0.2, 0.1]))):  # 0.7 + 0.2 + 0.1 < 1 as floats
        for noisy in (True, False):
            assert_leaves_arguments_alone(impl.preferences.make_pairs, r, pi_ref, 57, seed % 2**31, noisy)


def pairs(got, k, n):
    """(winners, losers) as they are promised: at most n pairs of two different responses out of 0..k-1."""
    assert_true(isinstance(got, (tuple, list)) and len(got) == 2, "expected two arrays, (winners, losers)", got=got)
    winners = array(got[0], [None], integer=True)
    losers = array(got[1], [len(winners)], integer=True)
    assert_at_most(len(winners), n, "more pairs than draws")
    both = np.concatenate([winners, losers])
    assert_true(bool(np.isin(both, np.arange(k)).all()), f"an entry is not in 0..{k - 1}", got=got)
    assert_true(not (winners == losers).any(), "a response is paired with itself", got=got)
    return winners, losers


def assert_law(impl, r, q, seed, wrong_laws, message):
    """The pairs of one call have the law of the docstring, in a sample that tells it from the wrong laws."""
    k = len(r)
    design = multinomial(cells(np.outer(q, q), expit(np.subtract.outer(r, r).astype(float))), detects=wrong_laws)
    winners, losers = pairs(impl.preferences.make_pairs(r, q, design.n, seed), k, design.n)
    counts = count_table(winners, losers, k)[~np.eye(k, dtype=bool)]
    design.check(np.append(counts, design.n - len(winners)), message)


def cells(met, chance):
    """The probabilities of (winner, loser), row by row, and last that of a dropped draw.

    met: (K, K) the law of the two responses drawn, symmetric; chance: (K, K) the probability that the row wins.
    """
    return np.append((2 * met * chance)[~np.eye(len(met), dtype=bool)], np.trace(met))


def unordered(met):
    """The probabilities of i < j in one pair, and last that of a dropped draw."""
    return np.append(2 * met[np.triu_indices(len(met), 1)], np.trace(met))


def lumped(met, chance, cell):
    """`cells`, added up over the pairs of one `cell` number."""
    law = 2 * met * chance
    np.fill_diagonal(law, 0.0)
    return np.append(np.bincount(cell.ravel(), weights=law.ravel()), np.trace(met))


def count_table(winners, losers, k):
    """(k, k) how often the row beats the column."""
    return np.bincount(k * winners + losers, minlength=k * k).reshape(k, k)
