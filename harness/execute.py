"""Calls of a submission's functions, on the submission's side of the boundary.

Runs in the confined process; with `--debug`, in the grader's own. What comes back is the function's value as it is, or
a `Failure`: what a report may say of an exception. Arguments arrive as this process's own copies.
"""

import inspect
import os
import random
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from itertools import islice
from types import CodeType
from typing import Any

import msgspec
import numpy as np

from harness.source import lines_of
from harness.tree import Tree

MESSAGE_LIMIT = 2000
FRAME_LIMIT = 8
KIND_LIMIT = 20


class Frame(msgspec.Struct, frozen=True):
    """A line of the submission in a traceback; its characters from `start` to `end` (0: to the last) are to blame."""

    module: str
    line: int
    function: str
    start: int = -1
    end: int = 0


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """An exception: names of its class and bases, message, and the submission's own frames, outermost first.

    `todo` is the function that is still to be written, when the exception is a stub's NotImplementedError.
    """

    kinds: list[str]
    message: str
    frames: list[Frame] = []
    todo: str = ""


class Refused(Exception):
    """What a function returned cannot be a loss or leave the process; the message says why, and what was promised."""


class Missing(AttributeError):
    """A module has no such function."""


class Executor:
    """The functions of a tree, ready to be called."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._generators = _global_generators()
        self._last: tuple[list[Any], Mapping[str, Any], Any] = ([], {}, None)

    def function(self, module: str, name: str) -> Callable[..., Any]:
        """The function of that name; raises Missing."""
        loaded = self.tree.module(module)
        function: object = getattr(loaded, name, None)
        if callable(function):
            return function
        near = get_close_matches(name, [key for key in vars(loaded) if callable(vars(loaded)[key])], n=1)
        raise Missing(f"{module}.py defines no function {name}" + (f"; it has {near[0]}" if near else ""))

    def call(self, module: str, name: str, arguments: list[Any], keywords: Mapping[str, Any]) -> Any:
        """What the function returns."""
        value = self.function(module, name)(*arguments, **keywords)
        self._last = (arguments, keywords, value)
        return value

    def views(self) -> list[str]:
        """The arguments of the last call, by position or name, whose memory is that of what it returned."""
        arguments, keywords, value = self._last
        given = {str(key): argument for key, argument in (*enumerate(arguments), *keywords.items())}
        returned = list(value) if isinstance(value, (tuple, list)) else [value]
        return [key for key, argument in given.items() if any(_share_memory(part, argument) for part in returned)]

    def moved_generators(self) -> list[str]:
        """The libraries whose global random generator was used since this executor was made."""
        now = _global_generators()
        return [name for name, state in self._generators.items() if now[name] != state]

    def changed_arguments(
        self, module: str, name: str, arguments: list[Any], keywords: Mapping[str, Any], wrt: int, keep: list[int]
    ) -> list[str]:
        """The names of the arrays and tensors among the arguments that the call changes.

        With `wrt` >= 0, arrays go in as they do to `value_and_grad`.
        """
        function = self.function(module, name)
        if wrt >= 0:
            arguments = _as_tensors(arguments, wrt, keep)
        try:
            names = list(inspect.signature(function).parameters)[: len(arguments)]
        except (TypeError, ValueError):
            names = []
        names += [f"argument {position + 1}" for position in range(len(names), len(arguments))]
        given = dict(zip(names, arguments, strict=True)) | dict(keywords)
        before = {key: _content(value) for key, value in given.items()}
        function(*arguments, **keywords)
        return [key for key, value in given.items() if _content(value) != before[key]]

    def value_and_grad(
        self, module: str, name: str, arguments: list[Any], keywords: Mapping[str, Any], wrt: int, keep: list[int]
    ) -> tuple[float, np.ndarray]:
        """The value of a loss and its gradient in argument `wrt`; arrays go in as tensors, but for those in `keep`."""
        import torch

        given = _as_tensors(arguments, wrt, keep)
        variable = given[wrt]
        loss = self.function(module, name)(*given, **keywords)
        if type(loss) is not torch.Tensor or loss.ndim != 0 or loss.dtype not in (torch.float32, torch.float64):
            kind = (
                f"a tensor of shape {tuple(loss.shape)}" if type(loss) is torch.Tensor else f"a {type(loss).__name__}"
            )
            raise Refused(f"{name} returned {kind}; it promises a scalar tensor")
        if not loss.requires_grad:
            raise Refused("the loss does not depend on the logits: was it detached, or made of NumPy numbers?")
        (gradient,) = torch.autograd.grad(loss, variable, allow_unused=True)
        if gradient is None:
            raise Refused("the loss has no gradient in the logits")
        return float(loss.item()), gradient.detach().numpy().copy()

    def lend(self, functions: Mapping[str, Callable[..., Any]], but: str) -> None:
        """Put trusted functions in the place of the submission's own in every module, but for the one under test.

        Bindings that other modules made by `from .dpo import dpo_loss` are replaced as well. A module that writes none
        of the names binds none of them by itself, and is left until it is imported. Where a module that cannot be
        imported is imported by another, the functions stand in for it.
        """
        self.tree.lent = {name: stand_in for name, stand_in in functions.items() if name != but}
        for module, source in self.tree.sources.items():
            if module not in ("__init__", "__main__") and any(name.encode() in source for name in functions):
                try:
                    self.tree.module(module)
                except (Exception, SystemExit):
                    continue  # its own facts say what is wrong with it
        for loaded in self.tree.loaded():
            for name, stand_in in functions.items():
                if name != but and hasattr(loaded, name):
                    setattr(loaded, name, stand_in)

    def told(self, error: BaseException) -> Failure:
        """What a report may say of an exception of the submission. Never raises, whatever the exception is."""
        kinds = [str(base.__name__)[:100] for base in type(error).__mro__][:KIND_LIMIT]
        frames = self._frames(error)
        todo = ""
        if isinstance(error, NotImplementedError):
            todo = frames[-1].function if frames else "a function"
        return Failure(kinds, _message(error), frames, todo)

    def _frames(self, error: BaseException) -> list[Frame]:
        own = {self.tree.filename(name): name for name in self.tree.sources}
        found: list[Frame] = []
        entry = error.__traceback__
        while entry is not None:
            frame, line, at, entry = entry.tb_frame, entry.tb_lineno, entry.tb_lasti, entry.tb_next
            module = own.get(frame.f_code.co_filename)
            if module is not None:
                found.append(Frame(module, line, frame.f_code.co_name[:100], *self._blamed(module, frame.f_code, at)))
                del found[FRAME_LIMIT // 2 : -FRAME_LIMIT // 2]
        if isinstance(error, SyntaxError) and error.filename in own and isinstance(error.lineno, int):
            start, end = (number - 1 if isinstance(number, int) else -1 for number in (error.offset, error.end_offset))
            place = (start, end if end > start and error.end_lineno == error.lineno else start + 1)
            found.append(Frame(own[error.filename], error.lineno, "<module>", *place))
        return found

    def _blamed(self, module: str, code: CodeType, instruction: int) -> tuple[int, int]:
        """(start, end) of the expression of an instruction, in characters of its line."""
        line, last, start, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
        source = lines_of(self.tree.sources[module])
        if line is None or start is None or not 0 < line <= len(source):
            return -1, 0
        text = source[line - 1].encode()  # positions count bytes
        here = end is not None and last == line
        return len(text[:start].decode(errors="ignore")), len(text[:end].decode(errors="ignore")) if here else 0


def reset_global_state(seed: int, folder: str = "/") -> None:
    """Every fact begins alike: global generators, current folder, recursion limit, NumPy's printing and error state."""
    random.seed(seed)
    np.random.seed(seed)
    np.set_printoptions()
    np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    sys.setrecursionlimit(1000)
    os.chdir(folder)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed also seeds devices: 2.5 ms in a fresh child
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


