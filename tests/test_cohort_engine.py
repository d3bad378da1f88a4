"""The engine: what it does with answers and faults of workers that grade nothing; then with real ones, and kills."""

import argparse
import errno
import io
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
import pytest
from distributed import Client
from rich.console import Console

from harness.cohort import cluster, command, database, frames, worker
from harness.cohort.engine import ATTEMPTS, Engine, Graded, Item
from harness.cohort.gradebook import Gradebook
from harness.cohort.run import Class, State, check_readable, grade
from harness.cohort.submissions import Handed
from harness.errors import GraderFault, Unreadable, UsageError
from harness.grading import Answers, environment, record
from harness.plan import Known, Request, load, plan_for
from harness.sandbox.intake import Taken
from harness.sandbox.probe import Isolation, Level
from tests import gradebook_writers as writers
from tests.gradebook_writers import RUN
from tests.small_course import RIGHT, STUBS, write_suite, write_tree

ROOT = Path(__file__).parent.parent
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found and stopped as Linux does it"),
    # sockets of Dask's that are closed when they are collected
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SLOW = RIGHT.replace("return rng", "import time; time.sleep(2); return rng")
WRONG = RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * 3")
CRASHES = RIGHT.replace("return rng", "import ctypes; ctypes.string_at(0); return rng")
FLOODS = WRONG.replace("return np", "print('x' * 1_000_000); return np")
HANGS = RIGHT.replace("return rng", "\n    while True: pass\n    return rng")
MARKS = {RIGHT: 10.0, SLOW: 10.0, WRONG: 4.0, CRASHES: 6.0, FLOODS: 4.0, HANGS: 6.0, STUBS: 0.0}


def item(label: str, source: str = RIGHT) -> Item:
    """A submission like no other."""
    return Item(label, Taken("submission", {"shapes": f"{source}# {label}\n".encode()}, {}))


