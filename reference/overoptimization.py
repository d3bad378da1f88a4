"""Over-optimisation: best-of-n by an imperfect reward model, which picks its mistakes the more, the harder it picks."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from . import display
from ._arguments import count, pairs, positive
from .best_of_n import best_of_n_distribution, best_of_n_kl
from .closed_form import kl

# given
# The numbers of draws at which an over-optimisation curve is evaluated.
N_LIST = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384]


# graded
def fit_reward_model(
    win: ArrayLike, lose: ArrayLike, K: int, l2: float = 1e-5, steps: int = 1000, lr: float = 0.1
) -> NDArray[np.float64]:
    """Fit the rewards of K responses to preference pairs, by maximum likelihood with a weak L2 penalty.

    It minimises over r, a vector of K numbers,

        -(1/n) sum over the n pairs of  log sigma(r_win - r_lose)   +   l2 sum_y r_y^2

    where sigma is the logistic function. Each pair counts as often as it occurs; a pair of a response with itself
    counts with the constant log 2 and in n. The minimum exists and is unique for l2 > 0, also when a response always
    wins. It is defined by a mean over pairs, so that giving the whole data twice changes nothing.

    The optimiser and its use of `lr` are free (Adam from r = 0 with step size lr, `steps` steps, does it). Nothing is
    left to chance: the same arguments give the same rewards. At the default steps and lr, the result has to agree with
    the minimum to 0.02 up to a common shift of the responses that occur in pairs (which a weak penalty hardly holds):
    results are compared after subtracting the mean over those responses, where pairs connect them all, and where a
    response always wins only for l2 >= 3e-4.

    Source: the likelihood is that of Bradley and Terry 1952.

    Args:
        win, lose: (n,) integer arrays, entries in 0..K-1, n >= 1.
        K: number of responses, an integer >= 1.
        l2: weight of the penalty, > 0.
        steps: the most iterations an iterative optimiser may take, an integer >= 0.
        lr: step size, > 0, for optimisers that need one.

    Returns:
        (K,) float64 rewards. A response that occurs in no pair has reward exactly 0.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): l2 <= 0, K < 1, responses outside 0..K-1, different lengths.
            (No pairs at all: the reference returns zeros; not graded either.)
    """
    K = count("K", K, minimum=1)
    won, lost = pairs("win", win, "lose", lose, K)
    l2, steps = positive("l2", l2), count("steps", steps)
    positive("lr", lr)
    r = np.zeros(K)
    # The gradient of every other response is its penalty's alone, and 0 at 0.
    seen, position = np.unique(np.concatenate([won, lost]), return_inverse=True)
    table, counts = np.unique(position.reshape(2, -1), axis=1, return_counts=True)
    winner_of, loser_of = table
    shares = counts / max(len(won), 1)

    def objective(s: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = s[winner_of] - s[loser_of]
        pull = shares * expit(-margin)
        gradient = np.bincount(loser_of, pull, len(s)) - np.bincount(winner_of, pull, len(s)) + 2 * l2 * s
        return float(shares @ np.logaddexp(0, -margin) + l2 * (s @ s)), gradient

    if len(seen):
        options = {"maxiter": steps, "maxfun": 20 * steps + 1, "ftol": 0.0, "gtol": 1e-12}
        r[seen] = minimize(objective, np.zeros(len(seen)), jac=True, method="L-BFGS-B", options=options).x
    return r


def overoptimization_experiment(
    seed: int, K: int = 2000, n_pairs: int = 1000, l2: float = 1e-5, steps: int = 1000
) -> dict[str, Any]:
    """One experiment on over-optimisation: best-of-n by a reward model that was fitted to few pairs.

    1. A world: K responses with true rewards r* ~ N(0, 1), independent, and a long-tailed reference policy
       pi_ref ~ Dirichlet(0.3, ..., 0.3).
    2. `n_pairs` pairs of responses, both drawn from pi_ref independently, each labelled by the Bradley-Terry model (the
       first wins with probability sigma(r*_first - r*_second)). Pairs of a response with itself are kept.
       `fit_reward_model` with the given l2 and steps fits a reward model r_hat to them.
    3. For each n of N_LIST, exactly: the law p_n of best-of-n by r_hat.

    Args:
        seed: an integer >= 0. The same seed gives the same result, another seed another world. In which order random
            numbers are drawn is free.
        K: number of responses, an integer >= 2.
        n_pairs: number of pairs, an integer >= 1.
        l2, steps: handed to `fit_reward_model`.

    Returns:
        A dict. Arrays of float64 with one entry for each n of N_LIST, right to 1e-8 (relative above 1) for the r_hat
        that was fitted:
            kl           KL(p_n || pi_ref), exact, in nats; 0 at n = 1
            kl_formula   best_of_n_kl(n)
            proxy        E_p_n[r_hat], what is optimised
            gold         E_p_n[r*], what is meant
            gold_select  E[r*] of best-of-n by r* itself, the perfect selector
        and numbers:
            n_seen       how many different responses occur in the pairs; those of pairs with themselves count
            corr_w       correlation of r_hat and r*, each response weighted by pi_ref
            corr         the same with equal weights

    Source: the design follows Gao, Schulman and Hilton 2023 (a gold reward, and a proxy fitted to labels by it), with
    exact sums in place of samples.

    Raises:
        ValueError: for input without meaning (not graded), as in the functions it calls. (n_pairs = 0: the reference
            returns a reward model that is 0, with NaN correlations; not graded either.)
    """
    rng = np.random.default_rng(count("seed", seed))
    K, n_pairs = count("K", K, minimum=2), count("n_pairs", n_pairs)
    r_true = rng.normal(size=K)
    pi_ref = rng.dirichlet(np.full(K, 0.3))
    a = rng.choice(K, n_pairs, p=pi_ref)
    b = rng.choice(K, n_pairs, p=pi_ref)
    a_wins = rng.random(n_pairs) < expit(r_true[a] - r_true[b])
    r_hat = fit_reward_model(np.where(a_wins, a, b), np.where(a_wins, b, a), K, l2=l2, steps=steps)
    picked = [best_of_n_distribution(r_hat, pi_ref, n) for n in N_LIST]
    picked_by_truth = [best_of_n_distribution(r_true, pi_ref, n) for n in N_LIST]
    return {
        "kl": np.array([kl(p, pi_ref) for p in picked]),
        "kl_formula": np.array([best_of_n_kl(n) for n in N_LIST]),
        "proxy": np.array([p @ r_hat for p in picked]),
        "gold": np.array([p @ r_true for p in picked]),
        "gold_select": np.array([p @ r_true for p in picked_by_truth]),
        "n_seen": len(np.union1d(a, b)),
        "corr_w": _correlation(r_hat, r_true, pi_ref),
        "corr": _correlation(r_hat, r_true, np.full(K, 1 / K)),
    }


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The correlation of x and y under the probabilities `weights`; NaN if one of them does not vary."""
    x, y = x - weights @ x, y - weights @ y
    scale = np.sqrt((weights @ x**2) * (weights @ y**2))
    return float(weights @ (x * y) / scale) if scale > 0 else float("nan")