def _as_tensors(arguments: list[Any], wrt: int, keep: list[int]) -> list[Any]:
    """Arrays as tensors, but for the positions in `keep`; the one at `wrt` wants a gradient."""
    import torch

    given = [
        torch.tensor(value) if isinstance(value, np.ndarray) and position not in keep else value
        for position, value in enumerate(arguments)
    ]
    given[wrt].requires_grad_(True)
    return given


def _global_generators() -> dict[str, object]:
    """What tells whether a global generator was used, by library."""
    legacy: Any = np.random.get_state(legacy=False)
    states: dict[str, object] = {"random": hash(random.getstate()), "numpy": _content(legacy["state"]["key"])}
    states["numpy"] = (states["numpy"], legacy["state"]["pos"], legacy["has_gauss"])
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = _content(torch.default_generator.get_state())
    return states


def _share_memory(value: Any, argument: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and isinstance(argument, torch.Tensor):
        return bool(value.untyped_storage().data_ptr() == argument.untyped_storage().data_ptr())
    arrays = isinstance(value, np.ndarray) and isinstance(argument, np.ndarray)
    return arrays and value.size > 0 and np.may_share_memory(value, argument)


def _message(error: BaseException) -> str:
    try:
        # a SyntaxError's text names file and line, which stand in its frame
        text = error.msg if isinstance(error, SyntaxError) else error
        return str.__str__(str(text))[:MESSAGE_LIMIT]
    except BaseException:
        return "(its message cannot be shown)"


def _content(value: Any) -> object:
    """What is compared to see a change in place; None for values that a function may change or cannot."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    return (value.shape, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else None
