"""What travels between the grader and the process of a submission, and the reader that cannot be hurt.

A frame is: the length of its header, the number of its buffers, their lengths (little-endian), the header (msgpack of
tagged structs), the buffers (raw little-endian numbers). Every limit is checked before anything is allocated. Nothing
that arrives can name a class, a path or a function: an array is a dtype of a closed list, a shape and a buffer.
"""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np

from harness.execute import Failure
from harness.shared import Shared

HEADER_LIMIT = 2_000_000
BUFFERS_LIMIT = 64_000_000
BUFFER_COUNT_LIMIT = 10_000
DEPTH_LIMIT = 12
ITEM_LIMIT = 200_000
STRING_LIMIT = 64_000
INTEGER_BITS = 4096
DIMENSIONS = 8
DTYPES = {
    "|b1",
    "|i1",
    "|u1",
    *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)),
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "<c16",
}
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")

PREFIX = struct.Struct("<II")
LENGTH = struct.Struct("<Q")


class WireError(Exception):
    """A frame is not one of ours: it breaks a limit or does not fit the types."""


class Unsendable(Exception):
    """A value is none that may travel; the message is a sentence for the one who returned it."""


# ---- values ----


class ArrayValue(msgspec.Struct, frozen=True, tag="array"):
    dtype: str
    shape: list[int]
    buffer: int


class ScalarValue(msgspec.Struct, frozen=True, tag="scalar"):
    """A NumPy scalar: kept apart from a Python number."""

    array: ArrayValue


class TensorValue(msgspec.Struct, frozen=True, tag="tensor"):
    array: ArrayValue


class IntegerValue(msgspec.Struct, frozen=True, tag="integer"):
    """An integer of more than 64 bits, in hexadecimal."""

    hexadecimal: str


class ComplexValue(msgspec.Struct, frozen=True, tag="complex"):
    real: float
    imag: float


class ListValue(msgspec.Struct, frozen=True, tag="list"):
    items: list["Value"]


class TupleValue(msgspec.Struct, frozen=True, tag="tuple"):
    items: list["Value"]


class DictValue(msgspec.Struct, frozen=True, tag="dict"):
    keys: list["Value"]
    items: list["Value"]


class GeneratorValue(msgspec.Struct, frozen=True, tag="generator"):
    """A NumPy Generator: the name of its bit generator, of a closed list, and its state."""

    kind: str
    state: "Value"


class ObjectValue(msgspec.Struct, frozen=True, tag="object"):
    """An object of the grader's (a world): some attributes travel, its methods are answered by the grader."""

    number: int
    attributes: dict[str, "Value"]
    methods: list[str]


class ReferenceValue(msgspec.Struct, frozen=True, tag="reference"):
    """An object of the grader's, named by the child that was given it."""

    number: int


Value = (
    None | bool | int | float | str
    | ArrayValue | ScalarValue | TensorValue | IntegerValue | ComplexValue | ListValue | TupleValue | DictValue
    | GeneratorValue | ObjectValue | ReferenceValue
)  # fmt: skip


class Tensor(NamedTuple):
    """A tensor as the grader sees it, who has no torch at hand."""

    values: np.ndarray


