"""Facts about best_of_n.py: the exact law of the best of n draws, and what it costs in KL.

Notation: s the scores, q the reference policy pi_ref, p = best_of_n_distribution(s, q, n); F(t) = q(score <= t) is the
distribution function of one draw's score, a level is a set of responses with the same score.
"""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta as beta_law
from scipy.stats import entropy

from harness.facts import fact
from harness.inputs import policies, rewards, scored_policies
from harness.tolerance import (
    EXACT,
    assert_at_most,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_monotone,
    assert_true,
    number,
    policy,
)

SIZES = st.integers(2, 7)
RANKS = st.integers(3, 7).flatmap(
    lambda k: st.tuples(st.lists(st.integers(0, k - 1), min_size=k, max_size=k), policies(k))
)
OUTCOMES = st.sampled_from([(3, 2), (3, 3), (4, 4), (3, 5), (5, 3)])  # (responses, draws) of a full enumeration


@fact(
    function="best_of_n_distribution",
    promise="Write F(s) for the probability that one draw scores at most s and F-(s) for the probability that it "
    "scores below s. The best of n draws has score s with probability F(s)^n - F-(s)^n … probabilities in "
    "the order of `scores`, each right to 1e-8; they sum to 1",
    defines=True,
    weight=3,
    hint="All n draws score at most t with probability F(t)^n: which score is the best one then?",
)
@settings(max_examples=30)
@given(SIZES.flatmap(scored_policies), st.integers(1, 70))
def check_law_is_a_difference_of_cdf_powers(impl, scored, n):
    r"""The best score has the distribution function F^n, so its law is a difference of powers of F.

        p(t < score <= u) = F(u)^n - F(t)^n   for all scores t < u

    Source: Beirami et al. 2025, section 2.
    """
    s, q = scored
    p = policy(impl.best_of_n.best_of_n_distribution(s, q, n), len(s))
    for t, u in product([-np.inf, *s], s):
        if t < u:
            between = (t < s) & (s <= u)
            expected = q[s <= u].sum() ** n - q[s <= t].sum() ** n
            assert_exact(p[between].sum(), expected, f"best of {n}: the mass of the scores above {t:g} up to {u:g}")


@fact(
    function="best_of_n_distribution",
    promise="Responses with the same score form a level. Given that the best draw lies in a level, it is still "
    "distributed like a draw from pi_ref within the level: p_i / p_j = pi_ref_i / pi_ref_j whenever scores_i "
    "= scores_j. (So it is when the first best draw is kept",
    weight=3,
    hint="Write down all outcomes for K = 2, n = 2, equal scores: what is kept is still a draw from pi_ref.",
)
@given(OUTCOMES.flatmap(lambda size: st.tuples(scored_policies(size[0], ties=True), st.just(size[1]))))
def check_law_is_the_sum_over_all_outcomes_ties_included(impl, drawn):
    r"""A response gets the total probability of the outcomes in which it is kept, also when scores tie.

        p(i) = sum of q(y_1) ... q(y_n) over the outcomes (y_1, ..., y_n) whose first draw of the best score is i

    Source: the definition of best-of-n, summed over all K^n outcomes.
    """
    (s, q), n = drawn
    assert_exact(impl.best_of_n.best_of_n_distribution(s, q, n), law_by_enumeration(s, q, n), f"best of {n}")


@fact(
    function="best_of_n_distribution",
    promise="and n = 1 gives back pi_ref",
    hint="The best of one draw is that draw: n = 1 gives back pi_ref.",
)
@given(st.integers(3, 7).flatmap(lambda k: st.tuples(rewards(k, ties=True), policies(k, zeros=True))))
def check_the_best_of_one_is_pi_ref(impl, scored):
    r"""With a single draw there is nothing to choose: the law is pi_ref, whatever the scores.

        n = 1   =>   p = q

    Source: the definition of best-of-n.
    """
    s, q = scored
    assert_exact(impl.best_of_n.best_of_n_distribution(s, q, 1), q)


