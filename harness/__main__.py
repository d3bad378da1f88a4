"""The command line: `python -m harness grade`, `python -m harness stubs`; the sessions of noxfile.py call these.

Exit status: 0 all facts hold; 1 marks lost (or generated files stale); 2 the command line or the submission cannot be
understood; 3 our own fault.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from harness.errors import UsageError

ALL_HOLD, MARKS_LOST, MISUNDERSTOOD, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    options = _parser().parse_args(arguments)
    errors = Console(stderr=True, soft_wrap=True)
    try:
        return int(options.verb(options))
    except KeyboardInterrupt:
        errors.print("stopped")
        return INTERRUPTED
    except UsageError as error:
        errors.print(str(error), markup=False, highlight=False)
        return MISUNDERSTOOD
    except Exception:
        errors.print_exception()
        errors.print("This is a fault of the grader, not of the submission. Please report it with the lines above.")
        return OUR_FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m harness", description="Facts, marks and reports for the lab course."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    grade = verbs.add_parser("grade", help="ask a tree every fact, and print the marks")
    grade.add_argument("--tree", type=Path, default=Path("student"), help="folder of the modules (default: student)")
    grade.add_argument("--suite", type=Path, default=Path("checks"), help=argparse.SUPPRESS)
    grade.add_argument("--reference", type=Path, default=Path("reference"), help=argparse.SUPPRESS)
    grade.add_argument("--points", type=Path, help="another share of the points (default: checks/points.toml)")
    grade.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a module, a function or a fact; repeatable"
    )
    grade.add_argument("--out", type=Path, metavar="DIR", help="write result.json into DIR")
    grade.add_argument(
        "--reseed", type=_natural, default=0, metavar="N", help="other seeds and inputs for the same facts"
    )
    grade.set_defaults(verb=_grade)

    stubs = verbs.add_parser("stubs", help="write the student tree from the reference")
    stubs.add_argument("--check", action="store_true", help="write nothing; status 1 when a file is stale")
    stubs.add_argument("--source", type=Path, default=Path("reference"), help=argparse.SUPPRESS)
    stubs.add_argument("--out", type=Path, default=Path("student"), help="folder of the student tree")
    stubs.add_argument("--given", type=Path, default=Path("checks/given"), help=argparse.SUPPRESS)
    stubs.set_defaults(verb=_stubs)
    return parser


def _natural(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number 0, 1, 2, ...")
    return int(text)


def _grade(options: argparse.Namespace) -> int:
    from harness import grading, result, terminal

    console = Console(highlight=False)
    points = options.points or options.suite / "points.toml"
    request = grading.Request(
        options.tree, options.suite, points, options.reference, tuple(options.only), options.reseed
    )
    plan = grading.plan(request)
    path = options.out and _result_file(options.out)
    if path:
        result.write(grading.record(plan, {}, {}, 0.0, "the run did not end"), path)
    with terminal.progress_bar(console, len(plan.facts)) as progress:
        graded = grading.grade(plan, progress)
    terminal.report(graded, console, str(options.tree))
    if path:
        result.write(graded, path)
        console.print(f"written: {path}", markup=False)
    if not graded.complete:
        return OUR_FAULT
    return ALL_HOLD if graded.score == graded.max_score else MARKS_LOST


def _result_file(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be made or is no folder ({error.strerror})") from None
    return folder / "result.json"


def _stubs(options: argparse.Namespace) -> int:
    raise NotImplementedError


if __name__ == "__main__":
    sys.exit(main())
