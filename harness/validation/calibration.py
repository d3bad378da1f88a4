"""False alarms and power of the statistical designs that the facts of a suite make, by simulation.

The facts are asked of the reference, and every design that they make or check is noted. False alarms: each sample that
a fact checks is drawn anew from the design's own law, at a rate that simulation can see. Power: each design, as it is,
meets samples of the wrong laws that it is to detect. Rates that rest on no design have to be derived, by a function
that the course brings.
"""

import inspect
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import stats

from harness import statistics
from harness.evaluate import evaluate
from harness.facts import Check, Fact
from harness.impl import Call, Impl
from harness.local import Local
from harness.tolerance import Contradiction
from harness.validation.files import import_file
from harness.verdict import Outcome

LEVEL = 0.01
"""Where false alarms are counted. A design's rate is that of an exact law or of a bound; it only moves the quantile."""

TRIALS = 10_000
SURE = 1e-6
"""A count that is this unlikely under the claimed rate refutes it."""

AnyDerivation = TypeVar("AnyDerivation", bound=Callable[..., float])


class Calibration(NamedTuple):
    """A design, and how often it was wrong.

    threshold: what it allows. false_alarms: of `trials` samples of its law, at the rate `LEVEL`. missed: of `trials`
    samples of each wrong law that it is to detect, at the rate it has in the suite.
    """

    fact: str
    design: str
    n: int
    threshold: str
    trials: int
    false_alarms: int
    missed: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Whether the counts are what the claimed rates allow."""
        few = self.false_alarms <= most(self.trials, LEVEL)
        return few and all(count <= most(self.trials, statistics.MISS) for count in self.missed)


class Derivation(NamedTuple):
    """A rate that rests on no design: the chance of a false alarm, and how it was found. problem: why it was not."""

    fact: str
    how: str
    chance: float
    allowed: float
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether a right implementation fails as rarely as it may."""
        return not self.problem and self.chance <= self.allowed


def most(trials: int, rate: float) -> int:
    """The largest count of `trials` that a rate of at most `rate` explains, but for `SURE`."""
    return int(stats.binom.isf(SURE, trials, rate))


def derivation(*facts: str) -> Callable[[AnyDerivation], AnyDerivation]:
    """Mark a function that derives the false-alarm rate of facts, by name; its docstring says in a line how.

    It is given an `Asker`, the name of the fact and a generator, and returns the chance that a right implementation
    fails the fact.
    """

    def mark(function: AnyDerivation) -> AnyDerivation:
        function.derives = facts  # type: ignore[attr-defined]
        return function

    return mark


class Asker:
    """Facts asked of the reference, with the calls and designs that they lead to. sources: its modules."""

    def __init__(self, facts: Iterable[Fact], checks: Mapping[str, Check], sources: Mapping[str, bytes]) -> None:
        self._facts = {fact.name: fact for fact in facts}
        self._checks, self._backend = checks, _Noting(sources)
        self._impl = Impl(self._backend, {fact.function: fact.module for fact in self._facts.values()})

    def __call__(self, name: str, reseed: int = 0) -> list[Call]:
        """The calls that the fact makes with a seed."""
        self._backend.calls.clear()
        fact = self._facts[name]
        verdict = evaluate(fact, self._checks[fact.id], self._impl, reseed)
        if verdict.outcome is not Outcome.PASSED:
            raise ValueError(f"{name} does not hold of the reference: {verdict.evidence.message}")
        return list(self._backend.calls)

    def designs(self, name: str) -> statistics.Log:
        """The designs that the fact makes and checks."""
        with statistics.recording() as log:
            self(name)
        return log


class _Noting(Local):
    """Calls made here, and noted."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        super().__init__(sources)
        self.calls: list[Call] = []

    def invoke(self, how: str, call: Call, wrt: int = 0, keep: tuple[int, ...] = ()) -> Any:
        self.calls.append(call)
        return super().invoke(how, call, wrt, keep)


def calibrate(facts: Iterable[Fact], derivations: Path, ask: Asker) -> Iterator[Calibration | Derivation]:
    """Every design of the statistical facts, and every rate that rests on none, in the order of the facts.

    facts: of which those with a false-alarm rate are asked. derivations: the file of functions that derive rates.
    """
    marked = [value for value in vars(import_file(derivations)).values() if hasattr(value, "derives")]
    derived = {name: function for function in marked for name in function.derives}
    counted: dict[Any, int] = {}
    for fact in facts:
        if fact.false_alarm == 0:
            continue
        log = ask.designs(fact.name)
        for design in dict.fromkeys(log.checked):
            if design is not None:
                yield _calibration(fact.name, design, log, counted)
        function = derived.get(fact.name)
        if function is not None:
            yield _derivation(fact, function, ask)
        elif None in log.checked:
            yield Derivation(fact.name, "", 1.0, fact.false_alarm, "rests on no design, and nobody derives it")


def _calibration(fact: str, design: Any, log: statistics.Log, counted: dict[Any, int]) -> Calibration:
    """`counted` keeps the counts of designs that several facts share."""
    # A fact may check what it planned with another law (that of the pool at hand) or one side of it; n tells them.
    alike = [(plan, laws) for plan, laws in log.made if (type(plan), plan.n) == (type(design), design.n)]
    plans = dict.fromkeys((plan, wrong) for plan, laws in alike for wrong in laws)

    def count(tried: Any, *wrong: Any) -> int:
        key = (tried, *wrong)
        if key not in counted:
            counted[key] = _contradictions(key)
        return counted[key]

    what, allows = _described(design)
    missed = tuple(TRIALS - count(plan, wrong) for plan, wrong in plans)
    return Calibration(fact, what, design.n, allows, TRIALS, count(design.at(LEVEL)), missed)


def _contradictions(key: tuple[Any, ...]) -> int:
    """How many of `TRIALS` samples, of the design's law or of a wrong one, the design contradicts."""
    design, *wrong = key
    rng = np.random.default_rng(zlib.crc32(repr(key).encode()))
    found = 0
    for _ in range(TRIALS):
        try:
            design.simulate(rng, *wrong)
        except Contradiction:
            found += 1
    return found


def _described(design: Any) -> tuple[str, str]:
    """What a design is about, and what it allows."""
    match design:
        case statistics.Frequency():
            return f"frequency of probability {design.p:.4g}", f"{design.low} to {design.high}"
        case statistics.Multinomial():
            return f"law of {len(design.law)} cells", f"G <= {design.threshold:.4g}"
        case statistics.GaussianSample():
            return f"normal law in {design.d} dimensions", "chi-square quantiles"
        case statistics.Mean():
            return f"mean, standard deviation at most {design.sd:.3g}", f"within {design.width:.3g}"
    raise TypeError(f"no design: {design!r}")


def _derivation(fact: Fact, function: Callable[..., float], ask: Asker) -> Derivation:
    rng = np.random.default_rng(zlib.crc32(fact.name.encode()))
    chance, problem = 1.0, ""
    try:
        chance = float(function(ask, fact.name, rng))
    except Exception as error:  # what cannot be derived is not derived
        problem = f"{type(error).__name__}: {error}"
    how = (inspect.getdoc(function) or function.__name__).partition("\n")[0]
    return Derivation(fact.name, how, chance, fact.false_alarm, problem)
