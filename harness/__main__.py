"""The command line: `python -m harness grade`, `python -m harness stubs`; the sessions of noxfile.py call these.

Exit status: 0 all facts hold; 1 marks lost (or generated files stale); 2 the command line or the submission cannot be
understood; 3 our own fault.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from harness.errors import UsageError
from harness.options import add_request, requested

if TYPE_CHECKING:
    from harness.result import Result

BUILD = Path("build")
ALL_HOLD, MARKS_LOST, MISUNDERSTOOD, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    typed = sys.argv[1:] if arguments is None else arguments
    options = _parser(typed[:1]).parse_args(typed)
    errors = Console(stderr=True, soft_wrap=True, emoji=False)
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


class _WholeOptions(argparse.ArgumentParser):
    """A parser of one verb that takes no abbreviation: `--tre` is a slip, and no other way to say `--tree`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})


def _parser(typed: list[str] | None = None) -> argparse.ArgumentParser:
    """The whole command line. typed: its verb, if known; other verbs are left empty if they take a second to import."""
    parser = argparse.ArgumentParser(
        prog="python -m harness", description="Facts, marks and reports for the lab course."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB", parser_class=_WholeOptions)

    grade = verbs.add_parser("grade", help="ask a tree every fact, and print the marks")
    grade.add_argument("--tree", type=Path, default=Path("student"), help="folder of the modules (default: student)")
    add_request(grade, require=None)
    grade.add_argument("--out", type=Path, metavar="DIR", help="write the result into DIR, in every format")
    grade.add_argument(
        "--isolation", choices=["auto", "process"], default="auto", help="how submissions are kept apart"
    )
    grade.add_argument("--debug", action="store_true", help="run in this process, for breakpoint(); never with --out")
    grade.add_argument("--pdb", action="store_true", help="with --debug: stop in the debugger where the code raises")
    grade.add_argument("--without-layer", action="append", default=[], help=argparse.SUPPRESS)
    grade.set_defaults(verb=_grade)

    if importlib.util.find_spec("harness.publish"):  # not in a student's copy, nor in an autograder
        _add_verbs_for_instructors(verbs, typed)
    return parser


def _add_verbs_for_instructors(verbs: "argparse._SubParsersAction[_WholeOptions]", typed: list[str] | None) -> None:
    """Verbs that need what a student's copy does not have."""
    from harness.cohort import command as cohort_command
    from harness.validation import command

    cohort = verbs.add_parser("cohort", help="grade a whole class, and keep the marks")
    cohort_command.add_arguments(cohort)
    gradebook = verbs.add_parser("gradebook", help="the marks of a class: list, compare, adjust, export")
    if typed in (None, ["gradebook"]):
        from harness.cohort import gradebook_command

        gradebook_command.add_arguments(gradebook)

    proof = verbs.add_parser("validate", help="prove that the reference is right and the facts can be trusted")
    command.add_arguments(proof)

    stubs = verbs.add_parser("stubs", help="write the student tree from the reference")
    stubs.add_argument("--check", action="store_true", help="write nothing; status 1 when a file is stale")
    stubs.add_argument("--source", type=Path, default=Path("reference"), help=argparse.SUPPRESS)
    stubs.add_argument("--out", type=Path, default=Path("student"), help="folder of the student tree")
    stubs.add_argument("--given", type=Path, default=Path("checks/given"), help=argparse.SUPPRESS)
    stubs.set_defaults(verb=_stubs)

    prints = verbs.add_parser("fingerprints", help="write what the mistakes of the bank are recognised by")
    prints.add_argument("--check", action="store_true", help="write nothing; status 1 when the file is stale")
    prints.add_argument("--only", action="append", default=[], metavar="NAME", help="a function; repeatable")
    for name, default in _FINGERPRINTED.items():
        prints.add_argument(f"--{name}", type=Path, default=Path(default), help=argparse.SUPPRESS)
    prints.set_defaults(verb=_fingerprints)

    handout = verbs.add_parser("handout", help="write the archive for students")
    handout.set_defaults(verb=_handout)
    bundle = verbs.add_parser("bundle", help="write an autograder to upload")
    bundle.add_argument("platform", choices=["gradescope", "prairielearn", "classroom50"])
    bundle.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="grade this module, function or fact; repeatable"
    )
    bundle.set_defaults(verb=_bundle)
    for archive in (handout, bundle):
        archive.add_argument("--points", type=Path, metavar="FILE", help="another share of the points")
        archive.add_argument("--out", type=Path, metavar="FILE", help="the archive (default: in build/)")
        archive.add_argument("--project", type=Path, default=Path(), help=argparse.SUPPRESS)


