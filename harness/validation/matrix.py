"""The kill matrix: the facts about each function against its mistakes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from harness.facts import Fact
from harness.validation.cases import Finding
from harness.verdict import Outcome

KILLED, LATE, HELD, UNASKED = "x", "t", ".", "?"
"""The fact failed; the answer took too long; the fact held; the fact was not asked."""

Rows = dict[str, str]
"""By the identifier of a mistake, a character for each fact about its function, in file order."""


class Block(msgspec.Struct, frozen=True):
    """The matrix of one function: the names of its facts, and the rows of its mistakes."""

    facts: list[str]
    rows: Rows

    def killers(self, mistake: str) -> list[str]:
        """The facts that a mistake does not hold, as far as they were asked."""
        return [fact for fact, mark in zip(self.facts, self.rows[mistake], strict=True) if mark in (KILLED, LATE)]

    def kills(self) -> Counter[str]:
        """How many mistakes each fact kills."""
        return Counter(fact for mistake in self.rows for fact in self.killers(mistake))

    def alone(self) -> Counter[str]:
        """How many mistakes each fact is the only one to kill."""
        only = (self.killers(mistake) for mistake in self.rows)
        return Counter(killers[0] for killers in only if len(killers) == 1)

    @property
    def complete(self) -> bool:
        """Whether every fact was asked of every mistake, but for those that took too long."""
        return all(UNASKED not in row or LATE in row for row in self.rows.values())

    def idle(self) -> list[str]:
        """The facts that were asked of every mistake which might tell, and killed none."""
        kills = self.kills()
        undecided = {
            fact for row in self.rows.values() for fact, mark in zip(self.facts, row, strict=True) if mark == UNASKED
        }
        return [fact for fact in self.facts if not kills[fact] and fact not in undecided]


Matrix = dict[str, Block]
"""By function."""


def matrix(facts: Sequence[Fact], functions: Iterable[str], findings: Iterable[Finding]) -> Matrix:
    """The matrix of what was found of mistakes."""
    blocks = {name: Block([fact.name for fact in facts if fact.function == name], {}) for name in functions}
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for finding in findings:  # of one mistake there may be several
        marks = seen.setdefault((finding.case.function, finding.case.name), {})
        marks.update({fact: marks.get(fact, HELD) for fact in finding.asked})
        marks |= {f.fact: LATE if f.outcome == Outcome.TIMEOUT else KILLED for f in finding.failed}
    for (function, mistake), marks in seen.items():
        block = blocks[function]
        block.rows[mistake] = "".join(marks.get(fact, UNASKED) for fact in block.facts)
    return blocks


def completed(fresh: Matrix, recorded: Mapping[str, Block]) -> Matrix:
    """What was not asked now, as it was recorded of the same mistake and the same facts."""
    return {function: _completed(block, recorded.get(function)) for function, block in fresh.items()}


def _completed(block: Block, recorded: Block | None) -> Block:
    if recorded is None or recorded.facts != block.facts:
        return block
    rows = {
        mistake: "".join(
            old if new == UNASKED else new for new, old in zip(row, recorded.rows.get(mistake, row), strict=True)
        )
        for mistake, row in block.rows.items()
    }
    return Block(block.facts, rows)
