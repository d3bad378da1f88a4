"""The warm grading process: the marks of `nox -s grade`, fact by fact, whatever was graded before; and its ends."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from harness import spread
from harness.cohort import frames, worker
from harness.cohort.grader import Warm
from harness.cohort.shape import shape
from harness.cohort.worker import Reply, _Child
from harness.errors import UsageError
from harness.grading import environment, grade
from harness.local import sources_of
from harness.plan import Request, load, plan_for
from harness.result import Result
from harness.sandbox.intake import Taken
from harness.tree import Tree
from tests import cohort_of
from tests.small_course import RIGHT, write_suite

ROOT = Path(__file__).parent.parent
COURSE = Request(ROOT / "student", ROOT / "checks", ROOT / "checks" / "points.toml", ROOT / "reference", draw=False)
WRONG_AND_LOUD = RIGHT.replace("np.asarray(x) + x", "print('x' * 200_000) or np.asarray(x) * 3")
CRASHES = RIGHT.replace("return rng", "import ctypes; ctypes.string_at(0); return rng")
ANY_OUTCOME = [RIGHT, WRONG_AND_LOUD, CRASHES, "def double(x): raise SystemExit", "def double(x:", ""]


def start_of(request: Request, **others: object) -> frames.Start:
    """What a worker would be told."""
    here, points = environment(request.reseed), request.points.read_bytes()
    start = frames.Start(
        suite=str(request.suite), reference=str(request.reference), points=points, digest=load(request).digest,
        versions=(here.python, here.torch, here.numpy), only=request.only, reseed=request.reseed,
    )  # fmt: skip
    return msgspec.structs.replace(start, **others)


@pytest.fixture(scope="session")  # a suite's name is imported once in a process
def small(tmp_path_factory: pytest.TempPathFactory) -> Request:
    suite = write_suite(tmp_path_factory.mktemp("grader") / "grader_suite")
    return Request(suite, suite, suite / "points.toml", suite / "none", draw=False)


@pytest.fixture(scope="module")
def warm(small: Request) -> Iterator[Warm]:
    warm = Warm(start_of(small))
    yield warm
    warm.close()


def in_warm(warm: Warm, sources: dict[str, bytes]) -> Result:
    done = warm.grade(frames.Submission(sources, {}), lambda fact, outcome: None)
    return msgspec.json.decode(done.result, type=Result)


def alone(request: Request, sources: dict[str, bytes]) -> Result:
    return grade(plan_for(request, load(request), Taken("submission", sources, {})), spread.ask)


def without_times(result: Result) -> Result:
    facts = [msgspec.structs.replace(fact, seconds=0.0) for fact in result.facts]
    return msgspec.structs.replace(result, facts=facts, seconds=0.0)


def test_one_after_another_has_the_record_that_each_has_alone(warm, small):
    records = [without_times(in_warm(warm, {"shapes": source.encode()})) for source in ANY_OUTCOME]
    assert [record.score for record in records] == [10.0, 4.0, 6.0, 0.0, 0.0, 0.0]
    for source, record in zip(ANY_OUTCOME[1:3], records[1:3], strict=True):
        assert record == without_times(alone(small, {"shapes": source.encode()}))
    again = [without_times(in_warm(warm, {"shapes": source.encode()})) for source in reversed(ANY_OUTCOME)]
    assert again[::-1] == records, "whatever was graded before"


def test_the_course_itself_is_graded_alike():
    """With what is lent, and with the mistake that is named."""
    request = COURSE._replace(only=("closed_form", "make_pairs"))
    sources = {path.stem: path.read_bytes() for path in request.reference.glob("*.py")}
    sources["closed_form"] += b"\ndef kl(p, q): return float(np.mean(np.asarray(p) * np.log(np.asarray(p) / q)))\n"
    warm = Warm(start_of(request))
    try:
        record = in_warm(warm, sources)
    finally:
        warm.close()
    assert record.score is not None and 0 < record.score < record.max_score
    assert any(fact.mistake for fact in record.facts)
    other = without_times(alone(request, sources))
    assert {fact.id: fact for fact in without_times(record).facts} == {fact.id: fact for fact in other.facts}
    assert without_times(record) == other


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"digest": "0"}, "are others than those here"),
        ({"versions": ("3.10.0", "2.13.0", "2.3.0")}, "Python is .*, here it is 3.10.0; "),
        ({"process": "process", "require": 3}, "isolation is process, and full is required .*reading the grader's"),
        ({"suite": "nowhere"}, "nowhere: no such folder"),
    ],
    ids=repr,
)
def test_a_place_that_would_grade_otherwise_refuses(small, others, says):
    with pytest.raises(UsageError, match=says):
        Warm(start_of(small, **others))


# ---- the process ----


@pytest.fixture
def child(small: Request) -> Iterator[_Child]:
    child = _Child(start_of(small, core=0), patience=300)
    yield child
    child.close()


def graded(child: _Child, source: str, patience: float = 300) -> Reply:
    return child.answer(frames.Submission({"shapes": source.encode()}, {}), patience)


def test_a_grading_process_that_says_no_more_and_runs_on_is_not_waited_for(small, monkeypatch):
    silent = [sys.executable, "-c", "import os, time; os.close(1); time.sleep(600)"]
    start_process = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: start_process(silent, **options))
    monkeypatch.setattr(worker, "ENDING", 0.1)
    child = _Child(start_of(small), patience=300)
    assert isinstance(child.ready, frames.Fault) and "runs on" in child.ready.why
    child.close()
    assert child._errors.closed and child._process.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux says it")
def test_a_grading_process_that_breaks_says_how(small, child):
    assert isinstance(child.ready, frames.Ready) and child.ready.level == "full"
    process = psutil.Process(child._process.pid)
    (zygote,) = process.children()
    assert len(process.cpu_affinity()) == len(zygote.cpu_affinity()) == 1, "it has a core of its own"
    reply = graded(child, RIGHT)
    assert isinstance(reply, frames.Done) and 0 < reply.evaluating <= reply.seconds
    process.send_signal(signal.SIGSTOP)
    reply = graded(child, RIGHT, patience=0.5)
    assert reply == frames.Fault("the grading process said nothing for 0 s")
    process.kill()
    assert graded(child, RIGHT) == frames.Fault("the grading process was killed by signal 9")
    assert not wait_for_end([zygote])


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux says it")
def test_without_its_zygote_there_is_a_fault_and_no_mark(child):
    (zygote,) = psutil.Process(child._process.pid).children()
    zygote.kill()
    reply = graded(child, RIGHT)
    assert isinstance(reply, frames.Fault) and "zygote" in reply.why


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux says it")
def test_nothing_is_left_when_the_worker_dies_in_the_middle_of_a_submission(small):
    code = (
        "import sys, msgspec; from harness.cohort import frames, worker; from harness.cohort.worker import _Child; "
        "start = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=frames.Start); child = _Child(start, 300); "
        "print(child._process.pid, flush=True); "
        "child.answer(frames.Submission({'shapes': b'def double(x):\\n    while True: pass'}, {}), 300)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert parent.stdin is not None and parent.stdout is not None
    parent.stdin.write(msgspec.msgpack.encode(start_of(small)))
    parent.stdin.close()
    grader = psutil.Process(int(parent.stdout.readline()))
    while len(family := [grader, *grader.children(recursive=True)]) < 3:  # the zygote, and its child
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert not wait_for_end(family)


def wait_for_end(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run after a while."""
    deadline = time.monotonic() + 30
    while left := [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.1)
    return []


