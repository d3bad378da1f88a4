"""Right answers to best_of_n.py, each written in another way."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import torch
from scipy.stats import beta as beta_law
from scipy.stats import binom

from harness.variants import right_answer


@right_answer("best_of_n_distribution", "steps of the law of the largest of n uniforms, Beta(n, 1)")
def steps_of_the_beta_law(scores, pi_ref, n):
    pi_ref = np.asarray(pi_ref, dtype=np.float64)
    level_of = np.unique(scores, return_inverse=True)[1]
    mass = np.bincount(level_of, weights=pi_ref)
    up_to = np.minimum(np.concatenate([[0.0], np.cumsum(mass)]), 1.0)
    wins = np.diff(beta_law.cdf(up_to, n, 1))
    return np.divide(wins[level_of] * pi_ref, mass[level_of], out=np.zeros(len(pi_ref)), where=pi_ref > 0)


@right_answer("best_of_n_distribution", "every response is compared with every other, no sorting")
def comparison_matrix(scores, pi_ref, n):
    scores, pi_ref = np.asarray(scores), np.asarray(pi_ref, dtype=np.float64)
    worse = (scores[None, :] < scores[:, None]) @ pi_ref
    tied = (scores[None, :] == scores[:, None]) @ pi_ref
    law = (worse + tied) ** n - worse**n
    law[pi_ref == 0] = 0.0
    tied[pi_ref == 0] = 1.0
    return law * pi_ref / tied


@right_answer("best_of_n_distribution", "from the best level down: 1 less the chance that a better one is drawn")
def from_the_top(scores, pi_ref, n):
    law, above = np.zeros(len(pi_ref)), 0.0
    nothing_better = 1.0
    for score in sorted(set(np.asarray(scores).tolist()), reverse=True):
        level = np.asarray(scores) == score
        mass = float(np.asarray(pi_ref)[level].sum())
        if mass == 0:
            continue
        above = min(above + mass, 1.0)
        nothing_as_good = math.exp(n * math.log1p(-above)) if above < 1 else 0.0
        law[level] = (nothing_better - nothing_as_good) * np.asarray(pi_ref)[level] / mass
        nothing_better = nothing_as_good
    return law


@right_answer(
    "best_of_n_distribution", "the first best draw comes at some time t: a sum over t, by doubling, never a difference"
)
def first_best_draw(scores, pi_ref, n):
    level_of = np.unique(scores, return_inverse=True)[1]
    up_to = np.cumsum(np.bincount(level_of, weights=pi_ref))
    F = up_to[level_of]
    F_below = np.concatenate([[0.0], up_to])[level_of]
    # S = sum over t <= m of F_below^(t-1) F^(m-t): t - 1 draws below the level, then m - t draws up to it.
    S, power, power_below = np.zeros(len(F)), np.ones(len(F)), np.ones(len(F))
    for bit in bin(n)[2:]:
        S, power, power_below = S * (power + power_below), power**2, power_below**2
        if bit == "1":
            S, power, power_below = S * F + power_below, power * F, power_below * F_below
    return np.asarray(pi_ref) * S


@right_answer("best_of_n_distribution", "no draw above the level, and a binomial number of draws in it that is not 0")
def binomial_count(scores, pi_ref, n):
    scores, pi_ref = np.asarray(scores), np.asarray(pi_ref, dtype=np.float64)
    law = np.zeros(len(scores))
    for score in np.unique(scores[pi_ref > 0]):
        level = scores == score
        above, mass = pi_ref[scores > score].sum(), pi_ref[level].sum()
        rest = max(1.0 - above, mass)
        none_above = np.exp(n * np.log1p(-above)) if above < 1 else 0.0
        law[level] = none_above * binom.sf(0, n, mass / rest) * pi_ref[level] / mass
    return law


@right_answer("best_of_n_distribution", "decimal arithmetic with 40 digits, in lists")
def decimals(scores, pi_ref, n):
    with localcontext() as context:
        context.prec = 40
        mass: dict[float, Decimal] = {}
        for score, q in zip(scores, pi_ref, strict=True):
            mass[float(score)] = mass.get(float(score), Decimal(0)) + Decimal(float(q))
        total = sum(mass.values(), Decimal(0))
        share, below = {}, Decimal(0)
        for score in sorted(mass):
            up_to = below + mass[score] / total
            share[score] = (up_to ** int(n) - below ** int(n)) / mass[score] if mass[score] else Decimal(0)
            below = up_to
        return np.array([float(share[float(s)] * Decimal(float(q))) for s, q in zip(scores, pi_ref, strict=True)])


@right_answer("best_of_n_distribution", "torch: levels by unique and index_add, powers through the logarithm")
def torch_levels(scores, pi_ref, n):
    q = torch.tensor(np.asarray(pi_ref, dtype=np.float64))
    levels, level_of = torch.unique(torch.tensor(np.asarray(scores)), return_inverse=True)
    mass = torch.zeros(len(levels), dtype=torch.float64).index_add(0, level_of, q)
    powers = (n * torch.cumsum(mass, 0).log()).exp()
    wins = torch.diff(powers, prepend=torch.zeros(1, dtype=torch.float64))
    return torch.where(q > 0, wins[level_of] * q / mass[level_of], 0.0).numpy()


@right_answer("best_of_n_kl", "NumPy, a NumPy scalar")
def numpy_scalar(n):
    n = np.float64(n)
    return np.log(n) - 1 + 1 / n


@right_answer("best_of_n_kl", "torch")
def with_torch(n):
    draws = torch.tensor(float(n), dtype=torch.float64)
    return (draws.log() - (draws - 1) / draws).item()


@right_answer("best_of_n_kl", "minus n log of the best of n uniforms is exponential: its mean by Gauss-Laguerre")
def gauss_laguerre(n):
    e, weights = np.polynomial.laguerre.laggauss(4)
    return float(weights @ (math.log(n) - (n - 1) * e / float(n)))


@right_answer("best_of_n_kl", "an exact fraction, and the logarithm from the binary exponent")
def exact_fraction(n):
    mantissa, exponent = math.frexp(int(n))
    return math.log(mantissa) + exponent * math.log(2) - float(Fraction(int(n) - 1, int(n)))


@right_answer("best_of_n_kl", "t - log t - 1 at t = 1/n, with 40 decimal digits")
def decimal_digits(n):
    with localcontext() as context:
        context.prec = 40
        t = 1 / Decimal(int(n))
        return float(t - t.ln() - 1)