class Encoder:
    """Values to structs and buffers. `objects` numbers the grader's objects that travel."""

    def __init__(
        self, objects: list[Any] | None = None, refer: Callable[[Any], int | None] = lambda value: None
    ) -> None:
        self.buffers: list[bytes] = []
        self._objects, self._refer, self._items, self._bytes = objects, refer, 0, 0

    def value(self, value: Any, depth: int = 0) -> Any:
        """The struct of a value. Raises Unsendable with a sentence for a value that may not travel."""
        self._items += 1
        if depth > DEPTH_LIMIT:
            raise Unsendable(f"lists, tuples and dicts nested more than {DEPTH_LIMIT} deep")
        if self._items > ITEM_LIMIT:
            raise Unsendable(f"more than {ITEM_LIMIT:,} values; return an array")
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            return self._integer(value)
        if kind is str:
            if len(value) > STRING_LIMIT // 4:
                raise Unsendable(f"a string of {len(value):,} characters")
            return value.encode("utf-8", "replace").decode("utf-8")
        if kind is complex:
            return ComplexValue(value.real, value.imag)
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, np.generic) and kind.__module__ == "numpy":
            return ScalarValue(self._array(np.asarray(value)))
        if kind is list:
            return ListValue([self.value(item, depth + 1) for item in value])
        if kind is tuple:
            return TupleValue([self.value(item, depth + 1) for item in value])
        if kind is dict:
            return DictValue(
                [self.value(key, depth + 1) for key in value], [self.value(v, depth + 1) for v in value.values()]
            )
        if kind is np.random.Generator:
            return self._generator(value, depth)
        return self._other(value, depth)

    def _other(self, value: Any, depth: int) -> Any:
        number = self._refer(value)
        if number is not None:
            return ReferenceValue(number)
        if self._objects is not None and isinstance(value, Shared):
            self._objects.append(value)
            attributes = {name: self.value(getattr(value, name), depth + 1) for name in value.attributes}
            return ObjectValue(len(self._objects) - 1, attributes, list(value.methods))
        if type(value).__module__.partition(".")[0] == "torch" and type(value).__name__ == "Tensor":
            return self._tensor(value)
        raise Unsendable(_named(value))

    def _integer(self, value: int) -> Any:
        if -(2**63) <= value < 2**63:
            return value
        if value.bit_length() > INTEGER_BITS:
            raise Unsendable(f"an integer of {value.bit_length():,} bits")
        return IntegerValue(hex(value))

    def _array(self, value: np.ndarray) -> ArrayValue:
        if value.dtype.kind == "f" and value.dtype.itemsize > 8:
            value = value.astype(np.float64)  # long double has no fixed layout
        if value.dtype.kind not in "biufc" or value.ndim > DIMENSIONS:
            raise Unsendable(f"an array of dtype {value.dtype} with {value.ndim} axes")
        if len(self.buffers) >= BUFFER_COUNT_LIMIT:
            raise Unsendable(f"more than {BUFFER_COUNT_LIMIT:,} arrays")
        self._bytes += value.nbytes
        if self._bytes > BUFFERS_LIMIT:
            raise Unsendable(f"arrays of {self._bytes:,} bytes")
        value = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).reshape(value.shape)
        self.buffers.append(value.tobytes())
        return ArrayValue(value.dtype.str.replace("=", "<").replace(">", "<"), list(value.shape), len(self.buffers) - 1)

    def _tensor(self, value: Any) -> TensorValue:
        import torch

        if type(value) is not torch.Tensor or value.layout is not torch.strided or value.device.type != "cpu":
            raise Unsendable(_named(value))
        if value.dtype in (torch.bfloat16,) or value.is_quantized:
            raise Unsendable(f"a tensor of {value.dtype}")
        return TensorValue(self._array(value.detach().resolve_conj().resolve_neg().numpy()))

    def _generator(self, value: np.random.Generator, depth: int) -> GeneratorValue:
        kind = type(value.bit_generator).__name__
        if kind not in BIT_GENERATORS or not type(value.bit_generator).__module__.startswith("numpy.random"):
            raise Unsendable(f"a random generator of kind {kind}")
        return GeneratorValue(kind, self.value(dict(value.bit_generator.state), depth + 1))


