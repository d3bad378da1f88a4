"""One fact on one implementation: the verdict, and the evidence for it."""

import functools
import inspect
import re
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import hypothesis
import hypothesis.errors
import msgspec
import numpy as np

from harness import statistics
from harness.errors import GraderFault
from harness.facts import Check, Fact, seed_of
from harness.impl import Call, Crashed, Impl, Raised, Timeout, Todo
from harness.replay import snippet
from harness.shown import Compared, shown, shown_call, side_by_side
from harness.text import inert
from harness.tolerance import Contradiction, close
from harness.verdict import Evidence, Outcome, Verdict


def evaluate(fact: Fact, check: Check, impl: Impl, reseed: int = 0, shrink: bool = True) -> Verdict:
    """Ask `impl` one fact, with its own helpers; if it fails, with lent ones. Never raises for what a submission does.

    Either pass counts: a wrong helper costs only its own marks, and no right answer is harmed by lending. Without
    `shrink` the first input that contradicts the fact is shown, not the smallest: the same verdict, sooner.
    """
    if impl.backend.is_stub(fact):
        return Verdict(Outcome.TODO, Evidence(str(Todo(fact.function))))
    started = time.perf_counter()
    verdict = _ask(fact, check, impl, reseed, shrink)
    unwritten = verdict.outcome is Outcome.TODO and verdict.evidence.message == str(Todo(fact.function))
    settled = unwritten or verdict.outcome in (Outcome.PASSED, Outcome.ERROR)
    if not settled and impl.backend.can_lend(fact):
        lent = _ask(fact, check, impl, reseed, shrink, lend=True)
        if lent.outcome is Outcome.PASSED:
            verdict = msgspec.structs.replace(lent, lent=True)
    return msgspec.structs.replace(verdict, seconds=time.perf_counter() - started)


class _Seen(NamedTuple):
    """A failure, and the call before it. Told only when it is the last: Hypothesis sees hundreds on its way."""

    error: Contradiction | Raised
    call: Call | None
    how: tuple[str, int, tuple[int, ...]]
    dtype: str = ""


class _Enough(BaseException):
    """One failure was found, and is not to be made smaller. Not an Exception: Hypothesis passes it on."""


def _ask(fact: Fact, check: Check, impl: Impl, reseed: int, shrink: bool, lend: bool = False) -> Verdict:
    found: list[_Seen] = []
    try:
        try:
            impl.begin(fact, seed_of(fact.id, reseed), lend)
        except (Timeout, Crashed) as ended:  # lending imports all modules of the submission
            return _ended(ended, impl)
        with statistics.spending() as spent:
            verdict = _verdict(fact, check, impl, reseed, shrink, found)
        if sum(spent) > fact.false_alarm * (1 + 1e-9):
            message = f"the fact declares a false-alarm rate of {fact.false_alarm:.1e} and spends {sum(spent):.1e}"
            verdict = Verdict(Outcome.ERROR, Evidence(message))
        if verdict.outcome is Outcome.FAILED and not verdict.evidence.cause:
            verdict = _with_remarks(verdict, impl)
        return msgspec.structs.replace(
            verdict,
            evidence=Evidence(*(inert(part) for part in msgspec.structs.astuple(verdict.evidence))),
            replay=inert(verdict.replay),
            output=inert(impl.backend.end()),
        )
    except Exception:  # the boundary itself: no answer of a submission gets here
        return Verdict(Outcome.ERROR, Evidence(traceback.format_exc(limit=-5)))


def _verdict(fact: Fact, check: Check, impl: Impl, reseed: int, shrink: bool, found: list[_Seen]) -> Verdict:
    """Run the check once. A failure that was found before time ran out, say while it was made smaller, counts."""
    arguments: dict[str, Any] = {"impl": impl}
    if "seed" in inspect.signature(check).parameters:
        arguments["seed"] = seed_of(fact.id, reseed)
    if reseed and hasattr(check, "hypothesis"):
        hypothesis.seed(seed_of(fact.id, reseed))(check)
    try:
        with np.errstate(all="ignore"), _noting_failures(check, impl, found, shrink):
            check(**arguments)
    except Todo as todo:
        return Verdict(Outcome.TODO, Evidence(str(todo)))
    except _Enough:
        return _failed(found[-1], impl)
    except (Timeout, Crashed) as ended:
        if found:
            return _failed(found[-1], impl)
        return _ended(ended, impl)
    except (Contradiction, Raised) as error:
        return _failed(_Seen(error, impl.last, impl.last_how, impl.last_dtype), impl)
    except hypothesis.errors.FlakyFailure:
        message = "two answers for one input: the answer depends on more than the arguments"
        return Verdict(Outcome.FAILED, Evidence(message, input=_input(impl)), _replay(impl))
    except (hypothesis.errors.HypothesisException, GraderFault, OSError, MemoryError):
        return Verdict(Outcome.ERROR, Evidence(traceback.format_exc(limit=-5)))
    except Exception as error:
        # After an answer was given, a fact can only stumble over that answer: the student must not be able to void
        # a score with it. Before, the fault is the suite's.
        if impl.last is None:
            return Verdict(Outcome.ERROR, Evidence(traceback.format_exc(limit=-5)))
        message = f"the answer cannot be used as the docstring promises ({type(error).__name__}: {error})"
        return Verdict(Outcome.FAILED, Evidence(message, input=_input(impl)), _replay(impl))
    return Verdict(Outcome.PASSED)


