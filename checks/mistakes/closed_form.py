"""Wrong answers to closed_form.py: the optimal policy, the KL divergence and the total variation distance."""

import numpy as np
import torch
from scipy.special import rel_entr, softmax

from harness.variants import mistake


def _normalised_exp(logits):
    """Probabilities in proportion to exp(logits); -inf is allowed."""
    weights = np.exp(logits - np.max(logits))
    return weights / weights.sum()


def _log(x):
    with np.errstate(divide="ignore"):
        return np.log(x)


def _kl_terms(p, q):
    """p log(p / q) for each response, with 0 log 0 = 0 and p log(p / 0) = inf."""
    return rel_entr(np.asarray(p, dtype=float), np.asarray(q, dtype=float))


# optimal_policy: what stands in the exponent


@mistake("optimal_policy", "β multiplies the reward instead of dividing it", severity="blatant")
def beta_multiplies(r, pi_ref, beta):
    return _normalised_exp(_log(pi_ref) + np.asarray(r) * beta)


@mistake(
    "optimal_policy", "the policy is the softmax of r/β: the reference policy has no part in it", severity="blatant"
)
def softmax_of_rewards(r, pi_ref, beta):
    return _normalised_exp(np.asarray(r) / beta)


@mistake("optimal_policy", "β divides log π_ref as well, so the reference policy is tempered", severity="blatant")
def beta_divides_log_ref_too(r, pi_ref, beta):
    return _normalised_exp((_log(pi_ref) + np.asarray(r)) / beta)


@mistake("optimal_policy", "β stands on log π_ref, and the reward is not divided by it", severity="blatant")
def beta_on_log_ref(r, pi_ref, beta):
    return _normalised_exp(beta * _log(pi_ref) + np.asarray(r))


@mistake("optimal_policy", "β stands outside the exponential, where normalising cancels it", severity="blatant")
def beta_outside_exp(r, pi_ref, beta):
    weights = pi_ref * np.exp(r - np.max(r)) / beta
    return weights / weights.sum()


@mistake("optimal_policy", "the reward enters with a minus, like an energy", severity="blatant")
def reward_as_energy(r, pi_ref, beta):
    return _normalised_exp(_log(pi_ref) - np.asarray(r) / beta)


@mistake("optimal_policy", "log π_ref is subtracted, as if the KL term rewarded rare responses", severity="blatant")
def subtracts_log_ref(r, pi_ref, beta):
    weights = np.exp((r - np.max(r)) / beta) / np.maximum(pi_ref, 1e-300)
    weights[np.asarray(pi_ref) == 0] = 0.0
    return weights / weights.sum()


@mistake("optimal_policy", "π_ref itself, not its logarithm, is added to r/β", severity="blatant")
def adds_ref_to_logits(r, pi_ref, beta):
    return _normalised_exp(np.asarray(pi_ref) + np.asarray(r) / beta)


@mistake("optimal_policy", "the policy is an average of π_ref and softmax(r) with weight β/(1+β)", severity="blatant")
def average_with_greedy(r, pi_ref, beta):
    share = beta / (1 + beta)
    return share * np.asarray(pi_ref) + (1 - share) * _normalised_exp(np.asarray(r, dtype=float))


@mistake("optimal_policy", "the KL is taken as KL(π_ref‖π): the optimum is then βπ_ref/(λ − r)", severity="blatant")
def penalises_forward_kl(r, pi_ref, beta):
    r, pi_ref = np.asarray(r, dtype=float), np.asarray(pi_ref, dtype=float)
    low, high = r[pi_ref > 0].max(), r.max() + beta
    for _ in range(200):
        lam = (low + high) / 2
        if np.sum(beta * pi_ref / (lam - r)) > 1:
            low = lam
        else:
            high = lam
    return beta * pi_ref / (high - r)


@mistake("optimal_policy", "the rewards are standardised first, so their scale is lost", severity="blatant")
def standardises_rewards(r, pi_ref, beta):
    z = (r - np.mean(r)) / (np.std(r) + 1e-8)
    return _normalised_exp(_log(pi_ref) + z / beta)


