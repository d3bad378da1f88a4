"""Fixed questions to each function: by its answers, a mistake of the bank is told from the others and named.

No right answer stands here. Ordinary questions are in general position; a student's answer to all of them must be the
mistake's before it is named. The others ask at ties, zeros and extremes, and may show more mistakes than one.
"""

from collections.abc import Callable, Iterator

import numpy as np

from checks.worlds import SpyWorld, ordinary_world
from harness.probes import Probe

BY_FACTS = frozenset(
    ("train_rlhf_pg", "train_dpo", "make_pairs", "posterior_samples", "fit_reward_model", "overoptimization_experiment",
     "acquisition_scores", "pick_batch", "pick_double_thompson", "run")
)  # fmt: skip
"""Functions whose path or order of draws is free, so that a mistake may also be named by the facts that fail."""

R, Q, P = np.array([0.7, -1.3, 2.1, 0.4]), np.array([0.13, 0.41, 0.17, 0.29]), np.array([0.31, 0.08, 0.36, 0.25])
HOLES = np.array([0.0, 0.55, 0.0, 0.45])
RARE = np.array([1e-12, 0.3, 0.2, 0.5 - 1e-12])
LOGITS = np.array([0.3, -1.1, 0.8, 0.05, -0.4])
LOG_REF = np.log([0.11, 0.27, 0.19, 0.38, 0.05])
WINNERS, LOSERS = np.array([0, 2, 3, 1, 2, 4, 0]), np.array([1, 0, 4, 3, 1, 2, 1])
REWARDS, DRAWS = np.array([1.3, -0.2, 0.9, -2.1, 0.6]), np.array([3, 0, 2, 2, 1, 3, 0])
PAIRS = np.array([[0, 1, 2, 0, 2, 0, 0, 2, 1], [1, 2, 0, 2, 1, 1, 2, 1, 0]])
FEATURES = np.array([[0.9, -0.4, 0.3], [-1.2, 0.8, 0.5], [0.2, 1.1, -0.7], [0.6, 0.3, 1.4], [-0.5, -0.9, 0.1]])
LABELS = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
MEAN, COV = np.array([0.4, -0.7, 0.2]), np.array([[1.3, 0.4, -0.2], [0.4, 0.9, 0.1], [-0.2, 0.1, 0.6]])
SAMPLES = np.array([[0.5, -1.0, 0.3], [1.7, 0.2, -0.6], [-0.8, -1.4, 0.9], [0.1, 0.6, 0.4]])


def optimal_policy():
    yield Probe((R, Q, 0.7))
    yield Probe((R[:3], Q[1:] / Q[1:].sum(), 2.3))
    yield Probe((R, Q, 0.05), extreme=True)
    yield Probe((np.array([900.0, 2.0, -3.0, 1.0]), HOLES, 0.5), extreme=True)
    yield Probe((1e4 + R, Q, 0.9), extreme=True)
    yield Probe((np.array([2.0, 2.0, 1.0, 2.0]), Q, 1e-4), extreme=True)
    yield Probe((np.array([20.0, 0.0, 0.3, -0.2]), RARE, 0.8), extreme=True)
    yield Probe((np.array([1.5]), np.array([1.0]), 0.4), extreme=True)
    yield Probe((R, Q, 1e7), extreme=True, digits=12)
    yield Probe((np.array([3, -1, 2, 0]), Q, 0.7), extreme=True)
    yield Probe((np.array([705.0, 0.0]), np.array([1e-300, 1.0]), 1.0), extreme=True)
    yield Probe((1e-3 * R, Q, 4e-4), extreme=True)
    yield Probe((R[:2], np.array([0.2, 0.8]), 1.1), extreme=True)
    yield Probe((R, HOLES, 0.7), how="changes", extreme=True)


