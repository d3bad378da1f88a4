"""The process of a submission: confined before the first byte of it arrives; imports it from memory, answers calls.

Nothing here decides anything: a submission that takes this process over can only return values, which is what it is
here for.
"""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.execute import Executor, Refused, reset_global_state
from harness.sandbox import wire
from harness.sandbox.confine import Layers, confine
from harness.tree import Tree


def main(channel: int, output: int, layers: Layers, ruleset: int | None, cpu_seconds: int) -> None:
    """Confine this process and serve the grader until it hangs up. Ends without a word if a promised layer fails."""
    keep = {channel} | ({ruleset} if ruleset is not None else set())
    os.setsid()
    redirect(output)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is closed already
                os.close(int(name))
    try:
        confine(layers, ruleset, cpu_seconds)
    except Exception as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
        os._exit(CONFINEMENT_FAILED)
    Server(Pipe(channel, channel)).serve()


CONFINEMENT_FAILED = 97
"""Exit status of a child that could not be confined as promised."""


def serve_over_standard_streams() -> None:
    """Serve as an unconfined process: frames over stdin and stdout, what is printed over stderr."""
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (0, 1):
            msvcrt.setmode(descriptor, os.O_BINARY)
    pipe = Pipe(os.dup(0), os.dup(1))
    redirect(2)
    Server(pipe).serve()


