"""A run: verdicts on one submission, the marks, the record."""

import hashlib
import platform
import time
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import NamedTuple, Protocol

import msgspec

from harness import curves, feedback
from harness.facts import Fact
from harness.marks import marks, rounded
from harness.plan import Plan
from harness.result import (
    SCHEMA,
    Curve,
    Environment,
    FactResult,
    FunctionMarks,
    IsolationRecord,
    Result,
    Submission,
    SubmittedFile,
    Suite,
)
from harness.sandbox.intake import Taken, shadowed
from harness.sandbox.probe import Isolation, Level
from harness.verdict import Evidence, Outcome, Verdict


class Answers(NamedTuple):
    """What came of asking. verdicts, drawn: by the ids of facts and curves. message: what is wrong with the grader."""

    verdicts: Mapping[str, Verdict]
    drawn: Mapping[str, Curve] = {}
    isolation: Isolation | None = None
    message: str = ""
    seconds: float = 0.0

    @property
    def by_load(self) -> bool:
        """Whether a fact ran out of time for what may be the machine's fault."""
        return any(verdict.by_load for verdict in self.verdicts.values())


class Progress(Protocol):
    """Is told the outcome of each fact as it comes."""

    def __call__(self, fact: Fact, outcome: Outcome, /) -> None: ...


class Ask(Protocol):
    """A way of asking the submission of a plan some of its facts, and then curves; `alone`, one after the other."""

    def __call__(
        self, plan: Plan, facts: Sequence[Fact], curve_ids: Sequence[str], alone: bool, progress: Progress | None, /
    ) -> Answers: ...


def grade(plan: Plan, ask: Ask, progress: Progress | None = None) -> Result:
    """Ask the submission every fact of the plan; none, and it has no points, if nothing of it could be read."""
    return nothing_read(plan) if plan.unreadable else record(plan, asked(plan, ask, progress))


def nothing_read(plan: Plan) -> Result:
    """The record of a submission of which nothing could be read."""
    nothing = record(plan, Answers({}, message=plan.unreadable))
    functions = [msgspec.structs.replace(row, score=0.0) for row in nothing.functions]
    return msgspec.structs.replace(nothing, readable=False, complete=True, score=0.0, functions=functions, facts=[])


def asked(plan: Plan, ask: Ask, progress: Progress | None = None) -> Answers:
    """Ask every fact; those that ran out of time by the wall clock once more, alone."""
    started = time.perf_counter()
    request = plan.request
    wanted = curves.ids(request.suite, plan.points) if request.draw and not request.debug else []
    answers = ask(plan, plan.facts, wanted, False, progress)
    if answers.by_load:
        slowed = [fact for fact in plan.facts if fact.id in answers.verdicts and answers.verdicts[fact.id].by_load]
        again = ask(plan, slowed, [], True, progress)
        verdicts = {**answers.verdicts, **again.verdicts}
        isolation, message = again.isolation or answers.isolation, again.message or answers.message
        answers = answers._replace(verdicts=verdicts, isolation=isolation, message=message)
    drawn = {curve_id: answers.drawn[curve_id] for curve_id in wanted if curve_id in answers.drawn}
    return answers._replace(drawn=drawn, seconds=time.perf_counter() - started)


def record(plan: Plan, answers: Answers) -> Result:
    """Join the manifest with the verdicts: a fact without one is LOST, never passed."""
    lost = Verdict(Outcome.LOST, Evidence("the grader lost this fact: grade again"))
    joined = {fact.id: answers.verdicts.get(fact.id, lost) for fact in plan.facts}
    request, known = plan.request, plan.known
    whole = not {fact.name for fact in plan.facts} & set(request.only)
    named = feedback.named(known.fingerprints, known.probes, plan.facts, joined, whole)
    told = feedback.told(named, plan.facts, joined)
    if not request.reference.is_dir():  # nothing was lent
        joined = feedback.folded(joined, plan.facts, plan.submission.sources, named)
    outcomes = {fact_id: verdict.outcome for fact_id, verdict in joined.items()}
    complete = not {Outcome.ERROR, Outcome.LOST} & set(outcomes.values())
    exact = marks(plan.facts, outcomes, plan.points)
    score, max_score = rounded(exact.score), rounded(exact.max_score)
    isolation = answers.isolation or Isolation(Level.NONE, [])
    return Result(
        schema=SCHEMA,
        submission=_submission(plan.submission, known.given),
        suite=Suite(known.digest, len(known.facts), list(request.only)),
        environment=environment(request.reseed),
        complete=complete,
        score=round(sum(score.values()), 2) if complete else None,
        max_score=round(sum(max_score.values()), 2),
        isolation=IsolationRecord(str(isolation.level), isolation.leaks),
        functions=[
            FunctionMarks(known.owners[name], name, score[name] if complete else None, max_score[name])
            for name in score
        ],
        facts=[_fact_result(fact, joined[fact.id], told.get(fact.id)) for fact in plan.facts],
        seconds=round(answers.seconds, 3),
        message=answers.message,
        curves=list(answers.drawn.values()),
    )


def environment(reseed: int) -> Environment:
    """Where this process grades."""
    return Environment(platform.python_version(), version("torch"), version("numpy"), platform.platform(), reseed)


def _submission(taken: Taken, given: Collection[str]) -> Submission:
    """The files that were taken, and those that were not, with the reasons."""
    own = {name: data for name, data in taken.sources.items() if name not in given}
    unused = {f"{name}.py": "never imported: a library has this name" for name in shadowed(own)}
    files = [
        SubmittedFile(f"{name}.py", hashlib.sha256(data).hexdigest(), unused.get(f"{name}.py"))
        for name, data in sorted(own.items())
    ]
    files += [SubmittedFile(name, "", reason) for name, reason in sorted(taken.left_out.items())]
    return Submission(taken.name, taken.digest(), files)


def _fact_result(fact: Fact, verdict: Verdict, mistake: str | None) -> FactResult:
    return FactResult(
        id=fact.id,
        module=fact.module,
        function=fact.function,
        title=fact.title,
        formula=fact.formula,
        source=fact.source,
        weight=fact.weight,
        defines=fact.defines,
        outcome=verdict.outcome,
        evidence=verdict.evidence,
        mistake=mistake,
        hint=fact.hint,
        replay=f"nox -s grade -- --only {fact.name}\n\n{verdict.replay}".rstrip(),
        lent=verdict.lent,
        output=verdict.output if verdict.outcome is not Outcome.PASSED else "",  # 64 kB each, for 200 facts
        seconds=round(verdict.seconds, 4),
    )