def kl():
    yield Probe((P, Q))
    yield Probe((Q[:3] / Q[:3].sum(), P[:3] / P[:3].sum()))
    yield Probe((HOLES, Q), extreme=True)
    yield Probe((Q, HOLES), extreme=True)
    yield Probe((HOLES, HOLES[[1, 0, 2, 3]]), extreme=True)
    yield Probe((Q, RARE), extreme=True)
    yield Probe((np.array([1e-200, 0.5, 0.5 - 1e-200]), np.array([1e-160, 0.4, 0.6])), extreme=True)
    yield Probe((np.array([0.0, 0.3, 0.7]), np.array([0.0, 0.6, 0.4])), extreme=True)
    yield Probe((np.array([1e-9, 0.3, 0.7 - 1e-9]), np.array([0.0, 0.3, 0.7])), extreme=True)
    yield Probe((np.array([0.25, 0.75]), np.array([1e-20, 1.0])), extreme=True)
    yield Probe((P, P), extreme=True)
    yield Probe((np.full(3, 1 / 3), np.full(3, 1 / 3) + np.array([1e-9, -1e-9, 0.0])), extreme=True, digits=17)
    yield Probe((HOLES, Q), how="changes", extreme=True)


def tv():
    yield Probe((P, Q * np.array([1.0, 1.0, 1.0 + 1e-11, 1.0])), digits=13)
    yield Probe((Q[:3] / Q[:3].sum(), P[:3] / P[:3].sum()))
    yield Probe((HOLES, Q), extreme=True)
    yield Probe((np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.4, 0.6])), extreme=True)
    yield Probe((P, P), extreme=True)
    yield Probe((Q, Q + np.array([1e-7, -1e-7, 3e-8, -3e-8])), extreme=True, digits=12)
    yield Probe((HOLES, Q), how="changes", extreme=True)


def reinforce_loss():
    y = DRAWS
    yield Probe((LOGITS, y, REWARDS, LOG_REF, 0.7), how="gradient", wrt=0, part=1)
    yield Probe((LOGITS[:3], np.array([0, 2, 1, 1]), REWARDS[:3], LOG_REF[:3], 1.9), how="gradient", wrt=0, part=1)
    yield Probe((LOGITS + 1000.0, y, REWARDS, LOG_REF, 0.7), how="gradient", wrt=0, part=1, extreme=True)
    yield Probe((LOGITS * 40, y, REWARDS, LOG_REF - 30.0, 0.7), how="gradient", wrt=0, part=1, extreme=True)
    yield Probe((LOGITS * 800, y, REWARDS, LOG_REF * 60, 1.0), how="gradient", wrt=0, part=1, extreme=True)
    yield Probe((LOGITS, y, REWARDS, LOG_REF, 0.0), how="gradient", wrt=0, part=1, extreme=True)
    yield Probe((LOGITS, np.array([2, 2, 2]), REWARDS, LOG_REF, 0.7), how="gradient", wrt=0, part=1, extreme=True)
    yield Probe((LOGITS, y, REWARDS, LOG_REF, 0.7), how="changes", wrt=0, extreme=True)


def train_rlhf_pg():
    yield Probe((R[:3], Q[1:] / Q[1:].sum(), 1.0), {"steps": 40, "batch": 16, "seed": 3}, digits=4)
    yield Probe((R, Q, 0.6), {"steps": 25, "batch": 9, "lr": 0.1, "seed": 8}, digits=4)
    yield Probe((R, HOLES, 0.8), {"steps": 20, "batch": 8, "seed": 1}, digits=4, extreme=True)
    yield Probe((R[:3], Q[1:] / Q[1:].sum(), 1.0), {"steps": 0}, digits=6, extreme=True)
    yield Probe((R, HOLES, 0.8), {"steps": 2}, how="changes", extreme=True)


def make_pairs():
    yield Probe((R, Q, 40, 5))
    yield Probe((R, Q, 31, 12, False))
    yield Probe((R, HOLES, 12, 2), extreme=True)
    yield Probe((np.array([1, 2, 2, 1]), Q, 25, 7), extreme=True)
    yield Probe((np.array([1000.0, 0.0, -500.0, 2000.0]), Q, 25, 9), extreme=True)
    yield Probe((R, Q, 0, 4), extreme=True)
    yield Probe((R, Q, 20, 0), extreme=True)
    yield Probe((np.array([1, 2, 2, 1]), Q, 25, 7, False), extreme=True)
    yield Probe((2 * R, HOLES[[1, 0, 3, 2]], 4000, 6), extreme=True)
    yield Probe((2.0**19 + R, Q, 400, 6), extreme=True)
    yield Probe((R, np.array([0.0, 0.3, 0.3, 0.4]) * (1 + 1e-15), 9, 3), how="changes", extreme=True)


