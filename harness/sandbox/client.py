"""The grader's end of the boundary: messages, callbacks and what their answers mean, whatever carries the bytes.

`forked` carries them to a confined child of a zygote, `portable` to an ordinary process.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Self

from harness.errors import GraderFault
from harness.execute import Failure
from harness.impl import Crashed
from harness.sandbox import wire
from harness.sandbox.child import LENT, LENT_LOSS

OUTPUT_HEAD, OUTPUT_TAIL = 32_000, 32_000
REFUSAL_LIMIT = 2000


class Unhappy(Exception):
    """The submission answered with a Failure or a Bad return; the caller says what that means."""

    def __init__(self, reply: Failure | wire.Bad) -> None:
        super().__init__(str(reply))
        self.reply = reply


class Lend(NamedTuple):
    """Trusted functions by name, and losses with their derivatives: (value, gradient, Hessian) in the logits."""

    names: list[str]
    function: Callable[[str], Callable[..., Any]]
    loss: Callable[[str], Callable[..., Any]]


class Output:
    """What a submission printed: its head and tail, and how much was dropped in between."""

    def __init__(self) -> None:
        self._head, self._tail, self._dropped = b"", b"", 0

    def add(self, data: bytes) -> None:
        room = OUTPUT_HEAD - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        extra = len(self._tail) - OUTPUT_TAIL
        if extra > 0:
            self._tail, self._dropped = self._tail[extra:], self._dropped + extra

    def text(self) -> str:
        note = f"\n[{self._dropped:,} bytes left out]\n".encode() if self._dropped else b""
        return (self._head + note + self._tail).decode("utf-8", "replace")


class Client(ABC):
    """One submission's process for one fact after another. Use as a context manager.

    missing: the layers of confinement that this place does not offer, known after `wait_until_ready`.
    """

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.output = Output()
        self._objects: list[Any] = []
        self._lend: Lend | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what carries the bytes ----

    @abstractmethod
    def wait_until_ready(self) -> None:
        """Wait for what was started beside the caller. Raises GraderFault if it does not come up."""

    @abstractmethod
    def _fresh(self, cpu: float) -> None:
        """A process and an `output` for one fact, with `cpu` seconds for all its calls together."""

    @abstractmethod
    def _importing(self) -> AbstractContextManager[None]:
        """A block that is charged to a limit of its own."""

    @abstractmethod
    def _write(self, data: bytes) -> None:
        """Send all of `data`; raises Timeout or Crashed."""

    @abstractmethod
    def _reader(self) -> wire.Read:
        """What reads exactly n bytes of the reply that is now due; raises Timeout or Crashed."""

    @abstractmethod
    def end(self) -> None:
        """No process of the submission is left."""

    @abstractmethod
    def close(self) -> None:
        """Nothing that this client started is left."""

    # ---- messages ----

    def begin(
        self, sources: Mapping[str, bytes], seed: int, cpu: float, lend: Lend | None = None, but: str = ""
    ) -> None:
        """A fact begins, with fresh modules and `cpu` seconds (on the nominal machine) for all its calls together.

        lend: answers calls of the functions that are lent, all but the function `but`.
        """
        self.wait_until_ready()
        self._objects, self._lend = [], lend
        self._fresh(cpu)
        with self._importing():
            self._request(wire.Begin(dict(sources), seed, lend.names if lend else [], but), [], wire.Ready)

    def import_module(self, module: str) -> None:
        """Import a module of the submission, which has a limit of its own."""
        with self._importing():
            self._request(wire.Import(module), [], wire.Ready)

    def invoke(
        self,
        how: str,
        module: str,
        function: str,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        wrt: int = 0,
        keep: Sequence[int] = (),
    ) -> Any:
        """Call a function; generators and lists among the arguments are written to, as a call would. Raises Unhappy."""
        encoder = wire.Encoder(self._objects)
        try:
            sent = [encoder.value(value) for value in arguments]
            named = {name: encoder.value(value) for name, value in keywords.items()}
        except wire.Unsendable as error:
            raise GraderFault(f"a fact hands {error} to {function}") from None
        message = wire.Invoke(how, module, function, sent, named, wrt, list(keep))
        reply, buffers = self._request(message, encoder.buffers, wire.Returned)
        given = {str(key): value for key, value in (*enumerate(arguments), *keywords.items())}
        with _held_to_the_wire():
            decoder = wire.Decoder(buffers)
            for key, value in reply.written.items():
                _write_back(given.get(key), decoder.value(value))
            return decoder.value(reply.value)

    def inquire(self) -> wire.Noted:
        """What is worth knowing of the last call. Raises Unhappy."""
        noted, _ = self._request(wire.Inquire(), [], wire.Noted)
        assert isinstance(noted, wire.Noted)
        return noted

    def _request(self, message: Any, buffers: list[bytes], expected: type) -> Any:
        """The (reply, buffers) to a message, after answering the callbacks on the way."""
        self._write(wire.frame(message, buffers))
        read = self._reader()
        while True:
            with _held_to_the_wire():
                reply, received = wire.read_from_child(read)
            if isinstance(reply, wire.Callback):
                self._answer(reply, received)
            elif isinstance(reply, Failure | wire.Bad):
                raise Unhappy(reply)
            elif isinstance(reply, expected):
                return reply, received
            else:
                raise Crashed("the submission's process broke its channel to the grader")

    def _answer(self, call: wire.Callback, buffers: list[memoryview]) -> None:
        with _held_to_the_wire():
            decoder = wire.Decoder(buffers, referred=self._referred)
            arguments = wire.values(decoder, call.arguments)
            keywords = wire.named_values(decoder, call.keywords)
            function = self._answering(call.number, call.method)
        encoder = wire.Encoder()
        try:
            value = encoder.value(function(*arguments, **keywords))
            given = {str(key): item for key, item in (*enumerate(arguments), *keywords.items())}
            written = {key: encoder.value(item) for key, item in given.items() if wire.is_written(item)}
        except Exception as error:  # whatever a submission's arguments lead to is the submission's to see
            self._write(wire.frame(wire.Refusal(type(error).__name__, str(error)[:REFUSAL_LIMIT]), []))
        else:
            self._write(wire.frame(wire.Answer(value, written), encoder.buffers))

    def _answering(self, number: int, method: str) -> Callable[..., Any]:
        if number in (LENT, LENT_LOSS) and self._lend is not None and method in self._lend.names:
            return self._lend.loss(method) if number == LENT_LOSS else self._lend.function(method)
        target = self._referred(number)
        if method not in target.methods:
            raise wire.WireError("no such method")
        answering: Callable[..., Any] = getattr(target, method)
        return answering

    def _referred(self, number: int) -> Any:
        if not 0 <= number < len(self._objects):
            raise wire.WireError("no such object")
        return self._objects[number]


@contextmanager
def _held_to_the_wire() -> Iterator[None]:
    """A frame that is none of ours is a crash of the submission's process."""
    try:
        yield
    except wire.WireError as error:
        raise Crashed(f"the submission's process broke its channel to the grader ({error})") from None


def _write_back(target: Any, value: Any) -> None:
    """Write a list or a generator's state into the caller's own object, if both are of that kind."""
    if type(target) is list and type(value) is list:
        target[:] = value
    elif wire.is_written(target) and type(target) is type(value):
        target.bit_generator.state = value.bit_generator.state  # of another kind: ValueError, and the fact stumbles
