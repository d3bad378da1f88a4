"""The implementation under test, as a fact sees it: `impl.dpo.dpo_loss(...)`.

Nothing but plain values, NumPy arrays, random generators and the grader's own objects (`harness.shared`) passes
through; a fact holds no object of a submission. Where a call is made is the backend's business: in a confined process
(`harness.sandbox`), or with `--debug` in this one (`harness.local`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from harness.execute import Failure
from harness.facts import Fact
from harness.tolerance import Contradiction, number


class Todo(BaseException):
    """A stub is still to be written. Not an Exception: Hypothesis must not shrink it."""

    def __init__(self, function: str) -> None:
        super().__init__(f"{function} is still to be written")
        self.function = function


class Timeout(BaseException):
    """The submission used up its time. `by_load` when the wall clock ended it, which a loaded machine may cause."""

    def __init__(self, message: str, by_load: bool = False) -> None:
        super().__init__(message)
        self.by_load = by_load


class Crashed(BaseException):
    """The process of the submission ended, or broke the channel."""


class Raised(AssertionError):
    """The submission raised. `kinds` are the names of the exception's class and of its bases."""

    def __init__(self, message: str, kinds: tuple[str, ...]) -> None:
        super().__init__(message)
        self.message, self.kinds = message, kinds


class BadReturn(Contradiction):
    """The submission returned something that is no plain value, or a loss that is none."""


class Call(NamedTuple):
    """A call as a report shows it."""

    module: str
    function: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


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
        self.last = call
        return self.backend.invoke(how, call, wrt, keep)

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
    where = ""
    for frame in failure.frames[-limit:]:
        source = lines.get(frame.module, [])
        text = source[frame.line - 1].strip() if 0 < frame.line <= len(source) else ""
        where += f"\n  {frame.module}.py, line {frame.line}: {text}"
    kind = failure.kinds[0] if failure.kinds else "exception"
    raise Raised(f"{kind}: {failure.message}{where}", tuple(failure.kinds))
