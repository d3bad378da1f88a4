"""False-alarm rates of facts that rest on no design of `harness.statistics`, each derived or simulated anew.

`harness.validation.calibration` runs these functions; each returns the chance that a right implementation fails a fact.
"""

import numpy as np
from scipy import optimize, special, stats

from checks.check_dpo import PI_REF, R_TRUE, TV_OF_THE_OPTIMUM
from checks.check_online_collection import CANDIDATES, RULES
from checks.check_overoptimization import DIRICHLET, urn
from harness.statistics import ALPHA
from harness.validation.calibration import LEVEL, derivation, most

SURE = 1e-3  # the chance that a simulated probability is taken for more than it is
DRAWS = 20_000


# pick_batch


@derivation("check_no_candidate_is_picked_twice")
def repeated_candidates(ask, fact, rng):
    """Exact binomial tail, union bound over the pairs of the pool; the bound is simulated at 0.01."""
    pairs = 40 * 39 / 2

    def bound(times):
        return pairs * stats.binom.sf(times, CANDIDATES, 1 / pairs)

    busiest = rng.multinomial(CANDIDATES, np.full(round(pairs), 1 / pairs), size=DRAWS).max(axis=1)
    agree(busiest, bound)
    return len(RULES) * bound(stats.binom.isf(ALPHA / len(RULES) / pairs, CANDIDATES, 1 / pairs))


# overoptimization_experiment


@derivation("check_curves_are_those_of_one_world")
def world_of_three_responses(ask, fact, rng):
    """Worlds until a usable one, counted over 60 seeds of the fact; (1 - usable share)^160."""
    return no_world(ask, fact, runs=60, usable=4, tries=160)


@derivation("check_unseen_responses_tie")
def world_with_unseen_responses(ask, fact, rng):
    """Worlds until a usable one, counted over 60 seeds of the fact; (1 - usable share)^120."""
    return no_world(ask, fact, runs=60, usable=3, tries=120)


@derivation("check_penalty_reaches_the_reward_model")
def world_that_shows_its_winner(ask, fact, rng):
    """Worlds until a usable one, counted over 500 seeds of the fact; twice (1 - usable share)^20."""
    return 2 * no_world(ask, fact, runs=500, usable=2, tries=20)


@derivation("check_fit_approaches_the_truth_with_data")
def informative_world(ask, fact, rng):
    """Bernstein's inequality for two means, and (1 - share)^240 for the share of 4 million worlds that are usable."""
    n = 4_000_000
    q, difference = rng.beta(DIRICHLET, DIRICHLET, n), rng.normal(0, np.sqrt(2), n)
    usable = (q >= 0.28) & (q <= 0.72) & (np.abs(difference) >= 0.8) & (np.abs(difference) <= 2.2)
    return 2 * ALPHA + (1 - lower(usable.sum(), n)) ** 240


@derivation("check_number_of_seen_responses_follows_polyas_urn")
def seen_responses(ask, fact, rng):
    """Exact law of Polya's urn, compared with 20,000 Dirichlet policies and their draws at 0.01."""
    chance = 0.0
    for k, n_pairs in [(call.keywords["K"], call.keywords["n_pairs"]) for call in ask(fact)]:
        law = urn(k, 2 * n_pairs)
        seen = np.array([np.count_nonzero(rng.multinomial(2 * n_pairs, dirichlet(rng, k))) for _ in range(DRAWS)])
        agree(seen, lambda m, law=law: law[m + 1 :].sum())
        agree(-seen, lambda m, law=law: law[:-m].sum())
        low, high = np.searchsorted(law.cumsum(), ALPHA / 2), k - np.searchsorted(law[::-1].cumsum(), ALPHA / 2)
        chance += law[:low].sum() + law[high + 1 :].sum()
    return chance


@derivation("check_true_rewards_are_standard_normal", "check_one_noisy_label_is_right_most_of_the_time")
def worlds_whose_pair_shows_two(ask, fact, rng):
    """Their designs, and for each K the negative binomial tail; the share of such worlds is simulated at 0.001."""
    chance = sum(design.alpha for design in ask.designs(fact).checked if design is not None)
    for k in sorted({call.keywords["K"] for call in ask(fact)}):
        policies = rng.dirichlet(np.full(k, DIRICHLET), size=DRAWS)
        both = rng.random(DRAWS) > (policies**2).sum(axis=1)
        share = 1 - (DIRICHLET + 1) / (k * DIRICHLET + 1)
        if stats.binomtest(int(both.sum()), DRAWS, share).pvalue < SURE:
            raise ValueError(f"{both.mean():.4f} of pairs show two of {k} responses, not {share:.4f}")
        chance += ALPHA
    return chance


