"""What the verdicts on a submission say together: the named mistake, and failures that follow from another's.

Nothing here decides marks.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from harness import fingerprints
from harness.facts import Fact
from harness.fingerprints import Fingerprints, Named
from harness.probes import Probes
from harness.source import calls
from harness.verdict import Outcome, Verdict

WRONG = (Outcome.FAILED, Outcome.TIMEOUT, Outcome.CRASHED)


def named(
    known: Fingerprints, probes: Probes, facts: Sequence[Fact], verdicts: Mapping[str, Verdict], whole: bool
) -> dict[str, Named]:
    """The mistakes that were recognised, by function.

    whole: of each function every fact was asked, so that a mistake may be told by those that fail. Nothing is told so
    of a function that raises, or that runs out of time.
    """
    found: dict[str, Named] = {}
    for function, prints in known.functions.items():
        own = [(fact, verdicts[fact.id]) for fact in facts if fact.function == function]
        failed = [(fact, verdict) for fact, verdict in own if verdict.outcome is not Outcome.PASSED]
        answers = next((verdict.answers for _, verdict in own if verdict.answers), [])
        if not answers or function not in probes.by_function:
            continue
        mistake = fingerprints.by_answers(prints, list(probes.by_function[function]()), answers)
        if mistake:
            found[function] = Named(mistake, perhaps=False)
        elif whole and function in probes.by_facts and all(_contradicted(verdict) for _, verdict in failed):
            mistake = fingerprints.by_facts(prints, {fact.name for fact, _ in failed})
            if mistake:
                found[function] = Named(mistake, perhaps=True)
    return found


def told(found: Mapping[str, Named], facts: Sequence[Fact], verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    """The sentence about the mistake, by fact: on the failures that the mistake is known to cause."""
    sentences = {}
    for fact in facts:
        name = found.get(fact.function)
        if name and verdicts[fact.id].outcome is Outcome.FAILED and fact.name in (name.mistake.fails or [fact.name]):
            sentences[fact.id] = name.text
    return sentences


def folded(
    verdicts: Mapping[str, Verdict], facts: Sequence[Fact], sources: Mapping[str, bytes], named_already: Collection[str]
) -> dict[str, Verdict]:
    """The verdicts, with the helper that may be to blame where a function calls one that fails facts itself.

    Of several, it is the one that calls no other. Where a mistake is known of the function, only a helper that fails
    its definition is to blame: the mistake may then be the helper's, seen through the function.
    """
    wrong = {fact.function for fact in facts if verdicts[fact.id].outcome in WRONG}
    undefined = {fact.function for fact in facts if fact.defines and verdicts[fact.id].outcome in WRONG}
    blamed: dict[str, str] = {}
    called = calls(sources, {fact.function for fact in facts})
    for function in wrong:
        suspects = undefined if function in named_already else wrong
        helpers = [name for name in called[function] & suspects if name != function]
        roots = [name for name in helpers if not (called[name] & wrong) - {name}]
        order = {fact.function: position for position, fact in enumerate(facts)}
        if roots:
            blamed[function] = min(roots, key=lambda name: order[name])
    updated = dict(verdicts)
    for fact in facts:
        verdict = verdicts[fact.id]
        if fact.function in blamed and verdict.outcome in WRONG and not verdict.evidence.cause:
            evidence = msgspec.structs.replace(verdict.evidence, helper=blamed[fact.function])
            updated[fact.id] = msgspec.structs.replace(verdict, evidence=evidence)
    return updated


def _contradicted(verdict: Verdict) -> bool:
    """A fact failed by what was answered, and not because the submission raised."""
    return (
        verdict.outcome is Outcome.FAILED
        and not verdict.evidence.cause
        and ".py, line " not in verdict.evidence.message
    )
