"""JUnit XML: a suite for each module, a case for each fact.

Contract: there is none of JUnit's own. This follows the schema that Jenkins' xUnit plugin checks files against,
https://github.com/jenkinsci/xunit-plugin, junit-10.xsd, which GitLab and GitHub's readers understand as well.
"""

from xml.etree import ElementTree as xml

from harness.report import words
from harness.result import FactResult, Result
from harness.text import inert
from harness.verdict import Outcome

TEXT_LIMIT = 20_000
"""Bytes that one fact may take."""


def document(result: Result) -> str:
    """The content of the file."""
    root = xml.Element("testsuites", {"name": "facts", "time": f"{result.seconds:.3f}"})
    for module in dict.fromkeys(row.module for row in result.functions):
        facts = [fact for fact in result.facts if fact.module == module]
        suite = xml.SubElement(root, "testsuite", {"name": module, "time": _time(facts), **_counts(facts)})
        for fact in facts:
            _case(suite, fact)
    if not result.readable:
        suite = xml.SubElement(root, "testsuite", name="submission", tests="1", failures="1", errors="0")
        case = xml.SubElement(suite, "testcase", name="can be read", classname="submission")
        xml.SubElement(case, "failure", type="unreadable", message=inert(result.message))
    for kind in ("tests", "failures", "errors"):
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in root)))
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _case(suite: xml.Element, fact: FactResult) -> None:
    name = fact.id.rpartition("::")[2]
    case = xml.SubElement(
        suite, "testcase", name=name, classname=f"{fact.module}.{fact.function}", time=f"{fact.seconds:.3f}"
    )
    if fact.outcome is Outcome.PASSED:
        return
    kind = "error" if fact.outcome in words.OURS else "failure"
    problem = xml.SubElement(case, kind, type=fact.outcome.value, message=fact.title)
    problem.text = inert(words.shortened(words.account(fact), TEXT_LIMIT))
    if fact.output:
        xml.SubElement(case, "system-out").text = inert(words.tail(fact.output))


def _counts(facts: list[FactResult]) -> dict[str, str]:
    errors = sum(fact.outcome in words.OURS for fact in facts)
    held = sum(fact.outcome is Outcome.PASSED for fact in facts)
    return {"tests": str(len(facts)), "failures": str(len(facts) - held - errors), "errors": str(errors)}


def _time(facts: list[FactResult]) -> str:
    return f"{sum(fact.seconds for fact in facts):.3f}"
