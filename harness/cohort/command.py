"""The verb `cohort`: grade a class, and keep the marks. What takes a second to import is imported when it runs."""

import argparse
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from harness.errors import GraderFault, UsageError
from harness.options import add_request, requested, whole
from harness.text import inert

if TYPE_CHECKING:
    from harness.cohort.gradebook import Gradebook
    from harness.cohort.run import Class, State

ROOT = Path(__file__).resolve().parents[2]
DONE, OUR_FAULT, INTERRUPTED = 0, 3, 130
GRADEBOOK, PAGE = Path("build/gradebook.sqlite"), "class.html"
UNFINISHED = ".unfinished"
"""The folder below --out in which all is written, before it takes its place there."""
NEWS = 60.0
"""Seconds between two lines of progress where there is no terminal."""
NAMED = 20
"""Submissions that could not be graded and are listed here; the gradebook has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add = parser.add_argument
    add("submissions", type=Path, help="a folder or an archive of them, or what a platform exports")
    add("--gradebook", type=Path, default=GRADEBOOK, metavar="FILE", help=f"keep marks there (default: {GRADEBOOK})")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster that runs, such as tcp://host:8786")
    add("--workers", type=whole(1), metavar="N", help="on this machine (default: one for each core)")
    add("--roster", type=Path, metavar="CSV", help="who is who; it takes the place of the gradebook's roster")
    add("--out", type=Path, metavar="DIR", help=f"a new folder for reports, sheets and {PAGE} (default: build/{PAGE})")
    add_request(parser, require="full")
    parser.set_defaults(verb=_cohort)


def _cohort(options: argparse.Namespace) -> int:
    from harness.cohort import gradebook, roster, submissions
    from harness.cohort.run import Class, check_readable
    from harness.plan import load, select

    if options.scheduler and options.workers:
        raise UsageError("--workers: a cluster has the workers that it has; leave it out, or --scheduler")
    if options.out:
        _make_empty(options.out)
    request = requested(options, options.submissions, draw=False)
    known = load(request)
    select(known.facts, request.only)
    students = roster.read(options.roster) if options.roster else None
    handed = submissions.found(options.submissions)
    check_readable(request, known, handed)
    errors, progress = (
        Console(stderr=True, soft_wrap=True, emoji=False),
        _Progress(Console(highlight=False, emoji=False), len(handed)),
    )
    kept = f"What is graded is kept in {options.gradebook}; the same command goes on from there."
    try:
        with gradebook.Gradebook(options.gradebook, create=True) as book:
            if students is not None:
                book.enrol(students, str(options.roster))
            run = _run(Class(request, known, handed, book), options, progress)
            _tell(book, run, options.out, progress)
    except KeyboardInterrupt:
        errors.print(
            f"stopped: {progress.through} of {len(handed)} submissions are through. {kept}",
            markup=False,
            highlight=False,
        )
        return INTERRUPTED
    except GraderFault as error:
        errors.print(f"{inert(str(error))}. {kept}", markup=False, highlight=False)
        return OUR_FAULT
    return OUR_FAULT if progress.failed else DONE


def _make_empty(out: Path) -> None:
    """Make the folder for what is written at the end; raises UsageError now if there will be no place for it.

    What a run left that was stopped while it wrote is no reason to refuse the same command.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(out / UNFINISHED, ignore_errors=True)
        if any(out.iterdir()):
            raise UsageError(f"--out {out}: is not empty; name a new folder")
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be made or is no folder ({error.strerror}); name a new one") from None


def _run(group: "Class", options: argparse.Namespace, progress: "_Progress") -> int:
    from harness.cohort import cluster, frames
    from harness.cohort.engine import Engine
    from harness.cohort.run import grade
    from harness.grading import environment
    from harness.marks import read_table

    request, here = group.request, environment(group.request.reseed)
    start = frames.Start(
        suite=_place(request.suite),
        reference=_place(request.reference),
        points=read_table(request.points),
        digest=group.known.digest,
        versions=(here.python, here.torch, here.numpy),
        only=request.only,
        reseed=request.reseed,
        require=int(request.require),
    )
    if options.scheduler:
        running = cluster.existing(options.scheduler)
    else:
        running = cluster.local(options.workers or cluster.default_workers())
    command = shlex.join(["nox", "-s", "cohort", "--", *sys.argv[2:]])
    with progress.shown(), running as client, Engine(client, start, pin=not options.scheduler) as engine:
        return grade(group, engine, command, len(client.nthreads()), progress.tell)


