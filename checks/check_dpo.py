"""Facts about dpo.py: preference pairs, fitted without a reward model.

Notation: q the reference policy, pi = softmax(logits), (w, l) a pair, w its winner, e_y a unit vector, sigma the
logistic function, margin = beta [log(pi_w / q_w) - log(pi_l / q_l)]. In the Bradley-Terry model w beats l with
probability s_w / (s_w + s_l), for strengths s = exp(r).
"""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import expit, rel_entr, softmax, xlogy

from harness.facts import fact
from harness.inputs import betas, policies, problems, rewards, vectors
from harness.statistics import ALPHA, spend
from harness.tolerance import (
    assert_at_most,
    assert_exact,
    assert_leaves_arguments_alone,
    assert_true,
    number,
    vector,
)

TRAINED = 0.002
"""What train_dpo promises at its default steps: total variation to the exact optimum."""

ROUNDED = 1e-6
"""Where training moved nothing, only the rounding of a float32 policy is left."""

TV_OF_THE_OPTIMUM = {3_000: 0.41, 10_000: 0.207}
"""n draws -> what TV(optimum of the pairs, pi*) exceeds with probability 1e-9, for the lecture's rewards at beta = 0.5.

By importance sampling over tables of counts, standard error below 6%. In 200,000 simulated tables for each n: mean
0.0417 and 0.0228 (2.28 / sqrt(n)), 99% 0.140 and 0.0733, 99.999% 0.299 and 0.145. No finite optimum: probability below
2e-20. A union bound over the normal limit gives 17.97 / sqrt(n), which is too low for such n.
"""

R_TRUE = np.array([3.0, 2.0, 0.0, 0.5, -2.0, -1.0])
PI_REF = np.array([0.10, 0.15, 0.30, 0.25, 0.15, 0.05])


@st.composite
def losses(draw):
    """(logits, pi_ref, winners, losers, beta): K = 2 to 6, no pair twice."""
    k = draw(st.integers(2, 6))
    ordered = [(i, j) for i in range(k) for j in range(k) if i != j]
    pairs = draw(st.lists(st.sampled_from(ordered), min_size=1, max_size=9, unique=True))
    return draw(vectors(k)), draw(policies(k)), *columns(pairs), draw(betas())


SECONDS = 25.0
"""Seconds that the trainings of one fact may take: at most 2 for the reference."""


@fact(
    function="dpo_loss",
    promise="The DPO loss: the negative log-likelihood of the preference pairs, per pair, in nats. With pi = "
    "softmax(logits), w a winner and l its loser, loss = -mean over the pairs of log sigma(margin) margin = "
    "beta [ (log pi_w - log_ref_w) - (log pi_l - log_ref_l) ]",
    defines=True,
    weight=3,
    hint="The margin is beta times a difference of log-ratios policy/reference; average -log sigma(margin).",
)
@given(losses())
def check_loss_is_the_surprise_at_the_winners(impl, inputs):
    r"""The DPO loss is the mean surprise at who won, in the Bradley-Terry model whose strengths are (pi/q)^beta.

        loss = -mean log( s_w / (s_w + s_l) ),   s = (pi / q)^beta

    Source: Rafailov et al. 2023, eq. 7, with the model of eq. 6.
    """
    logits, q, winners, losers, beta = inputs
    loss, _ = impl.value_and_grad("dpo_loss", logits, np.log(q), winners, losers, beta)
    assert_exact(loss, surprise(logits, np.log(q), winners, losers, beta))


@fact(
    function="dpo_loss",
    promise="A scalar float64 tensor that can be differentiated with respect to `logits`. Value and gradient are "
    "finite and right to 1e-8",
    weight=2,
    hint="Winner and loser are pushed equally hard: detach nothing.",
)
@given(losses())
def check_gradient_is_sigmoid_weighted(impl, inputs):
    r"""Each pair pulls its winner up and its loser down, by beta times the chance it had of ending otherwise.

        d loss / d logits = -beta mean( sigma(-margin) (e_w - e_l) )

    Source: Rafailov et al. 2023, the gradient after eq. 7.
    """
    logits, q, winners, losers, beta = inputs
    _, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), winners, losers, beta)
    assert_exact(vector(gradient, len(q)), pull(logits, np.log(q), winners, losers, beta))


