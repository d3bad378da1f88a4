"""RLHF by policy gradient: sample responses, score them, raise the probability of those better than average."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from . import display
from ._arguments import count, finite_vector, positive, probabilities
from .closed_form import NAMES, PI_REF, R_TRUE, optimal_policy, tv


# graded
def reinforce_loss(logits: Tensor, y: Tensor, r: Tensor, log_ref: Tensor, beta: float) -> Tensor:
    """A loss whose gradient is the REINFORCE estimate for  E_pi[r] - beta KL(pi || pi_ref),  with a baseline.

    With pi = softmax(logits), the KL penalty is charged to each sampled response as part of its reward:

        R_k = r_k - beta (log pi_k - log_ref_k)

    R is a constant to the gradient (detached): only the log-probability of the sampled responses is differentiated. The
    baseline is the batch mean. With Rbar the mean of R over the batch (each response counted as often as it was drawn),
    B the size of the batch and n_k the number of times k was drawn, the gradient of the loss is, on every batch,

        d loss / d logits_k  =  -(n_k / B) (R_k - Rbar)

    so that a step down the gradient makes responses that did better than the batch likelier. The value of the loss is
    free. Advantages are not divided by their standard deviation.

    Source: Williams 1992, section 4, Theorem 1 (REINFORCE); Ziegler et al. 2019 (reward with KL penalty).

    Args:
        logits: (K,) float64 tensor, finite; it need not be normalised.
        y: (B,) int64 tensor of the responses drawn from pi, B >= 1, entries in 0..K-1.
        r: (K,) float64 tensor of the rewards of all K responses, finite.
        log_ref: (K,) float64 tensor, log pi_ref, finite.
        beta: weight of the KL term, >= 0.

    Returns:
        A scalar tensor that can be differentiated with respect to `logits`; the gradient is right to 1e-8 (relative
        above 1), also where pi_k underflows to 0.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): empty batch, responses outside 0..K-1, different lengths,
            entries that are not finite, beta < 0.
    """
    K = len(logits)
    for name, tensor in (("logits", logits), ("r", r), ("log_ref", log_ref)):
        if tensor.shape != (K,) or not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"{name}: expected {K} finite numbers, one for each response")
    if y.ndim != 1 or len(y) == 0 or not 0 <= int(y.min()) <= int(y.max()) < K:
        raise ValueError(f"y: expected a non-empty vector of responses between 0 and {K - 1}")
    return _reinforce_loss(logits, y, r, log_ref, positive("beta", beta, or_zero=True))


def train_rlhf_pg(
    r: ArrayLike, pi_ref: ArrayLike, beta: float, steps: int = 3000, batch: int = 64, lr: float = 0.05, seed: int = 0
) -> NDArray[np.float64]:
    """Maximise  E_pi[r] - beta KL(pi || pi_ref)  by stochastic gradient steps on the logits of pi.

    Training starts at logits = log pi_ref. In each step `batch` responses are drawn from the current policy and the
    logits move along the gradient of `reinforce_loss` on them. Optimiser, estimator and the use of `lr` are free (Adam
    with step size lr does it); what counts is where training ends:

        within total variation 0.01 of optimal_policy(r, pi_ref, beta)   for K <= 6 and batch = 64, after 1,500 steps at
                                                                         beta = 1 and after 3,000 steps at beta = 0.5;
        within 0.06                                                      for K = 24, batch = 16, 3,000 steps, beta = 1,

    for rewards and references like the lecture's (rewards a few units apart).

    Source: Williams 1992; the optimum is eq. 4 of Rafailov et al. 2023 (DPO).

    Args:
        r: (K,) array, rewards: finite floats or integers.
        pi_ref: (K,) array, probabilities; they sum to 1 and may contain zeros.
        beta: weight of the KL term, > 0.
        steps: number of gradient steps, an integer >= 0. steps = 0 returns pi_ref.
        batch: number of responses drawn in each step, an integer >= 1.
        lr: step size, > 0.
        seed: an integer >= 0. The same seed gives the same result. In which order random numbers are drawn is free.

    Returns:
        (K,) float64, the trained policy; it sums to 1. A response with pi_ref = 0 has probability exactly 0 (it is
        never drawn), and nothing becomes NaN.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): beta <= 0, lr <= 0, steps < 0, batch < 1, probabilities that
            are negative or do not sum to 1, NaN, different lengths.
    """
    r = finite_vector("r", r)
    pi_ref = probabilities("pi_ref", pi_ref, len(r))
    beta, lr = positive("beta", beta), positive("lr", lr)
    steps, batch = count("steps", steps), count("batch", batch, minimum=1)
    generator = torch.Generator().manual_seed(count("seed", seed))
    support = pi_ref > 0
    reward = torch.tensor(r[support], dtype=torch.float64)
    log_ref = torch.tensor(np.log(pi_ref[support]), dtype=torch.float64)
    logits = log_ref.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=lr)
    for _ in range(steps):
        with torch.no_grad():
            y = torch.multinomial(torch.softmax(logits, dim=0), batch, replacement=True, generator=generator)
        optimizer.zero_grad()
        _reinforce_loss(logits, y, reward, log_ref, beta).backward()
        optimizer.step()
    policy = np.zeros(len(pi_ref))
    policy[support] = torch.softmax(logits.detach(), dim=0).numpy()
    return policy


def _reinforce_loss(logits: Tensor, y: Tensor, r: Tensor, log_ref: Tensor, beta: float) -> Tensor:
    """`reinforce_loss` without its checks, which would take longer than the loss."""
    log_pi = torch.log_softmax(logits, dim=0)[y]
    reward = (r[y] - beta * (log_pi - log_ref[y])).detach()
    return -((reward - reward.mean()) * log_pi).mean()


# given
def policy_gradient_tables() -> dict[str, display.Table]:
    """The policy found by policy gradient at beta = 0.5, beside the optimum in closed form."""
    pi_star = optimal_policy(R_TRUE, PI_REF, 0.5)
    trained = train_rlhf_pg(R_TRUE, PI_REF, 0.5)
    columns = (("response", ""), ("π* in closed form", ".3f"), ("policy gradient", ".3f"))
    return {
        "policies": display.Table(columns, list(zip(NAMES, pi_star, trained, strict=True))),
        "distance": display.Table((("total variation to π*", ".3f"),), [(tv(trained, pi_star),)]),
    }


def demo_policy_gradient(plot: Path | None = None) -> dict[str, display.Table]:
    """Demo 2: policy gradient ends at the optimum."""
    display.heading("Demo 2: RLHF by policy gradient, β = 0.5")
    tables = policy_gradient_tables()
    display.show(tables["policies"])
    display.show(tables["distance"])
    display.observe(
        "Draw responses, score them, make those better than average likelier: that is enough to reach π*, without ever "
        "writing down its formula.",
        "Near π* the noise of sampling dies out, too: there every response has the same penalised reward, r − β "
        "log(π/π_ref), so every batch has advantage 0. That is why the distance does not stop at the size of a step.",
        "With a language model the steps are the same and the setting is harder: responses are texts, the policy is a "
        "network, and the reward is a model's guess. Each step has to generate and score text, which is what makes it "
        "slow.",
    )
    if plot is not None:
        plot_policy_gradient(plot / "policy_gradient.png")
    return tables


def plot_policy_gradient(path: Path) -> None:
    """The distance to the optimum over the steps of training."""
    steps = [0, 20, 40, 70, 100, 150, 200, 300, 400, 600, 800]
    distances = {}
    for beta in (1.0, 0.5):
        pi_star = optimal_policy(R_TRUE, PI_REF, beta)
        label = f"policy gradient at β = {beta:g}"
        distances[beta] = [
            tv(train_rlhf_pg(R_TRUE, PI_REF, beta, steps=s), pi_star) for s in display.progress(steps, label)
        ]
    with display.figure(path, 1, "Policy gradient on its way to π*") as (panel,):
        for (beta, line), style in zip(distances.items(), ["o-", "s--"], strict=True):
            panel.semilogy(steps, line, style, label=f"β = {beta:g}")
        panel.set(xlabel="gradient steps (64 responses each)", ylabel="total variation to π*")
