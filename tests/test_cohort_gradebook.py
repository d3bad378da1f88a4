"""The gradebook keeps what it was given: no row is changed, and no committed mark lost, whatever happens to writers."""

import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from harness import grading
from harness.cohort import comparison, database
from harness.cohort.comparison import FactChange
from harness.cohort.gradebook import Gradebook, storable
from harness.cohort.keys import environment_digest, key_of, key_of_result
from harness.cohort.roster import Student
from harness.errors import GraderFault, UsageError
from harness.plan import Request, plan
from harness.sandbox.intake import Taken
from harness.sandbox.probe import Isolation, Level
from harness.verdict import Outcome
from tests import gradebook_writers as writers
from tests.gradebook_writers import RUN, graded
from tests.sample_results import incomplete, unreadable
from tests.small_course import write_suite, write_tree


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "marks" / "lab.sqlite"


@pytest.fixture
def book(path: Path) -> Iterator[Gradebook]:
    with Gradebook(path, create=True) as opened:
        yield opened


def scores(book: Gradebook, run: int | None = None) -> dict[str, float | None]:
    return {mark.label: mark.score for mark in book.marks(run)}


# ---- runs and marks ----


def test_a_regrade_adds_a_run_and_keeps_the_first(book: Gradebook) -> None:
    first = book.begin(RUN)
    book.keep(first, "ada", graded(score=5.0), "s1")
    book.end(first)
    second = book.begin(RUN)
    book.keep(second, "ada", graded(score=7.0), "s2")
    assert scores(book) == scores(book, second) == {"ada": 7.0}
    assert scores(book, first) == {"ada": 5.0}
    assert [mark.shape for mark in book.marks()] == ["s2"]
    ended = [(run.id, bool(run.ended), run.graded, run.failed, run.run) for run in book.runs()]
    assert ended == [(1, True, 1, 0, RUN), (2, False, 1, 0, RUN)]


def test_a_failed_regrade_keeps_the_mark_and_says_that_it_is_stale(book: Gradebook) -> None:
    first, second, third = book.begin(RUN), book.begin(RUN), book.begin(RUN)
    book.keep(first, "ada", graded(score=5.0))
    book.fail(second, "ada", "the worker was lost")
    (stale,) = book.marks()
    assert (stale.score, stale.run, stale.stale, stale.fault) == (5.0, first, True, "the worker was lost")
    assert book.marks(second) == [stale], "by itself, too, the run left the mark as it was"
    book.keep(third, "ada", graded(score=6.0))
    (fresh,) = book.marks()
    assert (fresh.score, fresh.run, fresh.stale, fresh.fault) == (6.0, third, False, "")


def test_what_was_never_graded_has_a_reason_and_no_mark(book: Gradebook) -> None:
    run = book.begin(RUN)
    book.fail(run, "ada", "")
    (mark,) = book.marks()
    assert (mark.score, mark.fault, mark.stale, mark.result_id) == (None, "no reason is known", False, None)


def test_a_result_that_is_not_complete_is_never_a_mark(book: Gradebook) -> None:
    run = book.begin(RUN)
    with pytest.raises(ValueError, match="not complete"):
        book.keep(run, "ada", incomplete())
    assert book.marks() == []


def test_a_run_has_one_mark_for_a_submission(book: Gradebook) -> None:
    run = book.begin(RUN)
    number = book.keep(run, "ada", graded(score=5.0))
    for again in (
        lambda: book.keep(run, "ada", graded(score=9.0)),
        lambda: book.reuse(run, "ada", number),
        lambda: book.fail(run, "ada", "x"),
        lambda: book.reuse(run, "bob", 77),  # there is no such result
        lambda: book.fail(99, "bob", "x"),  # and no such run
    ):
        with pytest.raises(GraderFault, match=r"cannot mark '(ada|bob)'"):
            again()
    assert scores(book) == {"ada": 5.0}


def test_a_result_comes_back_whole(book: Gradebook) -> None:
    run = book.begin(RUN)
    assert book.result(book.keep(run, "ada", graded())) == graded()
    with pytest.raises(UsageError, match="no result 9"):
        book.result(9)
    with pytest.raises(UsageError, match="no run 9"):
        book.marks(9)


