"""Facts about overoptimization.py: a reward model fitted to few pairs, and best-of-n by it.

Notation: r_hat the fitted rewards, r* the true ones, q the reference policy, p_n the law of best-of-n by r_hat, sigma
the logistic function. The experiment hides its world; but with one pair of preferences r_hat is x at the winner, -x at
the loser and 0 elsewhere, and the curves show the rest: that is how these facts look inside. No fact says that `gold`
declines: whether it does is up to the seed (in 21 of 40 it falls by more than 0.1).
"""

from itertools import islice

import numpy as np
from hypothesis import given, settings
from scipy import integrate, optimize, stats
from scipy.special import expit

from harness.facts import fact
from harness.impl import Raised
from harness.inputs import preference_pairs
from harness.statistics import ALPHA, bounded_mean, frequency, spend
from harness.tolerance import (
    assert_at_most,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_monotone,
    assert_true,
    number,
    vector,
)

FITTED = 0.02
"""How near an iterative fit has to come to the minimum, after centring."""

N_LIST = np.array([1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384])
CURVES = ("kl", "kl_formula", "proxy", "gold", "gold_select")
NUMBERS = ("n_seen", "corr_w", "corr")
DIRICHLET = 0.3
QUICK = 20
"""Steps that suffice where only the order of the fitted rewards, or their direction, is looked at."""


@fact(
    function="fit_reward_model",
    promise="Fit the rewards of K responses to preference pairs, by maximum likelihood with a weak L2 penalty. It "
    "minimises over r, a vector of K numbers, -(1/n) sum over the n pairs of log sigma(r_win - r_lose) + l2 "
    "sum_y r_y^2 … At the default steps and lr, the result has to agree with the minimum to 0.02",
    defines=True,
    weight=3,
    hint="Minimise -mean log sigma(r_win - r_lose) + l2 sum r^2, and train until the rewards stand still.",
)
def check_expected_wins_equal_wins(impl, seed):
    r"""At the fitted rewards every response wins as often as the model expects, but for the pull of the penalty.

        wins_i - sum_j n_ij sigma(r_i - r_j) = 2 n l2 r_i

    Source: the gradient of the penalised Bradley-Terry likelihood is 0 (Bradley and Terry 1952).
    """
    rng = np.random.default_rng(seed)
    for k in (4, 7):
        wins = rng.integers(1, 10, (k, k)) * (1 - np.eye(k, dtype=np.int64))
        assert_fitted(impl, wins)


@fact(
    function="fit_reward_model",
    promise="+ l2 sum_y r_y^2",
    weight=2,
    hint="The penalty is l2 times the sum of squares: no half, no mean, no root, and l2 as given.",
)
def check_penalty_is_l2_times_the_squares(impl, seed):
    r"""The penalty's pull is 2 l2 r for every l2, weak or strong.

        wins_i - sum_j n_ij sigma(r_i - r_j) = 2 n l2 r_i,   l2 = 0.02, 0.15, 0.6

    Source: the derivative of l2 sum r^2.
    """
    rng = np.random.default_rng(seed)
    for l2 in (0.02, 0.15, 0.6):
        wins = rng.integers(0, 4, (5, 5)) * (1 - np.eye(5, dtype=np.int64))
        wins[0, 1:] = 9, 7, 5, 8
        assert_fitted(impl, wins, l2)


@fact(
    function="fit_reward_model",
    promise="The minimum exists and is unique for l2 > 0, also when a response always wins. … and where a response "
    "always wins only for l2 >= 3e-4 … n >= 1",
    hint="One win in one comparison must not send the rewards to infinity, nor leave them near 0: the penalty decides.",
)
def check_single_win_stops_where_the_penalty_stops_it(impl):
    r"""After a single win the winner is at x and the loser at -x, where likelihood and penalty pull equally.

        sigma(-2 x) = 2 l2 x;   x grows like log(1/l2) / 2

    Source: the first-order condition for one pair.
    """
    for l2 in (3e-4, 0.04, 0.5):
        x = optimize.brentq(lambda x, l2=l2: expit(-2 * x) - 2 * l2 * x, 0, 50)
        for winner, loser, k in ((0, 1, 2), (5, 2, 8)):
            r = vector(impl.overoptimization.fit_reward_model(np.array([winner]), np.array([loser]), k, l2=l2), k)
            assert_exact(r[winner] - r[loser], 2 * x, f"the gap after one win, l2 = {l2:g}", within=2 * FITTED)


