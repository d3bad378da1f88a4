"""The verb `gradebook`: what is typed, what is shown, what is written."""

import argparse
import getpass
import math
from collections.abc import Callable, Iterable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from harness.cohort import comparison, exports, roster
from harness.cohort.gradebook import Gradebook, storable
from harness.cohort.mark import Mark
from harness.errors import GraderFault, UsageError
from harness.layout import inert_text, wrapped
from harness.options import whole
from harness.report.words import number
from harness.text import inert

DONE, OUR_FAULT = 0, 3
GRADEBOOK = Path("build/gradebook.sqlite")
WIDEST = 100

Verb = Callable[[Gradebook, argparse.Namespace, Console], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of the gradebook and their options."""
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def add(name: str, verb: Verb, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.add_argument(
            "--gradebook", type=Path, default=GRADEBOOK, metavar="FILE", help=f"the gradebook (default: {GRADEBOOK})"
        )
        added.set_defaults(verb=lambda options: _run(verb, options))
        return added

    add("runs", _runs, "list the runs")
    marks = add("marks", _marks, "list the marks of a lab: of each submission the newest, or those of one run")
    diff = add("diff", _diff, "list what changed between two runs, and why")
    diff.add_argument("first", type=whole(1), metavar="RUN")
    diff.add_argument("second", type=whole(1), metavar="RUN")
    adjust = add("adjust", _adjust, "add points to a mark, in every run of its lab; -2 takes two away")
    adjust.add_argument("label", type=storable, metavar="LABEL", help="what `marks` calls the submission")
    adjust.add_argument("points", type=_points, metavar="POINTS")
    adjust.add_argument("--comment", required=True, metavar="TEXT", help="why; the student's report says it")
    comment = add("comment", _comment, "write a comment on a submission, for instructors")
    comment.add_argument("label", type=storable, metavar="LABEL", help="what `marks` calls the submission")
    comment.add_argument("comment", metavar="TEXT")
    for noted in (adjust, comment):
        noted.add_argument("--author", metavar="NAME", help="whose it is (default: who is logged in)")
        noted.add_argument("--run", type=whole(1), metavar="N", help="a run of the lab (default: the newest run)")
    names = add("roster", _roster, "read who is who from a CSV; it takes the place of the roster before")
    names.add_argument("csv", type=Path, metavar="CSV")
    export = add("export", _export, "write the marks for a platform, or as lines of JSON")
    export.add_argument("format", choices=[*exports.SHEETS, "json"])
    export.add_argument("--out", type=Path, metavar="FILE", help="the file (default: in build/)")
    export.add_argument("--assignment", default="Lab", metavar="NAME", help="what the platform calls it (default: Lab)")
    reports = add("reports", _reports, "write each student's report into a new folder")
    reports.add_argument("folder", type=Path, metavar="DIR")
    page = add("page", _page, "write the page of the class")
    page.add_argument("file", type=Path, nargs="?", default=Path("build/class.html"), metavar="FILE")
    for chosen in (marks, export, reports, page):
        told = "the marks of this run (default: the newest of the lab that was graded last)"
        chosen.add_argument("--run", type=whole(1), metavar="N", help=told)


def _points(text: str) -> float:
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not math.isfinite(points):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of points")
    return points


def _run(verb: Verb, options: argparse.Namespace) -> int:
    try:
        with Gradebook(options.gradebook) as book:
            verb(book, options, Console(highlight=False, emoji=False))
    except GraderFault as error:
        told = f"{inert(str(error))}. What was kept before is kept; type the same command again."
        Console(stderr=True, soft_wrap=True, emoji=False).print(told, markup=False, highlight=False)
        return OUR_FAULT
    return DONE


def _runs(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    table = _table("run", "started (UTC)", "graded", "failed", "suite, level", "what")
    for past in book.runs():
        run = past.run
        what = [
            run.source,
            *(f"--only {name}" for name in run.selection),
            *[f"--reseed {run.reseed}"] * (run.reseed > 0),
        ]
        ended = "" if past.ended else "not through: "
        started = past.started[:16].replace("T", " ")
        suite = f"{run.suite[:6]}, {run.level}"
        table.add_row(
            str(past.id), started, str(past.graded), str(past.failed), suite, inert_text(ended + " ".join(what))
        )
    console.print(table)


def _marks(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    marks = book.marks(options.run)
    enrolled = bool(book.students())
    table = _table("submission", *["student"] * enrolled, "mark", "of", "by hand", "run", "")
    for mark in marks:
        who = ", ".join(student.name or student.email or student.login or student.number for student in mark.students)
        state = "not graded" if mark.score is None else "stale" if mark.stale else "" if mark.readable else "unreadable"
        table.add_row(
            *(inert_text(text) for text in [mark.label, *[who] * enrolled]),
            *("" if points is None else number(points) for points in (mark.adjusted, mark.max_score)),
            f"{mark.adjustment:+g}" if mark.adjustment else "",
            str(mark.run),
            state,
        )
    console.print(table)
    graded = [mark for mark in marks if mark.score is not None]
    console.print(f"{len(graded)} of {len(marks)} submissions have a mark.")
    _list(console, "Not graded:", [f"{mark.label}: {mark.fault}" for mark in marks if mark.score is None])
    tell_stale(marks, console)
    noted = [
        f"{mark.label}: {f'{each.points:+g} points, ' * (each.points != 0)}{each.comment} "
        f"({each.author}, {each.created[:10]})"
        for mark in marks
        for each in mark.adjustments
    ]
    _list(console, "By hand:", noted)
    tell_strangers(book, console)


def _diff(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    found = 0
    for change in comparison.diff(book, options.first, options.second):
        found += 1
        why = f" (other {', '.join(change.causes)})" if change.causes else ""
        line = f"{change.label}: {_told(change.before)} → {_told(change.after)}{why}"
        _wrapped(console, line, 0)
        grouped: dict[tuple[str, str], list[str]] = {}
        for fact in change.facts:
            grouped.setdefault((fact.before or "not asked", fact.after or "not asked"), []).append(
                fact.id.rpartition("::")[2]
            )
        for (before, after), names in grouped.items():
            _wrapped(console, f"{before} → {after}: {', '.join(names)}", 4)
    console.print(f"{found} submission{'s' * (found != 1)} changed between runs {options.first} and {options.second}.")


def _told(mark: Mark | None) -> str:
    if mark is None:
        return "not in the run"
    if mark.score is None or mark.stale:
        return f"not graded ({mark.fault})"
    return f"{number(mark.score)} of {number(mark.max_score or 0.0)}"


def _adjust(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    run = book.adjust(options.label, options.points, options.comment, options.author or _who(), options.run)
    mark = next(mark for mark in book.marks(run) if mark.label == options.label)
    now = "there is no mark yet" if mark.adjusted is None else f"the mark is {number(mark.adjusted)} now"
    _wrapped(console, f"{mark.label}: {options.points:+g} points; {now}", 0)


def _comment(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    book.adjust(options.label, 0.0, options.comment, options.author or _who(), options.run)
    _wrapped(console, f"{options.label}: noted", 0)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user in a container's list
        return ""


def _roster(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    students = roster.read(options.csv)
    book.enrol(students, str(options.csv))
    console.print(f"{len(students)} students are in the roster.")
    tell_strangers(book, console)


def tell_strangers(book: Gradebook, console: Console, run: int | None = None) -> None:
    """List the submissions that match nobody of the roster, and the students without one; nothing without a roster."""
    matching = book.matching(run)
    _list(
        console,
        "Whose these are, the roster does not say:",
        [f"{who}: {why}" for who, why in matching.strangers.items()],
    )
    absent = [student.name or student.email or student.login or student.number for student in matching.absent]
    _list(console, "Without a submission:", absent)


def tell_stale(marks: Iterable[Mark], console: Console) -> None:
    """List the marks that are of an earlier run, and why; nothing if there are none."""
    lines = [f"{mark.label}: {mark.fault}" for mark in marks if mark.stale]
    _list(console, "Stale, as a later run failed:", lines)


def _export(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    if options.format == "json":
        path = options.out or Path("build/marks.jsonl")
        _write(path, lambda: exports.write_private(path, exports.json_lines(book, options.run)), console)
        return
    path = options.out or Path(f"build/{options.format}.csv")
    sheet = exports.sheet(book, options.format, options.assignment, options.run)
    _write(path, lambda: exports.write_private(path, [sheet.text]), console)
    console.print(f"{sheet.rows} row{'s' * (sheet.rows != 1)} in it.")
    _list(console, "Not in it:", sheet.left_out)
    tell_stale(book.marks(options.run), console)


def _reports(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    def followed(marks: list[Mark]) -> Iterable[Mark]:
        return track(marks, "writing reports", console=console, transient=True, disable=not console.is_terminal)

    written = exports.reports(book, options.folder, options.run, followed)
    console.print(f"written: {options.folder} ({written} reports)", markup=False, soft_wrap=True)


def _page(book: Gradebook, options: argparse.Namespace, console: Console) -> None:
    from harness.cohort import dashboard  # matplotlib takes a second, which the other verbs need not wait for

    content = dashboard.page(exports.entries(book, options.run))
    _write(options.file, lambda: exports.write_private(options.file, [content]), console)


def _write(path: Path, write: Callable[[], None], console: Console) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
    console.print(f"written: {path}", markup=False, soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, width=None, pad_edge=False)
    for column in columns:
        right = column in ("run", "graded", "failed", "mark", "of", "by hand") and column != "what"
        table.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=right)
    return table


def _list(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(title, markup=False)
        for line in lines:
            _wrapped(console, line, 2)


def _wrapped(console: Console, line: str, indent: int) -> None:
    for text in wrapped(line, min(console.width, WIDEST), indent, indent + 2):
        console.print(text, no_wrap=True, overflow="ignore", crop=False)
