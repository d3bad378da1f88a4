"""Drift: whether what students are told, what facts ask and what they quote of it still agree.

Students write from docstrings. So every fact quotes the words of its function's docstring that it holds an answer to
(its `promise`), and every word of a graded function's docstring is quoted by a fact, unless

- it is the title of a section, the name of an argument, a number of a list or a `Source:`;
- it says so itself: a sentence (or part of one, up to a semicolon) or a remark in parentheses that says "free" or "not
  graded", and everything under `Raises (not graded):`;
- it stands in `not_graded.toml` beside the facts, with the reason why no fact can ask for it.

Facts have a formula and docstrings a source, and both cite alike: a numbered citation names author and year, and a work
has one year.
"""

import ast
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.facts import Fact

EXEMPT = "not_graded.toml"
EVERYWHERE = "everywhere"
JOINS = " … "
"""Between two passages of one promise."""

Span = tuple[int, int]

# A remark in parentheses; these may hold parentheses, too.
_REMARK = re.compile(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_SOURCE = re.compile(r"^Source:.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_RAISES_NOT_GRADED = re.compile(r"^Raises \(not graded\):\n(?: +.*\n?)+", re.MULTILINE)
_LABEL = re.compile(r"^(?:Args|Returns|Raises):$|^    \w+(?:, \w+)*:(?= )|^ *\d+\.(?= )", re.MULTILINE)
_END = re.compile(r"(?<!\.)[.;](?=\s)|\n\n|\.\)(?=\s)")
_NUMBERED = re.compile(r"\b(?:eq\.|[Ee]quation|[Tt]heorem|[Ll]emma|[Ss]ection|[Aa]ppendix|Assumption) [\dA-Z]")
_WORK = re.compile(r"\b([A-Z][\w-]+)(?:,? (?:et al\.|(?:and|&) [A-Z][\w-]+|[A-Z][\w-]+))* ((?:19|20)\d\d)\b")
_NOT_ASKED = re.compile(r"\bfree\b|\bnot graded\b")


class Finding(NamedTuple):
    """Something that does not agree. where: the id of a fact, or module.function."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


def drift(suite: Path, reference: Path, facts: Sequence[Fact]) -> list[Finding]:
    """Everything that disagrees between a suite, whose facts these are, and the docstrings of its reference."""
    path = suite / EXEMPT
    exempt = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return findings(facts, docstrings(reference, facts), exempt)


def docstrings(reference: Path, facts: Iterable[Fact]) -> dict[str, str]:
    """The docstrings of the functions that facts are about, by module.function, read without running anything."""
    texts: dict[str, str] = {}
    for module in dict.fromkeys(fact.module for fact in facts):
        tree = ast.parse((reference / f"{module}.py").read_text(encoding="utf-8"))
        functions = {node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
        graded = dict.fromkeys(fact.function for fact in facts if fact.module == module)
        texts |= {f"{module}.{function}": functions.get(function) or "" for function in graded}
    return texts


def findings(facts: Sequence[Fact], texts: Mapping[str, str], exempt: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """What disagrees. texts: docstrings by module.function. exempt: words and reasons by the same, or "everywhere"."""
    strangers = [place for place in exempt if place not in {*texts, EVERYWHERE}]
    found = [Finding(place, f"{EXEMPT} names it, and no fact is about it") for place in strangers]
    for words in exempt.get(EVERYWHERE, {}):
        if not any(places(words, text) for text in texts.values()):
            found.append(Finding(EVERYWHERE, f'{EXEMPT} exempts "{words}", which no docstring says'))
    for place, text in texts.items():
        own = [fact for fact in facts if f"{fact.module}.{fact.function}" == place]
        found += _function_findings(place, text, own, exempt.get(place, {}), exempt.get(EVERYWHERE, {}))
    sources = {place: " ".join(_SOURCE.findall(text)) for place, text in texts.items()}
    return [*found, *_citations({**sources, **{fact.id: fact.source for fact in facts}})]


def places(words: str, text: str) -> list[Span]:
    """Where a text says these words, however its lines are broken."""
    pattern = r"\s+".join(map(re.escape, words.split()))
    return [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text)] if pattern else []


def unasked(text: str) -> list[Span]:
    """The parts of a docstring that say themselves that no fact asks for them, with its titles and its source."""
    spans = [m.span() for pattern in (_SOURCE, _RAISES_NOT_GRADED, _LABEL) for m in pattern.finditer(text)]
    remarks = [m.span() for m in _REMARK.finditer(text) if m.group() not in ("(graded)", "(not graded)")]
    spans += [(start, end) for start, end in remarks if _NOT_ASKED.search(text[start:end])]
    outside = text
    for start, end in remarks:
        outside = outside[:start] + "(" * (end - start) + outside[end:]
    ends = [0, *(m.end() for m in _END.finditer(outside)), len(text)]
    spans += [(start, end) for start, end in itertools.pairwise(ends) if _NOT_ASKED.search(outside[start:end])]
    return spans


def _function_findings(
    place: str, text: str, facts: Sequence[Fact], exempt: Mapping[str, str], everywhere: Mapping[str, str]
) -> Iterator[Finding]:
    if not _SOURCE.search(text):
        yield Finding(place, "the docstring names no `Source:`")
    quoted: list[Span] = []
    for fact in facts:
        if not fact.formula:
            yield Finding(fact.id, "the fact has no formula, an indented line in its docstring")
        if not fact.promise:
            yield Finding(fact.id, f"the fact quotes no promise of {place}")
        for passage in filter(None, fact.promise.split(JOINS)):
            if not places(passage, text):
                yield Finding(fact.id, f'the docstring of {place} does not say "{passage}"')
            quoted += places(passage, text)
    for words, reason in exempt.items():
        spans = places(words, text)
        if not reason.strip():
            yield Finding(place, f'{EXEMPT} exempts "{words}" without a reason')
        if not spans:
            yield Finding(place, f'{EXEMPT} exempts "{words}", which the docstring does not say')
        elif all(not any(_uncovered(text[: span[1]], quoted, span[0])) for span in spans):
            yield Finding(place, f'{EXEMPT} exempts "{words}", which facts quote')
    spared = [span for words in (*exempt, *everywhere) for span in places(words, text)]
    for words in _uncovered(text, [*quoted, *spared, *unasked(text)]):
        yield Finding(place, f'no fact quotes "{words}": ask for it, say that it is free, or exempt it in {EXEMPT}')


def _citations(sources: Mapping[str, str]) -> Iterator[Finding]:
    """Numbers of nobody's theorems, and works that are dated twice. sources: what is cited, by who cites it."""
    years: dict[str, str] = {}
    for where, source in sources.items():
        works = _WORK.findall(" ".join(source.split()))
        if _NUMBERED.search(source) and not works:
            yield Finding(where, "a numbered citation without author and year")
        for author, year in works:
            if years.setdefault(author, year) != year:
                yield Finding(where, f"cites {author} {year}, which is {author} {years[author]} elsewhere")


def _uncovered(text: str, spans: Sequence[Span], start: int = 0) -> Iterator[str]:
    """The runs of words of a text, from `start` on, that are in none of the spans."""
    words = [m.span() for m in re.finditer(r"\w+", text) if m.start() >= start]
    runs = itertools.groupby(words, key=lambda word: any(a <= word[0] and word[1] <= b for a, b in spans))
    for covered, run in runs:
        if not covered:
            first, *rest = run
            yield " ".join(text[first[0] : (rest[-1] if rest else first)[1]].split())
