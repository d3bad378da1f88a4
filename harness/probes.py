"""Fixed questions to a function, and digests of its answers: equal where two answers agree.

A suite's `probes.py` holds PROBES, by function what yields its questions (anew each time: worlds and generators change
when they are used), and BY_FACTS, the functions that may also be recognised by the facts that fail.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from harness.facts import Fact, import_module
from harness.impl import BadReturn, Call, Crashed, Impl, Raised, Timeout, Todo
from harness.sandbox.wire import Tensor

FILE = "probes"
SECONDS = 4.0
"""Computing time for all probes of a function."""

LARGE = 20_000
"""Entries of an array from which on only its shape counts: no right answer to a probe is so long."""

NO_ANSWER = ""


class Probe(NamedTuple):
    """A call of the function. how, wrt, keep: as in `Impl.invoke`. part: the one that counts, of several values.

    digits: of an answer that count; those after the point below 1. view: what of it counts, however it was found.
    extreme: at ties, zeros and other edges. path: the answer depends on what is free, the path of an optimiser or the
    order of draws; it speaks for a mistake that is met, never against one that is not.
    """

    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = {}
    how: str = "call"
    wrt: int = -1
    keep: tuple[int, ...] = ()
    part: int | None = None
    digits: int = 9
    view: Callable[[Any], Any] | None = None
    extreme: bool = False
    path: bool = False


class Probes(NamedTuple):
    """The questions of a suite."""

    by_function: Mapping[str, Callable[[], Iterator[Probe]]]
    by_facts: frozenset[str]


def load(suite: Path) -> Probes:
    """Those of a suite; none where it has no such file."""
    if not (suite / f"{FILE}.py").is_file():
        return Probes({}, frozenset())
    module = import_module(suite, FILE)
    return Probes(module.PROBES, module.BY_FACTS)


def answers(
    impl: Impl, fact: Fact, probes: Callable[[], Iterator[Probe]], lend: bool = False, seed: int = 0
) -> list[str]:
    """Digests of the answers of the function that `fact` is about; NO_ANSWER from the one on that took too long.

    seed: of the global generators.
    """
    digests: list[str] = []
    asked = list(probes())
    try:
        impl.begin(msgspec.structs.replace(fact, seconds=SECONDS), seed, lend)
        for probe in asked:
            digests.append(_answer(impl, fact, probe))
    except (Timeout, Crashed, Todo):
        pass
    finally:
        impl.backend.end()
    return digests + [NO_ANSWER] * (len(asked) - len(digests))


def _answer(impl: Impl, fact: Fact, probe: Probe) -> str:
    states = [_state(item) for item in (*probe.arguments, *probe.keywords.values())]
    call = Call(fact.module, fact.function, probe.arguments, probe.keywords)
    try:
        value = impl.invoke(probe.how, call, probe.wrt, probe.keep)
    except BadReturn as refused:
        return digest(("refused", refused.message), probe.digits)
    except Raised as raised:
        return digest(("raised", raised.kinds[0]), probe.digits)
    given = (*probe.arguments, *probe.keywords.values())
    written = [item for item in given if type(item) is list]
    moved = [item.bit_generator.state != before for item, before in zip(given, states, strict=True) if before]
    if probe.view:
        try:
            return digest(probe.view(value), probe.digits)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError):
            return digest("unlike an answer", probe.digits)
    return digest([value if probe.part is None else value[probe.part], written, moved], probe.digits)


def _state(value: Any) -> Mapping[str, Any]:
    return value.bit_generator.state if isinstance(value, np.random.Generator) else {}


def digest(value: Any, digits: int) -> str:
    """Two digests of a value, rounded on a grid and on one that lies half a step beside it.

    Two numbers that differ by far less than a step fall into one cell of one grid at least.
    """
    halves = (hashlib.sha256(_text(value, digits, shift).encode()).hexdigest()[:8] for shift in (0.0, 0.5))
    return ":".join(halves)


def agree(one: str, other: str) -> bool:
    """Whether two answers are the same, but for rounding."""
    return NO_ANSWER not in (one, other) and any(a == b for a, b in zip(one.split(":"), other.split(":"), strict=True))


def _text(value: Any, digits: int, shift: float) -> str:
    """What two answers that are the same have in common; a float and an int of one value are the same."""
    if isinstance(value, (bool, np.bool_, str)) or value is None:
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, Tensor):
        return f"tensor {_text(value.values, digits, shift)}"
    if isinstance(value, np.ndarray) and value.size > LARGE:
        return f"{value.dtype.kind}{value.shape}"
    if isinstance(value, np.ndarray) and value.ndim:
        entries = ",".join(_text(entry, digits, shift) for entry in value.ravel().tolist())
        return f"{value.dtype.kind}{value.shape}[{entries}]"
    if isinstance(value, (np.ndarray, np.generic)):
        return _text(value.item(), digits, shift)
    if isinstance(value, (int, float)):
        return _rounded(value, digits, shift)
    if isinstance(value, dict):
        items = sorted(f"{key!r}: {_text(item, digits, shift)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_text(item, digits, shift) for item in value)})"
    return type(value).__name__


def _rounded(x: float, digits: int, shift: float) -> str:
    try:
        x = float(x)
    except OverflowError:
        return "huge"
    if not math.isfinite(x):
        return repr(x)
    step = 10.0 ** (max(0, math.floor(math.log10(abs(x))) + 1 if x else 0) - digits)
    return f"{math.floor(x / step + 0.5 + shift) * step + 0.0:.{max(digits, 1)}g}"