# ---- what becomes of answers: workers are threads here, and say what they are told to ----


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A complete result."""
    folder = tmp_path_factory.mktemp("nothing")
    suite = write_suite(folder / "no_suite")
    request = Request(folder, suite, suite / "points.toml", folder / "none", only=("double",))
    plan = plan_for(request, load(request), Taken("submission", {}, {}))
    return msgspec.json.encode(msgspec.structs.replace(record(plan, Answers({})), complete=True, score=0.0))


@pytest.fixture(scope="module")
def threads() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0") as client:
        yield client


START = frames.Start("checks", "reference", b"", "", ("", "", ""))
Replies = Callable[[str, int], worker.Reply]


attempts: Counter[str] = Counter()
scripts: list[Replies] = []


def scripted(start: frames.Start, submission: frames.Submission, pin: bool, patience: float) -> worker.Answer:
    """Takes the place of `worker.grade`; of this module, so that it reaches a worker by its name."""
    source = submission.sources["shapes"].decode()
    attempts[source] += 1
    return worker.Answer(scripts[0](source, attempts[source]), "somewhere")


@pytest.fixture
def graded(threads: Client, nothing: bytes, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Graded]]:
    """What comes of submissions if the worker gives these replies, by source and attempt."""

    def run(items: list[Item], replies: Replies) -> list[Graded]:
        attempts.clear()
        scripts[:] = [replies]
        monkeypatch.setattr(worker, "grade", scripted)
        return list(Engine(threads, START).grade(items))

    return run


@pytest.fixture
def done(nothing: bytes) -> frames.Done:
    return frames.Done(nothing, "shape", by_load=False, seconds=2.0, evaluating=1.0)


def test_every_submission_has_one_result(graded, done):
    found = graded([item(f"s{number}") for number in range(20)], lambda source, attempt: done)
    assert sorted(each.label for each in found) == sorted(f"s{number}" for number in range(20))
    assert all(each.result and each.attempts == 1 and each.shape == "shape" and not each.fault for each in found)
    assert {each.digest for each in found} == {item(f"s{number}").taken.digest() for number in range(20)}


def test_a_fault_is_tried_again_and_at_last_told(graded, done):
    def replies(source: str, attempt: int) -> worker.Reply:
        if "never" in source:
            return frames.Fault(f"broke for time {attempt}")
        return done if "once" not in source or attempt == 2 else frames.Fault("broke")

    found = {each.label: each for each in graded([item("never"), item("once"), item("well")], replies)}
    assert {label: (each.attempts, bool(each.result)) for label, each in found.items()} == {
        "never": (ATTEMPTS, False),
        "once": (2, True),
        "well": (1, True),
    }
    assert found["never"].fault == f"broke for time {ATTEMPTS}"


def test_what_a_worker_raises_is_a_fault_of_one_submission(graded, done):
    def replies(source: str, attempt: int) -> worker.Reply:
        if "never" in source:
            raise OSError("no space left")
        return done

    found = {each.label: each for each in graded([item("never"), item("well")], replies)}
    assert found["well"].result and found["never"].fault == "OSError: no space left"


def test_what_the_machine_slowed_down_is_graded_again_when_nothing_else_runs(graded, done):
    running: list[str] = []
    alone: dict[str, bool] = {}
    lock = threading.Lock()

    def replies(source: str, attempt: int) -> worker.Reply:
        with lock:
            running.append(source)
        time.sleep(0.05)
        with lock:
            alone[source] = running == [source]
            running.remove(source)
        return msgspec.structs.replace(done, by_load="slow" in source)

    items = [item("slow"), *(item(f"s{number}") for number in range(5)), item("slower"), item("s6")]
    found = graded(items, replies)
    assert [each.label for each in found][-2:] == ["slow", "slower"] and len(found) == 8
    assert [(each.attempts, bool(each.result)) for each in found[-2:]] == [(2, True), (2, True)], "then it is charged"
    assert all(alone[source] for source in alone if "slow" in source)


def test_equal_submissions_are_graded_once_if_what_was_left_out_is_equal_too(graded, done):
    asked = []

    def replies(source: str, attempt: int) -> worker.Reply:
        asked.append(source)
        time.sleep(0.2)
        return msgspec.structs.replace(done, by_load="slow" in source and attempt == 1)

    same = [Item(f"s{number}", item("same").taken) for number in range(4)]
    odd = Item("odd", same[0].taken._replace(left_out={"essay.txt": "not a Python module's name"}))
    slow = [Item(f"slow{number}", item("slow").taken) for number in range(3)]
    found = graded([*same, odd, *slow], replies)
    assert sorted(each.label for each in found) == ["odd", "s0", "s1", "s2", "s3", "slow0", "slow1", "slow2"]
    assert len(asked) == 4 and all(each.result for each in found)


class Elsewhere:
    """An engine whose workers stand on other systems, and are contained in other ways."""

    def __init__(self, request: Request, known: Known, *places: tuple[str, Level]) -> None:
        self.request, self.known, self.places, self.asked = request, known, cycle(places), 0

    def hello(self) -> frames.Ready:
        return frames.Ready(str(next(self.places)[1]))

    def grade(self, items: Iterable[Item]) -> Iterator[Graded]:
        for each in items:
            self.asked += 1
            platform, level = next(self.places)
            answers = Answers({}, isolation=Isolation(level, []))
            result = record(plan_for(self.request, self.known, each.taken), answers)
            place = msgspec.structs.replace(result.environment, platform=platform)
            result = msgspec.structs.replace(result, environment=place, complete=True, score=0.0)
            yield Graded(each.label, "", result, "", 1)


def asked_elsewhere(book: Gradebook, request: Request, known: Known, *places: tuple[str, Level]) -> int:
    """How many of a class of four had to be graded, on workers of these kinds."""
    engine: Any = Elsewhere(request, known, *places)
    grade(Class(request, known, [handed(f"s{number}") for number in range(4)], book), engine, "", 2, lambda *_: None)
    return int(engine.asked)


def test_what_any_worker_graded_is_known_to_the_next_run(tmp_path):
    suite = write_suite(tmp_path / "platforms_suite")
    old, new = ("Linux-6.1", Level.FULL), ("Linux-6.18", Level.PARTIAL)
    request = Request(tmp_path / "class", suite, suite / "points.toml", suite / "none", require=Level.PARTIAL)
    known = load(request)
    with Gradebook(tmp_path / "marks.sqlite", create=True) as book:
        assert asked_elsewhere(book, request, known, old, new) == 4
        assert asked_elsewhere(book, request, known, new, old) == 0
        full = request._replace(require=Level.FULL)
        assert asked_elsewhere(book, full, known, old) == 2, "the others were not contained as well"


def test_runs_are_of_one_lab_if_the_same_functions_give_points(tmp_path):
    suite = write_suite(tmp_path / "weeks_suite")
    request = Request(tmp_path / "class", suite, suite / "points.toml", suite / "none")
    known, here = load(request), ("Linux", Level.FULL)
    with Gradebook(tmp_path / "marks.sqlite", create=True) as book:
        for only in ((), ("shapes",), ("coin",), ("check_coin_is_fair", "coin")):
            asked_elsewhere(book, request._replace(only=only), known, here)
        asked_elsewhere(book, request, known._replace(points={"double": Fraction(0), "coin": Fraction(1)}), here)
        labs = [past.run.functions for past in book.runs()]
    assert labs == [("coin", "double")] * 2 + [("coin",)] * 3


def test_submissions_are_read_when_a_worker_is_free_for_them(threads, done, monkeypatch):
    read: list[int] = []

    def items() -> Iterator[Item]:
        for number in range(50):
            read.append(number)
            yield item(f"s{number}")

    monkeypatch.setattr(worker, "grade", lambda *arguments: worker.Answer(done, ""))
    for number, _ in enumerate(Engine(threads, START).grade(items()), 1):
        assert len(read) <= number + 4 + 1, "2 threads, and 2 submissions on the way for each"
    assert number == 50


def test_a_worker_that_grades_otherwise_ends_the_run(graded, done, threads, monkeypatch):
    with pytest.raises(UsageError, match="somewhere does not grade as this place does: its facts are old"):
        graded([item("ada")], lambda source, attempt: frames.Refused("its facts are old"))

    def elsewhere(*arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'harness'", name="harness")

    monkeypatch.setattr(worker, "hello", elsewhere)
    with pytest.raises(UsageError, match="cannot import harness: start workers in the project's folder"):
        Engine(threads, START).hello()
    monkeypatch.setattr(worker, "hello", lambda *arguments: worker.Answer(frames.Fault("no memory"), ""))
    with pytest.raises(GraderFault, match="no memory"):
        Engine(threads, START).hello()


def test_a_cohort_ends_its_own_grading_processes_and_no_others(threads, monkeypatch):
    class Child:
        """A grading process that only knows whether it was ended."""

        def __init__(self, start: frames.Start, patience: float = 0) -> None:
            self.start, self.ready, self.ended = start, frames.Ready("full"), False
            every.add(self)

        def close(self) -> None:
            self.ended = True

    every: set[Any] = set()
    idle: list[Any] = []
    for name, value in {"_Child": Child, "_all": every, "_idle": idle}.items():
        monkeypatch.setattr(worker, name, value)
    with Engine(threads, START) as mine:
        mine.hello()
        (own,) = every
        with Engine(threads, START) as colleagues:
            at_work: Any = Child(colleagues._start)
            mine.hello()
            assert every == {own, at_work}, "what is idle is used again"
            mine.__exit__()
            assert (own.ended, at_work.ended, every, idle) == (True, False, {at_work}, [])
            colleagues.hello()
            (borrowed,) = idle
            waited = threads.submit(worker.grade, mine._start, frames.Submission({}, {}), False, pure=False).result()
            assert waited.reply == frames.Fault("its cohort has ended")
            assert (every, idle) == ({at_work, borrowed}, [borrowed]), "it starts none, and takes none of another's"
            with Engine(threads, START) as third:
                third.hello()
                assert idle == [borrowed], "they are graded alike"
            assert (borrowed.ended, at_work.ended) == (True, False)
        assert at_work.ended
        worker._put_back(at_work)
        assert not idle, "it is no use any more"


def test_a_grading_process_that_starts_while_its_cohort_is_stopped_is_ended(monkeypatch):
    start = msgspec.structs.replace(START, run="stopped")
    monkeypatch.setattr(worker, "_ended", {"stopped"})
    child = worker._Child(start, 60)
    assert child.ready == frames.Fault("the grading process was killed by signal 9")
    child.close()
    assert child not in worker._all


def test_a_cluster_without_workers_is_told_in_a_sentence(monkeypatch):
    monkeypatch.setattr("harness.cohort.engine.WORKERS_SECONDS", 1)
    monkeypatch.setattr("harness.cohort.engine.LOOK_EVERY", 0.1)
    with Client(processes=False, n_workers=0, dashboard_address="127.0.0.1:0") as empty, Engine(empty, START) as engine:
        for asked in (engine.hello, lambda: list(engine.grade([item("ada")]))):
            with pytest.raises(GraderFault, match="the cluster has had no worker for 1 s: start one there"):
                asked()


# ---- real workers, with grading processes ----


@pytest.fixture(scope="session")  # a suite's name is imported once in a process
def start(tmp_path_factory: pytest.TempPathFactory) -> frames.Start:
    suite = write_suite(tmp_path_factory.mktemp("engine") / "engine_suite")
    return start_for(suite)


def start_for(suite: Path) -> frames.Start:
    points = suite / "points.toml"
    known = load(Request(suite, suite, points, suite / "none"))
    here = environment(0)
    versions = (here.python, here.torch, here.numpy)
    return frames.Start(str(suite), str(suite / "none"), points.read_bytes(), known.digest, versions, require=3)


@pytest.fixture(scope="module")
def engine(start: frames.Start) -> Iterator[Engine]:
    with cluster.local(2, ttl="5s") as client, Engine(client, start, pin=True) as engine:
        yield engine
    assert processes("harness.cohort.grader") == [], "the block leaves no process"


def processes(word: str, below: int | None = None) -> list[psutil.Process]:
    """The processes below one (this one by default) whose command line holds a word."""
    found = []
    for process in psutil.Process(below).children(recursive=True):
        try:
            if any(word in part for part in process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def through(engine: Engine, items: list[Item], disturb: Callable[[], None] = lambda: None) -> dict[str, Graded]:
    """What comes of the items; once the first is through and others are begun, things may happen."""
    found: dict[str, Graded] = {}
    for each in engine.grade(items):
        assert each.label not in found, "nothing comes twice"
        if not found:
            disturb()
        found[each.label] = each
    return found


def test_a_class_has_the_marks_that_each_has_alone(engine):
    sources = {f"{number}": source for number, source in enumerate(MARKS)}
    found = through(engine, [item(label, source) for label, source in sources.items()])
    scores = {label: each.result.score for label, each in found.items() if each.result}
    assert scores == {label: MARKS[source] for label, source in sources.items()}
    assert {each.attempts for each in found.values()} == {1}, "what a submission does to itself is no fault of ours"
    assert len(processes("harness.cohort.grader")) <= 2
    by_label = {label: each.result for label, each in found.items()}
    assert by_label["3"].facts[2].outcome == "crashed" and by_label["5"].facts[2].outcome == "timeout"  # type: ignore[union-attr]


def test_submissions_that_are_through_are_not_kept(engine):
    """Dask would keep the last 1,000 messages of each connection: 110 kB each, for each worker, in the scheduler."""
    assert engine._client.scheduler_comm.recent_message_log.maxlen == 10
    sizes = engine._client.run_on_scheduler(
        lambda dask_scheduler: [each.recent_message_log.maxlen for each in dask_scheduler.stream_comms.values()]
    )
    assert sizes and set(sizes) == {10}


def test_a_killed_grading_process_loses_nothing(engine):
    def disturb() -> None:
        for process in processes("harness.cohort.grader"):
            process.kill()

    found = through(engine, [item(f"killed{number}", SLOW) for number in range(4)], disturb)
    assert [each.result and each.result.score for each in found.values()] == [10.0] * 4
    assert max(each.attempts for each in found.values()) == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_lost_worker_loses_nothing(engine, number):
    def disturb() -> None:
        grader = processes("harness.cohort.grader")[0]
        parent = grader.parent()
        assert parent is not None
        parent.send_signal(number)

    found = through(engine, [item(f"{number.name}{count}", SLOW) for count in range(6)], disturb)
    assert [each.result and each.result.score for each in found.values()] == [10.0] * 6


def test_four_times_more_workers_than_cores_give_the_marks_that_each_has_alone(start):
    workers = 4 * len(os.sched_getaffinity(0))
    sources = [*MARKS, *MARKS]
    with cluster.local(workers) as client, Engine(client, start, pin=True) as engine:
        found = through(engine, [item(f"{number}", source) for number, source in enumerate(sources)])
    scores = {int(label): each.result and each.result.score for label, each in found.items()}
    assert scores == {number: MARKS[source] for number, source in enumerate(sources)}


# ---- as it is typed ----


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_suite(tmp_path / "typed_suite")
    for number in range(6):
        write_tree(tmp_path / "class" / f"s{number}", f"{SLOW}# {number}\n")
    return tmp_path


def cohort(project: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "harness", "cohort", "class", "--suite", "typed_suite", "--reference", "none"]
    return subprocess.Popen(
        [*command, "--gradebook", "marks.sqlite", *options], cwd=project, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
    )  # fmt: skip


def marked(project: Path) -> int:
    """How many submissions have a mark."""
    if not (project / "marks.sqlite").exists():
        return 0
    with Gradebook(project / "marks.sqlite") as book:
        return len([mark for mark in book.marks() if mark.score is not None])


def wait_for(condition: Callable[[], object], seconds: float = 1200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def last_line(said: str) -> str:
    """What a run says at its end: on a slow machine, lines of progress stand before."""
    *news, last = said.splitlines()
    assert all(re.fullmatch(r"\d of 6, 0 failed.*", line) for line in news), said
    return last


def test_ctrl_c_keeps_what_is_graded_and_the_same_command_goes_on(project):
    run = cohort(project, "--workers", "1")
    below = psutil.Process(run.pid)
    wait_for(lambda: marked(project) >= 1 or run.poll() is not None)
    family = below.children(recursive=True)
    os.killpg(run.pid, signal.SIGINT)
    said, _ = run.communicate(timeout=600)
    assert run.returncode == 130, said
    assert re.fullmatch(
        r"stopped: \d of 6 submissions are through\. What is graded is kept in marks\.sqlite; the same command goes on "
        r"from there\.", last_line(said),
    )  # fmt: skip
    wait_for(lambda: not [each for each in family if each.is_running() and each.status() != "zombie"], 30)
    before = marked(project)
    assert 1 <= before < 6

    said, _ = cohort(project, "--workers", "1").communicate(timeout=1200)
    assert f"6 submissions: {6 - before} graded now, {before} known already" in said
    assert marked(project) == 6


class Existing(NamedTuple):
    """A cluster that was there before, of one worker."""

    address: str
    scheduler: "subprocess.Popen[bytes]"
    worker: "subprocess.Popen[bytes]"


@pytest.fixture
def existing(project: Path) -> Iterator[Existing]:
    def dask(*arguments: str) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=project, env=environment, stderr=subprocess.DEVNULL
        )

    file = project / "scheduler.json"
    scheduler = dask("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                     "--scheduler-file", str(file))  # fmt: skip
    wait_for(file.exists)
    address = msgspec.json.decode(file.read_bytes())["address"]
    helper = dask("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
    yield Existing(address, scheduler, helper)
    for process in (scheduler, helper):
        process.kill()
        process.wait()


def test_ctrl_c_leaves_the_workers_of_a_cluster_as_they_were(project, existing):
    run = cohort(project, "--scheduler", existing.address)
    wait_for(lambda: marked(project) >= 1 or run.poll() is not None)
    os.killpg(run.pid, signal.SIGINT)
    said, _ = run.communicate(timeout=600)
    assert run.returncode == 130, said
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:  # what waited there is taken up at once, if at all
        assert not processes("harness.cohort.grader", below=existing.worker.pid)
        time.sleep(0.1)
    assert existing.worker.poll() is None


def test_a_lost_scheduler_is_told_in_a_sentence_and_only_what_is_missing_runs_again(project, existing):
    run = cohort(project, "--scheduler", existing.address)
    wait_for(lambda: marked(project) >= 1 or run.poll() is not None)
    existing.scheduler.kill()
    said, _ = run.communicate(timeout=600)
    assert run.returncode == 3, said
    assert last_line(said) == (
        "the connection to the scheduler is lost. What is graded is kept in marks.sqlite; the same command goes on "
        "from there."
    )
    before = marked(project)
    said, _ = cohort(project, "--workers", "1").communicate(timeout=1200)
    assert f"6 submissions: {6 - before} graded now, {before} known already" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler tcp://127.0.0.1:1: no scheduler answers there"),
        (["--scheduler", "nonsense"], "--scheduler nonsense: no scheduler answers there (missing port"),
        (["--scheduler", "host:abc"], "--scheduler host:abc: no scheduler answers there"),
        (["--scheduler", "udp://127.0.0.1:1"], "udp:// is neither tcp:// nor tls://"),
        (["--scheduler", "tls://127.0.0.1:1"], "Dask is told of no certificates"),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "a cluster has the workers that it has"),
        (["--workers", "0"], "is not a number 1, 2, 3"),
        (["--only", "doubel"], "did you mean double?"),
        (["--points", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_named(project, options, says):
    run = cohort(project, *options)
    said, _ = run.communicate(timeout=600)
    assert run.returncode == 2 and says in said and "Traceback" not in said, said


def typed(*options: str) -> int:
    """What the command does in this process."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    parsed = parser.parse_args([*options])
    return int(parsed.verb(parsed))


def test_there_will_be_a_place_for_what_is_written(tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "new"):
        with pytest.raises(UsageError, match=f"--out {out}: cannot be made or is no folder"):
            typed("class", "--out", str(out))
    with pytest.raises(UsageError, match="is not empty"):
        typed("class", "--out", str(tmp_path))


def handed(label: str, error: Exception | None = None) -> Handed:
    """A submission that can be read, or not for this reason."""

    def take(modules: object, given: object) -> Taken:
        if error:
            raise error
        return item(label).taken

    return Handed(label, "", take)


def test_a_folder_of_which_nothing_can_be_read_is_refused_before_anything_is_kept(project):
    for number in range(6):
        (project / "class" / f"s{number}" / "shapes.py").rename(project / "class" / f"s{number}" / "of_another_lab.py")
    run = cohort(project)
    said, _ = run.communicate(timeout=600)
    assert run.returncode == 2 and "Traceback" not in said, said
    assert said.startswith("class: none of the 6 submissions there can be read, so nothing is graded or kept; ")
    assert "the first is s0: " in said and "Name the folder" in said
    assert not list(project.glob("marks.sqlite*"))


def test_one_submission_that_can_be_read_is_a_class(tmp_path):
    suite = write_suite(tmp_path / "readable_suite")
    request = Request(tmp_path / "class", suite, suite / "points.toml", suite / "none")
    empty = handed("ada", Unreadable("submission: no modules"))
    never = handed("eve", AssertionError("the look ends with the first that can be read"))
    check_readable(request, load(request), [empty, handed("bob", UsageError("a link")), handed("cem"), never])
    with pytest.raises(UsageError, match=r"none of the 1 submissions .* the first is ada: submission: no modules\. "):
        check_readable(request, load(request), [empty])


