"""Collecting preferences in rounds: where the candidates come from, and which of them to compare.

Each round fits a reward model r = X w to all answers so far, samples a pool of candidate replies from the SFT policy
("offline") or from the RLHF policy of that reward model ("online"), chooses pairs from the pool, and has them compared.

Of a world (`world.World`, or anything that looks like it) the functions below use: X (N, d), the features of its
replies; ref_lp (N,), their log-probabilities under the SFT policy; gold (N,), their true quality; sample(logprobs, n,
rng), n reply numbers; label(a, b, rng), the answers 1.0 or 0.0 to comparisons; downstream(w, beta)["gold"], the
expected gold of the RLHF policy for the reward X w.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import display
from ._arguments import count, finite_vector
from .acquisition import RULES, acquisition_scores
from .laplace import fit_laplace, posterior_samples, sherman_morrison_update, sigmoid
from .world import Array, Indices, World, exact_stats, optimal_logprobs

# given
BETA = 0.3  # weight of the KL term of the RLHF policy
N_CANDIDATES = 3_000  # random pairs that a batch is picked from
N_DRAWS = 64  # posterior draws behind BALD, fresh ones for each pick
TIE = 1e-12  # scores that differ by no more are equal
STRATEGIES = {
    "offline_random": "offline, random",
    "offline_bald": "offline, BALD",
    "online_random": "online, random",
    "online_bald": "online, BALD",
    "online_dopt": "online, D-optimal",
    "online_dts": "online, double Thompson",
}


# graded
_PROMISING = 64  # rows that look best, scored first


def pick_batch(
    rule: str, world: Any, pool: ArrayLike, w: ArrayLike, cov: ArrayLike, per: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Pick `per` pairs of a pool greedily, each by its score given that the ones before it are already asked.

    1. Propose `N_CANDIDATES` candidate pairs at random: two positions of the pool, drawn uniformly and independently;
       candidates that are one and the same position are left out. (Whether two positions that hold the same reply are
       left out too is free; so is drawing candidates without replacement, and looking at all pairs of a small pool.)
    2. Score the candidates, u = X[a] - X[b], with `acquisition_scores` of the rule under N(w, C); at first C = cov.
       "bald" uses fresh draws from N(w, C) for each pick; their number is free, from 16 on (`N_DRAWS` will do).
    3. Take the candidate with the best score: the first that is within `TIE` of it. The same candidate is not picked
       again in this batch. (Its reply pair may be, as another candidate: answers are noisy, and step 4 discounts what
       is known.)
    4. Update C as if the answer were in, with p = sigmoid(u . w): the information does not depend on the answer, and w
       stays. Then on with 2, until there are `per` pairs.

    Args:
        rule: one of `acquisition.RULES`. With "random" every candidate is equally likely at each pick.
        world: only its X is used, (N, d).
        pool: (n,) reply numbers, n >= 2; a reply may stand in it several times.
        w, cov: (d,) mean and (d, d) covariance of the posterior.
        per: number of pairs, an integer >= 1.
        rng: where all randomness comes from; the order in which it is used is free.

    Returns:
        (A, B), two integer arrays (per,) of reply numbers (not positions): pair k compares A[k] and B[k]. Which of a
        pair is called A is free. In a pool that holds a single reply the pairs are void, that reply against itself.
        Arguments are not modified.

    Raises:
        ValueError: an unknown rule (graded); a pool of fewer than two positions, arrays that do not
            fit each other (not graded). (More pairs than candidates, not graded either: the reference starts anew with
            all candidates, keeping C.)

    Source: greedy picks come within 1 - 1/e of the best batch where the gain is submodular (Nemhauser, Wolsey and
    Fisher 1978); the log-determinant is (Srinivas et al. 2010, "Gaussian process optimization in the bandit setting",
    section 2).
    """
    if rule not in RULES:
        raise ValueError(f"rule: must be one of {', '.join(RULES)}, got {rule!r}")
    pool, w, per = _pool(pool, minimum=2), finite_vector("w", w), count("per", per)
    a, b = _candidates(pool, rng)
    if rule == "random":
        rows, row_of = world.X[a] - world.X[b], np.arange(len(a))
    else:
        rows, row_of = _distinct_questions(world.X, a, b)
    C = np.array(cov, dtype=np.float64)
    available, open_candidates = np.ones(len(a), dtype=bool), np.bincount(row_of)
    picked = []
    for _ in range(per):
        if rule == "bald":
            samples = posterior_samples(w, C, N_DRAWS, rng)
            scores = _bald_of_contenders(rows, w, C, rng, samples, open_candidates > 0)
        else:
            scores = acquisition_scores(rule, rows, w, C, rng)
        k = _first_best(np.where(available, scores[row_of], -np.inf))
        picked.append(k)
        available[k] = False
        open_candidates[row_of[k]] -= 1
        if not available.any():
            available[:], open_candidates = True, np.bincount(row_of)
        u = rows[row_of[k]]
        C = sherman_morrison_update(C, u, float(sigmoid(u @ w)))
    return a[picked], b[picked]


