"""Curves for the report: what a submission's functions give on the lecture's problem, beside what is right.

They decide no marks. As in the facts, the exact side comes from the definition or from a theorem, never from the code
that a student is asked to write. Calls are few and short: all of them take the reference 2 s.

What a submission returns is drawn as it is, wrong laws too.

Notation: r the rewards, q the reference policy pi_ref, p a policy.
"""

import numpy as np
from scipy.integrate import quad
from scipy.special import logsumexp, rel_entr, softmax
from scipy.stats import norm

from checks.worlds import SpyWorld
from harness.curves import Plot, curve, exact, own
from harness.tolerance import number, vector

NAMES = ("bad", "off topic", "neutral", "mixed", "good, long", "good, short")  # from the worst to the best
R = np.array([-2.0, -1.0, 0.0, 0.5, 2.0, 3.0])
Q = np.array([0.15, 0.05, 0.30, 0.25, 0.15, 0.10])
BETAS = np.array([10, 5, 2.5, 1.6, 1.2, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
DRAWS = (1, 4, 16)
STRENGTHS = np.array([1, 2, 4, 6, 20, 45])  # r = log s: pairs of integer counts then have pi* as their exact optimum
N_LIST = (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384)
STRATEGIES = {
    "offline_random": "offline, random pairs",
    "online_random": "online, random pairs",
    "online_bald": "online, BALD",
}
REPETITIONS, BETA = 2, 0.3


@curve("optimal_policy")
def curve_price_of_reward(impl):
    """What reward costs in KL.

    Each dot is your policy for one β, from 10 at the left to 0.05 at the right. No policy lies above the line: with
    A(t) = log E_q exp(t r) and t = 1/β, the best one has reward A'(t) and KL t A'(t) − A(t). The line ends at
    −log π_ref(best).
    """
    answers = [vector(impl.closed_form.optimal_policy(R, Q, float(beta)), len(Q)) for beta in BETAS]
    t = np.geomspace(1 / BETAS[0], 1 / BETAS[-1], 120)
    step = 1e-5 * t
    reward = (free_energy(t + step) - free_energy(t - step)) / (2 * step)
    return Plot(
        "KL(π‖π_ref) in nats",
        "expected reward",
        [
            exact("the most reward for this KL", t * reward - free_energy(t), reward),
            own("your policies", [rel_entr(p, Q).sum() for p in answers], [p @ R for p in answers]),
        ],
    )


@curve("best_of_n_distribution")
def curve_best_of_n(impl):
    """The law of the best of n.

    Markers are yours, for n = 1, 4 and 16 draws from π_ref. The lines count outcomes: of all pairs of draws the better
    one wins, and the best of 4 is the better of two bests of 2.
    """
    positions = np.arange(len(Q))
    lines = []
    for n in DRAWS:
        law = Q
        for _ in range(n.bit_length() - 1):
            law = better_of_two(law)
        answer = vector(impl.best_of_n.best_of_n_distribution(R, Q, n), len(Q))
        lines += [exact(f"n = {n}, counted", positions, law), own(f"n = {n}, yours", positions, answer)]
    return Plot("response", "probability that it is the best", lines, ticks=NAMES)


@curve("train_rlhf_pg", "train_dpo", seconds=6.0)
def curve_two_ways_to_the_optimum(impl):
    """Two ways to the optimum, β = 1.

    Your policy gradient draws responses and scores them; your DPO sees nothing but pairs, in exactly the proportions
    that Bradley and Terry's model gives. Both end at π*.
    """
    s = STRENGTHS
    wins = s[:, None] * (1 - np.eye(len(s), dtype=np.int64))
    winners, losers = (np.repeat(side, wins[np.nonzero(wins)]) for side in np.nonzero(wins))
    by_dpo = vector(impl.dpo.train_dpo(Q, winners, losers, 1.0, steps=1000), len(Q))
    by_gradient = vector(impl.policy_gradient.train_rlhf_pg(np.log(s), Q, 1.0, steps=1500), len(Q))
    positions = np.arange(len(Q))
    return Plot(
        "response",
        "probability",
        [
            exact("π_ref", positions, Q),
            exact("π*", positions, Q * s / (Q @ s)),
            own("your policy gradient", positions, by_gradient),
            own("your DPO", positions, by_dpo),
        ],
        ticks=NAMES,
    )


@curve("overoptimization_experiment", seconds=6.0)
def curve_overoptimization(impl):
    """Over-optimisation.

    Your experiment with 1,000 responses and 500 pairs. The reward model's score rises with n; the true reward falls
    behind, and may fall. The line is the mean of the best of n normal numbers: what picking by the true reward itself
    would give, had it endless responses to pick from.
    """
    answer = impl.overoptimization.overoptimization_experiment(0, K=1000, n_pairs=500)
    columns = {name: vector(answer[name], len(N_LIST)) for name in ("proxy", "gold", "gold_select")}
    return Plot(
        "n, draws to pick from",
        "expected reward",
        [
            exact("best of n normal numbers", N_LIST, [mean_of_best_normal(n) for n in N_LIST]),
            own("the reward model's score", N_LIST, columns["proxy"]),
            own("true reward", N_LIST, columns["gold"]),
            own("true reward, picked by itself", N_LIST, columns["gold_select"]),
        ],
        x_scale="log",
    )


@curve("run", seconds=6.0)
def curve_gold_against_labels(impl):
    """Gold against labels.

    The quality of the policy that your runs end up with, in a small world, mean of 2 repetitions. The line is the RLHF
    policy of a perfect reward model at the same β. Online strategies come close to it; offline, labels are spent on
    replies that the policy has long left.
    """
    lines = []
    for strategy, name in STRATEGIES.items():
        runs = [impl.online_collection.run(world_with_hazards(), strategy, rep) for rep in range(REPETITIONS)]
        gold = np.mean([[number(value[0]) for value in run.values()] for run in runs], axis=0)
        lines.append(own(name, list(runs[0]), gold))
    world = world_with_hazards()
    perfect = softmax(world.ref_lp + 2 * world.gold / BETA) @ world.gold
    return Plot("labels", "gold", [exact("a perfect reward model", [20, 180], [perfect, perfect]), *lines])


def free_energy(t):
    """A(t) = log E_q exp(t r)."""
    return logsumexp(np.multiply.outer(t, R), b=Q, axis=1)


def better_of_two(p):
    """The law of the better of two draws from p, by R: all pairs are counted."""
    law = np.zeros(len(p))
    for i, j in np.ndindex(len(p), len(p)):
        law[i if R[i] >= R[j] else j] += p[i] * p[j]
    return law


def mean_of_best_normal(n):
    """E max of n independent normal numbers, from the tails of its distribution function Phi^n."""
    above = quad(lambda x: 1 - norm.cdf(x) ** n, 0, 12)[0]
    below = quad(lambda x: norm.cdf(-x) ** n, 0, 12)[0]
    return above - below


def world_with_hazards():
    """300 replies; two features are hazards that the SFT policy avoids, and that a reward model must hear about."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 8))
    X[:, 6:] = rng.random((300, 2)) < 0.3
    points = np.concatenate([rng.uniform(0.3, 0.9, 6), [-2.0, -2.0]])
    ref_lp = -4.0 * X[:, 6:].sum(axis=1)
    return SpyWorld(X, np.maximum(X @ points, -1.0), ref_lp - logsumexp(ref_lp))
