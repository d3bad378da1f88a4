"""Calibration: a design that lies about its rate or its power is caught, and so is a rate that nobody derives."""

from pathlib import Path

import choix
import numpy as np
import pytest
from scipy import stats

from harness import facts as suite_facts
from harness import statistics
from harness.validation import calibration
from harness.validation.calibration import Asker, Calibration, Derivation, calibrate
from harness.validation.files import import_file
from tests import false_alarms
from tests.small_course import CHECKS, RIGHT, write_suite

ROOT = Path(__file__).parents[1]
DERIVATIONS = '''
from harness.validation.calibration import derivation

@derivation("check_coin_is_fair")
def counted(ask, fact, rng):
    """By counting the calls."""
    return 1e-10 * len(ask(fact, 1))
'''


@pytest.fixture(autouse=True)
def fewer_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "TRIALS", 1000)


def run(folder: Path, checks: str = CHECKS, derivations: str = "") -> list[Calibration | Derivation]:
    suite = write_suite(folder / f"suite_{folder.name}", checks)
    (folder / "derivations.py").write_text(derivations, encoding="utf-8")
    checks_by_id = suite_facts.load(suite)
    facts = suite_facts.manifest(suite)
    return list(calibrate(facts, folder / "derivations.py", Asker(facts, checks_by_id, {"shapes": RIGHT.encode()})))


def test_a_sound_design_is_calibrated(tmp_path: Path) -> None:
    (found,) = run(tmp_path)
    design = statistics.frequency(0.5, detects=0.6)
    assert isinstance(found, Calibration)
    assert found[:5] == (
        "check_coin_is_fair",
        "frequency of probability 0.5",
        design.n,
        f"{design.low} to {design.high}",
        1000,
    )
    assert found.holds and found.false_alarms > 0 and len(found.missed) == 1


TWO_CELLS = CHECKS.replace(
    "design = frequency(0.5, detects=0.6)",
    "from harness.statistics import multinomial\n    design = multinomial([0.5, 0.5], detects=[[0.4, 0.6]])",
).replace('design.check(int(np.sum(tosses)), "heads")', 'design.check([np.sum(tosses), np.sum(~tosses)], "heads")')


def test_a_design_that_cries_wolf_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        statistics, "agrawal_threshold", lambda cells, alpha=1e-9: stats.chi2.isf(min(1.0, 5 * alpha), cells - 1)
    )
    (found,) = run(tmp_path, TWO_CELLS)
    assert isinstance(found, Calibration) and not found.holds
    assert found.false_alarms > calibration.most(1000, calibration.LEVEL)


def test_a_design_that_sees_too_little_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smallest = statistics._smallest
    monkeypatch.setattr(statistics, "_smallest", lambda enough: smallest(enough) // 2)
    (found,) = run(tmp_path)
    assert isinstance(found, Calibration) and not found.holds
    assert found.false_alarms <= calibration.most(1000, calibration.LEVEL)


@pytest.mark.parametrize(
    "design",
    [
        statistics.frequency(0.3, detects=0.5)._replace(low=0),
        statistics.frequency(0.99, detects=0.5)._replace(high=35),
        statistics.multinomial([0.2, 0.3, 0.5], detects=[[0.3, 0.3, 0.4]]),
        statistics.gaussian_sample(2, detects=1.3),
        statistics.bounded_mean(sd=0.1, bound=1.0, detects=0.1),
    ],
)
def test_designs_try_themselves(design: statistics.Frequency) -> None:
    at_level = design.at(0.2)
    assert (at_level.n, at_level.alpha) == (design.n, 0.2)
    assert 0 < calibration._contradictions((at_level,)) <= calibration.most(1000, 0.2)
    assert calibration._contradictions((design,)) == 0


def test_an_open_side_stays_open() -> None:
    design = statistics.frequency(0.3, detects=0.5)
    assert design._replace(low=0).at(0.1).low == 0
    assert design._replace(high=design.n).at(0.1).high == design.n
    assert 0 < design.at(0.1).low < design.n * 0.3 < design.at(0.1).high < design.n


def test_a_law_that_meets_an_impossible_cell_is_detected() -> None:
    design = statistics.multinomial([0.5, 0.5, 0.0], detects=[[0.49, 0.5, 0.01]])
    assert (1 - 0.01) ** design.n <= 1.01 * statistics.MISS


SPENT = CHECKS.replace(
    'design.check(int(np.sum(tosses)), "heads")',
    "from harness.statistics import spend\n    spend(1e-9)\n    assert abs(np.mean(tosses) - 0.5) < 0.4",
)


def test_a_rate_without_a_design_has_to_be_derived(tmp_path: Path) -> None:
    (found,) = run(tmp_path / "no", SPENT)
    assert isinstance(found, Derivation) and not found.holds
    assert found.fact == "check_coin_is_fair" and "nobody derives it" in found.problem
    (found,) = run(tmp_path / "yes", SPENT, DERIVATIONS)
    assert found == Derivation("check_coin_is_fair", "By counting the calls.", 1e-10, 1e-9) and found.holds


@pytest.mark.parametrize(("old", "new"), [("1e-10", "1e-8"), ("1e-10", "(1 / 0)"), ("1e-10", "float('nan')")])
def test_a_derivation_that_does_not_come_out_is_named(tmp_path: Path, old: str, new: str) -> None:
    (found,) = run(tmp_path, SPENT, DERIVATIONS.replace(old, new))
    assert found.fact == "check_coin_is_fair" and not found.holds


# ---- the derivations of this course ----


def test_every_derivation_is_about_a_statistical_fact_and_says_how() -> None:
    statistical = {fact.name for fact in suite_facts.manifest(ROOT / "checks") if fact.false_alarm > 0}
    functions = [f for f in vars(import_file(ROOT / "tests" / "false_alarms.py")).values() if hasattr(f, "derives")]
    names = [name for function in functions for name in function.derives]
    assert names and len(names) == len(set(names)) and set(names) <= statistical
    assert all(function.__doc__ for function in functions)


def test_importance_sampling_agrees_with_counting() -> None:
    rng = np.random.default_rng(3)
    n, far = 10_000, 0.0734
    counts = rng.multinomial(n, false_alarms.LAW, size=100_000)
    rewards = false_alarms.fitted(counts)
    wins = np.zeros((6, 6))
    wins[false_alarms.WON, false_alarms.LOST] = counts[0, :-1]
    by_choix = choix.ilsr_pairwise_dense(wins, tol=1e-12)
    assert np.allclose(rewards[0], by_choix - by_choix[0], atol=1e-8)
    distances = 0.5 * np.abs(false_alarms.tilted(rewards) - false_alarms.OPTIMUM).sum(axis=1)
    counted = float((distances > far).mean())  # known to 3%
    assert 0.9 * counted < false_alarms.chance_beyond(far, n, rng) < 1.25 * counted


def test_training_that_starts_at_the_optimum_stays_there() -> None:
    q = np.array([0.2, 0.3, 0.5])
    ends = false_alarms.trained(np.zeros(3), q, 1.0, 5, np.random.default_rng(0), steps=50, batch=8)
    assert np.allclose(ends, q, atol=1e-9)
    moved = false_alarms.trained(np.array([1.0, 0.0, 0.0]), q, 1.0, 50, np.random.default_rng(0), steps=800, batch=64)
    weights = q * np.exp([1.0, 0.0, 0.0])
    assert np.allclose(moved.mean(axis=0), weights / weights.sum(), atol=1e-3)
