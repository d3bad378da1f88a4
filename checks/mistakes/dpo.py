"""Wrong answers to the functions of dpo.py: the loss, its training, and the reward inside the policy."""

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import expit

from harness.variants import mistake

# --- dpo_loss ---------------------------------------------------------------------------------------------------------


def _log_ratio(logits, log_ref):
    return torch.log_softmax(logits, dim=0) - log_ref


def _margin(logits, log_ref, winners, losers, beta):
    ratio = _log_ratio(logits, log_ref)
    return beta * (ratio[winners] - ratio[losers])


@mistake("dpo_loss", "β multiplies the loss instead of the margin inside the sigmoid", severity="blatant")
def beta_multiplies_the_loss(logits, log_ref, winners, losers, beta):
    return -beta * F.logsigmoid(_margin(logits, log_ref, winners, losers, 1.0)).mean()


@mistake("dpo_loss", "β does not appear: the margin is the plain difference of the log-ratios", severity="blatant")
def beta_does_not_appear(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, 1.0)).mean()


@mistake("dpo_loss", "the margin is divided by β instead of multiplied by it", severity="blatant")
def margin_is_divided_by_beta(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, 1.0) / beta).mean()


@mistake("dpo_loss", "β is applied twice: to each log-ratio and again to their difference", severity="blatant")
def beta_is_applied_twice(logits, log_ref, winners, losers, beta):
    reward = beta * _log_ratio(logits, log_ref)
    return -F.logsigmoid(beta * (reward[winners] - reward[losers])).mean()


@mistake("dpo_loss", "β scales the reference only: log π − β log π_ref", severity="blatant")
def beta_scales_the_reference_only(logits, log_ref, winners, losers, beta):
    reward = torch.log_softmax(logits, dim=0) - beta * log_ref
    return -F.logsigmoid(reward[winners] - reward[losers]).mean()


@mistake("dpo_loss", "β scales the policy only: β log π − log π_ref", severity="blatant")
def beta_scales_the_policy_only(logits, log_ref, winners, losers, beta):
    reward = beta * torch.log_softmax(logits, dim=0) - log_ref
    return -F.logsigmoid(reward[winners] - reward[losers]).mean()


@mistake("dpo_loss", "β is a temperature of the softmax: log softmax(logits/β)", severity="blatant")
def beta_is_a_temperature(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits / beta, log_ref, winners, losers, 1.0)).mean()


@mistake("dpo_loss", "the margins are centred within the batch before the sigmoid", severity="subtle")
def margins_are_centred(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return -F.logsigmoid(margin - margin.mean()).mean()


@mistake("dpo_loss", "softplus's own β is used, which divides its value by β again", severity="blatant")
def softplus_brings_its_own_beta(logits, log_ref, winners, losers, beta):
    return F.softplus(-_margin(logits, log_ref, winners, losers, 1.0), beta=beta).mean()


@mistake("dpo_loss", "the loss is summed over the pairs instead of averaged", severity="blatant")
def sum_over_the_pairs(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).sum()


@mistake("dpo_loss", "the sum over the pairs is divided by the number of responses", severity="blatant")
def mean_over_the_responses(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).sum() / len(logits)


@mistake("dpo_loss", "the loss of each pair is returned, and their mean is not taken", severity="blatant")
def one_loss_for_each_pair(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta))


@mistake("dpo_loss", "winners and losers are exchanged in the margin", severity="blatant")
def winners_and_losers_are_exchanged(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, losers, winners, beta)).mean()


@mistake(
    "dpo_loss",
    "the log-likelihood is returned, which is to be maximised: the minus sign is left out",
    severity="blatant",
)
def likelihood_without_the_minus(logits, log_ref, winners, losers, beta):
    return F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean()


@mistake("dpo_loss", "softplus is taken of the margin, although −log σ(x) is softplus(−x)", severity="blatant")
def softplus_of_the_margin_itself(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return torch.logaddexp(torch.zeros_like(margin), margin).mean()


@mistake("dpo_loss", "the reference policy is left out of the margin", severity="blatant")
def no_reference_in_the_margin(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, torch.zeros_like(log_ref), winners, losers, beta)).mean()


@mistake("dpo_loss", "the reference is subtracted for the winner only", severity="blatant")
def reference_for_the_winner_only(logits, log_ref, winners, losers, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    return -F.logsigmoid(beta * (log_pi[winners] - log_ref[winners] - log_pi[losers])).mean()


@mistake("dpo_loss", "the reference's log-ratio is added to the policy's instead of subtracted", severity="blatant")
def reference_is_added(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, -log_ref, winners, losers, beta)).mean()


@mistake("dpo_loss", "π_ref itself is subtracted from log π, not its logarithm", severity="blatant")
def probabilities_of_the_reference(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref.exp(), winners, losers, beta)).mean()


@mistake("dpo_loss", "the margin is a difference of ratios π/π_ref, not of their logarithms", severity="blatant")
def ratios_without_the_logarithm(logits, log_ref, winners, losers, beta):
    ratio = _log_ratio(logits, log_ref).exp()
    return -F.logsigmoid(beta * (ratio[winners] - ratio[losers])).mean()


