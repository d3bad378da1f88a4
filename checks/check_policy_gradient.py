"""Facts about policy_gradient.py: the REINFORCE gradient on every batch, and where training with it ends.

Notation: q the reference policy, pi = softmax(logits), R_k = r_k - beta (log pi_k - log q_k) the reward with the KL
penalty, n_k how often k is in a batch of size B, Rbar the mean of R over the batch, pi* = optimal_policy(r, q, beta).
"""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from harness.facts import fact
from harness.inputs import batches, betas, policies, problems, rewards, vectors
from harness.statistics import ALPHA, spend
from harness.tolerance import EXACT, assert_at_most, assert_exact, assert_leaves_arguments_alone, assert_true, vector

FLOAT32 = 1e-6
"""What a policy may be off when training holds it in float32, which is free: its probabilities are right to this."""

SECONDS = 12.0
"""Seconds that a training of 3,000 steps may take: 0.8 for the reference."""

R = np.array([2.6, -1.9, 0.7, 1.8, -0.4, -1.2])
PI_REF = np.array([0.08, 0.17, 0.22, 0.14, 0.28, 0.11])


@fact(
    function="reinforce_loss",
    promise="With Rbar the mean of R over the batch (each response counted as often as it was drawn), B the size of "
    "the batch and n_k the number of times k was drawn, the gradient of the loss is, on every batch, d loss "
    "/ d logits_k = -(n_k / B) (R_k - Rbar) … A scalar tensor that can be differentiated with respect to "
    "`logits`",
    defines=True,
    weight=3,
    hint="Average -(R - Rbar) log pi over the responses drawn, with R held constant and Rbar its mean over the "
    "same batch.",
)
@given(problems(4), vectors(4), batches(4, 7))
def check_gradient_is_the_advantage_over_the_batch_mean(impl, problem, logits, y):
    r"""Each response is pushed by what its draws did better than the mean of the batch.

        d loss / d logits_k = -(n_k / B) (R_k - Rbar)

    Source: Williams 1992, Theorem 1, with the mean of the batch as baseline; the softmax term of the score drops out
    because the advantages of a batch sum to 0.
    """
    r, q, beta = problem
    assert_exact(gradient(impl, logits, y, r, np.log(q), beta), advantage_gradient(logits, y, r, np.log(q), beta))


@fact(
    function="reinforce_loss",
    promise="R is a constant to the gradient (detached): only the log-probability of the sampled responses is "
    "differentiated.",
    weight=2,
    hint="At the optimum R is the same for every response, so no batch may move the logits: is R a constant to the "
    "gradient?",
)
@given(problems(6), st.integers(2, 40).flatmap(lambda size: batches(6, size)))
def check_no_batch_moves_the_optimal_policy(impl, problem, y):
    r"""At pi* the gradient is 0 on every batch, not only on average: the estimator has no variance there.

        pi = pi*   =>   R_k = beta log Z for every k   =>   gradient = 0

    Source: Rafailov et al. 2023, eq. 5 (the reward is beta log(pi*/q) + beta log Z).
    """
    r, q, beta = problem
    logits = np.log(q) + r / beta
    assert_exact(gradient(impl, logits, y, r, np.log(q), beta), np.zeros(6))


@fact(
    function="reinforce_loss",
    promise="A loss whose gradient is the REINFORCE estimate for E_pi[r] - beta KL(pi || pi_ref), with a baseline.",
    weight=2,
    hint="Averaged over the batches that pi draws, the gradient points along that of E[r] - beta KL.",
)
@settings(max_examples=5)
@given(problems(3), vectors(3, bound=1.5), st.sampled_from([2, 3]))
def check_expected_gradient_is_that_of_the_objective(impl, problem, logits, size):
    r"""Over all K^B batches, the gradient averages to that of the RLHF objective J; the batch mean only shortens it.

        E[gradient] = -(1 - 1/B) grad J,     J(logits) = E_pi[r] - beta KL(pi || q)

    Source: Williams 1992, Theorem 1. A draw is part of its own baseline, which costs the factor 1 - 1/B (Kool et al.
    2019 leave it out). grad J is a central difference.
    """
    r, q, beta = problem
    pi = softmax(logits)
    mean = np.zeros(3)
    for batch in product(range(3), repeat=size):
        y = np.array(batch)
        mean += pi[y].prod() * gradient(impl, logits, y, r, np.log(q), beta)
    assert_exact(mean, -(1 - 1 / size) * objective_slope(logits, r, q, beta), within=1e-7)