@fact(
    function="best_of_n_distribution",
    promise="A response with pi_ref = 0 has probability exactly 0 … may contain zeros",
    hint="A level that pi_ref never draws has mass 0: it takes nothing, and nothing is divided by it.",
)
@given(st.integers(3, 7).flatmap(lambda k: st.tuples(rewards(k), policies(k, zeros=True))), st.integers(2, 40))
def check_responses_that_are_never_drawn_are_never_kept(impl, scored, n):
    r"""A response with pi_ref = 0 is never kept, even with the best score; the others are kept as if it were not there.

        p(i) = 0 where q(i) = 0;   on the support S of q:  p_S = best_of_n_distribution(s_S, q_S, n)

    Source: the definition of best-of-n: what is kept was drawn.
    """
    s, q = scored
    support = q > 0
    alone = policy(impl.best_of_n.best_of_n_distribution(s[support], q[support], n), int(support.sum()))
    s[np.argmin(q)] = s.max() + 1
    p = policy(impl.best_of_n.best_of_n_distribution(s, q, n), len(s))
    assert_true((p[~support] == 0).all(), "a response that is never drawn is kept", got=p)
    assert_exact(p[support], alone, "the responses that can be drawn")


@fact(
    function="best_of_n_distribution",
    promise="floats or integers, in any order. Two scores tie when they are equal as floats.",
    hint="Only the order of the scores counts; two scores tie only when they are equal as floats.",
)
@given(RANKS, st.integers(2, 30))
def check_only_the_order_of_the_scores_matters(impl, ranked, n):
    r"""An increasing change of the scores, however small or large its steps, leaves the law as it is.

        best_of_n_distribution(g(s), q, n) = best_of_n_distribution(s, q, n)   for increasing g

    Source: the definition of best-of-n, which only compares scores.
    """
    ranks, q = np.array(ranked[0], dtype=np.float64), ranked[1]
    p = policy(impl.best_of_n.best_of_n_distribution(ranks, q, n), len(q))
    changes = {
        "negative scores": ranks - 10,
        "scores one rounding step apart": 1 + ranks * np.finfo(float).eps,
        "scores around 0, 1e-12 apart": 1e-12 * (ranks - 2),
        "huge scores": 1e290 * (ranks - 1),
        "scores of every size": np.select([ranks == 0, ranks == ranks.max()], [-1e17, 1e17], ranks),
        "scores given as integers": ranks.astype(np.int64) - 3,
    }
    for name, scores in changes.items():
        assert_exact(impl.best_of_n.best_of_n_distribution(scores, q, n), p, name)


@fact(
    function="best_of_n_distribution",
    promise="it is still distributed like a draw from pi_ref within the level",
    hint="Only the best level is left, and its responses share it in proportion to pi_ref.",
)
@settings(max_examples=15)
@given(st.integers(3, 6).flatmap(lambda k: st.tuples(rewards(k), policies(k), st.permutations(range(k)))))
def check_many_draws_leave_pi_ref_on_the_best_level(impl, drawn):
    r"""As n grows the mass gathers on the best level, where it is shared in proportion to pi_ref.

        p -> q(. | best level)   as n -> infinity

    Source: F^n -> 0 below the best level; given that a level wins, the draws in it are still draws from pi_ref.
    """
    s, q, order = drawn
    n = 11_000
    s[order[:2]] = s.max()
    best = s == s.max()
    missed = (1 - q[best].sum()) ** n  # no draw reached the best level; 1e-4 and less for nearly all inputs
    got = impl.best_of_n.best_of_n_distribution(s, q, n)
    assert_exact(got, q * best / q[best].sum(), f"best of {n}", within=EXACT + missed)


@fact(
    function="best_of_n_distribution",
    promise="Two scores tie when they are equal as floats. … like a draw from pi_ref within the level",
    hint="If all scores are equal, nothing is chosen: the law is pi_ref for every n.",
)
@given(st.integers(1, 9).flatmap(lambda k: policies(k)), st.sampled_from([-2.5, 0.0, 7.0]), st.integers(2, 3000))
def check_equal_scores_leave_pi_ref_unchanged(impl, q, score, n):
    r"""When all scores are equal, choosing the best of n draws chooses nothing.

        s(i) = c for all i   =>   p = q for every n

    Source: the definition of best-of-n with one level: F = 1 on it, 0 below.
    """
    s = np.full(len(q), score)
    if score == 0:
        s[::2] = -0.0  # equal to 0.0 as a float
    assert_exact(impl.best_of_n.best_of_n_distribution(s, q, n), q, f"best of {n}")