@fact(
    function="dpo_loss",
    promise="loss = -mean over the pairs of log sigma(margin) … Value and gradient are finite and right to 1e-8",
    weight=2,
    seconds=40.0,
    hint="Every pair counts, however many there are.",
)
@settings(max_examples=8)
@example([41, 7, 60, 13, 26], np.array([0.1, 0.3, 0.15, 0.25, 0.2]), 0.7, 12)
@given(st.lists(st.integers(1, 60), min_size=5, max_size=5, unique=True), policies(5), betas(), st.just(1))
def check_optimum_of_rlhf_is_stationary(impl, strengths, q, beta, repeats):
    r"""Where the wins are as frequent as a reward r says, the gradient is 0 at the optimum of the RLHF objective for r.

        #(i beats j) / #(j beats i) = exp(r_i - r_j),   logits = log q + r / beta   =>   d loss / d logits = 0

    Source: Rafailov et al. 2023, eq. 4 and 6: the log-likelihood is a proper scoring rule.
    """
    winners, losers = pairs_in_proportion(strengths, repeats)
    logits = np.log(q) + np.log(strengths) / beta
    loss, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), winners, losers, beta)
    assert_exact(vector(gradient, 5), np.zeros(5), "the gradient is not 0 at pi*")
    s = np.array(strengths, dtype=np.float64)
    assert_exact(loss, np.mean(np.log1p(s[losers] / s[winners])))


@fact(
    function="dpo_loss",
    promise="margin = beta [ (log pi_w - log_ref_w) - (log pi_l - log_ref_l) ]",
    hint="beta multiplies the difference of the log-ratios, whatever its size.",
)
@settings(max_examples=10)
@given(rewards(4), policies(4))
def check_beta_only_scales_the_reward(impl, u, q):
    r"""The loss sees a policy through its implicit reward u = beta log(pi/q) alone, whatever beta is.

        logits = log q + u / beta   =>   loss = mean log(1 + exp(u_l - u_w)),   d loss / d logits proportional to beta

    Source: Rafailov et al. 2023, eq. 5 and 7.
    """
    winners, losers = np.array([0, 2, 1, 3, 3]), np.array([1, 0, 3, 2, 0])
    for beta in (0.003, 0.09, 1.0, 17.0, 400.0):
        loss, gradient = impl.value_and_grad("dpo_loss", np.log(q) + u / beta, np.log(q), winners, losers, beta)
        assert_exact(loss, np.logaddexp(0, u[losers] - u[winners]).mean())
        assert_exact(vector(gradient, 4), beta * pull(u, np.zeros(4), winners, losers, 1.0))


@fact(
    function="dpo_loss",
    promise="Normalising constants of logits and of log_ref cancel. … it need not be normalised",
    hint="Stay with logarithms: the normaliser is the same number for winner and loser.",
)
@given(losses(), st.sampled_from([-2000.0, -512.0, 64.0, 1024.0]), st.sampled_from([-1024.0, -32.0, 800.0]))
def check_normalisers_cancel(impl, inputs, shift, ref_shift):
    r"""A constant added to all logits, or to all of log_ref, changes nothing.

        loss(logits + c, log_ref + c') = loss(logits, log_ref)

    Source: Rafailov et al. 2023, eq. 5 and 6: the normalisers of winner and loser are the same and cancel.
    """
    logits, q, winners, losers, beta = inputs
    loss, gradient = impl.value_and_grad("dpo_loss", logits + shift, np.log(q) + ref_shift, winners, losers, beta)
    assert_exact(loss, surprise(logits, np.log(q), winners, losers, beta))
    assert_exact(vector(gradient, len(q)), pull(logits, np.log(q), winners, losers, beta))


@fact(
    function="dpo_loss",
    promise="A pair of a response with itself has margin 0 and counts with log 2.",
    hint="A pair with margin 0 costs log 2 and counts in the mean.",
)
@given(losses(), st.integers(1, 4))
def check_undecided_pairs_count_log_two(impl, inputs, idle):
    r"""At the reference every pair costs log 2; a pair of a response with itself costs log 2 always, and pulls nothing.

        loss(pairs and m self-pairs) = (n loss(pairs) + m log 2) / (n + m)

    Source: sigma(0) = 1/2.
    """
    logits, q, winners, losers, beta = inputs
    n, itself = len(winners), np.arange(idle) % len(q)
    more = np.append(winners, itself), np.append(losers, itself)
    loss, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), *more, beta)
    share = n / (n + idle)
    assert_exact(loss, share * surprise(logits, np.log(q), winners, losers, beta) + (1 - share) * np.log(2))
    assert_exact(vector(gradient, len(q)), share * pull(logits, np.log(q), winners, losers, beta))
    alone = np.arange(idle) % len(q)
    loss, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), alone, alone, beta)
    assert_exact(loss, np.log(2), "every pair is one of a response with itself")
    assert_exact(vector(gradient, len(q)), np.zeros(len(q)), "the gradient of pairs of a response with itself")
    for start in (np.log(q), np.zeros(len(q))):  # at zeros every margin is 0 to the last bit
        loss, gradient = impl.value_and_grad("dpo_loss", start, start, *more, beta)
        assert_exact(loss, np.log(2), "at pi = q the loss is log 2")
        assert_exact(vector(gradient, len(q)), pull(start, start, *more, beta), "the gradient at pi = q")


