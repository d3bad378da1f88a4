"""Values as text: rounded for a report, exact for a replay."""

from typing import Any

import numpy as np

from harness.impl import Call

SHOWN_ENTRIES = 24
EXACT_ENTRIES = 10_000
TEXT_LIMIT = 600


def shown(value: Any) -> str:
    """A value for a person: six digits, long arrays cut in the middle."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, separator=", ", threshold=SHOWN_ENTRIES, max_line_width=100)
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.10g}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(shown(item) for item in value[:SHOWN_ENTRIES]) + (
            ", ..." if len(value) > SHOWN_ENTRIES else ""
        )
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{shown(key)}: {shown(item)}" for key, item in list(value.items())[:SHOWN_ENTRIES]) + "}"
        )
    if isinstance(value, np.random.Generator):
        return "rng"
    if value is None or isinstance(value, (bool, int, np.integer, str)):
        return repr(value.item() if isinstance(value, np.generic) else value)[:TEXT_LIMIT]
    return type(value).__name__


def snippet(call: Call) -> str:
    """Plain Python that imports the function and calls it on the exact input; what has no spelling is `...`."""
    given = [exact(value) for value in call.arguments] + [
        f"{name}={exact(value)}" for name, value in call.keywords.items()
    ]
    lines = ["import numpy as np"] if any("np." in text for text in given) else []
    lines += [f"from student.{call.module} import {call.function}", f"print({call.function}({', '.join(given)}))"]
    return "\n".join(lines)


def exact(value: Any) -> str:
    """An expression that evaluates to the value, bit for bit."""
    if isinstance(value, np.ndarray) and value.size <= EXACT_ENTRIES:
        return f"np.array({_spelled(value.tolist())}, dtype=np.{value.dtype})"
    if isinstance(value, np.generic):
        return _spelled(value.item())
    if isinstance(value, np.random.Generator):
        return "np.random.default_rng(0)"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(exact(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return _spelled(value)
    return f"...  # {type(value).__name__}"


def _spelled(value: Any) -> str:
    return repr(value).replace("nan", "np.nan").replace("inf", "np.inf") if not isinstance(value, str) else repr(value)
