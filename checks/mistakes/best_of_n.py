"""Wrong answers to best_of_n.py: the law of the best of n draws, and its KL divergence."""

import math

import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import beta as beta_law

from harness.variants import mistake


def _levels(scores, pi_ref):
    """Each response's level, and below and up to each level the probability of one draw, worst level first."""
    level_of = np.unique(scores, return_inverse=True)[1]
    mass = np.bincount(level_of, weights=pi_ref)
    up_to = np.cumsum(mass)
    return level_of, np.concatenate([[0.0], up_to[:-1]]), up_to


def _shared_like_ref(level_wins, level_of, pi_ref):
    """Each level's probability, shared among its responses in proportion to pi_ref."""
    mass = np.bincount(level_of, weights=pi_ref)[level_of]
    return level_wins[level_of] * pi_ref / np.where(mass > 0, mass, 1.0)


# best_of_n_distribution: the power of the distribution function


@mistake("best_of_n_distribution", "the exponent is n − 1: one draw too few", severity="blatant")
def one_draw_too_few(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return _shared_like_ref(up_to ** (n - 1) - below ** (n - 1), level_of, pi_ref)


@mistake("best_of_n_distribution", "n more draws compete with a first one: the exponent is n + 1", severity="blatant")
def one_draw_too_many(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return _shared_like_ref(up_to ** (n + 1) - below ** (n + 1), level_of, pi_ref)


@mistake("best_of_n_distribution", "the density n π_ref F^(n−1) of a continuous law is used for a discrete one")
def density_of_continuous_law(scores, pi_ref, n):
    level_of, _, up_to = _levels(scores, pi_ref)
    return n * pi_ref * up_to[level_of] ** (n - 1)


@mistake("best_of_n_distribution", "the density π_ref F^(n−1) is normalised, as if that made it exact")
def normalised_density(scores, pi_ref, n):
    level_of, _, up_to = _levels(scores, pi_ref)
    density = pi_ref * up_to[level_of] ** (n - 1)
    return density / density.sum()


@mistake(
    "best_of_n_distribution", "the scores are centred first, so that next to a huge one others tie", severity="extreme"
)
def scores_are_centred(scores, pi_ref, n):
    centred = np.asarray(scores, dtype=np.float64) - np.max(scores)
    level_of, below, up_to = _levels(centred, pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "F is taken in the middle of each level's step, and the density normalised")
def density_at_midpoint(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    density = pi_ref * ((below + up_to) / 2)[level_of] ** (n - 1)
    return density / density.sum()


@mistake("best_of_n_distribution", "the worst of n draws is kept, not the best", severity="blatant")
def worst_of_n(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return _shared_like_ref((1 - below) ** n - np.maximum(1 - up_to, 0) ** n, level_of, pi_ref)


@mistake("best_of_n_distribution", "the probability F^n that the best scores at most s is taken for that it scores s")
def distribution_function_returned(scores, pi_ref, n):
    level_of, _, up_to = _levels(scores, pi_ref)
    return (up_to**n)[level_of]


@mistake("best_of_n_distribution", "F, not F^n, of the level below is subtracted, and the rest normalised")
def subtracts_before_the_power(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    wins = _shared_like_ref(np.maximum(up_to**n - below, 0), level_of, pi_ref)
    return wins / wins.sum()


@mistake("best_of_n_distribution", "the power is taken of each step of F, not of F: (F − F⁻)^n", severity="blatant")
def power_of_the_step(scores, pi_ref, n):
    weights = (np.asarray(pi_ref) / np.max(pi_ref)) ** n
    return weights / weights.sum()


@mistake("best_of_n_distribution", "the probability 1 − (1 − π_ref)^n of being drawn at all is normalised")
def drawn_at_all(scores, pi_ref, n):
    drawn = 1 - (1 - np.asarray(pi_ref)) ** n
    return drawn / drawn.sum()


@mistake(
    "best_of_n_distribution", "draws are without replacement and all responses alike: C(rank − 1, n − 1) / C(K, n)"
)
def without_replacement(scores, pi_ref, n):
    K, rank = len(scores), np.argsort(np.argsort(scores, kind="stable")) + 1
    n = min(n, K)
    log_ways = gammaln(rank) - gammaln(n) - gammaln(np.maximum(rank - n + 1, 1))
    ways = np.where(rank >= n, np.exp(log_ways - log_ways.max()), 0.0)
    return ways / ways.sum()


@mistake("best_of_n_distribution", "π_ref is tilted by n times the score, as if best-of-n were RLHF with β = 1/n")
def exponential_tilt(scores, pi_ref, n):
    tilted = pi_ref * np.exp(n * (scores - np.max(scores)))
    return tilted / tilted.sum()


@mistake("best_of_n_distribution", "π_ref is tilted until its KL is log n − (n − 1)/n, as if that gave best-of-n")
def tilt_of_equal_kl(scores, pi_ref, n):
    given = np.asarray(pi_ref) > 0
    q, s = np.asarray(pi_ref)[given], np.asarray(scores, dtype=float)[given]

    def tilted(strength):
        weights = q * np.exp(strength * (s - s.max()))
        return weights / weights.sum()

    low, high = 0.0, 1e4
    for _ in range(100):
        p = tilted((low + high) / 2)
        cost = np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0]))
        low, high = ((low + high) / 2, high) if cost < math.log(n) - (n - 1) / n else (low, (low + high) / 2)
    law = np.zeros(len(pi_ref))
    law[given] = tilted(low)
    return law


# best_of_n_distribution: order


@mistake(
    "best_of_n_distribution", "F is accumulated in the order of the responses, not of their scores", severity="blatant"
)
def accumulates_unsorted(scores, pi_ref, n):
    return np.diff(np.concatenate([[0.0], np.cumsum(pi_ref)]) ** n)


@mistake("best_of_n_distribution", "the probabilities come in the order of the scores", severity="blatant")
def returns_sorted_order(scores, pi_ref, n):
    order = np.argsort(scores, kind="stable")
    return np.diff(np.concatenate([[0.0], np.cumsum(np.asarray(pi_ref)[order])]) ** n)


@mistake("best_of_n_distribution", "the sorting permutation is applied again instead of undone")
def permutes_twice(scores, pi_ref, n):
    order = np.argsort(scores, kind="stable")
    return np.diff(np.concatenate([[0.0], np.cumsum(np.asarray(pi_ref)[order])]) ** n)[order]


@mistake("best_of_n_distribution", "only the scores are sorted, and π_ref stays in the old order", severity="blatant")
def sorts_scores_only(scores, pi_ref, n):
    order = np.argsort(scores, kind="stable")
    law = np.empty(len(pi_ref))
    law[order] = np.diff(np.concatenate([[0.0], np.cumsum(pi_ref)]) ** n)
    return law


@mistake("best_of_n_distribution", "responses are ranked by π_ref, not by score", severity="blatant")
def ranks_by_probability(scores, pi_ref, n):
    level_of, below, up_to = _levels(pi_ref, pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "scores are ranked by their size |s|, so a very bad response counts as good")
def ranks_by_absolute_score(scores, pi_ref, n):
    level_of, below, up_to = _levels(np.abs(scores), pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "np.diff runs without a leading 0, so the worst response has probability 0")
def worst_has_no_mass(scores, pi_ref, n):
    order = np.argsort(scores, kind="stable")
    law = np.zeros(len(pi_ref))
    law[order[1:]] = np.diff(np.cumsum(np.asarray(pi_ref)[order]) ** n)
    return law


@mistake("best_of_n_distribution", "F counts responses: rank / K, as if π_ref were uniform", severity="blatant")
def counts_ranks(scores, pi_ref, n):
    uniform = np.full(len(pi_ref), 1 / len(pi_ref))
    level_of, below, up_to = _levels(scores, uniform)
    return _shared_like_ref(up_to**n - below**n, level_of, uniform)


@mistake("best_of_n_distribution", "responses with a negative score are never kept", severity="blatant")
def drops_negative_scores(scores, pi_ref, n):
    q = np.where(np.asarray(scores) >= 0, pi_ref, 0.0)
    if q.sum() == 0:
        return np.array(pi_ref, dtype=float)
    q = q / q.sum()
    level_of, below, up_to = _levels(scores, q)
    return _shared_like_ref(up_to**n - below**n, level_of, q)


# best_of_n_distribution: ties


@mistake("best_of_n_distribution", "among tied responses the last index counts as better", severity="extreme")
def last_index_wins_ties(scores, pi_ref, n):
    order = np.argsort(scores, kind="stable")
    law = np.empty(len(pi_ref))
    law[order] = np.diff(np.concatenate([[0.0], np.cumsum(np.asarray(pi_ref)[order])]) ** n)
    return law


@mistake(
    "best_of_n_distribution",
    "among tied responses the first index counts as better, as with argmax",
    severity="extreme",
)
def first_index_wins_ties(scores, pi_ref, n):
    order = np.lexsort([-np.arange(len(scores)), scores])
    law = np.empty(len(pi_ref))
    law[order] = np.diff(np.concatenate([[0.0], np.cumsum(np.asarray(pi_ref)[order])]) ** n)
    return law


@mistake("best_of_n_distribution", "among tied responses the more probable one counts as better", severity="extreme")
def more_probable_wins_ties(scores, pi_ref, n):
    order = np.lexsort([pi_ref, scores])
    law = np.empty(len(pi_ref))
    law[order] = np.diff(np.concatenate([[0.0], np.cumsum(np.asarray(pi_ref)[order])]) ** n)
    return law


@mistake("best_of_n_distribution", "tied responses share equally, not in proportion to π_ref", severity="extreme")
def equal_shares_in_ties(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    given = (np.asarray(pi_ref) > 0).astype(float)
    return _shared_like_ref(up_to**n - below**n, level_of, given)


@mistake("best_of_n_distribution", "an absent response takes an equal share of its tie", severity="extreme")
def absent_response_shares_tie(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return (up_to**n - below**n)[level_of] / np.bincount(level_of)[level_of]


@mistake("best_of_n_distribution", "every tied response gets the mass of the whole level", severity="extreme")
def whole_level_for_each(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return np.where(np.asarray(pi_ref) > 0, (up_to**n - below**n)[level_of], 0.0)


@mistake(
    "best_of_n_distribution", "F^n − (F − π_ref)^n takes only the response itself off, not its tie", severity="extreme"
)
def takes_off_only_itself(scores, pi_ref, n):
    level_of, _, up_to = _levels(scores, pi_ref)
    F = up_to[level_of]
    return F**n - np.maximum(F - pi_ref, 0) ** n


@mistake(
    "best_of_n_distribution",
    "tied responses compete: F^n − (F − π_ref)^n, scaled to the level's total",
    severity="extreme",
)
def shares_ties_by_lone_chances(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    F = up_to[level_of]
    return _shared_like_ref(up_to**n - below**n, level_of, F**n - np.maximum(F - pi_ref, 0) ** n)


@mistake(
    "best_of_n_distribution",
    "F counts strictly worse responses only, so tied ones lose the mass they share",
    severity="extreme",
)
def only_strictly_worse(scores, pi_ref, n):
    scores, pi_ref = np.asarray(scores), np.asarray(pi_ref)
    below = (scores[None, :] < scores[:, None]) @ pi_ref
    return (below + pi_ref) ** n - below**n


@mistake(
    "best_of_n_distribution",
    "the best level goes to its first response alone; other ties are shared",
    severity="extreme",
)
def top_level_to_argmax(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    law = _shared_like_ref(up_to**n - below**n, level_of, np.asarray(pi_ref))
    top = law[level_of == level_of.max()].sum()
    law[level_of == level_of.max()] = 0.0
    law[np.argmax(np.where(np.asarray(pi_ref) > 0, scores, -np.inf))] += top
    return law


@mistake("best_of_n_distribution", "scores that isclose calls equal are tied", severity="extreme")
def nearly_equal_scores_tie(scores, pi_ref, n):
    level_of, below, up_to = _levels(np.round(np.asarray(scores, dtype=float), 6), pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "scores are compared as float32, so close ones tie", severity="extreme")
def scores_in_float32(scores, pi_ref, n):
    level_of, below, up_to = _levels(np.asarray(scores, dtype=np.float32), pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "scores are cut to integers before they are ranked")
def scores_cut_to_integers(scores, pi_ref, n):
    level_of, below, up_to = _levels(np.asarray(scores).astype(int), pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


# best_of_n_distribution: zeros of pi_ref


@mistake("best_of_n_distribution", "a level without mass is shared as 0/0, which gives NaN", severity="extreme")
def nan_in_empty_level(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    with np.errstate(invalid="ignore"):
        return (up_to**n - below**n)[level_of] * (pi_ref / np.bincount(level_of, weights=pi_ref)[level_of])


@mistake("best_of_n_distribution", "1e-9 is added to π_ref, and n draws find what it never gives", severity="extreme")
def smooths_ref(scores, pi_ref, n):
    q = np.asarray(pi_ref) + 1e-9
    q = q / q.sum()
    level_of, below, up_to = _levels(scores, q)
    return _shared_like_ref(up_to**n - below**n, level_of, q)


@mistake(
    "best_of_n_distribution",
    "the law has entries only for responses that π_ref gives",
    severity="extreme",
)
def returns_support_only(scores, pi_ref, n):
    given = np.asarray(pi_ref) > 0
    q = np.asarray(pi_ref)[given]
    level_of, below, up_to = _levels(np.asarray(scores)[given], q)
    return _shared_like_ref(up_to**n - below**n, level_of, q)


@mistake(
    "best_of_n_distribution", "responses rarer than 1e-12 count as never drawn, however many draws", severity="extreme"
)
def drops_rare_responses(scores, pi_ref, n):
    q = np.where(np.asarray(pi_ref) > 1e-12, pi_ref, 0.0)
    level_of, below, up_to = _levels(scores, q / q.sum())
    return _shared_like_ref(up_to**n - below**n, level_of, q)


# best_of_n_distribution: large n, rounding, simulation


@mistake("best_of_n_distribution", "for n ≥ 1000 the best score is taken as certain", severity="subtle")
def certain_for_large_n(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    if n >= 1000:
        best = level_of == level_of[np.asarray(pi_ref) > 0].max()
        return np.where(best, pi_ref, 0.0) / np.sum(pi_ref, where=best)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "for n > 100 the limit exp(−n(1 − F)) stands for F^n", severity="subtle")
def poisson_limit_for_large_n(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)

    def power(F):
        return np.where(F > 0, np.exp(-n * (1 - F)), 0.0) if n > 100 else F**n

    return _shared_like_ref(power(up_to) - power(below), level_of, pi_ref)


@mistake("best_of_n_distribution", "the best of two is taken over and over, so n is rounded down to a power of two")
def doubles_rounds(scores, pi_ref, n):
    q = np.asarray(pi_ref, dtype=float)
    for _ in range(int(math.log2(n))):
        level_of, below, up_to = _levels(scores, q)
        q = _shared_like_ref(up_to**2 - below**2, level_of, q)
    return q


@mistake("best_of_n_distribution", "draws are added one by one, and no more than 10,000 of them", severity="extreme")
def stops_at_ten_thousand(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    n = min(n, 10_000)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake("best_of_n_distribution", "F is accumulated in float32, and the n-th power magnifies its rounding")
def accumulates_in_float32(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, np.asarray(pi_ref, dtype=np.float32))
    below, up_to = below.astype(np.float32), up_to.astype(np.float32)
    return _shared_like_ref((up_to**n - below**n).astype(float), level_of, np.asarray(pi_ref))


@mistake("best_of_n_distribution", "F is raised to at least 1e-6 before its logarithm is taken", severity="extreme")
def clips_before_the_logarithm(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    powers = [np.exp(n * np.log(np.clip(F, 1e-6, 1.0))) for F in (below, up_to)]
    return _shared_like_ref(powers[1] - powers[0], level_of, pi_ref)


@mistake(
    "best_of_n_distribution", "the law is estimated from 20,000 simulated rounds, not computed", severity="blatant"
)
def simulates(scores, pi_ref, n):
    rng, wins = np.random.default_rng(0), np.zeros(len(pi_ref))
    # The best of n uniforms is u^(1/n): one draw from the top of F stands for n.
    level_of, _, up_to = _levels(scores, pi_ref)
    levels = np.searchsorted(up_to, rng.random(20_000) ** (1 / n) * up_to[-1])
    np.add.at(wins, levels, 1 / 20_000)
    return _shared_like_ref(wins[: len(up_to)], level_of, np.asarray(pi_ref))


@mistake("best_of_n_distribution", "probabilities are rounded to six decimals")
def rounds_probabilities(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return np.round(_shared_like_ref(up_to**n - below**n, level_of, pi_ref), 6)


@mistake(
    "best_of_n_distribution",
    "for two responses 1 − (1 − π_ref)^n goes to the argmax, also when they tie",
    severity="extreme",
)
def two_responses_without_tie(scores, pi_ref, n):
    if len(scores) == 2:
        best = int(np.argmax(scores))
        law = np.full(2, (1 - pi_ref[best]) ** n)
        law[best] = 1 - law[best]
        return law
    level_of, below, up_to = _levels(scores, pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref)


@mistake(
    "best_of_n_distribution", "the law is squeezed: for one response it is a number, not an array", severity="extreme"
)
def squeezes(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    return _shared_like_ref(up_to**n - below**n, level_of, pi_ref).squeeze()


# best_of_n_distribution: arguments


@mistake("best_of_n_distribution", "the answer is written into an array of the scores' type: integer scores give zeros")
def law_takes_dtype_of_scores(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    law = np.zeros_like(scores)
    law[:] = _shared_like_ref(up_to**n - below**n, level_of, pi_ref)
    return law


@mistake("best_of_n_distribution", "the caller's scores are sorted in place")
def sorts_scores_in_place(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    law = _shared_like_ref(up_to**n - below**n, level_of, pi_ref)
    scores.sort()
    return law


@mistake("best_of_n_distribution", "the caller's π_ref is replaced by its cumulative sum")
def accumulates_in_place(scores, pi_ref, n):
    level_of, below, up_to = _levels(scores, pi_ref)
    law = _shared_like_ref(up_to**n - below**n, level_of, pi_ref)
    np.cumsum(pi_ref, out=pi_ref)
    return law


# best_of_n_kl


@mistake("best_of_n_kl", "logarithms to base 2", severity="blatant")
def log_to_base_two(n):
    return math.log2(n) - (n - 1) / n


@mistake("best_of_n_kl", "logarithms to base 10", severity="blatant")
def log_to_base_ten(n):
    return math.log10(n) - (n - 1) / n


@mistake("best_of_n_kl", "(n − 1) // n is an integer division, and 0", severity="blatant")
def integer_division(n):
    return math.log(n) - (n - 1) // n


@mistake("best_of_n_kl", "n − 1/n: the parentheses are missing", severity="blatant")
def missing_parentheses(n):
    return math.log(n) - n - 1 / n


@mistake("best_of_n_kl", "log(1 + n) stands for log n", severity="blatant")
def log_of_one_more(n):
    return math.log1p(n) - (n - 1) / n


@mistake("best_of_n_kl", "log(n − 1) stands for log n", severity="blatant")
def log_of_one_less(n):
    return math.log(max(n - 1, 1)) - (n - 1) / n


@mistake("best_of_n_kl", "log n alone: the bound of the largest ratio, not its mean", severity="blatant")
def log_n_alone(n):
    return math.log(n)


@mistake("best_of_n_kl", "log n − 1, the limit for many draws, is used for every n", severity="blatant")
def limit_for_every_n(n):
    return math.log(n) - 1 if n > 1 else 0.0


@mistake("best_of_n_kl", "from n = 1000 on, (n − 1)/n is taken as 1")
def limit_from_a_thousand(n):
    return math.log(n) - 1 if n >= 1000 else math.log(n) - (n - 1) / n


@mistake("best_of_n_kl", "1/n is subtracted, not (n − 1)/n", severity="blatant")
def subtracts_one_over_n(n):
    return math.log(n) - 1 / n


@mistake("best_of_n_kl", "(n − 1)/(n + 1) stands for (n − 1)/n", severity="blatant")
def divides_by_one_more(n):
    return math.log(n) - (n - 1) / (n + 1)


@mistake("best_of_n_kl", "n/(n + 1), the win rate over one draw, is subtracted", severity="blatant")
def subtracts_win_rate(n):
    return math.log(n) - n / (n + 1)


@mistake("best_of_n_kl", "(n − 1)/n is added", severity="blatant")
def adds_second_term(n):
    return math.log(n) + (n - 1) / n


@mistake("best_of_n_kl", "the signs of both terms are turned over", severity="blatant")
def signs_turned_over(n):
    return (n - 1) / n - math.log(n)


@mistake("best_of_n_kl", "KL(π_ref‖best-of-n) = n − 1 − log n: the other direction", severity="blatant")
def other_direction(n):
    return n - 1 - math.log(n)


@mistake("best_of_n_kl", "the harmonic sum of n less 1 stands for log n − (n − 1)/n", severity="blatant")
def harmonic_number(n):
    return float(digamma(n + 1) + np.euler_gamma - 1)


@mistake("best_of_n_kl", "ψ(n) stands for log n", severity="blatant")
def digamma_for_log(n):
    return float(digamma(n) - (n - 1) / n)


@mistake("best_of_n_kl", "log n is divided by n along with n − 1", severity="blatant")
def divides_both_terms(n):
    return (math.log(n) - (n - 1)) / n


@mistake("best_of_n_kl", "divided by log n, as a share of the largest possible value", severity="blatant")
def share_of_log_n(n):
    return 0.0 if n == 1 else 1 - (n - 1) / n / math.log(n)


@mistake("best_of_n_kl", "the integral over the unit interval is taken on a grid too coarse for a large n")
def coarse_grid(n):
    u = (np.arange(10_000) + 0.5) / 10_000
    with np.errstate(divide="ignore", over="ignore"):
        log_density = math.log(n) + (n - 1) * np.log(u)
    return float(np.mean(np.exp(log_density) * log_density))


@mistake("best_of_n_kl", "the KL is estimated from 20,000 simulated draws of the best", severity="blatant")
def simulated(n):
    log_best = -np.random.default_rng(0).exponential(size=20_000) / n
    return float(np.mean(math.log(n) + (n - 1) * log_best))


@mistake(
    "best_of_n_kl", "log n is formed as −log(1 − (n − 1)/n), which loses its digits as n grows", severity="extreme"
)
def log_by_complement(n):
    rest = 1 - (n - 1) / n
    return -math.log(rest) - (n - 1) / n if rest > 0 else math.inf


@mistake(
    "best_of_n_kl",
    "the entropy of Beta(n, 1) is built from digamma terms that cancel for a large n",
    severity="extreme",
)
def entropy_terms_cancel(n):
    entropy = -math.log(n) - (n - 1) * digamma(n) + (n - 1) * digamma(n + 1)
    return -float(entropy) if n > 1 else 0.0


@mistake("best_of_n_kl", "a ratio of powers n² is formed, which overflows for a NumPy integer", severity="extreme")
def squares_overflow(n):
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return math.log(n) - float(np.float64(n * n - n) / np.float64(n * n))


@mistake("best_of_n_kl", "n is kept in 32 bits", severity="extreme")
def thirty_two_bits(n):
    n = int(np.array(n).astype(np.int32))
    return math.log(n) - (n - 1) / n if n > 0 else math.nan


@mistake("best_of_n_kl", "NumPy integers are not taken for whole numbers and are refused", severity="extreme")
def refuses_numpy_integers(n):
    if not isinstance(n, int):
        raise TypeError("n must be an int")
    return math.log(n) - (n - 1) / n


@mistake("best_of_n_kl", "float32 is good to 7 digits")
def in_float32(n):
    return float(np.log(np.float32(n)) - (np.float32(n) - np.float32(1)) / np.float32(n))


@mistake("best_of_n_kl", "the value is rounded to four decimals")
def rounded(n):
    return round(math.log(n) - (n - 1) / n, 4)


@mistake(
    "best_of_n_kl", "the mean score of the best, n/(n + 1), goes into the log-density instead of the mean log-score"
)
def log_of_the_mean(n):
    return math.log(n) - (n - 1) * math.log1p(1 / n)


@mistake(
    "best_of_n_kl",
    "the largest KL of a uniform reference over n responses, computed for n equal atoms",
    severity="subtle",
)
def law_over_n_atoms(n):
    n = int(min(n, 4096))
    law = np.diff(beta_law.cdf(np.linspace(0, 1, n + 1), n, 1))
    return float(np.sum(law[law > 0] * np.log(n * law[law > 0])))