def redirect(output: int) -> None:
    """stdin reads nothing; stdout and stderr are the output pipe, written through: a killed child loses nothing."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8")
    sys.stdout, sys.stderr = _writer(1), _writer(2)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]


def _writer(descriptor: int) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)


class Pipe:
    """Whole frames over two descriptors (or one socket)."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes; ends the process when the grader has hung up."""
        parts, missing = [], size
        while missing:
            part = os.read(self._reader, min(missing, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def write(self, data: bytes) -> None:
        """All of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._writer, view) :]


class Server:
    """Answers the grader's messages, one at a time."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._executor = Executor(Tree({}))
        self._remote: dict[int, Remote] = {}

    def serve(self) -> None:
        """Say that the child is ready, then answer until the grader hangs up."""
        self._send(wire.Ready())
        while True:
            message, buffers = wire.read_to_child(self._pipe.read)
            try:
                self._answer(message, wire.Decoder(buffers, _tensor, self._object))
            except Refused as refused:
                self._send(wire.Bad(str(refused)))
            except BaseException as error:
                self._send(self._executor.told(error))

    def _answer(self, message: Any, decoder: wire.Decoder) -> None:
        match message:
            case wire.Begin(sources=sources, seed=seed, lent=lent, but=but):
                reset_global_state(seed)
                self._remote.clear()
                self._executor = Executor(Tree(sources))
                if lent:
                    self._executor.lend({name: self._lent(name) for name in lent}, but)
                self._send(wire.Ready())
            case wire.Import(module=module):
                self._executor.tree.module(module)
                self._send(wire.Ready())
            case wire.Invoke():
                self._invoke(message, decoder)
            case wire.Inquire():
                self._send(wire.Noted(self._executor.views(), self._executor.moved_generators()))

    def _invoke(self, message: wire.Invoke, decoder: wire.Decoder) -> None:
        arguments = wire.values(decoder, message.arguments)
        keywords = wire.named_values(decoder, message.keywords)
        call = (message.module, message.function, arguments, keywords)
        match message.how:
            case "gradient":
                value: Any = self._executor.value_and_grad(*call, message.wrt, message.keep)
            case "changes":
                value = self._executor.changed_arguments(*call, message.wrt, message.keep)
            case _:
                value = self._executor.call(*call)
        encoder = wire.Encoder(refer=_number)
        given = (*enumerate(arguments), *keywords.items())
        try:
            encoded = encoder.value(value)
        except wire.Unsendable as refused:
            raise Refused(f"{message.function} returned {refused}; it promises plain numbers or arrays") from None
        try:
            written = {str(key): encoder.value(item) for key, item in given if wire.is_written(item)}
        except wire.Unsendable as refused:
            raise Refused(f"{message.function} put {refused} into a list that it was given") from None
        self._send(wire.Returned(encoded, written), encoder.buffers)

    def _object(self, value: wire.ObjectValue, decoder: wire.Decoder) -> "Remote":
        remote = Remote(value.number, wire.named_values(decoder, value.attributes), value.methods, self._callback)
        self._remote[value.number] = remote
        return remote

    def _lent(self, name: str) -> Callable[..., Any]:
        def stand_in(*arguments: Any, **keywords: Any) -> Any:
            if any(_needs_gradient(value) for value in (*arguments, *keywords.values())):
                return self._lent_loss(name, arguments, keywords)
            return self._callback(LENT, name, arguments, keywords)

        stand_in.__name__ = name
        return stand_in

    def _lent_loss(self, name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """A lent loss as its Taylor polynomial: a tensor with the true value, gradient and Hessian in the logits."""
        logits, *others = arguments
        if not _needs_gradient(logits) or any(_needs_gradient(value) for value in (*others, *keywords.values())):
            raise TypeError(f"{name}: only its first argument, the logits, can be differentiated")
        value, *derivatives = self._callback(LENT_LOSS, name, arguments, keywords)
        gradient, hessian = (_tensor(array).to(logits.dtype) for array in derivatives)
        step = logits - logits.detach()
        return value + (gradient * step).sum() + 0.5 * (step @ (hessian @ step))

    def _callback(self, number: int, method: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Have the grader call a method; what it wrote into generators and lists is written here."""
        encoder = wire.Encoder(refer=_number)
        try:
            sent = [encoder.value(value) for value in arguments]
            named = {name: encoder.value(value) for name, value in keywords.items()}
        except wire.Unsendable as refused:
            raise TypeError(f"{method} was given {refused}") from None
        self._send(wire.Callback(number, method, sent, named), encoder.buffers)
        message, buffers = wire.read_to_child(self._pipe.read)
        if isinstance(message, wire.Refusal):
            raise REFUSALS.get(message.kind, RuntimeError)(message.message)
        if not isinstance(message, wire.Answer):
            raise RuntimeError("the channel to the grader is broken")
        decoder = wire.Decoder(buffers, _tensor)
        given = {str(key): value for key, value in (*enumerate(arguments), *keywords.items())}
        for key, value in message.written.items():
            _write(given[key], decoder.value(value))
        return decoder.value(message.value)

    def _send(self, message: Any, buffers: list[bytes] | None = None) -> None:
        self._pipe.write(wire.frame(message, buffers or []))


LENT, LENT_LOSS = -1, -2
"""Numbers of a Callback that calls a lent function, or a lent loss with its derivatives."""

REFUSALS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ValueError, TypeError, IndexError, KeyError, AttributeError, NotImplementedError)
}


class Remote:
    """An object of the grader's: its arrays are here, read-only; its methods are answered there."""

    def __init__(
        self, number: int, attributes: Mapping[str, Any], methods: list[str], callback: Callable[..., Any]
    ) -> None:
        self._number = number
        for name, value in attributes.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            setattr(self, name, value)
        for method in methods:
            setattr(self, method, _bound(callback, number, method))


def _bound(callback: Callable[..., Any], number: int, method: str) -> Callable[..., Any]:
    return lambda *arguments, **keywords: callback(number, method, arguments, keywords)


def _number(value: Any) -> int | None:
    return value._number if type(value) is Remote else None


def _tensor(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(values)


def _needs_gradient(value: Any) -> bool:
    torch = sys.modules["torch"]
    return isinstance(value, torch.Tensor) and bool(value.requires_grad)


def _write(target: Any, value: Any) -> None:
    if isinstance(target, np.random.Generator):
        target.bit_generator.state = value.bit_generator.state
    elif isinstance(target, list):
        target[:] = value