@mistake("dpo_loss", "the winner's log-probability is normalised, the loser's is its raw logit", severity="subtle")
def raw_logit_for_the_loser(logits, log_ref, winners, losers, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    return -F.logsigmoid(beta * (log_pi[winners] - log_ref[winners] - logits[losers] + log_ref[losers])).mean()


@mistake("dpo_loss", "the softmax runs over the batch of pairs, not over the responses", severity="subtle")
def softmax_over_the_batch(logits, log_ref, winners, losers, beta):
    won, lost = (torch.log_softmax(logits[side], dim=0) - log_ref[side] for side in (winners, losers))
    return -F.logsigmoid(beta * (won - lost)).mean()


@mistake("dpo_loss", "odds π/(1−π) take the place of probabilities, as in ORPO", severity="blatant")
def odds_in_place_of_probabilities(logits, log_ref, winners, losers, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    log_odds = log_pi - torch.log1p(-log_pi.exp()) - log_ref
    return -F.logsigmoid(beta * (log_odds[winners] - log_odds[losers])).mean()


@mistake("dpo_loss", "the hinge max(0, 1 − margin) stands in for the logistic loss", severity="blatant")
def hinge(logits, log_ref, winners, losers, beta):
    return (1 - _margin(logits, log_ref, winners, losers, beta)).clamp(min=0).mean()


@mistake("dpo_loss", "the margin is regressed on 1/(2β) with a squared error, which is IPO", severity="blatant")
def squared_error_of_ipo(logits, log_ref, winners, losers, beta):
    return ((_margin(logits, log_ref, winners, losers, 1.0) - 1 / (2 * beta)) ** 2).mean()


@mistake("dpo_loss", "the labels are smoothed: a tenth of each pair counts the other way round", severity="blatant")
def smoothed_labels(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return -(0.9 * F.logsigmoid(margin) + 0.1 * F.logsigmoid(-margin)).mean()


@mistake("dpo_loss", "the logarithm is taken of the mean chance of a win, not of each chance", severity="subtle")
def logarithm_of_the_mean_chance(logits, log_ref, winners, losers, beta):
    return -torch.log(torch.sigmoid(_margin(logits, log_ref, winners, losers, beta)).mean())


@mistake("dpo_loss", "the margins are averaged before the sigmoid", severity="subtle")
def sigmoid_of_the_mean_margin(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta).mean())


@mistake("dpo_loss", "the loss returns from inside the loop, so that the first pair alone counts", severity="subtle")
def first_pair_alone(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)[0])


@mistake("dpo_loss", "the loser's log-ratio is detached: the loss pulls the winner up, and pushes nobody down")
def loser_is_detached(logits, log_ref, winners, losers, beta):
    ratio = _log_ratio(logits, log_ref)
    return -F.logsigmoid(beta * (ratio[winners] - ratio[losers].detach())).mean()


@mistake(
    "dpo_loss", "the loss is built from its gradient's weights, so that its value is no likelihood", severity="blatant"
)
def surrogate_with_the_right_gradient(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return -(torch.sigmoid(-margin).detach() * margin).mean()


@mistake("dpo_loss", "a supervised term −log π(winner) is added to the loss", severity="blatant")
def supervised_term_is_added(logits, log_ref, winners, losers, beta):
    supervised = -torch.log_softmax(logits, dim=0)[winners].mean()
    return supervised - F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean()


@mistake("dpo_loss", "a KL penalty is added to the loss, although β is in the margin already", severity="blatant")
def kl_penalty_is_added(logits, log_ref, winners, losers, beta):
    ratio = _log_ratio(logits, log_ref)
    penalty = beta * (torch.softmax(logits, dim=0) * ratio).sum()
    return penalty - F.logsigmoid(beta * (ratio[winners] - ratio[losers])).mean()


@mistake("dpo_loss", "the loss is measured in bits: the logarithm has base 2", severity="blatant")
def bits(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean() / np.log(2)


@mistake("dpo_loss", "log-ratios are clipped to [−2, 2] as in PPO, beyond which nothing is learnt")
def clipped_log_ratios(logits, log_ref, winners, losers, beta):
    ratio = (_log_ratio(logits, log_ref)).clamp(-2, 2)
    return -F.logsigmoid(beta * (ratio[winners] - ratio[losers])).mean()


@mistake("dpo_loss", "the loss is a mean over the different pairs, however often each of them occurs")
def different_pairs_once(logits, log_ref, winners, losers, beta):
    pairs = torch.unique(torch.stack([torch.as_tensor(winners), torch.as_tensor(losers)]), dim=1)
    return -F.logsigmoid(_margin(logits, log_ref, pairs[0], pairs[1], beta)).mean()


@mistake("dpo_loss", "counts[winners, losers] += 1 counts a repeated pair once, and the total is still divided by n")
def fancy_indexing_loses_repetitions(logits, log_ref, winners, losers, beta):
    counts = np.zeros((len(logits), len(logits)))
    counts[np.asarray(winners), np.asarray(losers)] += 1
    ratio = _log_ratio(logits, log_ref)
    loss = -F.logsigmoid(beta * (ratio[:, None] - ratio))
    return (torch.from_numpy(counts) * loss).sum() / len(winners)


@mistake("dpo_loss", "pairs of a response with itself are dropped from the mean", severity="extreme")
def self_pairs_are_dropped(logits, log_ref, winners, losers, beta):
    loss = -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta))
    different = torch.as_tensor(winners) != torch.as_tensor(losers)
    return (loss * different).sum() / different.sum().clamp(min=1)


@mistake(
    "dpo_loss", "where every pair is one of a response with itself, the loss is 0 instead of log 2", severity="extreme"
)
def nothing_but_idle_pairs_cost_nothing(logits, log_ref, winners, losers, beta):
    winners, losers = torch.as_tensor(winners), torch.as_tensor(losers)
    if bool((winners == losers).all()):
        return (0.0 * logits).sum()
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean()


@mistake("dpo_loss", "a pair of a response with itself costs 0 instead of log 2", severity="extreme")
def self_pairs_cost_nothing(logits, log_ref, winners, losers, beta):
    loss = -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta))
    return (loss * (torch.as_tensor(winners) != torch.as_tensor(losers))).mean()


