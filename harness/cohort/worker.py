"""What runs in a Dask worker: it keeps a grading process as its child, and sends it one submission after another.

Nothing of a submission runs or is decoded here: a worker that died of one would take innocent ones with it.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec
from distributed import get_worker

from harness.cohort import frames

ROOT = Path(__file__).parent.parent.parent
RENEWED_AFTER = 100
"""Submissions that one grading process takes."""
PATIENCE = 900.0
"""Seconds for one fact, or for the start, before a grading process is taken for dead: several times what a fact may
take on a machine with eight times more workers than cores."""
ENDING = 10.0
"""Seconds for a grading process to end after its last word."""
TOLD = 2000
"""Characters of a traceback of the grading process that are kept."""

Reply = frames.Ready | frames.Refused | frames.Done | frames.Fault


class Answer(msgspec.Struct, frozen=True):
    """What comes back to the engine. worker: its address."""

    reply: Reply
    worker: str


def hello(start: frames.Start, pin: bool, patience: float = PATIENCE) -> Answer:
    """Have a grading process ready, and say what it is. pin: to a core, by the number that names the worker."""
    child, reply = _idle_or_new(start, pin, patience)
    if child is not None:
        _put_back(child)
    return Answer(reply, get_worker().address)


def grade(start: frames.Start, submission: frames.Submission, pin: bool, patience: float = PATIENCE) -> Answer:
    """Grade one submission in the grading process that is kept; after any fault there will be another."""
    child, reply = _idle_or_new(start, pin, patience)
    if child is not None:
        reply = child.answer(submission, patience)
        if isinstance(reply, frames.Done) and child.graded < RENEWED_AFTER:
            _put_back(child)
        else:
            child.close()
    return Answer(reply, get_worker().address)


def dask_setup(_: object) -> None:
    """In the workers of a local cluster: Ctrl-C reaches every process of the terminal, and the engine's ends these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def stop(start: frames.Start) -> None:
    """End the grading processes of a cohort, those at work too: what they were asked comes back as a fault.

    So does what waits here for its turn, which would start one more.
    """
    with _lock:
        _ended.add(start.run)
        children = [child for child in _all if child.start.run == start.run]
        _all.difference_update(children)
        _idle[:] = [child for child in _idle if child in _all]
    for child in children:
        child.close()


# ---- the grading processes of this worker: one for each thread that grades ----

_lock = threading.Lock()
_idle: "list[_Child]" = []
_all: "set[_Child]" = set()
_ended: set[str] = set()
"""The cohorts that were stopped: a number of 32 characters for each that this worker has seen."""


def _idle_or_new(start: frames.Start, pin: bool, patience: float) -> "tuple[_Child | None, Reply]":
    """A grading process for `start` that is ready; or none, and why. Idle ones that grade otherwise are ended."""
    if pin:
        start = msgspec.structs.replace(start, core=int(get_worker().name))
    with _lock:
        if start.run in _ended:
            return None, frames.Fault("its cohort has ended")
        own = [child for child in _idle if msgspec.structs.replace(child.start, run=start.run) == start]
        stale = [child for child in _idle if child not in own]
        _idle[:] = own[1:]
        for child in own[:1]:
            child.start = start  # it may be another cohort's, graded alike, and is this one's now
    for child in stale:
        child.close()
    if own:
        return own[0], own[0].ready
    child = _Child(start, patience)
    if isinstance(child.ready, frames.Ready):
        return child, child.ready
    child.close()
    return None, child.ready


def _put_back(child: "_Child") -> None:
    with _lock:
        if child in _all:  # nobody has ended it meanwhile
            _idle.append(child)


class _Child:
    """A grading process and the pipes to it."""

    def __init__(self, start: frames.Start, patience: float) -> None:
        self.start, self.graded = start, 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        variables = {"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.cohort.grader"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, cwd=ROOT, env=os.environ | variables,
        )  # fmt: skip
        with _lock:
            _all.add(self)
            if start.run in _ended:  # meanwhile
                self._process.kill()
        self._arrived: queue.SimpleQueue[frames.Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.ready = self._asked(start, patience)

    def answer(self, submission: frames.Submission, patience: float) -> Reply:
        """Done, or what went wrong."""
        self.graded += 1
        return self._asked(submission, patience)

    def close(self) -> None:
        """End the process; its zygote notices."""
        with _lock:
            _all.discard(self)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._errors.close()

    def _asked(self, message: frames.Message, patience: float) -> Reply:
        threading.Thread(target=self._write, args=(message,), daemon=True).start()  # a stopped process does not read
        while True:
            try:
                reply = self._arrived.get(timeout=patience)
            except queue.Empty:
                return frames.Fault(f"the grading process said nothing for {patience:.0f} s")
            if reply is None:
                return frames.Fault(self._how_it_ended())
            if isinstance(reply, Reply):
                return reply

    def _write(self, message: frames.Message) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # when it has ended, the other pipe says so
            frames.write(self._process.stdin, message)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        message: frames.Message | None = None
        try:
            while message := frames.read(self._process.stdout):
                self._arrived.put(message)
        finally:
            self._arrived.put(None)

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return "the grading process runs on, and has closed its pipe or said what nobody understands"
        said = ""
        with contextlib.suppress(ValueError):  # it was closed by `stop`
            self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, self._errors.tell() - TOLD))
            said = self._errors.read().decode("utf-8", "replace").strip()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"the grading process {how}{': ' if said else ''}{said}"