@fact(
    function="reinforce_loss",
    promise="the gradient is right to 1e-8 (relative above 1), also where pi_k underflows to 0",
    hint="Use log_softmax, and neither clip R nor the log-probabilities: far out they are large and still exact.",
)
@given(batches(5, 8), st.sampled_from([0.01, 0.3, 40.0]))
def check_gradient_is_exact_for_improbable_responses(impl, y, beta):
    r"""The formula of the gradient holds where pi underflows to 0 and where rewards are in the thousands.

        log pi_k = logits_k - log sum exp(logits),   here from 0 down to -3000

    Source: log_softmax is exact where log(softmax) is -inf.
    """
    logits = np.array([800.0, -2200.0, 12.5, 799.0, -40.0])
    r, log_ref = np.array([-4000.0, 2500.0, 0.25, 17.0, -3.0]), np.array([-1.5, -650.0, -0.3, -90.0, -2.5])
    got = gradient(impl, logits, y, r, log_ref, beta)
    assert_exact(got, advantage_gradient(logits, y, r, log_ref, beta))


@fact(
    function="reinforce_loss",
    promise="weight of the KL term, >= 0 … so that a step down the gradient makes responses that did better than the "
    "batch likelier",
    hint="beta multiplies the penalty and divides nothing: beta = 0 is plain REINFORCE.",
)
@given(rewards(3), vectors(3), policies(3), batches(3, 5))
def check_without_penalty_it_is_plain_reinforce(impl, r, logits, q, y):
    r"""At beta = 0 neither the policy nor the reference enters the gradient.

        beta = 0   =>   gradient_k = -(n_k / B) (r_k - rbar)

    For example pi uniform, r = (1, 0) and the batch {0, 1} give (-1/4, +1/4): a step down it favours response 0.

    Source: Williams 1992, section 4.
    """
    two = gradient(impl, np.zeros(2), np.array([0, 1]), np.array([1.0, 0.0]), np.log([0.9, 0.1]), 0.0)
    assert_exact(two, [-0.25, 0.25])
    got = gradient(impl, logits, y, r, np.log(q), 0.0)
    assert_exact(got, advantage_gradient(np.zeros(3), y, r, np.zeros(3), 0.0))


@fact(
    function="reinforce_loss",
    promise="the KL penalty is charged to each sampled response as part of its reward: R_k = r_k - beta (log pi_k - "
    "log_ref_k) … Advantages are not divided by their standard deviation.",
    hint="The advantage is R - Rbar itself: do not divide it by a standard deviation, and do not clip it.",
)
@given(problems(5), rewards(5), betas(), vectors(5), batches(5, 11), st.sampled_from([0.01, 3.0, 250.0]))
def check_gradient_is_linear_in_reward_and_penalty(impl, problem, r2, beta2, logits, y, scale):
    r"""The gradient adds up over (r, beta), and scales with them.

        gradient(c r + r', c beta + beta') = c gradient(r, beta) + gradient(r', beta')

    Source: R is linear in (r, beta); so is the advantage, unless it is normalised.
    """
    r, q, beta = problem
    whole = gradient(impl, logits, y, scale * r + r2, np.log(q), scale * beta + beta2)
    parts = scale * gradient(impl, logits, y, r, np.log(q), beta) + gradient(impl, logits, y, r2, np.log(q), beta2)
    assert_exact(whole, parts, within=(2 + scale) * EXACT)


@fact(
    function="reinforce_loss",
    promise="-(n_k / B) (R_k - Rbar)",
    hint="Take a mean over all draws of the batch: neither a sum, nor a mean over the different responses.",
)
@given(problems(4), vectors(4), st.integers(2, 9).flatmap(lambda size: batches(4, size)), st.sampled_from([2, 3, 50]))
def check_a_repeated_batch_has_the_same_gradient(impl, problem, logits, y, times):
    r"""Only the shares n_k / B count: neither the order of the draws nor how often the whole batch is repeated.

        gradient(y, y, ..., y) = gradient(y) = gradient(y in another order)

    Source: the gradient is a mean over the batch, and so is the baseline.
    """
    r, q, beta = problem
    once = gradient(impl, logits, y, r, np.log(q), beta)
    assert_exact(gradient(impl, logits, np.tile(y, times), r, np.log(q), beta), once)
    assert_exact(gradient(impl, logits, np.sort(y)[::-1].copy(), r, np.log(q), beta), once)


@fact(
    function="reinforce_loss",
    promise="With pi = softmax(logits) … it need not be normalised … -(n_k / B) (R_k - Rbar)",
    hint="Shifts cancel: logits need not be normalised, and the baseline takes a constant out of r and of log_ref.",
)
@given(problems(4), vectors(4), batches(4, 6), st.sampled_from([-1024.0, -1.0, 0.25, 1024.0]))
def check_constants_cancel(impl, problem, logits, y, shift):
    r"""A constant added to the logits, to r or to log_ref changes nothing, and the gradient has no component along
    constants.

        gradient(logits + c, r, log q) = gradient(logits, r + c, log q) = gradient(logits, r, log q + c)
        sum_k gradient_k = 0

    Source: softmax ignores a shift, and R - Rbar is the same for R and for R + c.
    """
    r, q, beta = problem
    log_ref = np.log(q)
    got = gradient(impl, logits, y, r, log_ref, beta)
    assert_exact(float(got.sum()), 0.0)
    assert_exact(gradient(impl, logits + shift, y, r, log_ref, beta), got)
    assert_exact(gradient(impl, logits, y, r + shift, log_ref, beta), got)
    assert_exact(gradient(impl, logits, y, r, log_ref + shift, beta), got)


@fact(
    function="reinforce_loss",
    promise="The baseline is the batch mean.",
    hint="What was not drawn is not known: the baseline is the mean of the batch, not of all K responses or over pi.",
)
@given(problems(9), vectors(9), vectors(9, bound=8), st.integers(2, 5).flatmap(lambda size: batches(6, size)))
def check_only_drawn_responses_matter(impl, problem, logits, other, y):
    r"""Rewards and reference probabilities of responses outside the batch do not matter, and their logits get no
    gradient.

        n_k = 0   =>   gradient_k = 0,   and the gradient does not depend on r_k and log_ref_k

    Source: the estimate is made of the responses drawn; Rbar is the mean of their R.
    """
    r, q, beta = problem
    log_ref, absent = np.log(q), ~np.isin(np.arange(9), y)
    got = gradient(impl, logits, y, r, log_ref, beta)
    assert_exact(got[absent], np.zeros(absent.sum()))
    changed = gradient(impl, logits, y, np.where(absent, other, r), np.where(absent, other - 9, log_ref), beta)
    assert_exact(changed, got)


@fact(
    function="reinforce_loss",
    promise="The arguments are not modified.",
    hint="Make new tensors: `log_ref - x` does, `log_ref -= x` writes into the caller's.",
)
def check_reinforce_loss_leaves_its_arguments_alone(impl):
    r"""The loss is a function: logits, batch, rewards and log_ref are as they were when it returns.

        logits, y, r, log_ref before = logits, y, r, log_ref after

    Source: the docstring.
    """
    logits, y, r = np.array([0.4, -1.1, 0.3]), np.array([2, 0, 0, 1, 2]), np.array([1.5, -0.5, 2.5])
    loss = impl.policy_gradient.reinforce_loss
    assert_leaves_arguments_alone(loss, logits, y, r, np.log([0.2, 0.5, 0.3]), 0.7, wrt=0)


