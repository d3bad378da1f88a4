"""Calls made in this process: for `--debug`, with a submission that can be trusted; never for marks."""

import copy
import io
import pdb
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.execute import Executor, Refused, reset_global_state
from harness.facts import Fact
from harness.impl import BadReturn, Call, Noted, Timeout, raise_failure
from harness.sandbox import wire
from harness.source import lines_of, mentions, parameters
from harness.tree import Tree

AnyFunction = Callable[..., Any]


class Local:
    """A backend that imports the submission here.

    sources: its modules. folder: where they lie, so that a debugger finds them. debug: stop where it raises.
    replaced: by (module, function), what makes of the submission's own function the one that takes its place in every
    module. lent: functions of the reference that are lent like those of a graded run; without them, none is: a
    debugger is to see the submission's own helpers.
    """

    def __init__(
        self,
        sources: Mapping[str, bytes],
        folder: str = "",
        debug: bool = False,
        replaced: Mapping[tuple[str, str], Callable[[AnyFunction], AnyFunction]] | None = None,
        lent: Mapping[str, AnyFunction] | None = None,
    ) -> None:
        self._sources, self._folder, self._debug = sources, folder, debug
        self._replaced, self._lent = replaced or {}, lent or {}
        self._executor = Executor(Tree(sources, folder))
        self._lines = {name: lines_of(data) for name, data in sources.items()}

    def begin(self, fact: Fact, seed: int, lend: bool = False) -> None:
        """A fact begins: fresh modules, and the global generators seeded."""
        reset_global_state(seed, folder=".")
        self._executor = Executor(Tree(self._sources, self._folder))
        own = {place: self._executor.function(*place) for place in self._replaced}
        self._executor.lend({place[1]: make(own[place]) for place, make in self._replaced.items()}, but="")
        if lend:
            self._executor.lend(self._lent, but=fact.function)

    def is_stub(self, fact: Fact) -> bool:
        """Left to the call itself."""
        return False

    def can_lend(self, fact: Fact) -> bool:
        """Whether lending could change the outcome of a fact."""
        return mentions(self._sources.get(fact.module, b""), set(self._lent) - {fact.function})

    def end(self) -> str:
        """The fact is over; what was printed is on the terminal already."""
        return ""

    def parameters(self, call: Call) -> list[str]:
        """The names of a function's parameters, as its source gives them."""
        return parameters(self._sources.get(call.module, b""), call.function)

    def noted(self) -> Noted:
        """What is worth telling of the last call; global generators are also used by what runs here beside it."""
        return Noted(self._executor.views())

    def invoke(self, how: str, call: Call, wrt: int = 0, keep: tuple[int, ...] = ()) -> Any:
        """Make one call on copies of its arguments; what comes back has passed through the wire's rules."""
        arguments = [_copy(value) for value in call.arguments]
        keywords = {name: _copy(value) for name, value in call.keywords.items()}
        try:
            match how:
                case "gradient":
                    value: Any = self._executor.value_and_grad(
                        call.module, call.function, arguments, keywords, wrt, list(keep)
                    )
                case "changes":
                    value = self._executor.changed_arguments(
                        call.module, call.function, arguments, keywords, wrt, list(keep)
                    )
                case _:
                    value = self._executor.call(call.module, call.function, arguments, keywords)
            return _through_the_wire(value)
        except wire.Unsendable as refused:
            raise BadReturn(f"{call.function} returned {refused}; it promises plain numbers or arrays") from None
        except Refused as refused:
            raise BadReturn(str(refused)) from None
        except (KeyboardInterrupt, Timeout):  # not the answer's own
            raise
        except BaseException as error:
            if self._debug and not isinstance(error, NotImplementedError):
                print(f"{type(error).__name__}: {error}")
                pdb.post_mortem(error.__traceback__)
            raise_failure(self._executor.told(error), self._lines)


def sources_of(folder: Path) -> dict[str, bytes]:
    """The modules of a folder that can be trusted."""
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.py"))}


def _through_the_wire(value: Any) -> Any:
    encoder = wire.Encoder()
    frame = wire.frame(wire.Returned(encoder.value(value)), encoder.buffers)
    message, buffers = wire.read_from_child(io.BytesIO(frame).read)
    assert isinstance(message, wire.Returned)
    return wire.Decoder(buffers).value(message.value)


def _copy(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, np.ndarray) else value