def test_adjustments_and_comments_survive_a_regrade(book: Gradebook) -> None:
    run = book.begin(RUN)
    book.keep(run, "ada", graded(score=5.0))
    book.adjust("ada", 2.5, "late registration", "tutor")
    book.adjust("ada", -1, "a day late", "tutor")
    book.adjust("ada", 0.0, "see me", "prof")
    assert [mark.adjusted for mark in book.marks()] == [6.5]
    later = book.begin(RUN)
    book.keep(later, "ada", graded(score=10.0))
    assert [(mark.score, mark.adjustment, mark.adjusted) for mark in book.marks()] == [(10.0, 1.5, 11.5)]
    book.adjust("ada", -100, "copied", "prof")
    assert [mark.adjusted for mark in book.marks()] == [0.0]
    assert [(each.points, each.comment, each.author) for each in book.marks()[0].adjustments] == [
        (2.5, "late registration", "tutor"),
        (-1, "a day late", "tutor"),
        (0, "see me", "prof"),
        (-100, "copied", "prof"),
    ]
    with pytest.raises(UsageError, match="adda: no submission of this lab has that label; did you mean ada"):
        book.adjust("adda", 1, "x", "y")


BOB = Student(login="bob", name="Bob Noyce")
WEEK_1, WEEK_2 = RUN._replace(functions=("coin", "double")), RUN._replace(functions=("area", "edge"))


def test_an_adjustment_counts_in_its_lab_whatever_becomes_of_that_and_in_no_other(book: Gradebook) -> None:
    first, second = book.begin(WEEK_1), book.begin(WEEK_2)
    book.keep(first, "ada", graded(score=5.0))
    book.adjust("ada", 2.0, "handed in by mail", "tutor")
    book.keep(second, "ada", graded(score=7.0))
    assert [(mark.adjusted, mark.adjustments) for mark in book.marks()] == [(7.0, ())]
    book.adjust("ada", 0.5, "a good question", "tutor", run=first)
    book.adjust("ada", -1.0, "a day late", "tutor")
    mended = book.begin(WEEK_1._replace(suite="mended", selection=("shapes",), functions=("double", "coin")))
    book.keep(mended, "ada", graded(score=6.0))
    adjusted = {run: [mark.adjusted for mark in book.marks(run)] for run in (first, second, mended, None)}
    assert adjusted == {first: [7.5], second: [6.0], mended: [8.5], None: [8.5]}
    with pytest.raises(UsageError, match="no run 9"):
        book.adjust("ada", 1, "x", "y", run=9)


def test_a_lab_keeps_no_mark_and_no_submission_of_another(book: Gradebook) -> None:
    first, second = book.begin(WEEK_1, {"bob": [BOB]}), book.begin(WEEK_2)
    for label in ("ada", "bob", "cem"):
        book.keep(first, label, graded(label))
    book.fail(second, "ada", "the worker was lost")
    book.keep(second, "cem", unreadable())
    assert scores(book) == scores(book, second) == {"ada": None, "cem": 0.0}
    assert set(scores(book, first)) == {"ada", "bob", "cem"}
    book.enrol([BOB], "class.csv")
    assert (book.matching().absent, book.matching(first).absent) == ([BOB], [])
    with pytest.raises(UsageError, match=r"bob: no submission of this lab .* --run names a run of another lab"):
        book.adjust("bob", 1, "x", "y")
    book.adjust("bob", 1, "x", "y", run=first)
    began = book.begin(WEEK_1)
    assert set(scores(book)) == {"ada", "cem"}, "a run that has marked nothing is of no lab yet"
    assert scores(book, began) == {}


@pytest.mark.parametrize(
    "label", ["a\0b", "\udc80\udcff", "'; DROP TABLE marks;--", "=1+1", "\n", "名前", "e\u0301", "x" * 9_000, ""]
)
def test_a_label_may_hold_any_character(book: Gradebook, label: str) -> None:
    run = book.begin(RUN)
    book.keep(run, label, graded())
    book.adjust(label, 1, label, label)
    assert [mark.label for mark in book.marks()] == [storable(label)]


# ---- reuse ----


