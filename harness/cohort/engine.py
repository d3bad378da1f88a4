"""Submissions in, graded submissions out, as they come: on the workers of a Dask cluster.

A fault of the grader or of its machine is tried again elsewhere, up to ATTEMPTS times; what a submission does to itself
is its mark. A submission that its machine may have slowed down is graded once more at the end, alone on a machine.
Submissions are read as workers become free, and a result is handed on before the next is asked for.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec
from distributed import Client, Future, as_completed

from harness.cohort import frames, worker
from harness.cohort.cluster import WORKERS_SECONDS
from harness.errors import GraderFault, UsageError
from harness.result import Result
from harness.sandbox.intake import Taken

ATTEMPTS = 3
AHEAD = 2
"""Submissions on the way for each thread of the workers: one that is graded, and one that waits for it."""
LOOK_EVERY = 5.0
"""Seconds between two looks at how many workers there are."""
LOST = "the connection to the scheduler is lost"
SLICE = 0.1
"""Seconds to wait for an answer before it is time to see whether to look."""


class Item(NamedTuple):
    """A submission to grade."""

    label: str
    taken: Taken


class Graded(NamedTuple):
    """What came of a submission: a complete result, or the fault that kept it from being graded.

    attempts: how often it was begun. seconds: of grading; evaluating: of these, within the facts. worker: where.
    """

    label: str
    digest: str
    result: Result | None
    fault: str
    attempts: int
    seconds: float = 0.0
    evaluating: float = 0.0
    shape: str = ""
    worker: str = ""


class _Task:
    """Submissions of one content: they are graded once, and all have the result."""

    def __init__(self, item: Item) -> None:
        self.taken, self.labels = item.taken, [item.label]
        self.attempts, self.fault, self.machine = 0, "", ""

    @property
    def content(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What decides the result, of the submission's side."""
        return self.taken.digest(), tuple(sorted(self.taken.left_out.items()))

    def failed(self) -> Iterator[Graded]:
        """The same fault for each label."""
        for label in self.labels:
            yield Graded(label, self.taken.digest(), None, self.fault, self.attempts)

    def graded(self, done: frames.Done, where: str) -> Iterator[Graded]:
        """The same result for each label."""
        result = msgspec.json.decode(done.result, type=Result)
        for label in self.labels:
            yield Graded(
                *(label, self.taken.digest(), result, "", self.attempts, done.seconds, done.evaluating),
                *(done.shape, where),
            )