@fact(
    function="dpo_loss",
    promise="Each pair counts as often as it occurs.",
    hint="Ten wins are ten pairs: average over the rows as they come.",
)
@given(losses(), st.integers(2, 7))
def check_pairs_count_as_often_as_they_occur(impl, inputs, times):
    r"""A pair that occurs m times weighs m times; the order of the pairs is irrelevant.

        loss = sum over different pairs of (m_wl / n) (-log sigma(margin_wl))

    Source: a mean over the sample; Rafailov et al. 2023, eq. 7.
    """
    logits, q, winners, losers, beta = inputs
    often = np.append(times, np.ones(len(winners) - 1, dtype=np.int64))
    each = [surprise(logits, np.log(q), winners[[i]], losers[[i]], beta) for i in range(len(winners))]
    table = np.repeat([winners, losers], often, axis=1)
    for rows in table, table[:, ::-1].copy():
        loss, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), rows[0], rows[1], beta)
        assert_exact(loss, often @ each / often.sum())
        assert_exact(vector(gradient, len(q)), pull(logits, np.log(q), rows[0], rows[1], beta))


@fact(
    function="dpo_loss",
    promise="finite and right to 1e-8 (relative above 1) for margins of any size, such as -2e6 (loss 2e6) and +2e6 "
    "(loss 0) … n >= 1",
    hint="sigmoid(x) rounds to 0 and its log to -inf: take the logarithm and the sigmoid in one.",
)
def check_huge_margins_cost_their_size(impl):
    r"""A pair that is wrong by a huge margin costs that margin and pulls with full force; a right one costs 0.

        loss = -margin and gradient -beta (e_w - e_l)  for margin << 0;   both 0 for margin >> 0

    Source: -log sigma(x) = max(0, -x) + log(1 + exp(-|x|)).
    """
    log_ref = np.log([0.2, 0.5, 0.3])
    sizes = (12.0, 1.0), (18.5, 2.0), (37.0, 1.0), (90.0, 0.5), (800.0, 1.0), (2000.0, 3.0), (2.0, 1e6), (2e6, 1.0)
    for size, beta in sizes:
        logits = log_ref + size * np.array([0.0, 1.0, -0.25])
        for right, wrong in ((1, 0), (2, 1), (0, 2)):
            for pair in ([right], [wrong]), ([wrong], [right]), ([right, wrong], [wrong, right]):
                winners, losers = (np.array(side) for side in pair)
                loss, gradient = impl.value_and_grad("dpo_loss", logits, log_ref, winners, losers, beta)
                margin = beta * ((logits - log_ref)[winners] - (logits - log_ref)[losers])
                assert_exact(loss, np.mean(np.maximum(0, -margin) + np.log1p(np.exp(-np.abs(margin)))))
                assert_exact(vector(gradient, 3), pull(logits, log_ref, winners, losers, beta))


@fact(
    function="dpo_loss",
    promise="integer arrays or int64 tensors",
    hint="Winners and losers come as NumPy arrays or as tensors.",
)
@settings(max_examples=10)
@given(losses())
def check_pairs_may_be_arrays_or_tensors(impl, inputs):
    r"""Winners and losers are data: integer arrays and int64 tensors mean the same.

        loss(logits, log_ref, array, array, beta) = loss(logits, log_ref, tensor, tensor, beta)

    Source: the promise of `dpo_loss`.
    """
    logits, q, winners, losers, beta = inputs
    for keep in ((2, 3), ()):
        loss, gradient = impl.value_and_grad("dpo_loss", logits, np.log(q), winners, losers, beta, keep=keep)
        assert_exact(loss, surprise(logits, np.log(q), winners, losers, beta))
        assert_exact(vector(gradient, len(q)), pull(logits, np.log(q), winners, losers, beta))


@fact(
    function="dpo_loss",
    promise="The arguments are not modified.",
    hint="Make new tensors: `log_ref - x` does, `log_ref -= x` writes into the caller's.",
)
def check_dpo_loss_leaves_its_arguments_alone(impl):
    r"""The loss is a function: logits, log_ref and the pairs are as they were when it returns.

        logits, log_ref, winners, losers before = logits, log_ref, winners, losers after

    Source: the docstring.
    """
    logits, winners, losers = np.array([0.4, -1.1, 0.3]), np.array([2, 0, 0, 1]), np.array([0, 1, 2, 2])
    for keep in ((), (2, 3)):
        loss = impl.dpo.dpo_loss
        log_ref = np.log([0.2, 0.5, 0.3])
        assert_leaves_arguments_alone(loss, logits, log_ref, winners, losers, 0.7, wrt=0, keep=keep)


