"""A call as plain Python that makes it again, on the exact input."""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.impl import Call
from harness.shared import Shared

SPELLED_ENTRIES = 400
"""Arrays with more entries are packed: nobody reads them."""

RESERVED = {"np", "torch", "print", "base64", "zlib"}


def snippet(
    call: Call, parameters: Sequence[str] = (), how: str = "call", wrt: int = 0, keep: Sequence[int] = ()
) -> str:
    """A script that imports the function from the package `student` and calls it on the exact input.

    parameters: names of the function's parameters. how, wrt, keep: as in `Impl.invoke`; a loss is followed by its
    gradient, and a call that may change its arguments by what they are then. What has no spelling is `...`.
    """
    tensors = how == "gradient" or (how == "changes" and wrt >= 0)
    lines: list[str] = []
    names: list[str] = []
    given = [*zip(_names(call, parameters), call.arguments, strict=True), *call.keywords.items()]
    for position, (name, value) in enumerate(given):
        as_tensor = tensors and isinstance(value, np.ndarray) and position not in keep
        text = exact(value)
        if as_tensor:
            text = f"torch.tensor({text}{', requires_grad=True' if position == wrt else ''})"
        lines.append(_folded(f"{name} = {text}"))
        lines += _state(name, value)
        names.append(name)
    positional = names[: len(call.arguments)]
    called = f"{call.function}({', '.join([*positional, *(f'{name}={name}' for name in call.keywords)])})"
    arrays = ", ".join(name for name, value in given if isinstance(value, np.ndarray))
    match how:
        case "gradient":
            lines += [f"loss = {called}", "loss.backward()", f"print(loss.item(), {names[wrt]}.grad)"]
        case "changes":
            lines += [f'print("before:", {arrays})', called, f'print("after:", {arrays})']
        case _:
            lines.append(f"print({called})")
    return "\n".join([*_imports(given, lines), f"from student.{call.module} import {call.function}", "", *lines])


def exact(value: Any) -> str:
    """An expression that evaluates to the value, bit for bit; `...` for what has none."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return exact(value.item())
    if isinstance(value, np.random.Generator):
        seed = getattr(value.bit_generator.seed_seq, "entropy", None)
        if isinstance(seed, int) and _same_state(np.random.default_rng(seed), value):
            return f"np.random.default_rng({seed})"
        return f"np.random.Generator(np.random.{value.bit_generator.state['bit_generator']}())"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(exact(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{exact(key)}: {exact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Shared) and "<" not in type(value).__qualname__:
        arguments, keywords = value.made_from
        given = [*map(exact, arguments), *(f"{name}={exact(item)}" for name, item in keywords.items())]
        return f"{type(value).__name__}({', '.join(given)})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return _spelled(value)
    return "..."


def _names(call: Call, parameters: Sequence[str]) -> list[str]:
    """A name for each positional argument: that of its parameter, if the script has no other use for it."""
    taken = RESERVED | {call.function, *call.keywords}
    names = [*parameters, *(f"argument_{position + 1}" for position in range(len(parameters), len(call.arguments)))]
    return [f"{name}_" if name in taken else name for name in names[: len(call.arguments)]]


def _imports(given: Sequence[tuple[str, Any]], lines: Sequence[str]) -> list[str]:
    text = "\n".join(lines)
    needed = [f"import {name}" for name in ("base64", "zlib") if f"{name}." in text]
    needed += ["import numpy as np"] if "np." in text else []
    needed += ["import torch"] if "torch." in text else []
    worlds = {f"from {type(value).__module__} import {type(value).__name__}"
              for _, value in given if isinstance(value, Shared) and exact(value) != "..."}  # fmt: skip
    return [*needed, *sorted(worlds)]


def _state(name: str, value: Any) -> list[str]:
    """The line that puts a generator into its state, if its seed does not."""
    if not isinstance(value, np.random.Generator) or "default_rng" in exact(value):
        return []
    return [f"{name}.bit_generator.state = {exact(value.bit_generator.state)}"]


def _same_state(one: np.random.Generator, other: np.random.Generator) -> bool:
    return repr(one.bit_generator.state) == repr(other.bit_generator.state)


def _folded(line: str) -> str:
    """A statement in lines of 76 characters. It is broken after commas, which stand in brackets, unless in a string."""
    if len(line) <= 76 or "'" in line:
        return line
    parts, folded = line.split(", "), []
    text = parts[0]
    for part in parts[1:]:
        if len(text) + len(part) + 3 > 76:
            folded.append(f"{text},")
            text = f"    {part}"
        else:
            text += f", {part}"
    return "\n".join([*folded, text])


def _array(value: np.ndarray) -> str:
    shape = f".reshape({value.shape})" if value.ndim > 1 else ""
    if value.size <= SPELLED_ENTRIES:
        flat = not value.size
        return f"np.array({_spelled(value.tolist())}, dtype=np.{value.dtype}){shape if flat else ''}"
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
    rows = "\n".join(f"    {packed[at : at + 70]!r}" for at in range(0, len(packed), 70))
    return f"np.frombuffer(zlib.decompress(base64.b85decode(\n{rows}\n)), dtype=np.{value.dtype}){shape}.copy()"


def _spelled(value: Any) -> str:
    return repr(value) if isinstance(value, str) else repr(value).replace("nan", "np.nan").replace("inf", "np.inf")
