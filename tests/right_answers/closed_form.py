"""Right answers to closed_form.py, each written in another way."""

import math
from fractions import Fraction

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.spatial.distance import cityblock
from scipy.special import kl_div, logsumexp, rel_entr, softmax
from scipy.stats import entropy

from harness.variants import right_answer


def _logits(r, pi_ref, beta):
    """(K,) log pi_ref + r / beta, shifted by the best reward of the support; -inf where pi_ref is 0."""
    r, pi_ref = np.asarray(r, dtype=np.float64), np.asarray(pi_ref, dtype=np.float64)
    logits = np.full(len(r), -np.inf)
    support = pi_ref > 0
    logits[support] = (r[support] - r[support].max()) / beta + np.log(pi_ref[support])
    return logits


@right_answer("optimal_policy", "log Z from logsumexp with weights pi_ref; the reward is divided before any shift")
def log_normaliser(r, pi_ref, beta):
    scaled = np.asarray(r, dtype=np.float64) / beta
    log_Z = logsumexp(scaled, b=pi_ref)
    with np.errstate(divide="ignore"):
        return np.exp(np.log(pi_ref) + scaled - log_Z)


@right_answer("optimal_policy", "SciPy's softmax of the logits")
def scipy_softmax(r, pi_ref, beta):
    return softmax(_logits(r, pi_ref, beta))


@right_answer("optimal_policy", "torch, zeros of pi_ref masked by -inf")
def torch_masked_softmax(r, pi_ref, beta):
    reward = torch.tensor(np.asarray(r, dtype=np.float64))
    reference = torch.tensor(np.asarray(pi_ref, dtype=np.float64))
    logits = (reference.log() + reward / beta).masked_fill(reference == 0, -torch.inf)
    return torch.log_softmax(logits, dim=0).exp().numpy()


@right_answer(
    "optimal_policy", "pi_ref times exp of the reward's lead over the most probable response, no logarithm added"
)
def ratios_to_the_winner(r, pi_ref, beta):
    r, pi_ref = np.asarray(r, dtype=np.float64), np.asarray(pi_ref, dtype=np.float64)
    winner = int(np.argmax(_logits(r, pi_ref, beta)))
    ratios = np.zeros(len(r))
    support = pi_ref > 0
    # No ratio exceeds 1, so no lead exceeds log(pi_ref[winner] / pi_ref): at most 691, which exp can take.
    ratios[support] = pi_ref[support] / pi_ref[winner] * np.exp((r[support] - r[winner]) / beta)
    return ratios / ratios.sum()


@right_answer("optimal_policy", "each probability is one over the sum of the odds against it, row by row")
def one_over_odds(r, pi_ref, beta):
    logits = _logits(r, pi_ref, beta)
    finite = logits[np.isfinite(logits)]
    policy = np.zeros(len(logits))
    with np.errstate(over="ignore"):
        for y in np.flatnonzero(np.isfinite(logits)):
            policy[y] = 1 / np.exp(finite - logits[y]).sum()
    return policy


@right_answer("optimal_policy", "the log normaliser as the root of: the probabilities sum to 1")
def root_of_the_constraint(r, pi_ref, beta):
    logits = _logits(r, pi_ref, beta)
    logits = logits - logits.max()
    log_Z = brentq(lambda c: np.exp(logits - c).sum() - 1, -1.0, math.log(len(logits)) + 1.0, xtol=1e-14)
    policy = np.exp(logits - log_Z)
    return policy / policy.sum()


@right_answer("optimal_policy", "plain Python: lists, math.exp and math.fsum")
def plain_python(r, pi_ref, beta):
    rewards, reference = [float(x) for x in r], [float(x) for x in pi_ref]
    best = max(x for x, q in zip(rewards, reference, strict=True) if q > 0)
    logits = [
        (x - best) / float(beta) + math.log(q) if q > 0 else -math.inf for x, q in zip(rewards, reference, strict=True)
    ]
    top = max(logits)
    weights = [math.exp(x - top) for x in logits]
    return np.array(weights) / math.fsum(weights)


