"""What a fact is: a function of an implementation; its docstring is the theorem, its decorator the bookkeeping.

    @fact(
        function="kl",
        promise="a response with p = 0 contributes nothing",
        hint="0 log 0 is 0: leave those terms out.",
    )
    def check_zero_times_log_zero_is_zero(impl):
        \"\"\"Title in one sentence.

            the formula, indented

        Source: where it comes from.
        \"\"\"

A fact may take `seed` after `impl` (an int that follows from its name and `--reseed`) and Hypothesis inputs after that.
It stands in `check_<module>.py` and is about one function of that module.
"""

import importlib
import inspect
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

import hypothesis
import msgspec

from harness.constants import draw_constants_of

Check = Callable[..., None]
SECONDS = 4.0
"""The usual limit of a fact, in CPU seconds of the machine where the limits were chosen."""

AnyCheck = TypeVar("AnyCheck", bound=Check)

# The explain phase costs 0.5 to 1 s per failing fact; a deadline would make speed a fact; a database would carry
# one submission's counterexamples to the next.
hypothesis.settings.register_profile(
    "facts",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.shrink],
    report_multiple_bugs=False,
    print_blob=False,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("facts")


class SuiteError(Exception):
    """The suite itself is broken: a fault of its authors, never of a submission."""


class Bookkeeping(NamedTuple):
    """What the decorator adds to a check."""

    function: str
    hint: str
    weight: int
    defines: bool
    false_alarm: float
    seconds: float
    promise: str


class Fact(msgspec.Struct, frozen=True):
    """One fact of a suite, as the manifest lists it."""

    id: str
    module: str
    function: str
    title: str
    formula: str
    source: str
    hint: str
    weight: int
    defines: bool
    false_alarm: float
    seconds: float = SECONDS
    promise: str = ""

    @property
    def name(self) -> str:
        return self.id.rpartition("::")[2]


def fact(
    *,
    function: str,
    promise: str,
    hint: str,
    weight: int = 1,
    defines: bool = False,
    false_alarm: float = 0.0,
    seconds: float = SECONDS,
) -> Callable[[AnyCheck], AnyCheck]:
    """Mark a check as a fact about `function`.

    promise: the words of the function's docstring that it holds an answer to, quoted; " … " joins several passages. A
    fact may demand only what a student was told (`harness.validation.drift` looks).
    hint: what to tell a student whose answer contradicts it. weight: its share of the function's points.
    defines: it *is* the function, on ordinary input; without it nothing is earned.
    false_alarm: the chance that a right answer fails, for facts that use `harness.statistics`.
    seconds: the computing time that all calls of the fact may take; at least 10 times what the reference needs.
    """

    def mark(check: AnyCheck) -> AnyCheck:
        check.bookkeeping = Bookkeeping(function, hint, weight, defines, false_alarm, seconds, promise)  # type: ignore[attr-defined]
        return check

    return mark


def load(suite: Path) -> dict[str, Check]:
    """The checks of a suite, to be asked in this process, by id and in file order.

    Ids are pytest's: `checks/check_kl.py::check_title`.
    """
    draw_constants_of(suite)
    return _checks(suite)


def _checks(suite: Path) -> dict[str, Check]:
    checks: dict[str, Check] = {}
    for path in sorted(suite.glob("check_*.py")):
        module = import_module(suite, path.stem)
        found = [(name, value) for name, value in vars(module).items() if name.startswith("check_") and callable(value)]
        for name, check in found:
            if getattr(check, "bookkeeping", None) is None:
                raise SuiteError(f"{path.name}::{name} has no @fact: give it one, or another name")
            checks[f"{suite.name}/{path.name}::{name}"] = check
    if not checks:
        raise SuiteError(f"{suite}: no facts found (files check_*.py with functions check_*)")
    return checks


def manifest(suite: Path) -> list[Fact]:
    """Every fact of a suite, in file order, before any submission code runs."""
    return [describe(fact_id, check) for fact_id, check in _checks(suite).items()]


def describe(fact_id: str, check: Check) -> Fact:
    """The record of a check, read off its decorator and docstring."""
    marks: Bookkeeping = check.bookkeeping  # type: ignore[attr-defined]
    title, formula, source = parse_docstring(inspect.getdoc(check) or "")
    if not (title and source and marks.hint):
        raise SuiteError(f"{fact_id}: a fact needs a title, a `Source:` and a hint")
    module = fact_id.partition("::")[0].rpartition("/")[2].removeprefix("check_").removesuffix(".py")
    return Fact(fact_id, module, marks.function, title, formula, source, marks.hint, *marks[2:])


def parse_docstring(text: str) -> tuple[str, str, str]:
    """(title, formula, source) of a theorem: its first paragraph, its indented lines, what follows `Source:`."""
    body, _, source = text.partition("\nSource:")
    title, _, rest = body.partition("\n\n")
    formula = "\n".join(line for line in rest.splitlines() if line.startswith("    "))
    return _one_line(title), inspect.cleandoc(formula) if formula else "", _one_line(source)


def seed_of(fact_id: str, reseed: int) -> int:
    """The seed that a fact is given: the same everywhere, another for each fact and each `--reseed`."""
    return zlib.crc32(f"{fact_id} {reseed}".encode())


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def import_module(suite: Path, stem: str) -> ModuleType:
    """Import a module of the suite as `<suite's folder>.<stem>`, so that its modules can import each other."""
    parent = str(suite.resolve().parent)
    if parent not in sys.path:
        sys.path.insert(0, parent)
    module = importlib.import_module(f"{suite.name}.{stem}")
    if Path(module.__file__ or "").resolve() != (suite / f"{stem}.py").resolve():
        raise SuiteError(f"{suite / stem}.py: another module of that name is installed at {module.__file__}")
    return module