@fact(
    function="train_dpo",
    promise="The data have an exact optimum when every response that occurs can be reached from every other one "
    "through wins … With r_hat the Bradley-Terry maximum-likelihood rewards of the pairs, it is pi_ref(y) "
    "exp(r_hat(y) / beta) / Z; at the default steps and lr, training ends within total variation 0.002 of it.",
    seconds=SECONDS,
    defines=True,
    weight=3,
    hint="Minimise dpo_loss over the logits, with all pairs in each step, until it stands still.",
)
def check_training_ends_at_the_tilted_maximum_likelihood(impl, seed):
    r"""Training ends at pi_ref tilted by the Bradley-Terry maximum-likelihood rewards of the pairs.

        pi(y) = pi_ref(y) exp(r_hat(y) / beta) / Z

    Source: Rafailov et al. 2023, eq. 4 and 7; the maximum exists when the wins connect all (Hunter 2004, Assumption 1).
    """
    rng = np.random.default_rng(seed)
    for k, beta in ((3, 1.3), (5, 0.4)):
        q = rng.dirichlet(np.full(k, 2.0)) * 0.9 + 0.1 / k
        wins = rng.integers(2, 14, (k, k)) * (1 - np.eye(k, dtype=np.int64))
        # whether a record is kept must not matter; what is in it is another fact
        assert_trained(impl, q, pairs_of(wins), beta, optimum=tilted(q, strengths_of(wins), beta), record=[])


@fact(
    function="train_dpo",
    promise="it is pi_ref(y) exp(r_hat(y) / beta) / Z; at the default steps and lr, training ends within total "
    "variation 0.002 of it",
    seconds=SECONDS,
    hint="beta = 0.5 does not halve the move, it squares the odds.",
)
def check_odds_are_those_of_the_wins_to_the_one_over_beta(impl):
    r"""Where one of two responses wins a times out of a + b, the odds of pi_ref are multiplied by (a/b)^(1/beta).

        pi_0 / pi_1 = (q_0 / q_1) (a / b)^(1 / beta)

    Source: Rafailov et al. 2023, eq. 4, with r_0 - r_1 = log(a/b).
    """
    for q, a, b, beta in ((np.array([0.03, 0.97]), 3, 1, 0.22), (np.array([0.4, 0.6]), 1, 11, 3.5)):
        assert_trained(impl, q, pairs_of(np.array([[0, a], [b, 0]])), beta, optimum=tilted(q, [a, b], beta))


@fact(
    function="train_dpo",
    promise="starting at logits = log pi_ref … training ends within total variation 0.002 of it … pi_ref at step 0",
    seconds=SECONDS,
    hint="Record without disturbing the training, and return the last policy.",
)
def check_distance_to_the_optimum_shrinks_with_steps(impl):
    r"""Step by step the policy gets from pi_ref to pi*: the total variation falls from TV(pi_ref, pi*) to below 0.002.

        record: TV(step 0) = TV(pi_ref, pi*),   TV(last step) <= 0.002

    Source: the loss is convex in the logits, and pi* its only minimum where wins are in the proportion exp(r_i - r_j).
    """
    strengths, q, beta = [20, 7, 1, 2], np.array([0.1, 0.25, 0.45, 0.2]), 0.5
    record: list[tuple[int, object]] = []
    optimum = tilted(q, strengths, beta)
    assert_trained(impl, q, pairs_in_proportion(strengths), beta, optimum=optimum, record=record)
    distances = [distance(p, optimum) for p in recorded(record, 4, steps=2000)]
    assert_exact(distances[0], distance(q, optimum), "training starts at pi_ref", within=ROUNDED)
    assert_at_most(distances[-1], TRAINED, "total variation to pi* after 2000 steps", slack=ROUNDED)