# ---- the shape of a program ----

PROGRAM = """
import numpy as np

def double(x):
    total = np.asarray(x)
    return total + helper(total, times=2)

def helper(values, times):
    return values * (times - 1)
"""
SAME = '''
"""Mine."""
import numpy as numpy_of_mine

def double(vector: list) -> object:
    """Twice."""
    s = numpy_of_mine.asarray(vector)  # a copy
    return (
        s + h(s, times=2)
    )

def h(v, t):
    return v * (t - 1)
'''


def test_a_program_that_takes_minutes_to_parse_has_no_shape():
    assert shape({"shapes": b"a=1\n" * 50_001}, {"double"}) == ""


def test_the_shape_is_the_same_under_other_names():
    def shape_of(text: str) -> str:
        return shape({"shapes": text.encode()}, {"double"})

    assert shape_of(PROGRAM) == shape_of(SAME) != ""
    others = [
        PROGRAM.replace("- 1", "- 2"),
        PROGRAM.replace("np.asarray", "np.array"),
        PROGRAM.replace("times=2", "values=2"),
        PROGRAM.replace("total + helper", "helper"),
        PROGRAM.replace("def double", "def triple"),
    ]
    assert len({shape_of(text) for text in [PROGRAM, *others]}) == 6
    assert shape_of("def double(x:") == shape({"a": b"x = 1", "b": b"\xff"}, set()) == ""
    assert shape({"a": b"x = 1"}, set()) != shape({"b": b"x = 1"}, set())


def test_whoever_is_made_up_can_be_imported() -> None:
    """A class of submissions that all fail at their imports would measure nothing."""
    rng, given = random.Random(0), sources_of(COURSE.suite / "given")
    for _ in range(20):
        files, _ = cohort_of.submission(rng)
        tree = Tree({Path(name).stem: text.encode() for name, text in files.items()} | given)
        for function, file in cohort_of.owners().items():
            assert callable(getattr(tree.module(Path(file).stem), function))
