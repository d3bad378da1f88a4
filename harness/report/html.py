"""`report.html`: one page that needs nothing else, neither a network nor scripts, which only filter and copy."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from harness.report import figures, words
from harness.result import Curve, FactResult, FunctionMarks, Result
from harness.text import typed
from harness.verdict import Outcome

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
    why: str
    output: str
    command: str
    snippet: str


class Broken(NamedTuple):
    """Why facts could not be asked. why: empty under all functions but `told`, the first that it concerns."""

    what: str
    facts: int
    why: str
    told: str


class Row(NamedTuple):
    """A function: its marks, its facts, the mistake it is known by, and why it could not be asked."""

    marks: FunctionMarks
    facts: list[Shown]
    held: int
    whole: bool
    mistake: str
    broken: Broken | None


class Drawn(NamedTuple):
    """A curve, its picture if there is something to draw, and its numbers."""

    curve: Curve
    picture: Markup
    tables: list[tuple[str, list[tuple[str, str]]]]


def page(result: Result, total: float | None = None, notes: Sequence[str] = ()) -> str:
    """The whole page. total: the points, where they are not those of the result; notes: say why, a sentence each."""
    first = words.telling(result)
    told: dict[str, str] = {}
    rows = [_row(result, marks, first, told) for marks in result.functions]
    facts = [shown for row in rows for shown in row.facts]
    counts = {outcome: sum(shown.fact.outcome is outcome for shown in facts) for outcome in Outcome}
    shown = {
        "result": result,
        "score": result.score if total is None else total,
        "notes": notes,
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


def _row(result: Result, marks: FunctionMarks, first: set[str], told: dict[str, str]) -> Row:
    facts = words.facts_of(result, marks)
    shown = [_shown(fact, fact.id in first and not fact.evidence.cause) for fact in facts]
    held = sum(fact.outcome is Outcome.PASSED for fact in facts)
    broken = _broken([fact for fact in facts if fact.evidence.cause], told)
    return Row(marks, shown, held, held == len(facts) > 0, words.mistake(facts), broken)


def _broken(caused: Sequence[FactResult], told: dict[str, str]) -> Broken | None:
    """What kept facts of one function from being asked. told: by cause, the function where it is told in full."""
    if not caused:
        return None
    function, cause = caused[0].function, caused[0].evidence.cause
    first = told.setdefault(cause, function)
    what = f"{cause} cannot be imported" if cause.endswith(".py") else f"{function} is missing"
    return Broken(what, len(caused), words.why(caused[0]) if first == function else "", first)


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
        why="it could not be asked: see above" if fact.evidence.cause else words.why(fact),
        output=words.tail(fact.output),
        command=typed(command),
        snippet=snippet.strip("\n"),
    )


def _drawn(curve: Curve) -> Drawn:
    tables = [(series.name, figures.rows(series)) for series in curve.series if series.x]
    return Drawn(curve, Markup(figures.svg(curve)) if tables else Markup(""), tables)