@fact(
    function="best_of_n_distribution",
    promise="the result has to be right up to n = 2**20 at least",
    hint="A rare best response is found sometimes, not always and not never: count on all n draws.",
)
def check_a_rare_best_response_is_found_by_chance(impl, seed):
    r"""A best response that one draw hits with probability q is among n draws with probability 1 - (1 - q)^n.

        p(best) = 1 - (1 - q(best))^n,   up to n = 2^20

    Source: the complement: all n draws miss it.
    """
    rng = np.random.default_rng(seed)
    for rare, n in ((3e-4, 999), (1e-5, 16_384), (1e-9, 100_003), (2e-7, 2**20), (4e-13, 2**20)):
        rest = rng.dirichlet([3.0, 3.0, 3.0])
        q = np.insert((1 - rare) * rest, 1, rare)
        s = np.insert(rng.normal(size=3), 1, 5.0)
        p = policy(impl.best_of_n.best_of_n_distribution(s, q, n), 4)
        assert_exact(p[1], -np.expm1(n * np.log1p(-rare)), f"probability {rare:g}, best of {n}")


@fact(
    function="best_of_n_distribution",
    promise="F(s)^n - F-(s)^n … p_i / p_j = pi_ref_i / pi_ref_j whenever scores_i = scores_j … each right to 1e-8",
    weight=2,
    hint="Keep float64 all the way: an error of 1e-8 in F becomes 1e-4 in F^10000.",
)
def check_cdf_power_holds_for_many_responses_and_draws(impl, seed):
    r"""With thousands of responses, many of them tied, and thousands of draws the best score still has the law F^n.

        p(score <= t) = F(t)^n,   p(i) / p(j) = q(i) / q(j) within a level

    Source: Beirami et al. 2025, section 2; within a level the draws are still draws from pi_ref.
    """
    rng = np.random.default_rng(seed)
    for k, n in ((1999, 16_384), (1201, 1000), (641, 37)):
        s, q = np.round(rng.normal(size=k), 2), rng.dirichlet(np.full(k, 0.3))
        q = (q + 1e-12) / (q + 1e-12).sum()
        p = policy(impl.best_of_n.best_of_n_distribution(s, q, n), k)
        levels, level_of = np.unique(s, return_inverse=True)
        cdf = np.array([q[s <= t].sum() for t in levels])
        got = np.array([p[s <= t].sum() for t in levels])
        assert_exact(got, cdf**n, f"{k} responses, best of {n}: the distribution function of the best score")
        share = np.bincount(level_of, weights=p)[level_of] * q / np.bincount(level_of, weights=q)[level_of]
        assert_exact(p, share, f"{k} responses, best of {n}: the shares within a level")


@fact(
    function="best_of_n_distribution",
    promise="The exact law of the best of n independent draws from pi_ref.",
    hint="Count with floats: k^n leaves the range of 64-bit integers at once.",
)
@given(st.integers(2, 9).flatmap(lambda k: st.permutations(range(k))), st.integers(2, 400))
def check_uniform_draws_are_a_matter_of_counting(impl, ranks, n):
    r"""If all K responses are equally likely, the law counts the n-tuples whose largest entry is a given rank.

        p(response of rank j) = (j^n - (j - 1)^n) / K^n,   j = 1, ..., K

    Source: there are j^n tuples of ranks up to j; exact in whole numbers.
    """
    k = len(ranks)
    expected = [float(Fraction((rank + 1) ** n - rank**n, k**n)) for rank in ranks]
    got = impl.best_of_n.best_of_n_distribution(np.array(ranks, dtype=np.float64), np.full(k, 1 / k), n)
    assert_exact(got, expected, f"best of {n}")


@fact(
    function="best_of_n_distribution",
    promise="The arguments are not modified.",
    hint="Work on copies: sort or accumulate nothing in the caller's arrays.",
)
def check_best_of_n_leaves_its_arguments_alone(impl):
    r"""Computing the law changes neither the scores nor the reference policy.

        s and q are the same before and after the call

    Source: the docstring.
    """
    call = impl.best_of_n.best_of_n_distribution
    assert_leaves_arguments_alone(call, np.array([0.5, -1.0, 2.0, 0.5]), np.array([0.1, 0.4, 0.3, 0.2]), 5)
    assert_leaves_arguments_alone(call, np.array([3, -1, 2]), np.array([0.0, 0.6, 0.4]), 1)


@fact(
    function="best_of_n_kl",
    promise="The KL divergence of the best of n draws from pi_ref, when no two draws can have the same score. log n "
    "- (n - 1) / n (nats) … A float (a NumPy scalar will do), right to 1e-8",
    defines=True,
    weight=3,
    hint="The best of n uniform numbers has density n u^(n-1): integrate, in natural logarithms.",
)
@given(st.integers(1, 100))
def check_value_is_the_kl_of_the_best_of_n_uniforms(impl, n):
    r"""It is the divergence of the largest of n uniform numbers from one of them, in nats.

        log n - (n - 1) / n = integral_0^1 n u^(n-1) log(n u^(n-1)) du

    Source: Stiennon et al. 2020, appendix G.3.
    """
    # With u = exp(-x / n) the integral is over the density exp(-x), without a peak at u = 1.
    mean_log_power = quad(lambda x: -(n - 1) * x / n * np.exp(-x), 0, np.inf, epsabs=1e-12)[0]
    assert_exact(impl.best_of_n.best_of_n_kl(n), -np.log(1 / n) + mean_log_power, f"n = {n}")


@fact(
    function="best_of_n_kl",
    promise="an upper bound whenever scores can tie or responses are few",
    weight=2,
    hint="No best-of-n policy pays more: for few responses, or ties, the exact KL is smaller.",
)
@given(OUTCOMES.flatmap(lambda size: st.tuples(scored_policies(size[0]), st.just(size[1]))), st.booleans())
def check_value_is_an_upper_bound_for_every_policy(impl, drawn, tied):
    r"""The exact divergence of best-of-n is never more than log n - (n - 1) / n, and less when there are atoms.

        KL(best of n || pi_ref) <= log n - (n - 1) / n   for every pi_ref and all scores, tied or not

    Source: Beirami et al. 2025, Theorem 3.1 (distinct scores); ties merge outcomes, which never raises KL.
    """
    (s, q), n = drawn
    p = law_by_enumeration(np.sign(s) if tied else s, q, n)
    bound = number(impl.best_of_n.best_of_n_kl(n))
    assert_at_most(-(p @ np.log(q)) - entropy(p), bound, f"the exact KL of the best of {n} among {len(q)} responses")


@fact(
    function="best_of_n_kl",
    promise="It is exact for scores with a continuous law and an upper bound whenever scores can tie or responses "
    "are few.",
    weight=2,
    hint="With many equally likely responses the exact KL comes as close to the value as you like.",
)
@given(st.integers(2, 40))
@settings(max_examples=10)
def check_value_is_the_limit_for_many_equal_atoms(impl, n):
    r"""For K equally likely responses with different scores the exact divergence rises to the formula as K grows.

        KL_K = sum_j p_j log(K p_j), p_j = (j/K)^n - ((j-1)/K)^n:   KL_K -> log n - (n - 1) / n from below

    Source: Hilton & Gao 2022: exact when the law of the score has no atoms; Beirami et al. 2025, Theorem 3.1: a bound.
    """
    value = number(impl.best_of_n.best_of_n_kl(n))
    exact = [kl_of_equal_atoms(n, k) for k in (6, 60, 600, 200_000)]
    assert_monotone([*exact, value], f"best of {n}: the exact KL of 6, 60, 600, 200000 equal atoms, then the formula")
    # The gap is about n^2 / (24 K^2) = 1.7e-9 at n = 40.
    assert_exact(value, exact[-1], f"best of {n} among 200000 equally likely responses")


@fact(
    function="best_of_n_kl",
    promise="0 for n = 1",
    hint="The best of one draw is that draw: it costs nothing.",
)
def check_the_best_of_one_costs_nothing(impl):
    r"""Keeping the only draw leaves pi_ref as it is; from the second draw on the cost is positive.

        log 1 - 0 / 1 = 0 < log 2 - 1 / 2

    Source: Stiennon et al. 2020, appendix G.3, at n = 1 and n = 2.
    """
    assert_exact(impl.best_of_n.best_of_n_kl(1), 0.0, "n = 1")
    assert_exact(impl.best_of_n.best_of_n_kl(2), 0.1931471805599453, "n = 2: log 2 - 1/2")


