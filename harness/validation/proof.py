"""What was found of a course, and what of it falls short: one sentence each, which names it."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import msgspec

from harness.facts import Fact
from harness.validation.cases import Case, Failure, Finding
from harness.validation.matrix import Matrix
from harness.validation.mutants import Equivalent
from harness.validation.peers import Comparison
from harness.validation.record import Record, Survivor
from harness.validation.rubbish import Earned
from harness.variants import Variant
from harness.verdict import Outcome

FALSE_ALARMS = Fraction(1, 10**6)
"""What the declared rates of a whole suite may add up to."""

KILLED_OF_100 = 99
"""Mutants that the facts must kill, of a hundred that some fact can kill."""

STALE = (
    "facts, answers, reference or versions have changed since the deep run: `nox -s validate -- --deep` makes another"
)


class Proof(NamedTuple):
    """Everything that was found.

    facts: those that were asked, in file order. mistakes, answers: the banks, by identifier. matrix: facts against
    mistakes. held: what came of those that hold every fact, the reference at every seed among them. stubs_written: the
    facts that stubs do not leave to do. earned: what rubbish earned. every_fact: the whole suite, whatever was asked.
    drift: what disagrees between docstrings and facts. record: of the last deep run, if there is one that is needed;
    fits: whether it is true of this course. equivalents: the mutants that no fact can kill. only: the names that were
    chosen; a part of a course needs no record.
    """

    facts: list[Fact]
    mistakes: dict[str, Variant]
    answers: dict[str, Variant]
    matrix: Matrix
    errors: list[Finding]
    held: list[Finding]
    stubs_written: list[str]
    earned: list[Earned]
    every_fact: list[Fact]
    comparisons: list[Comparison]
    drift: list[str]
    equivalents: list[Equivalent]
    needs_record: bool
    record: Record | None = None
    fits: bool = False
    only: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def functions(self) -> list[str]:
        """The functions that were asked about."""
        return list(self.matrix)

    @property
    def survivors(self) -> list[Variant]:
        """The mistakes that no fact kills."""
        return [self.mistakes[name] for block in self.matrix.values() for name in block.rows if not block.killers(name)]

    @property
    def harmed(self) -> list[Variant]:
        """The right answers that do not hold a fact."""
        failed = {finding.case.name for finding in self.held if finding.case.kind == "right" and finding.failed}
        return [self.answers[name] for name in self.answers if name in failed]

    @property
    def false_alarms(self) -> Fraction:
        """The chance that a right answer to everything loses marks in a run, at most."""
        return sum((Fraction(fact.false_alarm) for fact in self.every_fact), Fraction(0))

    @property
    def holds(self) -> bool:
        """Whether nothing falls short."""
        return not self.falls_short

    @property
    def falls_short(self) -> list[str]:
        """A sentence for each thing that is not as it should be."""
        return [*self._of_the_course(), *self._of_the_suite(), *self._of_the_record()]

    def _of_the_course(self) -> Iterator[str]:
        for finding in self.held:
            yield from (f"{_described(finding.case, self.answers)} {_fails(failure)}" for failure in finding.failed)
        yield from (f"a stub does not leave {name} to do" for name in self.stubs_written)
        for variant in self.survivors:
            yield f"no fact kills the mistake {variant.identifier} of {variant.function}: {variant.says}"
        for finding in self.errors:
            stumbled = [failure for failure in finding.failed if failure.outcome == Outcome.ERROR]
            yield from (f"{failure.fact} stumbles over {finding.case.name}: {failure.message}" for failure in stumbled)
        for earned in self.earned:
            if earned.held:
                yield f"a submission of {earned.kind} holds {', '.join(earned.held)}"

    def _of_the_suite(self) -> Iterator[str]:
        for block in self.matrix.values():
            yield from (
                f"{name} kills no mistake: write the mistake that it is for, or delete it" for name in block.idle()
            )
        if self.false_alarms > FALSE_ALARMS:
            yield (
                f"the false-alarm rates of all facts add up to {float(self.false_alarms):.2g}; "
                f"{float(FALSE_ALARMS):.0e} is allowed"
            )
        for c in self.comparisons:
            if not c.holds:
                apart = c.problem or f"differs by {c.largest:.1e}, {c.allowed:.0e} is allowed"
                yield f"{c.function} against {c.library} ({c.title}): {apart}"
        yield from self.drift

    def _of_the_record(self) -> Iterator[str]:
        if not self.needs_record:
            return
        if self.record is None:
            yield "there is no record of a deep run: `nox -s validate -- --deep` makes it"
            return
        if not self.fits:
            yield STALE
        killed, total = self.mutants_killed
        if killed * 100 < total * KILLED_OF_100:
            yield f"only {killed} of {total} mutants are killed; {KILLED_OF_100} in 100 should be"
        for mutant in self.unlisted:
            yield (
                f"no fact kills the mutant of {mutant.module}.{mutant.function}, `{mutant.line}`: {mutant.change}; "
                "nor is it listed as equivalent"
            )
        survived = {msgspec.structs.astuple(mutant) for mutant in self.record.mutants.survivors}
        for entry in self.equivalents:
            if self.fits and entry[:4] not in survived:
                yield f"listed as equivalent, but killed or no mutant: {entry.module}.{entry.function}, `{entry.line}`"
        yield from self.record.seeds.failures
        for design in self.record.calibration:
            if not design.holds:
                yield (
                    f"{design.fact}, {design.design}: {design.false_alarms} false alarms and {list(design.missed)} "
                    f"missed in {design.trials} samples are more than its rates allow"
                )
        for rate in self.record.derivations:
            if not rate.holds:
                yield f"{rate.fact}: {rate.problem or f'a false-alarm rate of {rate.chance:.1e}'}"

    @property
    def mutants_killed(self) -> tuple[int, int]:
        """How many mutants were killed, of how many that some fact can kill."""
        if self.record is None:
            return 0, 0
        killed, total = (sum(tally.values()) for tally in (self.record.mutants.killed, self.record.mutants.total))
        return killed, total - (len(self.record.mutants.survivors) - len(self.unlisted))

    @property
    def unlisted(self) -> list[Survivor]:
        """The mutants that survived and are not listed as equivalent."""
        survivors = self.record.mutants.survivors if self.record else []
        return [mutant for mutant in survivors if self.reason(mutant) is None]

    def reason(self, mutant: Survivor) -> str | None:
        """Why no fact can kill a mutant; None if nobody says."""
        place = msgspec.structs.astuple(mutant)
        reasons = (e.reason for e in self.equivalents if (e.module, e.function, e.line, e.change) == place)
        return next(reasons, None)


def _described(case: Case, answers: dict[str, Variant]) -> str:
    seed = f" at reseed {case.reseed}" if case.reseed else ""
    match case.kind:
        case "right":
            return f"the right answer {case.name} of {case.function} ({answers[case.name].says}){seed}"
        case "lending":
            return f"{case.function}, where {case.poisoned} raises and helpers are lent,"
        case _:
            return f"the reference's {case.function}{seed}"


def _fails(failure: Failure) -> str:
    return f"does not hold {failure.fact} ({failure.outcome}): {failure.message}"
