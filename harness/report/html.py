"""`report.html`: one page that needs nothing else, neither a network nor scripts, which only filter and copy."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from harness.evaluate import Outcome
from harness.report import figures, words
from harness.result import Curve, FactResult, FunctionMarks, Result

FOLDER = Path(__file__).parent
WORDS = {
    Outcome.PASSED: "holds",
    Outcome.FAILED: "failed",
    Outcome.TODO: "to do",
    Outcome.TIMEOUT: "timed out",
    Outcome.CRASHED: "crashed",
    Outcome.ERROR: "grader's error",
    Outcome.LOST: "lost by the grader",
}
SIGNS = {Outcome.PASSED: "✓", Outcome.TODO: "○"}
"""What tells outcomes apart without colour; ✗ for all the others."""


class Shown(NamedTuple):
    """A fact as the page shows it. anchor: its id on the page. command, snippet: the two halves of its replay."""

    fact: FactResult
    anchor: str
    word: str
    sign: str
    kind: str
    opened: bool
    output: str
    command: str
    snippet: str


class Row(NamedTuple):
    """A function: its marks and its facts."""

    marks: FunctionMarks
    facts: list[Shown]
    held: int
    whole: bool


class Drawn(NamedTuple):
    """A curve, its picture if there is something to draw, and its numbers."""

    curve: Curve
    picture: Markup
    tables: list[tuple[str, list[tuple[str, str]]]]


def page(result: Result) -> str:
    """The whole page."""
    first = words.telling(result)
    rows = [_row(result, marks, first) for marks in result.functions]
    facts = [shown for row in rows for shown in row.facts]
    counts = {outcome: sum(shown.fact.outcome is outcome for shown in facts) for outcome in Outcome}
    shown = {
        "result": result,
        "headline": words.headline(result),
        "number": words.number,
        "rows": rows,
        "modules": list(dict.fromkeys(row.marks.module for row in rows)),
        "facts": facts,
        "outcomes": [(str(outcome), WORDS[outcome], count) for outcome, count in counts.items() if count],
        "left_out": [file for file in result.submission.files if file.left_out],
        "lent": sum(fact.lent for fact in result.facts),
        "curves": [_drawn(curve) for curve in result.curves],
    }
    return filled(FOLDER / "page.html", [FOLDER / "page.css"], FOLDER / "page.js", shown)


def filled(template: Path, styles: Sequence[Path], script: Path, shown: Mapping[str, Any]) -> str:
    """A page of a template. All text is escaped; only the package's own styles, script and pictures are not.

    The template finds them as `style`, `script` and `script_digest`, by which a browser runs no other script.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["breakable"] = lambda name: escape(name).replace("_", Markup("_<wbr>"))
    code = script.read_text(encoding="utf-8")
    return environment.get_template(template.name).render(
        shown,
        style=Markup("\n".join(style.read_text(encoding="utf-8") for style in styles)),
        script=Markup(code),
        script_digest=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
    )


def _row(result: Result, marks: FunctionMarks, first: set[str]) -> Row:
    facts = [_shown(fact, fact.id in first) for fact in words.facts_of(result, marks)]
    held = sum(shown.fact.outcome is Outcome.PASSED for shown in facts)
    return Row(marks, facts, held, held == len(facts) > 0)


def _shown(fact: FactResult, opened: bool) -> Shown:
    command, _, snippet = fact.replay.partition("\n")
    unheld = fact.outcome not in words.HARMLESS
    return Shown(
        fact,
        anchor=fact.id.rpartition("::")[2],
        word=WORDS[fact.outcome],
        sign=SIGNS.get(fact.outcome, "✗"),
        kind="good" if fact.outcome is Outcome.PASSED else "bad" if unheld else "open",
        opened=opened,
        output=words.tail(fact.output),
        command=command,
        snippet=snippet.strip("\n"),
    )


def _drawn(curve: Curve) -> Drawn:
    tables = [(series.name, figures.rows(series)) for series in curve.series if series.x]
    return Drawn(curve, Markup(figures.svg(curve)) if tables else Markup(""), tables)