class Decoder:
    """Structs and buffers to values; every claim of a struct is checked against limits first.

    objects: what ObjectValue and ReferenceValue become. tensor: what a tensor's array becomes.
    """

    def __init__(
        self,
        buffers: list[memoryview],
        tensor: Callable[[np.ndarray], Any] = Tensor,
        object_: Callable[[ObjectValue, "Decoder"], Any] | None = None,
        referred: Callable[[int], Any] | None = None,
    ) -> None:
        self._buffers, self._tensor, self._object, self._referred, self._items = buffers, tensor, object_, referred, 0

    def value(self, value: Any, depth: int = 0) -> Any:
        """The value of a struct. Raises WireError for one that breaks a limit."""
        self._items += 1
        if depth > DEPTH_LIMIT or self._items > ITEM_LIMIT:
            raise WireError("too deep, or too many values")
        match value:
            case str() if len(value) > STRING_LIMIT:
                raise WireError("a string is too long")
            case None | bool() | int() | float() | str():
                return value
            case ArrayValue():
                return self._array(value)
            case ScalarValue(array=ArrayValue(shape=[]) as array):
                return self._array(array)[()]
            case TensorValue(array=array):
                return self._tensor(self._array(array))
            case IntegerValue(hexadecimal=text):
                return _integer(text)
            case ComplexValue(real=real, imag=imag):
                return complex(real, imag)
            case ListValue(items=items):
                return [self.value(item, depth + 1) for item in items]
            case TupleValue(items=items):
                return tuple(self.value(item, depth + 1) for item in items)
            case DictValue(keys=keys, items=items) if len(keys) == len(items):
                return self._dict([self.value(k, depth + 1) for k in keys], [self.value(v, depth + 1) for v in items])
            case GeneratorValue(kind=kind, state=state):
                return self._generator(kind, self.value(state, depth + 1))
            case ObjectValue() if self._object is not None:
                return self._object(value, self)
            case ReferenceValue(number=number) if self._referred is not None:
                return self._referred(number)
        raise WireError(f"a {type(value).__name__} may not travel this way")

    def _array(self, value: ArrayValue) -> np.ndarray:
        if value.dtype not in DTYPES or len(value.shape) > DIMENSIONS or not 0 <= value.buffer < len(self._buffers):
            raise WireError("an array of no allowed kind")
        if any(not 0 <= size <= BUFFERS_LIMIT for size in value.shape):
            raise WireError("an array of no possible shape")
        buffer = self._buffers[value.buffer]
        if math.prod(value.shape) * np.dtype(value.dtype).itemsize != len(buffer):
            raise WireError("an array that does not fit its buffer")
        array = np.frombuffer(buffer, value.dtype).reshape(value.shape)
        if value.dtype == "|b1":
            array = array.view(np.uint8).astype(np.bool_)  # a byte of 2 is no boolean
        return array.astype(array.dtype.newbyteorder("="), copy=True)

    def _dict(self, keys: list[Any], items: list[Any]) -> dict[Any, Any]:
        try:
            return dict(zip(keys, items, strict=True))
        except TypeError:
            raise WireError("a key that cannot be hashed") from None

    def _generator(self, kind: str, state: Any) -> np.random.Generator:
        if kind not in BIT_GENERATORS:
            raise WireError("a random generator of no known kind")
        bits = getattr(np.random, kind)()
        try:
            bits.state = state
        except (TypeError, ValueError, KeyError, OverflowError, AttributeError, IndexError):
            raise WireError("a random generator without a state") from None
        return np.random.Generator(bits)


# ---- messages ----


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """A fact begins: the submission's modules, and the seed of the global generators."""

    sources: dict[str, bytes]
    seed: int
    lent: list[str] = []
    but: str = ""


class Import(msgspec.Struct, frozen=True, tag="import"):
    """Import one module of the submission."""

    module: str


class Invoke(msgspec.Struct, frozen=True, tag="invoke"):
    """Call a function. how: "call", "changes" (which arguments does it change) or "gradient"."""

    how: str
    module: str
    function: str
    arguments: list[Value]
    keywords: dict[str, Value]
    wrt: int = 0
    keep: list[int] = []