@fact(
    function="train_dpo",
    promise="Minimise `dpo_loss` over the policy, by gradient steps on its logits … training ends within total "
    "variation 0.002 of it",
    seconds=SECONDS,
    false_alarm=2 * ALPHA,
    weight=2,
    hint="Use all pairs in every step, and train to the end: with more of them, the policy is closer to pi*.",
)
def check_distance_to_the_optimum_shrinks_with_data(impl, seed):
    r"""The policy fitted to n noisy comparisons is off the optimum of RLHF by the order of n^(-1/2).

        TV(train_dpo(n draws), pi*) <= c_n,   c_n sqrt(n) about 21,   but for a chance of 1e-9 for each n

    Source: asymptotic normality of maximum likelihood; c_n: TV_OF_THE_OPTIMUM. Detects labels turned round.
    """
    rng = np.random.default_rng(seed)
    beta = 0.5
    law = 2 * np.outer(PI_REF, PI_REF) * expit(R_TRUE[:, None] - R_TRUE)
    np.fill_diagonal(law, PI_REF**2)
    for n, bound in TV_OF_THE_OPTIMUM.items():
        wins = rng.multinomial(n, law.ravel()).reshape(law.shape)
        np.fill_diagonal(wins, 0)
        losers, winners = pairs_of(wins.T)  # sorted by losers: the first thousand alone say the opposite
        far = distance(trained(impl, PI_REF, (winners, losers), beta), tilted(PI_REF, np.exp(R_TRUE), beta))
        spend(ALPHA)
        assert_at_most(far, bound + TRAINED, f"total variation to pi* after {n} draws")


@fact(
    function="train_dpo",
    promise="None or a list, to which (step, policy) is appended at steps 0, 200, 400, ... and at the last step, "
    "each of them once (steps = 500: 0, 200, 400, 500; steps = 0: 0). policy is a (K,) float64 array after "
    "`step` steps: pi_ref at step 0, the returned policy at the last. Each entry is a copy of its own, which "
    "later steps do not change.",
    seconds=SECONDS,
    hint="Append (step, a copy of the policy) before step 0, 200, ... and once more at the end.",
)
def check_record_holds_every_200th_step_and_the_last(impl):
    r"""The record holds (step, policy) at steps 0, 200, 400, ... and at the last one, each once and as a copy.

        record = [(0, pi_ref), (200, .), ..., (steps, the returned policy)]

    Source: the promise of `train_dpo`.
    """
    q, pairs = np.array([0.5, 0.3, 0.2]), columns([(1, 0), (1, 0), (0, 1), (2, 0), (0, 2), (0, 2)])
    for steps in (0, 1, 199, 200, 500):
        record: list[tuple[int, object]] = []
        last = trained(impl, q, pairs, 0.7, steps=steps, record=record)
        path = recorded(record, 3, steps=steps)
        assert_exact(path[0], q, "the first record is pi_ref", within=ROUNDED)
        assert_exact(path[-1], last, "the last record is the policy that is returned", within=ROUNDED)


@fact(
    function="train_dpo",
    promise="steps = 0 returns pi_ref. … it sums to 1",
    seconds=SECONDS,
    hint="Start the logits at log pi_ref.",
)
def check_without_steps_pi_ref_comes_back(impl):
    r"""Training starts at the reference: no step, no move.

        train_dpo(pi_ref, ..., steps=0) = pi_ref

    Source: the promise of `train_dpo`; softmax(log pi_ref) = pi_ref.
    """
    for q in (np.array([0.61, 0.39]), np.array([0.07, 0.2, 0.002, 0.35, 0.378])):
        got = trained(impl, q, columns([(0, 1), (1, 0), (0, 1)]), 0.8, steps=0)
        assert_exact(got, q, "steps = 0 does not return pi_ref", within=ROUNDED)


@fact(
    function="train_dpo",
    promise="they sum to 1 and may contain zeros at responses that occur in no pair … A response with pi_ref = 0 has "
    "probability exactly 0.",
    seconds=SECONDS,
    hint="Do not smooth pi_ref: leave such responses out, or let -inf be their logit.",
)
def check_responses_outside_the_support_stay_there(impl):
    r"""A response that the reference never gives has probability 0 in the result; the others are fitted all the same.

        pi_ref(y) = 0  =>  pi(y) = 0

    Source: Rafailov et al. 2023, eq. 4: pi* is proportional to pi_ref.
    """
    q, strengths, beta = np.array([0.0, 0.3, 0.5, 0.0, 0.2]), np.array([0, 3, 1, 0, 7]), 0.9
    got = assert_trained(impl, q, pairs_in_proportion(strengths), beta, optimum=tilted(q, strengths, beta))
    assert_true(bool((got[q == 0] == 0).all()), "pi_ref = 0 must stay exactly 0", got=got)


