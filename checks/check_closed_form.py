"""Facts about closed_form.py: the optimum of the RLHF objective, and two distances between policies.

Notation: r the rewards, q the reference policy pi_ref, beta the price of leaving it, pi = optimal_policy(r, q, beta);
for an event A (a set of responses) q(A) is its probability and q(. | A) the policy q given A.
"""

from itertools import product

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import entropy

from harness.facts import fact
from harness.inputs import betas, policies, problems, rewards, scored_policies
from harness.tolerance import (
    EXACT,
    assert_at_most,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_true,
    number,
    policy,
)

SIZES = st.integers(2, 7)
PAIRS = SIZES.flatmap(lambda k: st.tuples(policies(k), policies(k)))
TV_EXACT = 1e-12  # the docstring's promise for tv


@st.composite
def policies_and_events(draw):
    """(q, A): a policy with zeros, and an event of positive probability as a mask."""
    k = draw(st.integers(3, 7))
    q = draw(policies(k, zeros=True))
    event = np.array(draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    event[draw(st.sampled_from(np.flatnonzero(q).tolist()))] = True
    return q, event


@fact(
    function="optimal_policy",
    promise="pi*(y) = pi_ref(y) exp(r(y) / beta) / Z, Z = sum_y pi_ref(y) exp(r(y) / beta) … probabilities that sum "
    "to 1, each right to 1e-8",
    defines=True,
    weight=3,
    hint="Weigh each response by exp(reward / beta) on top of pi_ref, then normalise.",
)
@given(SIZES.flatmap(problems))
def check_pi_ref_is_reweighted_by_exp_of_reward_over_beta(impl, problem):
    r"""The optimal policy is pi_ref reweighted by exp(reward / beta), normalised by Z.

        pi(y) = q(y) exp(r(y) / beta) / Z,   that is, sum_y pi(y) = 1 and for all responses y and a
        pi(y) = pi(a) q(y)/q(a) exp((r(y) - r(a)) / beta)

    Source: Rafailov et al. 2023, eq. 4.
    """
    r, q, beta = problem
    pi = policy(impl.closed_form.optimal_policy(r, q, beta), len(q))
    a = np.argmax(np.log(q) + r / beta)
    odds = q / q[a] * np.exp((r - r[a]) / beta)
    assert_exact(pi, pi[a] * odds, f"the odds of the responses against response {a} are not those of the formula")


@fact(
    function="optimal_policy",
    promise="The policy that maximises E_pi[r] - beta KL(pi || pi_ref) over all policies.",
    weight=2,
    hint="This is not the maximiser of the objective: solve its first-order condition by hand.",
)
@given(st.integers(3, 12).flatmap(lambda k: st.tuples(rewards(k, bound=2.0), policies(k), policies(k))), betas())
def check_any_other_policy_falls_short_by_beta_kl(impl, problem, beta):
    r"""Every policy p falls short of the optimal objective by exactly beta KL(p || pi), so nothing does better than pi.

        J(p) = E_p[r] - beta KL(p || q),    J(pi) - J(p) = beta KL(p || pi)

    Source: Rafailov et al. 2023, appendix A.1, eq. 14 (Gibbs' variational identity).
    """
    r, q, p = problem
    pi = policy(impl.closed_form.optimal_policy(r, q, beta), len(q))
    assert_true((pi > 0).all(), "a response that pi_ref can say has probability 0 at moderate rewards", got=pi)

    def objective(x):
        return x @ r - beta * relative_entropy(x, q)

    # An error of EXACT in pi moves the right-hand side by up to beta sum p/pi times EXACT.
    within = EXACT * (1 + beta * float(np.sum(p / pi)))
    gap = objective(pi) - objective(p)
    assert_exact(gap, beta * relative_entropy(p, pi), "how far another policy falls short", within=within)


@fact(
    function="optimal_policy",
    promise="A response with pi_ref = 0 has probability exactly 0, whatever its reward; its reward has no influence "
    "at all. … may contain zeros",
    hint="A response that pi_ref never says keeps probability 0: leave it out of every maximum.",
)
@settings(max_examples=12)
@given(st.integers(3, 7).flatmap(lambda k: problems(k, zeros=True)))
def check_responses_outside_the_support_play_no_part(impl, problem):
    r"""A response with pi_ref = 0 gets exactly 0 however good it is, and the others get what they would get without it.

        pi(y) = 0 where q(y) = 0;   on the support S of q:  pi_S = optimal_policy(r_S, q_S, beta)

    Source: Rafailov et al. 2023, eq. 4, at pi_ref(y) = 0.
    """
    r, q, beta = problem
    support = q > 0
    alone = policy(impl.closed_form.optimal_policy(r[support], q[support], beta), int(support.sum()))
    for temptation in (0.0, 40.0, 1e3, 1e5):
        tempting = np.where(support, r, r + temptation)
        pi = policy(impl.closed_form.optimal_policy(tempting, q, beta), len(q))
        assert_true((pi[~support] == 0).all(), "a response that pi_ref never says has positive probability", got=pi)
        assert_exact(pi[support], alone, "the responses that pi_ref can say")


@fact(
    function="optimal_policy",
    promise="Adding a constant to r changes nothing.",
    hint="Only differences of rewards matter: subtract the best one before you exponentiate.",
)
@settings(max_examples=12)
@given(SIZES.flatmap(problems))
def check_a_constant_added_to_the_reward_changes_nothing(impl, problem):
    r"""Rewards that differ by a constant have the same optimal policy, also far beyond the range of exp.

        optimal_policy(r + c, q, beta) = optimal_policy(r, q, beta)

    Source: Rafailov et al. 2023, section 5.1, Lemma 2.
    """
    r, q, beta = problem
    r = np.round(64 * r) / 64  # adding a power of two to such numbers rounds nothing
    pi = policy(impl.closed_form.optimal_policy(r, q, beta), len(q))
    for constant in (-(2.0**17), -(2.0**10), 2.0**5, 2.0**12, 2.0**17):
        shifted = impl.closed_form.optimal_policy(r + constant, q, beta)
        assert_exact(shifted, pi, f"with {constant:g} added to every reward")


@fact(
    function="optimal_policy",
    promise="weight of the KL term, > 0, in units of reward per nat",
    hint="beta has the unit of the reward: one formula for every beta > 0, no special cases.",
)
@settings(max_examples=12)
@given(SIZES.flatmap(problems))
def check_only_the_ratio_of_reward_and_beta_matters(impl, problem):
    r"""Rewards and beta in another unit give the same policy, however small or large the unit.

        optimal_policy(c r, q, c beta) = optimal_policy(r, q, beta)   for c > 0

    Source: Rafailov et al. 2023, eq. 4, where r and beta enter as r / beta.
    """
    r, q, beta = problem
    pi = policy(impl.closed_form.optimal_policy(r, q, beta), len(q))
    for power in (-40, -20, -13, -7, -4, 4, 9, 20, 40):
        c = 2.0**power  # a power of two, so that the change of unit rounds nothing
        assert_exact(impl.closed_form.optimal_policy(c * r, q, c * beta), pi, f"rewards and beta times 2**{power}")


@fact(
    function="optimal_policy",
    promise="For a small beta, equally good best responses share the mass in proportion to pi_ref",
    hint="Equally good responses are told apart by pi_ref alone: no argmax, no equal shares.",
)
@settings(max_examples=20)
@given(st.integers(3, 7).flatmap(lambda k: st.tuples(rewards(k), policies(k), st.permutations(range(k)))))
def check_small_beta_leaves_pi_ref_on_the_best_responses(impl, drawn):
    r"""For a small beta the mass goes to the best reward, and tied best responses share it in proportion to pi_ref.

        pi -> q(. | B)   as beta -> 0,   B the responses with the largest reward;  so KL(pi || q) -> -log q(B)

    Source: the limit of Rafailov et al. 2023, eq. 4.
    """
    r, q, order = drawn
    r[order[:2]] = r.max()
    best = r == r.max()
    for beta in (1e-5, 2e-4):
        assert_exact(impl.closed_form.optimal_policy(r, q, beta), q * best / q[best].sum(), f"beta = {beta:g}")


@fact(
    function="optimal_policy",
    promise="for a large beta the result tends to pi_ref … each right to 1e-8",
    hint="A large beta means a small tilt: the policy is close to pi_ref, not equal to it.",
)
@settings(max_examples=20)
@given(SIZES.flatmap(lambda k: scored_policies(k)))
def check_large_beta_tilts_pi_ref_by_the_advantage(impl, scored):
    r"""For a large beta the policy leaves pi_ref by the advantage over the mean reward, divided by beta.

        pi(y) = q(y) (1 + (r(y) - E_q[r]) / beta + O(1 / beta^2))

    Source: first-order expansion of Rafailov et al. 2023, eq. 4.
    """
    r, q = scored
    # The second-order term is at most q (12 / beta)^2 / 2 = 7e-9 q here, the first one up to 1e-4 q.
    for beta in (1e5, 4e5, 3e6):
        assert_exact(impl.closed_form.optimal_policy(r, q, beta), q * (1 + (r - q @ r) / beta), f"beta = {beta:g}")


@fact(
    function="optimal_policy",
    promise="Nothing overflows and nothing becomes NaN while |r| / beta is at most 1e6, pi_ref entries as small as "
    "1e-300 included.",
    hint="Use pi_ref as it is, with no floor and no small constant added: rewards can bring tiny values back.",
)
@example(300, 50, 1.0, np.array([0.2, 0.3, 0.5]))
@given(st.integers(20, 300), st.integers(-300, 300), betas(), policies(3))
def check_a_reward_can_bring_back_a_tiny_probability(impl, exponent, hundredths, beta, others):
    r"""A response with a probability of 10^-e under pi_ref competes as soon as its reward is beta e log 10 ahead.

        q(0) = 10^-e, r(0) = beta (e log 10 + a), other rewards 0:   pi(0) = 1 / (1 + exp(-a)), the others share like q

    Source: Rafailov et al. 2023, eq. 4, written for the log-odds of one response.
    """
    for a in (hundredths / 100, 310.0, 9e5 / exponent):  # a lead of up to 1e6 nats
        q = np.concatenate([[10.0**-exponent], others])
        r = np.array([beta * (exponent * np.log(10) + a), 0.0, 0.0, 0.0])
        back = 1 / (1 + np.exp(-a))
        expected = np.concatenate([[back], (1 - back) * others])
        assert_exact(impl.closed_form.optimal_policy(r, q, beta), expected, f"a = {a:g}")


@fact(
    function="optimal_policy",
    promise="Z = sum_y pi_ref(y) exp(r(y) / beta)",
    hint="Nothing may depend on how many responses there are: each gets its own weight.",
)
def check_splitting_a_response_splits_its_probability(impl, seed):
    r"""A response that is split into many parts of equal reward keeps its total, and the parts keep their shares.

        q(y, part) = q(y) s(part | y), r(y, part) = r(y)   =>   pi(y, part) = pi(y) s(part | y)

    Source: Rafailov et al. 2023, eq. 4; the factor exp(r / beta) / Z is the same for all parts.
    """
    rng = np.random.default_rng(seed)
    for k, parts, beta in ((3, 700, 0.4), (5, 61, 2.3)):
        r, q, shares = rng.normal(size=k), rng.dirichlet(np.full(k, 2.0)), rng.dirichlet(np.ones(parts), size=k)
        order = rng.permutation(k * parts)
        split = impl.closed_form.optimal_policy(np.repeat(r, parts)[order], (q[:, None] * shares).ravel()[order], beta)
        whole = policy(impl.closed_form.optimal_policy(r, q, beta), k)
        assert_exact(split, (whole[:, None] * shares).ravel()[order], f"{k} responses, {parts} parts each")


@fact(
    function="optimal_policy",
    promise="pi*(y) = pi_ref(y) exp(r(y) / beta) / Z … K >= 1",
    hint="With nothing to choose between, pi_ref is optimal, also for a single response.",
)
@given(st.integers(1, 5).flatmap(policies), st.sampled_from([-250.0, 0.0, 0.75, 3.0]), betas(0.01, 20.0))
def check_equal_rewards_give_back_pi_ref(impl, q, reward, beta):
    r"""When all rewards are equal, or there is only one response, the optimal policy is pi_ref.

        r(y) = c for all y   =>   pi = q

    Source: Rafailov et al. 2023, eq. 3: with E_pi[r] constant only the KL term is left.
    """
    assert_exact(impl.closed_form.optimal_policy(np.full(len(q), reward), q, beta), q)


@fact(
    function="optimal_policy",
    promise="rewards: finite floats or integers",
    hint="Rewards may be an integer array: make it float64 before you calculate with it.",
)
@given(SIZES.flatmap(lambda k: st.tuples(st.lists(st.integers(-5, 5), min_size=k, max_size=k), policies(k))), betas())
def check_integer_rewards_are_rewards(impl, scored, beta):
    r"""Rewards given as integers mean the same as the same rewards given as floats.

        optimal_policy(integers, q, beta) = optimal_policy(floats, q, beta)

    Source: the docstring; r enters Rafailov et al. 2023, eq. 4, by its value.
    """
    r, q = np.array(scored[0], dtype=np.int64), scored[1]
    pi = policy(impl.closed_form.optimal_policy(r.astype(np.float64), q, beta), len(q))
    assert_exact(impl.closed_form.optimal_policy(r, q, beta), pi)


@fact(
    function="optimal_policy",
    promise="The arguments are not modified.",
    hint="Work on copies: an assignment like `r -= ...` changes the caller's array.",
)
def check_optimal_policy_leaves_its_arguments_alone(impl):
    r"""Computing the optimal policy changes neither the rewards nor the reference policy.

        r and q are the same before and after the call

    Source: the docstring.
    """
    call = impl.closed_form.optimal_policy
    assert_leaves_arguments_alone(call, np.array([1.5, -2.0, 0.25]), np.array([0.2, 0.5, 0.3]), 0.7)
    assert_leaves_arguments_alone(call, np.array([2.0, 9.0, 1.0]), np.array([0.6, 0.0, 0.4]), 0.05)


@fact(
    function="kl",
    promise="The Kullback-Leibler divergence KL(p || q) = sum_y p(y) log(p(y) / q(y)), in nats. … A float (a NumPy "
    "scalar will do) >= 0, right to 1e-8",
    defines=True,
    weight=3,
    hint="Average the natural logarithm of p / q under p: p is in the weight as well.",
)
@given(PAIRS)
def check_kl_is_the_expected_log_ratio(impl, pair):
    r"""The KL divergence is the mean of log(p / q) under p, in nats; it adds up the curvature on the way from q to p.

        KL(p || q) = sum_y p(y) log(p(y) / q(y))
                   = integral_0^1 (1 - t) sum_y (p(y) - q(y))^2 / (q(y) + t (p(y) - q(y))) dt

    Source: the definition (Cover & Thomas 2006); the integral is its Taylor formula along the segment from q to p.
    """
    p, q = pair

    def curvature(t):
        return np.sum((p - q) ** 2 / (q + t * (p - q)))

    expected = quad(lambda t: (1 - t) * curvature(t), 0, 1, epsabs=1e-11, epsrel=1e-11, limit=500)[0]
    assert_exact(impl.closed_form.kl(p, q), expected)


@fact(
    function="kl",
    promise="a response with p = 0 contributes nothing, whatever q is there (0 log 0 = 0, also for q = 0) … may "
    "contain zeros",
    weight=2,
    hint="0 log 0 is 0: responses with p = 0 contribute nothing, whatever q is there.",
)
@given(policies_and_events())
def check_conditioning_on_an_event_costs_its_surprisal(impl, policy_and_event):
    r"""Restricting q to an event A costs the surprisal of A; what p and q leave out contributes nothing.

        KL(q(. | A) || q) = -log q(A);   for a single response A = {i}: -log q(i)

    Source: the definition (Cover & Thomas 2006), with 0 log 0 = 0.
    """
    q, event = policy_and_event
    mass = q[event].sum()
    assert_exact(impl.closed_form.kl(q * event / mass, q), -np.log(mass))


@fact(
    function="kl",
    promise="+inf if some response has p > 0 and q = 0",
    hint="If p can say what q never says, KL is +inf, however rarely it does; KL(q || p) is another number.",
)
@settings(max_examples=12)
@given(st.integers(3, 7).flatmap(lambda k: policies(k, zeros=True)))
def check_kl_is_infinite_off_the_support_and_finite_the_other_way(impl, q):
    r"""The divergence is +inf as soon as p says something that q never says; the other direction stays finite.

        p = (1 - e) q + e [response i] with q(i) = 0 < e:   KL(p || q) = +inf,   KL(q || p) = -log(1 - e)

    Source: the definition (Cover & Thomas 2006), p log(p / 0) = inf.
    """
    for leak in (0.5, 0.04, 1e-4, 1e-9, 1e-13, 1e-40, 1e-300):
        p = (1 - leak) * q
        p[np.argmin(q)] = leak
        assert_exact(impl.closed_form.kl(p, q), np.inf, f"p gives {leak:g} to a response that q never says")
        assert_exact(impl.closed_form.kl(q, p), -np.log1p(-leak), "the other direction")


@fact(
    function="kl",
    promise="never negative: where rounding would make the sum of nearly equal p and q fall below 0, the result is 0",
    hint="Rounding can push the sum below 0 when p and q nearly agree: cut it off at 0.",
)
def check_kl_of_nearly_equal_policies_is_not_negative(impl, seed):
    r"""The divergence is never negative, not even by rounding, and 0 when the policies are equal.

        KL(p || q) >= 0,   KL(p || p) = 0

    Source: Gibbs' inequality (Cover & Thomas 2006); the docstring for rounding.
    """
    # The bare sum comes out negative for about half of such pairs: 2^-60 is the chance that it passes by luck.
    rng = np.random.default_rng(seed)
    for k in range(3, 63):
        p = rng.dirichlet(np.full(k, 2.0))
        q = p * (1 + 1e-12 * rng.normal(size=k))
        got = number(impl.closed_form.kl(p, q / q.sum()))
        assert_true(got >= 0, f"negative for {k} responses", got=got, expected="at least 0")
        assert_exact(got, 0.0, "nearly equal policies")
        assert_exact(impl.closed_form.kl(p, p), 0.0, "equal policies")


@fact(
    function="kl",
    promise="KL(p || q) = sum_y p(y) log(p(y) / q(y)) … right to 1e-8",
    hint="A small divergence is not 0: no floor, no rounding, no short cut for near equality.",
)
@settings(max_examples=20)
@given(SIZES.flatmap(lambda k: scored_policies(k)))
def check_kl_of_close_policies_is_half_the_chi_square(impl, scored):
    r"""Close to q the divergence grows like the square of the step: half the chi-square distance.

        p = q (1 + e z), E_q[z] = 0, |z| <= 1:   KL(p || q) = e^2 Var_q(z) / 2 + O(e^3)

    Source: second-order expansion of the definition.
    """
    direction, q = scored
    z = (direction - q @ direction) / 12
    for step in (5e-4, 2e-3):
        # The term of third order is at most step^3 / 6 = 1.4e-9.
        assert_exact(impl.closed_form.kl(q * (1 + step * z), q), step**2 * (q @ z**2) / 2, f"a step of {step:g}")


@fact(
    function="kl",
    promise="KL(p || q) = sum_y p(y) log(p(y) / q(y)) … right to 1e-8 (relative above 1)",
    hint="Use p and q as they are: no epsilon in the logarithm, no clipping, no tiny products.",
)
def check_kl_prices_tiny_probabilities(impl):
    r"""A probability of 10^-300 has a finite logarithm, and the divergence takes it at its price.

        p(i) = 10^-a, q(i) = 10^-b, the rest split alike:
        KL(p || q) = 10^-a (b - a) log 10 + (1 - 10^-a) log((1 - 10^-a) / (1 - 10^-b))

    Source: the definition (Cover & Thomas 2006), for the two events {i} and not {i}.
    """
    for a, b in product([0.3, 1, 2, 5, 9, 170, 290], [0.5, 3, 8, 20, 120, 240, 300]):
        tiny_p, tiny_q = 10.0**-a, 10.0**-b
        p = np.array([0.36 * (1 - tiny_p), tiny_p, 0.64 * (1 - tiny_p)])
        q = np.array([0.36 * (1 - tiny_q), tiny_q, 0.64 * (1 - tiny_q)])
        rest = (1 - tiny_p) * (np.log1p(-tiny_p) - np.log1p(-tiny_q))
        assert_exact(impl.closed_form.kl(p, q), tiny_p * (b - a) * np.log(10) + rest, f"a = {a}, b = {b}")


@fact(
    function="kl",
    promise="KL(p || q) = sum_y p(y) log(p(y) / q(y))",
    hint="Many rare responses together weigh as much as a common one: sum over all of them.",
)
def check_splitting_responses_leaves_kl_unchanged(impl, seed):
    r"""Splitting every response into parts, alike under p and q, changes nothing, however small the parts are.

        p(y, part) = p(y) s(part | y), q(y, part) = q(y) s(part | y):   the KL divergence is that of the responses y

    Source: the chain rule of relative entropy (Cover & Thomas 2006).
    """
    rng = np.random.default_rng(seed)
    for parts in (9, 20_000):
        p, q = np.array([0.003, 0.797, 0.2]), np.append(rng.dirichlet([3.0, 3.0]) * 0.9, 0.1)
        shares = rng.dirichlet(np.full(parts, 4.0), size=3)
        got = impl.closed_form.kl((p[:, None] * shares).ravel(), (q[:, None] * shares).ravel())
        assert_exact(got, relative_entropy(p, q), f"{parts} parts each")


@fact(
    function="kl",
    promise="The arguments are not modified.",
    hint="Work on copies: clip or normalise nothing in the caller's arrays.",
)
def check_kl_leaves_its_arguments_alone(impl):
    r"""Computing the divergence changes neither policy, zeros included.

        p and q are the same before and after the call

    Source: the docstring.
    """
    p, q = np.array([0.5, 0.0, 0.3, 0.2]), np.array([0.1, 0.0, 0.6, 0.3])
    assert_leaves_arguments_alone(impl.closed_form.kl, p, q)
    assert_leaves_arguments_alone(impl.closed_form.kl, np.array([0.25, 0.75]), np.array([1.0, 0.0]))


@fact(
    function="tv",
    promise="The total variation distance 1/2 sum_y |p(y) - q(y)|: the largest difference in the probability of any "
    "event.",
    defines=True,
    weight=3,
    hint="Which event tells p from q best? It holds every response on which p exceeds q.",
)
@given(PAIRS)
def check_tv_is_the_largest_difference_over_events(impl, pair):
    r"""Total variation is the largest difference between the two probabilities of one event.

        tv(p, q) = max over all 2^K events A of p(A) - q(A) = 1/2 sum_y |p(y) - q(y)|

    Source: the definition; the best event is where p exceeds q.
    """
    p, q = pair
    differences = [(p - q)[list(event)].sum() for event in product([False, True], repeat=len(p))]
    assert_exact(impl.closed_form.tv(p, q), max(differences), within=TV_EXACT)


@fact(
    function="tv",
    promise="A float (a NumPy scalar will do) between 0 (p = q) and 1 (p and q have no response in common), right to "
    "1e-12",
    weight=2,
    hint="Only what the policies do not share counts, and all of it: 0 when equal, 1 when disjoint.",
)
@settings(max_examples=12)
@given(policies(3), policies(4), policies(2), st.permutations(range(9)))
def check_tv_is_the_mass_that_is_not_shared(impl, shared, only_p, only_q, order):
    r"""Two policies that agree on all but a mass d, and there have nothing in common, are at distance d.

        p = (1 - d) c + d a, q = (1 - d) c + d b, a and b without a common response:   tv(p, q) = d, from 0 to 1

    Source: tv(p, q) = 1 - sum_y min(p(y), q(y)) (the definition, with |p - q| = p + q - 2 min).
    """
    for apart in (0.0, 1e-11, 1e-8, 1e-5, 0.003, 0.4, 1.0):
        p = np.concatenate([(1 - apart) * shared, apart * only_p, np.zeros(2)])[list(order)]
        q = np.concatenate([(1 - apart) * shared, np.zeros(4), apart * only_q])[list(order)]
        assert_exact(impl.closed_form.tv(p, q), apart, f"d = {apart:g}", within=TV_EXACT)


@fact(
    function="tv",
    promise="The total variation distance 1/2 sum_y |p(y) - q(y)|",
    hint="Draw from both policies at once, as equal as possible: how often must the draws differ?",
)
@settings(max_examples=12)
@given(st.integers(3, 5).flatmap(lambda k: st.tuples(policies(k), policies(k, zeros=True))))
def check_tv_is_the_least_chance_that_coupled_draws_differ(impl, pair):
    r"""Among all joint laws with margins p and q, the smallest chance that the two draws differ is the distance.

        tv(p, q) = min P(Y != Y')   over joint laws of (Y, Y') with Y ~ p, Y' ~ q

    Source: the coupling (transport) form of total variation.
    """
    p, q = pair
    k = len(p)
    margins = np.vstack([np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))])
    differ = 1 - np.eye(k).ravel()
    transport = linprog(differ, A_eq=margins, b_eq=np.concatenate([p, q]), bounds=(0, None), method="highs")
    # The solver promises its constraints to 1e-7 only.
    assert_exact(impl.closed_form.tv(p, q), transport.fun, within=1e-6)