def test_a_result_is_reused_under_equal_digests_only(book: Gradebook) -> None:
    run = book.begin(RUN)
    taken = Taken("submission", {"dpo": b"x = 1"}, {"notes.txt": "not a Python module's name"})
    key = key_of(taken, "suite", ["b", "a"], "environment", "full", 3)
    assert key == key_of(taken, "suite", ["a", "b"], "environment", "full", 3)
    result = graded()
    number = book.keep(run, "ada", result)
    known = key_of_result(result)
    assert book.known(known) == number
    others = [
        known._replace(submission="x"),
        known._replace(suite="x"),
        known._replace(selection=("x",)),
        known._replace(environment="x"),
        known._replace(level="x"),
        known._replace(reseed=9),
    ]
    assert len(others) == len(known._fields)
    assert [book.known(other) for other in others] == [None] * 6
    book.reuse(run, "bob", number)
    assert scores(book) == {"ada": 5.83, "bob": 5.83}


def test_the_key_of_a_submission_is_that_of_its_result(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "small_suite")
    tree = write_tree(tmp_path / "tree", numpy="x = 1")  # never imported: a library has this name
    (tree / "notes.txt").write_text("mine", encoding="utf-8")
    planned = plan(Request(tree, suite, suite / "points.toml", tmp_path / "none", reseed=3))
    isolation = Isolation(Level.PARTIAL, ["starting processes"])
    result = grading.record(planned, grading.Answers({}, isolation=isolation))
    known = key_of_result(result)
    suite_digest, environment = planned.known.digest, environment_digest(result.environment)
    assert key_of(planned.submission, suite_digest, [], environment, "partial", 3) == known
    other = planned.submission._replace(left_out={"notes.txt": "larger than 1 byte"})
    assert key_of(other, suite_digest, [], environment, "partial", 3) != known


def test_what_could_not_be_read_is_read_again(book: Gradebook) -> None:
    run = book.begin(RUN)
    book.keep(run, "ada", unreadable())
    assert book.known(key_of_result(unreadable())) is None
    book.keep(run, "bob", graded())
    assert [(mark.label, mark.score, mark.readable) for mark in book.marks()] == [
        ("ada", 0.0, False),
        ("bob", 5.83, True),
    ]


def test_what_cannot_be_read_is_no_points_until_something_of_it_could_be(book: Gradebook) -> None:
    runs = [book.begin(RUN) for _ in range(4)]
    book.keep(runs[0], "ada", unreadable())
    (first,) = book.marks()
    assert (first.score, first.readable, first.stale, first.fault) == (0.0, False, False, "")
    book.keep(runs[1], "ada", graded(score=5.0))
    book.keep(runs[2], "ada", unreadable())
    (kept,) = book.marks()
    assert (kept.score, kept.readable, kept.run, kept.stale) == (5.0, True, runs[1], True)
    assert kept.fault == unreadable().message
    assert [book.marks(run) for run in (runs[0], runs[2])] == [[first], [kept]]
    book.fail(runs[3], "ada", "the worker was lost")
    assert [(mark.score, mark.run, mark.stale, mark.fault) for mark in book.marks()] == [
        (5.0, runs[1], True, "the worker was lost")
    ]
    last = book.begin(RUN)
    book.keep(last, "ada", graded(score=6.0))
    assert [(mark.score, mark.stale, mark.fault) for mark in book.marks()] == [(6.0, False, "")]


# ---- differences ----


def test_a_difference_names_the_marks_and_the_facts(book: Gradebook) -> None:
    first, second = book.begin(RUN), book.begin(RUN)
    before = graded(score=5.0)
    facts = [msgspec.structs.replace(fact, outcome=Outcome.PASSED) for fact in before.facts[:3]]
    after = graded("d2", score=7.5, facts=[*facts, *before.facts[3:-1]])
    number = book.keep(first, "same", graded("d0"))
    book.reuse(second, "same", number)
    book.keep(first, "ada", before)
    book.keep(second, "ada", after)
    book.keep(first, "bob", before)
    book.fail(second, "bob", "lost")
    book.keep(second, "eve", before)
    book.keep(first, "kim", before)
    book.keep(
        second,
        "kim",
        msgspec.structs.replace(before, score=5.5, suite=msgspec.structs.replace(before.suite, digest="d9")),
    )
    ada, bob, eve, kim = comparison.diff(book, first, second)
    assert ada.before and ada.after and (ada.label, ada.before.score, ada.after.score) == ("ada", 5.0, 7.5)
    assert ada.facts == [
        FactChange("suite/check_shapes.py::check_second", "failed", "passed"),
        FactChange("suite/check_shapes.py::check_third", "timeout", "passed"),
        FactChange("suite/check_planes.py::check_edge", "passed", ""),
    ]
    assert ada.causes == ["submission"]
    assert bob.after and (bob.label, bob.after.fault, bob.facts) == ("bob", "lost", [])
    assert (eve.label, eve.before) == ("eve", None)
    assert (kim.label, kim.facts, kim.causes) == ("kim", [], ["suite"])
    with pytest.raises(UsageError, match="no run 9"):
        comparison.diff(book, first, 9)