@mistake(
    "dpo_loss",
    "logits and log_ref are rounded to float32, and the loss is right to seven digits only",
    severity="subtle",
)
def single_precision(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits.float(), log_ref.float(), winners, losers, beta)).mean()


@mistake("dpo_loss", "log(sigmoid(x)) is taken in two steps, so that a sigmoid of 0 costs infinity", severity="extreme")
def sigmoid_then_logarithm(logits, log_ref, winners, losers, beta):
    return -torch.log(torch.sigmoid(_margin(logits, log_ref, winners, losers, beta))).mean()


@mistake("dpo_loss", "1e-8 inside the logarithm caps the loss of a pair at 18")
def epsilon_inside_the_logarithm(logits, log_ref, winners, losers, beta):
    return -torch.log(torch.sigmoid(_margin(logits, log_ref, winners, losers, beta)) + 1e-8).mean()


@mistake("dpo_loss", "binary cross-entropy of probabilities caps the loss of a pair at 100", severity="extreme")
def cross_entropy_of_probabilities(logits, log_ref, winners, losers, beta):
    chance = torch.sigmoid(_margin(logits, log_ref, winners, losers, beta))
    return F.binary_cross_entropy(chance, torch.ones_like(chance))


@mistake("dpo_loss", "log(1 + exp(−margin)) overflows where the margin is below −710", severity="extreme")
def exponential_overflows(logits, log_ref, winners, losers, beta):
    return torch.log1p(torch.exp(-_margin(logits, log_ref, winners, losers, beta))).mean()


@mistake(
    "dpo_loss",
    "torch.where hides the overflow of exp from the value, not from the gradient: 0 · inf",
    severity="extreme",
)
def overflow_behind_where(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return torch.where(margin < -30, -margin, torch.log1p(torch.exp(-margin))).mean()


@mistake("dpo_loss", "the margin is clamped to [−10, 10], and a pair beyond it has no gradient")
def margin_is_clamped(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta).clamp(-10, 10)).mean()


@mistake("dpo_loss", "the margin is clamped to [−50, 50]: a pair that is off by more costs 50", severity="extreme")
def margin_is_clamped_far_out(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta).clamp(-50, 50)).mean()


@mistake(
    "dpo_loss",
    "relu(−m) + log(1 + exp(−|m|)) has gradient 0 at m = 0, so that training at π_ref never starts",
    severity="extreme",
)
def no_gradient_at_margin_zero(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return (F.relu(-margin) + torch.log1p(torch.exp(-margin.abs()))).mean()


@mistake("dpo_loss", "clamp(−m, min=0) + log(1 + exp(−|m|)) has slope −1 at m = 0 instead of −1/2", severity="extreme")
def full_gradient_at_margin_zero(logits, log_ref, winners, losers, beta):
    margin = _margin(logits, log_ref, winners, losers, beta)
    return ((-margin).clamp(min=0) + torch.log1p(torch.exp(-margin.abs()))).mean()


@mistake("dpo_loss", "log(softmax(logits)) is −inf where a probability rounds to 0", severity="extreme")
def logarithm_of_a_rounded_softmax(logits, log_ref, winners, losers, beta):
    ratio = torch.log(torch.softmax(logits, dim=0)) - log_ref
    return -F.logsigmoid(beta * (ratio[winners] - ratio[losers])).mean()


@mistake(
    "dpo_loss", "the policy is exp(logits) / sum exp(logits), which overflows for large logits", severity="extreme"
)
def softmax_overflows(logits, log_ref, winners, losers, beta):
    ratio = torch.log(torch.exp(logits) / torch.exp(logits).sum()) - log_ref
    return -F.logsigmoid(beta * (ratio[winners] - ratio[losers])).mean()


@mistake("dpo_loss", "logits are clipped to [−30, 30] for stability", severity="extreme")
def logits_are_clipped(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits.clamp(-30, 30), log_ref, winners, losers, beta)).mean()


@mistake("dpo_loss", "winners and losers are taken to be tensors: a NumPy array has no .long()")
def tensors_are_expected(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners.long(), losers.long(), beta)).mean()


@mistake("dpo_loss", "winners and losers are taken to be NumPy arrays: a tensor has no .astype()", severity="blatant")
def arrays_are_expected(logits, log_ref, winners, losers, beta):
    won, lost = winners.astype(np.int64), losers.astype(np.int64)
    return -F.logsigmoid(_margin(logits, log_ref, won, lost, beta)).mean()