@fact(
    function="train_rlhf_pg",
    promise="Maximise E_pi[r] - beta KL(pi || pi_ref) by stochastic gradient steps on the logits of pi. … what "
    "counts is where training ends: within total variation 0.01 of optimal_policy(r, pi_ref, beta) for K <= "
    "6 and batch = 64, after 1,500 steps at beta = 1",
    seconds=SECONDS,
    defines=True,
    weight=2,
    false_alarm=ALPHA,
    hint="In each step: draw a batch from the current policy, reinforce_loss on it, one optimiser step on the logits.",
)
def check_training_ends_at_the_optimum(impl, seed):
    r"""After 1,500 steps at beta = 1, the policy is the closed-form optimum.

        TV(train_rlhf_pg(r, q, 1, steps = 1500), pi*) <= 0.01

    Source: Rafailov et al. 2023, eq. 4; at pi* the gradient is 0 on every batch, so training comes to rest there. Over
    8,000 seeds and two epochs a batch, the largest distance was 1e-10.
    """
    assert_ends_at_the_optimum(impl, R, PI_REF, 1.0, [seed], steps=1500)


@fact(
    function="train_rlhf_pg",
    promise="Training starts at logits = log pi_ref. … steps = 0 returns pi_ref. … after 1,500 steps at beta = 1",
    seconds=SECONDS,
    weight=2,
    false_alarm=ALPHA,
    hint="Start at logits = log pi_ref and move them from there: with steps = 0 the answer is pi_ref, not the optimum.",
)
def check_policy_gradient_nears_the_optimum_with_steps(impl, seed):
    r"""Training starts at pi_ref, at distance TV(q, pi*) from the optimum, and closes that distance.

        TV(q, pi*) = TV after 0 steps   >   0.01   >=   TV after 1,500 steps

    Source: the logits start at log q, and gradient ascent on E[r] - beta KL ends at its maximiser (Rafailov et al.
    2023, eq. 4).
    """
    r, q = np.array([2.4, -1.6, 0.9, -0.3, 1.5]), np.array([0.07, 0.21, 0.28, 0.33, 0.11])
    for reference in (q, np.array([0.004, 0.996]), np.full(24, 1 / 24)):
        rewards_given = np.resize(r, len(reference))
        start = trained(impl, rewards_given, reference, 1.0, steps=0, seed=seed)
        assert_exact(start, reference, "steps = 0 does not return pi_ref", within=FLOAT32)
    assert_ends_at_the_optimum(impl, r, q, 1.0, [seed], steps=1500)


@fact(
    function="train_rlhf_pg",
    promise="within total variation 0.01 of optimal_policy(r, pi_ref, beta) … and after 3,000 steps at beta = 0.5",
    seconds=SECONDS,
    weight=2,
    false_alarm=ALPHA,
    hint="beta is the weight of the penalty in each reward: a smaller beta lets the policy go farther from pi_ref.",
)
def check_penalty_weighs_beta(impl, seed):
    r"""With the defaults of the signature, beta = 0.5 ends at the optimum of that beta.

        TV(train_rlhf_pg(r, q, 0.5), pi*(0.5)) <= 0.01

    Source: Rafailov et al. 2023, eq. 4, at another beta than 1, where a penalty of weight 1/beta, sqrt(beta) or 1 ends
    elsewhere.
    """
    r, q = np.array([1.9, -1.4, 0.8, -0.5, 1.2]), np.array([0.07, 0.21, 0.28, 0.33, 0.11])
    assert_ends_at_the_optimum(impl, r, q, 0.5, [seed])


