"""The record of a deep run, which is committed: what is too slow for every day, and a digest of what it is true of."""

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import msgspec

from harness.validation.calibration import Calibration, Derivation
from harness.validation.cases import Course
from harness.validation.matrix import Block

DECIDE = (
    "constants", "errors", "evaluate", "execute", "facts", "impl", "inputs", "local", "shared", "source", "statistics",
    "tolerance", "tree", "variants", "verdict", "sandbox/wire", "validation/calibration", "validation/cases",
    "validation/guards", "validation/matrix", "validation/mutants", "validation/mutations",
)  # fmt: skip
"""The modules of this package that decide a verdict of a deep run."""

REPORTED = ("curves.py", "probes.py")
"""What stands beside the facts and decides no verdict: what reports draw, and by what they name a mistake."""


class Environment(msgspec.Struct, frozen=True):
    """Where a deep run was made."""

    python: str
    torch: str
    numpy: str
    platform: str


class Survivor(msgspec.Struct, frozen=True):
    """A mutant that no fact killed: the text of its line in the reference, and the change that was made there."""

    module: str
    function: str
    line: str
    change: str


class Mutants(msgspec.Struct, frozen=True):
    """How many mutants of each function were killed, of how many, and those that were not."""

    killed: dict[str, int]
    total: dict[str, int]
    survivors: list[Survivor]


class SeedGroup(msgspec.Struct, frozen=True):
    """Answers that were asked facts at `seeds` other seeds: how many facts, of how many answers, verdicts in all."""

    who: str
    seeds: int
    facts: int
    answers: int
    verdicts: int


class Seeds(msgspec.Struct, frozen=True):
    """The statistical facts at other seeds; failures: what did not hold, a sentence each."""

    groups: list[SeedGroup]
    failures: list[str]


class Record(msgspec.Struct, frozen=True):
    """What a deep run found.

    digest: of all that decides it. seconds: how long it took. matrix: every fact asked of every mistake.
    """

    date: str
    digest: str
    seconds: float
    environment: Environment
    mutants: Mutants
    seeds: Seeds
    calibration: list[Calibration]
    derivations: list[Derivation]
    matrix: dict[str, Block]


def read(path: Path) -> Record | None:
    """The record in a file; None where there is none, or it is of another form."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None


def write(record: Record, path: Path) -> None:
    """Write a record, one mistake a line, so that its changes can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def environment() -> Environment:
    """This Python and its libraries."""
    return Environment(platform.python_version(), version("torch"), version("numpy"), platform.platform())


def digest(course: Course) -> str:
    """Of the facts, the banks, the reference, the versions of the libraries, and the modules here that decide."""
    return digest_of(deciding(course))


def deciding(course: Course) -> dict[str, Path]:
    """The files that decide what a deep run finds, by name."""
    root = course.suite.resolve().parent
    folders = (course.suite, course.reference, course.right_answers)
    files = {path for folder in folders for path in folder.resolve().rglob("*.py") if path.name not in REPORTED}
    files |= {course.mistakes.resolve() / path.name for path in course.mistakes.glob("*.py")}
    harness = Path(__file__).parent.parent
    named = {_name(path, root): path for path in [*files, root / "constraints.txt"] if path.is_file()}
    return named | {f"harness/{module}.py": harness / f"{module}.py" for module in DECIDE}


def digest_of(files: Mapping[str, Path]) -> str:
    """Of names and contents."""
    whole = hashlib.sha256()
    for name, path in sorted(files.items()):
        text = path.read_text(encoding="utf-8").encode()  # line ends as on every system
        whole.update(f"{name}\0{len(text)}\0".encode() + text)
    return whole.hexdigest()


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