# given
SEEDS = range(20)


def overoptimization_tables() -> dict[str, display.Table]:
    """The curve of seed 0, the mean of 20 seeds, and in how many of them the true reward ends below its peak."""
    runs = [overoptimization_experiment(seed) for seed in display.progress(SEEDS, "20 experiments")]
    first = runs[0]
    gold = np.array([run["gold"] for run in runs])
    proxy = np.array([run["proxy"] for run in runs])
    curve = ["kl", "kl_formula", "proxy", "gold", "gold_select"]
    return {
        "model": display.Table(
            (("responses seen in pairs", "d"), ("correlation, weighted by π_ref", ".2f"), ("unweighted", ".2f")),
            [(first["n_seen"], first["corr_w"], first["corr"])],
        ),
        "curve": display.Table(
            (
                ("n", "d"),
                ("KL, exact", ".2f"),
                ("log n − (n−1)/n", ".2f"),
                ("reward model", ".2f"),
                ("true reward", ".2f"),
                ("true reward, picked by itself", ".2f"),
            ),
            list(zip(N_LIST, *(first[name] for name in curve), strict=True)),
        ),
        "mean": display.Table(
            (("n", "d"), ("reward model", ".2f"), ("true reward", ".2f")),
            list(zip(N_LIST, proxy.mean(axis=0), gold.mean(axis=0), strict=True)),
        ),
        "declined": display.Table(
            (("seeds", "d"), ("of these, true reward at the end more than 0.1 below its peak", "d")),
            [(len(runs), int(np.sum(gold[:, -1] < gold.max(axis=1) - 0.1)))],
        ),
    }