def test_what_a_run_did_is_told_though_no_submission_has_a_mark(tmp_path):
    told = io.StringIO()
    progress = command._Progress(Console(file=told, width=200), 2)
    with Gradebook(tmp_path / "marks.sqlite", create=True) as book:
        run = book.begin(RUN)
        for label, why in {"ada": "Traceback:\nlost \x1b[31mred", "bob": " \n"}.items():
            book.fail(run, label, why)
            progress.tell(State.FAILED, label, why)
        command._tell(book, run, tmp_path / "out", progress)
    lines = told.getvalue().splitlines()
    assert lines[:4] == [
        "2 submissions: 2 could not be graded:",
        r"  ada: lost \x1b[31mred",
        "  bob: no reason is known",
        f"gradebook: {tmp_path / 'marks.sqlite'}, run 1",
    ]
    assert lines[4].startswith("no sheet for a platform is written: ")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"reports", "marks.jsonl", "class.html"}


@pytest.fixture
def regraded(tmp_path: Path) -> Iterator[Gradebook]:
    """Ada and Bob had a mark; the second run could not grade Ada."""
    with Gradebook(tmp_path / "marks.sqlite", create=True) as book:
        for run in (book.begin(RUN), book.begin(RUN)):
            book.keep(run, "bob", writers.graded(f"d{run}", score=float(run)))
        book.keep(1, "ada", writers.graded(score=5.0))
        book.fail(2, "ada", "the worker was lost")
        yield book