@fact(
    function="best_of_n_kl",
    promise="log n - (n - 1) / n … right to 1e-8 (relative above 1)",
    hint="One formula for every n: no table, no approximation from some n on.",
)
@given(st.integers(101, 2**20))
def check_value_grows_with_every_further_draw(impl, n):
    r"""The value is what the further draws add up to: it rises all the way, ever more slowly.

        f(n) = integral_1^n (t - 1) / t^2 dt,   so f(n + 1) - f(n) = log((n + 1) / n) - 1 / (n (n + 1)) > 0

    Source: the derivative of log n - (n - 1) / n.
    """
    value = quad(lambda x: 1 - np.exp(-x), 0, np.log(n), epsabs=1e-12, epsrel=1e-12)[0]  # t = exp(x)
    assert_exact(impl.best_of_n.best_of_n_kl(n), value, f"n = {n}")
    step = number(impl.best_of_n.best_of_n_kl(n + 1)) - number(impl.best_of_n.best_of_n_kl(n))
    assert_exact(step, np.log1p(1 / n) - 1 / (n * (n + 1)), f"from n = {n} to {n + 1}")


@fact(
    function="best_of_n_kl",
    promise="log n - (n - 1) / n … a Python int up to 10**18",
    hint="The best of m groups of n is the best of m n: does some product overflow?",
)
@given(st.integers(2, 10**9), st.integers(2, 10**9))
def check_groups_of_draws_compose(impl, m, n):
    r"""The best of m groups' bests is the best of m n draws; the two costs add up to less than the whole.

        f(m n) = f(m) + f(n) + (1 - 1/m) (1 - 1/n)

    Source: log(m n) = log m + log n and (1 - 1/m) + (1 - 1/n) - (1 - 1/(m n)) = (1 - 1/m) (1 - 1/n).
    """
    both = number(impl.best_of_n.best_of_n_kl(m)) + number(impl.best_of_n.best_of_n_kl(n))
    assert_exact(impl.best_of_n.best_of_n_kl(m * n), both + (1 - 1 / m) * (1 - 1 / n), f"m = {m}, n = {n}")


@fact(
    function="best_of_n_kl",
    promise="number of draws, an integer >= 1: a Python int up to 10**18",
    hint="For large n the second term tends to 1; n may be too large for 32 bits.",
)
@given(st.integers(9, 18), st.integers(1, 9))
def check_value_tends_to_log_n_minus_one(impl, power, digit):
    r"""For many draws the value is log n less one nat.

        log n - (n - 1) / n -> log n - 1,   within 1 / n

    Source: Stiennon et al. 2020, appendix G.3, for large n.
    """
    n = digit * 10**power if power < 18 else 10**18
    assert_exact(impl.best_of_n.best_of_n_kl(n), np.log(n / 10**power) + power * np.log(10) - 1, f"n = {n:.0e}")


@fact(
    function="best_of_n_kl",
    promise="or a NumPy int32 or int64",
    hint="n may come out of an array: a NumPy integer is a whole number, but its products overflow.",
)
@given(st.integers(1, 2**31 - 1), st.integers(2**31, 10**18))
def check_numpy_integers_are_whole_numbers(impl, small, large):
    r"""A NumPy integer means the same as the Python int of the same value.

        best_of_n_kl(np.int64(n)) = best_of_n_kl(n)

    Source: the docstring.
    """
    for n, kind in ((small, np.int32), (small, np.int64), (large, np.int64)):
        expected = number(impl.best_of_n.best_of_n_kl(n))
        assert_exact(impl.best_of_n.best_of_n_kl(kind(n)), expected, f"{kind.__name__}({n})")


def law_by_enumeration(s, q, n):
    """The law of the first draw of the best score, from all K^n outcomes of n draws."""
    outcomes = np.array(list(product(range(len(s)), repeat=n)))
    kept = outcomes[np.arange(len(outcomes)), s[outcomes].argmax(axis=1)]
    return np.bincount(kept, weights=q[outcomes].prod(axis=1), minlength=len(s))


def kl_of_equal_atoms(n, k):
    """KL of the best of n among k equally likely responses: k cells of Beta(n, 1), the best of n uniforms."""
    cells = np.diff(beta_law.cdf(np.linspace(0, 1, k + 1), n, 1))
    return float(np.log(k) - entropy(cells))
