"""What speed costs and brings, as ratios: `nox -s bench`.

Each figure is the median of whole processes that ran in turn with what they are compared to, pinned to one core, in
computing time (user and system, of all their processes): seconds differ between machines and hours, ratios less.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

from harness import facts, result
from harness.sandbox.forked import NOMINAL_CALIBRATION
from harness.sandbox.zygote import calibration

ROOT = Path(__file__).parent.parent
ROUNDS = 5
HEADROOM = 10
"""A fact's limit, in times of what the reference needs for it."""
PYTHON = [sys.executable, "-X", "utf8"]
GRADE = [*PYTHON, "-m", "harness", "grade", "--tree", "reference"]
ZYGOTE = "from harness.sandbox.forked import Forked\nwith Forked() as zygote: zygote.wait_until_ready()"
WORLD = "import torch; torch.set_num_threads(1)\nfrom reference.world import World\nWorld(0)"


class Comparison(NamedTuple):
    """A command and what it is compared to; the ratio of their times may be `at_most`. less: is taken off the first."""

    title: str
    command: list[str]
    against: list[str]
    at_most: float
    less: list[str] | None = None


COMPARISONS = [
    Comparison(
        "confined grading but a zygote's start / --debug", GRADE, [*GRADE, "--debug"], 1.3, [*PYTHON, "-c", ZYGOTE]
    ),
    Comparison("stubs graded / reference graded", [*GRADE[:-1], "student"], GRADE, 0.5),
    Comparison(
        "online collection / its world", [*PYTHON, "-m", "reference", "online_collection"], [*PYTHON, "-c", WORLD], 1.6
    ),
]


def main() -> int:
    """Print the table; the status is 1 when a ratio is above what it is held to."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    table = Table("measured", "ratio", "at most", "seconds", "against")
    exceeded = False
    for comparison in COMPARISONS:
        own, other = [], []
        for _ in track(range(ROUNDS), comparison.title, console=Console(stderr=True), transient=True):
            start = computing_time(comparison.less) if comparison.less else 0.0
            own.append(computing_time(comparison.command) - start)
            other.append(computing_time(comparison.against))
        seconds, against = statistics.median(own), statistics.median(other)
        exceeded |= seconds > comparison.at_most * against
        figures = (f"{seconds / against:.2f}", f"{comparison.at_most}", f"{seconds:.1f}", f"{against:.1f}")
        table.add_row(comparison.title, *figures)
    exceeded |= add_tightest_limit(table)
    Console().print(table)
    return int(exceeded)


def add_tightest_limit(table: Table) -> bool:
    """Add the fact whose limit is the least multiple of what the reference needs; returns whether it is too small.

    Limits grow with the time of a small loop on a slow machine, and so are they measured here.
    """
    with tempfile.TemporaryDirectory() as folder:
        speed = max(1.0, calibration() / NOMINAL_CALIBRATION)
        computing_time([*GRADE, "--out", folder])
        taken = {fact.id: fact.seconds for fact in result.read(Path(folder) / "result.json").facts}
    limits = {fact.id: fact.seconds for fact in facts.manifest(ROOT / "checks")}
    shares = {fact_id: HEADROOM * seconds / (speed * limits[fact_id]) for fact_id, seconds in taken.items()}
    tightest = max(shares, key=lambda fact_id: shares[fact_id])
    name = tightest.rpartition("::")[2]
    title = f"{HEADROOM} times what the reference needs / limit of the tightest fact, {name}"
    table.add_row(title, f"{shares[tightest]:.2f}", "1.0", f"{taken[tightest]:.2f}", f"{limits[tightest]:g}")
    return shares[tightest] > 1.0


def computing_time(command: list[str]) -> float:
    """Seconds of computing of a command and of everything that it started and waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
