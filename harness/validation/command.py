"""The verb `validate`: what is typed, what is shown meanwhile, what is written."""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from harness.errors import UsageError

HOLDS, FALLS_SHORT = 0, 1
NEWS = 20.0
"""Seconds between two lines of progress where there is no terminal."""

FOLDERS = {
    "suite": "checks",
    "reference": "reference",
    "stubs": "student",
    "mistakes": "checks/mistakes",
    "right-answers": "tests/right_answers",
}
BESIDES = {
    "peers": "tests/peers",
    "equivalents": "tests/equivalents.toml",
    "derivations": "tests/false_alarms.py",
    "record": "docs/validation.json",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a module or a function; repeatable"
    )
    parser.add_argument(
        "--deep", action="store_true", help="machine mutants, 200 seeds and calibration as well; rewrites the record"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("build"), help="folder of validate.html")
    for name, default in {**FOLDERS, **BESIDES}.items():
        parser.add_argument(f"--{name}", type=Path, default=Path(default), help=argparse.SUPPRESS)
    parser.set_defaults(verb=validate)


def validate(options: argparse.Namespace) -> int:
    """Prove, print, and write the page; the status says whether anything falls short."""
    # Not for every verb: LibCST is not there when a student grades.
    from harness.validation import record as records
    from harness.validation.cases import Course
    from harness.validation.page import page
    from harness.validation.prove import prove, prove_deep
    from harness.validation.summary import summary

    console = Console(highlight=False, emoji=False)
    parts = [getattr(options, name.replace("-", "_")) for name in (*FOLDERS, *BESIDES)]
    for part in parts:
        if not part.exists() and part != options.record:
            raise UsageError(f"{part}: not found; validate needs the whole project, not a student's copy")
    if options.deep and options.only:
        raise UsageError("--deep proves the whole course, for the record: leave out --only")
    course = Course(*parts)
    with _shown(console) as progress:
        if options.deep:
            proof, fresh = prove_deep(course, options.out / "deep.jsonl", progress)
            records.write(fresh, options.record)
        else:
            proof = prove(course, options.only, progress)
    if not proof.facts:
        raise UsageError(f"--only {' '.join(options.only)}: no function or module has that name")
    console.print(summary(proof))
    path = options.out / "validate.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(proof), encoding="utf-8")
    for written in [options.record] * options.deep + [path]:
        console.print(f"written: {written}", markup=False, soft_wrap=True)
    return HOLDS if proof.holds else FALLS_SHORT


@contextmanager
def _shown(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """A bar with the time that is left; a line now and then where there is no terminal."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        tasks = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        yield show


class _Lines:
    """Progress as lines: how much of a stage is done, and how long it may still take."""

    def __init__(self, console: Console) -> None:
        self._console, self._stage = console, ""
        self._began = self._told = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began = stage, now
        if now - self._told > NEWS or done == total:
            self._told = now
            left = (now - self._began) / done * (total - done)
            shown = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
            self._console.print(f"{stage}: {done:,} of {total:,}, about {shown} left", markup=False)