@fact(
    function="fit_reward_model",
    promise="A response that occurs in no pair has reward exactly 0.",
    hint="Start at r = 0: the data say nothing about a response in no pair, and the penalty wants it at 0.",
)
@settings(max_examples=3)
@given(preference_pairs(4, 6))
def check_unseen_responses_stay_at_zero(impl, pairs):
    r"""A response that occurs in no pair has reward exactly 0.

        y in no pair  =>  r(y) = 0

    Source: its only term in the objective is l2 r(y)^2.
    """
    names = np.array([7, 0, 9, 4])
    win, lose = names[pairs[0]], names[pairs[1]]
    r = vector(impl.overoptimization.fit_reward_model(win, lose, 12, steps=60), 12)
    unseen = np.setdiff1d(np.arange(12), np.concatenate([win, lose]))
    assert_exact(r[unseen], np.zeros(len(unseen)), "an unseen response has a reward")


@fact(
    function="fit_reward_model",
    promise="It is defined by a mean over pairs, so that giving the whole data twice changes nothing. … Each pair "
    "counts as often as it occurs",
    hint="The likelihood is a mean over the pairs: with the same shares, the same balance against the penalty.",
)
def check_fit_does_not_depend_on_the_amount_of_equal_data(impl):
    r"""Giving the whole data many times changes nothing: the likelihood is a mean, and the penalty keeps its weight.

        fit(data, data, ..., data) = fit(data)

    Source: the objective is a function of the shares of the pairs.
    """
    wins = np.array([[0, 5, 1], [1, 0, 3], [2, 0, 0]])
    for times in (1, 40):
        assert_fitted(impl, times * wins, 0.03)


@fact(
    function="fit_reward_model",
    promise="a pair of a response with itself counts with the constant log 2 and in n",
    hint="A pair of a response with itself costs log 2 whatever r is, but it is one of the n pairs of the mean.",
)
def check_self_pairs_dilute_the_data(impl):
    r"""Pairs of a response with itself teach nothing, but count in the mean: the penalty weighs more.

        wins_i - sum_j n_ij sigma(r_i - r_j) = 2 (n + m) l2 r_i   with m self-pairs

    Source: log sigma(0) is a constant; n + m pairs are averaged.
    """
    assert_fitted(impl, np.array([[6, 5, 1], [1, 9, 3], [2, 1, 0]]), 0.02)


@fact(
    function="fit_reward_model",
    promise="by maximum likelihood with a weak L2 penalty … agree with the minimum to 0.02 up to a common shift of "
    "the responses that occur in pairs",
    weight=2,
    hint="Fit the rewards to the wins jointly; win rates do not know how strong the opponents were.",
)
def check_rewards_are_recovered_from_proportional_wins(impl):
    r"""Where wins are as frequent as rewards say, those rewards are fitted, also for two that never met.

        #(i beats j) / #(j beats i) = s_i / s_j,  pairs connect all,  l2 -> 0   =>   r - mean r = log s - mean log s

    Source: the likelihood is maximal where every win rate is met; once only, by Hunter 2004, Assumption 1.
    """
    for strengths, met in (
        ([1, 12, 3, 30, 7], [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)]),
        ([50, 4, 9], [(0, 1), (1, 2)]),
    ):
        k, s = len(strengths), np.array(strengths)
        wins = np.zeros((k, k), dtype=np.int64)
        for i, j in met:
            wins[i, j], wins[j, i] = 3 * s[i], 3 * s[j]
        r = vector(impl.overoptimization.fit_reward_model(*pairs_of(wins), k), k)
        # the penalty, which is not 0, draws the minimum itself 0.004 away from the rewards
        assert_exact(r - r.mean(), np.log(s) - np.log(s).mean(), "the rewards are not recovered", within=1.25 * FITTED)


