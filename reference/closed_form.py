"""The optimum of the RLHF objective in closed form, and two distances between policies.

The lecture's problem: one prompt and a handful of responses, so that a policy is one vector of probabilities and
nothing has to be estimated. r is the reward of each response, pi_ref the reference policy, beta the price of leaving
it.
"""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import display
from ._arguments import finite_vector, positive, probabilities

# given
# The lecture's problem, which all demos but the last two share: six ways to answer "How was the film?".
NAMES = ["good, short", "good, long", "neutral", "mixed", "bad", "off topic"]
R_TRUE = np.array([3.0, 2.0, 0.0, 0.5, -2.0, -1.0])
PI_REF = np.array([0.10, 0.15, 0.30, 0.25, 0.15, 0.05])


# graded
def optimal_policy(r: ArrayLike, pi_ref: ArrayLike, beta: float) -> NDArray[np.float64]:
    """The policy that maximises  E_pi[r] - beta KL(pi || pi_ref)  over all policies.

        pi*(y) = pi_ref(y) exp(r(y) / beta) / Z,    Z = sum_y pi_ref(y) exp(r(y) / beta)

    Source: Rafailov et al. 2023 (DPO), eq. 3 (objective) and eq. 4 (optimum).

    Args:
        r: (K,) array, rewards: finite floats or integers, K >= 1.
        pi_ref: (K,) array, probabilities of the reference policy; they sum to 1 and may contain zeros.
        beta: weight of the KL term, > 0, in units of reward per nat.

    Returns:
        (K,) float64, probabilities that sum to 1, each right to 1e-8:
        - A response with pi_ref = 0 has probability exactly 0, whatever its reward; its reward has no influence at all.
        - Nothing overflows and nothing becomes NaN while |r| / beta is at most 1e6, pi_ref entries as small as 1e-300
          included.
        - Adding a constant to r changes nothing. For a small beta, equally good best responses share the mass in
          proportion to pi_ref; for a large beta the result tends to pi_ref.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): beta <= 0, probabilities that are negative or do not sum to
            1, NaN, different lengths.
    """
    r = finite_vector("r", r)
    pi_ref = probabilities("pi_ref", pi_ref, len(r))
    beta = positive("beta", beta)
    support = pi_ref > 0
    r, log_ref = r[support], np.log(pi_ref[support])
    # Shift before dividing: log pi_ref would drown in the rounding of r / beta (at beta = 1e-14 it is lost altogether).
    with np.errstate(over="ignore"):
        logits = (r - r.max()) / beta + log_ref
    weights = np.exp(logits - logits.max())
    policy = np.zeros(len(pi_ref))
    policy[support] = weights / weights.sum()
    return policy


def kl(p: ArrayLike, q: ArrayLike) -> float:
    """The Kullback-Leibler divergence  KL(p || q) = sum_y p(y) log(p(y) / q(y)),  in nats.

    Source: Cover and Thomas 2006, "Elements of Information Theory".

    Args:
        p, q: (K,) arrays, probabilities; each sums to 1 and may contain zeros.

    Returns:
        A float (a NumPy scalar will do) >= 0, right to 1e-8 (relative above 1):
        - a response with p = 0 contributes nothing, whatever q is there (0 log 0 = 0, also for q = 0);
        - +inf if some response has p > 0 and q = 0;
        - never negative: where rounding would make the sum of nearly equal p and q fall below 0, the result is 0.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): probabilities that are negative or do not sum to 1, NaN,
            different lengths.
    """
    p = probabilities("p", p)
    q = probabilities("q", q, len(p))
    support = p > 0
    p, q = p[support], q[support]
    # A difference of logarithms: the quotient p / q overflows for q below 1e-308. Where q = 0 the sum is +inf.
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.sum(p * (np.log(p) - np.log(q)))))


