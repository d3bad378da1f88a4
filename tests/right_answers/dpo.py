"""Right answers to the functions of dpo.py, written in other ways than the reference."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from scipy.special import expit, log_expit, rel_entr, xlogy

from harness.variants import right_answer

# --- dpo_loss ---------------------------------------------------------------------------------------------------------


@right_answer("dpo_loss", "logsigmoid of the margin, pairs by fancy indexing")
def logsigmoid(logits, log_ref, winners, losers, beta):
    log_pi = F.log_softmax(logits, dim=-1)
    won, lost = (log_pi[side] - log_ref[side] for side in (winners, losers))
    return F.logsigmoid(beta * (won - lost)).mean().neg()


@right_answer("dpo_loss", "softplus of raw logits: the normalisers cancel")
def softplus_of_raw_logits(logits, log_ref, winners, losers, beta):
    reward = beta * (logits - log_ref)
    # softplus is exact to 2e-9: it is x itself for x > 20
    return F.softplus(reward[torch.as_tensor(losers)] - reward[torch.as_tensor(winners)]).mean()


@right_answer("dpo_loss", "binary cross-entropy with logits, every label 1")
def cross_entropy_with_logits(logits, log_ref, winners, losers, beta):
    reward = beta * (torch.log_softmax(logits, 0) - log_ref)
    margin = reward.take(torch.as_tensor(winners)) - reward.take(torch.as_tensor(losers))
    return F.binary_cross_entropy_with_logits(margin, torch.ones_like(margin))


@right_answer("dpo_loss", "a softmax over the two rewards of each pair, class 0 is the winner")
def two_classes(logits, log_ref, winners, losers, beta):
    pairs = torch.stack([torch.as_tensor(winners), torch.as_tensor(losers)], dim=1)
    reward = beta * (logits - log_ref)
    return F.cross_entropy(reward[pairs], torch.zeros(len(pairs), dtype=torch.int64))


@right_answer("dpo_loss", "a table of how often i beat j, and one loss for each of its cells")
def table_of_wins(logits, log_ref, winners, losers, beta):
    K = len(logits)
    cells = torch.as_tensor(winners) * K + torch.as_tensor(losers)
    wins = torch.bincount(cells, minlength=K * K).reshape(K, K).double()
    reward = beta * (torch.log_softmax(logits, dim=0) - log_ref)
    return (wins * torch.logaddexp(torch.zeros(()).double(), reward - reward[:, None])).sum() / wins.sum()


@right_answer("dpo_loss", "a loop over the pairs, one logsumexp each")
def loop_over_pairs(logits, log_ref, winners, losers, beta):
    total = torch.zeros((), dtype=torch.float64)
    for w, l in zip(winners.tolist(), losers.tolist(), strict=True):  # noqa: E741 - winner and loser
        u = beta * torch.stack([logits[w] - log_ref[w], logits[l] - log_ref[l]])
        total = total + torch.logsumexp(u, dim=0) - u[0]
    return total / len(winners)


@right_answer("dpo_loss", "a matrix of rows e_winner − e_loser, and maximum(0, −m) + log1p(exp(−|m|))")
def matrix_of_differences(logits, log_ref, winners, losers, beta):
    won, lost = (F.one_hot(torch.as_tensor(side), len(logits)).double() for side in (winners, losers))
    margin = beta * ((won - lost) @ (logits - log_ref))
    # torch.maximum shares the gradient at a tie, so that it is -1/2 at margin 0, where abs has 0
    return (torch.maximum(-margin, torch.zeros_like(margin)) + torch.log1p(torch.exp(-margin.abs()))).mean()


# --- train_dpo --------------------------------------------------------------------------------------------------------


def _adam_in_float32(score, pi_ref, winners, losers, beta, steps, lr, record):
    """`score` of the logits is what pairs are compared by."""
    log_ref = torch.log(torch.tensor(np.asarray(pi_ref), dtype=torch.float32))
    logits = log_ref.clone().requires_grad_()
    w, l = torch.tensor(np.asarray(winners)), torch.tensor(np.asarray(losers))  # noqa: E741 - winner and loser
    optimizer = torch.optim.Adam([logits], lr=lr)
    for step in range(steps + 1):
        if record is not None and (step % 200 == 0 or step == steps):
            record.append((step, torch.softmax(logits, 0).detach().numpy().astype(np.float64)))
        if step == steps:
            break
        reward = beta * (score(logits) - log_ref)
        margin = reward[w] - reward[l]
        loss = -F.logsigmoid(margin).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.softmax(logits, dim=0).detach().numpy().astype(np.float64)


@right_answer("train_dpo", "Adam in float32 over all pairs, in PyTorch, recording before each step")
def adam_in_float32(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    return _adam_in_float32(lambda logits: logits, pi_ref, winners, losers, beta, steps, lr, record)


@right_answer("train_dpo", "Adam in float32, with the logarithm of a softmax that is kept above 0")
def adam_on_the_log_of_a_softmax(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    def score(logits):
        return torch.log(torch.softmax(logits, dim=0).clamp(min=1e-30))

    return _adam_in_float32(score, pi_ref, winners, losers, beta, steps, lr, record)


class _Data:
    """The wins as a table, the rewards that they fit, and the policy of such rewards."""

    def __init__(self, pi_ref, winners, losers, beta):
        self.pi_ref, self.beta, K = np.array(pi_ref, dtype=np.float64), beta, len(pi_ref)
        self.wins = np.zeros((K, K))
        np.add.at(self.wins, (np.asarray(winners), np.asarray(losers)), 1)
        np.fill_diagonal(self.wins, 0)
        self.wins /= max(self.wins.sum(), 1)

    def loss(self, u):
        return -(self.wins * log_expit(u[:, None] - u)).sum()

    def gradient(self, u):
        pull = self.wins * expit(u - u[:, None])
        return pull.sum(axis=0) - pull.sum(axis=1)

    def hessian(self, u):
        chance = expit(u[:, None] - u)
        weight = (self.wins + self.wins.T) * chance * (1 - chance)
        return np.diag(weight.sum(axis=1)) - weight

    def policy(self, u):
        weights = self.pi_ref * np.exp((u - u.max()) / self.beta)
        return weights / weights.sum()

    def follow(self, path, steps, record):
        """The last policy of a path u_0, u_1, ..., after it was recorded; a path that ends early stays there."""
        u = np.zeros(len(self.pi_ref))
        for step in range(steps + 1):
            if record is not None and (step % 200 == 0 or step == steps):
                record.append((step, self.policy(u)))
            if step < steps:
                u = next(path, u)
        return self.policy(u)


@right_answer("train_dpo", "Adam in NumPy on a table of wins, on the sum of the losses instead of the mean")
def adam_on_a_table(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data = _Data(pi_ref, winners, losers, beta)

    def path():
        tilt, m, v = np.zeros(len(pi_ref)), 0.0, 0.0
        for t in range(1, steps + 1):
            g = len(winners) * beta * data.gradient(beta * tilt)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            tilt = tilt - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            yield beta * tilt

    return data.follow(path(), steps, record)


@right_answer("train_dpo", "damped Newton steps on the rewards, with a slight ridge for what the data leave open")
def damped_newton(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data = _Data(pi_ref, winners, losers, beta)

    def path():
        u, ridge = np.zeros(len(pi_ref)), 1e-10 * np.eye(len(pi_ref))
        for _ in range(60):
            direction = -np.linalg.solve(data.hessian(u) + ridge, data.gradient(u))
            u = u + direction / max(1.0, np.abs(direction).max())
            yield u

    return data.follow(path(), steps, record)


@right_answer("train_dpo", "Zermelo's iteration for the strengths of the Bradley-Terry model")
def zermelo(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data = _Data(pi_ref, winners, losers, beta)
    won, meetings = data.wins.sum(axis=1), data.wins + data.wins.T
    met = meetings.sum(axis=1) > 0

    def path():
        s = np.ones(len(pi_ref))
        while True:
            share = np.divide(meetings, s[:, None] + s).sum(axis=1)
            s = np.where(met, np.maximum(won / np.where(met, share, 1), 1e-40), 1.0)
            s[met] /= np.exp(np.log(s[met]).mean()) if met.any() else 1.0
            yield np.log(s)

    return data.follow(path(), steps, record)


@right_answer("train_dpo", "BFGS from SciPy; the record follows its iterates")
def scipy_bfgs(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data, seen = _Data(pi_ref, winners, losers, beta), []
    start = np.zeros(len(pi_ref))
    minimize(data.loss, start, jac=data.gradient, callback=lambda u: seen.append(u.copy()), options={"gtol": 1e-9})
    return data.follow(iter(seen), steps, record)


@right_answer("train_dpo", "accelerated gradient descent with the step that the curvature allows, 1/L with L = β²/2")
def nesterov(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data = _Data(pi_ref, winners, losers, beta)

    def path():
        u = before = np.zeros(len(pi_ref))
        for t in range(steps):
            ahead = u + t / (t + 3) * (u - before)
            before, u = u, ahead - 2 * data.gradient(ahead)
            yield u

    return data.follow(path(), steps, record)


@right_answer("train_dpo", "RMSprop with a step size that decays, on the responses with π_ref > 0")
def rmsprop_with_decay(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data = _Data(pi_ref, winners, losers, beta)

    def path():
        tilt, v = np.zeros(len(pi_ref)), np.full(len(pi_ref), 1e-12)
        for t in range(steps):
            g = beta * data.gradient(beta * tilt)
            v = 0.99 * v + 0.01 * g**2
            tilt = tilt - lr * (1 - t / steps) * g / np.sqrt(v + 1e-16)
            yield beta * tilt

    return data.follow(path(), steps, record)


@right_answer("train_dpo", "L-BFGS of PyTorch with a line search, in double precision")
def torch_lbfgs(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    data, K = _Data(pi_ref, winners, losers, beta), len(pi_ref)
    wins, tilt = torch.from_numpy(data.wins), torch.zeros(K, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([tilt], tolerance_grad=1e-11, tolerance_change=0, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = -(wins * F.logsigmoid(beta * (tilt[:, None] - tilt))).sum()
        loss.backward()
        return loss

    def path():
        for _ in range(min(steps, 15)):
            optimizer.step(closure)
            yield beta * tilt.detach().numpy().copy()

    return data.follow(path(), steps, record)


# --- implicit_reward --------------------------------------------------------------------------------------------------


@right_answer("implicit_reward", "a loop with math.log, and −inf where the policy is 0")
def loop_with_math_log(policy, pi_ref, beta):
    return np.array(
        [beta * (math.log(p) - math.log(q)) if p > 0 else -math.inf for p, q in zip(policy, pi_ref, strict=True)]
    )


@right_answer("implicit_reward", "a difference of logarithms, of policies that must sum to 1 within 1e-8")
def insists_on_probabilities(policy, pi_ref, beta):
    for p in (policy, pi_ref):
        if np.min(p) < 0 or not math.isclose(np.sum(p), 1, rel_tol=0, abs_tol=1e-8):
            raise ValueError(f"probabilities must be at least 0 and sum to 1, not to {np.sum(p)}")
    with np.errstate(divide="ignore"):
        return beta * (np.log(policy) - np.log(pi_ref))


@right_answer("implicit_reward", "the logarithm of one quotient")
def logarithm_of_the_quotient(policy, pi_ref, beta):
    with np.errstate(divide="ignore"):
        return beta * np.log(np.asarray(policy) / pi_ref)


@right_answer("implicit_reward", "log2, converted to nats")
def log2_in_nats(policy, pi_ref, beta):
    with np.errstate(divide="ignore"):
        return beta * np.log(2) * (np.log2(policy) - np.log2(pi_ref))


@right_answer("implicit_reward", "float64 tensors of PyTorch")
def torch_tensors(policy, pi_ref, beta):
    p, q = (torch.tensor(np.asarray(side), dtype=torch.float64) for side in (policy, pi_ref))
    return (beta * (p.log() - q.log())).numpy()


@right_answer("implicit_reward", "extended precision, where the machine has it")
def longdouble(policy, pi_ref, beta):
    p, q = (np.asarray(side, dtype=np.longdouble) for side in (policy, pi_ref))
    with np.errstate(divide="ignore"):
        return (beta * (np.log(p) - np.log(q))).astype(np.float64)


@right_answer("implicit_reward", "SciPy's xlogy, with β as its factor")
def xlogy_with_beta(policy, pi_ref, beta):
    return xlogy(beta, policy) - xlogy(beta, pi_ref)


@right_answer("implicit_reward", "SciPy's rel_entr on the support: rel_entr(1, x) is −log x")
def rel_entr_on_the_support(policy, pi_ref, beta):
    p, q = np.asarray(policy), np.asarray(pi_ref)
    reward = np.full(len(p), -np.inf)
    seen = p > 0
    reward[seen] = beta * (rel_entr(1.0, q[seen]) - rel_entr(1.0, p[seen]))
    return reward
