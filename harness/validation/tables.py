"""What the terminal and the page show of a proof, as rows."""

from typing import NamedTuple

import msgspec

from harness.validation.proof import Proof
from harness.validation.record import SeedGroup
from harness.variants import Variant


class Share(NamedTuple):
    """So many of so many."""

    some: int
    of: int

    def __str__(self) -> str:
        return f"{self.some} of {self.of}" if self.of else "–"


class FunctionRow(NamedTuple):
    """One function: its facts, the mistakes that die, the right answers that live, the mutants that die."""

    module: str
    function: str
    facts: int
    mistakes: Share
    answers: Share
    mutants: Share


class FactRow(NamedTuple):
    """One fact: how many mistakes it kills, and how many no other fact kills; None if not every fact was asked."""

    name: str
    function: str
    defines: bool
    kills: int
    alone: int | None


class MistakeRow(NamedTuple):
    """One mistake, and the facts that kill it; `asked` says whether all were asked."""

    variant: Variant
    killers: list[str]
    asked: bool


def function_rows(proof: Proof) -> list[FunctionRow]:
    """A row for each function that was asked about."""
    owners = {fact.function: fact.module for fact in proof.facts}
    survivors, harmed = {v.identifier for v in proof.survivors}, {v.identifier for v in proof.harmed}
    rows = []
    for function, block in proof.matrix.items():
        answers = [name for name, variant in proof.answers.items() if variant.function == function]
        rows.append(
            FunctionRow(
                owners[function],
                function,
                len(block.facts),
                Share(len(block.rows.keys() - survivors), len(block.rows)),
                Share(len(set(answers) - harmed), len(answers)),
                _mutants(proof, function),
            )
        )
    return rows


def fact_rows(proof: Proof) -> list[FactRow]:
    """A row for each fact that was asked."""
    rows = []
    for fact in proof.facts:
        block = proof.matrix[fact.function]
        alone = block.alone()[fact.name] if block.complete else None
        rows.append(FactRow(fact.name, fact.function, fact.defines, block.kills()[fact.name], alone))
    return rows


def prunable(proof: Proof) -> list[FactRow] | None:
    """The facts that are never the only one to kill a mistake: any one may go, and every mistake dies.

    None if not every fact was asked of every mistake.
    """
    if not all(block.complete for block in proof.matrix.values()):
        return None
    return [row for row in fact_rows(proof) if not row.alone]


def mistake_rows(proof: Proof) -> dict[str, list[MistakeRow]]:
    """The mistakes of each function, in the order of the bank."""
    return {
        function: [
            MistakeRow(v, block.killers(name), block.complete)
            for name, v in proof.mistakes.items()
            if name in block.rows
        ]
        for function, block in proof.matrix.items()
    }


def false_alarms(proof: Proof) -> dict[str, list[tuple[str, float]]]:
    """The declared rates that are not 0, by function, of the whole suite: (fact, rate)."""
    rates: dict[str, list[tuple[str, float]]] = {}
    for fact in proof.every_fact:
        if fact.false_alarm:
            rates.setdefault(fact.function, []).append((fact.name, fact.false_alarm))
    return rates


def seeds(proof: Proof) -> list[SeedGroup]:
    """Who was asked at other seeds than the usual one: now, and in the deep run."""
    now = [finding for finding in proof.held if finding.case.reseed]
    facts = {fact for finding in now for fact in finding.asked}
    verdicts = sum(len(finding.asked) for finding in now)
    rows = [
        SeedGroup("the reference, now", len({f.case.reseed for f in now}), len(facts), len(proof.functions), verdicts)
    ]
    if proof.record and not proof.only:
        rows += [msgspec.structs.replace(group, who=f"{group.who}, deep run") for group in proof.record.seeds.groups]
    return rows


def lent_pairs(proof: Proof) -> list[tuple[str, str, int]]:
    """Which functions' facts call which other function, and how many of them: (function, other, facts)."""
    found = [finding for finding in proof.held if finding.case.kind == "lending"]
    return [(finding.case.function, finding.case.poisoned, len(finding.asked)) for finding in found]


def _mutants(proof: Proof, function: str) -> Share:
    """Of the mutants in the function itself, without those that are listed as equivalent."""
    if proof.record is None or not proof.fits:
        return Share(0, 0)
    tally = proof.record.mutants
    listed = sum(mutant.function == function for mutant in tally.survivors) - sum(
        mutant.function == function for mutant in proof.unlisted
    )
    return Share(tally.killed.get(function, 0), tally.total.get(function, 0) - listed)
