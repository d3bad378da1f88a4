"""Right answers to policy_gradient.py, each by another way to the same gradient or to the same optimum."""

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import log_softmax, softmax

from harness.variants import right_answer


@right_answer("reinforce_loss", "torch.distributions.Categorical gives the log-probabilities")
def categorical(logits, y, r, log_ref, beta):
    log_pi = torch.distributions.Categorical(logits=logits).log_prob(y)
    with torch.no_grad():
        R = r[y] - beta * (log_pi - log_ref[y])
    return -torch.mean((R - torch.mean(R)) * log_pi)


@right_answer("reinforce_loss", "cross_entropy without reduction is -log pi of each draw")
def cross_entropy(logits, y, r, log_ref, beta):
    surprise = F.cross_entropy(logits.expand(len(y), -1), y, reduction="none")
    R = r.detach()[y] + beta * (surprise.detach() + log_ref.detach()[y])
    return ((R - R.mean()) * surprise).mean()


@right_answer("reinforce_loss", "a weighted sum over the K responses, from their counts in the batch")
def counts(logits, y, r, log_ref, beta):
    log_pi = logits - torch.logsumexp(logits, dim=0)
    share = torch.bincount(y, minlength=len(logits)).to(logits.dtype) / len(y)
    R = (r - beta * (log_pi - log_ref)).detach()
    return -torch.dot(share * (R - torch.dot(share, R)), log_pi)


@right_answer("reinforce_loss", "raw logits stand for log pi: their normaliser cancels, because advantages sum to 0")
def raw_logits(logits, y, r, log_ref, beta):
    with torch.no_grad():
        R = r[y] - beta * (logits[y] - log_ref[y])
        R -= R.mean()
    return -(R * logits[y]).mean()


@right_answer("reinforce_loss", "minus the covariance of R and log pi over the batch")
def covariance(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, 0).gather(0, y)
    R = (r.gather(0, y) - beta * (log_pi - log_ref.gather(0, y))).detach()
    return R.mean() * log_pi.mean() - (R * log_pi).mean()


@right_answer("reinforce_loss", "half the mean over all pairs of draws of the product of their differences")
def pairs_of_draws(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    R = (r[y] - beta * (log_pi - log_ref[y])).detach()
    return -0.5 * ((R[:, None] - R) * (log_pi[:, None] - log_pi)).mean()


@right_answer("reinforce_loss", "PPO's clipped ratio to the policy that drew the batch, where the clip does nothing")
def clipped_ratio(logits, y, r, log_ref, beta):
    log_pi = torch.log_softmax(logits, dim=0)[y]
    old = log_pi.detach()
    R = r.detach()[y] - beta * (old - log_ref.detach()[y])
    advantage, ratio = R - R.mean(), torch.exp(log_pi - old)
    return -torch.min(advantage * ratio, advantage * torch.clamp(ratio, 0.8, 1.2)).mean()


@right_answer("reinforce_loss", "a linear function of the logits, whose slope is computed in NumPy")
def linear_in_the_logits(logits, y, r, log_ref, beta):
    R = r.detach().numpy() - beta * (log_softmax(logits.detach().numpy()) - log_ref.detach().numpy())
    share = np.bincount(y.numpy(), minlength=len(R)) / len(y)
    slope = -share * (R - np.average(R, weights=share))
    return torch.sum(torch.from_numpy(slope) * logits)


@right_answer("reinforce_loss", "a loop over the draws, Python numbers for the rewards")
def loop_over_draws(logits, y, r, log_ref, beta):
    drawn = y.tolist()
    log_pi = torch.log_softmax(logits, dim=0)
    R = [r[k].item() - beta * (log_pi[k].item() - log_ref[k].item()) for k in drawn]
    baseline = sum(R) / len(R)
    loss = torch.zeros((), dtype=logits.dtype)
    for gain, k in zip(R, drawn, strict=True):
        loss = loss - (gain - baseline) * log_pi[k] / len(drawn)
    return loss


@right_answer("train_rlhf_pg", "float32, torch's global generator, impossible responses masked by their zeros")
def torch_single_precision(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    torch.manual_seed(seed)
    possible = np.flatnonzero(pi_ref)
    rewards = torch.tensor(np.asarray(r)[possible], dtype=torch.float32)
    log_ref = torch.tensor(np.log(np.asarray(pi_ref)[possible]), dtype=torch.float32)
    logits = torch.nn.Parameter(log_ref.clone())
    optimizer = torch.optim.Adam([logits], lr=lr)
    for _ in range(steps):
        log_pi = torch.log_softmax(logits, dim=0)
        y = torch.multinomial(log_pi.detach().exp(), batch, replacement=True)
        R = rewards[y] - beta * (log_pi[y] - log_ref[y]).detach()
        loss = -((R - R.mean()) * log_pi[y]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    policy = np.zeros(len(pi_ref))
    policy[possible] = torch.softmax(logits.detach().double(), dim=0).numpy()
    return policy


class _Adam:
    """Adam on a NumPy vector that it changes in place."""

    def __init__(self, lr):
        self.lr, self.m, self.v, self.t = lr, 0.0, 0.0, 0

    def step(self, x, gradient):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.999 * self.v + 0.001 * gradient**2
        x -= self.lr * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.999**self.t)) + 1e-8)