@fact(
    function="fit_reward_model",
    promise="agree with the minimum to 0.02 … results are compared after subtracting the mean over those responses, "
    "where pairs connect them all",
    hint="Train until the rewards stand still, not until the loss hardly falls.",
)
def check_rewards_travel_along_a_chain(impl):
    r"""Where each response meets its neighbours only, some often and some once, every reward depends on all the wins.

        wins_i - sum_j n_ij sigma(r_i - r_j) = 2 n l2 r_i   on a chain of 41 responses

    Source: the first-order conditions. A tenth of the usual steps leaves the ends of the chain off by 0.2.
    """
    k = 41
    strength = 2 ** (np.arange(k) * 6 // k)
    wins = np.zeros((k, k), dtype=np.int64)
    for i in range(k - 1):
        meetings = 1 + 7 * i * i % 29 // strength[i]
        wins[i, i + 1], wins[i + 1, i] = meetings * strength[i], meetings * strength[i + 1]
    # The far ends hang on so many links that BFGS of a common library, as it comes, stops 0.026 short of them.
    assert_fitted(impl, wins, within=2.5 * FITTED)
    far = np.zeros((5, 5), dtype=np.int64)  # 3.4 apart each: the ends lie beyond 6
    for i in range(4):
        far[i, i + 1], far[i + 1, i] = 30, 1
    assert_fitted(impl, far)


@fact(
    function="fit_reward_model",
    promise="log sigma(r_win - r_lose) + l2 sum_y r_y^2 … agree with the minimum to 0.02",
    hint="Winner and loser play the same part, with opposite signs.",
)
def check_exchanging_winners_and_losers_turns_the_signs(impl):
    r"""With winners and losers exchanged all rewards change sign; where all wins are balanced they are equal.

        fit(lose, win) = -fit(win, lose);   0 beats 1, 1 beats 2, 2 beats 0:  r = (0, 0, 0)

    Source: sigma(-x) = 1 - sigma(x).
    """
    wins = np.array([[0, 8, 2, 1], [1, 0, 3, 0], [0, 2, 0, 5], [4, 0, 1, 0]])
    forth, back = (centred_fit(impl, pairs, 4, l2=1e-3) for pairs in (pairs_of(wins), pairs_of(wins.T)))
    assert_exact(forth, -back, "the signs do not turn", within=2 * FITTED)
    cycle = centred_fit(impl, (np.array([0, 1, 2]), np.array([1, 2, 0])), 3, l2=1e-3)
    assert_exact(cycle, np.zeros(3), "in a balanced cycle nobody is better", within=FITTED)


@fact(
    function="fit_reward_model",
    promise="Nothing is left to chance: the same arguments give the same rewards. … The arguments are not modified.",
    hint="Fit without chance, on arrays of your own.",
)
def check_fit_is_repeatable_and_leaves_its_data_alone(impl):
    r"""The fit modifies no argument, and the same pairs give the same rewards.

        fit(x) = fit(x)

    Source: the promise of `fit_reward_model`: no seed, so no chance.
    """
    win, lose = np.array([3, 1, 0, 3, 2, 3]), np.array([1, 3, 2, 0, 3, 0])
    assert_leaves_arguments_alone(impl.overoptimization.fit_reward_model, win, lose, 5, steps=40)
    first, again = (vector(impl.overoptimization.fit_reward_model(win, lose, 5, steps=40), 5) for _ in range(2))
    assert_exact(again, first, "two fits to the same pairs differ", within=1e-5)


@fact(
    function="overoptimization_experiment",
    promise="A dict. … and numbers … For each n of N_LIST, exactly: the law p_n of best-of-n by r_hat. … kl KL(p_n "
    "|| pi_ref), exact, in nats … proxy E_p_n[r_hat], what is optimised gold E_p_n[r*], what is meant … "
    "corr_w correlation of r_hat and r*, each response weighted by pi_ref corr the same with equal weights",
    defines=True,
    weight=3,
    false_alarm=ALPHA,
    hint="For each n: the exact law of best-of-n by r_hat, its KL, its means. corr_w weighs moments, not values.",
)
def check_curves_are_those_of_one_world(impl, seed):
    r"""With three responses and one pair the curves tell q, r_hat and r*, from which all that is returned follows.

        p_n(winner) = 1 - (1 - q_w)^n,   p_n(loser) = q_l^n;   n -> infinity: kl -> -log q_w,  proxy -> x
        kl = KL(p_n || q),   proxy = E_p_n[r_hat],   gold = E_p_n[r*]
        corr_w = cov_q(r_hat, r*) / sqrt(var_q(r_hat) var_q(r*))

    Source: Beirami et al. 2025, section 2, for three scores; three unknown rewards, eleven equations.
    """
    spend(ALPHA)  # no usable world among 160: a chance of 0.83^160 = 1e-13
    found = 0
    for e in experiments(impl, seed, 160, K=3, n_pairs=1, steps=QUICK):
        if e["n_seen"] != 2 or not saturated(e):
            continue
        x = e["proxy"][-1]
        assert_true(x > 0, "best of 16384 must find the winner, whose fitted reward is positive", got=x)
        q_w = np.exp(-e["kl"][-1])
        q = np.array([q_w, 1 - q_w - (q_w - e["proxy"][0] / x), q_w - e["proxy"][0] / x])
        assert_true(bool(q.min() >= -1e-6), "no reference policy has these values of kl and proxy", got=q)
        if q.min() < 0.02:
            continue
        p = np.array([best_of_three(q, n) for n in N_LIST])
        r_hat, r_star = np.array([x, 0.0, -x]), np.linalg.lstsq(p, e["gold"], rcond=None)[0]
        assert_exact(
            e["kl"], (p * np.log(p / q, out=np.zeros_like(p), where=p > 0)).sum(axis=1), "kl is not KL(p_n || pi_ref)"
        )
        assert_exact(e["proxy"], p @ r_hat, "proxy is not the mean of r_hat under p_n")
        assert_exact(e["gold"], p @ r_star, "gold is not the mean of any r* under p_n")
        by_truth = np.argsort(-r_star)
        expected = np.array([best_of_three(q[by_truth], n) @ r_star[by_truth] for n in N_LIST])
        assert_exact(e["gold_select"], expected, "gold_select is not the mean of r* when r* itself picks")
        for key, weights in (("corr", np.full(3, 1 / 3)), ("corr_w", q)):
            cov = np.cov(r_hat, r_star, aweights=weights)
            assert_exact(
                e[key], cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]), f"{key} is not the correlation", within=1e-7
            )
        found += 1
        if found == 4:
            return
    assert_true(found > 0, "of 160 worlds of three responses with one pair, none has two well visible responses in it")


@fact(
    function="overoptimization_experiment",
    promise="Arrays of float64 with one entry for each n of N_LIST, right to 1e-8 (relative above 1) … KL(p_n || "
    "pi_ref), exact, in nats; 0 at n = 1 kl_formula best_of_n_kl(n)",
    weight=2,
    hint="kl starts at 0 and stays below log n - (n - 1)/n, which is for scores without ties.",
)
def check_kl_stays_below_the_formula(impl, seed):
    r"""The exact KL is 0 at n = 1, grows with n, and stays below the formula, which is the KL of scores that never tie.

        0 = kl(1) <= kl(2) <= ...,   kl(n) <= kl_formula(n) = KL(Beta(n, 1) || uniform)

    Source: Beirami et al. 2025, Theorem 3.1; the best of n uniform draws is Beta(n, 1).
    """
    for e in experiments(impl, seed, 2, K=211, n_pairs=150, steps=80):
        assert_exact(e["kl_formula"], [-stats.beta(n, 1).entropy() for n in N_LIST], "kl_formula")
        assert_exact(e["kl"][0], 0.0, "best of 1 is the reference")
        assert_monotone(e["kl"], "kl falls from one n to the next")
        assert_at_most((e["kl"] - e["kl_formula"]).max(), 0.0, "kl minus kl_formula")


@fact(
    function="overoptimization_experiment",
    promise="gold_select E[r*] of best-of-n by r* itself, the perfect selector",
    weight=2,
    hint="gold_select is chosen by r* itself, from pi_ref at every n; gold is r* of what r_hat chose.",
)
def check_perfect_selector_is_never_beaten(impl, seed):
    r"""More draws never lower what is selected for; and selecting by the truth is never worse in truth.

        proxy(n) and gold_select(n) never fall;   gold(n) <= gold_select(n),  with equality at n = 1

    Source: the best of n + 1 draws is at least the best of n of them, whatever the score.
    """
    for e in experiments(impl, seed, 2, K=157, n_pairs=90, steps=80):
        assert_monotone(e["proxy"], "proxy falls from one n to the next")
        assert_monotone(e["gold_select"], "gold_select falls from one n to the next")
        assert_at_most((e["gold"] - e["gold_select"]).max(), 0.0, "gold minus gold_select")
        assert_exact(e["gold"][0], e["gold_select"][0], "best of 1 is the reference, whoever selects")
        assert_true(
            e["gold_select"][-1] > e["gold_select"][0] + 0.1, "the perfect selector gains nothing", got=e["gold_select"]
        )
        assert_true(
            max(abs(e["corr"]), abs(e["corr_w"])) <= 1, "a correlation is beyond 1", got=[e["corr"], e["corr_w"]]
        )


@fact(
    function="overoptimization_experiment",
    promise="exactly: the law p_n of best-of-n by r_hat … right to 1e-8 (relative above 1) for the r_hat that was "
    "fitted",
    false_alarm=ALPHA,
    hint="Unseen responses tie at 0, and a tied level's mass splits like pi_ref, not by place in the array.",
)
def check_unseen_responses_tie(impl, seed):
    r"""All unseen responses are one level; with one pair gold moves with the masses of three levels only.

        gold(n) = p_n(winner) r*_w + p_n(unseen) E_q[r* | unseen] + p_n(loser) r*_l,   kl = KL of the three masses

    Source: a level's mass splits like pi_ref, so that the mean of r* within it is the same for all n.
    """
    spend(ALPHA)  # no usable world among 120: a chance below 0.75^120 = 1e-15
    found = 0
    for e in experiments(impl, seed, 120, K=14, n_pairs=1, steps=QUICK):
        if e["n_seen"] != 2 or not saturated(e):
            continue
        x, q_w = e["proxy"][-1], np.exp(-e["kl"][-1])
        assert_true(x > 0, "best of 16384 must find the winner, whose fitted reward is positive", got=x)
        q = np.array([q_w, 1 - 2 * q_w + e["proxy"][0] / x, q_w - e["proxy"][0] / x])
        if q.min() < 0.02:
            continue
        p = np.array([best_of_three(q, n) for n in N_LIST])
        means = np.linalg.lstsq(p, e["gold"], rcond=None)[0]
        assert_exact(e["gold"], p @ means, "the unseen responses do not share their level's mass like pi_ref")
        assert_exact(
            e["kl"], (p * np.log(p / q, out=np.zeros_like(p), where=p > 0)).sum(axis=1), "kl of the three levels"
        )
        found += 1
        if found == 3:
            return
    assert_true(found > 0, "of 120 worlds of 14 responses with one pair, none has two well visible responses in it")


@fact(
    function="overoptimization_experiment",
    promise="`n_pairs` pairs of responses, both drawn from pi_ref independently … Pairs of a response with itself "
    "are kept. … those of pairs with themselves count … number of responses, an integer >= 2 … number of "
    "pairs, an integer >= 1",
    false_alarm=ALPHA,
    hint="The two responses of a pair are independent draws; a pair of one response with itself stays.",
)
def check_one_pair_shows_one_response_or_two(impl, seed):
    r"""One pair shows one response or two; two with the probability that two draws from pi_ref differ.

        n_seen in {1, 2};   P(n_seen = 2) = E[2 q (1 - q)] = 0.3 / 1.6,   q ~ Beta(0.3, 0.3)

    Source: the second moment of a Dirichlet. Detects a uniform pi_ref (1/2), and draws without replacement (1).
    """
    design = frequency(DIRICHLET / (2 * DIRICHLET + 1), detects=0.5)
    seen = [e["n_seen"] for e in experiments(impl, seed, design.n, K=2, n_pairs=1, steps=1)]
    assert_true(set(seen) <= {1, 2}, "one pair shows one response or two", got=sorted(set(seen)), expected=[1, 2])
    design.check(seen.count(2), "worlds in which both responses of two are seen in one pair")


@fact(
    function="overoptimization_experiment",
    promise="a long-tailed reference policy pi_ref ~ Dirichlet(0.3, ..., 0.3) … n_seen how many different responses "
    "occur in the pairs",
    false_alarm=2 * ALPHA,
    hint="Count the different responses in both columns; pi_ref ~ Dirichlet(0.3, ..., 0.3) makes many of them rare.",
)
def check_number_of_seen_responses_follows_polyas_urn(impl, seed):
    r"""Draws from a Dirichlet(a, ..., a) policy are Polya's urn, which gives the law of the number of different ones.

        P(draw t + 1 is a new one | m seen) = a (K - m) / (a K + t),   t = 0, ..., 2 n_pairs - 1,   a = 0.3

    Source: the predictive probabilities of a Dirichlet. Detects a uniform pi_ref, twice the concentration, and counting
    one column or all pairs.
    """
    for (k, n_pairs), e_seed in zip(((2000, 1000), (40, 500)), (seed, seed + 1), strict=True):
        law = urn(k, 2 * n_pairs)
        low, high = np.searchsorted(law.cumsum(), ALPHA / 2), k - np.searchsorted(law[::-1].cumsum(), ALPHA / 2)
        (e,) = experiments(impl, e_seed, 1, K=k, n_pairs=n_pairs, steps=1)
        spend(ALPHA)
        in_range = f"n_seen is in {low} to {high} but for a chance of 1e-9, with K = {k} and {n_pairs} pairs"
        assert_true(low <= e["n_seen"] <= high, in_range, got=e["n_seen"], expected=float(law @ np.arange(k + 1)))


@fact(
    function="overoptimization_experiment",
    promise="A world: K responses with true rewards r* ~ N(0, 1), independent, and … gold E_p_n[r*]",
    seconds=20.0,
    false_alarm=4 * ALPHA,
    hint="r* is standard normal: independent for each response, mean 0, variance 1.",
)
def check_true_rewards_are_standard_normal(impl, seed):
    r"""The reference's true reward is a mean of standard normals: negative half the time, and of known size.

        gold(1) = sum_y q_y r*_y;   P(gold(1) > 0) = 1/2  for every K
        K = 2, a pair that shows both:  P(|gold(1)| > 1.2) = E[q (1 - q) 2 Phi(-1.2 / sqrt(q^2 + (1 - q)^2))]
                                                             / E[q (1 - q)],   q ~ Beta(0.3, 0.3)

    Source: a sum of normals, by quadrature. Detects r* uniform on [0, 1], twice the spread, a link to pi_ref.
    """

    def beyond(size):
        """The mass of worlds whose pair shows both and whose gold(1) is larger."""
        return integrate.quad(
            lambda u: 2 * np.prod(halves(u)) * 2 * stats.norm.sf(size / np.hypot(*halves(u))), 0, 1, limit=200
        )[0]

    far, far_at_twice_the_spread = beyond(1.2) / beyond(0.0), beyond(0.6) / beyond(0.0)
    size, sign = frequency(far, detects=far_at_twice_the_spread), frequency(0.5, detects=0.97)
    gold = [e["gold"][0] for e in compared(impl, seed, size.n, K=2, steps=1)]
    size.check(int((np.abs(gold) > 1.2).sum()), "worlds in which the reference's true reward is beyond 1.2")
    gold = [e["gold"][0] for e in compared(impl, seed, sign.n, K=50, steps=1)]
    sign.check(int((np.array(gold) > 0).sum()), "worlds in which the reference's true reward is positive")


@fact(
    function="overoptimization_experiment",
    promise="each labelled by the Bradley-Terry model (the first wins with probability sigma(r*_first - r*_second)) "
    "… corr the same with equal weights",
    false_alarm=4 * ALPHA,
    weight=2,
    hint="The first wins with probability sigma(r*_first - r*_second); correlate over all K responses.",
)
def check_one_noisy_label_is_right_most_of_the_time(impl, seed):
    r"""One label is right with probability E sigma(|d|), d ~ N(0, 2); r_hat, fitted to it, is a random direction.

        P(corr > 0) = 0.725...,   corr^2 ~ Beta(1/2, (K - 2)/2)

    Source: r* is isotropic. Detects labels without noise or turned round, and correlations over the seen.
    """
    k = 30
    right = 2 * integrate.quad(lambda d: expit(d) * stats.norm.pdf(d, scale=np.sqrt(2)), 0, np.inf)[0]
    small = stats.beta(0.5, (k - 2) / 2).cdf(0.25**2)
    designs = [frequency(right, detects=1.0), frequency(right, detects=1 - right), frequency(small, detects=0.2)]
    needed = max(design.n for design in designs)
    got = np.array([e["corr"] for e in compared(impl, seed, needed, K=k, steps=QUICK)])
    for design, hits, what in zip(
        designs, (got > 0, got > 0, np.abs(got) < 0.25), ("positive", "positive", "below 0.25"), strict=True
    ):
        design.check(int(hits[: design.n].sum()), f"correlations of r_hat and r* that are {what}")