@fact(
    function="train_dpo",
    promise="Responses that occur in no pair keep the ratios that pi_ref gives them … A pair of a response with "
    "itself does no harm.",
    seconds=SECONDS,
    hint="The loss says nothing about a response in no pair: add no other term to it.",
)
def check_what_is_not_compared_keeps_its_ratios(impl):
    r"""Responses that were never compared keep their ratios; the compared ones have the odds of their wins.

        pi_i / pi_j = q_i / q_j  for i, j in no pair;   a pair of a response with itself is no comparison

    Source: the gradient of the loss is 0 in the logit of a response that meets no other.
    """
    q, beta = np.array([0.55, 0.002, 0.44, 0.008]), 0.6
    # Two wins and one: with these the gradients of winner and loser cancel to the last bit. Otherwise their rounding in
    # float32 (1e-9) is all that Adam sees of a response in no pair, and moves its logit by up to 4 in 2000 steps.
    got = trained(impl, q, columns([(0, 2), (0, 2), (2, 0)]), beta)
    assert_true(bool((got > 0).all()), "a response lost all its mass", got=got)
    for pair, odds in (([0, 2], tilted(q[[0, 2]], [2, 1], beta)), ([1, 3], q[[1, 3]] / q[[1, 3]].sum())):
        share = got[pair] / got[pair].sum()
        assert_at_most(distance(share, odds), 2 * TRAINED, f"total variation within the responses {pair}")
    idle = np.array([[9, 5, 0], [2, 4, 1], [3, 0, 8]])
    compared = idle * (1 - np.eye(3, dtype=np.int64))
    q = np.array([0.3, 0.5, 0.2])
    assert_trained(impl, q, pairs_of(idle), beta, optimum=tilted(q, strengths_of(compared), beta))


@fact(
    function="train_dpo",
    promise="Without an optimum (say, one response always wins) the policy moves on and on, its loss towards 0, as "
    "far as `steps` lets it: at the defaults and beta = 0.5, a response that wins all its pairs, against "
    "every other one, ends with probability 0.95 or more.",
    seconds=SECONDS,
    hint="No beta holds the policy back when one response always wins: train on.",
)
def check_undisputed_wins_drive_the_policy_to_the_winner(impl):
    r"""Where one response wins every time, training goes on towards it, and KL stays bounded all the same.

        P(winner) -> 1,   KL(pi || pi_ref) <= -log pi_ref(winner)

    Source: Gheshlaghi Azar et al. 2024, section 4.2.
    """
    q, beta = np.array([0.45, 0.1, 0.3, 0.15]), 0.5
    wins = np.array([[0, 0, 6, 4], [7, 0, 5, 9], [0, 0, 0, 3], [0, 0, 0, 0]])
    got = trained(impl, q, pairs_of(wins), beta)
    assert_at_most(1 - got[1], 0.05, "mass that the undisputed winner still lacks after 2000 steps")
    assert_at_most(rel_entr(got, q).sum(), -np.log(q[1]), "KL to pi_ref", slack=10 * ROUNDED)


@fact(
    function="train_dpo",
    promise="Nothing is left to chance: the same arguments give the same policy. … The arguments are not modified, "
    "except for `record`.",
    seconds=SECONDS,
    hint="Train on copies and without chance: the same pairs give the same policy.",
)
def check_training_is_repeatable_and_leaves_its_data_alone(impl):
    r"""Training modifies no argument, and two trainings on the same pairs give the same policy.

        train_dpo(x) = train_dpo(x)

    Source: the promise of `train_dpo`: no seed, so no chance.
    """
    q, pairs = np.array([0.2, 0.5, 0.3]), columns([(2, 1), (0, 1), (1, 0), (2, 0), (0, 2), (2, 1), (1, 2)] * 9)
    assert_leaves_arguments_alone(impl.dpo.train_dpo, q, *pairs, 0.5, steps=30)
    first, again = (trained(impl, q, pairs, 0.5, steps=30) for _ in range(2))
    assert_exact(again, first, "two trainings on the same pairs differ", within=ROUNDED)


@fact(
    function="implicit_reward",
    promise="The reward for which `policy` is the optimum of the RLHF objective: beta log(policy(y) / pi_ref(y)).",
    defines=True,
    weight=3,
    hint="beta times the logarithm of policy over reference, natural logarithm.",
)
@given(st.integers(2, 7).flatmap(lambda k: st.tuples(policies(k), policies(k))), betas())
def check_tilting_the_reference_by_it_gives_the_policy(impl, two, beta):
    r"""The implicit reward is the one that tilts the reference into the policy, with no normaliser left.

        pi(y) = q(y) exp(reward(y) / beta)

    Source: Rafailov et al. 2023, section 5.1, eq. 9: the representative with Z = 1.
    """
    p, q = two
    reward = vector(impl.dpo.implicit_reward(p, q, beta), len(q))
    with np.errstate(over="ignore"):
        assert_exact(q * np.exp(reward / beta), p)