def _place(folder: Path) -> str:
    """A folder as a worker finds it: in its own copy of the project, if it lies in this one."""
    whole = folder.resolve()
    return str(whole.relative_to(ROOT) if whole.is_relative_to(ROOT) else whole)


def _tell(book: "Gradebook", run: int, out: Path | None, progress: "_Progress") -> None:
    """What came of the run, and where it is."""
    from harness.cohort import dashboard, exports
    from harness.cohort.gradebook_command import tell_strangers

    console, folder = progress.console, out / UNFINISHED if out else Path("build")
    console.print(progress.summary(), markup=False)
    for label, why in list(progress.why.items())[:NAMED]:
        console.print(f"  {label}: {inert(why.strip().splitlines()[-1])}", markup=False, soft_wrap=True)
    if len(progress.why) > NAMED:
        console.print(f"  and {len(progress.why) - NAMED} more")
    stale = sum(mark.stale for mark in book.marks(run))
    if stale:
        console.print(f"{stale} of them keep{'s' * (stale == 1)} the mark of an earlier run, which is shown as stale")
    tell_strangers(book, console, run)
    console.print(f"gradebook: {book.path}, run {run}", markup=False, soft_wrap=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        exports.write_private(folder / PAGE, [dashboard.page(exports.entries(book, run))])
        if out:
            exports.reports(book, folder / "reports", run)
            exports.write_private(folder / "marks.jsonl", exports.json_lines(book, run))
            _write_sheets(book, run, folder, console)
            for written in list(folder.iterdir()):
                written.rename(out / written.name)
            folder.rmdir()
    except OSError as error:
        raise GraderFault(f"{out or folder} cannot be written ({error.strerror})") from None
    except UsageError as error:
        raise GraderFault(str(error)) from None
    console.print(f"the class: {(out or folder) / PAGE}", markup=False, soft_wrap=True)
    if out:
        console.print(f"written: {out}", markup=False, soft_wrap=True)


def _write_sheets(book: "Gradebook", run: int, out: Path, console: Console) -> None:
    """A sheet for each platform; that there can be none is told, and is no reason to stop."""
    from harness.cohort import exports

    try:
        for platform in exports.SHEETS:
            exports.write_private(out / f"{platform}.csv", [exports.sheet(book, platform, run=run).text])
    except UsageError as error:
        console.print(f"no sheet for a platform is written: {error}", markup=False, soft_wrap=True)


class _Progress:
    """How far a run has come: a bar with the time that is left, or a line now and then where there is no terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self._total = console, total
        self.graded, self.known, self.unreadable, self.failed = 0, 0, 0, 0
        self.why: dict[str, str] = {}
        self._began = self._told = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"),
            console=console, transient=True, disable=not console.is_terminal or console.is_dumb_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("starting", total=total, told="")

    @property
    def through(self) -> int:
        return self.graded + self.known + self.unreadable + self.failed

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar while the block runs."""
        with self._bar:
            yield

    def tell(self, state: "State", label: str, why: str) -> None:
        """One submission more is through."""
        name = state.name.lower()
        setattr(self, name, getattr(self, name) + 1)
        if state.name in ("FAILED", "UNREADABLE"):
            self.why[label] = why.strip() or "no reason is known"
        line = f"{self.through:,} of {self._total:,}, {self.failed} failed{self._left()}"
        self._bar.update(self._task, description="grading", completed=self.through, told=line)
        if self._bar.disable and time.monotonic() - self._told > NEWS:
            self._told = time.monotonic()
            self.console.print(line, markup=False)

    def _left(self) -> str:
        """The time that is left, at the pace of what was graded so far."""
        graded = self.graded + self.failed
        if not graded:
            return ""
        seconds = (time.monotonic() - self._began) / graded * (self._total - self.through)
        if seconds < 100:
            return f", about {seconds:.0f} s left"
        return f", about {seconds / 60:.0f} min left" if seconds < 6000 else f", about {seconds / 3600:.1f} h left"

    def summary(self) -> str:
        parts = [f"{self.graded} graded now"] * (self.graded > 0)
        parts += [f"{self.known} known already"] * (self.known > 0)
        parts += [f"{self.unreadable} with nothing to grade"] * (self.unreadable > 0)
        parts += [f"{self.failed} could not be graded"] * (self.failed > 0)
        return f"{self._total} submission{'s' * (self._total != 1)}: {', '.join(parts)}{':' * bool(self.why)}"