class Engine:
    """A cluster that grades in one way.

    pin: grading processes have cores of their own, by the numbers that name the workers. patience: as in `worker`.
    """

    def __init__(
        self, client: Client, start: frames.Start, pin: bool = False, patience: float = worker.PATIENCE
    ) -> None:
        self._client, self._pin, self._patience = client, pin, patience
        self._start = msgspec.structs.replace(start, run=uuid4().hex)  # what ends is this cohort's, and no other's
        self._window, self._looked, self._seen = 0, float("-inf"), time.monotonic()
        self._running: dict[str, _Task] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the grading processes: the workers of a cluster that goes on are left as they were."""
        if self._client.status == "running":
            self._client.run(worker.stop, self._start, on_error="ignore")

    def hello(self) -> frames.Ready:
        """Start a grading process on some worker, which will be used. Raises UsageError if it would grade otherwise."""
        why = ""
        for _ in range(ATTEMPTS):
            future = self._client.submit(worker.hello, self._start, self._pin, self._patience, pure=False)
            answer = self._answer(self._next(as_completed([future], loop=self._client.loop)))
            if isinstance(answer.reply, frames.Ready):
                return answer.reply
            why = getattr(answer.reply, "why", "")
        raise GraderFault(f"no grading process comes up: {why}")

    def grade(self, items: Iterable[Item]) -> Iterator[Graded]:
        """Each submission once, in the order in which they are through.

        Raises UsageError if a worker cannot grade as this process would, GraderFault if the scheduler is lost.
        """
        slowed: list[_Task] = []
        yield from self._through(map(_Task, items), slowed)
        yield from self._through(iter(slowed), None)  # charged with whatever comes of it

    def _through(self, new: Iterator[_Task], slowed: list[_Task] | None) -> Iterator[Graded]:
        """Grade the tasks, but set aside what a machine slowed down; without a place for these, one on each machine."""
        completed = as_completed(loop=self._client.loop, with_results=False, raise_errors=False)
        again: deque[_Task] = deque()
        same: dict[object, _Task] = {}
        machines = self._machines() if slowed is None else None
        while True:
            while len(self._running) < (self._room() if machines is None else len(machines)):
                task = again.popleft() if again else next(new, None)
                if task is None:
                    break
                known = same.setdefault(task.content, task)
                if known is not task:
                    known.labels += task.labels
                    continue
                busy = {each.machine for each in self._running.values()}
                task.machine = next((each for each in machines or () if each not in busy), "")
                completed.add(self._submitted(task))
            if not self._running:
                return
            future = self._next(completed)
            task = self._running.pop(str(future.key))
            answer = self._answer(future)
            match answer.reply:
                case frames.Done() as done if done.by_load and slowed is not None:
                    slowed.append(task)
                    continue  # others of its content join it
                case frames.Done() as done:
                    yield from task.graded(done, answer.worker)
                case frames.Fault(why) if task.attempts < ATTEMPTS:
                    task.fault = why
                    again.append(task)
                    continue
                case frames.Fault(why):
                    task.fault = why
                    yield from task.failed()
            del same[task.content]

    def _submitted(self, task: _Task) -> "Future[worker.Answer]":
        task.attempts += 1
        message = frames.Submission(task.taken.sources, task.taken.left_out)
        future = self._client.submit(
            *(worker.grade, self._start, message, self._pin, self._patience),
            pure=False, workers=task.machine or None, allow_other_workers=bool(task.machine),
        )  # fmt: skip
        self._running[str(future.key)] = task
        return future

    def _next(self, completed: as_completed) -> "Future[worker.Answer]":
        """The next that is through. Raises GraderFault when there has been no worker for too long."""
        while not completed.has_ready():
            with completed.thread_condition:
                completed.thread_condition.wait(SLICE)
            self._room()
        return next(completed)

    def _answer(self, future: "Future[worker.Answer]") -> worker.Answer:
        """What a worker replied. A task that came to nothing is a fault, but for what no other attempt would mend."""
        try:
            answer = future.result()
        except Exception as error:
            if future.cancelled() or self._client.status != "running":
                raise GraderFault(LOST) from None
            if isinstance(error, ImportError):
                raise UsageError(
                    f"a worker cannot import {error.name}: start workers in the project's folder, with its environment"
                ) from None
            return worker.Answer(frames.Fault(f"{type(error).__name__}: {error}"), "")
        if isinstance(answer.reply, frames.Refused):
            raise UsageError(f"{answer.worker} does not grade as this place does: {answer.reply.why}")
        return answer

    def _machines(self) -> list[str]:
        """The hosts of the workers, one at least."""
        return sorted({urlsplit(address).hostname or "" for address in self._threads()}) or [""]

    def _room(self) -> int:
        """How many submissions may be on their way, which follows the number of workers."""
        now = time.monotonic()
        if now - self._looked > LOOK_EVERY:
            threads = sum(self._threads().values())
            self._window, self._looked = max(1, AHEAD * threads), now
            if threads:
                self._seen = now
            elif now - self._seen > WORKERS_SECONDS:
                raise GraderFault(f"the cluster has had no worker for {WORKERS_SECONDS} s: start one there")
        return self._window

    def _threads(self) -> dict[str, int]:
        """How many submissions each worker takes at once, by its address."""
        try:
            return dict(self._client.nthreads())
        except (OSError, AttributeError):  # a client that is closed has no scheduler any more
            raise GraderFault(LOST) from None