def dpo_loss():
    pairs = WINNERS, LOSERS
    yield Probe((LOGITS, LOG_REF, *pairs, 0.7), how="gradient", wrt=0)
    yield Probe((LOGITS[:3], LOG_REF[:3], WINNERS[[1, 4]], LOSERS[[1, 4]], 2.3), how="gradient", wrt=0)
    yield Probe((LOGITS, LOG_REF, np.append(WINNERS, [2, 2]), np.append(LOSERS, [0, 0]), 0.7), how="gradient", wrt=0)
    yield Probe(
        (LOGITS, LOG_REF, np.append(WINNERS, 3), np.append(LOSERS, 3), 0.7), how="gradient", wrt=0, extreme=True
    )
    yield Probe((LOGITS + 300.0, LOG_REF - 100.0, *pairs, 0.7), how="gradient", wrt=0, extreme=True)
    yield Probe((LOGITS * 30, LOG_REF, *pairs, 1.5), how="gradient", wrt=0, extreme=True)
    yield Probe((LOGITS * 2000, LOG_REF, *pairs, 1.5), how="gradient", wrt=0, extreme=True)
    yield Probe((np.zeros(5), np.zeros(5), *pairs, 0.7), how="gradient", wrt=0, extreme=True)
    yield Probe((LOGITS, LOG_REF, *pairs, 0.7), how="gradient", wrt=0, keep=(2, 3), extreme=True)
    yield Probe((LOGITS, LOG_REF, *pairs, 0.7), how="changes", wrt=0, extreme=True)


def train_dpo():
    q = np.array([0.5, 0.2, 0.3])
    once, twice = (np.array([0, 1]), np.array([1, 0])), (np.array([0, 0, 2]), np.array([2, 2, 0]))
    yield Probe((q, *PAIRS, 0.7), {"steps": 1200}, digits=2)
    yield Probe((q, *PAIRS[:, :7], 1.6), {"steps": 1200}, digits=2)
    yield Probe((q, *PAIRS, 0.6), {"steps": 15}, digits=4, path=True)
    yield Probe((q, *PAIRS[:, :7], 1.4), {"steps": 30, "lr": 0.1}, digits=4, path=True)
    yield Probe((np.array([0.4, 0.2, 0.1, 0.3]), *twice, 0.6), {"steps": 400}, digits=2, extreme=True)
    yield Probe((np.array([0.5, 0.0, 0.5]), *twice, 0.9), {"steps": 400}, digits=2, extreme=True)
    yield Probe((q, *np.repeat(PAIRS, 150, axis=1), 0.6), {"steps": 15}, digits=4, path=True)
    yield Probe((q, np.array([1, 1]), np.array([0, 2]), 2.0), {"steps": 150}, digits=4, path=True)
    yield Probe((q, *PAIRS, 0.6), {"steps": 0}, digits=6, extreme=True)
    for steps in (200, 230):  # each wins once: the policy stays where it is, whatever the optimiser
        yield Probe((q, *once, 0.6), {"steps": steps, "record": []}, digits=5, extreme=True)
    yield Probe((q, *PAIRS, 0.6), {"steps": 230, "record": []}, digits=3, path=True)
    yield Probe((q, *PAIRS, 0.6), {"steps": 2}, how="changes", extreme=True)


