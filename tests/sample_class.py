"""A made-up class, to make a page of: everybody of whom a real one has some, with the facts of the suite."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np

from harness import facts as suite_facts
from harness import fingerprints
from harness.cohort.tally import PERHAPS, Entry
from harness.facts import Fact
from harness.marks import marks, read_points, rounded
from harness.result import FactResult, FunctionMarks, Result, SubmittedFile
from harness.verdict import Evidence, Outcome
from tests import sample_results

SUITE = Path(__file__).parent.parent / "checks"
HOSTILE = (
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
    "&amp;\u202e\udcff{{ 7 * 7 }}"
)
"""What a submission may be called, or a fault may say."""


class Suite:
    """The facts of a suite, their points, and names of mistakes."""

    def __init__(self, folder: Path = SUITE) -> None:
        every = suite_facts.manifest(folder)
        self.points: dict[str, Fraction] = read_points(folder / "points.toml", every)
        self.facts: list[Fact] = sorted(every, key=lambda fact: list(self.points).index(fact.function))
        self.owners = {fact.function: fact.module for fact in every}
        prints = fingerprints.read(folder).functions
        self.mistakes = {name: [mistake.says for mistake in prints[name].mistakes] for name in self.points}

    def result(self, outcomes: Mapping[str, Outcome], mistakes: Mapping[str, str], times: Sequence[float]) -> Result:
        """The record of these outcomes, by ids of facts. mistakes: by function."""
        exact = marks(self.facts, outcomes, self.points)
        score, most = rounded(exact.score), rounded(exact.max_score)
        asked = [
            _fact(fact, outcomes[fact.id], mistakes.get(fact.function), seconds)
            for fact, seconds in zip(self.facts, times, strict=True)
        ]
        return msgspec.structs.replace(
            sample_results.whole(),
            functions=[FunctionMarks(self.owners[name], name, score[name], most[name]) for name in self.points],
            facts=asked,
            score=round(sum(score.values()), 2),
            max_score=round(sum(most.values()), 2),
            seconds=round(sum(times), 3),
            submission=msgspec.structs.replace(
                sample_results.whole().submission,
                files=[SubmittedFile(f"{name}.py", "s") for name in dict.fromkeys(self.owners.values())],
            ),
        )


def _fact(fact: Fact, outcome: Outcome, mistake: str | None, seconds: float) -> FactResult:
    return msgspec.structs.replace(
        sample_results.fact("x", Outcome.PASSED),
        id=fact.id, module=fact.module, function=fact.function, title=fact.title, outcome=outcome, weight=fact.weight,
        defines=fact.defines, mistake=mistake if outcome is Outcome.FAILED else None, seconds=seconds,
        evidence=Evidence() if outcome is Outcome.PASSED else Evidence("the values differ"),
    )  # fmt: skip


def made_up(size: int, seed: int = 0) -> Iterator[Entry]:
    """A class of `size`: abler and less able, who answer all, some or nothing; some who cannot be graded, or read;
    pairs who hand in one program, many who do `sigmoid` alone; names and faults that mean harm."""
    suite, rng = Suite(), np.random.default_rng(seed)
    hardness = {name: rng.normal(0.0, 0.7) + 1.2 * place / len(suite.points) for place, name in enumerate(suite.points)}
    own = {fact.id: rng.normal(-1.8, 0.9) for fact in suite.facts}
    often = {name: rng.dirichlet(np.full(len(says), 0.15)) for name, says in suite.mistakes.items()}
    before: Entry | None = None
    for number in range(size):
        label = f"{_syllables(rng)}-{_syllables(rng)}{number}"
        kind = rng.random()
        if number == 3:
            label = HOSTILE
        ability = rng.normal(0.8, 1.0)
        endurance = (
            len(suite.points)
            if ability > 0 or rng.random() < 0.4
            else min(1 + int(rng.gamma(2.0, 5.0)), len(suite.points))
        )
        if number != 3 and kind < 0.05:
            endurance = 0
        outcomes, mistakes = {}, {}
        for place, name in enumerate(suite.points):
            theta = ability - 0.9 - hardness[name] + rng.normal(0.0, 0.8)
            facts = [fact for fact in suite.facts if fact.function == name]
            crashed = rng.random() < 0.004
            right = ability > 2.7 or theta > 1.6
            for fact in facts:
                holds = right or theta > own[fact.id] + (0.3 * rng.normal() - 0.6 * fact.defines)
                outcomes[fact.id] = (
                    Outcome.TODO if place >= endurance
                    else Outcome.TIMEOUT if crashed and rng.random() < 0.5
                    else Outcome.CRASHED if crashed
                    else Outcome.PASSED if holds
                    else Outcome.FAILED
                )  # fmt: skip
            if any(outcomes[fact.id] is Outcome.FAILED for fact in facts) and rng.random() < 0.6:
                says = suite.mistakes[name][rng.choice(len(often[name]), p=often[name])]
                mistakes[name] = says if rng.random() < 0.8 else PERHAPS + says
        times = rng.gamma(0.5, 0.1, len(suite.facts)) + [
            3.0 * (outcomes[fact.id] is Outcome.TIMEOUT) for fact in suite.facts
        ]
        result = suite.result(outcomes, mistakes, [round(float(seconds), 4) for seconds in times])
        shape = "stub" if endurance == 0 else f"alone{number % 3}" if endurance <= 2 else f"p{number}"
        entry = Entry(label, result.score, result.max_score, result, shape, result.seconds, "")
        if before and before.result and 0.05 < kind < 0.06:
            entry = before._replace(label=label)
        elif 0.06 < kind < 0.066:
            entry = Entry(label, None, 0.0, None, "", 0.0, f"the grader’s process died three times: {HOSTILE}")
        elif 0.066 < kind < 0.072:
            entry = entry._replace(fault="a worker was lost three times")
        elif 0.072 < kind < 0.078:
            unreadable = msgspec.structs.replace(
                result, readable=False, facts=[], score=0.0, message=f"homework.rar: no modules {HOSTILE}",
                functions=[msgspec.structs.replace(row, score=0.0) for row in result.functions],
            )  # fmt: skip
            entry = entry._replace(score=0.0, result=unreadable, shape="", seconds=0.1)
        elif 0.078 < kind < 0.09:
            entry = entry._replace(score=min(round((entry.score or 0.0) + 2.5, 2), 100.0))
        yield entry
        before = entry


def _syllables(rng: np.random.Generator) -> str:
    parts = ["ka", "lo", "mi", "ne", "ru", "sa", "te", "vi", "jo", "an", "el", "or"]
    return "".join(parts[place] for place in rng.integers(0, len(parts), 3))
