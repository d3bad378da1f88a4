"""What travels: every promised value comes back as it was, and no frame of a hostile sender does harm."""

import io
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.execute import Failure, Frame
from harness.sandbox import wire

FUZZED_FRAMES = 10_000


def through(value: object) -> object:
    encoder = wire.Encoder()
    data = wire.frame(wire.Returned(encoder.value(value)), encoder.buffers)
    message, buffers = wire.read_from_child(io.BytesIO(data).read)
    assert isinstance(message, wire.Returned)
    return wire.Decoder(buffers).value(message.value)


SCALARS = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers(-(2**200), 2**200)
    | st.text(max_size=20)
    | st.complex_numbers()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.integers() | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    assert repr(through(value)) == repr(value)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i2", "<i4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)], ids=str)
def test_arrays_keep_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    back = through(array)
    assert type(back) is np.ndarray
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable


def test_other_layouts_become_plain_ones() -> None:
    array = np.arange(12.0).reshape(3, 4)
    for odd in (array.astype(">f8"), array.T.copy().T, array[::-1], array.astype(np.longdouble)):
        back = through(odd)
        assert isinstance(back, np.ndarray)
        assert back.dtype == np.float64
        assert (back == odd).all()


def test_numpy_scalars_are_kept_apart_from_numbers() -> None:
    assert type(through(np.float32(1.5))) is np.float32
    assert type(through(np.int64(3))) is np.int64
    assert type(through(1.5)) is float
    assert isinstance(through(np.array(1.5)), np.ndarray)


def test_tensors_arrive_as_their_numbers() -> None:
    torch = pytest.importorskip("torch")
    back = through(torch.arange(3, dtype=torch.float64, requires_grad=True))
    assert isinstance(back, wire.Tensor)
    assert (back.values == [0, 1, 2]).all()


@pytest.mark.parametrize("kind", wire.BIT_GENERATORS)
def test_generators_go_on_where_they_were(kind: str) -> None:
    rng = np.random.Generator(getattr(np.random, kind)(5))
    rng.random(3)
    back = through(rng)
    assert isinstance(back, np.random.Generator)
    assert (back.integers(0, 2**40, 5) == rng.integers(0, 2**40, 5)).all()


class Sub(np.ndarray):
    pass


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


UNSENDABLE: dict[str, object] = {
    "object": object(),
    "set": {1, 2},
    "bytes": b"bytes",
    "function": lambda: 0,
    "array of objects": np.array([object()]),
    "array of text": np.array(["text"]),
    "masked array": np.ma.masked_all(3),
    "subclass": np.ones(3).view(Sub),
    "8 GB": np.broadcast_to(0.0, (1 << 30,)),
    "generator": (i for i in range(3)),
    "deep list": nested(wire.DEPTH_LIMIT + 1),
    "long list": [0.0] * (wire.ITEM_LIMIT + 1),
    "long text": "x" * wire.STRING_LIMIT,
    "long integer": 1 << (wire.INTEGER_BITS + 1),
    "old random state": np.random.RandomState(0),
}


@pytest.mark.parametrize("value", UNSENDABLE.values(), ids=UNSENDABLE)
def test_anything_else_is_refused_with_a_sentence(value: object) -> None:
    with pytest.raises(wire.Unsendable, match=r"\w"):
        wire.Encoder().value(value)


def test_a_list_that_holds_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(wire.Unsendable):
        wire.Encoder().value(value)


def returned(value: object, buffers: list[bytes]) -> bytes:
    return wire.frame(wire.Returned(value), buffers)  # type: ignore[arg-type]


def read(data: bytes) -> object:
    message, buffers = wire.read_from_child(exactly(data))
    assert isinstance(message, wire.Returned)
    return wire.Decoder(buffers).value(message.value)


class EndOfData(Exception):
    pass


def exactly(data: bytes) -> wire.Read:
    stream = io.BytesIO(data)

    def read(size: int) -> bytes:
        assert size <= wire.BUFFERS_LIMIT, "nothing may be read before its size was checked"
        part = stream.read(size)
        if len(part) < size:
            raise EndOfData
        return part

    return read


A = wire.ArrayValue