@fact(
    function="train_rlhf_pg",
    promise="rewards: finite floats or integers … after 1,500 steps at beta = 1 … for rewards and references like "
    "the lecture's (rewards a few units apart)",
    seconds=SECONDS,
    weight=2,
    false_alarm=ALPHA,
    hint="Subtract a baseline: without one, a constant in the rewards is noise that keeps the policy from settling.",
)
def check_a_constant_in_the_rewards_does_not_matter(impl, seed):
    r"""Rewards far from 0 lead to the same optimum, and training settles there.

        TV(train_rlhf_pg(r + c, q, 1, steps = 1500), pi*) <= 0.01,    here integer rewards from 9 to 14

    Source: Rafailov et al. 2023, Lemma 2 (rewards that differ by a constant have the same optimum). Without a baseline
    the policy hovers around pi*: the variance of its gradient there is that of the score times (beta log Z)^2. Over
    4,000 seeds and two epochs a batch, the largest distance was 1e-15; without a baseline the smallest of 2,000 was
    0.0104.
    """
    r, q = np.array([14, 10, 12, 9, 11]), np.array([0.06, 0.25, 0.14, 0.4, 0.15])
    assert_ends_at_the_optimum(impl, r, q, 1.0, [seed], steps=1500)


@fact(
    function="train_rlhf_pg",
    promise="In each step `batch` responses are drawn from the current policy and the logits move along the gradient "
    "of `reinforce_loss` on them. … within 0.06 for K = 24, batch = 16, 3,000 steps, beta = 1",
    seconds=2.5 * SECONDS,
    weight=2,
    false_alarm=ALPHA,
    hint="Draw a new batch from the current policy in every step: a small batch reaches many responses only over "
    "many steps.",
)
def check_small_batches_reach_many_responses(impl, seed):
    r"""With 24 responses and 16 draws a step, no batch holds them all, and yet training finds the optimum.

        TV(mean over 3 seeds of train_rlhf_pg(r, q, 1, steps = 3000, batch = 16), pi*) <= 0.06

    Source: each step draws from the current policy; Rafailov et al. 2023, eq. 4. The mean over seeds is at most as far
    as its farthest member. Measured: the largest of 1,000 means was 0.018, of 4,000 means with two epochs a batch
    0.035; one batch for all steps ends beyond 0.2.
    """
    order = np.arange(24)
    r = np.where(order % 3 == 0, 1.5, -0.5) + 0.02 * order
    q = np.exp(-0.8 * r) * (1 + 0.02 * (5 * order % 24))
    seeds = [seed % 2**31 + number for number in range(3)]
    assert_ends_at_the_optimum(impl, r, q / q.sum(), 1.0, seeds, within=0.06, steps=3000, batch=16)


@fact(
    function="train_rlhf_pg",
    promise="A response with pi_ref = 0 has probability exactly 0 (it is never drawn), and nothing becomes NaN. … "
    "may contain zeros",
    seconds=SECONDS,
    weight=2,
    false_alarm=ALPHA,
    hint="log 0 is -inf: leave responses that pi_ref never says out of the training, whatever their reward.",
)
def check_a_response_that_the_reference_never_says_stays_out(impl, seed):
    r"""A response with pi_ref = 0 keeps probability 0 exactly, be it the best; the others reach the optimum.

        q_i = 0   =>   pi_i = 0,     TV(pi, pi*) <= 0.01

    Source: Rafailov et al. 2023, eq. 4: pi* is q times a weight; a response of probability 0 is never drawn.
    """
    r, q = np.array([3.0, 6.0, -1.0, 1.0, -2.0, 0.0]), np.array([0.06, 0.0, 0.25, 0.14, 0.4, 0.15])
    got = assert_ends_at_the_optimum(impl, r, q, 1.0, [seed], steps=1500)
    assert_exact(got[q == 0], [0.0], "a response with pi_ref = 0 has a probability", within=0.0)