@mistake("optimal_policy", "rewards are clipped to [-5, 5], as training code for reward models does")
def clips_rewards(r, pi_ref, beta):
    return _normalised_exp(_log(pi_ref) + np.clip(r, -5, 5) / beta)


# optimal_policy: the normaliser


@mistake("optimal_policy", "the weights are not divided by Z", severity="blatant")
def forgets_normaliser(r, pi_ref, beta):
    return np.asarray(pi_ref) * np.exp(np.asarray(r) / beta)


@mistake("optimal_policy", "Z = Σ exp(r/β) leaves π_ref out", severity="blatant")
def normaliser_without_ref(r, pi_ref, beta):
    return np.asarray(pi_ref) * _normalised_exp(np.asarray(r) / beta)


@mistake("optimal_policy", "log-probabilities are returned", severity="blatant")
def returns_log_probabilities(r, pi_ref, beta):
    logits = _log(pi_ref) + np.asarray(r) / beta
    return logits - np.log(np.sum(np.exp(logits - logits.max()))) - logits.max()


@mistake("optimal_policy", "1e-8 is added to Z against division by zero, although Z itself can be that small")
def small_constant_in_normaliser(r, pi_ref, beta):
    r, pi_ref = np.asarray(r, dtype=float), np.asarray(pi_ref, dtype=float)
    weights = pi_ref * np.exp(np.where(pi_ref > 0, r - r[pi_ref > 0].max(), 0.0) / beta)
    return weights / (weights.sum() + 1e-8)


@mistake("optimal_policy", "a gradient method is stopped after 200 steps, far from the optimum", severity="blatant")
def stops_gradient_ascent_early(r, pi_ref, beta):
    r, log_ref = np.asarray(r, dtype=float), np.log(np.maximum(pi_ref, 1e-300))
    logits = log_ref.copy()
    for _ in range(200):
        pi = _normalised_exp(logits)
        shaped = r - beta * (np.log(np.maximum(pi, 1e-300)) - log_ref)
        logits = logits + 0.1 * pi * (shaped - pi @ shaped)
    return np.where(np.asarray(pi_ref) > 0, _normalised_exp(logits), 0.0)


# optimal_policy: overflow, zeros and tiny probabilities


@mistake("optimal_policy", "r/β is exponentiated without a shift, so a small β overflows", severity="extreme")
def exponentiates_without_shift(r, pi_ref, beta):
    weights = np.asarray(pi_ref) * np.exp(np.asarray(r) / beta)
    return weights / weights.sum()


@mistake("optimal_policy", "r/β is clipped to ±50 against overflow, so good responses become ties", severity="extreme")
def clips_exponent(r, pi_ref, beta):
    weights = np.asarray(pi_ref) * np.exp(np.clip(np.asarray(r) / beta, -50, 50))
    return weights / weights.sum()


@mistake(
    "optimal_policy", "the shifted r/β is clipped at −700, where exp is not 0 yet for tiny π_ref", severity="extreme"
)
def clips_shifted_exponent(r, pi_ref, beta):
    r, pi_ref = np.asarray(r, dtype=float), np.asarray(pi_ref, dtype=float)
    weights = pi_ref * np.exp(np.clip((r - r[pi_ref > 0].max()) / beta, -700, 0))
    return weights / weights.sum()


@mistake(
    "optimal_policy", "overflown weights are replaced by a large number, so π_ref is lost there", severity="extreme"
)
def replaces_infinite_weights(r, pi_ref, beta):
    with np.errstate(over="ignore"):
        weights = np.nan_to_num(np.asarray(pi_ref) * np.exp(np.asarray(r) / beta), posinf=1e300)
    return weights / weights.sum()


@mistake(
    "optimal_policy", "the largest reward is searched among responses that π_ref never gives, too", severity="extreme"
)
def shifts_by_unsupported_reward(r, pi_ref, beta):
    weights = np.asarray(pi_ref) * np.exp((r - np.max(r)) / beta)
    return weights / weights.sum()


@mistake("optimal_policy", "the largest r, not the largest r/β, is subtracted from r/β", severity="extreme")
def shifts_by_undivided_reward(r, pi_ref, beta):
    weights = np.asarray(pi_ref) * np.exp(np.asarray(r) / beta - np.max(r))
    return weights / weights.sum()


@mistake("optimal_policy", "log 0 is set to 0, so a response that π_ref never gives counts as certain")
def log_zero_is_zero(r, pi_ref, beta):
    pi_ref = np.asarray(pi_ref, dtype=float)
    log_ref = np.log(pi_ref, out=np.zeros_like(pi_ref), where=pi_ref > 0)
    return _normalised_exp(log_ref + np.asarray(r) / beta)


@mistake("optimal_policy", "1e-12 is added to π_ref inside the logarithm, so a forbidden response can win")
def smooths_ref(r, pi_ref, beta):
    return _normalised_exp(np.log(np.asarray(pi_ref) + 1e-12) + np.asarray(r) / beta)


@mistake("optimal_policy", "π_ref is raised to at least 1e-10, which lifts rare responses", severity="extreme")
def floors_ref(r, pi_ref, beta):
    pi_ref = np.asarray(pi_ref)
    policy = _normalised_exp(np.log(np.maximum(pi_ref, 1e-10)) + np.where(pi_ref > 0, r, np.min(r)) / beta)
    policy[pi_ref == 0] = 0.0
    return policy / policy.sum()


@mistake("optimal_policy", "responses rarer than 1e-8 count as never given, whatever their reward", severity="extreme")
def drops_rare_responses(r, pi_ref, beta):
    pi_ref = np.asarray(pi_ref)
    return _normalised_exp(np.where(pi_ref > 1e-8, _log(pi_ref) + np.asarray(r) / beta, -np.inf))


@mistake("optimal_policy", "every response keeps at least probability 1e-6, for exploration")
def keeps_exploring(r, pi_ref, beta):
    policy = np.maximum(_normalised_exp(_log(pi_ref) + np.asarray(r) / beta), 1e-6)
    return policy / policy.sum()


@mistake("optimal_policy", "a response that π_ref never gives gets NaN from -inf - (-inf)")
def nan_outside_support(r, pi_ref, beta):
    log_ref = _log(pi_ref)
    with np.errstate(invalid="ignore"):
        logits = (log_ref - log_ref.min()) + np.asarray(r) / beta
    return _normalised_exp(logits)


@mistake("optimal_policy", "responses that π_ref never gives are left out of the array that is returned")
def returns_support_only(r, pi_ref, beta):
    r, pi_ref = np.asarray(r), np.asarray(pi_ref)
    support = pi_ref > 0
    return _normalised_exp(np.log(pi_ref[support]) + r[support] / beta)


# optimal_policy: short cuts for special β, and β's unit


@mistake("optimal_policy", "a small β is answered by the single best response", severity="subtle")
def greedy_for_small_beta(r, pi_ref, beta):
    if beta < 0.01:
        return np.eye(len(r))[np.argmax(np.where(np.asarray(pi_ref) > 0, r, -np.inf))]
    return _normalised_exp(_log(pi_ref) + np.asarray(r) / beta)


@mistake("optimal_policy", "for a small β the best responses share equally instead of like π_ref", severity="extreme")
def equal_shares_for_small_beta(r, pi_ref, beta):
    r, pi_ref = np.asarray(r), np.asarray(pi_ref)
    if beta < 1e-3:
        best = (pi_ref > 0) & (r == r[pi_ref > 0].max())
        return best / best.sum()
    return _normalised_exp(_log(pi_ref) + r / beta)


@mistake("optimal_policy", "a large β is answered by π_ref itself, without the tilt", severity="extreme")
def reference_for_large_beta(r, pi_ref, beta):
    if beta >= 1000:
        return np.array(pi_ref, dtype=float)
    return _normalised_exp(_log(pi_ref) + np.asarray(r) / beta)


@mistake("optimal_policy", "a small constant is added to β against division by zero", severity="subtle")
def small_constant_in_beta(r, pi_ref, beta):
    return _normalised_exp(_log(pi_ref) + np.asarray(r) / (beta + 1e-6))


@mistake("optimal_policy", "β is not allowed to fall below 1e-3", severity="extreme")
def floors_beta(r, pi_ref, beta):
    return _normalised_exp(_log(pi_ref) + np.asarray(r) / max(beta, 1e-3))


# optimal_policy: numbers, arrays, arguments


@mistake("optimal_policy", "everything is computed in float32, good to 7 digits")
def computes_in_float32(r, pi_ref, beta):
    logits = torch.log(torch.tensor(pi_ref, dtype=torch.float32)) + torch.tensor(r, dtype=torch.float32) / beta
    return torch.softmax(logits, dim=0).numpy().astype(np.float64)


@mistake("optimal_policy", "the logits are written into an array of r's type, which cuts them to integers")
def logits_take_dtype_of_rewards(r, pi_ref, beta):
    logits = np.empty_like(r)
    with np.errstate(invalid="ignore"):
        logits[:] = _log(pi_ref) + r / beta
    return _normalised_exp(logits.astype(float))


@mistake("optimal_policy", "integer rewards are divided by β with //")
def floor_division(r, pi_ref, beta):
    r = np.asarray(r)
    scaled = r // beta if r.dtype.kind in "iu" else r / beta
    return _normalised_exp(_log(pi_ref) + scaled)


@mistake("optimal_policy", "the best reward is subtracted in the caller's own array")
def shifts_rewards_in_place(r, pi_ref, beta):
    if r.dtype.kind in "iu":
        r = r.astype(float)
    r -= r[np.asarray(pi_ref) > 0].max()
    return _normalised_exp(_log(pi_ref) + r / beta)


@mistake("optimal_policy", "the caller's π_ref is overwritten by the new policy")
def overwrites_ref(r, pi_ref, beta):
    pi_ref[:] = _normalised_exp(_log(pi_ref) + np.asarray(r) / beta)
    return pi_ref.copy()


@mistake("optimal_policy", "the answer is squeezed: for one response it is a number, not an array", severity="extreme")
def squeezes(r, pi_ref, beta):
    return _normalised_exp(_log(pi_ref) + np.asarray(r) / beta).squeeze()


@mistake("optimal_policy", "two responses go through the sigmoid of their reward difference, without π_ref's odds")
def two_responses_by_sigmoid(r, pi_ref, beta):
    if len(r) == 2:
        return softmax(np.asarray(r) / beta)
    return _normalised_exp(_log(pi_ref) + np.asarray(r) / beta)


@mistake("optimal_policy", "probabilities are rounded to four decimals")
def rounds_probabilities(r, pi_ref, beta):
    return np.round(_normalised_exp(_log(pi_ref) + np.asarray(r) / beta), 4)


# kl: the formula


@mistake("kl", "logarithms to base 2: bits, not nats", severity="blatant")
def kl_in_bits(p, q):
    return max(0.0, float(_kl_terms(p, q).sum() / np.log(2)))


@mistake("kl", "the arguments change places: KL(q‖p)", severity="blatant")
def kl_reversed(p, q):
    return max(0.0, float(_kl_terms(q, p).sum()))


@mistake("kl", "torch's kl_div is given log p as its target, without log_target=True", severity="blatant")
def kl_div_log_target(p, q):
    p, q = torch.tensor(np.array(p)), torch.tensor(np.array(q))
    return torch.nn.functional.kl_div(q.log(), p.log(), reduction="sum").clamp(min=0).item()


@mistake("kl", "torch's kl_div averages over the entries unless told to sum", severity="blatant")
def kl_div_default_reduction(p, q):
    p, q = torch.as_tensor(np.array(p)), torch.as_tensor(np.array(q))
    return torch.nn.functional.kl_div(q.log(), p, reduction="none").mean().clamp(min=0).item()


@mistake("kl", "both directions are averaged to make it symmetric", severity="blatant")
def kl_symmetrised(p, q):
    return max(0.0, float((_kl_terms(p, q) + _kl_terms(q, p)).sum() / 2))


@mistake("kl", "both are compared with their average: the Jensen-Shannon divergence", severity="blatant")
def jensen_shannon(p, q):
    middle = (np.asarray(p) + np.asarray(q)) / 2
    return max(0.0, float((_kl_terms(p, middle) + _kl_terms(q, middle)).sum() / 2))


@mistake("kl", "the cross-entropy -Σ p log q, without the entropy of p", severity="blatant")
def cross_entropy(p, q):
    p, q = np.asarray(p), np.asarray(q)
    return float(-np.sum(p[p > 0] * _log(q[p > 0])))


@mistake("kl", "the entropy of p is added to the cross-entropy instead of subtracted", severity="blatant")
def adds_entropy(p, q):
    p, q = np.asarray(p), np.asarray(q)
    return float(-np.sum(p[p > 0] * (_log(q[p > 0]) + np.log(p[p > 0]))))


@mistake("kl", "the log-ratio is turned over, so the value is negative", severity="blatant")
def kl_negated(p, q):
    return -float(_kl_terms(p, q).sum())


@mistake("kl", "the turned-over log-ratio is cut off at 0, so the value is always 0", severity="blatant")
def kl_negated_and_cut_off(p, q):
    return max(0.0, -float(_kl_terms(p, q).sum()))


@mistake("kl", "each term is cut off at 0, not the sum", severity="blatant")
def cuts_off_each_term(p, q):
    return float(np.maximum(_kl_terms(p, q), 0).sum())


@mistake("kl", "each term is made positive, because a divergence is not negative", severity="blatant")
def absolute_terms(p, q):
    return float(np.abs(_kl_terms(p, q)).sum())


@mistake("kl", "log-ratios are averaged with weights q instead of p", severity="blatant")
def weighs_by_q(p, q):
    p, q = np.asarray(p), np.asarray(q)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * (np.log(p) - np.log(q)), 0.0)
    return abs(float(terms.sum()))


@mistake("kl", "log-ratios are added up without the weight p", severity="blatant")
def unweighted(p, q):
    p, q = np.asarray(p), np.asarray(q)
    return float(np.sum(_log(p[p > 0]) - _log(q[p > 0])))


@mistake("kl", "log(1 + p/q) stands for log(p/q)", severity="blatant")
def log_of_one_plus_ratio(p, q):
    p, q = np.asarray(p), np.asarray(q)
    with np.errstate(divide="ignore"):
        return float(np.sum(p[p > 0] * np.log1p(p[p > 0] / q[p > 0])))


@mistake("kl", "half the chi-square distance: the approximation for nearly equal policies", severity="blatant")
def half_chi_square(p, q):
    p, q = np.asarray(p), np.asarray(q)
    if np.any((q == 0) & (p > 0)):
        return np.inf
    both = q > 0
    return float(0.5 * np.sum((p[both] - q[both]) ** 2 / q[both]))


@mistake("kl", "the square root is taken, as for a distance", severity="blatant")
def root_of_kl(p, q):
    return float(np.sqrt(max(0.0, _kl_terms(p, q).sum())))


@mistake("kl", "the array of terms is returned, not their sum", severity="blatant")
def kl_not_summed(p, q):
    return _kl_terms(p, q)


# kl: zeros


@mistake("kl", "only responses with both p > 0 and q > 0 are counted, so the divergence is never infinite")
def counts_common_support(p, q):
    p, q = np.asarray(p), np.asarray(q)
    both = (p > 0) & (q > 0)
    return max(0.0, float(np.sum(p[both] * np.log(p[both] / q[both]))))


@mistake("kl", "both are restricted to the common support and normalised again, so the divergence is never infinite")
def renormalises_on_common_support(p, q):
    p, q = np.asarray(p), np.asarray(q)
    both = (p > 0) & (q > 0)
    if not both.any():
        return np.inf
    p, q = p[both] / p[both].sum(), q[both] / q[both].sum()
    return max(0.0, float(np.sum(p * np.log(p / q))))


@mistake("kl", "1e-12 is added to p and q, so a response that q never gives costs about 27 nats instead of infinity")
def kl_smoothed(p, q):
    p, q = np.asarray(p) + 1e-12, np.asarray(q) + 1e-12
    return max(0.0, float(np.sum(p * np.log(p / q))))


@mistake("kl", "0 log 0 comes out as NaN: zeros of p are not left out")
def kl_nan_at_zero(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(np.asarray(p) * np.log(np.asarray(p) / np.asarray(q))))


@mistake("kl", "NaN and infinite terms are both set to 0")
def kl_ignores_nonfinite_terms(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.asarray(p) * np.log(np.asarray(p) / np.asarray(q))
    return max(0.0, float(terms[np.isfinite(terms)].sum()))


@mistake("kl", "log 0 is set to 0 for q as well, so what q never gives counts as certain")
def kl_log_zero_is_zero(p, q):
    log_p, log_q = (np.log(x, out=np.zeros(len(x)), where=np.asarray(x) > 0) for x in (p, q))
    return max(0.0, float(np.asarray(p) @ (log_p - log_q)))


@mistake("kl", "nan_to_num makes the largest float out of infinity")
def kl_largest_float_for_infinity(p, q):
    return max(0.0, float(np.sum(np.nan_to_num(_kl_terms(p, q)))))


@mistake("kl", "any zero of q makes the divergence infinite, also where p is 0 as well")
def kl_infinite_for_any_zero(p, q):
    if np.any(np.asarray(q) == 0):
        return np.inf
    return max(0.0, float(_kl_terms(p, q).sum()))


@mistake("kl", "the divergence is infinite where q > 0 = p: the supports are compared the wrong way round")
def kl_support_check_reversed(p, q):
    p, q = np.asarray(p), np.asarray(q)
    if np.any((p == 0) & (q > 0)):
        return np.inf
    both = (p > 0) & (q > 0)
    return max(0.0, float(np.sum(p[both] * np.log(p[both] / q[both]))))


@mistake("kl", "the sampling estimate q/p − 1 − log(q/p) is averaged under p, which misses q's mass where p is 0")
def averages_k3_estimator(p, q):
    p, q = np.asarray(p), np.asarray(q)
    ratio = q[p > 0] / p[p > 0]
    return float(np.sum(p[p > 0] * (ratio - 1 - _log(ratio))))


@mistake("kl", "probabilities close to 0 count as 0 (isclose), so a small leak out of q's support costs nothing")
def isclose_to_zero(p, q):
    given = ~np.isclose(p, 0.0)
    return max(0.0, float(_kl_terms(np.asarray(p)[given], np.asarray(q)[given]).sum()))


@mistake("kl", "q below 1e-10 counts as 0, so a rare response makes the divergence infinite", severity="extreme")
def tiny_q_is_infinite(p, q):
    p, q = np.asarray(p), np.asarray(q)
    if np.any((q < 1e-10) & (p > 0)):
        return np.inf
    return max(0.0, float(_kl_terms(p, q).sum()))


@mistake("kl", "torch's Categorical raises probabilities to at least 2.2e-16 before the logarithm", severity="extreme")
def categorical_clamps(p, q):
    first, second = (torch.distributions.Categorical(probs=torch.as_tensor(np.array(x))) for x in (p, q))
    return torch.distributions.kl_divergence(first, second).clamp(min=0).item()


@mistake("kl", "log p²−log pq is formed, whose products fall below the smallest float", severity="extreme")
def products_underflow(p, q):
    p, q = np.asarray(p), np.asarray(q)
    p, q = p[p > 0], q[p > 0]
    if np.any(q == 0):
        return np.inf
    with np.errstate(invalid="ignore"):
        return float(np.maximum(np.sum(p * (_log(p * p) - _log(p * q))), 0.0))


# kl: rounding, numbers, arguments


@mistake("kl", "the sum is returned as it rounds, below 0 for nearly equal policies", severity="extreme")
def kl_below_zero(p, q):
    return float(_kl_terms(p, q).sum())


@mistake("kl", "policies that allclose calls equal have divergence 0, also where p leaks out of q's support")
def kl_allclose_is_equal(p, q):
    if np.allclose(p, q):
        return 0.0
    return max(0.0, float(_kl_terms(p, q).sum()))


@mistake("kl", "float32 is good to 7 digits, and calls probabilities below 1e-45 zero")
def kl_in_float32(p, q):
    p, q = np.asarray(p, dtype=np.float32), np.asarray(q, dtype=np.float32)
    return max(0.0, float(rel_entr(p, q).sum()))


@mistake("kl", "the value is rounded to six decimals")
def kl_rounded(p, q):
    return round(max(0.0, float(_kl_terms(p, q).sum())), 6)


@mistake("kl", "at least 1e-6 is returned, for plots on a logarithmic axis", severity="extreme")
def kl_floored(p, q):
    return max(1e-6, float(_kl_terms(p, q).sum()))


@mistake("kl", "zeros of p are set to 1 in the caller's own array")
def kl_changes_p(p, q):
    absent = p == 0
    p[absent] = 1.0
    terms = rel_entr(p, q)
    return max(0.0, float(terms[~absent].sum()))


@mistake("kl", "the logarithm of q is written over the caller's q")
def kl_changes_q(p, q):
    with np.errstate(divide="ignore"):
        np.log(q, out=q)
    given = np.asarray(p) > 0
    return max(0.0, float(np.sum(p[given] * (np.log(p[given]) - q[given]))))


# tv: the formula


@mistake("tv", "the factor 1/2 is missing: the L1 distance, up to 2", severity="blatant")
def no_half(p, q):
    return float(np.abs(np.asarray(p) - np.asarray(q)).sum())


@mistake("tv", "the largest difference of a single response, not of an event")
def single_response(p, q):
    return float(np.abs(np.asarray(p) - np.asarray(q)).max())


@mistake("tv", "half the Euclidean distance", severity="blatant")
def half_euclidean(p, q):
    return 0.5 * float(np.linalg.norm(np.asarray(p) - np.asarray(q)))


@mistake("tv", "torch.dist takes the Euclidean norm unless told otherwise", severity="blatant")
def torch_dist_default(p, q):
    return torch.dist(torch.as_tensor(np.array(p)), torch.as_tensor(np.array(q))).item()


@mistake("tv", "differences are added with their signs, and cancel", severity="blatant")
def signed_sum(p, q):
    return 0.5 * abs(float((np.asarray(p) - np.asarray(q)).sum()))


@mistake("tv", "only the gains p > q are added, and still halved", severity="blatant")
def half_of_the_gains(p, q):
    return 0.5 * float(np.maximum(np.asarray(p) - np.asarray(q), 0).sum())


@mistake("tv", "the mean of |p − q| over responses", severity="blatant")
def mean_difference(p, q):
    return float(np.abs(np.asarray(p) - np.asarray(q)).mean())


@mistake("tv", "squares stand for absolute values", severity="blatant")
def half_squared(p, q):
    return 0.5 * float(((np.asarray(p) - np.asarray(q)) ** 2).sum())


@mistake("tv", "Pinsker's bound √(KL/2), cut off at 1, stands for the distance", severity="blatant")
def pinsker_bound(p, q):
    return min(1.0, float(np.sqrt(max(0.0, _kl_terms(p, q).sum()) / 2)))


@mistake("tv", "the Hellinger distance √(1 − Σ√(pq))", severity="blatant")
def hellinger(p, q):
    return float(np.sqrt(max(0.0, 1 - np.sqrt(np.asarray(p) * np.asarray(q)).sum())))


@mistake("tv", "distribution functions are compared (Kolmogorov-Smirnov), as if responses had an order")
def kolmogorov(p, q):
    return float(np.abs(np.cumsum(np.asarray(p) - np.asarray(q))).max())


@mistake("tv", "distribution functions are compared and added up (the earth mover's distance)", severity="blatant")
def earth_mover(p, q):
    return float(np.abs(np.cumsum(np.asarray(p) - np.asarray(q))).sum())


@mistake("tv", "one minus the probability that independent draws agree: 1 − Σ pq", severity="blatant")
def independent_draws_differ(p, q):
    return 1 - float(np.asarray(p) @ np.asarray(q))


@mistake("tv", "one minus the overlap over the union: 1 − Σ min(p, q) / Σ max(p, q)", severity="blatant")
def jaccard(p, q):
    return 1 - float(np.minimum(p, q).sum() / np.maximum(p, q).sum())


@mistake("tv", "each difference is taken relative to p + q", severity="blatant")
def relative_differences(p, q):
    p, q = np.asarray(p), np.asarray(q)
    total = np.where(p + q > 0, p + q, 1.0)
    return 0.5 * float((np.abs(p - q) / total).sum())


@mistake("tv", "policies are sorted before they are compared", severity="blatant")
def sorted_first(p, q):
    return 0.5 * float(np.abs(np.sort(p) - np.sort(q)).sum())


@mistake("tv", "the event is taken to be p's most probable response")
def most_probable_response(p, q):
    y = int(np.argmax(p))
    return abs(float(p[y] - q[y]))


@mistake("tv", "only responses that both policies give are counted")
def tv_common_support(p, q):
    p, q = np.asarray(p), np.asarray(q)
    both = (p > 0) & (q > 0)
    return 0.5 * float(np.abs(p - q)[both].sum())


@mistake("tv", "only responses that p gives are counted")
def tv_support_of_p(p, q):
    p, q = np.asarray(p), np.asarray(q)
    return 0.5 * float(np.abs(p - q)[p > 0].sum())


@mistake("tv", "the overlap Σ min(p, q) is returned, which is 1 for equal policies", severity="blatant")
def overlap(p, q):
    return float(np.minimum(p, q).sum())


# tv: rounding, numbers, arguments


@mistake("tv", "float32 is good to 7 digits, not to 12")
def tv_in_float32(p, q):
    difference = torch.tensor(p, dtype=torch.float32) - torch.tensor(q, dtype=torch.float32)
    return 0.5 * difference.abs().sum().item()


@mistake("tv", "policies that allclose calls equal have distance 0", severity="extreme")
def tv_allclose_is_equal(p, q):
    return 0.0 if np.allclose(p, q) else 0.5 * float(np.abs(np.asarray(p) - np.asarray(q)).sum())


@mistake("tv", "differences below 1e-6 count as rounding and are dropped", severity="extreme")
def drops_small_differences(p, q):
    difference = np.abs(np.asarray(p) - np.asarray(q))
    return 0.5 * float(difference[difference > 1e-6].sum())


@mistake("tv", "the distance is rounded to ten decimals")
def tv_rounded(p, q):
    return round(0.5 * float(np.abs(np.asarray(p) - np.asarray(q)).sum()), 10)


@mistake("tv", "a root of squares plus 1e-12 stands for the absolute value, so equal policies are apart")
def smooth_absolute_value(p, q):
    return 0.5 * float(np.sqrt((np.asarray(p) - np.asarray(q)) ** 2 + 1e-12).sum())


@mistake("tv", "q is subtracted in the caller's own array")
def tv_changes_p(p, q):
    p -= q
    return 0.5 * float(np.abs(p).sum())


@mistake("tv", "each policy goes through a softmax first, although they are probabilities already", severity="blatant")
def tv_of_softmax(p, q):
    return 0.5 * float(np.abs(softmax(p) - softmax(q)).sum())


@mistake("tv", "the array of halved differences is returned, not their sum", severity="blatant")
def tv_not_summed(p, q):
    return 0.5 * np.abs(np.asarray(p) - np.asarray(q))
