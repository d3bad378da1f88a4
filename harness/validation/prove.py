"""The run: every case of a course in one pool of workers; with `deep`, what takes an hour as well."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path

import msgspec
import numpy as np

from harness import facts as suite_facts
from harness.facts import Fact
from harness.local import sources_of
from harness.marks import read_points
from harness.validation import record as records
from harness.validation.calibration import Asker, Calibration, Derivation, calibrate
from harness.validation.cases import Case, Course, Memory, ask
from harness.validation.drift import drift
from harness.validation.kept import Kept
from harness.validation.matrix import completed, matrix
from harness.validation.mutants import mutants_of, read_equivalents, survey
from harness.validation.peers import Comparison, compare
from harness.validation.plan import Plan
from harness.validation.proof import Proof
from harness.validation.record import Mutants, Record, SeedGroup, Seeds, Survivor
from harness.validation.rubbish import earned, written
from harness.variants import Variant, bank

DEEP_SEEDS = 200
"""At how many other seeds the statistical facts are asked."""

Progress = Callable[[str, int, int], None]


def _silent(stage: str, done: int, total: int) -> None:
    """No progress is shown."""


def prove(course: Course, only: Sequence[str] = (), progress: Progress = _silent) -> Proof:
    """Ask every case; `only` chooses functions or modules. `progress` is told a stage, what is done, and of what."""
    return _proof(course, only, progress)


def prove_deep(course: Course, kept: Path, progress: Progress = _silent) -> tuple[Proof, Record]:
    """The same with every fact asked of every mistake, every mutant and many seeds; and the record of it.

    kept: a file of findings; the next run does not ask again what is in it and still true.
    """
    memory = Kept(kept, course)
    started, proof = time.perf_counter(), _proof(course, (), progress, memory)
    mutants = _mutants(course, proof.every_fact, progress, memory)
    seeds = _seeds(course, proof.every_fact, list(proof.answers.values()), progress, memory)
    calibration, derivations = _calibration(course, proof.every_fact, progress)
    fresh = Record(
        date=date.today().isoformat(),
        digest=records.digest(course),
        mutants=mutants,
        seeds=seeds,
        calibration=calibration,
        derivations=derivations,
        seconds=round(time.perf_counter() - started),
        environment=records.environment(),
        matrix=proof.matrix,
    )
    return proof._replace(record=fresh, fits=True, needs_record=True, seconds=time.perf_counter() - started), fresh


def _proof(course: Course, only: Sequence[str], progress: Progress, memory: Memory | None = None) -> Proof:
    deep, started = memory is not None, time.perf_counter()
    checks = suite_facts.load(course.suite)
    every_fact = [suite_facts.describe(fact_id, check) for fact_id, check in checks.items()]
    points = read_points(course.suite / "points.toml", every_fact)
    every_fact.sort(key=lambda fact: list(points).index(fact.function))  # the order of the lecture, as in reports
    facts = [fact for fact in every_fact if not only or {fact.function, fact.module} & set(only)]
    functions = list(dict.fromkeys(fact.function for fact in facts))
    mistakes, answers = ({v.identifier: v for v in bank(folder) if v.function in functions}
                         for folder in (course.mistakes, course.right_answers))  # fmt: skip
    record = records.read(course.record) if course.record else None
    fits = record is not None and record.digest == records.digest(course)
    recorded = record.matrix if record else {}
    plan = Plan(facts, checks, mistakes, answers, sources_of(course.stubs), recorded, deep)
    told = _telling(progress, "asking")
    findings = list(ask(course, plan.cases, told, plan.further, memory))
    findings.sort(key=lambda finding: list(points).index(finding.case.function))
    of_mistakes = [finding for finding in findings if finding.case.kind == "mistake"]
    seen = matrix(facts, functions, of_mistakes)
    return Proof(
        facts=facts,
        mistakes=mistakes,
        answers=answers,
        matrix=completed(seen, recorded) if fits and not deep else seen,
        errors=[f for f in findings if f.case.kind not in ("reference", "right", "lending")],
        held=[f for f in findings if f.case.kind in ("reference", "right", "lending")],
        stubs_written=written(findings),
        earned=earned(facts, points, findings),
        every_fact=every_fact,
        comparisons=_compared(course, every_fact, functions),
        drift=[str(disagreement) for disagreement in drift(course.suite, course.reference, every_fact)],
        equivalents=read_equivalents(course.equivalents) if course.equivalents else [],
        needs_record=course.record is not None and not only,
        record=record,
        fits=fits,
        only=tuple(only),
        seconds=time.perf_counter() - started,
    )


def _compared(course: Course, facts: Iterable[Fact], functions: Sequence[str]) -> list[Comparison]:
    """The reference against other people's libraries."""
    if course.peers is None:
        return []
    owners = {fact.function: fact.module for fact in facts}
    return compare(course.peers, sources_of(course.reference), owners, functions)