@fact(
    function="tv",
    promise="1/2 sum_y |p(y) - q(y)| … may contain zeros",
    hint="Responses with probability 0 are ordinary responses: no logarithm, no quotient.",
)
@given(policies_and_events())
def check_conditioning_on_an_event_moves_the_mass_outside(impl, policy_and_event):
    r"""Restricting q to an event A moves just the mass outside A; the distance is the same both ways.

        tv(q(. | A), q) = tv(q, q(. | A)) = 1 - q(A)

    Source: tv(p, q) = 1 - sum_y min(p(y), q(y)) (the definition, with |p - q| = p + q - 2 min).
    """
    q, event = policy_and_event
    given_event = q * event / q[event].sum()
    assert_exact(impl.closed_form.tv(given_event, q), q[~event].sum(), within=TV_EXACT)
    assert_exact(impl.closed_form.tv(q, given_event), q[~event].sum(), "with p and q exchanged", within=TV_EXACT)


@fact(
    function="tv",
    promise="1/2 sum_y |p(y) - q(y)| … right to 1e-12",
    hint="Sum over the responses, do not average, and leave no rare response out.",
)
def check_splitting_responses_leaves_tv_unchanged(impl, seed):
    r"""The distance stays the same when every response is split, alike under p and q, into however many parts.

        p(y, part) = p(y) s(part | y), q(y, part) = q(y) s(part | y):   the distance is that of the responses y

    Source: the definition: |p(y) - q(y)| splits like its parts.
    """
    rng = np.random.default_rng(seed)
    for parts in (11, 20_000):
        q, gap = np.array([0.2, 0.5, 0.3]), 0.005 * rng.uniform(1, 2)
        p = q + gap * np.array([1, -0.25, -0.75])
        shares = rng.dirichlet(np.full(parts, 4.0), size=3)
        got = impl.closed_form.tv((p[:, None] * shares).ravel(), (q[:, None] * shares).ravel())
        assert_exact(got, gap, f"{parts} parts each", within=TV_EXACT)