@pytest.mark.parametrize(
    ("value", "buffers"),
    [
        (A("<f8", [1 << 40], 0), [b"12345678"]),
        (A("<f8", [1 << 40, 1 << 40, 0], 0), [b""]),
        (A("<f8", [-1], 0), [b"12345678"]),
        (A("<f8", [-2, -4], 0), [b"12345678" * 8]),
        (A("<f8", [2], 0), [b"12345678"]),
        (A("<f8", [1], 1), [b"12345678"]),
        (A("<f8", [1], -1), [b"12345678"]),
        (A("|O", [1], 0), [b"12345678"]),
        (A("|V8", [1], 0), [b"12345678"]),
        (A("<M8[s]", [1], 0), [b"12345678"]),
        (A("<f8", [1] * 40, 0), [b"12345678"]),
        (wire.ScalarValue(A("<f8", [1], 0)), [b"12345678"]),
        (wire.IntegerValue("0x" + "f" * 5000), []),
        (wire.IntegerValue("ff_ff"), []),
        (wire.IntegerValue(""), []),
        (wire.DictValue([1], []), []),
        (wire.DictValue([wire.ListValue([])], [1]), []),
        (wire.GeneratorValue("Evil", None), []),
        (wire.GeneratorValue("PCG64", None), []),
        (wire.GeneratorValue("PCG64", wire.DictValue(["bit_generator"], ["PCG64"])), []),
        (wire.GeneratorValue("MT19937", wire.DictValue(["bit_generator", "state"], ["MT19937", 3])), []),
        (wire.ObjectValue(0, {}, []), []),
        (wire.ReferenceValue(0), []),
        ("x" * (wire.STRING_LIMIT + 1), []),
    ],
    ids=lambda part: str(part)[:80] if not isinstance(part, list) else "",
)
def test_a_claim_that_breaks_a_limit_is_refused(value: object, buffers: list[bytes]) -> None:
    with pytest.raises(wire.WireError):
        read(returned(value, buffers))


def test_booleans_are_only_true_or_false() -> None:
    assert read(returned(A("|b1", [2], 0), [b"\x02\x00"])).tolist() == [True, False]  # type: ignore[attr-defined]


def test_a_frame_that_claims_too_much_is_refused_before_it_is_read() -> None:
    for prefix in (
        wire.PREFIX.pack(wire.HEADER_LIMIT + 1, 0),
        wire.PREFIX.pack(1, wire.BUFFER_COUNT_LIMIT + 1),
        wire.PREFIX.pack(1, 1) + wire.LENGTH.pack(wire.BUFFERS_LIMIT + 1),
        wire.PREFIX.pack(1, 2) + wire.LENGTH.pack(1 << 63) + wire.LENGTH.pack(1 << 63),
    ):
        with pytest.raises(wire.WireError):
            wire.read_from_child(exactly(prefix + bytes(1000)))


def test_deep_headers_are_refused() -> None:
    for opening in (b"\x91", b"\x81\xa1x"):  # a list of one, a dict of one: msgpack nested 100,000 deep
        header = opening * 100_000 + b"\x00"
        with pytest.raises(wire.WireError):
            wire.read_from_child(exactly(wire.PREFIX.pack(len(header), 0) + header))


def test_random_frames_do_no_harm() -> None:
    """Ten thousand frames, honest ones with some bytes changed: each is read, refused or cut short."""
    rng = random.Random(20)
    honest = [
        returned(*_encoded(value))
        for value in (
            1.5,
            [1, (2, "three", None)],
            {"a": np.arange(6.0).reshape(2, 3), "b": [np.float32(1), 1 << 90]},
            np.random.default_rng(3),
            {i: i for i in range(50)},
        )
    ] + [wire.frame(Failure(["ValueError"], "message", [Frame("m", 3, "f")]), [])]
    for _ in range(FUZZED_FRAMES):
        data = bytearray(rng.choice(honest))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        if rng.random() < 0.1:
            data[:8] = struct.pack("<II", rng.randrange(1 << 32), rng.randrange(1 << 32))
        try:
            message, buffers = wire.read_from_child(exactly(bytes(data)))
            if isinstance(message, wire.Returned):
                wire.Decoder(buffers).value(message.value)
        except (wire.WireError, EndOfData):
            pass


def _encoded(value: object) -> tuple[object, list[bytes]]:
    encoder = wire.Encoder()
    return encoder.value(value), encoder.buffers