@right_answer("optimal_policy", "in two tilts, by half the reward each time")
def two_half_tilts(r, pi_ref, beta):
    half = np.asarray(r, dtype=np.float64) / (2 * beta)
    log_policy = np.where(np.asarray(pi_ref) > 0, 0.0, -np.inf)
    log_policy[np.asarray(pi_ref) > 0] = np.log(np.asarray(pi_ref)[np.asarray(pi_ref) > 0])
    for _ in range(2):
        log_policy = log_policy + half
        log_policy = log_policy - np.logaddexp.reduce(log_policy)
    return np.exp(log_policy)


@right_answer("optimal_policy", "long doubles inside")
def long_double(r, pi_ref, beta):
    r, pi_ref = np.asarray(r, dtype=np.longdouble), np.asarray(pi_ref, dtype=np.longdouble)
    support = pi_ref > 0
    weights = np.zeros(len(r), dtype=np.longdouble)
    logits = np.log(pi_ref[support]) + r[support] / np.longdouble(beta)
    weights[support] = np.exp(logits - logits.max())
    return (weights / weights.sum()).astype(np.float64)


@right_answer("kl", "SciPy's rel_entr, a NumPy scalar")
def relative_entropy(p, q):
    return np.maximum(rel_entr(p, q).sum(), 0.0)


@right_answer("kl", "p log(p/q) - p + q, no term of which is negative but for rounding")
def bregman(p, q):
    return float(np.maximum(kl_div(p, q), 0.0).sum())


@right_answer("kl", "scipy.stats.entropy, cut off at 0")
def scipy_entropy(p, q):
    return max(0.0, float(entropy(np.asarray(p), np.asarray(q))))


@right_answer("kl", "a Python loop that leaves at the first impossible response")
def loop(p, q):
    terms = []
    for a, b in zip(p, q, strict=True):
        if a == 0:
            continue
        if b == 0:
            return math.inf
        terms.append(float(a) * (math.log(a) - math.log(b)))
    return max(0.0, math.fsum(terms))


@right_answer("kl", "cross-entropy less entropy with torch.xlogy")
def torch_xlogy(p, q):
    p, q = torch.tensor(np.asarray(p)), torch.tensor(np.asarray(q))
    return (torch.xlogy(p, p) - torch.xlogy(p, q)).sum().clamp(min=0).item()


@right_answer("kl", "torch's kl_div from log q, which knows 0 log 0 = 0, made positive")
def torch_kl_div(p, q):
    p, q = torch.tensor(np.asarray(p)), torch.tensor(np.asarray(q))
    given = p > 0
    return abs(torch.nn.functional.kl_div(q[given].log(), p[given], reduction="sum").item())


@right_answer("kl", "log1p of the relative change, which keeps the digits of nearly equal policies")
def log_of_relative_change(p, q):
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    total = 0.0
    for a, b in zip(p[p > 0], q[p > 0], strict=True):
        if b == 0:
            return np.float64(np.inf)
        total -= a * (math.log1p((b - a) / a) if abs(b - a) < a / 2 else math.log(b) - math.log(a))
    return np.float64(max(total, 0.0))


@right_answer("tv", "one less the overlap")
def one_less_overlap(p, q):
    return max(0.0, 1.0 - float(np.minimum(p, q).sum()))


@right_answer("tv", "the event on which p exceeds q, its probability under each")
def best_event(p, q):
    p, q = np.asarray(p), np.asarray(q)
    event = p > q
    return min(1.0, float(p[event].sum() - q[event].sum()))


@right_answer("tv", "SciPy's city-block distance, a NumPy scalar")
def city_block(p, q):
    return np.float64(cityblock(p, q) / 2)


@right_answer("tv", "torch's 1-norm of the difference")
def torch_one_norm(p, q):
    return torch.dist(torch.tensor(np.asarray(p)), torch.tensor(np.asarray(q)), p=1).item() / 2


@right_answer("tv", "exact fractions of the floats")
def exact_fractions(p, q):
    return float(sum(abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(p, q, strict=True)) / 2)


@right_answer("tv", "what q lacks of p, added up in a loop")
def loop_over_losses(p, q):
    missing = 0.0
    for a, b in zip(p, q, strict=True):
        missing += max(float(b) - float(a), 0.0)
    return min(missing, 1.0)


@right_answer("tv", "half of union less overlap")
def union_less_overlap(p, q):
    return (np.maximum(p, q) - np.minimum(p, q)).sum() / 2
