"""What all reports say alike: a result in one line, a fact in a few, whose text may be shown."""

from collections.abc import Iterable, Sequence

from harness.fingerprints import PERHAPS
from harness.result import FactResult, FunctionMarks, Result
from harness.text import typed
from harness.tolerance import DIFFER
from harness.verdict import Outcome

OURS = (Outcome.ERROR, Outcome.LOST)
"""Outcomes that are the grader's own fault."""
HARMLESS = (Outcome.PASSED, Outcome.TODO)
"""Outcomes that need no explanation."""
OUTPUT_LINES, OUTPUT_CHARACTERS = 20, 2_000


def number(points: float) -> str:
    """Points as a person writes them: 4, 4.5, 3.33."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def headline(result: Result) -> str:
    """The marks, or why there are none."""
    if not result.readable:
        return f"Nothing could be read, so there are no points: {result.message}"
    if result.score is None:
        broken = sum(fact.outcome in OURS for fact in result.facts)
        return (
            f"No marks: {broken} of {len(result.facts)} facts could not be decided. "
            "This is the grader's fault, not the submission's."
        )
    held = sum(fact.outcome is Outcome.PASSED for fact in result.facts)
    return f"{number(result.score)} of {number(result.max_score)} points; {held} of {len(result.facts)} facts hold"


def facts_of(result: Result, row: FunctionMarks) -> list[FactResult]:
    """The facts of one function, in file order."""
    return [fact for fact in result.facts if (fact.module, fact.function) == (row.module, row.function)]


def held(facts: Sequence[FactResult]) -> str:
    """`5 of 8 facts hold`."""
    return f"{sum(fact.outcome is Outcome.PASSED for fact in facts)} of {len(facts)} facts hold"


def telling(result: Result) -> set[str]:
    """The ids of the facts that a student should read first, of those that do not hold.

    Of a function whose definition fails, the defining facts: the others may fail for the same reason. Of a module that
    cannot be imported, one fact. None of a function that calls one which fails. All that were chosen by --only.
    """
    wrong = [fact for fact in result.facts if fact.outcome not in HARMLESS]
    if result.suite.selection:
        return {fact.id for fact in wrong}
    causes = {fact.evidence.cause: fact.id for fact in reversed(wrong) if fact.evidence.cause}
    own = [fact for fact in wrong if not fact.evidence.cause and not fact.evidence.helper]
    undefined = {fact.function for fact in own if fact.defines}
    return {*causes.values(), *(fact.id for fact in own if fact.defines or fact.function not in undefined)}


def mistake(facts: Iterable[FactResult]) -> str:
    """The known mistake in the function of these facts, if any, and by what it is known.

    It is told by answers to several inputs, and belongs to the function: the one answer that a fact shows may be
    wrong for another reason. None where a helper may be to blame.
    """
    says = next((fact.mistake for fact in facts if fact.mistake and not fact.evidence.helper), "")
    return f"by the function's answers to several inputs: {says}" if says and not says.startswith(PERHAPS) else says


def why(fact: FactResult) -> str:
    """The message about a failure; what may be imported where that is the question; nothing that is seen anyway."""
    message = fact.evidence.message
    if message == DIFFER and fact.evidence.got and fact.evidence.expected:
        return ""
    return f"{message}\n{IMPORTS}" if message.startswith("ModuleNotFoundError: No module named") else message


IMPORTS = (
    "What may be imported: the standard library, NumPy, SciPy, torch; a module beside this one as in "
    "`from .module import name`."
)


def account(fact: FactResult, in_full: bool = True, with_mistake: bool = True) -> str:
    """A fact in plain text; a line if it holds, or is not told in full."""
    first = f"{fact.outcome.value.upper()}: {fact.title}"
    evidence = fact.evidence
    if fact.outcome in HARMLESS:
        return first
    if not in_full:
        return f"{first} (may hold once {evidence.helper} is right)" if evidence.helper else first
    parts = [
        _indented(fact.formula),
        _labelled("input", evidence.input),
        _labelled("got", evidence.got),
        _labelled("expected", evidence.expected),
        _labelled("", evidence.differs),
        _labelled("why", why(fact)),
        _labelled("note", f"may hold once {evidence.helper} is right" if evidence.helper else ""),
        _labelled("mistake", mistake([fact]) if with_mistake else ""),
        _labelled("printed", tail(fact.output)),
        _labelled("hint", fact.hint),
        _labelled("source", fact.source),
        _labelled("again", typed(fact.replay.partition("\n")[0])),
    ]
    return first + "\n" + "".join(part for part in parts if part)


def accounts(result: Result, row: FunctionMarks, limit: int) -> str:
    """The facts of a function in plain text, those that are to be read first first; at most about `limit` bytes.

    A mistake is named once: it is the function's.
    """
    first = telling(result)
    order = sorted(facts_of(result, row), key=lambda fact: (fact.id not in first, fact.outcome is Outcome.PASSED))
    named = next((fact.id for fact in order if fact.mistake and fact.id in first), "")
    return shortened("\n".join(account(fact, fact.id in first, fact.id == named) for fact in order), limit)


def tail(text: str) -> str:
    """The end of what a submission printed."""
    return "\n".join(text.strip().splitlines()[-OUTPUT_LINES:])[-OUTPUT_CHARACTERS:]


def shortened(text: str, limit: int) -> str:
    """`text` cut at `limit` bytes of UTF-8, with a note."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + "\n[shortened]"


def _labelled(label: str, text: str) -> str:
    if not text:
        return ""
    first, *rest = text.splitlines() or [""]
    return "".join([f"  {label:<8}  {first}\n", *(f"  {'':<8}  {line}\n" for line in rest)])


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