@fact(
    function="overoptimization_experiment",
    promise="each labelled by the Bradley-Terry model … `fit_reward_model` with the given l2 and steps fits a reward "
    "model r_hat to them",
    seconds=30.0,
    false_alarm=5 * ALPHA,
    hint="Every pair gets a label of its own, by sigma of the difference of true rewards; fit r_hat to all, with "
    "the given l2.",
)
def check_fit_approaches_the_truth_with_data(impl, seed):
    r"""With many labels of two responses, the fitted chance of a win is the true one, at the rate n^(-1/2).

        |sigma(r_hat_0 - r_hat_1) - sigma(r*_0 - r*_1)| <= c / (2 q (1 - q) - c),   c = O(n^(-1/2))
        2 q (1 - q) (sigma(r*_0 - r*_1) - sigma(2 x)) = 2 l2 x up to 2 c,   (x, -x) = r_hat,   for a strong l2

    Source: the score has mean 0 at r*; c by Bernstein's inequality. Detects one label for all pairs of two responses,
    and pairs of a response with itself that are counted and not fitted to.
    """
    design = bounded_mean(sd=0.5, bound=1.0, detects=0.02)
    # spent on: the score and the number of pairs of two responses, twice; no usable world among 240 (0.91^240 = 1e-10)
    for _ in range(5):
        spend(ALPHA)
    options = {"K": 2, "n_pairs": design.n}
    for position, glance in enumerate(experiments(impl, seed, 240, steps=5, **options)):
        if informative(glance):
            (e,) = experiments(impl, seed, 1, first=position, **options)
            q, truth = two_responses(e)
            fitted = (e["proxy"][-1] - e["proxy"][0]) / (1 - q)
            bound = design.width / (2 * q * (1 - q) - design.width) + FITTED / 2
            assert_at_most(
                abs(expit(fitted) - expit(truth)), bound, "the fitted chance of a win is off the true one by"
            )
            l2 = 0.5
            (e,) = experiments(impl, seed, 1, first=position, l2=l2, **options)
            q, truth = two_responses(e)
            x = (e["proxy"][-1] - e["proxy"][0]) / (1 - q) / 2
            excess = 2 * q * (1 - q) * (expit(truth) - expit(2 * x)) - 2 * l2 * x
            assert_at_most(abs(excess), 2 * design.width + (0.5 + 2 * l2) * FITTED, f"the slope of the loss, l2 = {l2}")
            return
    assert_true(False, "of 240 worlds of two responses, none shows both well")


@fact(
    function="overoptimization_experiment",
    promise="`fit_reward_model` with the given l2 and steps fits a reward model r_hat to them … handed to "
    "`fit_reward_model`",
    seconds=12.0,
    false_alarm=ALPHA,
    hint="Hand l2 on to fit_reward_model.",
)
def check_penalty_reaches_the_reward_model(impl, seed):
    r"""The l2 that is given decides how far one pair moves r_hat: proxy ends at the x of a single win.

        proxy(n) -> x,   sigma(-2 x) = 2 l2 x

    Source: the first-order condition for one pair; best of 16384 is the winner.
    """
    spend(ALPHA)  # no usable world among 20: a chance below 0.3^20 = 3e-11
    for l2 in (0.01, 0.4):
        x = optimize.brentq(lambda x, l2=l2: expit(-2 * x) - 2 * l2 * x, 0, 50)
        usable = (e for e in experiments(impl, seed, 20, K=25, n_pairs=1, l2=l2) if e["n_seen"] == 2 and saturated(e))
        e = next(usable, None)
        assert_true(e is not None, "of 20 worlds with one pair, none shows its winner")
        if e is not None:
            assert_exact(e["proxy"][-1], x, f"proxy at n = 16384 with l2 = {l2:g}", within=FITTED)


@fact(
    function="overoptimization_experiment",
    promise="an integer >= 0. The same seed gives the same result, another seed another world.",
    hint="np.random.default_rng(seed) once, and every random number from it.",
)
def check_world_follows_from_the_seed(impl, seed):
    r"""The same seed gives the same experiment, another seed another world.

        experiment(s) = experiment(s);   experiment(s) != experiment(s')  for s != s'

    Source: the promise of `overoptimization_experiment`.
    """
    first, second, third = (
        next(experiments(impl, world, 1, K=31, n_pairs=17, steps=QUICK)) for world in (seed, seed, seed + 1)
    )
    for key in (*CURVES, *NUMBERS):
        assert_exact(
            np.atleast_1d(second[key]), np.atleast_1d(first[key]), f"{key} differs between two runs of one seed"
        )
    assert_true(
        abs(first["gold"][0] - third["gold"][0]) > 1e-9, "two seeds give the same true rewards", got=third["gold"]
    )
    assert_true(
        abs(first["corr_w"] - third["corr_w"]) > 1e-9, "two seeds give the same reward model", got=third["corr_w"]
    )


def compared(impl, seed, count, K, **options):
    """The first `count` worlds whose one pair shows two responses."""
    chance = 1 - (DIRICHLET + 1) / (K * DIRICHLET + 1)
    spend(ALPHA)  # so many worlds have too few of them
    worlds = count + int(stats.nbinom.isf(ALPHA, count, chance))
    results = (e for e in experiments(impl, seed, worlds, K=K, n_pairs=1, **options) if e["n_seen"] == 2)
    found = list(islice(results, count))
    assert_true(len(found) == count, "hardly any pair shows two different responses", got=len(found), expected=count)
    return found