def implicit_reward():
    yield Probe((P, Q, 0.7))
    yield Probe((Q[:3] / Q[:3].sum(), P[:3] / P[:3].sum(), 2.3))
    yield Probe((HOLES, Q, 0.7), extreme=True)
    yield Probe((RARE, Q, 0.7), extreme=True)
    yield Probe((Q, RARE, 0.7), extreme=True)
    yield Probe((P, Q, 0.001), extreme=True, digits=12)
    yield Probe((P, P, 0.7), extreme=True)
    yield Probe((HOLES, Q, 0.7), how="changes", extreme=True)


def best_of_n_distribution():
    yield Probe((R, Q, 3))
    yield Probe((R[[2, 0, 1]], Q[1:] / Q[1:].sum(), 5))
    yield Probe((np.array([1.0, 2.0, 2.0, 1.0]), Q, 3), extreme=True)
    yield Probe((np.array([1, 3, 3, 3]), HOLES, 4), extreme=True)
    yield Probe((np.array([1.0, 5.0, 2.0, 0.5]), np.array([0.3, 0.0, 0.5, 0.2]), 4), extreme=True)
    yield Probe((np.array([1.0, 1.0 + 1e-9, 0.5, 2.0]), Q, 2), extreme=True)
    yield Probe((R, Q, 1), extreme=True)
    yield Probe((np.array([3.0, 1.0, 0.2, 2.0]), RARE, 200_000), extreme=True)
    yield Probe((np.array([3.0, 1.0, 0.2]), np.array([0.02, 0.58, 0.4]), 120), extreme=True)
    yield Probe((np.array([1.0, 1.0]), np.array([0.3, 0.7]), 3), extreme=True)
    yield Probe((np.array([1.0]), np.array([1.0]), 3), extreme=True)
    yield Probe((np.array([0.4, 0.1, 0.3]), np.array([1e-8, 0.5, 0.5 - 1e-8]), 50_000), extreme=True)
    yield Probe((R, HOLES, 3), how="changes", extreme=True)


def best_of_n_kl():
    yield Probe((4,))
    yield Probe((37,))
    yield Probe((2,))
    yield Probe((1,), extreme=True)
    yield Probe((10**6,), extreme=True)
    yield Probe((10**12,), extreme=True)
    yield Probe((np.int64(16),), extreme=True)
    yield Probe((np.int64(10**10),), extreme=True)
    yield Probe((np.int64(4 * 10**9 + 7),), extreme=True)


def fit_reward_model():
    chain = np.array([0, 1, 2, 0, 1]), np.array([1, 2, 3, 2, 3])
    yield Probe((*PAIRS, 3), {"l2": 0.05}, digits=2)
    yield Probe((*PAIRS[:, :7], 4), {"l2": 0.3}, digits=2)
    yield Probe((*PAIRS, 3), {"l2": 0.01, "steps": 60}, digits=4, path=True)
    yield Probe((*PAIRS[:, :7], 4), {"l2": 0.3, "steps": 40, "lr": 0.05}, digits=4, path=True)
    yield Probe((np.array([0, 0, 2]), np.array([2, 2, 2]), 4), {"l2": 0.1}, digits=2, extreme=True)
    yield Probe((*chain, 5), {"l2": 3e-4}, digits=1, extreme=True)
    yield Probe((*PAIRS, 3), {"steps": 0}, digits=6, path=True)
    yield Probe((*PAIRS, 3), {"steps": 2}, how="changes", extreme=True)


def overoptimization_experiment():
    yield Probe((5,), {"K": 30, "n_pairs": 40, "l2": 1e-3, "steps": 40}, digits=4)
    yield Probe((0,), {"K": 12, "n_pairs": 9, "l2": 1e-2, "steps": 30}, digits=4)


def sigmoid():
    yield Probe((R,))
    yield Probe((FEATURES,))
    yield Probe((0.7,), extreme=True)
    yield Probe((np.array([-1000.0, -40.0, 0.0, 40.0, 1000.0]),), extreme=True, digits=15)
    yield Probe((np.array([3, -2, 0]),), extreme=True)
    yield Probe((np.array([800.0, -0.3]),), extreme=True)
    yield Probe((np.array([-800.0, 0.3]),), extreme=True)
    yield Probe((np.float64(-1.5),), extreme=True)
    yield Probe((np.array([-0.2, 0.4]),), how="changes", extreme=True)


