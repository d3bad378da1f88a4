"""Every case of a course, and what falls short: the reference, its stubs, the mistakes and the right answers."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from harness import facts as suite_facts
from harness.local import sources_of
from harness.source import is_stub
from harness.validation.cases import Case, Course, Failure, ask
from harness.variants import Variant, bank

FALSE_ALARMS = 1e-6
"""What the declared rates of a whole suite may add up to."""


class Proof(NamedTuple):
    """Everything that was found. Each list is empty when all is well."""

    facts: dict[str, int]
    killed: dict[str, tuple[int, int]]
    unharmed: dict[str, tuple[int, int]]
    reference_fails: list[str]
    stubs_written: list[str]
    survivors: list[Variant]
    harmed: list[tuple[Variant, list[Failure]]]
    false_alarms: float

    @property
    def holds(self) -> bool:
        """Whether nothing falls short."""
        faults = (self.reference_fails, self.stubs_written, self.survivors, self.harmed)
        return not any(faults) and self.false_alarms <= FALSE_ALARMS


def prove(
    course: Course, only: Sequence[str] = (), progress: Callable[[int, int], None] = lambda done, total: None
) -> Proof:
    """Ask every case; `only` chooses functions or modules. `progress` is told how many cases are done, of how many."""
    facts = suite_facts.manifest(course.suite)
    functions = list(dict.fromkeys(f.function for f in facts if not only or {f.function, f.module} & set(only)))
    mistakes, answers = (
        {variant.identifier: variant for variant in bank(folder) if variant.function in functions}
        for folder in (course.mistakes, course.right_answers)
    )
    cases = [Case("reference", function) for function in functions]
    cases += [Case("mistake", v.function, name, until_killed=True) for name, v in mistakes.items()]
    cases += [Case("right", v.function, name) for name, v in answers.items()]
    found = {(finding.case.kind, finding.case.name or finding.case.function): finding
             for finding in ask(course, cases, progress)}  # fmt: skip
    dead = [variant for name, variant in mistakes.items() if found["mistake", name].failed]
    alive = [variant for name, variant in answers.items() if not found["right", name].failed]
    stubs = sources_of(course.stubs)
    owners = {fact.function: fact.module for fact in facts}
    return Proof(
        facts={function: sum(fact.function == function for fact in facts) for function in functions},
        killed={function: _share(function, dead, mistakes.values()) for function in functions},
        unharmed={function: _share(function, alive, answers.values()) for function in functions},
        reference_fails=[failed.fact for function in functions for failed in found["reference", function].failed],
        stubs_written=[function for function in functions if not is_stub(stubs.get(owners[function], b""), function)],
        survivors=[variant for variant in mistakes.values() if variant not in dead],
        harmed=[(v, found["right", name].failed) for name, v in answers.items() if found["right", name].failed],
        false_alarms=sum(fact.false_alarm for fact in facts),
    )


def _share(function: str, some: Iterable[Variant], every: Iterable[Variant]) -> tuple[int, int]:
    return sum(v.function == function for v in some), sum(v.function == function for v in every)
