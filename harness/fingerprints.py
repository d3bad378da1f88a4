"""By what each mistake of a bank is recognised: its answers to fixed probes, and the facts that it does not hold.

`fingerprints.json` stands beside a suite. It holds the mistakes' names and digests of answers: no code, and no right
answers. Where the bank itself is not at hand, in a student's copy, it names a student's mistake all the same.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.probes import NO_ANSWER, Probe, agree

FILE = "fingerprints.json"
SCHEMA = 1
BY_BLATANCE = ("blatant", "subtle", "extreme")
PERHAPS = "perhaps, by the facts that fail: "
"""How the sentence about a mistake begins that no answers tell."""
MOST_OF = 2 / 3
"""The share of all probes that must agree. One submission may hold several mistakes that show at extremes."""


class Fingerprint(msgspec.Struct, frozen=True):
    """One mistake. answers: digests, one for each probe. fails: names of the facts that it does not hold."""

    name: str
    says: str
    severity: str
    answers: list[str]
    fails: list[str]


class Prints(msgspec.Struct, frozen=True):
    """One function. right: for each probe, digests of the right answers that are known; many where draws are free."""

    right: list[list[str]]
    mistakes: list[Fingerprint]


class Fingerprints(msgspec.Struct, frozen=True):
    schema: int
    functions: dict[str, Prints]


class Named(NamedTuple):
    """A mistake that was recognised: by its answers, or (`perhaps`) by the facts that fail alone."""

    mistake: Fingerprint
    perhaps: bool

    @property
    def text(self) -> str:
        """A sentence for a report."""
        says = self.mistake.says.rstrip(".")
        return f"{PERHAPS}{says}" if self.perhaps else says


def read(suite: Path) -> Fingerprints:
    """Those of a suite; none where the file is missing."""
    path = suite / FILE
    if not path.is_file():
        return Fingerprints(SCHEMA, {})
    return msgspec.json.decode(path.read_bytes(), type=Fingerprints)


def by_answers(prints: Prints, probes: Sequence[Probe], answers: Sequence[str]) -> Fingerprint | None:
    """The mistake whose answers these are; None if they are right, or those of several mistakes as much as of one.

    All ordinary probes must agree and most of all; at least two, and one of them where the mistake is wrong. Those that
    depend on what is free need not, where there are others.
    """
    if len(answers) != len(probes) or _right_everywhere(prints, answers):
        return None
    best: list[Fingerprint] = []
    most = 0
    firm = [not probe.path for probe in probes]
    if not any(sure and not probe.extreme for sure, probe in zip(firm, probes, strict=True)):
        firm = [True] * len(probes)
    for mistake in prints.mistakes:
        agreed = [agree(own, other) for own, other in zip(mistake.answers, answers, strict=True)]
        wrong = [not _known(answer, right) for answer, right in zip(mistake.answers, prints.right, strict=True)]
        ordinary = all(
            same for same, sure, probe in zip(agreed, firm, probes, strict=True) if sure and not probe.extreme
        )
        tells = any(same and off for same, off in zip(agreed, wrong, strict=True))
        enough = sum(same for same, sure in zip(agreed, firm, strict=True) if sure) >= max(2, MOST_OF * sum(firm))
        if not (ordinary and tells and enough and sum(agreed) >= most):
            continue
        if sum(agreed) > most:
            best, most = [], sum(agreed)
        best.append(mistake)
    return _one(best)


def by_facts(prints: Prints, failed: Collection[str]) -> Fingerprint | None:
    """The mistake that fails just these facts of its function, if no other one does and of all it is known."""
    if not all(mistake.fails for mistake in prints.mistakes):
        return None
    return _one([mistake for mistake in prints.mistakes if mistake.fails and set(mistake.fails) == set(failed)])


def _one(mistakes: Sequence[Fingerprint]) -> Fingerprint | None:
    """The most blatant of mistakes with the same answers; None if they answer differently."""
    if not mistakes:
        return None
    first = min(mistakes, key=lambda mistake: BY_BLATANCE.index(mistake.severity))
    return first if all(same_answers(first, other) for other in mistakes) else None


def same_answers(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two mistakes answer every probe alike, which may be by no answer."""
    pairs = zip(one.answers, other.answers, strict=True)
    return all(a == b or agree(a, b) for a, b in pairs)


def _right_everywhere(prints: Prints, answers: Sequence[str]) -> bool:
    pairs = zip(answers, prints.right, strict=True)
    return all(answer == NO_ANSWER or _known(answer, right) for answer, right in pairs)


def _known(answer: str, right: Sequence[str]) -> bool:
    return any(agree(answer, one) for one in right)


def coverage(
    fingerprints: Fingerprints, probes: Mapping[str, Sequence[Probe]], by_facts_too: Collection[str]
) -> dict[str, tuple[int, int, int]]:
    """Of the mistakes of each function: how many are named by their answers, by facts as well, of how many.

    Named as themselves, or as one that gives the same answers.
    """
    shares: dict[str, tuple[int, int, int]] = {}
    for function, prints in fingerprints.functions.items():
        answered = [_is(by_answers(prints, probes[function], own.answers), own) for own in prints.mistakes]
        failing = [function in by_facts_too and _is(by_facts(prints, own.fails), own) for own in prints.mistakes]
        either = sum(one or other for one, other in zip(answered, failing, strict=True))
        shares[function] = (sum(answered), either, len(prints.mistakes))
    return shares


def _is(named: Fingerprint | None, mistake: Fingerprint) -> bool:
    return named is not None and same_answers(named, mistake)
