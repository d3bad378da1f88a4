"""The implementation under test, as a fact sees it: `impl.dpo.dpo_loss(...)`.

Nothing but plain values, NumPy arrays, random generators and the grader's own objects (`harness.shared`) passes
through; a fact holds no object of a submission. Where a call is made is the backend's business: in a confined process
(`harness.sandbox`), or with `--debug` in this one (`harness.local`).
"""

import unicodedata
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from harness.execute import Failure, Frame
from harness.facts import Fact
from harness.tolerance import Contradiction, number


class Todo(BaseException):
    """A stub is still to be written. Not an Exception: Hypothesis must not shrink it."""

    def __init__(self, function: str) -> None:
        super().__init__(f"{function} is still to be written")
        self.function = function


class Timeout(BaseException):
    """The submission used up its time. `by_load` when the wall clock ended it, which a loaded machine may cause.

    cause: as in Raised.
    """

    def __init__(self, message: str, by_load: bool = False, cause: str = "") -> None:
        super().__init__(message)
        self.by_load, self.cause = by_load, cause


class Crashed(BaseException):
    """The process of the submission ended, or broke the channel. cause: as in Raised."""

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class Raised(AssertionError):
    """The submission raised. `kinds` are the names of the exception's class and of its bases.

    cause: the module that cannot be imported, or the function that is missing, if that is why no call was made; what
    has the same cause need be told only once.
    """

    def __init__(self, message: str, kinds: tuple[str, ...], cause: str = "") -> None:
        super().__init__(message)
        self.message, self.kinds, self.cause = message, kinds, cause


class BadReturn(Contradiction):
    """The submission returned something that is no plain value, or a loss that is none."""


class Call(NamedTuple):
    """A call as a report shows it."""

    module: str
    function: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


class Noted(NamedTuple):
    """What is worth telling of a wrong answer.

    views: the arguments, by position or name, whose memory it is. generators: the libraries ("numpy", "random",
    "torch") whose global random generator was used.
    """

    views: Sequence[str] = ()
    generators: Sequence[str] = ()


class Backend(Protocol):
    """Makes the calls of one fact after another. Calls raise Todo, Timeout, Crashed, Raised or BadReturn."""

    def begin(self, fact: Fact, seed: int, lend: bool = False) -> None:
        """A fact begins, with fresh modules; with `lend`, other graded functions are the reference's."""

    def is_stub(self, fact: Fact) -> bool:
        """Whether the source alone shows that the fact's function is still to be written."""

    def can_lend(self, fact: Fact) -> bool:
        """Whether lending could change the outcome of a fact."""

    def end(self) -> str:
        """The fact is over; returns what the submission printed."""

    def parameters(self, call: Call) -> list[str]:
        """The names of a function's parameters, as its source gives them; none where it does not."""

    def noted(self) -> Noted:
        """What is worth telling of the last call, if the submission can still be asked."""

    def invoke(self, how: str, call: Call, wrt: int = 0, keep: tuple[int, ...] = ()) -> Any:
        """how: "call", "changes" or "gradient". Arrays are copied on the way; generators and lists are written to."""