def demo_overoptimization(plot: Path | None = None) -> dict[str, display.Table]:
    """Demo 6: Goodhart's law, computed exactly."""
    display.heading("Demo 6: over-optimisation, best-of-n by an imperfect reward model")
    display.say("2000 responses; the reward model is fitted to 1000 preference pairs. Seed 0:")
    tables = overoptimization_tables()
    display.show(tables["model"])
    display.show(tables["curve"])
    display.say("Mean of 20 seeds, each with its own responses, pairs and reward model:")
    display.show(tables["mean"])
    display.show(tables["declined"])
    display.observe(
        "The reward model's score rises with n without end: it is what is optimised.",
        "The true reward rises, too, at first, but falls ever further behind. Picking harder means picking what the "
        "reward model overrates: rare responses that won the one or two pairs they were in.",
        "Whether the true reward goes down in the end is a risk, not a law: it does in some seeds (seed 0) and not in "
        "others, and the mean over seeds hardly bends. The gap between score and truth is there in all of them.",
        "Picked by the true reward itself, it keeps rising (last column of the first curve). Best-of-n is not to "
        "blame; the reward model is.",
        "log n − (n−1)/n is the KL for scores that never tie. With 2000 responses it is only a bound: at n = 16384 the "
        "exact KL is more than 2 nats below it, and it can never pass −log of the mass of the best score.",
        "The reward model gives all responses it never saw the same score, 0. Best-of-n splits such a tie like π_ref.",
        "Goodhart (1975) put it for monetary policy; Strathern's (1997) wording is the one people quote: when a "
        "measure becomes a target, it ceases to be a good measure.",
    )
    if plot is not None:
        plot_overoptimization(plot / "overoptimization.png")
    return tables


def plot_overoptimization(path: Path) -> None:
    """Rewards and KL of best-of-n, for seed 0 and for 20 seeds."""
    runs = [overoptimization_experiment(seed) for seed in display.progress(SEEDS, "20 experiments for the figure")]
    first, gold = runs[0], np.array([run["gold"] for run in runs])
    title = "Best-of-n by an imperfect reward model"
    with display.figure(path, 3, title) as (left, mid, right):
        left.plot(first["kl"], first["proxy"], "o-", color=display.BLUE, label="reward model's score")
        by_itself = "true reward, picked by itself (same n)"
        left.plot(first["kl"], first["gold_select"], "^:", color=display.GREEN, label=by_itself)
        left.plot(first["kl"], first["gold"], "s--", color=display.RED, label="true reward")
        left.legend(loc="center right", bbox_to_anchor=(1, 0.6))
        left.set(xlabel="exact KL of picking by the reward model", ylabel="expected reward", title="Seed 0")
        mid.semilogx(N_LIST, gold.T, color=display.GREY, alpha=0.35, linewidth=1)
        mid.semilogx(N_LIST, gold[0], "s--", color=display.RED, label="seed 0")
        mid.semilogx(N_LIST, gold.mean(axis=0), "D-", color=display.BLUE, label="mean of 20 seeds")
        mid.set(xlabel="n", ylabel="true reward", title="True reward, 20 seeds")
        right.semilogx(N_LIST, first["kl_formula"], "--", color=display.ORANGE, label="log n − (n−1)/n")
        right.semilogx(N_LIST, first["kl"], "o-", color=display.BLUE, label="exact, seed 0")
        right.set(xlabel="n", ylabel="KL in nats", title="KL of best-of-n")
