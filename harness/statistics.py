"""Designs of statistical facts: rates go in, sample size and threshold come out.

Every design keeps the chance that a right implementation fails at or below `alpha` (1e-9 unless said), by an exact law
or a bound that holds for every n; and chooses n so that the deviation it is to detect is missed with probability at
most `MISS`. An asserting method spends its `alpha`; `spent` tallies what a fact has spent, and the fact declares it
(`false_alarm=` of `harness.facts.fact`), so that the sum over a suite is known before it runs.

A design can be tried: `simulate` checks it on a sample of its own law, or of a wrong one that it is to detect.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from harness.tolerance import Contradiction

ALPHA = 1e-9
MISS = 1e-3
N_MAX = 2**24

Array = NDArray[np.float64]

AnyDesign = TypeVar("AnyDesign")


class Log(NamedTuple):
    """What facts do with designs: those they make, each with the wrong laws that it is to detect, and those they check.

    Where alpha is spent without a design, None is checked.
    """

    made: list[tuple[Any, tuple[Any, ...]]]
    checked: list[Any]


_tally: ContextVar[list[float] | None] = ContextVar("tally", default=None)
_log: ContextVar[Log | None] = ContextVar("log", default=None)


@contextmanager
def spending() -> Iterator[list[float]]:
    """Collect what the designs used inside the block spend."""
    tally: list[float] = []
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


@contextmanager
def recording() -> Iterator[Log]:
    """Collect the designs that are made and checked inside the block."""
    log = Log([], [])
    token = _log.set(log)
    try:
        yield log
    finally:
        _log.reset(token)


def spend(alpha: float, design: object = None) -> None:
    """Note a decision that a right implementation fails with probability at most `alpha`."""
    tally, log = _tally.get(), _log.get()
    if tally is not None:
        tally.append(alpha)
    if log is not None:
        log.checked.append(design)


def _made(design: AnyDesign, *wrong_laws: object) -> AnyDesign:
    log = _log.get()
    if log is not None:
        log.made.append((design, wrong_laws))
    return design


class Frequency(NamedTuple):
    """A count of n independent trials of probability p is in [low, high], but for `alpha` (exact binomial tails)."""

    p: float
    n: int
    low: int
    high: int
    alpha: float

    def check(self, successes: int, message: str) -> None:
        """Contradict when the count is outside [low, high]."""
        spend(self.alpha, self)
        if not self.low <= successes <= self.high:
            raise Contradiction(
                f"{message}: {successes} of {self.n}; chance allows {self.low} to {self.high}",
                got=successes / self.n,
                expected=self.p,
            )

    def at(self, alpha: float) -> "Frequency":
        """The same sample at another rate. A side that is open stays open."""
        low, high = _binomial_range(self.p, self.n, alpha)
        return self._replace(low=low if self.low > 0 else 0, high=high if self.high < self.n else self.n, alpha=alpha)

    def simulate(self, rng: np.random.Generator, wrong: float | None = None) -> None:
        """Check a count of trials of probability p, or `wrong`."""
        self.check(int(rng.binomial(self.n, self.p if wrong is None else wrong)), "simulated count")


def _binomial_range(p: float, n: int, alpha: float) -> tuple[int, int]:
    return int(stats.binom.ppf(alpha / 2, n, p)), int(stats.binom.isf(alpha / 2, n, p))


def frequency(p: float, *, detects: float, alpha: float = ALPHA) -> Frequency:
    """The smallest n at which a probability of `detects` instead of `p` is missed with probability <= `MISS`."""

    def design(n: int) -> Frequency:
        return Frequency(p, n, *_binomial_range(p, n, alpha), alpha)

    def missed(n: int) -> float:
        d = design(n)
        return float(stats.binom.cdf(d.high, n, detects) - stats.binom.cdf(d.low - 1, n, detects))

    return _made(design(_smallest(lambda n: missed(n) <= MISS)), detects)


class Multinomial(NamedTuple):
    """Counts over the cells of `law` have G = 2 sum N log(N / (n p)) <= threshold, but for `alpha`.

    The bound holds for every n and every law (Agrawal 2020): n KL(p_hat || p) has at most the moment generating
    function of a Gamma(cells - 1, 1) variable; Chernoff's step gives, with k = cells - 1,
    exp(-x) (e x / k)^k = alpha  at  G = 2 x.
    """

    law: tuple[float, ...]
    n: int
    threshold: float
    alpha: float

    def check(self, counts: ArrayLike, message: str) -> None:
        """Contradict when G is above the threshold, or when a cell of probability 0 was met."""
        spend(self.alpha, self)
        observed, p = np.asarray(counts, dtype=np.float64), np.asarray(self.law)
        g = g_statistic(observed, p)
        if observed.sum() != self.n or not g <= self.threshold:
            raise Contradiction(
                f"{message}: G = {g:.4g} over {len(p)} cells, {self.threshold:.4g} allowed",
                got=observed / max(observed.sum(), 1.0),
                expected=p,
            )

    def at(self, alpha: float) -> "Multinomial":
        """The same sample at another rate."""
        return self._replace(threshold=agrawal_threshold(len(self.law), alpha), alpha=alpha)

    def simulate(self, rng: np.random.Generator, wrong: tuple[float, ...] | None = None) -> None:
        """Check counts of draws from the law, or from `wrong`."""
        self.check(rng.multinomial(self.n, self.law if wrong is None else wrong), "simulated counts")


def multinomial(law: ArrayLike, *, detects: Sequence[ArrayLike], alpha: float = ALPHA) -> Multinomial:
    """The smallest n at which each of the wrong laws `detects` is missed with probability about `MISS` or less.

    Power by the normal approximation of the log-likelihood ratio, which is where G of a wrong law concentrates.
    """
    p = np.asarray(law, dtype=np.float64)
    threshold = agrawal_threshold(len(p), alpha)
    z = stats.norm.isf(MISS)

    def enough(wrong: Array) -> float:
        met = wrong > 0
        impossible = float(wrong[p == 0].sum())
        if impossible > 0:  # one draw there is enough
            return 1.0 if impossible >= 1 else float(np.log(MISS) / np.log1p(-impossible))
        ratio = np.log(wrong[met] / p[met])
        mean = float(wrong[met] @ ratio)
        sd = float(np.sqrt(wrong[met] @ (ratio - mean) ** 2))
        # 2 n mean - z 2 sqrt(n) sd = threshold, solved for sqrt(n)
        return float((z * sd + np.sqrt((z * sd) ** 2 + 2 * mean * threshold)) / (2 * mean)) ** 2

    n = max(enough(np.asarray(wrong, dtype=np.float64)) for wrong in detects)
    if not n <= N_MAX:
        raise ValueError(f"detects: no sample of at most {N_MAX} tells these laws apart")
    design = Multinomial(tuple(p.tolist()), int(np.ceil(n)), threshold, alpha)
    return _made(design, *(tuple(np.asarray(wrong, dtype=np.float64).tolist()) for wrong in detects))


def agrawal_threshold(cells: int, alpha: float = ALPHA) -> float:
    """G of `cells` cells exceeds this with probability at most `alpha`, whatever n and the law."""
    k = cells - 1
    x = optimize.brentq(lambda x: -x + k * (1 + np.log(x / k)) - np.log(alpha), k, 100 * k + 1000)
    return 2 * float(x)


def g_statistic(counts: ArrayLike, law: ArrayLike) -> float:
    """G = 2 sum N log(N / (n p)); infinite when a cell of probability 0 was met."""
    observed, p = np.asarray(counts, dtype=np.float64), np.asarray(law, dtype=np.float64)
    met = observed > 0
    with np.errstate(divide="ignore"):
        return float(2 * (observed[met] * np.log(observed[met] / (observed.sum() * p[met]))).sum())


class GaussianSample(NamedTuple):
    """n draws of N(mean, cov) in d dimensions: mean, size and shape of the spread, each but for a third of `alpha`.

    `check` whitens the draws to z: sum |z|^2 ~ chi2(n d) and n |mean z|^2 ~ chi2(d) are exact. The shape of the spread
    is held by a bound on each entry of the second moment S = z'z/n: n S_ii ~ chi2(n), and S_ij = (A - B)/2 with n A and
    n B ~ chi2(n); a union bound over entries and tails.
    """

    d: int
    n: int
    alpha: float

    def check(self, draws: Array, mean: Array, cov: Array, message: str) -> None:
        """Contradict when the draws are not those of N(mean, cov); `cov` is positive definite."""
        spend(self.alpha, self)
        n, d, third = self.n, self.d, self.alpha / 3
        z = np.linalg.solve(np.linalg.cholesky(cov), (draws - mean).T).T
        shift = n * float((z.mean(axis=0) ** 2).sum())
        if not shift <= stats.chi2.isf(third, d):
            raise Contradiction(f"{message}: the mean is off", got=draws.mean(axis=0), expected=mean)
        size = float((z**2).sum())
        if not stats.chi2.ppf(third / 2, n * d) <= size <= stats.chi2.isf(third / 2, n * d):
            raise Contradiction(f"{message}: the spread is {np.sqrt(size / (n * d)):.3f} times what it should be")
        low, high = self._entry_range()
        error = z.T @ z / n - np.eye(d)
        if not ((error >= low).all() and (error <= high).all()):
            raise Contradiction(f"{message}: the covariance is off", got=np.cov(draws.T), expected=cov)

    def at(self, alpha: float) -> "GaussianSample":
        """The same sample at another rate."""
        return self._replace(alpha=alpha)

    def simulate(self, rng: np.random.Generator, wrong: float = 1.0) -> None:
        """Check draws whose standard deviations are `wrong` times what they should be."""
        self.check(wrong * rng.standard_normal((self.n, self.d)), np.zeros(self.d), np.eye(self.d), "simulated draws")

    def _entry_range(self) -> tuple[float, float]:
        tails = self.alpha / 3 / (2 * self.d * self.d)
        lower = float(stats.chi2.ppf(tails, self.n)) / self.n - 1
        upper = float(stats.chi2.isf(tails, self.n)) / self.n - 1
        # S_ij = (A - B)/2 with A, B in [1 + lower, 1 + upper]; the same width serves the diagonal
        half = (upper - lower) / 2
        return min(lower, -half), max(upper, half)


def gaussian_sample(d: int, *, detects: float, alpha: float = ALPHA) -> GaussianSample:
    """The smallest n at which standard deviations `detects` times too large (or small) are missed with <= `MISS`."""

    def missed(n: int) -> float:
        low, high = (float(stats.chi2.ppf(alpha / 6, n * d)), float(stats.chi2.isf(alpha / 6, n * d)))
        return float(stats.chi2.cdf(high / detects**2, n * d) - stats.chi2.cdf(low / detects**2, n * d))

    return _made(GaussianSample(d, _smallest(lambda n: missed(n) <= MISS), alpha), detects, 1 / detects)


class Mean(NamedTuple):
    """The mean of n independent variables is within `width` of its expectation, but for `alpha` (Bernstein).

    Each lies within `bound` of its expectation and has standard deviation at most `sd`. Vershynin, "High-Dimensional
    Probability", 1st ed., Theorem 2.8.4: P(|sum| >= t) <= 2 exp(-(t^2/2) / (n sd^2 + bound t/3)).
    """

    n: int
    width: float
    alpha: float
    sd: float
    bound: float

    def check(self, mean: float, expected: float, message: str) -> None:
        """Contradict when the mean is farther than `width` from `expected`."""
        spend(self.alpha, self)
        if not abs(mean - expected) <= self.width:
            raise Contradiction(
                f"{message}: off by more than {self.width:.3g}, which chance allows", got=mean, expected=expected
            )

    def at(self, alpha: float) -> "Mean":
        """The same sample at another rate."""
        return self._replace(width=_bernstein(self.n, self.sd, self.bound, alpha), alpha=alpha)

    def simulate(self, rng: np.random.Generator, wrong: float = 0.0) -> None:
        """Check a mean that is off by `wrong`, of variables of two values: `bound` away, as rarely as `sd` asks."""
        far = int(rng.binomial(self.n, self.sd**2 / (self.sd**2 + self.bound**2)))
        mean = (far * self.bound - (self.n - far) * self.sd**2 / self.bound) / self.n
        self.check(wrong + mean * rng.choice([-1, 1]), 0.0, "simulated mean")


def _bernstein(n: int, sd: float, bound: float, alpha: float) -> float:
    # the width w solves (n w^2 / 2) / (sd^2 + bound w / 3) = log(2 / alpha)
    rate = float(np.log(2 / alpha)) / n
    return rate * bound / 3 + float(np.sqrt((rate * bound / 3) ** 2 + 2 * rate * sd**2))


def bounded_mean(*, sd: float, bound: float, detects: float, alpha: float = ALPHA) -> Mean:
    """The smallest n at which an expectation that is off by `detects` is missed with probability <= `MISS`."""
    n = _smallest(lambda n: _bernstein(n, sd, bound, alpha) + _bernstein(n, sd, bound, MISS) <= detects)
    return _made(Mean(n, _bernstein(n, sd, bound, alpha), alpha, sd, bound), detects, -detects)


def _smallest(enough: Callable[[int], bool]) -> int:
    """The smallest n, to 1 in 64, for which `enough(n)` holds; it holds for all larger ones."""
    high = 1
    while not enough(high):
        high *= 2
        if high > N_MAX:
            raise ValueError(f"detects: a sample of {N_MAX} is not enough")
    low = high // 2
    while high - low > max(1, high // 64):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
