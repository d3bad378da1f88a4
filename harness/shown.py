"""Values as a person reads them: a call, an answer, an answer beside the one that was expected."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from harness.impl import Call
from harness.tolerance import close

ENTRIES = 12
"""Arrays and lists with more entries are cut in the middle."""

ROOM = 62
"""Characters of a line of numbers: with its label and indent it fits a terminal of 80 columns."""

FEWEST_DIGITS, MOST_DIGITS = 4, 17
TEXT_LIMIT = 600


class Compared(NamedTuple):
    """An answer and what was expected: two lines of the same columns, carets under what differs, how much differs."""

    got: str
    expected: str
    differs: str = ""
    note: str = ""


def shown(value: Any) -> str:
    """A value for a person: six digits, long arrays and lists cut in the middle."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.10g}"
    if isinstance(value, (int, np.integer)):
        return str(int(value)) if abs(int(value)) < 10**40 else "an integer of more than 40 digits"
    if isinstance(value, (tuple, list)):
        inner = _listed([shown(item) for item in _ends(value)], len(value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, dict):
        pairs = [f"{shown(key)}: {shown(item)}" for key, item in islice(value.items(), ENTRIES)]
        return "{" + ", ".join(pairs) + (", ...}" if len(value) > ENTRIES else "}")
    if isinstance(value, np.random.Generator):
        return "rng"
    if isinstance(value, str):
        return value[:TEXT_LIMIT]
    return type(value).__name__


def shown_call(call: Call, parameters: Sequence[str]) -> str:
    """A call with the names of its arguments; one argument to a line when they are too long for one line."""
    nameless = [""] * (len(call.arguments) - len(parameters))
    names = [*parameters[: len(call.arguments)], *nameless, *call.keywords]
    values = [repr(value) if isinstance(value, str) else shown(value)
              for value in (*call.arguments, *call.keywords.values())]  # fmt: skip
    given = [f"{name}={text}" if name not in ("", text) else text for name, text in zip(names, values, strict=True)]
    line = f"{call.function}({', '.join(given)})"
    return line if len(line) <= ROOM else f"{call.function}(\n  " + ",\n  ".join(given) + ")"


def side_by_side(got: Any, expected: Any, within: float) -> Compared:
    """Both, with as many digits as it takes to see the difference.

    Of a long answer only some entries that differ are shown, each with its index: those that are farthest off.
    """
    have, want = _numbers(got), _numbers(expected)
    if have is None or want is None or have.shape != want.shape or not have.size:
        return Compared(shown(got), shown(expected))
    off = ~close(have, want, within)
    if have.ndim == 0:
        return Compared(*_texts(have[()], want[()], bool(have != want)))
    if have.ndim == 1 and have.size <= ROOM // 3:
        columns = [_Column((i,), *_texts(have[i], want[i], bool(off[i])), bool(off[i])) for i in range(have.size)]
        if sum(column.width + 2 for column in columns) <= ROOM:
            return Compared(
                f"[{', '.join(column.got.rjust(column.width) for column in columns)}]",
                f"[{', '.join(column.expected.rjust(column.width) for column in columns)}]",
                (" " + _carets(columns, 0)).rstrip(),
            )
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.nan_to_num(np.abs(have - want) / np.maximum(1.0, np.abs(want)), nan=np.inf) * (off | ~off.any())
    farthest = np.argsort(-distance, axis=None, kind="stable")[: min(ENTRIES, int(off.sum()) or ENTRIES)]
    places = [tuple(int(i) for i in np.unravel_index(at, have.shape)) for at in farthest]
    chosen = [_Column(place, *_texts(have[place], want[place], bool(off[place])), bool(off[place])) for place in places]
    while len(chosen) > 1 and sum(len(column.label) + column.width + 2 for column in chosen) > ROOM + 2:
        chosen.pop()
    chosen.sort(key=lambda column: column.place)
    return Compared(
        ", ".join(column.label + column.got.rjust(column.width) for column in chosen),
        ", ".join(column.label + column.expected.rjust(column.width) for column in chosen),
        _carets(chosen, 1),
        f"{off.sum():,} of {off.size:,} entries differ" if not off.all() else "",
    )


class _Column(NamedTuple):
    """One entry of both."""

    place: tuple[int, ...]
    got: str
    expected: str
    differs: bool

    @property
    def width(self) -> int:
        return max(len(self.got), len(self.expected))

    @property
    def label(self) -> str:
        return f"[{', '.join(map(str, self.place))}]: "


def _carets(columns: Iterable[_Column], labelled: int) -> str:
    """Carets under the columns that differ, each as wide as its column."""
    marks = [" " * (labelled * len(column.label)) + (" ^"[column.differs] * column.width) for column in columns]
    return "  ".join(marks).rstrip()


def _texts(x: Any, y: Any, differs: bool) -> tuple[str, str]:
    """Two numbers, with the fewest digits that tell them apart if they are to be told apart."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        texts = _digits(x, digits), _digits(y, digits)
        if not differs or float(texts[0]) != float(texts[1]):
            break
    return texts


def _digits(x: Any, digits: int) -> str:
    whole = len(str(int(abs(x)))) if np.isfinite(x) and abs(x) < 1e9 else 0  # 12276 rather than 1.228e+04
    return f"{float(x):.{max(digits, whole)}g}"


def _numbers(value: Any) -> np.ndarray | None:
    """Real numbers as an array; None for anything else."""
    if isinstance(value, (list, tuple)) and not all(type(item) in (int, float) for item in value):
        return None
    if not isinstance(value, (list, tuple, np.ndarray, int, float, np.number)) or isinstance(value, bool):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "iuf" else None


def _array(value: np.ndarray) -> str:
    if value.ndim == 0 or value.dtype.kind not in "iufb":
        return f"array({value.item()!r})"[:TEXT_LIMIT] if value.ndim == 0 else repr(value)[:TEXT_LIMIT]
    if value.ndim > 1:
        rows = [_array(row) for row in _ends(value, 6)]
        return f"[{_listed(rows, len(value))}]" + (
            f" of shape {value.shape}" if value.size > ENTRIES or not value.size else ""
        )
    ends = [float(item) for item in _ends(value)]
    for digits in range(6, MOST_DIGITS + 1):  # entries that differ are to look different
        texts = [f"{item:.{digits}g}" for item in ends]
        if len(set(texts)) == len(set(map(str, ends))):
            break
    return f"[{_listed(texts, len(value))}]" + (f" ({len(value):,} numbers)" if len(value) > ENTRIES else "")


def _ends(values: Any, most: int = ENTRIES) -> list[Any]:
    """All values, or the first and last few."""
    return list(values) if len(values) <= most else [*values[:3], *values[-2:]]


def _listed(texts: Sequence[str], length: int) -> str:
    return ", ".join(texts if len(texts) == length else [*texts[:3], "...", *texts[-2:]])
