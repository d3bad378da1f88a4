"""What a class costs, measured: `python -m tests.scale [MEASUREMENT]...`; docs/scale.md is made of these figures.

Computing time is that of all processes that graded, from their own clocks: it depends on the machine, and little on
what else runs there. Times by the wall do; the load beside them says how much.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
from distributed import Client

from harness.cohort import cluster, frames, worker
from harness.cohort.engine import Engine, Graded, Item
from harness.cohort.gradebook import Gradebook
from harness.cohort.keys import key_of_result
from harness.cohort.mark import Run
from harness.grading import Answers, environment, record
from harness.plan import Known, Request, load, plan_for
from harness.result import Result
from harness.sandbox.intake import Taken, take
from harness.verdict import Outcome, Verdict
from tests import cohort_of

ROOT = Path(__file__).parent.parent
REQUEST = Request(ROOT / "student", ROOT / "checks", ROOT / "checks" / "points.toml", ROOT / "reference")
CHEAP = "check_the_best_of_one_costs_nothing"
"""A fact that takes next to nothing: what is left is what each submission costs in any case."""


class Course(NamedTuple):
    """The course, and how it is graded."""

    known: Known
    start: frames.Start


def course(*only: str) -> Course:
    """This course's facts, or those that are named."""
    known, here = load(REQUEST), environment(0)
    versions = (here.python, here.torch, here.numpy)
    points = REQUEST.points.read_bytes()
    return Course(known, frames.Start("checks", "reference", points, known.digest, versions, only, require=3))


def submissions(number: int, known: Known) -> list[Item]:
    """A class of the bank's answers."""
    with tempfile.TemporaryDirectory() as folder:
        cohort_of.main(number, Path(folder, "class"))
        paths = sorted(path for path in Path(folder, "class").iterdir() if path.is_dir())
        return [Item(path.name, take(path, known.modules, known.given)) for path in paths]


def distinct(number: int, item: Item) -> list[Item]:
    """Submissions that differ in a comment."""
    (name, source), *_ = item.taken.sources.items()
    return [
        Item(f"s{place}", item.taken._replace(sources=item.taken.sources | {name: source + f"\n# {place}\n".encode()}))
        for place in range(number)
    ]


def family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def computing(processes: Sequence[psutil.Process]) -> float:
    """Seconds of computing, of children that have ended too."""
    times = [process.cpu_times() for process in processes]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def graders() -> list[psutil.Process]:
    """The grading processes below this one."""
    every = psutil.Process().children(recursive=True)
    return [process for process in every if any("harness.cohort.grader" in part for part in process.cmdline())]


def warm() -> None:
    """One grading process, the whole suite: what it costs beyond the facts, computing time, memory."""
    known, start = course()
    items = submissions(4, known)
    began = time.monotonic()
    child = worker._Child(msgspec.structs.replace(start, core=0), worker.PATIENCE)
    assert isinstance(child.ready, frames.Ready), child.ready
    process = psutil.Process(child._process.pid)
    say("a grading process is ready after", f"{computing(family(process)):.1f} s of computing", since(began))
    shares = []
    for item in items:
        before, begin = computing(family(process)), time.monotonic()
        done = child.answer(frames.Submission(item.taken.sources, item.taken.left_out), worker.PATIENCE)
        wall = time.monotonic() - begin
        assert isinstance(done, frames.Done), done
        shares.append((wall, done.evaluating))
        used = computing(family(process)) - before
        say(
            item.label, points(done), f"{used:.1f} s of computing", f"{wall:.1f} s by the wall",
            f"{done.evaluating / wall:.1%} in facts", f"{len(done.result) / 1000:.0f} kB", memory(process),
        )  # fmt: skip
    whole = sum(wall for wall, _ in shares)
    say("in facts, of all the time:", f"{sum(inside for _, inside in shares) / whole:.1%}")
    child.close()


def points(done: frames.Done) -> str:
    """What the submission got: where nothing can be imported, nothing is measured."""
    result = msgspec.json.decode(done.result, type=Result)
    return f"{result.score} of {result.max_score} points"


def memory(process: psutil.Process) -> str:
    """What a grader and its zygote hold alone, in MB: what is shared between them is counted once."""
    return f"{sum(each.memory_full_info().pss for each in family(process)) / 1e6:.0f} MB"


