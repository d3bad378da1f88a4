"""Mistakes in the REINFORCE loss and in training with it.

Notation: R = r - beta (log pi - log pi_ref), the reward with the KL penalty; share = n_k / B, what part of a batch is
response k; advantage = R - Rbar.
"""

from types import SimpleNamespace

import numpy as np
import torch
from scipy.special import softmax

from harness.variants import mistake


def _drawn(logits, y, r, log_ref, beta):
    """(log pi, R) of the responses drawn; R is a constant to the gradient."""
    log_pi = torch.log_softmax(logits, dim=0)[y]
    return log_pi, (r[y] - beta * (log_pi - log_ref[y])).detach()


def _surrogate(advantage, log_pi):
    return -(advantage * log_pi).mean()


# --- reinforce_loss: the penalised reward


@mistake("reinforce_loss", "The KL penalty has the sign of a bonus: leaving π_ref is rewarded.", severity="blatant")
def penalty_is_a_bonus(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, -beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The penalty is β log π alone, an entropy bonus that knows no π_ref.", severity="blatant")
def penalty_without_reference(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, torch.zeros_like(log_ref), beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "log π is compared with π_ref itself, not with its logarithm.")
def compares_log_probability_with_probability(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref.exp(), beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The penalty is divided by β instead of multiplied.", severity="blatant")
def penalty_over_beta(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, 1.0 / beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "β multiplies the reward instead of the penalty.", severity="blatant")
def beta_on_the_reward(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, beta * r, log_ref, 1.0)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The whole of R is divided by β, which keeps the optimum and rescales the gradient.")
def reward_divided_by_beta(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r / beta, log_ref, 1.0)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "β is left out, so the penalty always has weight 1.", severity="blatant")
def beta_forgotten(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, 1.0)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "There is no KL penalty at all.", severity="blatant")
def no_penalty(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, 0.0)
    return _surrogate(R - R.mean(), log_pi)


@mistake(
    "reinforce_loss",
    "The penalty is the size of the log-ratio, |log π − log π_ref|, without its sign.",
)
def penalty_is_absolute(logits, y, r, log_ref, beta):
    log_pi, _ = _drawn(logits, y, r, log_ref, beta)
    R = (r[y] - beta * (log_pi - log_ref[y]).abs()).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "A negative log-ratio is cut off at 0 because a KL divergence cannot be negative.")
def penalty_cut_off_at_zero(logits, y, r, log_ref, beta):
    log_pi, _ = _drawn(logits, y, r, log_ref, beta)
    R = (r[y] - beta * (log_pi - log_ref[y]).clamp(min=0.0)).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The penalty is measured in bits instead of nats.")
def penalty_in_bits(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta / np.log(2.0))
    return _surrogate(R - R.mean(), log_pi)


@mistake(
    "reinforce_loss",
    "Every draw is charged the batch's mean log-ratio, which the baseline takes out again.",
)
def penalty_averaged_over_the_batch(logits, y, r, log_ref, beta):
    log_pi, _ = _drawn(logits, y, r, log_ref, beta)
    R = (r[y] - beta * (log_pi - log_ref[y]).mean()).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake(
    "reinforce_loss",
    "The penalty is the KL of the whole policy, the same for all draws, and cancels in the advantage.",
)
def exact_kl_as_a_constant(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r[y] - beta * (log_pi.exp() * (log_pi - log_ref)).sum()).detach()
    return _surrogate(R - R.mean(), log_pi[y])


@mistake("reinforce_loss", "Log-ratios are clamped to ±20 for stability.", severity="extreme")
def penalty_clamped(logits, y, r, log_ref, beta):
    log_pi, _ = _drawn(logits, y, r, log_ref, beta)
    R = (r[y] - beta * (log_pi - log_ref[y]).clamp(-20.0, 20.0)).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "Rewards are clipped to [−1, 1], as in the training of game players.", severity="blatant")
def reward_clipped(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r.clamp(-1.0, 1.0), log_ref, beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake(
    "reinforce_loss", "r is used as if it held the reward of each draw, not that of each response.", severity="blatant"
)
def rewards_not_indexed(logits, y, r, log_ref, beta):
    log_pi, _ = _drawn(logits, y, r, log_ref, beta)
    R = (r - beta * (log_pi - log_ref[y])).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "log_ref is indexed by the place in the batch instead of by the response drawn.")
