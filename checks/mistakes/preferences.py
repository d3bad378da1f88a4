"""Mistakes in drawing preference pairs and labelling them.

Notation: a and b are the two responses of a draw, gap = r_a - r_b; the labeller prefers a with probability s(gap).
"""

import random

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from harness.variants import mistake


def _met(rng, pi_ref, n, drop=True):
    """(a, b): two independent responses of pi_ref for each draw, without the pairs of a response with itself."""
    q = np.asarray(pi_ref) / np.sum(pi_ref)
    a, b = rng.choice(len(q), n, p=q), rng.choice(len(q), n, p=q)
    keep = (a != b) | (not drop)
    return a[keep], b[keep]


def _gap(r, a, b):
    r = np.asarray(r, dtype=np.float64)
    return r[a] - r[b]


def _coin(rng, chance):
    """One independent label for each chance."""
    return rng.random(len(chance)) < chance


def _sorted_out(a_wins, a, b):
    """(winners, losers)"""
    return np.where(a_wins, a, b), np.where(a_wins, b, a)


def _make(r, pi_ref, n, seed, noisy, chance=expit, meet=_met, rng=None):
    """The right pairs; `chance` gives the probability that a wins, for an array of gaps."""
    rng = rng or np.random.default_rng(seed)
    a, b = meet(rng, pi_ref, n)
    gap = _gap(r, a, b)
    return _sorted_out(_coin(rng, chance(gap)) if noisy else gap > 0, a, b)


# --- who wins


@mistake("make_pairs", "a wins with probability σ(r_b − r_a): the worse response is preferred.", severity="blatant")
def sign_of_the_gap(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: expit(-gap))


@mistake("make_pairs", "(losers, winners) is returned.", severity="blatant")
def losers_first(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy)[::-1]


@mistake("make_pairs", "The first response drawn is always called the winner.", severity="blatant")
def first_drawn_wins(r, pi_ref, n, seed, noisy=True):
    return _met(np.random.default_rng(seed), pi_ref, n)


@mistake("make_pairs", "Every label is a fair coin, whatever the rewards.", severity="blatant")
def fair_coins(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, True, chance=lambda gap: np.full(len(gap), 0.5))


@mistake("make_pairs", "The higher reward always wins, with noise too.", severity="blatant")
def never_noisy(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, False)


@mistake("make_pairs", "Labels are rounded chances: whoever has more than one half wins.", severity="blatant")
def rounds_the_chance(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: np.round(expit(gap)))


@mistake("make_pairs", "noisy=False is ignored and labels are always random.")
def always_noisy(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, True)


@mistake("make_pairs", "noisy is used the wrong way round: False adds the noise.", severity="blatant")
def noisy_reversed(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, not noisy)


@mistake("make_pairs", "Without noise the smaller reward wins.")
def smaller_reward_wins_without_noise(r, pi_ref, n, seed, noisy=True):
    return _make(r if noisy else -np.asarray(r), pi_ref, n, seed, noisy)


@mistake("make_pairs", "Without noise the likelier response wins, not the better one.")
def likelier_response_wins_without_noise(r, pi_ref, n, seed, noisy=True):
    return _make(r if noisy else pi_ref, pi_ref, n, seed, noisy)


@mistake("make_pairs", "Without noise every two responses meet exactly once, whatever π_ref and n are.")
def all_pairs_without_noise(r, pi_ref, n, seed, noisy=True):
    if noisy:
        return _make(r, pi_ref, n, seed, noisy)
    a, b = np.triu_indices(len(r), 1)
    return _sorted_out(_gap(r, a, b) > 0, a, b)


# --- the law of the noise


@mistake("make_pairs", "Noise is a flat chance of 10% that the label is turned, however far apart the rewards are.")
def flat_noise(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: np.where(gap > 0, 0.9, 0.1))


@mistake("make_pairs", "5% of the labels are turned on top of the Bradley-Terry noise.")
def turns_labels_on_top(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: 0.95 * expit(gap) + 0.05 * expit(-gap))