def pick_double_thompson(
    world: Any, pool: ArrayLike, w: ArrayLike, cov: ArrayLike, per: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Pick `per` pairs by double Thompson sampling: the favourites of two reward models drawn from the posterior.

    For each pair anew, draw two independent weight vectors from N(w, cov). Each names its favourite, the reply of the
    pool with the highest X . weights; among equal scores the first position of the pool that is within `TIE` of the
    best. If the two name the same reply (replies are compared, not positions), the second is replaced by an opponent
    drawn uniformly from the positions of the pool that hold another reply, or from all positions if there is none. The
    posterior is not updated within the batch, and a pair may come again.

    Args:
        world: only its X is used, (N, d).
        pool: (n,) reply numbers, n >= 1; a reply may stand in it several times, and then is as many times as likely to
            be drawn as an opponent.
        w, cov: (d,) mean and (d, d) covariance of the posterior.
        per: number of pairs, an integer >= 1.
        rng: where all randomness comes from; the order in which it is used is free.

    Returns:
        (A, B), two integer arrays (per,) of reply numbers (not positions): pair k compares A[k] and B[k]. Which of a
        pair is called A is free. A reply meets itself only if the pool holds no other. Arguments are not modified.

    Raises (not graded):
        ValueError: an empty pool, arrays that do not fit each other.

    Source: simplified from Dwaracherla et al. 2024, "Efficient exploration for LLMs", arXiv 2402.00396 (there a reply
    that differs is looked for in further draws before one is drawn uniformly); the name is from Wu and Liu 2016,
    "Double Thompson sampling for dueling bandits", arXiv 1604.07101.
    """
    pool, per = _pool(pool, minimum=1), count("per", per)
    draws = posterior_samples(w, cov, 2 * per, rng)
    favourites = [_first_best(scores) for scores in draws @ world.X[pool].T]
    pairs = np.array(favourites, dtype=np.int64).reshape(per, 2)
    for pair in pairs:
        first, second = pool[pair]
        if first == second:
            others = np.flatnonzero(pool != first)
            pair[1] = rng.choice(others if len(others) else len(pool))
    return pool[pairs[:, 0]], pool[pairs[:, 1]]


def run(
    world: Any,
    strategy: str,
    rep: int,
    rounds: int = 8,
    per: int = 20,
    warmup: int = 20,
    pool_size: int = 200,
) -> dict[int, tuple[float, float]]:
    """Collect preferences in rounds with one strategy; report after each fit how good RLHF with that reward model is.

    Warm-up: `warmup` pairs, all replies drawn from the SFT policy with world.sample, are compared, and `fit_laplace`
    (prior precision 1) fits w and cov to U = X[a] - X[b] and the answers of world.label(a, b). Each round then
      1. samples a fresh pool of `pool_size` replies, with world.sample: from world.ref_lp if the strategy is
         "offline_...", and from the RLHF policy of the current reward model, proportional to exp(ref_lp + X w / BETA),
         if "online_...";
      2. chooses `per` pairs of the pool with the current w and cov: "..._random": both replies from positions of the
         pool drawn uniformly (whether the two may be one position is free; replies may be equal, and such a label is
         wasted but counts); "..._bald", "..._dopt": `pick_batch` with that rule; "..._dts": `pick_double_thompson`;
      3. asks world.label(A, B) for these pairs, adds them to all data so far, warm-up included, and fits again.

    Args:
        world: see the module; its X, ref_lp, gold, sample, label and downstream are used, and it is not modified.
        strategy: one of `STRATEGIES`.
        rep: an integer >= 0, the seed of this repetition: all randomness comes from it. The same rep gives the same
            result, another rep other data. The warm-up pairs and answers of a rep are the same for every strategy. A
            run with fewer rounds is a prefix of a longer one.
        rounds, per, warmup, pool_size: integers; rounds >= 0, the others >= 1 (pool_size >= 2 for bald and dopt).
            The defaults collect 180 labels.

    Returns:
        {number of labels so far: (gold, pool gold)} with rounds + 1 entries, keys warmup, warmup + per, ... in this
        order. gold is world.downstream(w, BETA)["gold"] of the reward model fitted to that many labels; pool gold is
        the mean of world.gold over the pool (all of it, not the chosen pairs) that the last `per` of them came from: a
        pool of the policy one entry before. For the warm-up, which has no pool, pool gold is NaN. Both are floats.

    Raises:
        ValueError: an unknown strategy (graded), whatever `rounds` is; numbers out of range (not graded).

    Source: comparisons of the newest policy's own replies before each round of training, as in Touvron et al. 2023
    ("Llama 2"), section 3.2.1; here with a policy in closed form.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    source, rule = strategy.split("_")
    rounds, per, warmup = count("rounds", rounds), count("per", per, minimum=1), count("warmup", warmup, minimum=1)
    pool_size = count("pool_size", pool_size, minimum=1)
    rng = np.random.default_rng(count("rep", rep))
    a = world.sample(world.ref_lp, warmup, rng)
    b = world.sample(world.ref_lp, warmup, rng)
    U, Y = world.X[a] - world.X[b], world.label(a, b, rng)
    w, cov = fit_laplace(U, Y)
    results = {len(Y): (float(world.downstream(w, BETA)["gold"]), float("nan"))}
    for _ in range(rounds):
        policy = world.ref_lp if source == "offline" else optimal_logprobs(world.ref_lp, world.X @ w, BETA)
        pool = world.sample(policy, pool_size, rng)
        if rule == "random":
            a, b = rng.choice(pool, per), rng.choice(pool, per)
        elif rule == "dts":
            a, b = pick_double_thompson(world, pool, w, cov, per, rng)
        else:
            a, b = pick_batch(rule, world, pool, w, cov, per, rng)
        U = np.concatenate([U, world.X[a] - world.X[b]])
        Y = np.concatenate([Y, world.label(a, b, rng)])
        w, cov = fit_laplace(U, Y)
        results[len(Y)] = (float(world.downstream(w, BETA)["gold"]), float(np.mean(world.gold[pool])))
    return results


def _pool(values: ArrayLike, minimum: int) -> Indices:
    """`values` as a vector of reply numbers, at least `minimum` of them."""
    pool = np.asarray(values)
    if pool.ndim != 1 or len(pool) < minimum or not np.issubdtype(pool.dtype, np.integer):
        raise ValueError(f"pool: expected {minimum} or more reply numbers, got {pool.dtype} of shape {pool.shape}")
    return pool


def _candidates(pool: Indices, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Random candidate pairs of a pool, as two columns: different replies, or void pairs if it holds only one."""
    i, j = rng.integers(0, len(pool), (2, N_CANDIDATES))
    different = pool[i] != pool[j]
    keep = different if different.any() else i != j
    return pool[i[keep]], pool[j[keep]]


def _distinct_questions(X: Array, a: Indices, b: Indices) -> tuple[Array, Indices]:
    """Feature differences of the pairs (a, b), each question once, and for each pair the row that is its own.

    BALD and D-optimality see a pair by its features only, and either way round. Online, 3,000 candidates of 200 replies
    ask about 100 different questions in the last rounds (offline 1,900), so this saves most of the scoring.
    """
    replies, reply = np.unique([a, b], return_inverse=True)
    kinds, kind = np.unique(X[replies], axis=0, return_inverse=True)
    first, second = kind[reply]
    pairs, row_of = np.unique(np.minimum(first, second) * len(kinds) + np.maximum(first, second), return_inverse=True)
    return kinds[pairs // len(kinds)] - kinds[pairs % len(kinds)], row_of


def _bald_of_contenders(
    rows: Array, w: Array, cov: Array, rng: np.random.Generator, samples: Array, open_rows: NDArray[np.bool_]
) -> Array:
    """BALD of the rows that may be picked and can be the best, -inf for the others.

    The score is the least mean KL(p_s || q) over all q, so at most the mean of KL(sigmoid(z) || sigmoid(m)) with m the
    mean of z. That KL is at most (z - m)^2 / 8, as log(1 + exp(z)) bends by at most 1/4: so var(z) bounds the score
    without an exponential. Rows that are best in the limit of a small variance, sigmoid'(m) var(z) / 2, are scored
    first; then offline a quarter of the rows, online fewer, have bounds that reach the best of these.
    """
    mean = samples.mean(axis=0)
    spread = (samples - mean).T @ (samples - mean) / len(samples)
    variance = np.where(open_rows, np.einsum("ij,ij->i", rows @ spread, rows), -1.0)
    m = np.abs(rows @ mean)
    small = np.exp(-m)
    guess = variance * small / (1.0 + small) ** 2
    promising = np.argpartition(-guess, _PROMISING)[:_PROMISING] if len(rows) > _PROMISING else np.arange(len(rows))
    promising = promising[open_rows[promising]]
    scores = np.full(len(rows), -np.inf)
    scores[promising] = acquisition_scores("bald", rows[promising], w, cov, rng, samples)
    bound = variance / 8.0
    contenders = np.flatnonzero(np.isneginf(scores) & open_rows & (bound >= scores.max() - TIE))
    scores[contenders] = acquisition_scores("bald", rows[contenders], w, cov, rng, samples)
    return scores


def _first_best(scores: Array) -> int:
    """Position of the first score within TIE of the best: which of equal scores wins must not depend on rounding."""
    return int(np.argmax(scores >= scores.max() - TIE))


# given
class Comparison(NamedTuple):
    """Results of all strategies on one world. Keys of the dicts: `STRATEGIES`; their arrays: (repetitions, fits)."""

    labels: list[int]  # number of labels at each fit
    gold: dict[str, Array]  # of the RLHF policy of that fit
    pool_gold: dict[str, Array]  # mean over the pool that the last labels came from; NaN at the first fit
    sft: float  # gold of the SFT policy
    perfect: float  # gold of the RLHF policy whose reward model is the true utility

    def final(self, strategy: str) -> Array:
        """Gold of each repetition at the last fit."""
        return self.gold[strategy][:, -1]


def compare_strategies(
    world: World, repetitions: int = 10, watch: Callable[[list[tuple[str, int]]], Iterable[tuple[str, int]]] = list
) -> Comparison:
    """Run every strategy `repetitions` times; `watch` is handed the list of runs and passes them on one by one."""
    runs: dict[str, list[dict[int, tuple[float, float]]]] = {strategy: [] for strategy in STRATEGIES}
    for strategy, rep in watch([(strategy, rep) for rep in range(repetitions) for strategy in STRATEGIES]):
        runs[strategy].append(run(world, strategy, rep))
    values = {strategy: np.array([list(result.values()) for result in results]) for strategy, results in runs.items()}
    perfect = exact_stats(optimal_logprobs(world.ref_lp, world.util, BETA), world.ref_lp)
    return Comparison(
        labels=list(runs["offline_random"][0]),
        gold={strategy: array[:, :, 0] for strategy, array in values.items()},
        pool_gold={strategy: array[:, :, 1] for strategy, array in values.items()},
        sft=exact_stats(world.ref_lp, world.ref_lp)["gold"],
        perfect=perfect["gold"],
    )


def standard_error(values: Array) -> Array:
    """Standard error of the mean over the first axis."""
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


# What the observations speak of: (a strategy, the one it is compared with).
CONTRASTS = [
    ("online_random", "offline_random"),
    ("online_bald", "offline_bald"),
    ("offline_bald", "offline_random"),
    ("online_bald", "online_random"),
    ("online_dopt", "online_random"),
    ("online_dts", "online_random"),
]


def gold_table(results: Comparison) -> display.Table:
    """Mean gold at every second fit, with the standard error at the last one, and the mean gold of the last pool."""
    shown = range(0, len(results.labels), 2)
    rows = [
        [
            name,
            *results.gold[strategy].mean(axis=0)[shown],
            standard_error(results.final(strategy)),
            results.pool_gold[strategy][:, -1].mean(),
        ]
        for strategy, name in STRATEGIES.items()
    ]
    headings = [(str(results.labels[k]), ".2f") for k in shown]
    return display.Table([("labels:", ""), *headings, ("s.e.", ".2f"), ("last pool", ".2f")], rows)


def contrast_table(results: Comparison) -> display.Table:
    """Differences between strategies at the last fit, paired by repetition."""
    rows = []
    for better, worse in CONTRASTS:
        difference = results.final(better) - results.final(worse)
        rows.append([f"{STRATEGIES[better]} minus {STRATEGIES[worse]}", difference.mean(), standard_error(difference)])
    return display.Table([(f"difference at {results.labels[-1]} labels", ""), ("mean", "+.3f"), ("s.e.", ".3f")], rows)


def demo_online_collection(plot: Path | None = None) -> None:
    """Six ways to collect 180 preferences, ten repetitions each."""
    display.heading("Collecting preferences in rounds: from which replies, and which pairs")
    world = World()
    results = compare_strategies(world, watch=lambda runs: display.progress(runs, "collecting"))
    repetitions = len(results.final("online_random"))
    display.say(
        f"Expected gold of the RLHF policy (beta = {BETA}) of the model fitted so far, mean of {repetitions} runs.",
        f"SFT policy: {results.sft:.3f}. RLHF policy of a perfect reward model: {results.perfect:.3f}.",
    )
    display.show(gold_table(results))
    display.show(contrast_table(results))
    display.observe(
        "Online is clearly better than offline. Candidates from the current policy bring answers about the "
        "replies it has moved to; where the reward model overrates one, the next round corrects it. After a few "
        "rounds every online strategy is close to a perfect reward model. (That is no ceiling: a reward twice as "
        "large has more gold, at a larger KL.)",
        "Offline, BALD is ahead of random pairs, which may hardly meet the hazards. Online, random pairs are as "
        "good as chosen ones: the policy's replies are good already, and which of two good replies is better is "
        "just what RLHF needs to know. Double Thompson sampling is as good, not better: a pool has 200 replies, "
        "and 16 features.",
        f"Mind the standard errors. {repetitions} runs show the first point and hint at the second. Over 200 runs, "
        "BALD gained 0.49 (0.06) offline, and lost 0.07 (0.01) to random pairs online; D-optimality lost 0.08 "
        "(0.01), double Thompson 0.03 (0.01).",
        "Last pool: online, people compare good replies with good replies. (The pool came from the policy of the "
        "fit before.) The price is that many pairs look alike or are one reply twice, which wastes the label.",
        f"All but the first point are facts about this world and beta = {BETA}. And here the RLHF policy is a "
        "formula; elsewhere each round has to train one, and wait for its answers.",
    )
    if plot is not None:
        plot_gold(results, plot / "online_collection.png")


# Colour tells how pairs are chosen, line style where the replies come from; markers do for readers without colours.
LOOKS = {
    "offline_random": (display.GREY, "--", "s"),
    "offline_bald": (display.ORANGE, "--", "o"),
    "online_random": (display.BLUE, "-", "s"),
    "online_bald": (display.RED, "-", "o"),
    "online_dopt": (display.GREEN, "-", "^"),
    "online_dts": (display.PURPLE, "-", "D"),
}


def plot_gold(results: Comparison, path: Path) -> None:
    """Gold against labels for the six strategies, with bands of one standard error; a second panel enlarges the top."""
    repetitions = len(results.final("online_random"))
    title = f"RLHF with a reward model fitted to n labels, beta = {BETA}"
    with display.figure(path, panels=2, title=title) as (whole, top):
        for strategy, name in STRATEGIES.items():
            colour, line, marker = LOOKS[strategy]
            mean, error = results.gold[strategy].mean(axis=0), standard_error(results.gold[strategy])
            for panel in (whole, top):
                if panel is top and strategy == "offline_random":
                    continue  # far below
                label = name if panel is whole else None
                panel.plot(results.labels, mean, line, color=colour, marker=marker, markersize=4.5, label=label)
                panel.fill_between(results.labels, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
        for panel in (whole, top):
            panel.axhline(results.perfect, color="black", linewidth=1, linestyle=":")
            panel.set_xticks(results.labels)
            panel.set_xlabel("number of labels n")
        last = results.labels[-1]
        whole.axhline(results.sft, color="black", linewidth=1, linestyle=":")
        whole.text(last, results.sft + 0.04, "SFT policy", ha="right", va="bottom", fontsize=9)
        whole.set_ylim(0.2, 4.2)
        whole.set_ylabel("expected gold of the policy (points)")
        whole.set_title(f"mean of {repetitions} repetitions, band: one standard error", fontsize=10)
        whole.legend(loc="lower right", bbox_to_anchor=(1.0, 0.12), fontsize=9)
        top.text(last, results.perfect + 0.01, "perfect reward model", ha="right", va="bottom", fontsize=9)
        top.set_ylim(3.2, 4.05)
        top.set_xlim(left=results.labels[1])
        top.set_title("the top enlarged (offline, random is below)", fontsize=10)