# ---- nothing is overwritten ----


def test_no_row_is_changed_whoever_asks(book: Gradebook, path: Path) -> None:
    run = book.begin(RUN, {"ada": [writers.STUDENT]})
    book.keep(run, "ada", graded())
    book.end(run)
    book.adjust("ada", 1, "x", "y")
    book.enrol([writers.STUDENT], "roster.csv")
    other = sqlite3.connect(path, isolation_level=None)
    for table in database.TABLES:
        ((count,),) = other.execute(f"SELECT count(*) FROM {table}").fetchall()
        assert count, table
        for statement in (
            f"UPDATE {table} SET id = id",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                other.execute(statement)
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        other.execute("INSERT OR REPLACE INTO marks (run, label, fault, created) VALUES (1, 'ada', 'x', '')")
    other.close()


# ---- several processes, and their deaths ----


def check(path: Path, told: Path) -> int:
    """That every mark that was said to be kept is there, once and whole; how many there are."""
    committed = told.read_text(encoding="utf-8").split() if told.exists() else []
    with Gradebook(path, create=True) as book:
        marks = {mark.label: mark.result_id for mark in book.marks()}
        assert set(committed) <= set(marks)
        for label in committed[-5:]:
            assert book.result(marks[label] or 0) == graded(label)
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    counts = [raw.execute(f"SELECT count(*) FROM {table}").fetchall() for table in ("marks", "results")]
    assert counts[0] == counts[1]
    raw.close()
    return len(committed)


def test_processes_that_write_at_once_lose_nothing(path: Path, tmp_path: Path) -> None:
    told = [tmp_path / f"told-{name}" for name in "abc"]
    processes = [writers.started(writers.write, path, each, each.name, 40) for each in told]
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert [check(path, each) for each in told] == [40, 40, 40]
    with Gradebook(path) as book:
        assert [(run.graded, run.failed) for run in book.runs()] == [(40, 0)] * 3


def kill_at_random_moments(folder: Path, times: int, seed: int) -> tuple[int, int]:
    """Kill a writer `times` times, every third time one that makes the file; what was committed, how many it made."""
    moments = random.Random(seed)
    kept = made = 0
    for time_ in range(times):
        fresh = time_ % 3 == 0
        path, told = (folder / f"{name}-{time_ // 3}" for name in ("book", "told"))
        process = writers.started(writers.write, path, told, f"w{time_}", 100_000)
        until = time.monotonic() + 300
        while not (path if fresh else told).exists() and time.monotonic() < until:
            time.sleep(0.0005)
        time.sleep(moments.uniform(0, 0.02 if fresh else 0.15))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        before, kept = kept, kept + check(path, told)
        made += kept > before
    return kept, made


def test_a_writer_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    kept, _ = kill_at_random_moments(tmp_path, 6, seed=1)
    assert kept


# ---- no room ----


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no small disk can be mounted here: {error}")
    try:
        (disk / "other").write_bytes(bytes(200_000))
        path = disk / "lab.sqlite"
        with Gradebook(path, create=True) as book:
            run = book.begin(RUN)
            *kept, sentence = writers.until_full(book, run)
            assert sentence.startswith(f"{path}: the disk is full")
            assert "\n" not in sentence
            assert set(scores(book)) == set(kept)
            (disk / "other").unlink()
            book.keep(run, f"ada-{len(kept)}", graded())
            assert len(scores(book)) == len(kept) + 1 > 10
        with Gradebook(path) as book:
            writers.until_full(book, book.begin(RUN))
            with pytest.raises(GraderFault, match="the disk is full"):
                Gradebook(disk / "second.sqlite", create=True)
        with Gradebook(path) as book:  # opened on a disk that is full
            assert set(kept) < set(scores(book))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_gradebook_that_may_not_grow_is_as_good_as_a_full_disk(book: Gradebook) -> None:
    run = book.begin(RUN)
    book._connection.execute("PRAGMA max_page_count = 60")
    *kept, sentence = writers.until_full(book, run)
    assert "the disk is full or cannot be written (database or disk is full)" in sentence
    book._connection.execute("PRAGMA max_page_count = 6000")
    book.keep(run, f"ada-{len(kept)}", graded())
    assert len(scores(book)) == len(kept) + 1 > 10


def test_a_file_that_reaches_the_limit_of_a_process_keeps_what_it_has(path: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    process = writers.started(writers.fill, path, told, 600_000)
    process.join(300)
    assert process.exitcode == 0
    *kept, sentence = told.read_text(encoding="utf-8").splitlines()
    assert "the disk is full or cannot be written" in sentence
    with Gradebook(path) as book:
        assert set(scores(book)) == {*kept, f"ada-{len(kept)}"}
        assert len(kept) > 10


# ---- files that are none ----


def refusal(path: Path, create: bool = True) -> str:
    with pytest.raises(UsageError) as refused:
        Gradebook(path, create)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_is_no_gradebook_is_refused_in_a_sentence_and_left_as_it_is(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_bytes(b"these are my notes, no marks at all\n" * 100)
    assert refusal(text).startswith(f"{text} is no gradebook")
    assert text.read_bytes().startswith(b"these are")
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as raw:
        raw.execute("CREATE TABLE marks (id)")
    raw.close()
    before = foreign.read_bytes()
    assert refusal(foreign) == f"{foreign} is a database, but no gradebook: name another file with --gradebook"
    assert foreign.read_bytes() == before
    assert refusal(tmp_path) == f"{tmp_path} is no file: --gradebook takes one"
    assert "no such gradebook" in refusal(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()
    assert "cannot be opened" in refusal(text / "marks.sqlite")


def test_another_version_is_refused_in_a_sentence(path: Path) -> None:
    Gradebook(path, create=True).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 7")
    raw.close()
    reads = f"this course reads version {database.VERSION}"
    assert refusal(path).startswith(f"{path} is a gradebook of version 7 and {reads}: ")


def test_a_damaged_file_is_told_in_a_sentence(path: Path) -> None:
    with Gradebook(path, create=True) as book:
        run = book.begin(RUN)
        for place in range(50):
            book.keep(run, f"ada-{place}", graded())
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(UsageError, match="is no gradebook, or a damaged one"), Gradebook(path) as book:
        book.marks()


def test_a_result_of_another_version_is_told_in_a_sentence(book: Gradebook, monkeypatch: pytest.MonkeyPatch) -> None:
    run = book.begin(RUN)
    with monkeypatch.context() as patched:
        patched.setattr(msgspec.json, "encode", lambda result: b'{"schema": 9}')
        number = book.keep(run, "ada", graded())
    with pytest.raises(UsageError, match=f"result {number} is of another version of the course"):
        book.result(number)


@pytest.mark.parametrize("shut", ["file", "folder", "both", "outer"])
def test_a_place_where_nothing_can_be_written(shut: str) -> None:
    top = writers.public_folder()
    folder = top / "inner"
    path, told = folder / "lab.sqlite", top / "told"
    try:
        Gradebook(path, create=True).close()
        path.chmod(0o444 if shut in ("file", "both") else 0o666)
        folder.chmod({"file": 0o777, "folder": 0o555, "both": 0o555, "outer": 0o000}[shut])
        process = writers.started(writers.forbidden, path, told)
        process.join(300)
        said = told.read_text(encoding="utf-8")
        assert said.startswith(f"UsageError: {path}: the gradebook cannot be "), said
        assert "\n" not in said
    finally:
        folder.chmod(0o755)
        shutil.rmtree(top)


def test_a_file_may_be_called_what_sqlite_takes_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:lab?mode=memory", "a b?#%20.sqlite"):
        with Gradebook(Path(name), create=True) as book:
            book.begin(RUN)
        with Gradebook(tmp_path / name) as book:
            assert len(book.runs()) == 1


def test_others_may_not_read_names_and_marks(path: Path) -> None:
    with Gradebook(path, create=True) as book:
        book.begin(RUN)
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes
