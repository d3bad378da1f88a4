"""Results to make reports of: of every outcome, with text that means harm, and without a score."""

import msgspec

from harness.result import (
    Curve,
    Environment,
    FactResult,
    FunctionMarks,
    IsolationRecord,
    Result,
    Series,
    Submission,
    SubmittedFile,
    Suite,
)
from harness.verdict import Evidence, Outcome

HOSTILE = (
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">\n"
    "::error::owned\n  ::stop-commands::x\n##[error]owned\n````\n```\n# owned\n=HYPERLINK(1)\n]]> & \ud7ff"
)
"""What a submission prints, raises or is called, as `harness.text.inert` leaves it."""


def fact(name: str, outcome: Outcome, function: str = "double", module: str = "shapes", text: str = "") -> FactResult:
    """A fact whose evidence is `text`."""
    evidence = Evidence(message=text or "the values differ", input=f"double({text})", expected="[2.0]", got="[3.0]",
                        differs=" ^^^")  # fmt: skip
    return FactResult(
        id=f"suite/check_{module}.py::check_{name}",
        module=module,
        function=function,
        title=f"The law of {name} holds.",
        formula="double(x) = x + x",
        source="the definition.",
        weight=1,
        defines=name == "first",
        outcome=outcome,
        evidence=Evidence() if outcome is Outcome.PASSED else evidence,
        mistake="3 x in the place of 2 x" if outcome is Outcome.FAILED else None,
        hint="Add x to itself.",
        replay=f"nox -s grade -- --only check_{name}\n\nfrom student.shapes import double\nprint(double([1.0]))",
        lent=False,
        output=text,
        seconds=0.25,
    )


def mixed(text: str = HOSTILE) -> Result:
    """Lost and earned points that are no whole numbers, a stub, a name and texts that mean harm, curves."""
    facts = [
        fact("first", Outcome.PASSED),
        fact("second", Outcome.FAILED, text=text),
        fact("third", Outcome.TIMEOUT, text=text),
        fact("heads", Outcome.CRASHED, "coin", text=text),
        fact("area", Outcome.TODO, "area", "planes"),
        fact("edge", Outcome.PASSED, "edge", "planes"),
    ]
    functions = [
        FunctionMarks("shapes", "double", 3.33, 6.67),
        FunctionMarks("shapes", "coin", 0.0, 3.33),
        FunctionMarks("planes", "area", 0.0, 2.5),
        FunctionMarks("planes", "edge", 2.5, 2.5),
    ]
    own, known = [0.0, 1.5, 60.0], [0.0, 1.0, 2.0]
    return Result(
        schema=1,
        submission=Submission(text, "d1", [SubmittedFile("shapes.py", "s1"), SubmittedFile(text, "", text)]),
        suite=Suite("d2", 6, []),
        environment=Environment("3.13.1", "2.13.0", "2.4.6", "Linux", 0),
        complete=True,
        score=5.83,
        max_score=15.0,
        isolation=IsolationRecord("partial", ["starting processes"]),
        functions=functions,
        facts=facts,
        seconds=1.5,
        curves=[
            Curve("suite/curves.py::curve_line", ["double"], "A line.", "Twice as far.", "x", "y",
                  series=[Series("2 x", known, known, True), Series("yours", known, own, False, 1)]),
            Curve("suite/curves.py::curve_coin", ["coin"], "A coin.", "Heads.", message=text),
        ],
    )  # fmt: skip


def whole() -> Result:
    """All facts hold."""
    rows = [FunctionMarks("shapes", "double", 6.67, 6.67), FunctionMarks("shapes", "coin", 3.33, 3.33)]
    facts = [fact("first", Outcome.PASSED), fact("heads", Outcome.PASSED, "coin")]
    return msgspec.structs.replace(mixed("ada"), functions=rows, facts=facts, score=10.0, max_score=10.0, curves=[])


def incomplete() -> Result:
    """The grader lost a fact, so that there is no score."""
    result = mixed()
    facts = [*result.facts[:-1], fact("edge", Outcome.LOST, "edge", "planes")]
    rows = [msgspec.structs.replace(row, score=None) for row in result.functions]
    return msgspec.structs.replace(
        result, facts=facts, functions=rows, score=None, complete=False, message=HOSTILE, curves=[]
    )


def unreadable() -> Result:
    """Nothing of the submission could be read."""
    result = mixed()
    rows = [msgspec.structs.replace(row, score=0.0) for row in result.functions]
    return msgspec.structs.replace(
        result, facts=[], functions=rows, score=0.0, readable=False, message=f"{HOSTILE}: no modules", curves=[]
    )


def many(facts: int = 300) -> Result:
    """So many facts that fail, each with long texts."""
    rows = [FunctionMarks("shapes", "double", 0.0, 15.0)]
    failed = [fact(f"n{number}", Outcome.FAILED, text="é`" * 20_000) for number in range(facts)]
    return msgspec.structs.replace(mixed(), functions=rows, facts=failed, score=0.0, max_score=15.0)


def many_without_score() -> Result:
    """As many that fail, and no score."""
    return msgspec.structs.replace(many(), score=None, complete=False)
