"""Wrong answers to the functions of overoptimization.py: the reward model, and the experiment on best-of-n by it."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, ndtr, rel_entr, softmax

from harness.variants import mistake

# --- fit_reward_model -------------------------------------------------------------------------------------------------


def _logistic(margin):
    """(loss, slope) of the pairs."""
    return np.logaddexp(0, -margin), -expit(-margin)


def _ridge(l2):
    """The penalty as a function of r, with its gradient."""
    return lambda r: (l2 * (r @ r), 2 * l2 * r)


def _minimum(win, lose, K, penalty, cost=_logistic, start=0.0, weight=1.0, iterations=1000, tolerance=0.0):
    """The minimum of weight * mean cost + penalty over r, by L-BFGS over the different pairs."""
    (won, lost), counts = np.unique(np.stack([win, lose]), axis=1, return_counts=True)
    shares = weight * counts / counts.sum()

    def objective(r):
        (loss, slope), (price, pull) = cost(r[won] - r[lost]), penalty(r)
        gradient = np.bincount(won, shares * slope, K) - np.bincount(lost, shares * slope, K) + pull
        return shares @ loss + price, gradient

    options = {"maxiter": iterations, "maxfun": 20000, "ftol": tolerance, "gtol": 1e-12}
    return minimize(objective, np.zeros(K) + start, jac=True, method="L-BFGS-B", options=options).x


def _adam(gradient, r, steps, lr, decay=0.0):
    m, v = np.zeros_like(r), np.zeros_like(r)
    for t in range(1, steps + 1):
        g = gradient(r)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        r = r * (1 - lr * decay) - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return r


def _slope(win, lose, K, l2):
    """The gradient of the objective as a function of r, for optimisers that go step by step."""
    (won, lost), counts = np.unique(np.stack([win, lose]), axis=1, return_counts=True)
    signs, shares = np.eye(K)[won] - np.eye(K)[lost], counts / counts.sum()
    return lambda r: -(shares * expit(-(signs @ r))) @ signs + 2 * l2 * r


@mistake("fit_reward_model", "the penalty carries a factor 1/2: l2/2 times the sum of squares")
def half_the_penalty(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2 / 2))


@mistake("fit_reward_model", "the penalty is l2 times the mean of the squares, not their sum")
def mean_of_the_squares(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2 / K))


@mistake("fit_reward_model", "l2 is ignored: the penalty always has weight 1e-5")
def l2_is_ignored(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(1e-5))


@mistake("fit_reward_model", "there is no penalty at all")
def no_penalty(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(0.0))


@mistake("fit_reward_model", "l2 is squared in the penalty: the sum of (l2 r)²")
def l2_is_squared(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2**2))


@mistake("fit_reward_model", "the penalty is subtracted, which rewards large r", severity="blatant")
def penalty_is_subtracted(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _adam(_slope(win, lose, K, -l2), np.zeros(K), steps, lr)


@mistake("fit_reward_model", "the penalty is the norm of r, not its square")
def norm_without_the_square(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def penalty(r):
        size = np.sqrt(r @ r + 1e-12)
        return l2 * size, l2 * r / size

    return _minimum(win, lose, K, penalty)


@mistake("fit_reward_model", "the penalty is the sum of absolute rewards, as in the lasso")
def sum_of_absolute_rewards(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def penalty(r):
        size = np.sqrt(r * r + 1e-10)
        return l2 * size.sum(), l2 * r / size

    return _minimum(win, lose, K, penalty)


@mistake("fit_reward_model", "the squared margins of the pairs are penalised instead of the squared rewards")
def margins_are_penalised(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def cost(margin):
        loss, slope = _logistic(margin)
        return loss + l2 * margin**2, slope + 2 * l2 * margin

    return _minimum(win, lose, K, _ridge(0.0), cost)


@mistake("fit_reward_model", "the penalty acts on the responses of each pair, so that frequent ones are held back more")
def penalty_by_frequency(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    share = np.bincount(np.concatenate([win, lose]), minlength=K) / len(win)
    return _minimum(win, lose, K, lambda r: (l2 * share @ r**2, 2 * l2 * share * r))


@mistake("fit_reward_model", "Adam's weight_decay=l2 adds l2·r to the gradient, half of what l2·Σr² does")
def weight_decay_for_the_penalty(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    slope = _slope(win, lose, K, 0.0)
    return _adam(lambda r: slope(r) + l2 * r, np.zeros(K), steps, lr)


@mistake("fit_reward_model", "AdamW's decoupled weight decay is no penalty: it does not scale with the gradient")
def decoupled_weight_decay(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _adam(_slope(win, lose, K, 0.0), np.zeros(K), steps, lr, decay=2 * l2)


@mistake("fit_reward_model", "the log-likelihood is summed over the pairs, which makes the penalty n times weaker")
def sum_over_the_pairs(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2 / len(win)))


@mistake("fit_reward_model", "the sum over the pairs is divided by K instead of n")
def mean_over_the_responses(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2 * K / len(win)))


@mistake(
    "fit_reward_model", "winners and losers are exchanged: the best response gets the lowest reward", severity="blatant"
)
def winners_and_losers_exchanged(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(lose, win, K, _ridge(l2))


@mistake("fit_reward_model", "the mean chance of a win is maximised, without the logarithm", severity="blatant")
def sigmoid_without_the_logarithm(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def cost(margin):
        return expit(-margin), -expit(margin) * expit(-margin)

    return _minimum(win, lose, K, _ridge(l2), cost)


@mistake(
    "fit_reward_model",
    "margins are regressed on 1 with squared errors instead of the logistic loss",
    severity="blatant",
)
def margins_regressed_on_one(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2), lambda margin: ((margin - 1) ** 2, 2 * (margin - 1)))


@mistake(
    "fit_reward_model",
    "the chance of a win is Thurstone's Φ(margin) instead of the logistic function",
    severity="blatant",
)
def probit_for_logit(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def cost(margin):
        return -stats.norm.logcdf(margin), -np.exp(stats.norm.logpdf(margin) - stats.norm.logcdf(margin))

    return _minimum(win, lose, K, _ridge(l2), cost)


@mistake(
    "fit_reward_model", "the hinge max(0, 1 − margin) is minimised, as by a support vector machine", severity="blatant"
)
def hinge_for_logistic(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def cost(margin):
        return np.maximum(0, 1 - margin), -(margin < 1).astype(float)

    return _minimum(win, lose, K, _ridge(l2), cost)


@mistake("fit_reward_model", "the reward is the log-odds of the win rate, whoever the opponents were")
def log_odds_of_the_win_rate(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    won, lost = np.bincount(win, minlength=K), np.bincount(lose, minlength=K)
    return np.log((won + l2) / (lost + l2))


@mistake("fit_reward_model", "the reward is the share of wins less the share of losses", severity="blatant")
def share_of_wins(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    won, lost = np.bincount(win, minlength=K), np.bincount(lose, minlength=K)
    return (won - lost) / np.maximum(won + lost, 1)


@mistake(
    "fit_reward_model",
    "Elo updates go through the pairs one after another, and the last ones count most",
    severity="blatant",
)
def elo_updates(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    r = np.zeros(K)
    for w, l in zip(win, lose, strict=True):  # noqa: E741 - winner and loser
        surprise = expit(r[l] - r[w])
        r[w], r[l] = r[w] + lr * surprise, r[l] - lr * surprise
    return r


@mistake("fit_reward_model", "each different pair counts once, however often it occurs")
def different_pairs_once(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(*np.unique(np.stack([win, lose]), axis=1), K, _ridge(l2))


@mistake("fit_reward_model", "of two responses the one that won more often counts as the winner of all their pairs")
def majority_of_each_pair(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    wins = np.zeros((K, K))
    np.add.at(wins, (win, lose), 1)
    won = np.where(wins[win, lose] >= wins[lose, win], win, lose)
    return _minimum(won, win + lose - won, K, _ridge(l2))


@mistake("fit_reward_model", "gradient[win] -= pull keeps one pair of each response: fancy indexing does not add up")
def fancy_indexing_does_not_add_up(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def gradient(r):
        pull, g = expit(r[lose] - r[win]) / len(win), 2 * l2 * r
        g[win] -= pull
        g[lose] += pull
        return g

    return _adam(gradient, np.zeros(K), steps, lr)


@mistake(
    "fit_reward_model",
    "pairs of a response with itself are dropped before the mean, and the penalty weighs less",
    severity="extreme",
)
def self_pairs_dropped(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    different = win != lose
    return _minimum(win[different], lose[different], K, _ridge(l2))


@mistake("fit_reward_model", "plain gradient descent with step size 0.1 hardly moves in 1000 steps")
def plain_gradient_descent(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    slope, r = _slope(win, lose, K, l2), np.zeros(K)
    for _ in range(steps):
        r = r - lr * slope(r)
    return r


@mistake("fit_reward_model", "a tenth of the steps is taken, and the rewards are still on their way")
def tenth_of_the_steps(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _adam(_slope(win, lose, K, l2), np.zeros(K), steps // 10, lr)


@mistake("fit_reward_model", "the optimiser stops when the loss falls by less than 1e-5 in a step")
def stops_when_the_loss_hardly_falls(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2), tolerance=1e-5)


@mistake("fit_reward_model", "five Newton steps are taken, which is too few where a response always wins")
def five_newton_steps(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    slope, r, signs = _slope(win, lose, K, l2), np.zeros(K), np.eye(K)[win] - np.eye(K)[lose]
    for _ in range(5):
        p = expit(signs @ r)
        r = r - np.linalg.solve((signs.T * (p * (1 - p) / len(win))) @ signs + 2 * l2 * np.eye(K), slope(r))
    return r


@mistake("fit_reward_model", "rewards are clipped to [−3, 3]")
def rewards_are_clipped(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return np.clip(_minimum(win, lose, K, _ridge(l2)), -3, 3)


@mistake("fit_reward_model", "rewards are clipped to [−5, 5] for stability, which long chains of wins exceed")
def rewards_are_clipped_far_out(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return np.clip(_minimum(win, lose, K, _ridge(l2)), -5, 5)


@mistake("fit_reward_model", "the rewards are standardised to mean 0 and standard deviation 1", severity="blatant")
def rewards_are_standardised(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    r = _minimum(win, lose, K, _ridge(l2))
    return (r - r.mean()) / (r.std() + 1e-12)


@mistake("fit_reward_model", "the rewards are shifted so that the lowest one is 0, which moves the unseen ones off 0")
def lowest_reward_is_zero(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    r = _minimum(win, lose, K, _ridge(l2))
    return r - r.min()


@mistake("fit_reward_model", "the reward of response 0 is fixed at 0 and the others are relative to it")
def first_reward_is_zero(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    r = _minimum(win, lose, K, _ridge(l2))
    return r - r[0]


@mistake("fit_reward_model", "training starts from random rewards, which a response in no pair keeps")
def starts_from_random_rewards(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    start = 0.1 * np.random.default_rng(0).normal(size=K)
    return _adam(_slope(win, lose, K, l2), start, steps, lr)


@mistake("fit_reward_model", "training starts from rewards of its own each time, and no two fits are the same")
def starts_differently_each_time(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    start = np.zeros(K)
    start[np.union1d(win, lose)] = np.random.default_rng().normal(size=len(np.union1d(win, lose)))
    return _adam(_slope(win, lose, K, l2), start, steps, lr)


@mistake("fit_reward_model", "a response in no pair gets the mean reward of the others instead of 0")
def unseen_get_the_mean(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    seen, r = np.union1d(win, lose), 1e-3 + _minimum(win, lose, K, _ridge(l2))
    return np.where(np.isin(np.arange(K), seen), r, r[seen].mean())


@mistake("fit_reward_model", "a response in no pair gets the lowest reward, out of caution")
def unseen_get_the_lowest(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    r = _minimum(win, lose, K, _ridge(l2))
    return np.where(np.isin(np.arange(K), np.union1d(win, lose)), r, r.min())


@mistake("fit_reward_model", "a response in no pair gets NaN")
def unseen_get_nan(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return np.where(np.isin(np.arange(K), np.union1d(win, lose)), _minimum(win, lose, K, _ridge(l2)), np.nan)


@mistake("fit_reward_model", "only the rewards of responses that occur in pairs are returned")
def unseen_are_missing(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, K, _ridge(l2))[np.union1d(win, lose)]


@mistake("fit_reward_model", "K is ignored: the rewards end at the highest number that occurs")
def length_follows_from_the_data(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    return _minimum(win, lose, max(win.max(), lose.max()) + 1, _ridge(l2))


@mistake("fit_reward_model", "a hundredth of a tie is mixed into each label, so that no response always wins")
def labels_are_smoothed(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    def cost(margin):
        return np.logaddexp(0, -margin) + 0.01 * margin, -expit(-margin) + 0.01

    return _minimum(win, lose, K, _ridge(l2), cost)


@mistake("fit_reward_model", "the caller's pairs are sorted in place before they are counted", severity="extreme")
def pairs_sorted_in_place(win, lose, K, l2=1e-5, steps=1000, lr=0.1):
    order = np.lexsort([lose, win])
    win[:], lose[:] = win[order], lose[order]
    return _minimum(win, lose, K, _ridge(l2))


# --- overoptimization_experiment --------------------------------------------------------------------------------------

_N_LIST = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384]


class _Study(NamedTuple):
    """A world, the pairs drawn in it, and the reward model fitted to them."""

    r_true: Any
    pi_ref: Any
    a: Any
    b: Any
    r_hat: Any


def _world(rng, K):
    return rng.normal(size=K), rng.dirichlet(np.full(K, 0.3))


def _pairs(rng, pi_ref, n):
    return rng.choice(len(pi_ref), n, p=pi_ref), rng.choice(len(pi_ref), n, p=pi_ref)


def _labels(rng, gap):
    return rng.random(len(gap)) < expit(gap)


def _fitted(a, b, a_wins, K, l2):
    seen, position = np.unique(np.concatenate([np.where(a_wins, a, b), np.where(a_wins, b, a)]), return_inverse=True)
    r = np.zeros(K)
    r[seen] = _minimum(*position.reshape(2, -1), len(seen), _ridge(l2))
    return r


def _study(seed, K, n_pairs, l2, world=_world, pairs=_pairs, labels=_labels):
    """An experiment up to the reward model, right in all that is not said otherwise."""
    rng = np.random.default_rng(seed)
    r_true, pi_ref = world(rng, K)
    a, b = pairs(rng, pi_ref, n_pairs)
    return _Study(r_true, pi_ref, a, b, _fitted(a, b, labels(rng, r_true[a] - r_true[b]), K, l2))


def _best_of_n(scores, q, n):
    level = np.unique(scores, return_inverse=True)[1]
    mass = np.bincount(level, q)
    F = np.cumsum(mass) / mass.sum()
    return (F**n - np.append(0, F[:-1]) ** n)[level] * q / mass[level]


def _kl(p, q):
    return max(float(rel_entr(p, q).sum()), 0.0)


def _correlation(x, y, weights):
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    scale = np.sqrt(np.average(x * x, weights=weights) * np.average(y * y, weights=weights))
    return float(np.average(x * y, weights=weights) / scale) if scale > 0 else float("nan")


def _formula(n):
    return np.log(n) - (n - 1) / n


def _each(function, n_list=_N_LIST):
    return np.array([function(n) for n in n_list])


def _report(s, law=_best_of_n, picked_by=None, picked_by_truth=None):
    """The result of a study, right in all that is not said otherwise."""
    picked_by = picked_by or (lambda n: law(s.r_hat, s.pi_ref, n))
    picked_by_truth = picked_by_truth or (lambda n: law(s.r_true, s.pi_ref, n))
    picked = [picked_by(n) for n in _N_LIST]
    return {
        "kl": np.array([_kl(p, s.pi_ref) for p in picked]),
        "kl_formula": _each(_formula),
        "proxy": np.array([p @ s.r_hat for p in picked]),
        "gold": np.array([p @ s.r_true for p in picked]),
        "gold_select": np.array([picked_by_truth(n) @ s.r_true for n in _N_LIST]),
        "n_seen": len(np.union1d(s.a, s.b)),
        "corr_w": _correlation(s.r_hat, s.r_true, s.pi_ref),
        "corr": _correlation(s.r_hat, s.r_true, np.ones(len(s.r_true))),
    }


def _law(s):
    return lambda n: _best_of_n(s.r_hat, s.pi_ref, n)


@mistake("overoptimization_experiment", "true rewards are uniform on [0, 1] instead of standard normal")
def uniform_rewards(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, world=lambda rng, K: (rng.random(K), rng.dirichlet(np.full(K, 0.3)))))


@mistake("overoptimization_experiment", "true rewards have standard deviation 2 instead of 1")
def rewards_spread_twice(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def world(rng, K):
        r_true, pi_ref = _world(rng, K)
        return 2 * r_true, pi_ref

    return _report(_study(seed, K, n_pairs, l2, world=world))


@mistake("overoptimization_experiment", "true rewards are standardised within the world, and are no longer independent")
def rewards_are_standardised_in_the_world(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def world(rng, K):
        r_true, pi_ref = _world(rng, K)
        return (r_true - r_true.mean()) / (r_true.std() + 1e-12), pi_ref

    return _report(_study(seed, K, n_pairs, l2, world=world))


@mistake(
    "overoptimization_experiment", "pairs of a response with itself are counted, but the reward model never sees them"
)
def idle_pairs_are_not_fitted_to(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    rng = np.random.default_rng(seed)
    _world(rng, K), _pairs(rng, s.pi_ref, n_pairs)
    a_wins, two = _labels(rng, s.r_true[s.a] - s.r_true[s.b]), s.a != s.b
    r_hat = _fitted(s.a[two], s.b[two], a_wins[two], K, l2) if two.any() else np.zeros(K)
    return _report(s._replace(r_hat=r_hat))


@mistake("overoptimization_experiment", "l2 is divided by the number of pairs on its way to the reward model")
def penalty_is_shared_among_the_pairs(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2 / n_pairs))


@mistake("overoptimization_experiment", "the reference is uniform instead of drawn from Dirichlet(0.3)")
def uniform_reference(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, world=lambda rng, K: (rng.normal(size=K), np.full(K, 1 / K))))


@mistake("overoptimization_experiment", "the reference is drawn from Dirichlet(1), which has a shorter tail")
def dirichlet_one(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, world=lambda rng, K: (rng.normal(size=K), rng.dirichlet(np.ones(K)))))


@mistake(
    "overoptimization_experiment", "the Dirichlet's parameters are 0.3/K each, and a few responses have all the mass"
)
def dirichlet_divided_by_k(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def world(rng, K):
        q = rng.gamma(0.3 / K, size=K) + 1e-12
        return rng.normal(size=K), q / q.sum()

    return _report(_study(seed, K, n_pairs, l2, world=world))


@mistake("overoptimization_experiment", "the reference is a softmax of normal logits, not a Dirichlet draw")
def softmax_reference(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def world(rng, K):
        return rng.normal(size=K), softmax(rng.normal(size=K))

    return _report(_study(seed, K, n_pairs, l2, world=world))


@mistake(
    "overoptimization_experiment", "the reference is tilted by the true rewards, so that good responses are common"
)
def reference_knows_the_rewards(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def world(rng, K):
        r_true, pi_ref = _world(rng, K)
        return r_true, pi_ref * np.exp(r_true) / (pi_ref @ np.exp(r_true))

    return _report(_study(seed, K, n_pairs, l2, world=world))


@mistake("overoptimization_experiment", "the seed is ignored: every experiment has the same world")
def seed_is_ignored(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(0, K, n_pairs, l2))


@mistake("overoptimization_experiment", "the generator gets no seed, and an experiment cannot be repeated")
def generator_without_a_seed(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(None, K, n_pairs, l2))


@mistake("overoptimization_experiment", "the seed decides the world only: pairs and labels differ from call to call")
def seed_for_the_world_only(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def pairs(rng, pi_ref, n):
        return _pairs(np.random.default_rng(), pi_ref, n)

    return _report(_study(seed, K, n_pairs, l2, pairs=pairs))


@mistake(
    "overoptimization_experiment",
    "both responses of a pair come from the same stream, and every pair is one with itself",
    severity="blatant",
)
def one_stream_for_both_responses(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def pairs(rng, pi_ref, n):
        a, b = (np.random.default_rng(seed).choice(len(pi_ref), n, p=pi_ref) for _ in range(2))
        return a, b

    return _report(_study(seed, K, n_pairs, l2, pairs=pairs))


@mistake("overoptimization_experiment", "pairs are drawn uniformly from the responses, not from π_ref")
def uniform_pairs(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def pairs(rng, pi_ref, n):
        return rng.integers(K, size=n), rng.integers(K, size=n)

    return _report(_study(seed, K, n_pairs, l2, pairs=pairs))


@mistake("overoptimization_experiment", "the second response of a pair is drawn uniformly, not from π_ref")
def uniform_opponent(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def pairs(rng, pi_ref, n):
        return rng.choice(K, n, p=pi_ref), rng.integers(K, size=n)

    return _report(_study(seed, K, n_pairs, l2, pairs=pairs))


@mistake("overoptimization_experiment", "the two responses of a pair are made to differ: draws without replacement")
def pairs_of_different_responses(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def pairs(rng, pi_ref, n):
        a, b = _pairs(rng, pi_ref, n)
        for _ in range(10_000):
            again = np.flatnonzero(a == b)
            if len(again) == 0:
                break
            b[again] = rng.choice(K, len(again), p=pi_ref)
        return a, np.where(a == b, (a + 1) % K, b)

    return _report(_study(seed, K, n_pairs, l2, pairs=pairs))


@mistake("overoptimization_experiment", "pairs of a response with itself are dropped, and n_seen misses their response")
def self_pairs_are_dropped(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    rng = np.random.default_rng(seed)
    r_true, pi_ref = _world(rng, K)
    a, b = _pairs(rng, pi_ref, n_pairs)
    a, b = a[a != b], b[a != b]
    r_hat = _fitted(a, b, _labels(rng, r_true[a] - r_true[b]), K, l2) if len(a) else np.zeros(K)
    return _report(_Study(r_true, pi_ref, a, b, r_hat))


@mistake("overoptimization_experiment", "labels have no noise: the better response always wins")
def labels_without_noise(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, labels=lambda rng, gap: gap > 0))


@mistake("overoptimization_experiment", "labels are turned round: the worse response tends to win", severity="blatant")
def labels_turned_round(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, labels=lambda rng, gap: _labels(rng, -gap)))


@mistake("overoptimization_experiment", "labels are coin flips that do not look at the rewards")
def labels_are_coin_flips(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, labels=lambda rng, gap: rng.random(len(gap)) < 0.5))


@mistake("overoptimization_experiment", "a win has Thurstone's probability Φ(difference) instead of the logistic one")
def probit_labels(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, labels=lambda rng, gap: rng.random(len(gap)) < ndtr(gap)))


@mistake("overoptimization_experiment", "labels have temperature 2: half the difference decides")
def labels_with_temperature_two(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, labels=lambda rng, gap: _labels(rng, gap / 2)))


@mistake("overoptimization_experiment", "a tenth of the labels is flipped on top of Bradley-Terry's noise")
def flips_on_top(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def labels(rng, gap):
        return _labels(rng, gap) ^ (rng.random(len(gap)) < 0.1)

    return _report(_study(seed, K, n_pairs, l2, labels=labels))


@mistake("overoptimization_experiment", "one uniform number decides the labels of all pairs")
def one_coin_for_all_labels(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2, labels=lambda rng, gap: rng.random() < expit(gap)))


@mistake("overoptimization_experiment", "two responses are compared once, and all their pairs get the same label")
def one_label_for_two_responses(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def labels(rng, gap):
        level = np.unique(np.abs(gap), return_inverse=True)[1]
        return np.where(rng.random(level.max() + 1) < expit(np.unique(np.abs(gap))), 1, -1)[level] * gap >= 0

    return _report(_study(seed, K, n_pairs, l2, labels=labels))


@mistake("overoptimization_experiment", "the label's uniform number is the one that drew the first response")
def label_and_response_share_a_number(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    rng = np.random.default_rng(seed)
    r_true, pi_ref = _world(rng, K)
    u, F = rng.random(n_pairs), np.cumsum(pi_ref) / pi_ref.sum()
    a, b = np.searchsorted(F, u, side="right"), np.searchsorted(F, rng.random(n_pairs), side="right")
    r_hat = _fitted(a, b, u < expit(r_true[a] - r_true[b]), K, l2)
    return _report(_Study(r_true, pi_ref, a, b, r_hat))


@mistake(
    "overoptimization_experiment",
    "there are no preferences: the reward model is r* plus normal noise",
    severity="blatant",
)
def reward_model_is_noisy_truth(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s._replace(r_hat=s.r_true + np.random.default_rng(seed + 1).normal(size=K)))


@mistake("overoptimization_experiment", "l2 is not handed on: the reward model always has the default")
def l2_is_not_handed_on(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, 1e-5))


@mistake(
    "overoptimization_experiment", "winners and losers go to the reward model in the wrong order", severity="blatant"
)
def reward_model_is_fitted_to_the_losers(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s._replace(r_hat=-s.r_hat))


@mistake("overoptimization_experiment", "the fitted rewards are standardised before they are used", severity="blatant")
def fitted_rewards_are_standardised(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s._replace(r_hat=(s.r_hat - s.r_hat.mean()) / (s.r_hat.std() + 1e-12)))


@mistake(
    "overoptimization_experiment",
    "the fitted rewards are centred under π_ref, so that proxy starts at 0",
    severity="blatant",
)
def proxy_starts_at_zero(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s._replace(r_hat=s.r_hat - s.pi_ref @ s.r_hat))


@mistake("overoptimization_experiment", "the worst of n by r_hat is picked", severity="blatant")
def worst_of_n(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s, picked_by=lambda n: _best_of_n(-s.r_hat, s.pi_ref, n))


@mistake("overoptimization_experiment", "the true reward picks, so that nothing is over-optimised", severity="blatant")
def truth_picks(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s, picked_by=lambda n: _best_of_n(s.r_true, s.pi_ref, n))


@mistake(
    "overoptimization_experiment", "the n draws are uniform over the responses, not from π_ref", severity="blatant"
)
def draws_from_the_uniform_policy(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2), law=lambda scores, q, n: _best_of_n(scores, np.full(K, 1 / K), n))


@mistake(
    "overoptimization_experiment",
    "each n starts from the policy of the one before instead of π_ref",
    severity="blatant",
)
def policies_compound(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    total = dict(zip(_N_LIST, np.cumprod([float(n) for n in _N_LIST]), strict=True))
    return _report(s, picked_by=lambda n: _best_of_n(s.r_hat, s.pi_ref, total[n]))


@mistake(
    "overoptimization_experiment",
    "tied responses are put in the order of their numbers, and the last one gets most",
    severity="extreme",
)
def ties_by_number(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def law(scores, q, n):
        return _best_of_n(np.lexsort([np.arange(K), scores]).argsort().astype(float), q, n)

    return _report(_study(seed, K, n_pairs, l2), law=law)


@mistake(
    "overoptimization_experiment", "tied responses share their level's mass equally, not like π_ref", severity="extreme"
)
def ties_share_equally(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def law(scores, q, n):
        level = np.unique(scores, return_inverse=True)[1]
        p = np.bincount(level, _best_of_n(scores, q, n)) / np.bincount(level)
        return q.copy() if n == 1 else p[level]

    return _report(_study(seed, K, n_pairs, l2), law=law)


@mistake("overoptimization_experiment", "responses that were never seen cannot be picked", severity="blatant")
def unseen_cannot_be_picked(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    q = np.where(np.isin(np.arange(K), np.union1d(s.a, s.b)), s.pi_ref, 0.0)
    return _report(s, picked_by=lambda n: np.where(q > 0, _best_of_n(s.r_hat, q / q.sum(), n), 0.0))


@mistake("overoptimization_experiment", "from n = 1024 on the best response is taken for sure, as if n were infinite")
def thousand_is_infinite(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def law(scores, q, n):
        best = (scores == scores.max()) * q
        return best / best.sum() if n >= 1024 else _best_of_n(scores, q, n)

    return _report(_study(seed, K, n_pairs, l2), law=law)


@mistake("overoptimization_experiment", "the means are estimated from 1000 sampled picks instead of summed exactly")
def means_are_sampled(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    rng = np.random.default_rng([seed, 1])
    s = _study(seed, K, n_pairs, l2)

    def law(n):
        p = _best_of_n(s.r_hat, s.pi_ref, n)
        return np.bincount(rng.choice(K, 1000, p=p / p.sum()), minlength=K) / 1000

    sampled = [law(n) for n in _N_LIST]
    return _report(s) | {
        "proxy": np.array([p @ s.r_hat for p in sampled]),
        "gold": np.array([p @ s.r_true for p in sampled]),
    }


@mistake(
    "overoptimization_experiment", "π_ref is rounded to float32, whose sum is not 1 and is raised to the power 16384"
)
def reference_in_float32(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    def law(scores, q, n):
        order = np.unique(scores, return_inverse=True)[1]
        F = np.cumsum(np.bincount(order, q.astype(np.float32)).astype(np.float32), dtype=np.float32).astype(float)
        return (F**n - np.append(0, F[:-1]) ** n)[order] * q / np.bincount(order, q)[order]

    return _report(_study(seed, K, n_pairs, l2), law=law)


@mistake("overoptimization_experiment", "the curves leave out n = 1", severity="blatant")
def first_n_is_left_out(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return {key: value[1:] if np.ndim(value) else value for key, value in e.items()}


@mistake("overoptimization_experiment", "the curves are Python lists instead of arrays", severity="blatant")
def curves_are_lists(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return {key: value.tolist() if np.ndim(value) else value for key, value in e.items()}


@mistake(
    "overoptimization_experiment", "n runs through the powers of two up to 1024 instead of N_LIST", severity="blatant"
)
def powers_of_two(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    powers = dict(zip(_N_LIST, 2 ** np.arange(11), strict=True))
    e = _report(s, law=lambda scores, q, n: _best_of_n(scores, q, powers[n]))
    return e | {"kl_formula": _each(_formula, powers.values())}


@mistake(
    "overoptimization_experiment", "kl is the formula log n − (n−1)/n instead of the exact sum", severity="blatant"
)
def kl_is_the_formula(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2)) | {"kl": _each(_formula)}


@mistake("overoptimization_experiment", "kl and kl_formula are exchanged", severity="blatant")
def kl_and_formula_are_exchanged(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"kl": e["kl_formula"], "kl_formula": e["kl"]}


@mistake("overoptimization_experiment", "kl has the reference first: KL(π_ref‖p)", severity="blatant")
def kl_from_the_reference(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"kl": _each(lambda n: min(_kl(s.pi_ref, _law(s)(n)), 1e6))}


@mistake("overoptimization_experiment", "kl is measured from the uniform policy", severity="blatant")
def kl_from_uniform(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"kl": _each(lambda n: _kl(_law(s)(n), np.full(K, 1 / K)))}


@mistake("overoptimization_experiment", "kl is in bits", severity="blatant")
def kl_in_bits(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"kl": e["kl"] / np.log(2)}


@mistake("overoptimization_experiment", "kl is of the policy that r* picks, not of the one that r_hat picks")
def kl_of_the_perfect_selector(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"kl": _each(lambda n: _kl(_best_of_n(s.r_true, s.pi_ref, n), s.pi_ref))}


@mistake("overoptimization_experiment", "kl_formula is log n without its second term", severity="blatant")
def formula_is_log_n(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2)) | {"kl_formula": np.log(_N_LIST)}


@mistake("overoptimization_experiment", "proxy and gold are exchanged", severity="blatant")
def proxy_and_gold_are_exchanged(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"proxy": e["gold"], "gold": e["proxy"]}


@mistake(
    "overoptimization_experiment",
    "proxy is the largest fitted reward, not its mean under best-of-n",
    severity="blatant",
)
def proxy_is_the_largest_reward(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"proxy": np.full(len(_N_LIST), s.r_hat.max())}


@mistake("overoptimization_experiment", "gold is the reference's mean true reward at every n", severity="blatant")
def gold_of_the_reference(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"gold": np.full(len(_N_LIST), s.pi_ref @ s.r_true)}


@mistake(
    "overoptimization_experiment", "gold is measured as a gain over the reference, and starts at 0", severity="blatant"
)
def gold_is_a_gain(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"gold": e["gold"] - e["gold"][0], "gold_select": e["gold_select"] - e["gold"][0]}


@mistake("overoptimization_experiment", "gold_select is picked by r_hat again, and equals gold", severity="blatant")
def gold_select_by_the_proxy(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"gold_select": e["gold"].copy()}


@mistake(
    "overoptimization_experiment",
    "gold_select is the best true reward of all responses, whatever n is",
    severity="blatant",
)
def gold_select_is_the_maximum(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"gold_select": np.full(len(_N_LIST), s.r_true.max())}


@mistake("overoptimization_experiment", "gold_select is the fitted reward of what r* picks", severity="blatant")
def gold_select_is_a_fitted_reward(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"gold_select": _each(lambda n: _best_of_n(s.r_true, s.pi_ref, n) @ s.r_hat)}


@mistake("overoptimization_experiment", "n_seen counts the pairs", severity="blatant")
def n_seen_counts_pairs(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    return _report(_study(seed, K, n_pairs, l2)) | {"n_seen": n_pairs}


@mistake(
    "overoptimization_experiment", "n_seen counts the different pairs, not the responses in them", severity="blatant"
)
def n_seen_counts_different_pairs(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"n_seen": len({*zip(s.a.tolist(), s.b.tolist(), strict=True)})}


@mistake("overoptimization_experiment", "n_seen looks at the first response of each pair only")
def n_seen_of_the_first_column(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"n_seen": len(np.unique(s.a))}


@mistake(
    "overoptimization_experiment", "n_seen counts the rewards that are not 0, and misses responses of self-pairs only"
)
def n_seen_counts_rewards(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"n_seen": int(np.sum(np.abs(s.r_hat) > 1e-9))}


@mistake("overoptimization_experiment", "n_seen adds the different responses of the two columns, and counts many twice")
def n_seen_counts_twice(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"n_seen": len(np.unique(s.a)) + len(np.unique(s.b))}


@mistake("overoptimization_experiment", "corr looks at the responses that were seen only")
def corr_of_the_seen(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    seen = np.isin(np.arange(K), np.union1d(s.a, s.b)).astype(float)
    return _report(s) | {"corr": _correlation(s.r_hat, s.r_true, seen)}


@mistake("overoptimization_experiment", "corr compares ranks, as Spearman's coefficient does")
def corr_of_ranks(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    ranks = stats.rankdata(s.r_hat), stats.rankdata(s.r_true)
    return _report(s) | {"corr": _correlation(*ranks, np.ones(K))}


@mistake("overoptimization_experiment", "corr is the cosine of r_hat and r*: the means are not subtracted")
def corr_is_a_cosine(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    length = np.linalg.norm(s.r_hat) * np.linalg.norm(s.r_true)
    return _report(s) | {"corr": float(s.r_hat @ s.r_true / max(length, 1e-12))}


@mistake("overoptimization_experiment", "corr and corr_w are exchanged")
def correlations_are_exchanged(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"corr": e["corr_w"], "corr_w": e["corr"]}


@mistake("overoptimization_experiment", "corr_w has equal weights, and equals corr")
def corr_w_without_weights(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"corr_w": e["corr"]}


@mistake("overoptimization_experiment", "corr_w is the weighted covariance, not divided by the standard deviations")
def corr_w_is_a_covariance(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"corr_w": float(np.cov(s.r_hat, s.r_true, aweights=s.pi_ref)[0, 1])}


@mistake("overoptimization_experiment", "corr_w correlates π_ref r_hat with π_ref r*, instead of weighting the moments")
def corr_w_of_products(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"corr_w": _correlation(s.pi_ref * s.r_hat, s.pi_ref * s.r_true, np.ones(K))}


@mistake("overoptimization_experiment", "corr_w weights the products by π_ref, but subtracts unweighted means")
def corr_w_about_unweighted_means(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    x, y = s.r_hat - s.r_hat.mean(), s.r_true - s.r_true.mean()
    scale = np.sqrt((s.pi_ref @ x**2) * (s.pi_ref @ y**2))
    return _report(s) | {"corr_w": float(s.pi_ref @ (x * y) / scale) if scale > 0 else float("nan")}


@mistake("overoptimization_experiment", "corr_w is squared: the share of variance explained")
def corr_w_is_squared(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    e = _report(_study(seed, K, n_pairs, l2))
    return e | {"corr_w": e["corr_w"] ** 2}


@mistake("overoptimization_experiment", "corr_w weighs by a best-of-n policy (n = 8) instead of π_ref")
def corr_w_under_best_of_eight(seed, K=2000, n_pairs=1000, l2=1e-5, steps=1000):
    s = _study(seed, K, n_pairs, l2)
    return _report(s) | {"corr_w": _correlation(s.r_hat, s.r_true, _law(s)(8))}