@mistake("make_pairs", "A normal error on each reward decides, which is Thurstone's model and not Bradley and Terry's.")
def normal_errors(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: norm.cdf(gap / np.sqrt(2)))


@mistake("make_pairs", "One standard normal error on the reward difference decides: the probit of the gap.")
def probit_of_the_gap(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=norm.cdf)


@mistake("make_pairs", "Gumbel noise is added to the reward of a alone, so the difference is not logistic.")
def gumbel_noise_on_one(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: -np.expm1(-np.exp(np.minimum(gap, 700.0))))


@mistake(
    "make_pairs", "Each response gets one Gumbel error for the whole data set, so its luck is the same in every pair."
)
def one_error_for_each_response(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    noise = rng.gumbel(size=len(pi_ref)) * noisy
    return _sorted_out(_gap(np.asarray(r) + noise, a, b) > 0, a, b)


@mistake("make_pairs", "The chance of winning is ½ + gap / 4, cut off at 0 and 1: σ's tangent instead of σ.")
def linear_chance(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: np.clip(0.5 + gap / 4, 0.0, 1.0))


@mistake("make_pairs", "The chance of winning is ½ (1 + tanh gap), which is σ(2 gap).")
def tanh_without_the_half(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: 0.5 * (1 + np.tanh(gap)))


@mistake("make_pairs", "a is compared with the mean of the two rewards: σ(gap / 2).")
def half_the_gap(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: expit(gap / 2))


@mistake("make_pairs", "The gap is divided by the spread of the rewards before the logistic function.")
def standardises_rewards(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: expit(gap / (np.std(r) + 1e-8)))


@mistake("make_pairs", "Three labellers vote on each pair and the majority is taken, which sharpens the labels.")
def majority_of_three(r, pi_ref, n, seed, noisy=True):
    def chance(gap):
        p = expit(gap)
        return p**2 * (3 - 2 * p)

    return _make(r, pi_ref, n, seed, noisy, chance=chance)


@mistake("make_pairs", "The chance of winning is clipped to [0.1, 0.9].")
def clips_the_chance(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: np.clip(expit(gap), 0.1, 0.9))


@mistake("make_pairs", "The chance of winning is clipped to [0.01, 0.99].")
def clips_the_chance_a_little(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: np.clip(expit(gap), 0.01, 0.99))


@mistake(
    "make_pairs", "a wins with probability r_a / (r_a + r_b): rewards are taken for strengths.", severity="blatant"
)
def rewards_as_strengths(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    r = np.asarray(r, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = r[a] / (r[a] + r[b])
    return _sorted_out(_coin(rng, chance) if noisy else r[a] > r[b], a, b)


@mistake("make_pairs", "The reference probabilities decide as well: a wins with odds π_a exp(r_a) : π_b exp(r_b).")
def reference_in_the_odds(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    q = np.asarray(pi_ref)
    gap = _gap(r, a, b)
    return _sorted_out(_coin(rng, expit(gap + np.log(q[a] / q[b]))) if noisy else gap > 0, a, b)


# --- randomness of the labels


@mistake("make_pairs", "One random number decides all labels.")
def one_number_for_all(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    gap = _gap(r, a, b)
    return _sorted_out(rng.random() < expit(gap) if noisy else gap > 0, a, b)


@mistake("make_pairs", "Two responses have one label, which is repeated whenever they meet again.")
def one_label_for_two_responses(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    a, b = np.minimum(a, b), np.maximum(a, b)
    labels = rng.random((len(pi_ref), len(pi_ref)))
    gap = _gap(r, a, b)
    return _sorted_out(labels[a, b] < expit(gap) if noisy else gap > 0, a, b)


@mistake("make_pairs", "Labels come from a new generator with the same seed, so they depend on which response is a.")
def labels_repeat_the_draws(r, pi_ref, n, seed, noisy=True):
    a, b = _met(np.random.default_rng(seed), pi_ref, n, drop=False)
    u = np.random.default_rng(seed).random(n)
    gap, keep = _gap(r, a, b), a != b
    return _sorted_out((u < expit(gap) if noisy else gap > 0)[keep], a[keep], b[keep])


@mistake("make_pairs", "The number of wins of each two responses is its rounded expectation, without chance.")
def wins_as_expected(r, pi_ref, n, seed, noisy=True):
    a, b = _met(np.random.default_rng(seed), pi_ref, n)
    if not noisy:
        return _sorted_out(_gap(r, a, b) > 0, a, b)
    a, b = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((b, a))
    a, b = a[order], b[order]
    number = a * len(pi_ref) + b
    rank = np.arange(len(a)) - np.searchsorted(number, number)
    times = np.bincount(number, minlength=len(pi_ref) ** 2)[number]
    return _sorted_out(rank < np.round(times * expit(_gap(r, a, b))), a, b)


# --- who meets whom


@mistake("make_pairs", "The opponent is drawn uniformly, not from π_ref.")
def uniform_opponent(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        a, b = rng.choice(len(pi_ref), n, p=pi_ref), rng.integers(len(pi_ref), size=n)
        return a[a != b], b[a != b]

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake("make_pairs", "Both responses are drawn uniformly.", severity="blatant")
def uniform_pairs(r, pi_ref, n, seed, noisy=True):
    return _make(r, np.full(len(pi_ref), 1 / len(pi_ref)), n, seed, noisy)


@mistake("make_pairs", "Responses are drawn from softmax(r) instead of π_ref.", severity="blatant")
def draws_from_the_rewards(r, pi_ref, n, seed, noisy=True):
    q = np.exp(np.asarray(r, dtype=np.float64) - np.max(r))
    return _make(r, q, n, seed, noisy)


@mistake("make_pairs", "The opponent is drawn from the responses other than a, so no draw is left out.")
def draws_without_replacement(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        a, b = _met(rng, pi_ref, n, drop=False)
        while np.count_nonzero(pi_ref) > 1 and (a == b).any():
            b = np.where(a == b, rng.choice(len(pi_ref), n, p=pi_ref), b)
        return a[a != b], b[a != b]

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake("make_pairs", "All draws are made without replacement, which runs out after K responses.", severity="blatant")
def runs_out_of_responses(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        a, b = rng.choice(len(pi_ref), size=(2, n), replace=False, p=pi_ref)
        return a, b

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake("make_pairs", "Pairs are drawn until n of different responses are there.")
def refills_to_n(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        possible = np.sum(np.asarray(pi_ref) > 0) > 1
        a, b = _met(rng, pi_ref, 0)
        while possible and len(a) < n:
            more = _met(rng, pi_ref, n)
            a, b = np.concatenate([a, more[0]])[:n], np.concatenate([b, more[1]])[:n]
        return a, b

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake("make_pairs", "Pairs of a response with itself are kept.", severity="blatant")
def keeps_self_pairs(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, meet=lambda rng, q, n: _met(rng, q, n, drop=False))


@mistake("make_pairs", "Pairs with equal rewards are left out, instead of pairs of the same response.")
def drops_equal_rewards(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    gap = _gap(r, a, b)
    return _sorted_out((_coin(rng, expit(gap)) if noisy else gap > 0)[gap != 0], a[gap != 0], b[gap != 0])


@mistake("make_pairs", "Without noise, pairs with equal rewards are left out, because nobody wins them.")
def drops_ties_without_noise(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    keep = noisy | (_gap(r, winners, losers) != 0)
    return winners[keep], losers[keep]


@mistake("make_pairs", "n responses are drawn and put together two by two, so there are n / 2 draws of a pair.")
def half_as_many_pairs(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n // 2, seed, noisy)


@mistake("make_pairs", "Each pair that was met is returned once, however often it came.", severity="blatant")
def distinct_pairs(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    once = np.unique(np.stack([winners, losers], axis=1), axis=0)
    return once[:, 0], once[:, 1]


@mistake("make_pairs", "Neighbours in one sequence of n + 1 draws are paired, so that each draw sits in two pairs.")
def chains_the_draws(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        y = rng.choice(len(pi_ref), n + 1, p=pi_ref)
        a, b = y[:-1], y[1:]
        return a[a != b], b[a != b]

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake("make_pairs", "b is a shuffled copy of a, so that the opponents are the same draws again.")
def shuffles_the_same_draws(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        a = rng.choice(len(pi_ref), n, p=pi_ref)
        b = rng.permutation(a)
        return a[a != b], b[a != b]

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake(
    "make_pairs", "a and b come from two generators with the same seed, so every draw meets itself.", severity="blatant"
)
def same_seed_for_both(r, pi_ref, n, seed, noisy=True):
    def meet(rng, pi_ref, n):
        a, b = (np.random.default_rng(seed).choice(len(pi_ref), n, p=pi_ref) for _ in range(2))
        return a[a != b], b[a != b]

    return _make(r, pi_ref, n, seed, noisy, meet=meet)


@mistake("make_pairs", "π_ref is smoothed with 1e-3, so that responses of probability 0 appear.")
def smooths_the_reference(r, pi_ref, n, seed, noisy=True):
    return _make(r, np.asarray(pi_ref) + 1e-3, n, seed, noisy)


@mistake("make_pairs", "Zeros of π_ref are left out and the numbers of the others move up.", severity="extreme")
def renumbers_possible_responses(r, pi_ref, n, seed, noisy=True):
    said = np.asarray(pi_ref) > 0
    return _make(np.asarray(r)[said], np.asarray(pi_ref)[said], n, seed, noisy)


@mistake("make_pairs", "The last response is never drawn.", severity="blatant")
def never_draws_the_last(r, pi_ref, n, seed, noisy=True):
    q = np.array(pi_ref, dtype=np.float64)
    q[-1] *= len(q) == 1
    return _make(r, np.where(q.sum() > 0, q, pi_ref), n, seed, noisy)


# --- the seed


@mistake("make_pairs", "The seed is fixed inside the function, so every seed gives the same data.")
def fixed_seed(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, 0, noisy)


@mistake("make_pairs", "The seed is not used, so every call gives other pairs.")
def no_seed(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, None, noisy)


@mistake("make_pairs", "Seed 0 counts as no seed, so its pairs differ from call to call.", severity="extreme")
def zero_is_no_seed(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed or None, noisy)


@mistake("make_pairs", "Labels come from Python's global generator, which the seed does not reach.")
def labels_from_a_global_generator(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    gap = _gap(r, a, b)
    u = np.array([random.random() for _ in range(len(a))])
    return _sorted_out(u < expit(gap) if noisy else gap > 0, a, b)


@mistake("make_pairs", "Without noise a fixed seed is used, as if nothing were random then.")
def fixed_seed_without_noise(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed if noisy else 0, noisy)


# --- extremes, shapes, types and the caller's arrays


@mistake("make_pairs", "exp(r_a) / (exp(r_a) + exp(r_b)) is NaN where the exponentials overflow.", severity="extreme")
def ratio_of_exponentials(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        strength = np.exp(np.asarray(r, dtype=np.float64))
        chance = strength[a] / (strength[a] + strength[b])
    return _sorted_out(_coin(rng, chance) if noisy else _gap(r, a, b) > 0, a, b)


@mistake(
    "make_pairs",
    "Strengths are a softmax over all rewards, where far worse responses underflow to 0/0.",
    severity="extreme",
)
def softmax_strengths(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n)
    strength = np.exp(np.asarray(r, dtype=np.float64) - np.max(r))
    with np.errstate(invalid="ignore"):
        chance = strength[a] / (strength[a] + strength[b])
    return _sorted_out(_coin(rng, chance) if noisy else _gap(r, a, b) > 0, a, b)


@mistake(
    "make_pairs", "The logistic function is exp(gap) / (1 + exp(gap)), NaN for gaps above 709.", severity="extreme"
)
def exponential_overflows(r, pi_ref, n, seed, noisy=True):
    def chance(gap):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.exp(gap) / (1 + np.exp(gap))

    return _make(r, pi_ref, n, seed, noisy, chance=chance)


@mistake(
    "make_pairs",
    "Gaps are clipped to ±5 before the logistic function, so that 1 label in 150 stays random.",
    severity="extreme",
)
def clips_the_gap(r, pi_ref, n, seed, noisy=True):
    return _make(r, pi_ref, n, seed, noisy, chance=lambda gap: expit(np.clip(gap, -5.0, 5.0)))


@mistake("make_pairs", "Rewards are cast to integers.")
def integer_rewards(r, pi_ref, n, seed, noisy=True):
    return _make(np.asarray(r).astype(np.int64), pi_ref, n, seed, noisy)


@mistake("make_pairs", "Responses are kept as bytes, which count to 255.")
def responses_as_bytes(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    return winners.astype(np.uint8), losers.astype(np.uint8)


@mistake("make_pairs", "Winners and losers are arrays of floats.", severity="blatant")
def responses_as_floats(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    return winners.astype(np.float64), losers.astype(np.float64)


@mistake("make_pairs", "Winners and losers are Python lists.", severity="blatant")
def returns_lists(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    return winners.tolist(), losers.tolist()


@mistake(
    "make_pairs",
    "Lists are turned into arrays at the end, and an empty list becomes an array of floats.",
    severity="extreme",
)
def empty_list_becomes_floats(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    return np.array(winners.tolist()), np.array(losers.tolist())


@mistake("make_pairs", "The list of pairs is unpacked by zip, which fails when no pair is left.", severity="extreme")
def unpacks_no_pairs(r, pi_ref, n, seed, noisy=True):
    winners, losers = zip(*zip(*_make(r, pi_ref, n, seed, noisy), strict=True), strict=True)
    return np.array(winners), np.array(losers)


@mistake("make_pairs", "One (m, 2) array of pairs is returned.", severity="blatant")
def array_of_pairs(r, pi_ref, n, seed, noisy=True):
    return np.stack(_make(r, pi_ref, n, seed, noisy), axis=1)


@mistake("make_pairs", "The rewards of the two are returned instead of their numbers.", severity="blatant")
def returns_rewards(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    return np.asarray(r)[winners], np.asarray(r)[losers]


@mistake("make_pairs", "Responses are numbered from 1.", severity="blatant")
def numbers_from_one(r, pi_ref, n, seed, noisy=True):
    winners, losers = _make(r, pi_ref, n, seed, noisy)
    return winners + 1, losers + 1


@mistake(
    "make_pairs",
    "Losers are what is left of all draws, so the two arrays need not be equally long.",
    severity="blatant",
)
def only_winners_are_filtered(r, pi_ref, n, seed, noisy=True):
    rng = np.random.default_rng(seed)
    a, b = _met(rng, pi_ref, n, drop=False)
    gap = _gap(r, a, b)
    winners, losers = _sorted_out(_coin(rng, expit(gap)) if noisy else gap > 0, a, b)
    return winners[a != b], losers


@mistake("make_pairs", "The caller's rewards are centred in place before pairs are labelled.")
def centres_rewards_in_place(r, pi_ref, n, seed, noisy=True):
    if np.asarray(r).dtype.kind == "f":
        r -= r.mean()
    return _make(r, pi_ref, n, seed, noisy)


@mistake("make_pairs", "The caller's π_ref becomes its cumulative sum.")
def accumulates_in_place(r, pi_ref, n, seed, noisy=True):
    pairs = _make(r, pi_ref, n, seed, noisy)
    np.cumsum(pi_ref, out=pi_ref)
    return pairs


@mistake(
    "make_pairs", "The caller's π_ref is divided by its sum in place, which moves its last digits.", severity="extreme"
)
def normalises_in_place(r, pi_ref, n, seed, noisy=True):
    pi_ref /= pi_ref.sum()
    return _make(r, pi_ref, n, seed, noisy)