# ---- deep ----


def _mutants(course: Course, facts: Iterable[Fact], progress: Progress, memory: Memory) -> Mutants:
    """Every machine mutant of the reference, until a fact kills it."""
    graded: dict[str, list[str]] = {}
    for fact in facts:
        if fact.function not in graded.setdefault(fact.module, []):
            graded[fact.module].append(fact.function)
    mutants = mutants_of(course.reference, graded)
    found = survey(course, mutants, [], _telling(progress, "mutants"), memory)
    return Mutants(
        killed=Counter(mutant.function for mutant in found.killed),
        total=Counter(mutant.function for mutant in mutants),
        survivors=[Survivor(m.module, m.function, m.text, m.change) for m in found.survivors],
    )


def _seeds(
    course: Course, facts: Sequence[Fact], answers: Sequence[Variant], progress: Progress, memory: Memory
) -> Seeds:
    """The statistical facts at many other seeds: of the reference, and of one right answer after the other."""
    statistical = [fact for fact in facts if fact.false_alarm]
    groups = [
        _reseeded("the reference", DEEP_SEEDS, statistical, ()),
        _reseeded("right answers in turn", DEEP_SEEDS, statistical, answers),
    ]
    cases = [case for _, of_group in groups for case in of_group]
    found = {finding.case: finding for finding in ask(course, cases, _telling(progress, "seeds"), memory=memory)}
    failures = [
        f"{case.kind} {case.function} {case.name} does not hold {failure.fact} at reseed {case.reseed}"
        for case in cases
        for failure in found[case].failed
    ]
    return Seeds(
        [
            msgspec.structs.replace(group, verdicts=sum(len(found[case].asked) for case in of_group))
            for group, of_group in groups
        ],
        failures,
    )


def _reseeded(who: str, seeds: int, facts: Sequence[Fact], answers: Sequence[Variant]) -> tuple[SeedGroup, list[Case]]:
    """The cases of a group: at each seed, the facts asked of one of the answers to their function, or the reference."""
    names: dict[str, tuple[str, ...]] = {}
    for fact in facts:
        names[fact.function] = (*names.get(fact.function, ()), fact.name)
    own = {function: [v.identifier for v in answers if v.function == function] for function in names}
    cases = [
        Case("right", function, own[function][seed % len(own[function])], facts=asked, reseed=seed)
        if answers
        else Case("reference", function, facts=asked, reseed=seed)
        for seed in range(1, seeds + 1)
        for function, asked in names.items()
        if own[function] or not answers
    ]
    return SeedGroup(who, seeds, len(facts), len({(case.function, case.name) for case in cases}), 0), cases


def _calibration(
    course: Course, facts: Sequence[Fact], progress: Progress
) -> tuple[list[Calibration], list[Derivation]]:
    """Every statistical design against samples of its own law and of wrong ones; every rate that rests on none."""
    if course.derivations is None:
        return [], []
    asker = Asker(facts, suite_facts.load(course.suite), sources_of(course.reference))
    drawing = [fact for fact in facts if fact.false_alarm]
    found: list[Calibration | Derivation] = []
    for one in calibrate(drawing, course.derivations, asker):
        found.append(one)
        progress("calibration", [fact.name for fact in drawing].index(one.fact) + 1, len(drawing))
    designs = [one for one in found if isinstance(one, Calibration)]
    # JSON knows no NaN, which stands where no chance was found; nor NumPy's numbers.
    rates = [
        one._replace(chance=float(np.nan_to_num(one.chance, nan=1.0))) for one in found if isinstance(one, Derivation)
    ]
    return designs, rates


def _telling(progress: Progress, stage: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(stage, done, total)