@fact(
    function="train_rlhf_pg",
    promise="it sums to 1 … within total variation 0.01 of optimal_policy(r, pi_ref, beta) for K <= 6 and batch = "
    "64, after 1,500 steps at beta = 1",
    seconds=SECONDS,
    false_alarm=ALPHA,
    hint="With equal rewards pi_ref is the optimum already: nothing pulls away from it.",
)
def check_equal_rewards_keep_the_reference(impl, seed):
    r"""Where all rewards are equal, and where there is one response, training ends at pi_ref.

        r_1 = ... = r_K   =>   pi* = q;     K = 1   =>   pi = (1)

    Source: E_pi[r] is then a constant, and KL(pi || q) is smallest at q.
    """
    assert_exact(trained(impl, np.array([-3.5]), np.ones(1), 1.0, steps=40, seed=seed), [1.0], within=FLOAT32)
    assert_ends_at_the_optimum(impl, np.array([4, 4, 4]), np.array([0.42, 0.23, 0.35]), 1.0, [seed], steps=1500)


@fact(
    function="train_rlhf_pg",
    promise="an integer >= 0. The same seed gives the same result. … The arguments are not modified.",
    seconds=SECONDS,
    hint="Seed a generator with `seed` at the start of every call, and draw from nothing else; copy what you change.",
)
def check_the_same_seed_gives_the_same_policy(impl, seed):
    r"""Two calls with the same arguments give the same bits, and leave r and pi_ref as they were.

        train_rlhf_pg(..., seed) = train_rlhf_pg(..., seed)

    Source: the docstring: all randomness comes from the seed.
    """
    for number in (0, seed % 2**31):
        first, again = (trained(impl, R, PI_REF, 0.8, steps=25, batch=9, seed=number) for _ in range(2))
        assert_exact(again, first, f"two runs with seed {number} differ", within=0.0)
    for r, q in ((R, PI_REF), (np.array([3, -2, 1]), np.array([0.7, 0.3, 0.0]))):
        assert_leaves_arguments_alone(impl.policy_gradient.train_rlhf_pg, r, q, 1.0, steps=5, batch=9, seed=3)


def gradient(impl, logits, y, r, log_ref, beta):
    """(K,) the gradient of reinforce_loss in the logits."""
    _, got = impl.value_and_grad("reinforce_loss", logits, y, r, log_ref, beta)
    return vector(got, len(logits))


def advantage_gradient(logits, y, r, log_ref, beta):
    """(K,) the promised gradient, from the counts of the batch."""
    share = np.bincount(y, minlength=len(r)) / len(y)
    gain = r - beta * (log_softmax(logits) - log_ref)
    return -share * (gain - share @ gain)


def objective_slope(logits, r, q, beta, h=1e-5):
    """(K,) the gradient of E_pi[r] - beta KL(pi || q) in the logits, by central differences."""

    def objective(z):
        return softmax(z) @ (r - beta * (log_softmax(z) - np.log(q)))

    return np.array([(objective(logits + h * e) - objective(logits - h * e)) / (2 * h) for e in np.eye(len(r))])


def trained(impl, r, q, beta, **options):
    """(K,) the policy that was returned, float32 allowed."""
    got = vector(impl.policy_gradient.train_rlhf_pg(r, q, beta, **options), len(r))
    assert_true(bool((got >= 0).all()), "a probability is negative", got=got)
    assert_true(abs(got.sum() - 1) <= FLOAT32, f"the probabilities sum to {got.sum():.9g}, not 1", got=got)
    return got


def assert_ends_at_the_optimum(impl, r, q, beta, seeds, *, within=0.01, **options):
    """The mean policy of the runs is as close to pi* as promised; a right answer misses that with chance `ALPHA`."""
    spend(ALPHA)
    with np.errstate(divide="ignore"):
        optimum = softmax(np.log(q) + r / beta)
    mean = np.mean([trained(impl, r, q, beta, seed=seed, **options) for seed in seeds], axis=0)
    distance = 0.5 * np.abs(mean - optimum).sum()
    assert_at_most(distance, within, f"TV to the optimum {np.round(optimum, 4)}", slack=0.0)
    return mean
