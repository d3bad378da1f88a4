"""GitHub: a job summary in Markdown, annotations, and a fence around what else is printed.

Contract: "Workflow commands for GitHub Actions",
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands (a summary takes 1 MiB,
commands are escaped, `stop-commands` fences text); how a runner reads a line: src/Runner.Common/ActionCommand.cs of
https://github.com/actions/runner; 10 annotations of a kind a step:
https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from harness.report import words
from harness.result import FactResult, Result
from harness.verdict import Outcome

SUMMARY_LIMIT = 1_000_000  # of 1,048,576 bytes
FACT_LIMIT = 20_000
ANNOTATIONS = 10
MESSAGE_LIMIT = 4_000
MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~&@])")


def summary(result: Result) -> str:
    """The job summary. What a submission had a say in stands in code blocks that it cannot end."""
    parts = [f"## {_plain(words.headline(result))}\n\n"]
    if result.message and result.readable:
        parts.append(_fenced(result.message))
    if result.functions:
        parts.append("| function | points | of | facts that hold |\n| --- | ---: | ---: | --- |\n")
        for row in result.functions:
            score = "–" if row.score is None else f"{row.score:.2f}"
            held = words.held(words.facts_of(result, row))
            parts.append(f"| `{row.module}.{row.function}` | {score} | {row.max_score:.2f} | {held} |\n")
    notes = [f"{file.name}: {file.left_out}" for file in result.submission.files if file.left_out]
    if notes:
        parts.append("\nNot used:\n\n" + _fenced("\n".join(notes)))
    size = sum(len(part.encode("utf-8", "replace")) for part in parts)
    todo = [fact for fact in result.facts if fact.outcome is Outcome.TODO]
    if todo:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(fact.function for fact in todo))
        parts.append(f"\nStill to be written: {names}\n")
    wrong, first = _unheld(result), words.telling(result)
    named: set[str] = set()
    for fact in wrong:
        if fact.id not in first:
            continue
        account = words.account(fact, with_mistake=fact.function not in named)
        named |= {fact.function} if fact.mistake else set()
        part = f"\n### `{fact.function}`: {_plain(fact.title)}\n\n" + _fenced(words.shortened(account, FACT_LIMIT))
        size += len(part.encode("utf-8", "replace"))
        if size > SUMMARY_LIMIT:
            parts.append("\nThe rest does not fit here; it stands in the report.\n")
            break
        parts.append(part)
    rest = [f"{fact.function}: {fact.title}" for fact in wrong if fact.id not in first]
    if rest and size < SUMMARY_LIMIT // 2:
        parts.append("\nMore facts do not hold, perhaps for the same reasons:\n\n")
        parts += [f"- {_plain(line)}\n" for line in rest]
    return "".join(parts)


def annotations(result: Result) -> str:
    """Commands that mark the run: an error for each fact that does not hold, as many as GitHub shows, and the marks."""
    commands = []
    unheld = _unheld(result)
    shown = unheld if len(unheld) <= ANNOTATIONS else unheld[: ANNOTATIONS - 1]
    for fact in shown:
        where = {"file": f"{result.submission.name}/{fact.module}.py", "title": f"{fact.function}: {fact.title}"}
        commands.append(_command("error", _reason(fact), where))
    if len(shown) < len(unheld):
        commands.append(_command("error", f"{len(unheld) - len(shown)} more facts do not hold: see the summary", {}))
    kind = "error" if result.score is None or not result.readable else "notice"
    if kind == "error" and len(commands) == ANNOTATIONS:
        commands.pop()
    commands.append(_command(kind, words.headline(result), {"title": "Marks"}))
    return "".join(commands)


@contextmanager
def fence() -> Iterator[None]:
    """While the block runs, nothing that is printed is a command. Its end cannot be guessed."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def tell(result: Result, summary_file: str) -> None:
    """Print the annotations, and add the summary to the step's."""
    print(annotations(result), end="", flush=True)
    if summary_file:
        with open(summary_file, "a", encoding="utf-8", errors="replace") as file:
            file.write(summary(result))


def _unheld(result: Result) -> list[FactResult]:
    """The facts that do not hold, those that are to be read first first."""
    first = words.telling(result)
    wrong = [fact for fact in result.facts if fact.outcome not in words.HARMLESS]
    return sorted(wrong, key=lambda fact: fact.id not in first)


def _reason(fact: FactResult) -> str:
    return words.shortened(words.mistake([fact]) or words.why(fact) or fact.hint, MESSAGE_LIMIT)


def _command(kind: str, message: str, properties: dict[str, str]) -> str:
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {given}::{_escaped(message)}\n" if given else f"::{kind}::{_escaped(message)}\n"


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _plain(text: str) -> str:
    """`text` with no meaning in Markdown, on one line."""
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> str:
    """A code block; its fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}text\n{text.rstrip()}\n{mark}\n"