def _ended(ended: Timeout | Crashed, impl: Impl) -> Verdict:
    outcome = Outcome.TIMEOUT if isinstance(ended, Timeout) else Outcome.CRASHED
    by_load = isinstance(ended, Timeout) and ended.by_load
    if ended.cause:
        return Verdict(outcome, Evidence(str(ended), cause=ended.cause), by_load=by_load)
    return Verdict(outcome, Evidence(str(ended), input=_input(impl)), _replay(impl), by_load=by_load)


def _failed(seen: _Seen, impl: Impl) -> Verdict:
    error = seen.error
    impl.last, impl.last_how = seen.call, seen.how
    if isinstance(error, Raised):
        if error.cause:
            return Verdict(Outcome.FAILED, Evidence(error.message, cause=error.cause))
        return Verdict(Outcome.FAILED, Evidence(error.message, input=_input(impl)), _replay(impl))
    if error.got is None or error.expected is None:
        compared = Compared(*("" if value is None else shown(value) for value in (error.got, error.expected)))
    else:
        compared = side_by_side(error.got, error.expected, error.within)
    message = f"{error.message} ({compared.note})" if compared.note else error.message
    if seen.dtype in NARROW and _nearly(error):
        message += f"\nthe answer is {seen.dtype}, which keeps {NARROW[seen.dtype]} digits: compute in float64"
    evidence = Evidence(message, _input(impl), compared.expected, compared.got, compared.differs)
    return Verdict(Outcome.FAILED, evidence, _replay(impl))


NARROW = {"float16": "three", "float32": "seven"}
"""Digits that are kept."""


def _nearly(error: Contradiction) -> bool:
    """Whether an answer may be wrong by rounding alone."""
    if error.expected is None:
        return True
    try:
        return bool(close(error.got, error.expected, 1e-3).all())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


GENERATORS = {
    "numpy": "NumPy's global generator (np.random.…)",
    "random": "the global generator of `random`",
    "torch": "PyTorch's global generator",
}


def _with_remarks(verdict: Verdict, impl: Impl) -> Verdict:
    """What the submission's process knows of a wrong answer and the answer does not show."""
    noted = impl.backend.noted()
    evidence, call = verdict.evidence, impl.last
    lines = [evidence.message]
    if call is not None and noted.views:
        names = dict(enumerate(impl.backend.parameters(call)))
        viewed = [names.get(int(key), f"argument {int(key) + 1}") if key.isdigit() else key for key in noted.views]
        lines.append(f"the answer is a view of the argument `{viewed[0]}`: return a new array")
    draws = call is not None and any(isinstance(value, np.random.Generator) for value in call.arguments)
    if draws or re.search(r"\b(seed|rng|two (answers|calls|trainings))", evidence.message):
        lines += [
            f"{GENERATORS[name]} was used: all randomness comes from {'`rng`' if draws else 'the seed'}"
            for name in noted.generators
            if name in GENERATORS
        ]
    return msgspec.structs.replace(verdict, evidence=msgspec.structs.replace(evidence, message="\n".join(lines)))


@contextmanager
def _noting_failures(check: Check, impl: Impl, found: list[_Seen], shrink: bool) -> Iterator[None]:
    """While the block runs, note each failure that Hypothesis sees; the last is the smallest so far.

    Without `shrink`, the first is the last.
    """
    handle = getattr(check, "hypothesis", None)
    if handle is None:
        yield
        return
    inner = handle.inner_test

    @functools.wraps(inner)
    def noting(*arguments: Any, **keywords: Any) -> None:
        try:
            inner(*arguments, **keywords)
        except (Contradiction, Raised) as error:
            found[:] = [_Seen(error, impl.last, impl.last_how, impl.last_dtype)]
            if not shrink:
                raise _Enough from None
            raise

    handle.inner_test = noting
    try:
        yield
    finally:
        handle.inner_test = inner


def _input(impl: Impl) -> str:
    return shown_call(impl.last, impl.backend.parameters(impl.last)) if impl.last is not None else ""


def _replay(impl: Impl) -> str:
    if impl.last is None:
        return ""
    return snippet(impl.last, impl.backend.parameters(impl.last), *impl.last_how)