def tv(p: ArrayLike, q: ArrayLike) -> float:
    """The total variation distance  1/2 sum_y |p(y) - q(y)|:  the largest difference in the probability of any event.

    Source: the definition; the two forms agree, as half of what differs is a surplus of p, the other half one of q.

    Args:
        p, q: (K,) arrays, probabilities; each sums to 1 and may contain zeros.

    Returns:
        A float (a NumPy scalar will do) between 0 (p = q) and 1 (p and q have no response in common), right to 1e-12.

    The arguments are not modified.

    Raises:
        ValueError: for input without meaning (not graded): probabilities that are negative or do not sum to 1, NaN,
            different lengths.
    """
    p = probabilities("p", p)
    q = probabilities("q", q, len(p))
    return 0.5 * float(np.abs(p - q).sum())


# given
def closed_form_tables() -> dict[str, display.Table]:
    """The lecture's problem, and its optimum for each beta from the cautious to the greedy."""
    problem = display.Table(
        (("response", ""), ("r*", ".1f"), ("π_ref", ".3f")), list(zip(NAMES, R_TRUE, PI_REF, strict=True))
    )
    rows = [(np.inf, PI_REF @ R_TRUE, 0.0, *PI_REF)]
    for beta in [10.0, 2.0, 1.0, 0.5, 0.2, 0.05]:
        pi_star = optimal_policy(R_TRUE, PI_REF, beta)
        rows.append((beta, pi_star @ R_TRUE, kl(pi_star, PI_REF), *pi_star))
    columns = (("β", ".2f"), ("E[r*]", ".2f"), ("KL to π_ref", ".3f"), *((name, ".2f") for name in NAMES))
    return {"problem": problem, "optimum": display.Table(columns, rows)}


def demo_closed_form(plot: Path | None = None) -> dict[str, display.Table]:
    """Demo 1: reward against KL, traded by beta."""
    display.heading("Demo 1: the optimum of the RLHF objective, π*(y) ∝ π_ref(y) exp(r(y)/β)")
    tables = closed_form_tables()
    display.show(tables["problem"])
    display.show(tables["optimum"])
    display.observe(
        "β = inf is the reference policy itself. The smaller β is, the more of the mass goes to the best response: the "
        "expected reward and the KL rise together.",
        f"The KL has a ceiling. All mass on the best response costs -log π_ref(best) = {-np.log(PI_REF[0]):.3f} nats, "
        "and no β, however small, makes it cost more.",
        "A response that the reference never gives stays at probability 0: RLHF moves mass around within what the "
        "reference can say.",
    )
    if plot is not None:
        plot_closed_form(plot / "closed_form.png")
    return tables


def plot_closed_form(path: Path) -> None:
    """The optimal policy over beta, and the reward it buys against the KL it costs."""
    betas = np.geomspace(0.05, 20, 200)
    policies = np.array([optimal_policy(R_TRUE, PI_REF, beta) for beta in betas])
    costs = np.array([kl(policy, PI_REF) for policy in policies])
    with display.figure(path, 2, "What β buys and what it costs") as (left, right):
        styles = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))]
        for name, column, style in zip(NAMES, policies.T, styles, strict=True):
            left.semilogx(betas, column, linestyle=style, label=name)
        left.invert_xaxis()
        left.set(xlabel="β (smaller to the right)", ylabel="π*(response)", title="The optimal policy")
        right.plot(costs, policies @ R_TRUE, color=display.BLUE)
        for beta in [10.0, 2.0, 1.0, 0.5, 0.2]:
            point = optimal_policy(R_TRUE, PI_REF, beta)
            x, y = kl(point, PI_REF), point @ R_TRUE
            right.plot(x, y, "o", color=display.BLUE)
            offset = (6, -12) if beta > 0.2 else (16, -4)
            right.annotate(f"β = {beta:g}", (x, y), xytext=offset, textcoords="offset points")
        right.axvline(-np.log(PI_REF[0]), color=display.GREY, linestyle="--", label="−log π_ref(best)")
        right.set(xlabel="KL(π*‖π_ref) in nats", ylabel="expected reward", title="Reward against KL")
        right.set_xlim(-0.1, 2.75)