# train_rlhf_pg


@derivation(
    "check_training_ends_at_the_optimum",
    "check_policy_gradient_nears_the_optimum_with_steps",
    "check_penalty_weighs_beta",
    "check_a_constant_in_the_rewards_does_not_matter",
    "check_small_batches_reach_many_responses",
    "check_a_response_that_the_reference_never_says_stays_out",
    "check_equal_rewards_keep_the_reference",
)
def ends_of_training(ask, fact, rng):
    """REINFORCE with Adam on 3,000 seeds at once; log TV extrapolated as normal from its 90% and 99.9% quantiles."""
    runs = [call for call in ask(fact) if call.keywords.get("steps", 3000) >= 1500]
    r, q, beta = runs[-1].arguments
    options = {"steps": 3000, "batch": 64} | {k: v for k, v in runs[-1].keywords.items() if k in ("steps", "batch")}
    support = q > 0
    r, q = r[support], q[support]
    policies = trained(r, q, beta, 3000, rng, **options)
    averaged, within = (3, 0.06) if len(r) == 24 else (1, 0.01)
    means = policies.reshape(-1, averaged, len(r)).mean(axis=1)
    distances = 0.5 * np.abs(means - special.softmax(r / beta + np.log(q))).sum(axis=1)
    size = np.log(np.maximum(distances, 1e-16))
    # The upper tail alone is extrapolated: small batches make it lighter than that of the log-normal law of the bulk.
    near, far = np.quantile(size, [0.9, 0.999])
    z_near, z_far = stats.norm.isf([0.1, 0.001])
    return stats.norm.sf(z_far + (np.log(within) - far) / max((far - near) / (z_far - z_near), 1e-3))


def trained(r, q, beta, seeds, rng, *, steps, batch):
    """(seeds, K) policies after steps of REINFORCE with the batch mean as baseline, by Adam with step size 0.05."""
    logits = np.tile(np.log(q), (seeds, 1))
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    for step in range(1, steps + 1):
        policy = special.softmax(logits, axis=1)
        share = rng.multinomial(batch, policy) / batch
        gain = r - beta * (np.log(np.maximum(policy, 1e-300)) - np.log(q))
        gradient = -share * (gain - (share * gain).sum(axis=1, keepdims=True))
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        scale = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        logits -= 0.05 * first / (1 - 0.9**step) / scale
    return special.softmax(logits, axis=1)


# train_dpo


@derivation("check_distance_to_the_optimum_shrinks_with_data")
def distance_of_the_optimum(ask, fact, rng):
    """Importance sampling of tables of counts, from the likeliest tables at the bound; upper end of three errors."""
    return sum(chance_beyond(bound, n, rng) for n, bound in TV_OF_THE_OPTIMUM.items())


K = len(R_TRUE)
WON, LOST = (side[np.arange(K)[:, None] != np.arange(K)] for side in np.indices((K, K)))
STEPS = np.eye(K)[WON] - np.eye(K)[LOST]  # (30, K) the direction in which a pair pulls the rewards
LAW = np.append(2 * PI_REF[WON] * PI_REF[LOST] * special.expit(STEPS @ R_TRUE), (PI_REF**2).sum())
BETA = 0.5
OPTIMUM = special.softmax(np.log(PI_REF) + R_TRUE / BETA)