def _grade(options: argparse.Namespace) -> int:
    from harness import grading, report, result, spread, terminal
    from harness.plan import plan

    if options.debug and options.out:
        raise UsageError("--debug runs without a boundary, so its marks are not written: leave out --debug or --out")
    if options.pdb and not options.debug:
        raise UsageError("--pdb needs --debug, which runs your code in this process")
    console = Console(highlight=False, emoji=False)
    request = requested(
        options,
        options.tree,
        process=options.isolation,
        without=tuple(options.without_layer),
        debug=options.debug,
        pdb=options.pdb,
    )
    if options.out:
        _make_empty(options.out)
    planned = plan(request)
    if options.out:
        nothing = grading.Answers({}, message="the run did not end")
        result.write(grading.record(planned, nothing), options.out / report.RESULT)
    in_workflow = os.environ.get("GITHUB_ACTIONS") == "true"
    with report.github.fence() if in_workflow else contextlib.nullcontext():
        bar = contextlib.nullcontext() if options.debug else terminal.progress_bar(console, len(planned.facts))
        with bar as progress:
            graded = grading.grade(planned, spread.ask, progress)
        if graded.readable:
            terminal.report(graded, console, str(options.tree))
        else:
            Console(stderr=True, soft_wrap=True, emoji=False).print(graded.message, markup=False, highlight=False)
    if in_workflow:
        report.github.tell(graded, os.environ.get("GITHUB_STEP_SUMMARY", ""))
    _publish(graded, options.out, console)
    if not graded.readable:
        return MISUNDERSTOOD
    if not graded.complete:
        return OUR_FAULT
    return ALL_HOLD if graded.score == graded.max_score else MARKS_LOST


def _make_empty(folder: Path) -> None:
    """A folder without the files of an earlier run."""
    from harness import report

    try:
        folder.mkdir(parents=True, exist_ok=True)
        report.clear(folder)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be made or is no folder ({error.strerror})") from None


def _publish(graded: "Result", folder: Path | None, console: Console) -> None:
    """Write the page, and with a folder every format; say where they are."""
    from harness import report

    if folder:
        report.write(graded, folder)
    content = (folder / report.PAGE).read_text(encoding="utf-8") if folder else report.html.page(graded)
    page = BUILD / report.PAGE
    try:
        page.parent.mkdir(exist_ok=True)
        report.write_text(page, content)
    except OSError as error:
        console.print(f"{page} is not written: {error.strerror}", markup=False)
    else:
        console.print(f"report: {page}", markup=False)
    if folder:
        console.print(f"written: {folder}", markup=False)


_FINGERPRINTED = {
    "suite": "checks",
    "reference": "reference",
    "mistakes": "checks/mistakes",
    "right-answers": "tests/right_answers",
    "record": "docs/validation.json",
}


def _fingerprints(options: argparse.Namespace) -> int:
    from harness import fingerprinting

    course = fingerprinting.Course(*(getattr(options, name.replace("-", "_")) for name in _FINGERPRINTED))
    if not course.mistakes.is_dir():
        raise UsageError(f"{course.mistakes}: no such folder; fingerprints are made from the bank of mistakes")
    found = fingerprinting.generate(course, options.only)
    lines = fingerprinting.stale(course, found)
    told = "\n".join(lines) or "up to date"
    if not options.check and lines:
        fingerprinting.write(course, found)
        told = f"written, as until now:\n{told}"
    print(told)
    return MARKS_LOST if options.check and lines else ALL_HOLD


def _stubs(options: argparse.Namespace) -> int:
    from harness import stubs

    targets = {options.out: stubs.generate(options.source), options.given: stubs.given_modules(options.source)}
    act = stubs.check if options.check else stubs.write
    lines = [line for folder, files in targets.items() for line in act(folder, files)]
    print("\n".join(lines) or "up to date")
    return MARKS_LOST if options.check and lines else ALL_HOLD


def _handout(options: argparse.Namespace) -> int:
    from harness.publish.handout import handout

    return _write_archive(handout(options.project, options.points), options.out or Path("build/handout.zip"))


def _bundle(options: argparse.Namespace) -> int:
    from harness.publish.bundle import bundle

    files = bundle(options.project, options.platform, options.only, options.points)
    return _write_archive(files, options.out or Path(f"build/{options.platform}.zip"))


def _write_archive(files: dict[str, bytes], path: Path) -> int:
    from harness.publish.archive import packed, write

    data = packed(files)
    write(data, path)
    print(f"written: {path} ({len(files)} files, {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()})")
    return ALL_HOLD


if __name__ == "__main__":
    sys.exit(main())