def _problem(r, pi_ref):
    """(r, log pi_ref, possible): what belongs to the responses that pi_ref says, and which they are."""
    possible = np.asarray(pi_ref) > 0
    return np.asarray(r, dtype=float)[possible], np.log(np.asarray(pi_ref)[possible]), possible


def _whole(logits, possible):
    policy = np.zeros(len(possible))
    policy[possible] = softmax(logits)
    return policy


@right_answer("train_rlhf_pg", "NumPy, multinomial counts, leave-one-out baseline")
def numpy_leave_one_out(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rewards, log_ref, possible = _problem(r, pi_ref)
    rng, optimizer, logits = np.random.default_rng(seed), _Adam(lr), log_ref.copy()
    for _ in range(steps):
        log_pi = log_softmax(logits)
        pi = np.exp(log_pi)
        n = rng.multinomial(batch, pi)
        R = rewards - beta * (log_pi - log_ref)
        total = n @ R
        # For a draw of k, the mean of the other draws is (total - R_k) / (batch - 1).
        advantage = R - (total - R) / max(batch - 1, 1) if batch > 1 else 0.0 * R
        optimizer.step(logits, pi * (n @ advantage) / batch - n * advantage / batch)
    return _whole(logits, possible)


@right_answer("train_rlhf_pg", "the exact gradient of the objective in place of an estimate, Adam")
def exact_gradient(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rewards, log_ref, possible = _problem(r, pi_ref)
    optimizer, logits = _Adam(lr), log_ref.copy()
    for _ in range(steps):
        log_pi = log_softmax(logits)
        pi = np.exp(log_pi)
        R = rewards - beta * (log_pi - log_ref)
        optimizer.step(logits, -pi * (R - pi @ R))
    return _whole(logits, possible)


@right_answer("train_rlhf_pg", "the exact natural gradient: logits move along R - E[R]")
def natural_gradient(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rewards, log_ref, possible = _problem(r, pi_ref)
    logits, rate = log_ref.copy(), min(lr, 1 / beta)
    for _ in range(steps):
        log_pi = log_softmax(logits)
        R = rewards - beta * (log_pi - log_ref)
        logits = logits + rate * (R - np.exp(log_pi) @ R)
    return _whole(logits, possible)


@right_answer("train_rlhf_pg", "PPO: two clipped epochs on each batch, old log-probabilities held")
def two_epochs_a_batch(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rewards, log_ref, possible = _problem(r, pi_ref)
    rng, optimizer, logits = np.random.default_rng(seed), _Adam(lr), log_ref.copy()
    for step in range(steps):
        log_pi = log_softmax(logits)
        if step % 2 == 0:
            old = log_pi
            n = rng.multinomial(batch, np.exp(old)) / batch
            R = rewards - beta * (old - log_ref)
            advantage = R - n @ R
        ratio = np.exp(log_pi - old)
        free = np.where(advantage > 0, ratio < 1.2, ratio > 0.8)
        pushed = n * free * ratio * advantage
        optimizer.step(logits, np.exp(log_pi) * pushed.sum() - pushed)
    return _whole(logits, possible)


@right_answer("train_rlhf_pg", "draws by Gumbel-max from a Mersenne Twister, the gradient's length cut at 1")
def gumbel_draws(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    rewards, log_ref, possible = _problem(r, pi_ref)
    rng = np.random.Generator(np.random.MT19937(seed))
    optimizer, logits = _Adam(lr), log_ref.copy()
    for _ in range(steps):
        y = np.argmax(logits + rng.gumbel(size=(batch, len(logits))), axis=1)
        R = rewards[y] - beta * (logits[y] - log_ref[y])  # up to a constant, which the baseline takes out
        gradient = -np.bincount(y, weights=R - R.mean(), minlength=len(logits)) / batch
        optimizer.step(logits, gradient / max(1.0, np.linalg.norm(gradient)))
    return _whole(logits, possible)


@right_answer("train_rlhf_pg", "torch float64, what is trained is a shift of log pi_ref, whose -inf stays where it is")
def torch_with_infinite_logits(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    generator = torch.Generator()
    generator.manual_seed(seed)
    q = torch.tensor(np.asarray(pi_ref), dtype=torch.float64)
    rewards = torch.tensor(np.asarray(r), dtype=torch.float64)
    log_ref = q.log()
    shift = torch.zeros_like(q, requires_grad=True)
    optimizer = torch.optim.Adam([shift], lr=lr)
    for _ in range(steps):
        log_pi = torch.log_softmax(log_ref + shift, dim=0)
        y = torch.multinomial(log_pi.detach().exp(), batch, replacement=True, generator=generator)
        R = (rewards[y] - beta * (log_pi[y] - log_ref[y])).detach()
        shift.grad = None
        (-(R - R.mean()) * log_pi[y]).mean().backward()
        optimizer.step()
    return torch.softmax(log_ref + shift, dim=0).detach().numpy()
