"""What the verbs that grade have in common on the command line: which facts, for which points, how well contained."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.plan import Request

LEVELS = ("full", "partial", "process")


def add_request(parser: argparse.ArgumentParser, require: str | None) -> None:
    """Add the options that `requested` reads. require: the default of --require."""
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="NAME", help="a module, a function or a fact; repeatable")
    add("--points", type=Path, metavar="FILE", help="another share of the points (default: checks/points.toml)")
    add("--reseed", type=whole(0), default=0, metavar="N", help="other seeds and inputs for the same facts")
    told = f" (default: {require})" if require else ""
    add("--require", choices=LEVELS, default=require, help=f"refuse to grade below this isolation{told}")
    parser.add_argument("--suite", type=Path, default=Path("checks"), help=argparse.SUPPRESS)
    parser.add_argument("--reference", type=Path, default=Path("reference"), help=argparse.SUPPRESS)


def requested(options: argparse.Namespace, tree: Path, **others: Any) -> "Request":
    """The request that was typed. tree: what to grade. others: fields of `Request` that one verb alone knows."""
    from harness.plan import Request  # takes half a second, which no --help has to wait for
    from harness.sandbox.probe import Level

    return Request(
        tree=tree,
        suite=options.suite,
        points=options.points or options.suite / "points.toml",
        reference=options.reference,
        only=tuple(options.only),
        reseed=options.reseed,
        require=Level[options.require.upper()] if options.require else Level.NONE,
        **others,
    )


def whole(least: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number of 64 bits, `least` or more."""

    def number(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) < 2**63:  # as large as a gradebook can hold
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {least}, {least + 1}, {least + 2}, ...")
        return int(text)

    return number