@fact(
    function="implicit_reward",
    promise="It is not centred: of all rewards that differ by a constant, it is the one with E_pi_ref[exp(reward / "
    "beta)] = 1.",
    weight=2,
    hint="Do not centre it: the constant is beta log Z, fixed by the policy summing to 1.",
)
@given(problems(5))
def check_optimum_of_a_reward_implies_that_reward(impl, problem):
    r"""The implicit reward of the optimum for r is r itself, less the constant beta log Z.

        implicit_reward(pi*(r), q, beta) = r - beta log sum q exp(r / beta)

    Source: Rafailov et al. 2023, eq. 5 and 8.
    """
    r, q, beta = problem
    log_z = np.log(q @ np.exp((r - r.max()) / beta)) + r.max() / beta
    optimum = softmax(np.log(q) + r / beta)
    expected = r - beta * log_z
    got = vector(impl.dpo.implicit_reward(optimum, q, beta), 5)
    assert_exact(got, expected)
    assert_exact(got - vector(impl.dpo.implicit_reward(q, q, beta), 5), expected, "at pi = q it is 0")


@fact(
    function="implicit_reward",
    promise="-inf where policy = 0 … may contain zeros",
    hint="log 0 is -inf, and right: add no epsilon, clip nothing.",
)
@given(policies(5, zeros=True), policies(5), betas())
def check_impossible_responses_have_reward_minus_infinity(impl, p, q, beta):
    r"""Where the policy is 0 the implicit reward is -inf, and only there.

        pi(y) = 0 < q(y)  <=>  reward(y) = -inf

    Source: the limit of beta log(pi/q).
    """
    reward = vector(impl.dpo.implicit_reward(p, q, beta), 5)
    assert_exact(np.isneginf(reward).astype(np.float64), (p == 0).astype(np.float64), "-inf stands in the wrong places")
    assert_exact(q * np.exp(reward / beta), p)


@fact(
    function="implicit_reward",
    promise="beta log(policy(y) / pi_ref(y)) … right to 1e-8 (relative above 1)",
    hint="The logarithm has room for 1e-300: no epsilon, no clip, no cancellation.",
)
def check_rare_responses_keep_their_reward(impl):
    r"""The reward is right for probabilities of any size, from 1e-299 to 1.

        beta log(10^-a / 10^-b) = beta (b - a) log 10

    Source: log(pi/q) = log pi - log q.
    """
    a, b = np.array([299.0, 0.0, 20.0, 17.0, 22.0, 150.0, 19.0]), np.array([0.0, 250.0, 19.0, 23.0, 80.0, 30.0, 29.0])
    for beta in (0.25, 6.0):
        reward = vector(impl.dpo.implicit_reward(10.0**-a, 10.0**-b, beta), 7)
        assert_exact(reward, beta * (b - a) * np.log(10))


@fact(
    function="implicit_reward",
    promise="beta log(policy(y) / pi_ref(y)) … right to 1e-8",
    hint="A policy that gives what the reference gives has learnt nothing: reward 0, without rounding up.",
)
def check_reference_implies_no_reward(impl):
    r"""The implicit reward of the reference is 0, for one response and for a thousand, and nearly 0 nearby.

        implicit_reward(q, q, beta) = 0

    Source: log 1 = 0.
    """
    rng = np.random.default_rng(11)
    for k in (1, 2, 41, 1300):
        q = rng.dirichlet(np.full(k, 0.8)) * 0.9 + 0.1 / k
        assert_exact(impl.dpo.implicit_reward(q, q, 37.0), np.zeros(k))
        step = 1e-6 * np.cos(np.arange(k)) * (k > 1)
        p = q * np.exp(step) / (q @ np.exp(step))
        expected = 3.0 * (step - np.log(q @ np.exp(step)))
        assert_exact(impl.dpo.implicit_reward(p, q, 3.0), expected)


@fact(
    function="implicit_reward",
    promise="beta log(policy(y) / pi_ref(y)) … right to 1e-8 (relative above 1)",
    hint="beta is a factor, whatever its size.",
)
@settings(max_examples=10)
@given(policies(4), policies(4))
def check_reward_is_proportional_to_beta(impl, p, q):
    r"""The implicit reward is proportional to beta, the penalty that the policy was trained with.

        q exp(reward / beta) = pi   for beta from 1e-6 to 1e6

    Source: Rafailov et al. 2023, eq. 5.
    """
    information = xlogy(1.0, p) - xlogy(1.0, q)
    for beta in (1e-6, 0.004, 0.5, 60.0, 2e4, 1e6):
        assert_exact(vector(impl.dpo.implicit_reward(p, q, beta), 4), beta * information)


@fact(
    function="implicit_reward",
    promise="beta log(policy(y) / pi_ref(y)) … It is not centred",
    hint="Its mean under the policy is beta KL, under the reference it is at most 0.",
)
@given(policies(6), policies(6), betas(0.01, 90.0))
def check_mean_reward_is_the_price_of_the_policy(impl, p, q, beta):
    r"""The mean implicit reward is what the policy pays for leaving the reference.

        E_p[reward] = beta KL(p || q) >= 0 >= -beta KL(q || p) = E_q[reward]

    Source: the definition of KL; Rafailov et al. 2023, eq. 3.
    """
    reward = vector(impl.dpo.implicit_reward(p, q, beta), 6)
    assert_exact(p @ reward, beta * rel_entr(p, q).sum())
    assert_exact(q @ reward, -beta * rel_entr(q, p).sum())