def reference_not_indexed(logits, y, r, log_ref, beta):
    log_pi, _ = _drawn(logits, y, r, log_ref, beta)
    R = (r[y] - beta * (log_pi - log_ref[torch.arange(len(y)) % len(log_ref)])).detach()
    return _surrogate(R - R.mean(), log_pi)


# --- reinforce_loss: what is differentiated


@mistake("reinforce_loss", "R is not detached, so the gradient also runs through the penalty inside the reward.")
def reward_not_detached(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    R = r[y] - beta * (log_pi - log_ref[y])
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The reward is detached, but the baseline still carries the gradient of its KL penalty.")
def baseline_not_detached(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    R = r[y] - beta * (log_pi - log_ref[y])
    return _surrogate(R.detach() - R.mean(), log_pi)


@mistake(
    "reinforce_loss",
    "The log-probability is detached and the reward is not: only the penalty is differentiated.",
    severity="blatant",
)
def log_probability_detached(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    R = r[y] - beta * (log_pi - log_ref[y])
    return _surrogate(R - R.mean(), log_pi.detach())


@mistake(
    "reinforce_loss",
    "The loss is minus the mean reward, with nothing that differentiates the sampling.",
    severity="blatant",
)
def mean_reward_without_score(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    return -(r[y] - beta * (log_pi - log_ref[y])).mean()


@mistake(
    "reinforce_loss",
    "The sign is that of a return: going down the loss makes good responses rarer.",
    severity="blatant",
)
def sign_of_a_return(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return ((R - R.mean()) * log_pi).mean()


@mistake("reinforce_loss", "The advantage weighs the probability π(y) instead of its logarithm.", severity="blatant")
def probability_instead_of_logarithm(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - R.mean(), log_pi.exp())


@mistake(
    "reinforce_loss",
    "Each draw is weighted by its probability, although it was drawn with that probability already.",
    severity="blatant",
)
def weighted_by_probability_again(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(log_pi.exp().detach() * (R - R.mean()), log_pi)


@mistake(
    "reinforce_loss",
    "Draws are importance-weighted by π/π_ref, as if they came from the reference policy.",
    severity="blatant",
)
def importance_weights_of_the_reference(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return -((log_pi - log_ref[y]).exp() * (R - R.mean())).mean()


@mistake("reinforce_loss", "PPO's clipped ratio is taken to π_ref instead of to the policy that drew the batch.")
def clipped_ratio_to_the_reference(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    advantage, ratio = R - R.mean(), (log_pi - log_ref[y]).exp()
    return -torch.minimum(advantage * ratio, advantage * ratio.clamp(0.8, 1.2)).mean()


@mistake("reinforce_loss", "The exact policy gradient over all K responses replaces the estimate from the batch.")
def exact_gradient_without_the_batch(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r - beta * (log_pi - log_ref)).detach()
    return -(log_pi.exp() * R).sum()


@mistake(
    "reinforce_loss", "The KL goes into the loss as the batch mean of the log-ratio, whose expected gradient is 0."
)
def mean_log_ratio_in_the_loss(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, 0.0)
    return _surrogate(R - R.mean(), log_pi) + beta * (log_pi - log_ref[y]).mean()


@mistake(
    "reinforce_loss",
    "Half the squared log-ratio stands in the loss: right on average, and never at rest at π*.",
)
def squared_log_ratio_in_the_loss(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, 0.0)
    return _surrogate(R - R.mean(), log_pi) + 0.5 * beta * (log_pi - log_ref[y]).square().mean()


@mistake(
    "reinforce_loss",
    "The estimator ratio − 1 − log ratio stands in the loss; its gradient is that of KL(π_ref‖π).",
)
def nonnegative_estimator_in_the_loss(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, 0.0)
    log_ratio = log_ref[y] - log_pi
    return _surrogate(R - R.mean(), log_pi) + beta * (log_ratio.exp() - 1.0 - log_ratio).mean()


@mistake(
    "reinforce_loss",
    "The KL of the whole policy is differentiated beside the sampled reward instead of being part of R.",
)
def exact_kl_in_the_loss(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    return _surrogate(r[y] - r[y].mean(), log_pi[y]) + beta * (log_pi.exp() * (log_pi - log_ref)).sum()


@mistake("reinforce_loss", "The penalty is that of KL(π_ref‖π), the divergence the other way round.")
def reverse_divergence(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    q = log_ref.softmax(dim=0)
    return _surrogate(r[y] - r[y].mean(), log_pi[y]) + beta * (q * (log_ref - log_pi)).sum()


@mistake("reinforce_loss", "The KL is charged twice: inside the reward and once more as a term of the loss.")
def penalty_charged_twice(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r[y] - beta * (log_pi[y] - log_ref[y])).detach()
    return _surrogate(R - R.mean(), log_pi[y]) + beta * (log_pi.exp() * (log_pi - log_ref)).sum()


@mistake("reinforce_loss", "An entropy bonus of weight 0.01 is added to the loss, as training recipes do.")
def small_entropy_bonus(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r[y] - beta * (log_pi[y] - log_ref[y])).detach()
    return _surrogate(R - R.mean(), log_pi[y]) + 0.01 * (log_pi.exp() * log_pi).sum()


# --- reinforce_loss: the baseline and the batch


@mistake("reinforce_loss", "There is no baseline.")
def no_baseline(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R, log_pi)


@mistake("reinforce_loss", "The baseline is the mean of r alone, while the penalty stays uncentred.")
def baseline_of_the_reward_alone(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - r[y].mean(), log_pi)


@mistake("reinforce_loss", "The baseline is the plain mean of R over all K responses instead of over the batch.")
def baseline_over_all_responses(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r - beta * (log_pi - log_ref)).detach()
    return _surrogate(R[y] - R.mean(), log_pi[y])


@mistake("reinforce_loss", "The baseline is the exact expectation of R under π instead of the mean of the batch.")
def baseline_is_the_expectation(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r - beta * (log_pi - log_ref)).detach()
    return _surrogate(R[y] - (log_pi.detach().exp() * R).sum(), log_pi[y])


@mistake("reinforce_loss", "The baseline is the median of the batch.")
def baseline_is_the_median(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - R.median(), log_pi)


@mistake(
    "reinforce_loss", "Each draw's baseline is the mean of the other draws, which lengthens the gradient by B/(B − 1)."
)
def baseline_leaves_one_out(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - (R.sum() - R) / (len(y) - 1), log_pi)


@mistake(
    "reinforce_loss", "The baseline is the mean over the distinct responses of the batch, however often each was drawn."
)
def baseline_over_distinct_responses(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    _, distinct = _drawn(logits, y.unique(), r, log_ref, beta)
    return _surrogate(R - distinct.mean(), log_pi)


_running = SimpleNamespace(mean=0.0)


@mistake("reinforce_loss", "The baseline is a running mean that is kept from one call to the next.")
def running_baseline(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    _running.mean = 0.9 * _running.mean + 0.1 * R.mean()
    return _surrogate(R - _running.mean, log_pi)


@mistake("reinforce_loss", "Advantages are divided by their standard deviation.")
def advantages_standardised(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate((R - R.mean()) / (R.std() + 1e-8), log_pi)


@mistake("reinforce_loss", "Advantages are divided by their standard deviation wherever it is above 1.")
def large_advantages_scaled_down(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate((R - R.mean()) / R.std(correction=0).clamp(min=1.0), log_pi)


@mistake("reinforce_loss", "Advantages are clipped to [−10, 10].")
def advantages_clipped(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate((R - R.mean()).clamp(-10.0, 10.0), log_pi)


@mistake("reinforce_loss", "The batch is summed instead of averaged, so the gradient grows with it.")
def sum_over_the_batch(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return -((R - R.mean()) * log_pi).sum()


@mistake(
    "reinforce_loss", "The sum over the batch is divided by the number of responses K instead of by the batch size B."
)
def divided_by_the_number_of_responses(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return -((R - R.mean()) * log_pi).sum() / len(logits)


@mistake("reinforce_loss", "Each distinct response is used once, so how often it was drawn is lost.")
def distinct_responses_only(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y.unique(), r, log_ref, beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The counts end at the last response drawn, so they do not fit the K log-probabilities.")
def counts_end_at_the_last_drawn(logits, y, r, log_ref, beta):
    share = torch.bincount(y) / len(y)
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r - beta * (log_pi - log_ref)).detach()
    return -(share * (R - (share * R).sum()) * log_pi).sum()


@mistake(
    "reinforce_loss",
    "The mean advantage, 0, multiplies the mean log-probability: a product of means.",
    severity="blatant",
)
def product_of_means(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return -(R - R.mean()).mean() * log_pi.mean()


@mistake(
    "reinforce_loss",
    "Advantages are class weights of cross_entropy, which divides by their sum over the batch, 0.",
    severity="blatant",
)
def advantages_as_class_weights(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)
    R = (r - beta * (log_pi - log_ref)).detach()
    batch = logits.expand(len(y), -1)
    return torch.nn.functional.cross_entropy(batch, y, weight=R - R[y].mean())


@mistake(
    "reinforce_loss",
    "The batch is read as one episode: each draw is credited with the rewards that come after it.",
    severity="blatant",
)
def rewards_to_go(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    to_go = (R - R.mean()).flip(0).cumsum(0).flip(0)
    return _surrogate(to_go, log_pi)


@mistake(
    "reinforce_loss", "One loss for each draw is returned; the mean over the batch is missing.", severity="blatant"
)
def one_loss_for_each_draw(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return -(R - R.mean()) * log_pi


@mistake("reinforce_loss", "At β = 0 a shortcut returns plain REINFORCE without its baseline.", severity="extreme")
def no_baseline_without_penalty(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - R.mean() if beta else R, log_pi)


@mistake(
    "reinforce_loss",
    "Half the batch variance of R is divided by β: right for β > 0, and 0/0 at β = 0.",
    severity="extreme",
)
def variance_over_beta(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    R = r[y] - beta * (log_pi - log_ref[y])
    return 0.5 * R.var(correction=0) / beta


@mistake(
    "reinforce_loss",
    "Half the variance of R is the loss, not divided by β and with B − 1 for B.",
)
def variance_as_the_loss(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    R = r[y] - beta * (log_pi - log_ref[y])
    return 0.5 * R.var()


# --- reinforce_loss: numbers


@mistake(
    "reinforce_loss",
    "softmax comes first and its logarithm second, which is −∞ where the probability underflows.",
    severity="extreme",
)
def logarithm_of_softmax(logits, y, r, log_ref, beta):
    log_pi = logits.softmax(dim=0).log()[y]
    R = (r[y] - beta * (log_pi - log_ref[y])).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "1e-8 is added to the probabilities before their logarithm.", severity="extreme")
def logarithm_with_epsilon(logits, y, r, log_ref, beta):
    log_pi = (logits.softmax(dim=0) + 1e-8).log()[y]
    R = (r[y] - beta * (log_pi - log_ref[y])).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake(
    "reinforce_loss",
    "Logits are exponentiated without subtracting their maximum, which overflows above 709.",
    severity="extreme",
)
def exponentials_overflow(logits, y, r, log_ref, beta):
    log_pi = (logits - logits.exp().sum().log())[y]
    R = (r[y] - beta * (log_pi - log_ref[y])).detach()
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "Everything is cast to float32, which leaves seven digits.")
def single_precision(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits.float(), y, r.float(), log_ref.float(), beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake(
    "reinforce_loss", "The logits are taken for probabilities and passed through softmax twice.", severity="blatant"
)
def softmax_twice(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits.softmax(dim=0), y, r, log_ref, beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "Logits are clamped to ±50 before the softmax.", severity="extreme")
def logits_clamped(logits, y, r, log_ref, beta):
    log_pi, R = _drawn(logits.clamp(-50.0, 50.0), y, r, log_ref, beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The mean of all K rewards is subtracted from the caller's r in place.")
def centres_rewards_in_place(logits, y, r, log_ref, beta):
    r -= r.mean()
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - R.mean(), log_pi)


@mistake("reinforce_loss", "The batch is sorted in place, so that the caller's draws come back in another order.")
def sorts_the_batch_in_place(logits, y, r, log_ref, beta):
    y.copy_(y.sort().values)
    log_pi, R = _drawn(logits, y, r, log_ref, beta)
    return _surrogate(R - R.mean(), log_pi)


# --- train_rlhf_pg: one trainer, in which each mistake changes one piece


def _log_softmax(z):
    z = z - z.max()
    return z - np.log(np.exp(z).sum())


def _reinforce(log_pi, log_ref, r, beta, share):
    """The gradient of the loss in the logits, from the shares of a batch."""
    R = r - beta * (log_pi - log_ref)
    return -share * (R - share @ R)


def _score_gradient(log_pi, share, advantage):
    """The same for advantages that need not sum to 0 over the batch."""
    pushed = share * advantage
    return np.exp(log_pi) * pushed.sum() - pushed


def _shares(pi, batch, rng):
    """(K,) what part of a new batch each response is."""
    cumulative = pi.cumsum()
    y = cumulative.searchsorted(rng.random(batch) * cumulative[-1], side="right")
    return np.bincount(y, minlength=len(pi)) / batch


def _adam(lr, penalty=0.0):
    """One step of Adam on logits. penalty: weight of half their squares in the loss."""
    state = SimpleNamespace(mean=0.0, square=0.0, steps=0)

    def step(z, g):
        state.steps += 1
        g = g + penalty * z
        state.mean = 0.9 * state.mean + 0.1 * g
        state.square = 0.999 * state.square + 0.001 * g * g
        mean, square = state.mean / (1 - 0.9**state.steps), state.square / (1 - 0.999**state.steps)
        return z - lr * mean / (np.sqrt(square) + 1e-8)

    return step


def _train(
    r, pi_ref, beta, steps, batch, lr, seed, slope=_reinforce, start=np.log, shares=_shares, step=None, rng=None
):
    r, pi_ref = np.asarray(r, dtype=np.float64), np.asarray(pi_ref, dtype=np.float64)
    said = pi_ref > 0
    rng, step = rng or np.random.default_rng(seed), step or _adam(lr)
    log_ref, z = np.log(pi_ref[said]), start(pi_ref[said])
    for _ in range(steps):
        log_pi = _log_softmax(z)
        z = step(z, slope(log_pi, log_ref, r[said], beta, shares(np.exp(log_pi), batch, rng)))
    policy = np.zeros(len(pi_ref))
    policy[said] = np.exp(_log_softmax(z))
    return policy


# --- train_rlhf_pg: the objective


@mistake("train_rlhf_pg", "Training goes up the loss.", severity="blatant")
def climbs_the_loss(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, -lr, seed)


@mistake(
    "train_rlhf_pg", "Training maximises the reward alone and collapses onto the best response.", severity="blatant"
)
def trains_without_penalty(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, 0.0, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "The penalty is added to the reward, so training runs away from π_ref.", severity="blatant")
def trains_away_from_the_reference(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, -beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "The penalty has weight 1 whatever β is.")
def trains_with_weight_one(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, 1.0, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "The penalty has weight 1/β, so a small β holds the policy tighter.")
def trains_with_inverse_beta(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, 1.0 / beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "β scales the reward while the penalty has weight 1.")
def trains_on_scaled_reward(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(beta * np.asarray(r), pi_ref, 1.0, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "β weighs the penalty twice: once inside the log-ratio and once outside.")
def trains_with_beta_squared(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta**2, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "β is annealed to 0 over the steps, so the last ones pull without any penalty.")
def anneals_beta(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    remaining = iter(np.linspace(1.0, 0.0, steps))

    def slope(log_pi, log_ref, r, beta, share):
        return _reinforce(log_pi, log_ref, r, beta * next(remaining), share)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake(
    "train_rlhf_pg", "The reward is not detached: training ends at π_ref^½ exp(r / 2β) instead of π_ref exp(r / β)."
)
def trains_through_the_penalty(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _reinforce(log_pi, log_ref, r, beta, share) + beta * share * (log_pi - share @ log_pi)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "An entropy bonus β H(π) takes the place of the KL: training ends at softmax(r / β).")
def trains_with_entropy_bonus(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _reinforce(log_pi, np.zeros_like(log_ref), r, beta, share)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake(
    "train_rlhf_pg", "The reference is recomputed from the current policy in every step, so the log-ratio is always 0."
)
def reference_moves_along(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _reinforce(log_pi, log_pi, r, beta, share)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "The reference is a copy of the policy that is renewed every 100 steps.")
def reference_is_renewed(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    kept = SimpleNamespace(log_ref=None, steps=0)

    def slope(log_pi, log_ref, r, beta, share):
        if kept.steps % 100 == 0:
            kept.log_ref = log_pi
        kept.steps += 1
        return _reinforce(log_pi, kept.log_ref, r, beta, share)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake(
    "train_rlhf_pg", "The penalty is the mean log-ratio of the batch as a term of the loss, where it has no effect."
)
def penalty_without_effect(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _reinforce(log_pi, log_ref, r, 0.0, share) + beta * (share - np.exp(log_pi))

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "The penalty is KL(π_ref‖π): mass stays on everything that π_ref says, however bad it is.")
def trains_with_reverse_divergence(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _reinforce(log_pi, log_ref, r, 0.0, share) + beta * (np.exp(log_pi) - np.exp(log_ref))

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "Rewards are clipped to [−1, 1] before training.", severity="blatant")
def trains_on_clipped_rewards(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(np.clip(r, -1.0, 1.0), pi_ref, beta, steps, batch, lr, seed)


@mistake(
    "train_rlhf_pg", "Rewards are standardised over the responses before training, which changes β by their spread."
)
def trains_on_standardised_rewards(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    r = np.asarray(r, dtype=np.float64)
    return _train((r - r.mean()) / (r.std() + 1e-8), pi_ref, beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "Rewards are standardised within each batch, while the penalty keeps its scale.")
def standardises_rewards_in_the_batch(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        mean = share @ r
        spread = np.sqrt(share @ (r - mean) ** 2)
        return _reinforce(log_pi, log_ref, (r - mean) / (spread + 1e-8), beta, share)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "An entropy bonus of weight 0.05 is added to the objective to keep exploring.")
def keeps_exploring(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        pi = np.exp(log_pi)
        return _reinforce(log_pi, log_ref, r, beta, share) + 0.05 * pi * (log_pi - pi @ log_pi)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


# --- train_rlhf_pg: the baseline


@mistake("train_rlhf_pg", "There is no baseline, so the policy hovers around π* instead of settling there.")
def trains_without_baseline(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _score_gradient(log_pi, share, r - beta * (log_pi - log_ref))

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "The baseline is the mean reward of π_ref, computed once before training.")
def baseline_of_the_reference(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _score_gradient(log_pi, share, r - beta * (log_pi - log_ref) - np.exp(log_ref) @ r)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "The baseline averages the rewards of the batch without their penalties.")
def baseline_without_the_penalty(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        return _score_gradient(log_pi, share, r - beta * (log_pi - log_ref) - share @ r)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake(
    "train_rlhf_pg", "PPO's ratio is taken to π_ref and clipped at 1 ± 0.2, so the policy cannot go farther than that."
)
def clips_the_ratio_to_the_reference(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        R, ratio = r - beta * (log_pi - log_ref), np.exp(log_pi - log_ref)
        advantage = R - share @ R
        free = np.where(advantage > 0, ratio < 1.2, ratio > 0.8)
        return _score_gradient(log_pi, share, free * ratio * advantage)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


# --- train_rlhf_pg: the start, the steps and the optimiser


@mistake("train_rlhf_pg", "Training starts at equal logits, the uniform policy.")
def starts_uniform(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed, start=np.zeros_like)


@mistake("train_rlhf_pg", "Training starts at logits π_ref, not at log π_ref.")
def starts_at_probabilities(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed, start=np.copy)


@mistake("train_rlhf_pg", "Training starts at random logits, as a network would.")
def starts_at_random(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return _train(r, pi_ref, beta, steps, batch, lr, seed, start=lambda q: rng.standard_normal(len(q)), rng=rng)


@mistake("train_rlhf_pg", "Training starts at π_ref with a little noise on its logits to break symmetry.")
def starts_beside_the_reference(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return _train(r, pi_ref, beta, steps, batch, lr, seed, start=lambda q: np.log(q) + 0.01 * rng.random(len(q)))


@mistake("train_rlhf_pg", "The closed form is returned, without any training.")
def returns_the_closed_form(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    with np.errstate(divide="ignore"):
        return softmax(np.log(pi_ref) + np.asarray(r) / beta)


@mistake(
    "train_rlhf_pg", "π_ref comes back: the optimiser holds a copy of the logits that are used.", severity="blatant"
)
def trains_a_copy_of_the_logits(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, 0, batch, lr, seed)


@mistake("train_rlhf_pg", "The number of steps is fixed at 3,000, whatever is asked for.")
def ignores_steps(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, 3000, batch, lr, seed)


@mistake("train_rlhf_pg", "steps counts responses, so only steps / batch updates are made.")
def counts_responses_as_steps(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps // batch, batch, lr, seed)


@mistake("train_rlhf_pg", "Training stops once the KL from π_ref is above 0.5 nats.")
def stops_at_a_divergence(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def slope(log_pi, log_ref, r, beta, share):
        near = np.exp(log_pi) @ (log_pi - log_ref) < 0.5
        return near * _reinforce(log_pi, log_ref, r, beta, share)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, slope)


@mistake("train_rlhf_pg", "The policy that is returned is the average over all steps, the first ones included.")
def returns_the_average_policy(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    seen = []

    def shares(pi, batch, rng):
        seen.append(pi)
        return _shares(pi, batch, rng)

    policy = _train(r, pi_ref, beta, steps, batch, lr, seed, shares=shares)
    if seen:
        policy[np.asarray(pi_ref) > 0] = np.mean(seen, axis=0)
    return policy


@mistake(
    "train_rlhf_pg", "Plain gradient descent with a tenth of lr has not arrived after the steps that are promised."
)
def plain_descent(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed, step=lambda z, g: z - 0.1 * lr * g)


@mistake("train_rlhf_pg", "The step size falls like lr / t and runs out before the optimum is reached.")
def step_size_runs_out(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    count = iter(range(1, steps + 1))
    return _train(r, pi_ref, beta, steps, batch, lr, seed, step=lambda z, g: z - lr / next(count) * g)


@mistake("train_rlhf_pg", "Gradients are not reset between steps, so each step follows the sum of all so far.")
def gradients_pile_up(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    pile, adam = SimpleNamespace(gradient=0.0), _adam(lr)

    def step(z, g):
        pile.gradient = pile.gradient + g
        return adam(z, pile.gradient)

    return _train(r, pi_ref, beta, steps, batch, lr, seed, step=step)


@mistake("train_rlhf_pg", "A squared penalty of weight 0.01 on the logits pulls the policy to the uniform one.")
def penalises_logits(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed, step=_adam(lr, penalty=0.01))


# --- train_rlhf_pg: the draws


@mistake("train_rlhf_pg", "One batch is drawn from π_ref before the loop and used in all steps.")
def one_batch_for_all_steps(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    drawn = []

    def shares(pi, batch, rng):
        if not drawn:
            drawn.append(_shares(pi, batch, rng))
        return drawn[0]

    return _train(r, pi_ref, beta, steps, batch, lr, seed, shares=shares)


@mistake("train_rlhf_pg", "The generator is seeded again in every step, so every batch uses the same random numbers.")
def seeds_in_every_step(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def shares(pi, batch, rng):
        return _shares(pi, batch, np.random.default_rng(seed))

    return _train(r, pi_ref, beta, steps, batch, lr, seed, shares=shares)


@mistake(
    "train_rlhf_pg",
    "The likeliest response is taken instead of a draw, so no batch has an advantage.",
    severity="blatant",
)
def takes_the_likeliest_response(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    def shares(pi, batch, rng):
        return np.eye(len(pi))[pi.argmax()]

    return _train(r, pi_ref, beta, steps, batch, lr, seed, shares=shares)


@mistake(
    "train_rlhf_pg", "Each step draws one response, whose advantage over its own mean is always 0.", severity="blatant"
)
def one_response_a_step(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, 1, lr, seed)


@mistake(
    "train_rlhf_pg",
    "multinomial is called without replacement, which cannot draw a batch larger than K.",
    severity="blatant",
)
def draws_without_replacement(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def shares(pi, batch, rng):
        y = torch.multinomial(torch.as_tensor(pi), batch, generator=generator)
        return np.bincount(y, minlength=len(pi)) / batch

    return _train(r, pi_ref, beta, steps, batch, lr, seed, shares=shares)


@mistake("train_rlhf_pg", "The seed is not used: each call draws from a fresh generator of its own.")
def never_seeds(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed, rng=np.random.default_rng())


@mistake("train_rlhf_pg", "Training with seed 0 counts as training without a seed.", severity="extreme")
def training_without_seed_zero(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed or None)


@mistake("train_rlhf_pg", "torch is seeded, but the batches are drawn from NumPy's global generator.")
def seeds_another_generator(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    torch.manual_seed(seed)
    return _train(r, pi_ref, beta, steps, batch, lr, seed, rng=np.random.RandomState(np.random.randint(2**31)))


_generator = np.random.default_rng(0)


@mistake("train_rlhf_pg", "One generator, made when the module is imported, serves all calls.")
def shares_a_generator_between_calls(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed, rng=_generator)


_last_policy = {}


@mistake("train_rlhf_pg", "Training goes on from where the last call with as many responses ended.")
def goes_on_from_the_last_call(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    start = _last_policy.get(len(r), pi_ref)
    said = np.asarray(pi_ref) > 0
    _last_policy[len(r)] = policy = _train(
        r, pi_ref, beta, steps, batch, lr, seed, start=lambda q: np.log(np.maximum(start[said], 1e-300))
    )
    return policy


# --- train_rlhf_pg: zeros, shapes, types and the caller's arrays


@mistake("train_rlhf_pg", "All K responses are trained, and −∞ − (−∞) is NaN where π_ref is 0.", severity="extreme")
def trains_impossible_responses(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ref = np.log(pi_ref)
        z, step, rng = log_ref.copy(), _adam(lr), np.random.default_rng(seed)
        for _ in range(steps):
            log_pi = _log_softmax(z)
            z = step(z, _reinforce(log_pi, log_ref, np.asarray(r), beta, _shares(np.exp(log_pi), batch, rng)))
        return np.exp(_log_softmax(z))


@mistake("train_rlhf_pg", "1e-8 is added to π_ref inside the logarithm, so nothing is impossible.", severity="extreme")
def epsilon_inside_the_logarithm(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, np.asarray(pi_ref) + 1e-8, beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "Zeros of π_ref are lifted to 1e-3, where a good response gets found.", severity="extreme")
def lifts_zeros(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, np.maximum(pi_ref, 1e-3), beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "Responses that π_ref never says are missing from the policy returned.", severity="extreme")
def leaves_out_impossible_responses(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return _train(r, pi_ref, beta, steps, batch, lr, seed)[np.asarray(pi_ref) > 0]


@mistake("train_rlhf_pg", "Probabilities of the possible responses come first and the zeros last.", severity="extreme")
def moves_zeros_to_the_end(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    policy, said = _train(r, pi_ref, beta, steps, batch, lr, seed), np.asarray(pi_ref) > 0
    return np.concatenate([policy[said], policy[~said]])


@mistake(
    "train_rlhf_pg", "The policy is squeezed, so that K = 1 gives a number instead of an array.", severity="extreme"
)
def squeezes_the_policy(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return np.squeeze(_train(r, pi_ref, beta, steps, batch, lr, seed))


@mistake(
    "train_rlhf_pg", "The policy is written into an array of the type of r, which truncates it for integer rewards."
)
def policy_in_the_type_of_rewards(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    policy = np.zeros_like(r)
    policy[:] = _train(r, pi_ref, beta, steps, batch, lr, seed)
    return policy


@mistake("train_rlhf_pg", "Integer rewards become an integer tensor, whose mean torch refuses to compute.")
def mean_of_an_integer_tensor(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rewards = torch.tensor(np.asarray(r))
    return _train((rewards - rewards.mean()).numpy(), pi_ref, beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "Probabilities are rounded to three digits.")
def rounds_the_policy(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return np.round(_train(r, pi_ref, beta, steps, batch, lr, seed), 3)


@mistake("train_rlhf_pg", "The logits are returned instead of the policy.", severity="blatant")
def returns_logits(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    with np.errstate(divide="ignore"):
        return np.log(_train(r, pi_ref, beta, steps, batch, lr, seed))


@mistake("train_rlhf_pg", "A tensor is returned instead of a NumPy array.", severity="blatant")
def returns_a_tensor(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    return torch.as_tensor(_train(r, pi_ref, beta, steps, batch, lr, seed))


@mistake("train_rlhf_pg", "The caller's rewards are centred in place before training.")
def centres_rewards_of_the_caller(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    if np.asarray(r).dtype.kind == "f":
        r -= r.mean()
    return _train(r, pi_ref, beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "The logits share their memory with π_ref, whose logarithm is taken in place.")
def overwrites_the_reference(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    logits = torch.from_numpy(pi_ref).log_()
    return _train(r, logits.exp().numpy(), beta, steps, batch, lr, seed)


@mistake("train_rlhf_pg", "Zeros of the caller's π_ref are overwritten with 1e-12 before training.", severity="extreme")
def fills_zeros_of_the_caller(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    said = pi_ref > 0
    policy = _train(r, pi_ref, beta, steps, batch, lr, seed)
    pi_ref[~said] = 1e-12
    return policy
