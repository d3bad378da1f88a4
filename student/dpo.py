"""Direct preference optimisation: the policy fitted to preference pairs, with no reward model and no sampling."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from . import display
from .closed_form import NAMES, PI_REF, R_TRUE, kl, optimal_policy, tv
from .preferences import make_pairs


# graded
def dpo_loss(
    logits: Tensor, log_ref: Tensor, winners: ArrayLike | Tensor, losers: ArrayLike | Tensor, beta: float
) -> Tensor:
    """The DPO loss: the negative log-likelihood of the preference pairs, per pair, in nats.

    With pi = softmax(logits), w a winner and l its loser,

        loss   = -mean over the pairs of  log sigma(margin)
        margin = beta [ (log pi_w - log_ref_w) - (log pi_l - log_ref_l) ]

    where sigma is the logistic function. Each pair counts as often as it occurs. A pair of a response with itself has
    margin 0 and counts with log 2. Normalising constants of logits and of log_ref cancel.

    Source: Rafailov et al. 2023 (DPO), eq. 7.

    Args:
        logits: (K,) float64 tensor, finite; it need not be normalised.
        log_ref: (K,) float64 tensor, log pi_ref, finite.
        winners, losers: (n,) integer arrays or int64 tensors, n >= 1, entries in 0..K-1.
        beta: > 0.

    Returns:
        A scalar float64 tensor that can be differentiated with respect to `logits`. Value and gradient are
        finite and right to 1e-8 (relative above 1) for margins of any size, such as -2e6 (loss 2e6) and +2e6 (loss 0).

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): no pairs, responses outside 0..K-1, different lengths,
            entries that are not finite, beta <= 0.
    """
    raise NotImplementedError


def train_dpo(
    pi_ref: ArrayLike,
    winners: ArrayLike,
    losers: ArrayLike,
    beta: float,
    steps: int = 2000,
    lr: float = 0.05,
    record: list[tuple[int, NDArray[np.float64]]] | None = None,
) -> NDArray[np.float64]:
    """Minimise `dpo_loss` over the policy, by gradient steps on its logits, starting at logits = log pi_ref.

    The data have an exact optimum when every response that occurs can be reached from every other one through wins (the
    graph of wins is strongly connected; Hunter 2004, Assumption 1). With r_hat the Bradley-Terry maximum-likelihood
    rewards of the pairs, it is pi_ref(y) exp(r_hat(y) / beta) / Z; at the default steps and lr, training ends within
    total variation 0.002 of it. Without an optimum (say, one response always wins) the policy moves on and on, its loss
    towards 0, as far as `steps` lets it: at the defaults and beta = 0.5, a response that wins all its pairs,
    against every other one, ends with probability 0.95 or more. Optimiser, path and the use of `lr` are free (Adam
    with step size lr does it). Nothing is left to chance: the same arguments give the same policy.

    Source: Rafailov et al. 2023 (DPO), eq. 7 (loss) and eq. 4 (optimum for given rewards).

    Args:
        pi_ref: (K,) array, probabilities; they sum to 1 and may contain zeros at responses that occur in no pair.
        winners, losers: (n,) integer arrays, entries in 0..K-1. A pair of a response with itself does no harm.
        beta: > 0.
        steps: number of gradient steps, an integer >= 0. steps = 0 returns pi_ref.
        lr: step size, > 0.
        record: None or a list, to which (step, policy) is appended at steps 0, 200, 400, ... and at the last step, each
            of them once (steps = 500: 0, 200, 400, 500; steps = 0: 0). policy is a (K,) float64 array after `step`
            steps: pi_ref at step 0, the returned policy at the last. Each entry is a copy of its own, which later steps
            do not change.

    Returns:
        (K,) float64, the trained policy; it sums to 1. A response with pi_ref = 0 has probability exactly 0. Responses
        that occur in no pair keep the ratios that pi_ref gives them (but for what rounding
        moves where nothing holds it, in float32 training); how the mass is shared between groups that no pair
        connects is free.

    The arguments are not modified, except for `record`.

    Raises:
        ValueError: for input without meaning (not graded): beta <= 0, lr <= 0, steps < 0, probabilities that are
            negative or do not sum to 1, responses outside 0..K-1, different lengths, a response with pi_ref = 0 in a
            pair. (No pairs at all: the reference returns pi_ref; not graded either.)
    """
    raise NotImplementedError


def implicit_reward(policy: ArrayLike, pi_ref: ArrayLike, beta: float) -> NDArray[np.float64]:
    """The reward for which `policy` is the optimum of the RLHF objective:  beta log(policy(y) / pi_ref(y)).

    It is not centred: of all rewards that differ by a constant, it is the one with  E_pi_ref[exp(reward / beta)] = 1.

    Source: Rafailov et al. 2023 (DPO), section 5.1, Theorem 1; normalisation: eq. 9.

    Args:
        policy: (K,) array, probabilities; they sum to 1 and may contain zeros.
        pi_ref: (K,) array, probabilities, all > 0.
        beta: > 0.

    Returns:
        (K,) float64, right to 1e-8 (relative above 1); -inf where policy = 0.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): beta <= 0, probabilities that are negative or do not sum to
            1, NaN, different lengths. (Where pi_ref = 0 the reference gives +inf for policy > 0 and NaN for policy = 0;
            not graded.)
    """
    raise NotImplementedError


# given
BETA_DPO = 0.5  # beta of the demos below
# Mean total variation to pi* of the exact DPO optimum, times the square root of the pairs drawn: 2.29 for the lecture's
# problem at beta = 0.5, from the asymptotic normal law of the maximum-likelihood rewards.
TV_CONSTANT = 2.29


def dpo_tables() -> dict[str, display.Table]:
    """The DPO policy for more and more preference pairs, beside the RLHF optimum."""
    pi_star = optimal_policy(R_TRUE, PI_REF, BETA_DPO)
    rows = [("π* itself", 0.0, pi_star @ R_TRUE, kl(pi_star, PI_REF))]
    for n in display.progress([100, 1000, 10000, 100000], "DPO on 100 to 100,000 pairs"):
        winners, losers = make_pairs(R_TRUE, PI_REF, n, seed=1)
        policy = train_dpo(PI_REF, winners, losers, BETA_DPO)
        rows.append((str(len(winners)), tv(policy, pi_star), policy @ R_TRUE, kl(policy, PI_REF)))
    columns = (("preference pairs", ">"), ("total variation to π*", ".3f"), ("E[r*]", ".2f"), ("KL(π‖π_ref)", ".3f"))
    return {"policies": display.Table(columns, rows)}


def demo_dpo(plot: Path | None = None) -> dict[str, display.Table]:
    """Demo 3: DPO comes closer to the RLHF optimum with every pair."""
    display.heading(f"Demo 3: DPO, from preference pairs alone, β = {BETA_DPO}")
    tables = dpo_tables()
    display.show(tables["policies"])
    display.observe(
        "RLHF and DPO have the same optimum. DPO skips the reward model and the sampling, and pays with an error that "
        "shrinks like the inverse square root of the number of pairs.",
        "With few pairs the policy may lie far from π*, on either side: its KL depends on which labels happened to be "
        "flipped.",
        "The last row is a lucky draw. A typical distance at that size is 0.006 (the median over seeds); one below "
        "0.0005 comes up in 2 of 100 draws.",
    )
    if plot is not None:
        plot_dpo(plot / "dpo.png")
    return tables


def plot_dpo(path: Path) -> None:
    """The distance to the RLHF optimum, over the steps of training and over the number of pairs."""
    pi_star = optimal_policy(R_TRUE, PI_REF, BETA_DPO)
    with display.figure(path, 2, "DPO's distance to the RLHF optimum") as (left, right):
        for n, style in zip([100, 1000, 10000, 100000], ["^:", "s-.", "D--", "o-"], strict=True):
            record: list[tuple[int, NDArray[np.float64]]] = []
            train_dpo(PI_REF, *make_pairs(R_TRUE, PI_REF, n, seed=3), BETA_DPO, record=record)
            distances = [tv(policy, pi_star) for _, policy in record]
            left.semilogy([step for step, _ in record], distances, style, markersize=5, label=f"{n:,} pairs drawn")
        left.set(xlabel="step", ylabel="total variation to π*", title="Training ends where the data say")
        left.legend(loc="center right", bbox_to_anchor=(1, 0.29))
        sizes, seeds = [1000, 4000, 16000, 64000], range(100, 112)
        draws = [(n, seed) for n in sizes for seed in seeds]
        distances = []
        for n, seed in display.progress(draws, f"DPO on {len(draws)} data sets"):
            winners, losers = make_pairs(R_TRUE, PI_REF, n, seed)
            distances.append(tv(train_dpo(PI_REF, winners, losers, BETA_DPO, steps=600), pi_star))
        right.loglog([n for n, _ in draws], distances, "o", alpha=0.4, label="one data set")
        means = np.reshape(distances, (len(sizes), len(seeds))).mean(axis=1)
        right.loglog(sizes, means, "D", color=display.RED, markersize=8, label=f"mean of {len(seeds)}")
        theory = [TV_CONSTANT / n**0.5 for n in sizes]
        right.loglog(sizes, theory, "--", color=display.GREY, label=f"theory: {TV_CONSTANT}/√n")
        right.set(xlabel="n, pairs drawn", ylabel="total variation to π*", title="The error falls like 1/√n")


def implicit_reward_tables() -> dict[str, display.Table]:
    """The reward inside the DPO policy for 100,000 drawn pairs, beside the true one; both less their mean."""
    winners, losers = make_pairs(R_TRUE, PI_REF, 100000, seed=1)
    reward = implicit_reward(train_dpo(PI_REF, winners, losers, BETA_DPO), PI_REF, BETA_DPO)
    columns = (("response", ""), ("true reward − mean", ".2f"), ("implicit reward − mean", ".2f"))
    rows = list(zip(NAMES, R_TRUE - R_TRUE.mean(), reward - reward.mean(), strict=True))
    return {"rewards": display.Table(columns, rows)}


def demo_implicit_reward(plot: Path | None = None) -> dict[str, display.Table]:
    """Demo 4: the reward can be read off the policy."""
    display.heading("Demo 4: DPO's implicit reward, β log(π/π_ref)")
    tables = implicit_reward_tables()
    display.show(tables["rewards"])
    display.observe(
        "No reward model was trained, yet the policy has one inside: β log(π/π_ref) is the true reward but for a "
        "constant. This is what the title of the DPO paper says: your language model is secretly a reward model.",
        "The constant is no mystery. For the optimum it is −β log Z, so that E_π_ref[exp(reward/β)] = 1.",
    )
    if plot is not None:
        plot_implicit_reward(plot / "implicit_reward.png", tables["rewards"])
    return tables


def plot_implicit_reward(path: Path, rewards: display.Table) -> None:
    """The implicit against the true reward of each response."""
    _, true, implicit = (list(column) for column in zip(*rewards.rows, strict=True))
    with display.figure(path, 1, "The reward inside the DPO policy") as (panel,):
        ends = [min(true) - 0.3, max(true) + 0.3]
        panel.plot(ends, ends, "--", color=display.GREY, label="equal")
        panel.plot(true, implicit, "o", color=display.BLUE, markersize=8, label="one response")
        for name, x, y in zip(NAMES, true, implicit, strict=True):
            panel.annotate(name, (x, y), xytext=(8, -12), textcoords="offset points")
        panel.margins(0.2, 0.08)
        panel.set(xlabel="true reward − mean", ylabel="implicit reward − mean")


def dpo_trap_tables() -> dict[str, display.Table]:
    """DPO on pairs that the better response always wins, over the steps of training."""
    pi_star = optimal_policy(R_TRUE, PI_REF, BETA_DPO)
    winners, losers = make_pairs(R_TRUE, PI_REF, 10000, seed=2, noisy=False)
    record: list[tuple[int, NDArray[np.float64]]] = []
    train_dpo(PI_REF, winners, losers, BETA_DPO, steps=2000, record=record)
    best = f"P({NAMES[0]})"
    return {
        "target": display.Table(
            (("", ""), (best, ".2f"), ("KL(π‖π_ref)", ".2f")), [("π*", pi_star[0], kl(pi_star, PI_REF))]
        ),
        "path": display.Table(
            (("step", "d"), (best, ".3f"), ("KL(π‖π_ref)", ".2f")),
            [(step, policy[0], kl(policy, PI_REF)) for step, policy in record if step % 400 == 0],
        ),
    }


def demo_dpo_trap(plot: Path | None = None) -> dict[str, display.Table]:
    """Demo 5: without noise in the labels DPO runs past the optimum."""
    display.heading(f"Demo 5: the trap of noise-free preferences, DPO at β = {BETA_DPO}")
    tables = dpo_trap_tables()
    display.show(tables["target"])
    display.show(tables["path"])
    limit = -np.log(PI_REF[0])
    display.observe(
        "In demo 3 the policy settles near π*. Here it runs past it: if A beats B every time, the likeliest "
        "explanation is that A is better by an infinite amount, and the loss reaches 0 only there.",
        "β does not change where this ends, only how fast: after 2000 steps the KL is 2.303 at β = 0.1, 2.296 at 0.5 "
        "and 1.967 at 2.",
        f"The end is all mass on the best response, and its KL is finite: −log π_ref(best) = {limit:.3f} nats. With "
        "responses by the billion that ceiling is far away.",
        "Real pairs are mostly labelled once, so that 'A always wins' is common without being true. Early stopping and "
        "losses with a finite target such as IPO (Azar et al. 2024) are the usual remedies.",
    )
    if plot is not None:
        plot_dpo_trap(plot / "dpo_trap.png")
    return tables


def plot_dpo_trap(path: Path) -> None:
    """The way to the best response, for three values of beta."""
    winners, losers = make_pairs(R_TRUE, PI_REF, 10000, seed=2, noisy=False)
    with display.figure(path, 2, "DPO on noise-free preferences") as (left, right):
        for beta, style in display.progress([(0.1, "o-"), (0.5, "s--"), (2.0, "^:")], "DPO at three values of β"):
            record: list[tuple[int, NDArray[np.float64]]] = []
            train_dpo(PI_REF, winners, losers, beta, steps=4000, record=record)
            steps = [step for step, _ in record]
            left.plot(steps, [policy[0] for _, policy in record], style, markersize=4, label=f"β = {beta:g}")
            costs = [kl(policy, PI_REF) for _, policy in record]
            right.plot(steps, costs, style, markersize=4, label=f"β = {beta:g}")
        right.axhline(-np.log(PI_REF[0]), color=display.GREY, label="−log π_ref(best)")
        left.set(xlabel="step", ylabel=f"P({NAMES[0]})", title="Probability of the best response")
        right.set(xlabel="step", ylabel="KL(π‖π_ref) in nats", title="Distance from the reference")