@fact(
    function="implicit_reward",
    promise="The arguments are not modified.",
    hint="Compute on new arrays: policy /= pi_ref writes into the caller's policy.",
)
def check_implicit_reward_leaves_policies_alone(impl):
    r"""The two policies come back as they went in, zeros too.

        implicit_reward(p, q, beta) changes neither p nor q

    Source: the promise of `implicit_reward`.
    """
    assert_leaves_arguments_alone(impl.dpo.implicit_reward, np.array([0.2, 0.7, 0.1]), np.array([0.5, 0.3, 0.2]), 0.5)
    assert_leaves_arguments_alone(impl.dpo.implicit_reward, np.array([0.0, 1.0]), np.array([0.5, 0.5]), 2.0)


def surprise(logits, log_ref, winners, losers, beta):
    """-mean log of the chance that Bradley-Terry gives to the winners, from strengths; for ordinary sizes."""
    s = (softmax(logits) / softmax(log_ref)) ** beta
    return -np.mean(np.log(s[winners] / (s[winners] + s[losers])))


def pull(logits, log_ref, winners, losers, beta):
    """The mean over the pairs of -beta sigma(-margin) (e_w - e_l)."""
    u = beta * (logits - log_ref)
    identity = np.eye(len(u))
    return -beta * expit(u[losers] - u[winners]) @ (identity[winners] - identity[losers]) / len(winners)


def columns(pairs):
    """(winners, losers) of a list of pairs."""
    table = np.array(pairs, dtype=np.int64)
    return table[:, 0].copy(), table[:, 1].copy()


def pairs_of(wins):
    """The pairs of a (K, K) table: i beat j wins[i, j] times; sorted, so that no part of them stands for the whole."""
    i, j = np.nonzero(wins)
    return np.repeat(i, wins[i, j]), np.repeat(j, wins[i, j])


def pairs_in_proportion(strengths, repeats=1):
    """Pairs in which i beats j s_i times for every s_j times that j beats i; some meet more often than others."""
    s = np.array(strengths, dtype=np.int64)
    positions = np.arange(len(s))
    meetings = 1 + (positions[:, None] + positions) % 3
    wins = repeats * meetings * s[:, None] * (s > 0) * (1 - np.eye(len(s), dtype=np.int64))
    return pairs_of(wins)


def strengths_of(wins):
    """Bradley-Terry maximum-likelihood strengths, by Zermelo's iteration (Hunter 2004: it climbs at every step)."""
    s, meetings = np.ones(len(wins)), wins + wins.T
    for _ in range(3000):
        s = wins.sum(axis=1) / (meetings / (s[:, None] + s)).sum(axis=1)
        s /= s.mean()
    return s


def tilted(q, strengths, beta):
    """q tilted by the reward log s."""
    weights = q * np.asarray(strengths, dtype=np.float64) ** (1 / beta)
    return weights / weights.sum()


def distance(p, q):
    """Total variation: the mass that p and q do not share."""
    return 1 - np.minimum(p, q).sum()


def trained(impl, q, pairs, beta, **options):
    """The policy that training returns: (K,), not negative, with sum 1 (as a float32 policy has it)."""
    p = vector(impl.dpo.train_dpo(q, *pairs, beta, **options), len(q))
    assert_policy(p)
    return p


def assert_trained(impl, q, pairs, beta, *, optimum, **options):
    """Train at the default steps; the result is as close to the optimum as promised."""
    p = trained(impl, q, pairs, beta, **options)
    assert_at_most(distance(p, optimum), TRAINED, f"total variation to the optimum at beta = {beta:g}", slack=ROUNDED)
    return p


def assert_policy(p):
    assert_true(bool((p >= 0).all()) and abs(p.sum() - 1) <= ROUNDED, "this is not a policy", got=p)


def recorded(record, k, *, steps):
    """The policies of a record, after its steps and their form were checked."""
    well_formed = all(type(entry) in (tuple, list) and len(entry) == 2 for entry in record)
    assert_true(well_formed, "the record holds (step, policy)", got=len(record))
    expected = sorted({*range(0, steps, 200), steps})
    got = [number(step) for step, _ in record]
    assert_true(got == expected, f"steps = {steps}: the wrong steps are recorded", got=got, expected=expected)
    path = [vector(p, k) for _, p in record]
    for p in path:
        assert_policy(p)
    return path