@fact(
    function="tv",
    promise="1/2 sum_y |p(y) - q(y)| … right to 1e-12",
    hint="tv is a distance: the same from p to q as from q to p, and a detour is never shorter.",
)
@given(SIZES.flatmap(lambda k: st.tuples(policies(k), policies(k, zeros=True), policies(k, zeros=True))))
def check_tv_is_a_metric(impl, three):
    r"""Total variation is symmetric and obeys the triangle inequality; halfway between two policies it is half.

        tv(p, q) = tv(q, p),   tv(p, q) <= tv(p, m) + tv(m, q),   equal to twice tv(p, m) for m = (p + q) / 2

    Source: it is half the L1 norm of p - q.
    """
    p, q, m = three
    there = number(impl.closed_form.tv(p, q))
    assert_exact(impl.closed_form.tv(q, p), there, "from q to p", within=TV_EXACT)
    detour = number(impl.closed_form.tv(p, m)) + number(impl.closed_form.tv(m, q))
    assert_at_most(there, detour, "the direct way is longer than a detour", slack=TV_EXACT)
    assert_exact(impl.closed_form.tv(p, (p + q) / 2), there / 2, "halfway", within=TV_EXACT)


@fact(
    function="tv",
    promise="the largest difference in the probability of any event",
    hint="What is computed from a response cannot tell p from q better than the response itself.",
)
@given(st.integers(4, 8).flatmap(lambda k: st.tuples(policies(k), policies(k))), st.integers(2, 3))
def check_merging_responses_never_raises_tv(impl, pair, groups):
    r"""Merging responses never raises the distance, and merging those on the same side of p = q does not lower it.

        tv(p merged, q merged) <= tv(p, q), with equality if p - q has one sign in each group

    Source: the data-processing inequality; the best event stays an event if p - q has one sign in each group.
    """
    p, q = pair
    apart = number(impl.closed_form.tv(p, q))
    group = np.arange(len(p)) % groups
    merged = number(impl.closed_form.tv(np.bincount(group, weights=p), np.bincount(group, weights=q)))
    assert_at_most(merged, apart, "merging responses raised the distance", slack=TV_EXACT)
    sides = (p > q).astype(int)
    two_sides = impl.closed_form.tv(np.bincount(sides, weights=p), np.bincount(sides, weights=q))
    assert_exact(two_sides, apart, "merged into two responses, where p is larger and where q is", within=TV_EXACT)


@fact(
    function="tv",
    promise="The arguments are not modified.",
    hint="Work on copies: `p -= q` changes the caller's array.",
)
def check_tv_leaves_its_arguments_alone(impl):
    r"""Computing the distance changes neither policy.

        p and q are the same before and after the call

    Source: the docstring.
    """
    assert_leaves_arguments_alone(impl.closed_form.tv, np.array([0.5, 0.0, 0.3, 0.2]), np.array([0.1, 0.4, 0.0, 0.5]))


def relative_entropy(p, q):
    """Cross-entropy less entropy, for q > 0."""
    return float(-(p @ np.log(q)) - entropy(p))