def experiments(impl, seed, count, first=0, **options):
    """The results of `count` experiments with seeds of their own, after kinds, keys and lengths were checked.

    Where every pair is one response with itself, r_hat does not vary and nothing is said about correlations: a world
    in which the submission divides 0 by 0 counts as one that showed a single response.
    """
    for i in range(first, first + count):
        try:
            e = impl.overoptimization.overoptimization_experiment(seed % 10**6 * 1000 + i, **options)
        except Raised as error:
            if "ZeroDivisionError" not in error.kinds:
                raise
            yield {**dict.fromkeys(CURVES, np.full(len(N_LIST), np.nan)), "n_seen": 1, "corr_w": np.nan, "corr": np.nan}
            continue
        assert_true(
            type(e) is dict and {*CURVES, *NUMBERS} <= set(e),
            "the result is a dict with the promised keys",
            got=type(e).__name__,
        )
        curves = {key: vector(e[key], len(N_LIST)) for key in CURVES}
        for key in CURVES:
            assert_true(bool(np.isfinite(curves[key]).all()), f"{key} is not finite", got=curves[key])
        n_seen = number(e["n_seen"])
        assert_true(n_seen == int(n_seen), "n_seen is no whole number", got=n_seen)
        flat = np.ptp(curves["proxy"]) < 1e-12
        correlations = {key: np.nan if flat else number(e[key]) for key in ("corr_w", "corr")}
        yield {**curves, "n_seen": int(n_seen), **correlations}


def saturated(e):
    """Whether the best of 4096 draws is already sure to be the best by r_hat: its pi_ref is above 0.005 then."""
    return abs(e["proxy"][-1] - e["proxy"][-2]) <= 1e-9


def two_responses(e):
    """(q, d) of a world of two: the mass of the better one by r_hat, and its true reward less the other's."""
    q, gain = np.exp(-e["kl"][-1]), e["gold_select"][-1] - e["gold_select"][0]
    return q, gain / (1 - q) if e["corr"] > 0 else -gain / q


def informative(e):
    """Whether both of a world of two are common, and one is better, but not by far (probability 0.09)."""
    if e["n_seen"] != 2 or not saturated(e):
        return False
    q, difference = two_responses(e)
    return 0.28 <= q <= 0.72 and 0.8 <= abs(difference) <= 2.2


def best_of_three(q, n):
    """The law of the best of n draws for three levels of masses q, the best level first."""
    best, worst = -np.expm1(n * np.log1p(-q[0])), q[2] ** float(n)
    return np.array([best, 1 - best - worst, worst])


def halves(u):
    """(q, 1 - q) at the u-quantile of Beta(0.3, 0.3)."""
    q = stats.beta.ppf(u, DIRICHLET, DIRICHLET)
    return q, 1 - q


def urn(k, draws):
    """P(m different responses in so many draws), m = 0, ..., k, for a policy ~ Dirichlet(0.3, ..., 0.3)."""
    law = np.eye(k + 1)[0]
    m = np.arange(k + 1)
    for t in range(draws):
        new = law * DIRICHLET * (k - m) / (DIRICHLET * k + t)
        law = law - new + np.append(0.0, new[:-1])
    return law


def pairs_of(wins):
    """The pairs of a (K, K) table: i beat j wins[i, j] times."""
    i, j = np.nonzero(wins)
    return np.repeat(i, wins[i, j]), np.repeat(j, wins[i, j])


def centred_fit(impl, pairs, k, **options):
    r = vector(impl.overoptimization.fit_reward_model(*pairs, k, **options), k)
    return r - r.mean()


def assert_fitted(impl, wins, l2=1e-5, within=FITTED):
    """The fit to a table of wins (all connected) is the root of the first-order conditions, after centring."""
    meetings, n = wins + wins.T, wins.sum()

    def excess(r):
        return wins.sum(axis=1) - (meetings * expit(r[:, None] - r)).sum(axis=1) - 2 * n * l2 * r

    expected = optimize.root(excess, np.zeros(len(wins)), tol=1e-10).x
    got = centred_fit(impl, pairs_of(wins), len(wins), l2=l2)
    assert_exact(got, expected - expected.mean(), f"the rewards are not at the minimum, l2 = {l2:g}", within=within)
