"""Other answers to a graded function: wrong ones with a name (mistakes), and right ones written differently.

    @mistake("kl", "the terms are averaged instead of summed", severity="blatant")
    def averages_the_terms(p, q): ...

Each is a function with the signature of the one it stands in for, complete in its own module. A bank is a folder of
modules; which functions in them are variants, the decorators say.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

Severity = Literal["blatant", "subtle", "extreme"]
"""blatant: wrong on nearly any input; subtle: on some ordinary input; extreme: at ties, zeros or extremes only."""

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class Variant(NamedTuple):
    """An answer to `function`. says: the mistake in one sentence, or how the right answer is written.

    severity: of a mistake; None for a right answer. identifier: `module::name` of the code.
    """

    identifier: str
    function: str
    says: str
    severity: Severity | None
    answer: Callable[..., Any]


def mistake(function: str, says: str, *, severity: Severity = "subtle") -> Callable[[AnyFunction], AnyFunction]:
    """Mark a wrong answer to `function`; `says` is a sentence that a student could be told."""
    return _mark(function, says, severity)


def right_answer(function: str, says: str) -> Callable[[AnyFunction], AnyFunction]:
    """Mark a right answer to `function`, written differently from the reference."""
    return _mark(function, says, None)


def bank(folder: Path) -> list[Variant]:
    """The variants of a folder's modules, in file order."""
    found: list[Variant] = []
    for path in sorted(folder.glob("*.py")):
        if path.stem.startswith("_"):
            continue
        spec = importlib.util.spec_from_file_location(f"{folder.name}.{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, value in vars(module).items():
            marks = getattr(value, "variant", None)
            if marks is not None:
                function, says, severity = marks
                found.append(Variant(f"{path.stem}::{name}", function, says, severity, value))
    return found


def _mark(function: str, says: str, severity: Severity | None) -> Callable[[AnyFunction], AnyFunction]:
    def mark(answer: AnyFunction) -> AnyFunction:
        answer.variant = (function, says, severity)  # type: ignore[attr-defined]
        return answer

    return mark