def chance_beyond(bound, n, rng):
    """P(TV(optimum of n draws, pi*) > bound), from above."""
    tables = sorted((likeliest_table(event, bound) for event in likeliest_events()), key=lambda found: found[0])
    laws = np.array([law for rate, law in tables if n * (rate - tables[0][0]) < 7])
    counts = np.vstack([rng.multinomial(n, law, size=-(-3 * DRAWS // len(laws))) for law in laws])
    beyond = 0.5 * np.abs(tilted(fitted(counts)) - OPTIMUM).sum(axis=1) > bound
    mixture = special.logsumexp(counts @ np.log(laws).T, axis=1) - np.log(len(laws))
    weights = beyond * np.exp(counts @ np.log(LAW) - mixture)
    return weights.mean() + 3 * weights.std() / np.sqrt(len(weights))


def likeliest_events(number=12):
    """(m, K) the events whose probability under the optimum varies most, by the normal limit of the rewards."""
    events = np.array([[code >> i & 1 for i in range(K)] for code in range(1, 2**K - 1)], dtype=float)
    information = np.einsum("c,ci,cj->ij", LAW[:-1] * special.expit(-STEPS @ R_TRUE), STEPS, STEPS)
    spread = events @ slope_of(OPTIMUM)
    variance = np.einsum("mi,ij,mj->m", spread, np.linalg.pinv(information), spread)
    return events[np.argsort(-variance)[:number]]


def likeliest_table(event, bound):
    """(KL to LAW, law): the nearest law of a draw whose optimum gives the event `bound` more than pi* does."""

    def nearest(r):
        """(KL to LAW, its slope in r, law): the nearest law whose maximum-likelihood rewards are r; by its dual."""
        chance = special.expit(-STEPS @ r)
        score = np.vstack([chance[:, None] * STEPS, np.zeros(K)])

        def dual(multiplier):
            logs = np.log(LAW) + score @ multiplier
            return special.logsumexp(logs), special.softmax(logs) @ score

        best = optimize.minimize(dual, np.zeros(K), jac=True, method="BFGS", options={"gtol": 1e-9})
        law = special.softmax(np.log(LAW) + score @ best.x)
        slope = (law[:-1] * chance * (1 - chance) * (STEPS @ best.x)) @ STEPS
        return -best.fun, slope, law

    def surplus(r):
        return event @ (tilted(r) - OPTIMUM) - bound

    constraint = {"type": "eq", "fun": surplus, "jac": lambda r: event @ slope_of(tilted(r))}
    start = R_TRUE + 0.3 * (event - event.mean())
    found = optimize.minimize(lambda r: nearest(r)[:2], start, jac=True, method="SLSQP", constraints=constraint)
    rate, _, law = nearest(found.x)
    return (rate, law) if abs(surplus(found.x)) < 1e-3 else (np.inf, law)


def tilted(r):
    """(..., K) the optimum for rewards r."""
    return special.softmax(np.log(PI_REF) + r / BETA, axis=-1)


def slope_of(policy):
    """(K, K) the derivative of the optimum in the rewards."""
    return (np.diag(policy) - np.outer(policy, policy)) / BETA


def fitted(counts):
    """(m, K) Bradley-Terry rewards of tables of counts, the first of them 0, by Newton's method on all at once."""
    r = np.tile(R_TRUE - R_TRUE[0], (len(counts), 1))
    wins = counts[:, :-1]
    for _ in range(60):
        chance = special.expit(-r @ STEPS.T)
        gradient = (wins * chance) @ STEPS
        hessian = np.einsum("mc,ci,cj->mij", wins * chance * (1 - chance), STEPS, STEPS)[:, 1:, 1:]
        step = np.linalg.solve(hessian, gradient[:, 1:, None])[:, :, 0]
        step *= np.minimum(1.0, 2.0 / np.abs(step).max(axis=1, keepdims=True))
        r[:, 1:] += step
        if np.abs(step).max() < 1e-9:
            break
    return r


# counting


def no_world(ask, fact, *, runs, usable, tries):
    """The chance that none of `tries` worlds is usable. Each run of the fact stops at the `usable`-th usable one."""
    worlds = sum(len(ask(fact, reseed)) for reseed in range(1, runs + 1))
    return (1 - lower(runs * usable, worlds)) ** tries


def lower(count, n):
    """A lower bound of the probability of what happened `count` times in n, wrong with chance `SURE`."""
    return stats.beta.ppf(SURE, count, n - count + 1)


def agree(values, tail):
    """The values are above no quantile of `tail` more often than it says, where it says about 0.01."""
    limit = next(value for value in range(values.min(), values.max() + 1) if tail(value) <= LEVEL)
    above = int((values > limit).sum())
    if above > most(len(values), tail(limit)):
        raise ValueError(
            f"{above} of {len(values)} simulated values are above {limit}, at a chance of {tail(limit):.2g}"
        )


def dirichlet(rng, k):
    """A reference policy of the experiment."""
    return rng.dirichlet(np.full(k, DIRICHLET))
