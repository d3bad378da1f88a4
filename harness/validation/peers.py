"""Peers: the reference compared with implementations that nobody here wrote, on random inputs.

A folder of modules, which is handed over by path, holds functions like

    @peer("kl", library="scipy", allowed=1e-12)
    def sum_of_relative_entropies(impl, rng):
        "The sum of scipy.special.rel_entr."
        p, q = rng.dirichlet(np.ones((2, 5)))
        return impl.closed_form.kl(p, q), rel_entr(p, q).sum()

Each makes one random input and returns what the reference says of it, and what the library says.
"""

import inspect
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from harness.impl import Impl
from harness.local import Local
from harness.validation.files import import_file

INPUTS = 40
"""Random inputs of a comparison, unless it says otherwise."""

AnyComparison = TypeVar("AnyComparison", bound=Callable[..., tuple[Any, Any]])


class Peer(NamedTuple):
    """What the decorator adds. library: the name of a distribution."""

    function: str
    library: str
    allowed: float
    inputs: int


class Comparison(NamedTuple):
    """How far the reference was from a library. problem: why they could not be compared; else empty."""

    title: str
    function: str
    library: str
    inputs: int
    largest: float
    allowed: float
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether the largest difference is no larger than allowed."""
        return not self.problem and self.largest <= self.allowed


def peer(
    function: str, *, library: str, allowed: float, inputs: int = INPUTS
) -> Callable[[AnyComparison], AnyComparison]:
    """Mark a comparison of `function` with `library`, whose docstring says in a line what is computed there.

    allowed: the largest difference of two numbers, absolute below 1 and relative above.
    """

    def mark(comparison: AnyComparison) -> AnyComparison:
        comparison.peer = Peer(function, library, allowed, inputs)  # type: ignore[attr-defined]
        return comparison

    return mark


def compare(
    peers: Path, sources: Mapping[str, bytes], owners: Mapping[str, str], functions: Sequence[str] = ()
) -> list[Comparison]:
    """Every comparison of a folder, or those of the given functions, in file order.

    sources: the modules of the reference. owners: the module of each function that facts are about.
    """
    impl = Impl(Local(sources), owners)
    return [_compared(each, impl) for each in load(peers) if not functions or each.peer.function in functions]


def load(peers: Path) -> list[Any]:
    """The comparisons of a folder's modules, in file order, each with its `peer`."""
    modules = [import_file(path) for path in sorted(peers.glob("*.py")) if not path.stem.startswith("_")]
    values = [value for module in modules for value in vars(module).values()]
    return [value for value in values if isinstance(getattr(value, "peer", None), Peer)]


def difference(got: object, expected: object) -> float:
    """The largest difference of two numbers, absolute below 1 and relative above; infinite for NaN or another shape."""
    have, want = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if have.shape != want.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        apart = np.where(have == want, 0.0, np.abs(have - want) / np.maximum(1.0, np.abs(want)))
    return float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0.0))


def _compared(comparison: Any, impl: Impl) -> Comparison:
    mark: Peer = comparison.peer
    title = (inspect.getdoc(comparison) or comparison.__name__).partition("\n")[0]
    rng = np.random.default_rng(zlib.crc32(comparison.__name__.encode()))
    library, largest, problem = mark.library, np.nan, ""
    try:
        library += " " + metadata.version(mark.library)
        largest = max(difference(*comparison(impl, rng)) for _ in range(mark.inputs))
    except ModuleNotFoundError as error:
        problem = f"{error.name or mark.library} is not installed"
    except Exception as error:  # of the reference, of the library or of the comparison: none may pass for agreement
        problem = f"{type(error).__name__}: {error}"
    return Comparison(title, mark.function, library, mark.inputs, largest, mark.allowed, problem)
