"""What a run asks: the cases of a course, and those that findings give rise to."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.facts import Check, Fact
from harness.validation.cases import Case, Finding, is_dear
from harness.validation.matrix import Matrix
from harness.validation.rubbish import rubbish_cases, stub_cases
from harness.variants import Variant

SEEDS = 5
"""At how many other seeds the reference holds the facts that draw."""


class Plan:
    """The cases of one run.

    facts: those to ask. Each mistake is asked until one kills it, and each fact of mistakes until it kills one: first
    of those that it killed in the deep run, whose kill matrix is `recorded`. A `deep` run asks every fact of every
    mistake instead.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        checks: Mapping[str, Check],
        mistakes: Mapping[str, Variant],
        answers: Mapping[str, Variant],
        stubs: Mapping[str, bytes],
        recorded: Matrix,
        deep: bool,
    ) -> None:
        self._candidates = {fact.name: _candidates(fact, mistakes.values(), recorded) for fact in facts}
        functions = dict.fromkeys(fact.function for fact in facts)
        cases = [Case("reference", function, noting=True) for function in functions]
        cases += _reseeded(facts, checks)
        cases += [Case("right", v.function, name) for name, v in answers.items()]
        cases += [Case("mistake", v.function, name, until_killed=not deep) for name, v in mistakes.items()]
        if not deep:
            cases += [case for fact in facts for case in self._witness(fact.function, fact.name)]
        cases += [*rubbish_cases(facts), *stub_cases(facts, stubs)]
        dear = {fact.function for fact in facts if is_dear(fact)}
        self.cases = _mixed([case for case in cases if case.function in dear],
                            [case for case in cases if case.function not in dear])  # fmt: skip

    def further(self, finding: Finding) -> list[Case]:
        """The cases that a finding gives rise to.

        After a fact that did not kill a mistake: the same of the next. After the reference: where the facts about its
        function call other graded functions, the same facts when each of these raises. With lent helpers they hold all
        the same. Then no line of the poisoned function has run, so no mistake in it can cost the other function a mark:
        shown once for each pair of functions, instead of once for each mistake.
        """
        case = finding.case
        if case.kind == "mistake" and case.facts and not finding.failed:
            return self._witness(case.function, case.facts[0])
        others = dict.fromkeys(name for called in finding.called.values() for name in called)
        asking = {other: tuple(fact for fact, called in finding.called.items() if other in called) for other in others}
        return [Case("lending", case.function, other, facts=names, poisoned=other) for other, names in asking.items()]

    def _witness(self, function: str, fact: str) -> list[Case]:
        """The next mistake that the fact may kill: first those that it killed in the deep run."""
        name = next(self._candidates[fact], None)
        return [Case("mistake", function, name, facts=(fact,))] if name is not None else []


def _mixed(dear: Sequence[Case], cheap: Sequence[Case]) -> list[Case]:
    """What takes long is spread over the first half: no core waits at the end, and what is left can be estimated."""
    places = [(place / len(dear) / 2, case) for place, case in enumerate(dear)]
    places += [(place / len(cheap), case) for place, case in enumerate(cheap)]
    return [case for _, case in sorted(places, key=lambda placed: placed[0])]


def _candidates(fact: Fact, mistakes: Iterable[Variant], recorded: Matrix) -> Iterator[str]:
    """The mistakes of a fact's function, in the order in which it may kill one."""
    names = [variant.identifier for variant in mistakes if variant.function == fact.function]
    block = recorded.get(fact.function)
    killed = {name for name in block.rows if fact.name in block.killers(name)} if block else set()
    return iter(sorted(names, key=lambda name: name not in killed))


def _reseeded(facts: Iterable[Fact], checks: Mapping[str, Check]) -> list[Case]:
    """The reference at other seeds: the facts that draw, at random or through Hypothesis, if they are cheap."""
    drawing: dict[str, list[str]] = {}
    for fact in facts:
        check = checks[fact.id]
        if ("seed" in inspect.signature(check).parameters or hasattr(check, "hypothesis")) and not is_dear(fact):
            drawing.setdefault(fact.function, []).append(fact.name)
    return [
        Case("reference", function, f"reseed {n}", facts=tuple(names), reseed=n)
        for function, names in drawing.items()
        for n in range(1, SEEDS + 1)
    ]