class Function:
    """One function of the submission."""

    def __init__(self, impl: "Impl", module: str, function: str) -> None:
        self._impl, self.module, self.function = impl, module, function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the function returns on copies of the arguments; generators advance, and `record` lists fill."""
        return self._impl.invoke("call", Call(self.module, self.function, arguments, keywords))

    def changed_arguments(
        self, *arguments: Any, wrt: int = -1, keep: tuple[int, ...] = (), **keywords: Any
    ) -> tuple[str, ...]:
        """The names of the arrays among the arguments that the function changes in place.

        With `wrt` >= 0 the function is a loss, and arrays go in as tensors, as they do in `value_and_grad`.
        """
        names = self._impl.invoke("changes", Call(self.module, self.function, arguments, keywords), wrt, keep)
        return tuple(str(name) for name in names)


class Module:
    """One module of the submission; its attributes are its functions."""

    def __init__(self, impl: "Impl", module: str) -> None:
        self._impl, self._module = impl, module

    def __getattr__(self, function: str) -> Function:
        return Function(self._impl, self._module, function)


class Impl:
    """A submission's modules.

    owners: the module of each function that facts are about.
    """

    def __init__(self, backend: Backend, owners: Mapping[str, str]) -> None:
        self.backend, self._owners = backend, owners
        self.last: Call | None = None  # the latest call, for the evidence of a failure
        self.last_how: tuple[str, int, tuple[int, ...]] = ("call", 0, ())
        self.last_dtype = ""  # of its answer, if that is an array or a NumPy scalar

    def __getattr__(self, module: str) -> Module:
        if module.startswith("_"):
            raise AttributeError(module)
        return Module(self, module)

    def begin(self, fact: Fact, seed: int, lend: bool = False) -> None:
        """A fact begins: nothing was called yet."""
        self.last = None
        self.backend.begin(fact, seed, lend)

    def invoke(self, how: str, call: Call, wrt: int = 0, keep: tuple[int, ...] = ()) -> Any:
        """Make one call through the backend."""
        self.last = Call(
            call.module,
            call.function,
            tuple(_as_given(value) for value in call.arguments),
            {name: _as_given(value) for name, value in call.keywords.items()},
        )
        self.last_how, self.last_dtype = (how, wrt, keep), ""
        value = self.backend.invoke(how, call, wrt, keep)
        self.last_dtype = str(getattr(value, "dtype", ""))
        return value

    def value_and_grad(
        self, function: str, *arguments: Any, wrt: int = 0, keep: tuple[int, ...] = (), **keywords: Any
    ) -> tuple[float, np.ndarray]:
        """The value of a loss and its gradient in argument number `wrt`.

        Arrays go in as tensors, but for the argument numbers in `keep`; floats become float64, integers int64.
        """
        call = Call(self._owners[function], function, arguments, keywords)
        value, gradient = self.invoke("gradient", call, wrt, keep)
        return number(value), gradient


def raise_failure(failure: Failure, lines: Mapping[str, list[str]], limit: int = 3) -> NoReturn:
    """Raise what a Failure means: Todo, or Raised with the submission's own lines, taken from the grader's copy."""
    if failure.todo:
        raise Todo(failure.todo)
    kinds = tuple(failure.kinds)
    if kinds[:1] == ("Missing",) and not failure.frames:
        module, _, rest = failure.message.partition(".py defines no function ")
        raise Raised(failure.message, kinds, f"{module}.{rest.partition(';')[0]}")
    frames = failure.frames[-limit:]
    outer = [f"\n  {frame.module}.py, line {frame.line}: {_line(frame, lines).strip()}" for frame in frames[:-1]]
    where = "".join(outer + [_pointed_out(frame, lines) for frame in frames[-1:]])
    importing = failure.frames and failure.frames[0].function == "<module>"
    cause = next((f"{frame.module}.py" for frame in reversed(failure.frames) if frame.function == "<module>"), "")
    message = f"{kinds[0] if kinds else 'exception'}: {failure.message}{_missing_import(failure)}{where}"
    raise Raised(message, kinds, cause if importing else "")


IMPORTS = {
    "np": "import numpy as np",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "math": "import math",
    "scipy": "import scipy",
}
"""What is most often forgotten at the top of a module, by name."""


def _missing_import(failure: Failure) -> str:
    name = failure.message.removeprefix("name '").removesuffix("' is not defined")
    return f": is `{IMPORTS[name]}` missing?" if failure.kinds[:1] == ["NameError"] and name in IMPORTS else ""


def _line(frame: Frame, lines: Mapping[str, list[str]]) -> str:
    source = lines.get(frame.module, [])
    return source[frame.line - 1] if 0 < frame.line <= len(source) else ""


def _pointed_out(frame: Frame, lines: Mapping[str, list[str]]) -> str:
    """The line of a frame, with carets under what is to blame, cut to a width that every report has room for."""
    line = _line(frame, lines)
    start = min(max(frame.start, 0), len(line))
    end = min(frame.end, len(line)) if frame.end > start else len(line)
    indent = len(line) - len(line.lstrip())
    cut = max(indent, end - WIDTH if end - start < WIDTH else start)
    text = line[cut : cut + WIDTH].replace("\t", " ").rstrip()
    where = f"\n  {frame.module}.py, line {frame.line}"
    if not text:
        return where
    blamed = text[max(start, cut) - cut : end - cut]
    carets = " " * _columns(text[: max(start, cut) - cut]) + "^" * max(1, _columns(blamed))
    return f"{where}\n    {text}" + (f"\n    {carets}" if frame.start >= 0 and blamed != text else "")


WIDTH = 58
"""Characters of a source line that are shown."""


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _as_given(value: Any) -> Any:
    """What a call may write into, as it is before the call."""
    if isinstance(value, np.random.Generator):
        return deepcopy(value)
    return list(value) if type(value) is list else value
