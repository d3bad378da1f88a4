"""The implementation under test, as a fact sees it: `impl.dpo.dpo_loss(...)`.

Nothing but plain values, NumPy arrays, tensors, random generators, worlds and callbacks passes through: a fact holds
no object of a submission. An exception of the submission comes back as `Raised`, a stub as `Todo`, a result that is
no plain value as `BadReturn`. Here the calls are made in this process.
"""

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness.tolerance import Contradiction, describe, number
from harness.tree import Tree

MESSAGE_LIMIT = 2000


class Todo(BaseException):
    """A stub is still to be written. Not an Exception: Hypothesis must not shrink it."""

    def __init__(self, function: str) -> None:
        super().__init__(f"{function} is still to be written")


class Raised(AssertionError):
    """The submission raised. `kinds` are the names of the exception's class and of its bases."""

    def __init__(self, message: str, kinds: tuple[str, ...]) -> None:
        super().__init__(message)
        self.message, self.kinds = message, kinds


class BadReturn(Contradiction):
    """The submission returned something that is no plain value."""


class Call(NamedTuple):
    """A call as a report shows it."""

    module: str
    function: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


class Function:
    """One function of the submission."""

    def __init__(self, impl: "Impl", module: str, function: str) -> None:
        self._impl, self.module, self.function = impl, module, function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the function returns on copies of the arguments; generators advance, and `record` lists fill."""
        return self._impl.call(Call(self.module, self.function, arguments, keywords))

    def changed_arguments(self, *arguments: Any, **keywords: Any) -> tuple[str, ...]:
        """The names of the arguments (arrays, tensors, lists) that the function changes in place."""
        return self._impl.changed_arguments(Call(self.module, self.function, arguments, keywords))


class Module:
    """One module of the submission; its attributes are its functions."""

    def __init__(self, impl: "Impl", module: str) -> None:
        self._impl, self._module = impl, module

    def __getattr__(self, function: str) -> Function:
        return Function(self._impl, self._module, function)


class Impl:
    """A submission's modules, called in this process.

    tree: the folder of the modules. owners: the module of each function that facts are about.
    """

    def __init__(self, tree: Path, owners: Mapping[str, str]) -> None:
        self._tree, self._owners = Tree(tree), owners
        self.last: Call | None = None  # the latest call, for the evidence of a failure

    def __getattr__(self, module: str) -> Module:
        if module.startswith("_"):
            raise AttributeError(module)
        return Module(self, module)

    def forget(self) -> None:
        """Begin a fact: nothing was called yet."""
        self.last = None

    def call(self, call: Call) -> Any:
        """Make one call on copies of its arguments."""
        return plain(self._run(call, _copies(call.arguments), _copies(call.keywords)), call.function)

    def changed_arguments(self, call: Call) -> tuple[str, ...]:
        """Make one call and compare its arguments with copies taken before."""
        arguments, keywords = _copies(call.arguments), _copies(call.keywords)
        self._run(call, arguments, keywords)
        names = self._parameter_names(call)
        before = dict(zip(names, call.arguments, strict=False)) | dict(call.keywords)
        after = dict(zip(names, arguments, strict=False)) | dict(keywords)
        return tuple(name for name, value in before.items() if _comparable(value) and not _same(value, after[name]))

    def value_and_grad(
        self, function: str, *arguments: Any, wrt: int = 0, keep: tuple[int, ...] = (), **keywords: Any
    ) -> tuple[float, np.ndarray]:
        """The value of a loss and its gradient in argument number `wrt`.

        Arrays go in as tensors, but for the argument numbers in `keep`; floats become float64, integers int64.
        """
        import torch

        call = Call(self._owners[function], function, arguments, keywords)
        tensors = [
            torch.tensor(value) if isinstance(value, np.ndarray) and position not in keep else _copy(value)
            for position, value in enumerate(arguments)
        ]
        variable = tensors[wrt].requires_grad_(True)
        loss = self._run(call, tuple(tensors), _copies(keywords))
        if type(loss) is not torch.Tensor or loss.ndim != 0 or loss.dtype not in (torch.float32, torch.float64):
            kind = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else describe(loss)
            raise BadReturn(f"{function} returned {kind}; it promises a scalar tensor")
        if not loss.requires_grad:
            raise BadReturn("the loss does not depend on the logits: was it detached, or made of NumPy numbers?")
        (gradient,) = torch.autograd.grad(loss, variable, allow_unused=True)
        if gradient is None:
            raise BadReturn("the loss has no gradient in the logits")
        return number(loss.item()), gradient.detach().numpy().copy()

    def _run(self, call: Call, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        self.last = call
        try:
            return self._function(call)(*arguments, **keywords)
        except NotImplementedError as error:
            raise Todo(_deepest_function(error) or call.function) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Raised(*_told(error, self._tree.folder)) from None

    def _function(self, call: Call) -> Callable[..., Any]:
        function: object = getattr(self._tree.module(call.module), call.function, None)
        if callable(function):
            return function
        raise AttributeError(f"{call.module}.py defines no function {call.function}")

    def _parameter_names(self, call: Call) -> list[str]:
        try:
            return list(inspect.signature(self._function(call)).parameters)
        except (TypeError, ValueError):
            return [f"argument {position + 1}" for position in range(len(call.arguments))]


def plain(value: Any, function: str) -> Any:
    """`value`, if it is made of numbers, strings, arrays, tuples, lists and dicts of exactly these types."""
    if value is None or type(value) in (bool, int, float, complex, str) or isinstance(value, np.generic):
        return value
    if type(value) is np.ndarray:
        if value.dtype.kind not in "biufc":
            raise BadReturn(f"{function} returned an array of dtype {value.dtype}; it promises numbers")
        return value
    if type(value) in (tuple, list):
        return type(value)(plain(item, function) for item in value)
    if type(value) is dict:
        return {plain(key, function): plain(item, function) for key, item in value.items()}
    raise BadReturn(f"{function} returned {describe(value)}, which is no plain number, array, tuple, list or dict")


def _told(error: BaseException, folder: Path) -> tuple[str, tuple[str, ...]]:
    """(message with the submission's own lines, names of the class and its bases) of an exception."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(folder))]
    where = "".join(f"\n  {Path(f.filename).name}, line {f.lineno}: {f.line}" for f in frames[-3:])
    return f"{kind}: {text[:MESSAGE_LIMIT]}{where}", tuple(base.__name__ for base in type(error).__mro__)


def _deepest_function(error: BaseException) -> str | None:
    """The name of the function that raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].name if frames else None


def _copies(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {name: _copy(value) for name, value in values.items()}
    return tuple(_copy(value) for value in values)


def _copy(value: Any) -> Any:
    """A copy of what a function could change by mistake; `record` lists, generators and worlds go in as they are."""
    return value.copy() if isinstance(value, np.ndarray) else _copied_tensor(value)


def _copied_tensor(value: Any) -> Any:
    torch = sys.modules.get("torch")
    return value.detach().clone() if torch is not None and isinstance(value, torch.Tensor) else value


def _comparable(value: Any) -> bool:
    return isinstance(value, np.ndarray) or _copied_tensor(value) is not value


def _same(before: Any, after: Any) -> bool:
    before, after = np.asarray(before), np.asarray(after.detach() if hasattr(after, "detach") else after)
    return bool(before.shape == after.shape and before.dtype == after.dtype and before.tobytes() == after.tobytes())
