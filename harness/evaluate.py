"""One fact on one implementation: the verdict, and the evidence for it."""

import inspect
import time
import traceback
from enum import StrEnum
from typing import Any

import hypothesis
import hypothesis.errors
import msgspec
import numpy as np

from harness import statistics
from harness.facts import Check, Fact, seed_of
from harness.impl import Call, Impl, Raised, Todo
from harness.replay import shown, snippet
from harness.tolerance import Contradiction


class Outcome(StrEnum):
    """How a fact ended. ERROR and LOST are the grader's own faults: a run that holds one publishes no score."""

    PASSED = "passed"
    FAILED = "failed"
    TODO = "todo"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    ERROR = "error"
    LOST = "lost"


class Evidence(msgspec.Struct, frozen=True):
    """What a failure shows: the input, what was expected, what was got, in one message or side by side."""

    message: str = ""
    input: str = ""
    expected: str = ""
    got: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of one fact. `replay` is plain Python that makes the last call again, on the unrounded input."""

    outcome: Outcome
    evidence: Evidence = Evidence()
    replay: str = ""
    seconds: float = 0.0


def evaluate(fact: Fact, check: Check, impl: Impl, reseed: int = 0) -> Verdict:
    """Ask `impl` one fact. Never raises for anything that a submission does."""
    impl.forget()
    started = time.perf_counter()
    with statistics.spending() as spent:
        outcome, evidence = _outcome(fact, check, impl, reseed)
    if sum(spent) > fact.false_alarm * (1 + 1e-9):
        outcome = Outcome.ERROR
        evidence = Evidence(
            f"the fact declares a false-alarm rate of {fact.false_alarm:.1e} and spends {sum(spent):.1e}"
        )
    replay = snippet(impl.last) if impl.last is not None and outcome is Outcome.FAILED else ""
    return Verdict(outcome, evidence, replay, time.perf_counter() - started)


def _outcome(fact: Fact, check: Check, impl: Impl, reseed: int) -> tuple[Outcome, Evidence]:
    arguments: dict[str, Any] = {"impl": impl}
    if "seed" in inspect.signature(check).parameters:
        arguments["seed"] = seed_of(fact.id, reseed)
    if reseed and hasattr(check, "hypothesis"):
        hypothesis.seed(seed_of(fact.id, reseed))(check)
    try:
        with np.errstate(all="ignore"):
            check(**arguments)
    except Todo as todo:
        return Outcome.TODO, Evidence(str(todo))
    except Contradiction as found:
        values = {
            name: shown(value)
            for name, value in (("got", found.got), ("expected", found.expected))
            if value is not None
        }
        return Outcome.FAILED, Evidence(found.message, input=_input(impl.last), **values)
    except Raised as raised:
        return Outcome.FAILED, Evidence(raised.message, input=_input(impl.last))
    except hypothesis.errors.FlakyFailure:
        return Outcome.FAILED, Evidence("two answers for one input", input=_input(impl.last))
    except (hypothesis.errors.HypothesisException, OSError, MemoryError):
        return Outcome.ERROR, Evidence(traceback.format_exc(limit=-5))
    except Exception as error:
        # After an answer was given, a fact can only stumble over that answer: the student must not be able to void
        # a score with it. Before, the fault is the suite's.
        if impl.last is None:
            return Outcome.ERROR, Evidence(traceback.format_exc(limit=-5))
        message = f"the answer cannot be used as the docstring promises ({type(error).__name__}: {error})"
        return Outcome.FAILED, Evidence(message, input=_input(impl.last))
    return Outcome.PASSED, Evidence()


def _input(call: Call | None) -> str:
    if call is None:
        return ""
    given = [shown(value) for value in call.arguments] + [
        f"{name}={shown(value)}" for name, value in call.keywords.items()
    ]
    return f"{call.function}({', '.join(given)})"