def fit_laplace():
    yield Probe((FEATURES, LABELS, 0.7), digits=6)
    yield Probe((FEATURES[:4], LABELS[:4], 2.5), digits=6)
    yield Probe((FEATURES, LABELS), digits=6)
    yield Probe((np.vstack([FEATURES, FEATURES[:2]]), np.append(LABELS, [0, 0]), 0.7), digits=6)
    yield Probe((FEATURES[:0], LABELS[:0], 2.0), digits=6, extreme=True)
    yield Probe((30 * FEATURES, np.array([1, 0, 0, 1, 1]), 0.1), digits=6, extreme=True)
    yield Probe((FEATURES, LABELS, 1e-4), digits=5, extreme=True)
    yield Probe((FEATURES, np.ones(5), 0.7), digits=6, extreme=True)
    yield Probe((FEATURES, LABELS, 0.7), how="changes", extreme=True)


def posterior_samples():
    yield Probe((MEAN, COV, 4, np.random.default_rng(3)))
    yield Probe((MEAN[:2], COV[:2, :2], 3, np.random.default_rng(11)))
    yield Probe((MEAN, np.diag([1e-14, 1.0, 1e8]), 3, np.random.default_rng(3)), extreme=True)
    yield Probe((MEAN, COV, 0, np.random.default_rng(3)), extreme=True)
    yield Probe((MEAN, COV, 1, np.random.default_rng(3)), extreme=True)
    yield Probe((MEAN, COV, 2, np.random.default_rng(3)), how="changes", extreme=True)


def sherman_morrison_update():
    yield Probe((COV, FEATURES[0], 0.3))
    yield Probe((COV, FEATURES[1], 0.85))
    yield Probe((COV[:2, :2], np.array([0.4, -1.2]), 0.55))
    yield Probe((COV, FEATURES[0], 0.99999), extreme=True, digits=12)
    yield Probe((COV, FEATURES[0], 1.0), extreme=True)
    yield Probe((COV, 1e-5 * FEATURES[0], 0.4), extreme=True, digits=14)
    yield Probe((COV, 1e3 * FEATURES[0], 0.4), extreme=True)
    yield Probe((COV, np.zeros(3), 0.4), extreme=True)
    yield Probe((COV, FEATURES[0], 0.3), how="changes", extreme=True)


def acquisition_scores():
    rng = np.random.default_rng
    yield Probe(("bald", FEATURES, MEAN, COV, rng(2), SAMPLES))
    yield Probe(("dopt", FEATURES, MEAN, COV, rng(2)))
    yield Probe(("dopt", FEATURES[:2], MEAN, 7 * COV, rng(2), SAMPLES))
    yield Probe(("bald", FEATURES[:3], MEAN, COV, rng(2), 3 * SAMPLES[:3]), extreme=True)
    yield Probe(("bald", 800 * FEATURES, MEAN, COV, rng(2), SAMPLES), extreme=True)
    yield Probe(("bald", np.vstack([FEATURES, np.zeros(3)]), MEAN, COV, rng(2), SAMPLES[:1]), extreme=True)
    yield Probe(("dopt", np.vstack([40 * FEATURES, np.zeros(3)]), MEAN, COV, rng(2)), extreme=True)
    yield Probe(("bald", FEATURES[:1], MEAN, COV, rng(2), SAMPLES), extreme=True)
    yield Probe(("bald", FEATURES, MEAN, COV, rng(2)), extreme=True)
    yield Probe(("random", np.vstack([FEATURES, FEATURES[:1], np.zeros(3)]), MEAN, COV, rng(2)), extreme=True)
    yield Probe(("bald", FEATURES, MEAN, COV, rng(2), np.outer(np.linspace(-1, 2, 90), MEAN)), extreme=True)
    yield Probe(("thompson", FEATURES, MEAN, COV, rng(2)), extreme=True)
    yield Probe(("BALD", FEATURES, MEAN, COV, rng(2), SAMPLES), extreme=True)
    yield Probe(("ball", FEATURES, MEAN, COV, rng(2), SAMPLES), extreme=True)
    yield Probe(("dopt", FEATURES, MEAN, COV, rng(2)), how="changes", extreme=True)
    yield Probe(("bald", FEATURES, MEAN, COV, rng(2), SAMPLES), how="changes", extreme=True)


