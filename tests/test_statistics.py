"""Designs of statistical facts: calibrated at a rate that simulation can see, and powerful against what they detect."""

import numpy as np
import pytest
from scipy import stats

from harness import statistics
from harness.tolerance import Contradiction

RUNS = 2000
LEVEL = 0.01  # designs are calibrated here, where 2,000 runs can see the rate; ALPHA only moves the quantile
# alarms at LEVEL ~ Binomial(RUNS, <= LEVEL); this many happen with probability 1e-9
ALARMS = int(stats.binom.isf(1e-9, RUNS, LEVEL))


def contradicts(check, *arguments) -> bool:
    try:
        check(*arguments, "the law")
    except Contradiction:
        return True
    return False


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def test_frequency_is_calibrated_and_detects(rng) -> None:
    design = statistics.frequency(0.3, detects=0.35, alpha=LEVEL)
    assert sum(contradicts(design.check, k) for k in rng.binomial(design.n, 0.3, RUNS)) <= ALARMS
    strict = statistics.frequency(0.3, detects=0.35)
    assert all(contradicts(strict.check, k) for k in rng.binomial(strict.n, 0.37, 200))
    assert sum(contradicts(strict.check, k) for k in rng.binomial(strict.n, 0.35, RUNS)) >= 0.99 * RUNS


def test_frequency_of_a_sure_event_allows_no_miss() -> None:
    design = statistics.frequency(1.0, detects=0.9)
    assert contradicts(design.check, design.n - 1)
    assert not contradicts(design.check, design.n)


def test_multinomial_is_calibrated_and_detects(rng) -> None:
    law, wrong = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.45, 0.35, 0.15, 0.05])
    design = statistics.multinomial(law, detects=[wrong], alpha=LEVEL)
    assert sum(contradicts(design.check, counts) for counts in rng.multinomial(design.n, law, RUNS)) <= ALARMS
    strict = statistics.multinomial(law, detects=[wrong])
    caught = sum(contradicts(strict.check, counts) for counts in rng.multinomial(strict.n, wrong, RUNS))
    assert caught >= 0.99 * RUNS


def test_multinomial_never_forgives_an_impossible_cell() -> None:
    design = statistics.multinomial([0.5, 0.5, 0.0], detects=[[0.6, 0.4, 0.0]])
    counts = np.array([design.n // 2, design.n - design.n // 2 - 1, 1])
    assert contradicts(design.check, counts)


def test_multinomial_refuses_a_sample_of_another_size() -> None:
    design = statistics.multinomial([0.5, 0.5], detects=[[0.6, 0.4]])
    assert contradicts(design.check, [0, 0])


def test_agrawal_threshold_is_the_published_design() -> None:
    assert statistics.agrawal_threshold(31) == pytest.approx(160.47, abs=0.01)


@pytest.mark.parametrize("cells", [2, 3, 31])
def test_agrawal_threshold_is_above_the_asymptotic_quantile(cells) -> None:
    assert statistics.agrawal_threshold(cells) > stats.chi2.isf(statistics.ALPHA, cells - 1)


def test_gaussian_sample_is_calibrated_and_detects(rng) -> None:
    d = 3
    root = np.array([[1.0, 0.0, 0.0], [0.7, 0.4, 0.0], [-0.2, 0.3, 2.0]])
    mean, cov = np.array([3.0, -1.0, 0.5]), root @ root.T
    design = statistics.gaussian_sample(d, detects=1.1, alpha=LEVEL)

    def draws(mean, root):
        return mean + rng.standard_normal((design.n, d)) @ root.T

    assert sum(contradicts(design.check, draws(mean, root), mean, cov) for _ in range(RUNS)) <= ALARMS
    strict = statistics.gaussian_sample(d, detects=1.1)

    def seen(mean_, root_):
        return contradicts(strict.check, mean_ + rng.standard_normal((strict.n, d)) @ root_.T, mean, cov)

    assert all(seen(mean, 1.13 * root) for _ in range(50))
    assert all(seen(mean, root / 1.13) for _ in range(50))
    assert seen(mean, root.T), "the root's transpose has another covariance"
    assert seen(mean, np.diag(np.sqrt(np.diag(cov)))), "uncorrelated draws"
    assert seen(mean, cov), "the covariance taken for its root"
    assert seen(0 * mean, root), "a mean of zero"
    assert contradicts(strict.check, np.tile(mean, (strict.n, 1)), mean, cov), "no spread"


def test_bounded_mean_is_calibrated_and_detects(rng) -> None:
    design = statistics.bounded_mean(sd=0.5, bound=0.5, detects=0.05, alpha=LEVEL)
    means = rng.binomial(design.n, 0.5, RUNS) / design.n
    assert sum(contradicts(design.check, mean, 0.5) for mean in means) <= ALARMS
    strict = statistics.bounded_mean(sd=0.5, bound=0.5, detects=0.05)
    assert all(contradicts(strict.check, mean, 0.45) for mean in rng.binomial(strict.n, 0.5, 200) / strict.n)


def test_a_design_that_no_sample_can_meet_is_refused() -> None:
    with pytest.raises(ValueError, match="detects"):
        statistics.frequency(0.5, detects=0.500001)
    with pytest.raises(ValueError, match="detects"):
        statistics.multinomial([0.5, 0.5], detects=[[0.5000001, 0.4999999]])


def test_decisions_are_tallied() -> None:
    with statistics.spending() as outer:
        statistics.spend(1e-9)
        with statistics.spending() as inner:
            statistics.spend(2e-9)
        statistics.spend(3e-9)
    assert (inner, outer) == ([2e-9], [1e-9, 3e-9])
