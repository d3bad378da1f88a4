"""The warm grading process: `python -m harness.cohort.grader`, a child of a Dask worker.

The suite is loaded and the zygote started once; then comes one submission after another, each in confined children of
the zygote, as in `nox -s grade`. It ends at once, and the zygote and its child with it, when the worker's end of the
pipe is closed, however the worker died.
"""

import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from harness import facts as suite_facts
from harness import source
from harness.asking import Boundary, Grader
from harness.cohort import frames
from harness.cohort.shape import shape
from harness.errors import GraderFault, UsageError
from harness.facts import Fact
from harness.grading import Answers, Progress, asked, environment, record
from harness.plan import Plan, Request, job, kind_of_process, load, plan_for
from harness.sandbox.intake import Taken
from harness.sandbox.probe import Level
from harness.verdict import Outcome, Verdict


class Warm:
    """A suite and a zygote that are kept from one submission to the next."""

    def __init__(self, start: frames.Start) -> None:
        """Raises UsageError if this place cannot grade as it is asked to."""
        self._request = Request(
            tree=Path("submission"),
            suite=Path(start.suite),
            points=Path("points.toml"),
            reference=Path(start.reference),
            only=start.only,
            reseed=start.reseed,
            process=start.process,
            require=Level(start.require),
            draw=False,
        )
        if not self._request.suite.is_dir():
            raise UsageError(f"{self._request.suite.resolve()}: no such folder")
        self._boundary = Boundary(kind_of_process(self._request))  # comes up while the suite is loaded
        try:
            self._known = load(self._request, start.points)
            self._checks = suite_facts.load(self._request.suite)
            self.ready = self._agreeing(start)
        except BaseException:
            self.close()
            raise

    def _agreeing(self, start: frames.Start) -> frames.Ready:
        """What this place is, if it grades as the one that asks."""
        if self._known.digest != start.digest:
            raise UsageError(f"the facts, harness, reference or constraints in {Path.cwd()} are others than those here")
        place = environment(start.reseed)
        versions = (place.python, place.torch, place.numpy)
        if versions != start.versions:
            names = ("Python", "torch", "NumPy")
            told = [
                f"{name} is {there}, here it is {here}"
                for name, there, here in zip(names, versions, start.versions, strict=True)
                if there != here
            ]
            raise UsageError("; ".join(told))
        isolation = self._boundary.isolation()
        if isolation.level < start.require:
            raise UsageError(
                f"isolation is {isolation.level}, and {Level(start.require)} is required (not contained: "
                f"{', '.join(isolation.leaks)})"
            )
        return frames.Ready(str(isolation.level))

    def grade(self, submission: frames.Submission, progress: Progress) -> frames.Done:
        """Ask one submission everything. Raises GraderFault when a fact could not be decided."""
        taken = Taken("submission", submission.sources, submission.left_out)
        plan = plan_for(self._request, self._known, taken)
        answers = asked(plan, self._ask, progress)
        own = {name: data for name, data in submission.sources.items() if name not in self._known.given}
        untouched = all(verdict.outcome is Outcome.TODO for verdict in answers.verdicts.values())
        for cache in (source.is_stub, source.parameters):
            cache.cache_clear()  # they hold the sources that they were asked about
        return frames.Done(
            result=msgspec.json.encode(record(plan, answers)),
            shape="" if untouched else shape(own, self._known.owners),
            by_load=answers.by_load,
            seconds=answers.seconds,
            evaluating=sum(verdict.seconds for verdict in answers.verdicts.values()),
        )

    def _ask(
        self, plan: Plan, facts: Sequence[Fact], curve_ids: Sequence[str], alone: bool, progress: Progress | None
    ) -> Answers:
        """One fact after the other, in this process; no curves."""
        grader = Grader(job(plan), self._boundary)
        verdicts: dict[str, Verdict] = {}
        for fact in facts:
            _, verdict = grader.ask(fact.id, self._checks[fact.id])
            if verdict.outcome is Outcome.ERROR:
                raise GraderFault(f"{fact.name}: {verdict.evidence.message}")
            verdicts[fact.id] = verdict
            if progress:
                progress(fact, verdict.outcome)
        return Answers(verdicts, isolation=self._boundary.isolation())

    def close(self) -> None:
        """Leave no process behind."""
        self._boundary.close()


def main() -> None:
    """Serve the worker at the other end of the pipes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed here is no message
    inbox: queue.SimpleQueue[frames.Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    start = inbox.get()
    assert isinstance(start, frames.Start)
    if start.core >= 0 and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[start.core % len(cores)]})
    try:
        warm = Warm(start)
    except UsageError as error:
        frames.write(replies, frames.Refused(str(error)))
        return
    except GraderFault as error:
        frames.write(replies, frames.Fault(str(error)))
        return
    frames.write(replies, warm.ready)
    while isinstance(submission := inbox.get(), frames.Submission):
        try:
            frames.write(replies, warm.grade(submission, lambda fact, outcome: frames.write(replies, frames.Step())))
        except GraderFault as error:
            frames.write(replies, frames.Fault(str(error)))


def _listen(stream: IO[bytes], inbox: "queue.SimpleQueue[frames.Message]") -> None:
    """Take messages as they come; the worker's end of the pipe is this process's life line."""
    try:
        while message := frames.read(stream):
            inbox.put(message)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