def pick_batch():
    rng = np.random.default_rng
    for seed, pool in ((4, [3, 7, 1, 11, 5]), (5, [2, 9, 4, 0])):  # 3,000 candidates are all there are
        world = ordinary_world(rng(17))
        yield Probe(("dopt", world, np.array(pool), MEAN, COV, 4, rng(seed)), view=unordered)
    world = ordinary_world(rng(18))
    yield Probe(("dopt", world, np.array([2, 2, 2]), MEAN, COV, 2, rng(1)), view=unordered, extreme=True)
    yield Probe(("thompson", world, np.array([2, 4]), MEAN, COV, 2, rng(1)), extreme=True)
    for rule, seed in (("dopt", 4), ("bald", 6), ("random", 8)):
        world = ordinary_world(rng(17))
        yield Probe((rule, world, np.array([3, 7, 1, 11, 3, 5]), MEAN, COV, 4, rng(seed)), path=True)


def unordered(batch):
    """The pairs in the order of their choice; which reply of a pair is called A is free."""
    a, b = batch
    return np.sort(np.stack([np.asarray(a), np.asarray(b)]), axis=0)


def pick_double_thompson():
    for seed in (4, 6):
        world = ordinary_world(np.random.default_rng(17))
        yield Probe((world, np.array([3, 7, 1, 11, 3, 5]), MEAN, COV, 6, np.random.default_rng(seed)))
    world = ordinary_world(np.random.default_rng(18))
    yield Probe((world, np.array([2, 2, 2]), MEAN, COV, 2, np.random.default_rng(1)), extreme=True)
    tied = SpyWorld(np.ones((6, 3)), np.zeros(6))
    yield Probe((tied, np.array([4, 1, 4, 2]), MEAN, COV, 4, np.random.default_rng(1)), extreme=True)


def run():
    sizes = {"rounds": 2, "per": 3, "warmup": 5, "pool_size": 8}
    rng = np.random.default_rng
    yield Probe((ordinary_world(rng(21)), "online_random", 3), sizes, view=what_is_reported)
    yield Probe((ordinary_world(rng(21)), "online_bald", 4), sizes | {"rounds": 1}, view=what_is_reported)
    yield Probe((ordinary_world(rng(21)), "offline_random", 3), {"per": 2, "pool_size": 6}, view=what_is_reported)
    yield Probe((ordinary_world(rng(21)), "offline_random", 3), sizes | {"rounds": 0}, view=what_is_reported)
    yield Probe((ordinary_world(rng(21)), "thompson", 0), sizes, extreme=True)
    yield Probe((ordinary_world(rng(21)), "thompson", 0), sizes | {"rounds": 0}, extreme=True)
    for strategy, rep in (("offline_random", 0), ("online_dts", 1), ("online_dopt", 2), ("online_bald", 0)):
        yield Probe((ordinary_world(rng(21)), strategy, rep), sizes, path=True)


def what_is_reported(report):
    """Numbers of labels, and where there is no number."""
    return {labels: [len(entry), *np.isnan(np.asarray(entry, dtype=np.float64)).tolist()] for labels, entry in
            report.items()}  # fmt: skip


PROBES: dict[str, Callable[[], Iterator[Probe]]] = {
    probes.__name__: probes
    for probes in (
        optimal_policy, kl, tv, reinforce_loss, train_rlhf_pg, make_pairs, dpo_loss, train_dpo, implicit_reward,
        best_of_n_distribution, best_of_n_kl, fit_reward_model, overoptimization_experiment, sigmoid, fit_laplace,
        posterior_samples, sherman_morrison_update, acquisition_scores, pick_batch, pick_double_thompson, run,
    )
}  # fmt: skip