@mistake("dpo_loss", "the loss is turned into a Python float, which has no gradient", severity="blatant")
def python_float(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean().item()


@mistake("dpo_loss", "the policy is detached from the logits, and the loss has no gradient", severity="blatant")
def logits_are_detached(logits, log_ref, winners, losers, beta):
    return -F.logsigmoid(_margin(logits.detach(), log_ref, winners, losers, beta)).mean().requires_grad_()


@mistake("dpo_loss", "log_ref is normalised in place, in the caller's tensor", severity="extreme")
def reference_is_normalised_in_place(logits, log_ref, winners, losers, beta):
    log_ref -= torch.logsumexp(log_ref, dim=0)
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean()


@mistake("dpo_loss", "the caller's logits are shifted in place to keep exp from overflowing", severity="extreme")
def logits_are_shifted_in_place(logits, log_ref, winners, losers, beta):
    logits.data -= logits.data.max()
    return -F.logsigmoid(_margin(logits, log_ref, winners, losers, beta)).mean()


# --- train_dpo --------------------------------------------------------------------------------------------------------
# The policy is pi_ref exp(tilt) / Z; a step on the logits is a step on the tilt.


def _table(winners, losers, K):
    """(signs, shares): a row e_winner − e_loser for each different pair, and how much of the data it is."""
    pairs, counts = np.unique(np.stack([winners, losers]), axis=1, return_counts=True)
    return np.eye(K)[pairs[0]] - np.eye(K)[pairs[1]], counts / counts.sum()


def _pull(winners, losers, K, beta):
    """The gradient of the loss as a function of the tilt."""
    signs, shares = _table(winners, losers, K)
    return lambda tilt: -beta * (shares * expit(-beta * (signs @ tilt))) @ signs


def _surprise(winners, losers, K, beta):
    """The loss as a function of the tilt."""
    signs, shares = _table(winners, losers, K)
    return lambda tilt: shares @ np.logaddexp(0, -beta * (signs @ tilt))


def _policy(pi_ref, tilt):
    weights = pi_ref * np.exp(tilt - tilt.max())
    return weights / weights.sum()


def _log(pi_ref):
    """log pi_ref, with a finite number where it is 0."""
    return np.log(np.maximum(pi_ref, 1e-300))


def _adam(gradient, tilt, step, moments, lr):
    slope = gradient(tilt)
    moments[0] += 0.1 * (slope - moments[0])
    moments[1] += 0.001 * (slope * slope - moments[1])
    scale = np.sqrt(moments[1] / (1 - 0.999 ** (step + 1))) + 1e-8
    return tilt - lr * moments[0] / ((1 - 0.9 ** (step + 1)) * scale)


def _train(pi_ref, gradient, steps, lr, record, start=0.0, update=_adam, stop=None, show=_policy, every=200):
    """Training, right in all that is not said otherwise."""
    tilt, moments, stopped = np.zeros(len(pi_ref)) + start, np.zeros((2, len(pi_ref))), False
    for step in range(steps + 1):
        if record is not None and (step % every == 0 or step == steps):
            record.append((step, show(pi_ref, tilt)))
        stopped = stopped or (stop is not None and stop(tilt))
        if step < steps and not stopped:
            tilt = update(gradient, tilt, step, moments, lr)
    return show(pi_ref, tilt)


def _right(pi_ref, winners, losers, beta, steps, lr, record, **differently):
    return _train(pi_ref, _pull(winners, losers, len(pi_ref), beta), steps, lr, record, **differently)


@mistake("train_dpo", "training takes β = 1, whatever β is", severity="blatant")
def trains_with_beta_one(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, 1.0, steps, lr, record)


@mistake("train_dpo", "the log-ratios are divided by β in the margin that is trained", severity="blatant")
def trains_with_one_over_beta(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, 1 / beta, steps, lr, record)


@mistake(
    "train_dpo",
    "training minimises β times the loss of β = 1, which has the same minimum for every β",
    severity="blatant",
)
def beta_is_a_weight_of_the_loss(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    pull = _pull(winners, losers, len(pi_ref), 1.0)
    return _train(pi_ref, lambda tilt: beta * pull(tilt), steps, lr, record)


@mistake("train_dpo", "the reference is only where training starts: the margin does without it", severity="blatant")
def reference_only_at_the_start(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    pull = _pull(winners, losers, len(pi_ref), beta)
    return _train(pi_ref, lambda tilt: pull(_log(pi_ref) + tilt), steps, lr, record)


@mistake(
    "train_dpo", "the reference shares its memory with the logits, so that every margin stays 0", severity="blatant"
)
def reference_moves_along(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    pull = _pull(winners, losers, len(pi_ref), beta)
    return _train(pi_ref, lambda tilt: pull(np.zeros(len(pi_ref))), steps, lr, record)


@mistake("train_dpo", "the reference is replaced by the current policy every 500 steps")
def reference_is_refreshed(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    pull, calls, anchor = _pull(winners, losers, len(pi_ref), beta), [0], np.zeros(len(pi_ref))

    def gradient(tilt):
        if calls[0] % 500 == 0:
            anchor[:] = tilt
        calls[0] += 1
        return pull(tilt - anchor)

    return _train(pi_ref, gradient, steps, lr, record)


@mistake("train_dpo", "winners and losers are exchanged in training", severity="blatant")
def trains_towards_the_losers(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, losers, winners, beta, steps, lr, record)


@mistake("train_dpo", "training knows which pairs occurred, not how often", severity="blatant")
def trains_on_different_pairs(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    pairs = np.unique(np.stack([winners, losers]), axis=1)
    return _right(pi_ref, *pairs, beta, steps, lr, record)


@mistake(
    "train_dpo",
    "of two responses the one that won more often is made the winner of all their pairs",
    severity="blatant",
)
def majority_decides(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    wins = np.zeros((len(pi_ref), len(pi_ref)))
    np.add.at(wins, (winners, losers), 1)
    won = np.where(wins[winners, losers] >= wins[losers, winners], winners, losers)
    return _right(pi_ref, won, winners + losers - won, beta, steps, lr, record)


@mistake("train_dpo", "only the first 1000 pairs are used")
def first_thousand_pairs(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners[:1000], losers[:1000], beta, steps, lr, record)


@mistake("train_dpo", "every fifth pair is held out and never trained on")
def every_fifth_pair_is_held_out(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    kept = np.arange(len(winners)) % 5 != 4
    return _right(pi_ref, winners[kept], losers[kept], beta, steps, lr, record)


@mistake("train_dpo", "each step sees 8 random pairs, and the policy goes on jittering about the optimum")
def small_minibatches(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    rng, K = np.random.default_rng(0), len(pi_ref)
    signs = np.eye(K)[winners] - np.eye(K)[losers]

    def gradient(tilt):
        rows = signs[rng.integers(len(signs), size=8)]
        return -beta * expit(-beta * (rows @ tilt)) @ rows / 8

    return _train(pi_ref, gradient, steps, lr, record)


@mistake("train_dpo", "plain gradient descent with step size 0.05 is far from the optimum after 2000 steps")
def plain_gradient_descent(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    def update(gradient, tilt, step, moments, lr):
        return tilt - lr * gradient(tilt)

    return _right(pi_ref, winners, losers, beta, steps, lr, record, update=update)


@mistake("train_dpo", "the step size decays like 1/t, and training comes to a halt on the way")
def step_size_decays_too_fast(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    def update(gradient, tilt, step, moments, lr):
        return _adam(gradient, tilt, step, moments, lr / (1 + step))

    return _right(pi_ref, winners, losers, beta, steps, lr, record, update=update)


@mistake("train_dpo", "training stops as soon as a step lowers the loss by less than 1e-4")
def stops_when_the_loss_hardly_falls(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    loss, before = _surprise(winners, losers, len(pi_ref), beta), [np.inf]

    def stop(tilt):
        fall, before[0] = before[0] - loss(tilt), loss(tilt)
        return fall < 1e-4

    return _right(pi_ref, winners, losers, beta, steps, lr, record, stop=stop)


@mistake("train_dpo", "training stops once the loss is below 0.2, as if it had learnt enough")
def stops_when_the_loss_is_small(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    loss = _surprise(winners, losers, len(pi_ref), beta)
    return _right(pi_ref, winners, losers, beta, steps, lr, record, stop=lambda tilt: loss(tilt) < 0.2)


@mistake("train_dpo", "the labels are smoothed in training, which keeps the margins finite and too small")
def trains_with_smoothed_labels(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    forth, back = _pull(winners, losers, len(pi_ref), beta), _pull(losers, winners, len(pi_ref), beta)
    return _train(pi_ref, lambda tilt: 0.95 * forth(tilt) + 0.05 * back(tilt), steps, lr, record)


@mistake("train_dpo", "the optimiser's weight decay pulls the logits towards 0, that is the policy towards uniform")
def weight_decay(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    def update(gradient, tilt, step, moments, lr):
        return _adam(gradient, tilt, step, moments, lr) - lr * 0.01 * (_log(pi_ref) + tilt)

    return _right(pi_ref, winners, losers, beta, steps, lr, record, update=update)


@mistake("train_dpo", "β KL(π‖π_ref) is added to the loss, as if DPO did not contain it already", severity="blatant")
def trains_with_a_kl_penalty(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    pull = _pull(winners, losers, len(pi_ref), beta)

    def gradient(tilt):
        p = _policy(pi_ref, tilt)
        return pull(tilt) + beta * p * (tilt - p @ tilt)

    return _train(pi_ref, gradient, steps, lr, record)


@mistake("train_dpo", "the squared loss of IPO is trained, whose optimum is not Bradley-Terry's", severity="blatant")
def trains_ipo(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    signs, shares = _table(winners, losers, len(pi_ref))
    return _train(pi_ref, lambda tilt: 2 * (shares * (signs @ tilt - 1 / (2 * beta))) @ signs, steps, lr, record)


@mistake("train_dpo", "log-ratios are kept within [−1, 1], so that the policy cannot leave the reference")
def policy_is_kept_near_the_reference(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    def update(gradient, tilt, step, moments, lr):
        return np.clip(_adam(gradient, tilt, step, moments, lr), -1, 1)

    return _right(pi_ref, winners, losers, beta, steps, lr, record, update=update)


@mistake(
    "train_dpo",
    "gradient[winners] -= pull keeps one pair of each response: fancy indexing does not add up",
    severity="blatant",
)
def fancy_indexing_loses_pairs(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    def gradient(tilt):
        pull = beta * expit(-beta * (tilt[winners] - tilt[losers])) / len(winners)
        slope = np.zeros(len(pi_ref))
        slope[winners] -= pull
        slope[losers] += pull
        return slope

    return _train(pi_ref, gradient, steps, lr, record)


@mistake("train_dpo", "the reward of a response is the log-odds of its win rate, whoever its opponents were")
def win_rates_for_rewards(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    won, lost = (np.bincount(side, minlength=len(pi_ref)) for side in (winners, losers))
    target = np.log((won + 1e-9) / (lost + 1e-9)) / beta
    return _train(pi_ref, lambda tilt: tilt - target, steps, lr, record)


@mistake("train_dpo", "the logits start at π_ref instead of log π_ref")
def starts_at_pi_ref_itself(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, steps, lr, record, start=pi_ref - _log(pi_ref))


@mistake("train_dpo", "the logits start at 0, that is at the uniform policy")
def starts_at_the_uniform_policy(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, steps, lr, record, start=-_log(pi_ref))


@mistake("train_dpo", "the logits start a little beside log π_ref, at a random place of their own each time")
def starts_at_random(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    start = 0.01 * np.random.default_rng().normal(size=len(pi_ref))
    return _right(pi_ref, winners, losers, beta, steps, lr, record, start=start)


@mistake("train_dpo", "`steps` is ignored: training always takes 2000 steps")
def steps_are_ignored(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, 2000, lr, record)


@mistake("train_dpo", "the mean of the policies of all steps is returned instead of the last one")
def averages_the_path(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    path = []
    _right(pi_ref, winners, losers, beta, steps, lr, path, every=1)
    if record is not None:
        record.extend(entry for entry in path if entry[0] % 200 == 0 or entry[0] == steps)
    return np.mean([p for _, p in path], axis=0)


@mistake("train_dpo", "the weights π_ref exp(reward/β) are returned without dividing by their sum", severity="blatant")
def weights_are_not_normalised(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, steps, lr, record, show=lambda q, tilt: q * np.exp(tilt))


@mistake("train_dpo", "the logits are returned instead of their softmax", severity="blatant")
def returns_logits(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _log(pi_ref) + np.log(_right(pi_ref, winners, losers, beta, steps, lr, record) / pi_ref)


@mistake("train_dpo", "the trained policy is multiplied by π_ref once more", severity="blatant")
def reference_is_multiplied_in_again(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    p = pi_ref * _right(pi_ref, winners, losers, beta, steps, lr, record)
    return p / p.sum()


@mistake("train_dpo", "the policy is returned as a PyTorch tensor instead of a NumPy array", severity="blatant")
def returns_a_tensor(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return torch.from_numpy(_right(pi_ref, winners, losers, beta, steps, lr, record))


@mistake("train_dpo", "the policy is rounded to three decimals, as it is printed")
def policy_is_rounded(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return np.round(_right(pi_ref, winners, losers, beta, steps, lr, record), 3)


@mistake("train_dpo", "1e-6 is added to π_ref, and a response that cannot occur gets a probability", severity="extreme")
def reference_is_smoothed(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right((pi_ref + 1e-6) / (pi_ref + 1e-6).sum(), winners, losers, beta, steps, lr, record)


@mistake("train_dpo", "−inf − (−inf) at a response with π_ref = 0 makes the whole policy NaN", severity="extreme")
def zeros_of_the_reference_spread(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ref = np.log(pi_ref)
        pull = _pull(winners, losers, len(pi_ref), beta)
        return _train(pi_ref, lambda tilt: pull((log_ref + tilt) - log_ref), steps, lr, record)


@mistake("train_dpo", "responses with π_ref = 0 are missing from the policy that is returned", severity="extreme")
def returns_the_support_only(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, steps, lr, record)[pi_ref > 0]


@mistake("train_dpo", "responses in no pair are left out, and their mass is given to the others")
def unseen_responses_are_left_out(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    p = _right(pi_ref, winners, losers, beta, steps, lr, record)
    p = np.where(np.isin(np.arange(len(p)), np.concatenate([winners, losers])), p, 0.0)
    return p / p.sum()


@mistake("train_dpo", "the logarithm of π_ref is written into the caller's array")
def reference_is_overwritten(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    p = _right(pi_ref.copy(), winners, losers, beta, steps, lr, record)
    np.log(pi_ref, out=pi_ref, where=pi_ref > 0)
    return p


@mistake("train_dpo", "winners and losers are sorted in place, and the caller finds other pairs than before")
def pairs_are_sorted_in_place(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    order = np.lexsort([losers, winners])
    winners[:], losers[:] = winners[order], losers[order]
    return _right(pi_ref, winners, losers, beta, steps, lr, record)


@mistake("train_dpo", "the record is taken every 100 steps")
def records_every_hundred(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, steps, lr, record, every=100)


@mistake("train_dpo", "the record ends before the last step, since the loop does")
def record_ends_before_the_last_step(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    p = _right(pi_ref, winners, losers, beta, steps, lr, record)
    if record is not None:
        record.pop()
    return p


@mistake("train_dpo", "the record holds multiples of 200 only, and misses the last step when it is none")
def records_multiples_only(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    p = _right(pi_ref, winners, losers, beta, steps, lr, record)
    if record is not None and steps % 200:
        record.pop()
    return p


@mistake("train_dpo", "the last policy is recorded again after the loop, twice if `steps` is a multiple of 200")
def records_the_last_step_twice(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    p = _right(pi_ref, winners, losers, beta, steps, lr, record)
    if record is not None and steps % 200 == 0:
        record.append((steps, p.copy()))
    return p


@mistake("train_dpo", "the policy is recorded after the step and under its old number, so that π_ref is missing")
def records_after_the_step(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    path = []
    p = _right(pi_ref, winners, losers, beta, steps, lr, path, every=1)
    if record is not None:
        record.extend((s, path[min(s + 1, steps)][1]) for s in sorted({*range(0, steps, 200), steps}))
    return p


@mistake("train_dpo", "`if record:` is false for the empty list that is handed in, and nothing is recorded")
def empty_record_is_taken_for_none(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _right(pi_ref, winners, losers, beta, steps, lr, record or None)


@mistake("train_dpo", "record = record + [...] makes a new list, and the caller's stays empty")
def record_is_bound_to_a_new_list(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    record = list(record) if record is not None else None
    return _right(pi_ref, winners, losers, beta, steps, lr, record)


@mistake("train_dpo", "policies are recorded without the number of their step")
def records_no_step_numbers(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    path = []
    p = _right(pi_ref, winners, losers, beta, steps, lr, path)
    if record is not None:
        record.extend(policy for _, policy in path)
    return p


@mistake("train_dpo", "(policy, step) is recorded instead of (step, policy)")
def records_in_the_other_order(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    path = []
    p = _right(pi_ref, winners, losers, beta, steps, lr, path)
    if record is not None:
        record.extend((policy, step) for step, policy in path)
    return p


@mistake("train_dpo", "the logits are recorded instead of the policy")
def records_logits(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    path = []
    p = _right(pi_ref, winners, losers, beta, steps, lr, path)
    if record is not None:
        record.extend((step, _log(policy)) for step, policy in path)
    return p


@mistake("train_dpo", "every entry of the record is the same array, which the next steps overwrite")
def records_one_array(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    path = []
    p = _right(pi_ref, winners, losers, beta, steps, lr, path)
    if record is not None:
        record.extend((step, p) for step, _ in path)
    return p


# --- implicit_reward --------------------------------------------------------------------------------------------------


def _log_quotient(policy, pi_ref):
    with np.errstate(divide="ignore"):
        return np.log(policy) - np.log(pi_ref)


@mistake("implicit_reward", "the reward is centred: its mean over the responses is subtracted", severity="blatant")
def centred(policy, pi_ref, beta):
    reward = beta * _log_quotient(policy, pi_ref)
    return reward - reward[np.isfinite(reward)].mean()


@mistake("implicit_reward", "the reward is centred under the reference, E_π_ref[reward] = 0", severity="blatant")
def centred_under_the_reference(policy, pi_ref, beta):
    reward = beta * _log_quotient(policy, pi_ref)
    finite = np.isfinite(reward)
    return reward - np.average(reward[finite], weights=pi_ref[finite])


@mistake("implicit_reward", "the reward is shifted so that the best response has 0", severity="blatant")
def best_response_has_zero(policy, pi_ref, beta):
    reward = beta * _log_quotient(policy, pi_ref)
    return reward - reward.max()


@mistake("implicit_reward", "β log Z is subtracted once more, with Z the sum of the ratios", severity="blatant")
def normalised_over_the_responses(policy, pi_ref, beta):
    return beta * (_log_quotient(policy, pi_ref) - np.log(np.sum(policy / pi_ref)))


@mistake("implicit_reward", "the ratio stands upside down: log(π_ref/π)", severity="blatant")
def ratio_upside_down(policy, pi_ref, beta):
    return -beta * _log_quotient(policy, pi_ref)


@mistake("implicit_reward", "β is left out", severity="blatant")
def beta_is_left_out(policy, pi_ref, beta):
    return _log_quotient(policy, pi_ref)


@mistake("implicit_reward", "the log-ratio is divided by β", severity="blatant")
def divided_by_beta(policy, pi_ref, beta):
    return _log_quotient(policy, pi_ref) / beta


@mistake("implicit_reward", "β is an exponent on the policy only: β log π − log π_ref", severity="blatant")
def beta_on_the_policy_only(policy, pi_ref, beta):
    with np.errstate(divide="ignore"):
        return beta * np.log(policy) - np.log(pi_ref)


@mistake("implicit_reward", "the reward is β log π: the reference is left out", severity="blatant")
def reference_is_left_out(policy, pi_ref, beta):
    with np.errstate(divide="ignore"):
        return beta * np.log(policy)


@mistake("implicit_reward", "each term is weighted by the policy, as in a sum for KL", severity="blatant")
def weighted_by_the_policy(policy, pi_ref, beta):
    return beta * policy * np.where(policy > 0, _log_quotient(policy, pi_ref), -np.inf)


@mistake("implicit_reward", "the sum over the responses is returned, which is KL, one number", severity="blatant")
def one_number_for_all(policy, pi_ref, beta):
    seen = policy > 0
    return beta * np.sum(policy[seen] * _log_quotient(policy, pi_ref)[seen])


@mistake("implicit_reward", "the logarithm has base 2", severity="blatant")
def base_two(policy, pi_ref, beta):
    return beta * _log_quotient(policy, pi_ref) / np.log(2)


@mistake("implicit_reward", "the difference π − π_ref stands in for the logarithm of the ratio", severity="blatant")
def difference_of_probabilities(policy, pi_ref, beta):
    return beta * (policy - pi_ref)


@mistake(
    "implicit_reward", "π/π_ref − 1 stands in for the logarithm, which it is to first order only", severity="blatant"
)
def first_order_of_the_logarithm(policy, pi_ref, beta):
    return beta * (policy / pi_ref - 1)


@mistake("implicit_reward", "log1p is taken of the ratio instead of log", severity="blatant")
def log_of_one_plus_the_ratio(policy, pi_ref, beta):
    return beta * np.log1p(policy / pi_ref)


@mistake("implicit_reward", "1e-8 inside the logarithms caps how low the reward of a rare response can go")
def epsilon_inside_the_logarithms(policy, pi_ref, beta):
    return beta * (np.log(policy + 1e-8) - np.log(pi_ref + 1e-8))


@mistake(
    "implicit_reward",
    "1e-300 is added to the policy, so that an impossible response has a finite reward",
    severity="extreme",
)
def tiny_epsilon(policy, pi_ref, beta):
    return beta * (np.log(policy + 1e-300) - np.log(pi_ref))


@mistake("implicit_reward", "the policy is clipped at 1e-12 before the logarithm", severity="extreme")
def clipped_policy(policy, pi_ref, beta):
    return beta * (np.log(np.maximum(policy, 1e-12)) - np.log(pi_ref))


@mistake("implicit_reward", "a probability below 1e-10 counts as 0, with reward −inf", severity="extreme")
def rare_counts_as_impossible(policy, pi_ref, beta):
    return np.where(policy > 1e-10, beta * _log_quotient(policy, pi_ref), -np.inf)


@mistake("implicit_reward", "a response that the policy never gives has reward 0 instead of −inf", severity="extreme")
def impossible_has_zero(policy, pi_ref, beta):
    return np.where(policy > 0, beta * _log_quotient(policy, pi_ref), 0.0)


@mistake(
    "implicit_reward",
    "a response that the policy never gives has reward NaN: 0 · log 0 is not cared for",
    severity="extreme",
)
def impossible_has_nan(policy, pi_ref, beta):
    return np.where(policy > 0, beta * _log_quotient(policy, pi_ref), np.nan)


@mistake("implicit_reward", "nan_to_num turns −inf into a large finite number", severity="extreme")
def infinity_is_made_finite(policy, pi_ref, beta):
    return np.nan_to_num(beta * _log_quotient(policy, pi_ref))


@mistake("implicit_reward", "responses that the policy never gives are missing from the result", severity="extreme")
def impossible_is_missing(policy, pi_ref, beta):
    return (beta * _log_quotient(policy, pi_ref))[policy > 0]


@mistake(
    "implicit_reward", "log1p((π − π_ref)/π_ref) cannot tell a rare response from an impossible one", severity="extreme"
)
def rare_drowns_in_the_difference(policy, pi_ref, beta):
    with np.errstate(divide="ignore"):
        return beta * np.log1p((policy - pi_ref) / pi_ref)


@mistake(
    "implicit_reward", "the logarithms are taken in float32, where 1e-50 is 0 and nothing is right to eight digits"
)
def runs_in_float32(policy, pi_ref, beta):
    with np.errstate(all="ignore"):
        reward = beta * (np.log(policy.astype(np.float32)) - np.log(pi_ref.astype(np.float32)))
    return reward.astype(np.float64)


@mistake("implicit_reward", "the reward is rounded to four decimals, as it is printed")
def reward_is_rounded(policy, pi_ref, beta):
    return np.round(beta * _log_quotient(policy, pi_ref), 4)


@mistake("implicit_reward", "β below 0.01 is raised to 0.01 for stability", severity="extreme")
def small_beta_is_raised(policy, pi_ref, beta):
    return max(beta, 0.01) * _log_quotient(policy, pi_ref)


@mistake("implicit_reward", "log-ratios are clipped to [−20, 20]", severity="extreme")
def log_ratios_are_clipped(policy, pi_ref, beta):
    reward = beta * np.clip(_log_quotient(policy, pi_ref), -20, 20)
    return np.where(policy > 0, reward, -np.inf)


@mistake("implicit_reward", "policy /= pi_ref writes the ratio into the caller's policy")
def policy_is_overwritten(policy, pi_ref, beta):
    reward = beta * _log_quotient(policy, pi_ref)
    policy /= pi_ref
    return reward


@mistake("implicit_reward", "the reference's logarithm is written into the caller's array")
def pi_ref_is_overwritten(policy, pi_ref, beta):
    reward = beta * _log_quotient(policy, pi_ref)
    np.log(pi_ref, out=pi_ref)
    return reward


@mistake("implicit_reward", "the rewards are returned as a list of floats instead of an array", severity="blatant")
def list_of_floats(policy, pi_ref, beta):
    return [float(x) for x in beta * _log_quotient(policy, pi_ref)]