class Inquire(msgspec.Struct, frozen=True, tag="inquire"):
    """What is worth knowing of the last call, now that its answer turned out wrong?"""


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The grader's answer to a Callback; `written` are the new values of generators and lists among its arguments."""

    value: Value
    written: dict[str, Value] = {}


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The grader's answer to a Callback that raised: the class (a built-in exception's name) and the message."""

    kind: str
    message: str


ToChild = Begin | Import | Invoke | Inquire | Answer | Refusal


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The child is confined, or the import is done."""


class Returned(msgspec.Struct, frozen=True, tag="returned"):
    """A call returned; `written` are new values of generators and lists among the arguments, by position or name."""

    value: Value
    written: dict[str, Value] = {}


class Bad(msgspec.Struct, frozen=True, tag="bad"):
    """A call returned what may not travel, or a loss that is none; a sentence says what."""

    message: str


class Noted(msgspec.Struct, frozen=True, tag="noted"):
    """views: arguments, by position or name, whose memory the answer is. generators: libraries whose global one moved.

    A submission can forge it, and would only mislead itself: it decides nothing.
    """

    views: list[str]
    generators: list[str]


class Callback(msgspec.Struct, frozen=True, tag="callback"):
    """Call a method of the grader's object `number`, or, with number -1, a lent function."""

    number: int
    method: str
    arguments: list[Value]
    keywords: dict[str, Value]


FromChild = Ready | Returned | Failure | Bad | Noted | Callback

_to_child = msgspec.msgpack.Decoder(ToChild)
_from_child = msgspec.msgpack.Decoder(FromChild)
_encoder = msgspec.msgpack.Encoder()


def frame(message: Any, buffers: list[bytes]) -> bytes:
    """The bytes of a message and its buffers."""
    header = _encoder.encode(message)
    lengths = b"".join(LENGTH.pack(len(buffer)) for buffer in buffers)
    return b"".join([PREFIX.pack(len(header), len(buffers)), lengths, header, *buffers])


Read = Callable[[int], bytes]


def read_from_child(read: Read) -> tuple[FromChild, list[memoryview]]:
    """One message of the untrusted side; `read(n)` gives exactly n bytes. Raises WireError."""
    header, buffers = _parts(read, HEADER_LIMIT)
    try:
        return _from_child.decode(header), buffers
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError) as error:
        raise WireError(f"no message: {type(error).__name__}") from None


def read_to_child(read: Read) -> tuple[ToChild, list[memoryview]]:
    """One message of the grader."""
    header, buffers = _parts(read, HEADER_LIMIT + BUFFERS_LIMIT)
    return _to_child.decode(header), buffers


def _parts(read: Read, header_limit: int) -> tuple[bytes, list[memoryview]]:
    header_length, count = PREFIX.unpack(read(PREFIX.size))
    if header_length > header_limit or count > BUFFER_COUNT_LIMIT:
        raise WireError("a frame is too large")
    lengths = [length for (length,) in LENGTH.iter_unpack(read(count * LENGTH.size))]
    if sum(lengths) > BUFFERS_LIMIT:
        raise WireError("a frame is too large")
    header = read(header_length)
    return header, [memoryview(read(length)) for length in lengths]


def is_written(value: Any) -> bool:
    """What a call may change for its caller: generators advance and `record` lists fill."""
    return type(value) is list or type(value) is np.random.Generator


def _integer(text: str) -> int:
    digits = text.removeprefix("-").removeprefix("0x")
    if len(digits) > INTEGER_BITS // 4 or not digits or not set(digits) <= set("0123456789abcdef"):
        raise WireError("no integer")
    return int(digits, 16) * (-1 if text.startswith("-") else 1)


def _named(value: object) -> str:
    kind = type(value).__name__[:60]
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def values(decoder: Decoder, many: list[Any]) -> list[Any]:
    """Decode several values."""
    return [decoder.value(item) for item in many]


def named_values(decoder: Decoder, many: Mapping[str, Any]) -> dict[str, Any]:
    """Decode several values by name."""
    return {name: decoder.value(item) for name, item in many.items()}
