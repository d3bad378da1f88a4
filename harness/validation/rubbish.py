"""Submissions that know nothing: NaN, zeros, ones, their own input, random numbers, None, stubs. None of them earns.

Rubbish has the shape of a right answer: the reference is asked, and every number of what it returns is replaced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from harness.facts import Fact
from harness.marks import marks
from harness.validation.cases import Case, Finding
from harness.verdict import Outcome

AnyFunction = Callable[..., Any]
Change = Callable[[np.ndarray], Any]

POLICY = 1e-6
"""A vector without negative entries whose sum is 1 to this is a policy."""


class Earned(NamedTuple):
    """What a kind of rubbish earned of the course's points, and the defining facts that it held."""

    kind: str
    points: Fraction
    held: list[str]


def rubbish_cases(facts: Iterable[Fact]) -> list[Case]:
    """Each function answered by each kind of rubbish, and asked what defines it: all marks hang on that."""
    return [
        Case("rubbish", fact.function, kind, stand_in=stand_in, facts=(fact.name,))
        for kind, stand_in in KINDS.items()
        for fact in facts
        if fact.defines
    ]


def earned(facts: Sequence[Fact], points: Mapping[str, Fraction], findings: Iterable[Finding]) -> list[Earned]:
    """What each kind earned, in the order of `KINDS`; a fact that was not asked has not been held."""
    found = [finding for finding in findings if finding.case.kind == "rubbish"]
    result = []
    for kind in KINDS:
        of_kind = [finding for finding in found if finding.case.name == kind]
        held = {name for finding in of_kind for name in finding.asked} - _failed(of_kind)
        outcomes = {fact.id: Outcome.PASSED for fact in facts if fact.name in held}
        score = sum(marks(facts, outcomes, points).score.values(), Fraction(0))
        result.append(Earned(kind, score, [fact.name for fact in facts if fact.name in held]))
    return result


def stub_cases(facts: Iterable[Fact], stubs: Mapping[str, bytes]) -> list[Case]:
    """Each function asked all its facts with the stub of its module in place. stubs: sources by module."""
    owners = {fact.function: fact.module for fact in facts}
    return [Case("stub", function, source=stubs.get(module, b"\n")) for function, module in owners.items()]


def written(findings: Iterable[Finding]) -> list[str]:
    """The facts that a stub does not leave to do."""
    found = [finding for finding in findings if finding.case.kind == "stub"]
    todo = {failure.fact for finding in found for failure in finding.failed if failure.outcome == Outcome.TODO}
    return [name for finding in found for name in finding.asked if name not in todo]


def _failed(findings: Iterable[Finding]) -> set[str]:
    return {failure.fact for finding in findings for failure in finding.failed}


# ---- the kinds: each makes an answer out of the reference's own function ----


def nan(own: AnyFunction) -> AnyFunction:
    """Every number is NaN."""
    return _spoiled(own, lambda x: x * np.nan)


def zeros(own: AnyFunction) -> AnyFunction:
    """Every number is 0."""
    return _spoiled(own, np.zeros_like)


def ones(own: AnyFunction) -> AnyFunction:
    """Every number is 1."""
    return _spoiled(own, np.ones_like)


def first_argument(own: AnyFunction) -> AnyFunction:
    """What came first comes back."""
    return lambda *arguments, **keywords: [*arguments, *keywords.values()][0]


def nothing(own: AnyFunction) -> AnyFunction:
    """None, as of a function without `return`."""
    return lambda *arguments, **keywords: None


def random_numbers(own: AnyFunction) -> AnyFunction:
    """Normal numbers of the size of the right ones; integers of an array drawn from the right ones."""
    rng = np.random.default_rng(0)
    return _spoiled(own, lambda x: _random(x, rng))


def random_policies(own: AnyFunction) -> AnyFunction:
    """Random policies where policies are due, random numbers elsewhere."""
    rng = np.random.default_rng(1)

    def random(x: np.ndarray) -> np.ndarray:
        is_policy = x.ndim == 1 and x.dtype.kind == "f" and (x >= 0).all() and abs(x.sum() - 1) < POLICY
        return rng.dirichlet(np.ones(len(x))) if is_policy else _random(x, rng)

    return _spoiled(own, random)


KINDS: dict[str, Callable[[AnyFunction], AnyFunction]] = {
    "NaN": nan,
    "zeros": zeros,
    "ones": ones,
    "the first argument": first_argument,
    "None": nothing,
    "random numbers": random_numbers,
    "random policies": random_policies,
}


def _spoiled(own: AnyFunction, change: Change) -> AnyFunction:
    """`own`, with `change` made to each array and number that it returns; to the slopes, if that is a loss."""

    def answer(*arguments: Any, **keywords: Any) -> Any:
        return _replaced(own(*arguments, **keywords), change, arguments)

    return answer


def _replaced(value: Any, change: Change, arguments: Sequence[Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_replaced(part, change, arguments) for part in value)
    if isinstance(value, dict):
        return {key: _replaced(part, change, arguments) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return np.asarray(change(np.asarray(value))).item()
    if hasattr(value, "requires_grad"):
        free = [argument for argument in arguments if getattr(argument, "requires_grad", False)]
        slopes = [argument.new_tensor(change(np.ones(argument.shape))) for argument in free]
        return sum((argument * slope).sum() for argument, slope in zip(free, slopes, strict=True))
    return value


def _random(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if x.dtype.kind in "iu":
        return rng.choice(x.ravel(), x.shape) if x.size > 1 else x + rng.integers(1, 10, x.shape)
    finite = x[np.isfinite(x)]
    return rng.normal(0.0, np.abs(finite).max(initial=0.1), x.shape)
