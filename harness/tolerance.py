"""Assertions about what an implementation returned: each says what was got and what was expected.

A returned value is never trusted to be a number or an array until it went through `number`, `vector` or `array`:
a NaN, a shape that broadcasts, a masked array or a string then fails with its own sentence.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

EXACT = 1e-8
"""Values are right to this, absolutely below 1 and relatively above (a far tail is not compared relatively)."""

Array = NDArray[np.float64]

DIFFER = "the values differ"
"""The message of a Contradiction that says no more than `got` and `expected` do."""

WAYS_OUT = {
    "list": ": `np.array(...)` makes an array of it",
    "tuple": ": `np.array(...)` makes an array of it",
    "Tensor": ": `.detach().numpy()` makes an array of it",
}
"""By the type of what is no array."""


class Contradiction(AssertionError):
    """An answer contradicts a fact. `got` and `expected` are what the report shows side by side.

    within: how far an entry may be off without being marked.
    """

    def __init__(self, message: str, got: object = None, expected: object = None, within: float = EXACT) -> None:
        super().__init__(message)
        self.message, self.got, self.expected, self.within = message, got, expected, within


def number(got: object) -> float:
    """The real number that was returned: a float, int, NumPy scalar or 0-d array; it may be infinite, not NaN."""
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got[()]
    if isinstance(got, (bool, np.bool_)) or not isinstance(got, (int, float, np.integer, np.floating)):
        raise Contradiction(f"expected a number, got {describe(got)}", got=got)
    if np.isnan(got):
        raise Contradiction("the answer is NaN", got=got)
    return float(got)


def array(got: object, shape: Sequence[int | None], *, integer: bool = False) -> Array:
    """The array that was returned, as float64 (int64 with `integer`), after its kind, shape and entries are checked.

    `shape` is the promised shape; None leaves that axis free. Entries may be infinite, never NaN.
    """
    if type(got) is not np.ndarray:
        way_out = WAYS_OUT.get(type(got).__name__, "")
        raise Contradiction(f"expected a NumPy array of shape {_shape(shape)}, got {describe(got)}{way_out}", got=got)
    if got.dtype.kind not in ("iu" if integer else "iufb"):
        raise Contradiction(
            f"expected {'integers' if integer else 'real numbers'}, got an array of {got.dtype}", got=got
        )
    if got.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, got.shape, strict=True)):
        raise Contradiction(f"expected shape {_shape(shape)}, got shape {_shape(got.shape)}", got=got)
    values: Array = got.astype(np.int64 if integer else np.float64)
    if np.isnan(values).any():
        raise Contradiction("the answer contains NaN", got=got)
    return values


def vector(got: object, length: int | None) -> Array:
    """The (length,) array that was returned; `length` None leaves it free."""
    return array(got, [length])


def policy(got: object, length: int) -> Array:
    """The probability distribution over `length` responses that was returned: no negative entry, sum 1 to `EXACT`."""
    p = vector(got, length)
    if (p < 0).any():
        raise Contradiction("a probability is negative", got=p)
    if not abs(p.sum() - 1.0) <= EXACT:
        raise Contradiction(f"the probabilities sum to {p.sum():.12g}, not 1", got=p)
    return p


def assert_exact(got: object, expected: ArrayLike, message: str = "", *, within: float = EXACT) -> None:
    """`got` is `expected`, in shape and in every entry, to `within` (absolute below 1, relative above).

    An infinite expected entry must be met exactly; NaN is right only where NaN is expected.
    """
    want = np.asarray(expected, dtype=np.float64)
    if want.ndim == 0:
        have = np.asarray(got if np.isnan(want) and _is_nan(got) else number(got))
    elif type(got) is np.ndarray and got.dtype.kind == "f" and np.isnan(want).any() and got.shape == want.shape:
        have = got.astype(np.float64)
    else:
        have = array(got, want.shape)
    if not close(have, want, within).all():
        raise Contradiction(message or DIFFER, got=have[()], expected=want[()], within=within)


def assert_at_most(value: object, bound: float, message: str, *, slack: float = EXACT) -> None:
    """`value` <= `bound`, to `slack` (absolute below 1, relative above)."""
    have = number(value)
    if not have <= bound + slack * max(1.0, abs(bound)):
        raise Contradiction(
            f"{message}: {have:.6g} is more than {bound:.6g}", got=have, expected=f"at most {bound:.12g}"
        )


def assert_monotone(values: ArrayLike, message: str, *, increasing: bool = True, slack: float = EXACT) -> None:
    """`values` never fall (never rise, with `increasing=False`) from one entry to the next, to `slack`."""
    have = np.asarray(values, dtype=np.float64)
    steps = np.diff(have) if increasing else -np.diff(have)
    if not (steps >= -slack * np.maximum(1.0, np.abs(have[1:]))).all():
        raise Contradiction(message, got=have, expected="never falling" if increasing else "never rising")


def assert_true(holds: bool | np.bool_, message: str, got: object = None, expected: object = None) -> None:
    """`holds` is true; otherwise `message` says what does not."""
    if not holds:
        raise Contradiction(message, got=got, expected=expected)


def assert_leaves_arguments_alone(call: Any, *arguments: object, **keywords: object) -> None:
    """`call` (a function of `impl`) returns with every argument as it came."""
    changed = call.changed_arguments(*arguments, **keywords)
    if changed:
        names = " and ".join(f"`{name}`" for name in changed)
        raise Contradiction(f"{call.function} changed its argument {names} in place: work on a copy")


def assert_raises_value_error(call: Callable[..., object], *arguments: object, **keywords: object) -> None:
    """`call` (a function of `impl`) raises ValueError, or a class derived from it."""
    try:
        got = call(*arguments, **keywords)
    except AssertionError as raised:
        kinds: tuple[str, ...] = getattr(raised, "kinds", ())
        if "ValueError" not in kinds:
            raise
        return
    raise Contradiction("no ValueError was raised", got=got, expected="ValueError")


def describe(value: object) -> str:
    """A few words for a value of the wrong kind."""
    if value is None:
        return "None (is a `return` missing?)"
    if type(value) is np.ndarray:
        return f"an array of {value.dtype} of shape {_shape(value.shape)}"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def close(have: ArrayLike, want: ArrayLike, within: float) -> NDArray[np.bool_]:
    """Which entries are right to `within`, absolutely below 1 and relatively above; NaN is right where NaN is due."""
    have, want = np.asarray(have, dtype=np.float64), np.asarray(want, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(have - want) <= within * np.maximum(1.0, np.abs(want))
    close: NDArray[np.bool_] = (near & np.isfinite(want)) | (have == want) | (np.isnan(have) & np.isnan(want))
    return close


def _is_nan(got: object) -> bool:
    return isinstance(got, (float, np.floating)) and bool(np.isnan(got))


def _shape(shape: Sequence[int | None]) -> str:
    inner = ", ".join("any" if size is None else str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