def workers() -> None:
    """The same submissions, one module's facts, on one worker and on two."""
    known, start = course("best_of_n")
    first, *items = distinct(25, submissions(1, known)[0])
    for number in (1, 2):
        with cluster.local(number) as client, Engine(client, start, pin=True) as engine:
            while len(graders()) < number:  # one starts for each worker that has something to do
                list(engine.grade([first, *items[:3]]))
            began, before = time.monotonic(), sum(computing(family(each)) for each in graders())
            seconds = [each.seconds for each in engine.grade(items)]
            used = sum(computing(family(each)) for each in graders()) - before
            wall = time.monotonic() - began
            say(
                f"{number} worker{'s' * (number > 1)}:", f"{len(items)} submissions in {wall:.0f} s",
                f"{3600 * len(items) / wall:.0f} an hour", f"{used / len(items):.1f} s of computing each",
                f"the longest {max(seconds):.0f} s", f"a Dask worker holds {dask_memory(client)}",
            )  # fmt: skip


def dask_memory(client: Client) -> str:
    sizes = client.run(lambda: psutil.Process().memory_full_info().pss)
    return f"{max(sizes.values()) / 1e6:.0f} MB"


def growth() -> None:
    """10, 100 and 1,000 submissions that are asked one cheap fact."""
    known, start = course(CHEAP)
    (reference, *_) = submissions(1, known)
    with cluster.local(2) as client, Engine(client, start, pin=True) as engine:
        engine.hello()
        list(engine.grade(distinct(4, reference)))  # both workers are warm
        for number in (10, 100, 1000):
            began = time.monotonic()
            before = computing([psutil.Process()]), sum(computing(family(each)) for each in graders())
            for _ in kept(engine.grade(iter(distinct(number, reference)))):
                pass
            wall = time.monotonic() - began
            client_used = computing([psutil.Process()]) - before[0]
            say(
                f"{number} submissions:", f"{wall:.0f} s", f"{1000 * wall / number:.0f} ms each",
                f"the client computes {1000 * client_used / number:.1f} ms each",
                f"it holds {psutil.Process().memory_info().rss / 1e6:.0f} MB",
            )  # fmt: skip


def nothing(start: frames.Start, submission: frames.Submission, pin: bool, patience: float = 0.0) -> worker.Answer:
    """Takes the place of `worker.grade`."""
    return worker.Answer(frames.Done(CANNED[0], "", by_load=False, seconds=0.0, evaluating=0.0), "")


def can(result: bytes) -> None:
    """In a worker: what `nothing` will say."""
    CANNED[:] = [result]


CANNED = [b""]


def noop() -> None:
    """10,000 submissions that nobody grades: what the scheduler and the client cost, and with the gradebook."""
    known, start = course()
    plan = plan_for(REQUEST, known, Taken("submission", {}, {}))
    held = Answers({fact.id: Verdict(Outcome.PASSED) for fact in known.facts})
    result = msgspec.json.encode(record(plan, held))
    from tests import scale as by_name  # a function of __main__ would travel whole, with each task

    for name, number, keep in (("the engine alone", 10_000, bare), ("with the gradebook", 2_000, kept)):
        small = Item("", Taken("submission", {"tv": b"# nothing"}, {}))
        real, worker.grade = worker.grade, by_name.nothing
        try:
            with cluster.local(2) as client, Engine(client, start) as engine:
                client.run(by_name.can, result)
                began, before = time.monotonic(), computing([psutil.Process()])
                assert sum(1 for _ in keep(engine.grade(iter(distinct(number, small))))) == number
                wall, used = time.monotonic() - began, computing([psutil.Process()]) - before
                say(
                    f"{number} submissions, {name}:", f"{1000 * wall / number:.2f} ms each by the wall",
                    f"{1000 * used / number:.2f} ms of computing (client and scheduler)",
                    f"results of {len(result) / 1000:.0f} kB",
                )  # fmt: skip
        finally:
            worker.grade = real


def bare(graded: Iterator[Graded]) -> Iterator[Graded]:
    return graded


def kept(graded: Iterator[Graded]) -> Iterator[Graded]:
    """As they go into a gradebook."""
    with tempfile.TemporaryDirectory() as folder, Gradebook(Path(folder, "marks.sqlite"), create=True) as book:
        run = 0
        for each in graded:
            assert each.result is not None, each.fault
            if not run:
                run = book.begin(Run("", "", *key_of_result(each.result)[1:], workers=2, functions=()))
            book.keep(run, each.label, each.result, each.shape)
            yield each
        size = Path(folder, "marks.sqlite").stat().st_size
        say("the gradebook's file:", f"{size / 1e6:.1f} MB")


def since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s by the wall"


def say(*parts: str) -> None:
    print(f"[load {os.getloadavg()[0]:.1f}]", parts[0], ", ".join(parts[1:]), flush=True)


MEASUREMENTS: dict[str, Callable[[], None]] = {"warm": warm, "workers": workers, "growth": growth, "noop": noop}

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in sys.argv[1:] or MEASUREMENTS:
        print(f"-- {name}: {MEASUREMENTS[name].__doc__}")
        MEASUREMENTS[name]()