def told_of(book: Gradebook, run: int, out: Path) -> str:
    """What is said of a run at its end."""
    told = io.StringIO()
    command._tell(book, run, out, command._Progress(Console(file=told, width=200), 2))
    return told.getvalue()


def test_what_a_run_could_not_grade_is_written_with_the_mark_that_is_kept(regraded, tmp_path):
    out = tmp_path / "out"
    assert "1 of them keeps the mark of an earlier run, which is shown as stale\n" in told_of(regraded, 2, out)
    lines = [msgspec.json.decode(line) for line in (out / "marks.jsonl").read_bytes().splitlines()]
    kept = [(line["label"], line["adjusted"], line["stale"]) for line in lines]
    assert kept == [("ada", 5.0, True), ("bob", 2.0, False)]
    assert [line[-4:] for line in (out / "canvas.csv").read_text("utf-8").split()[-2:]] == ["5.00", "2.00"]
    assert {path.name for path in (out / "reports").iterdir()} == {"ada.html", "bob.html"}
    assert "1 mark is stale" in (out / "class.html").read_text("utf-8")


def test_what_was_written_in_part_is_no_reason_to_refuse_the_same_command(regraded, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "out"
    command._make_empty(out)
    with monkeypatch.context() as patched, pytest.raises(GraderFault, match=f"{out} cannot be written .No space left"):
        patched.setattr(command, "_write_sheets", full)
        told_of(regraded, 2, out)
    command._make_empty(out)
    told_of(regraded, 2, out)
    sheets = {f"{platform}.csv" for platform in ("canvas", "moodle", "gradescope")}
    assert {path.name for path in out.iterdir()} == {"reports", "marks.jsonl", "class.html", *sheets}
    with pytest.raises(UsageError, match="is not empty"):
        command._make_empty(out)


@pytest.mark.parametrize("kind", ["full", "locked"])
def test_that_marks_are_kept_is_said_once(tmp_path, kind, monkeypatch, capsys):
    """What ends the run is an error of the gradebook."""

    def breaks(*_: object) -> int:
        with database.told(Path("marks.sqlite")):
            error = sqlite3.OperationalError(kind)
            error.sqlite_errorcode = sqlite3.SQLITE_FULL if kind == "full" else sqlite3.SQLITE_BUSY
            raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "_run", breaks)
    write_suite(tmp_path / f"{kind}_suite")
    for label in ("ada", "bob"):
        write_tree(tmp_path / "class" / label)
    assert typed("class", "--suite", f"{kind}_suite", "--gradebook", "marks.sqlite") == 3
    said = capsys.readouterr().err
    assert said.count("kept") == said.count("the same command") == 1 and "\n" not in said.strip(), said
