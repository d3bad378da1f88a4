"""The report in a terminal: a bar while the facts are asked, each failure, a table by function, what to do next.

Everything that a submission had a say in goes through `_text`: it is inert, and no markup.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from harness.evaluate import Outcome
from harness.facts import Fact
from harness.grading import Progress as Receive
from harness.result import FactResult, Result
from harness.text import inert
from harness.tolerance import DIFFER

STYLE = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.TODO: "yellow",
    Outcome.TIMEOUT: "red",
    Outcome.CRASHED: "red",
    Outcome.ERROR: "magenta",
    Outcome.LOST: "magenta",
}
WIDEST = 100
INDENT, LABEL = 4, 10
PRINTED_LINES, LINE_LIMIT = 6, 200


@contextmanager
def progress_bar(console: Console, facts: int) -> Iterator[Receive]:
    """A bar that vanishes when the block ends; on a terminal only."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True,
        disable=not console.is_terminal or console.is_dumb_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("asking the facts", total=facts)

        def receive(fact: Fact, outcome: Outcome) -> None:
            bar.update(task, advance=1, description=fact.function.ljust(28)[:28])

        yield receive


def report(result: Result, console: Console, tree: str) -> None:
    """Print the whole report; `tree` is the folder as the user typed it."""
    width = min(console.width, WIDEST)
    _print(console, failures(result, tree, width))
    console.print(table(result))
    _print(console, summary(result, width))
    _print(console, remarks(result, width))
    outcomes = {fact.outcome for fact in result.facts}
    if outcomes == {Outcome.TODO}:
        _print(console, invitation(result.facts, tree, width))
    elif not outcomes <= {Outcome.PASSED, Outcome.ERROR, Outcome.LOST}:
        _print(console, next_step(result.facts, tree, width))


def _print(console: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def failures(result: Result, tree: str, width: int) -> Iterator[Text]:
    """The lines about everything that does not hold.

    In full: each fact that fails, as long as its function is what its definition says. Where that fails, the other
    facts of the function have a line each, as they may fail for the same reason; and so have all facts of a function
    that calls one which fails. What has one cause is told once. A chosen selection is shown in full.
    """
    facts = result.facts
    told: set[str] = set()
    for function in dict.fromkeys(fact.function for fact in facts):
        wrong = [fact for fact in facts if fact.function == function and fact.outcome not in HARMLESS]
        caused = [fact for fact in wrong if fact.evidence.cause]
        for cause in dict.fromkeys(fact.evidence.cause for fact in caused):
            if cause not in told:
                told.add(cause)
                yield from _cannot_be_asked([fact for fact in facts if fact.evidence.cause == cause], width)
        own = [fact for fact in wrong if not fact.evidence.cause and not fact.evidence.helper]
        undefined = any(fact.defines for fact in own) and not result.suite.selection
        alike = _repeating(own)
        full = [fact for fact in own if fact not in alike and (fact.defines or not undefined)]
        for fact in full:
            yield from failure(fact, tree, width, with_script=len(facts) == 1)
        if alike:
            yield from _more(f"{function}: {_facts(len(alike), 'more ')} fail with the same error", alike, width)
        rest = [fact for fact in own if fact not in full and fact not in alike]
        if rest:
            why = f"perhaps for the same reason; --only {function} shows them"
            yield from _more(
                f"{function}: {_facts(len(rest), 'more ')} fail{'s' * (len(rest) == 1)}, {why}", rest, width
            )
        for helper in dict.fromkeys(fact.evidence.helper for fact in wrong if fact.evidence.helper):
            folded = [fact for fact in wrong if fact.evidence.helper == helper]
            yield from _more(f"{function}: {_facts(len(folded))} may hold once {helper} is right", folded, width)


def _repeating(facts: Sequence[FactResult]) -> list[FactResult]:
    """Those that fail by an exception which one before them has shown."""
    shown: set[str] = set()
    again = []
    for fact in facts:
        message = fact.evidence.message
        if message in shown:
            again.append(fact)
        elif ".py, line " in message:
            shown.add(message)
    return again


HARMLESS = (Outcome.PASSED, Outcome.TODO)


def _cannot_be_asked(facts: Sequence[FactResult], width: int) -> Iterator[Text]:
    """A module that cannot be imported, or a function that is missing: once for all facts that are about it."""
    cause, outcome = facts[0].evidence.cause, facts[0].outcome
    functions = list(dict.fromkeys(fact.function for fact in facts))
    what = f"{cause} cannot be imported" if cause.endswith(".py") else f"{functions[0]} is missing"
    yield from _wrapped(
        f"{what}: {_facts(len(facts))} about {', '.join(functions)} could not be asked", width, 0, INDENT, "bold"
    )
    yield from _row(outcome.value.upper(), facts[0].evidence.message, width)
    yield Text()


def _more(heading: str, facts: Sequence[FactResult], width: int) -> Iterator[Text]:
    yield from _wrapped(heading, width, 0, INDENT, "bold")
    for fact in facts:
        yield from _wrapped(f"- {fact.title}", width, INDENT, INDENT + 2)
    yield Text()


def table(result: Result) -> Table:
    """A row for each function: points, and how many of its facts hold."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("function", no_wrap=True)
    grid.add_column("points", justify="right", no_wrap=True)
    grid.add_column("of", justify="right", no_wrap=True)
    grid.add_column("facts that hold", no_wrap=True)
    module = ""
    for row in result.functions:
        if row.module != module:
            module = row.module
            grid.add_row(Text(f"{module}.py", style="bold cyan"))
        own = [fact for fact in result.facts if fact.function == row.function]
        score = "-" if row.score is None else f"{row.score:.2f}"
        grid.add_row(f"  {row.function}", score, f"{row.max_score:.2f}", _tally(own))
    return grid


def summary(result: Result, width: int) -> list[Text]:
    """The line that says the marks, or why there are none."""
    if result.score is None:
        broken = sum(fact.outcome in (Outcome.ERROR, Outcome.LOST) for fact in result.facts)
        text = f"No marks: {broken} facts could not be decided. This is the grader's fault, not the submission's."
        lines = [text, *result.message.splitlines()]
        return [Text(), *(part for line in lines for part in _wrapped(line, width, 0, INDENT, "bold magenta"))]
    held = sum(fact.outcome is Outcome.PASSED for fact in result.facts)
    style = "bold green" if held == len(result.facts) else "bold"
    text = f"{result.score:.2f} of {result.max_score:.2f} points; {held} of {len(result.facts)} facts hold"
    return [Text(), Text(f"{text} ({result.seconds:.1f} s)", style)]


def remarks(result: Result, width: int) -> list[Text]:
    """What was not read of the submission, how well it was kept apart, and whether helpers were lent."""
    lines = [(f"not used: {file.name}: {file.left_out}", "yellow") for file in result.submission.files if file.left_out]
    lent = sum(fact.lent for fact in result.facts)
    if lent:
        lines.append((f"{lent} facts hold with the reference's helpers in the place of the submission's own", ""))
    if any(fact.evidence.helper for fact in result.facts):
        lines.append(("where right helpers can be lent, the marks can only be higher", ""))
    isolation = result.isolation
    leaks = f" (not contained: {', '.join(isolation.missing)})" if isolation.missing else ""
    lines.append((f"isolation: {isolation.level}{leaks}", "dim"))
    return [part for text, style in lines for part in _wrapped(text, width, 0, INDENT, style)]


def failure(fact: FactResult, tree: str, width: int, with_script: bool = False) -> Iterator[Text]:
    """One fact that does not hold: statement, input, got and expected, mistake, hint, source, how to ask it alone.

    with_script: the whole replay, not only its command.
    """
    yield Text.assemble((fact.outcome.value.upper(), f"bold {STYLE[fact.outcome]}"), "  ", (fact.function, "bold"))
    yield from _wrapped(fact.title, width, INDENT, INDENT)
    for line in fact.formula.splitlines():
        yield from _wrapped(line, width, 2 * INDENT, 3 * INDENT, "cyan")
    evidence = fact.evidence
    yield from _row("input", evidence.input, width)
    aligned = bool(evidence.differs)
    yield from _row("got", evidence.got, width, aligned)
    yield from _row("expected", evidence.expected, width, aligned)
    yield from _row("", evidence.differs, width, aligned)
    if not (evidence.got and evidence.expected and evidence.message == DIFFER):
        yield from _row("why", evidence.message, width)
    yield from _row("printed", _last_lines(fact.output), width)
    yield from _row("mistake", fact.mistake or "", width)
    yield from _row("hint", fact.hint, width)
    yield from _row("source", fact.source, width)
    command, _, script = fact.replay.partition("\n\n")
    yield from _command("again", command, tree, width)
    if with_script and script:
        yield from _label("or", ["python, in the folder that holds student/:"])
        yield Text()
        yield from (_text(line) for line in script.splitlines())
    yield Text()


def _row(name: str, text: str, width: int, aligned: bool = False) -> Iterator[Text]:
    """A label and lines beside it. Lines that are aligned or indented stay so, and are cut rather than wrapped."""
    lines: list[str | Text] = []
    room = width - INDENT - LABEL
    for line in text.splitlines():
        if name == "input":
            lines += _wrapped(line, room, len(line) - len(line.lstrip()), INDENT)
        elif aligned or line[:1] == " ":
            lines.append(_cut(line, room))
        else:
            lines += _wrapped(line, room, 0, 0)
    yield from _label(name, lines)


def _label(name: str, lines: Iterable[str | Text]) -> Iterator[Text]:
    for number, line in enumerate(lines):
        label = (name if number == 0 else "").ljust(LABEL)
        assembled = Text.assemble(" " * INDENT, (label, "dim"), line if isinstance(line, Text) else _text(line))
        assembled.rstrip()
        yield assembled


def _command(name: str, command: str, tree: str, width: int) -> Iterator[Text]:
    """A command that can be copied: on one line where there is room, else broken as a shell allows it."""
    start, option, rest = command.partition(" --only ")
    if tree != "student":
        start += f" --tree {shlex.quote(inert(tree))}"
    whole = f"{start}{option}{rest}"
    if len(whole) <= width - INDENT - LABEL:
        yield from _label(name, [whole])
        return
    yield from _label(name, [""])
    lines = [whole] if len(whole) <= width - INDENT else [f"{start} \\", f"   {option}{rest}"]
    yield from (Text(" " * INDENT + line) for line in lines)


def _wrapped(text: str, width: int, first: int, others: int, style: str = "") -> list[Text]:
    """Lines of at most `width` columns, the first and the others indented."""
    lines: list[Text] = []
    whole = " " * first + inert(text).strip().expandtabs(4)
    if cell_len(whole) <= width and "\n" not in whole:
        return [Text(whole, style)]
    for word in inert(text).split():
        candidate = f"{lines[-1].plain} {word}" if lines and lines[-1].plain.strip() else ""
        if candidate and cell_len(candidate) <= width:
            lines[-1] = Text(candidate, style)
            continue
        indent = " " * (others if lines else first)
        while cell_len(indent + word) > width:
            piece, word = _split(word, width - len(indent))
            lines.append(Text(indent + piece, style))
            indent = " " * others
        lines.append(Text(indent + word, style))
    return lines


def _split(word: str, columns: int) -> tuple[str, str]:
    """A word's beginning that fits, at least one character, and the rest."""
    at = next((at for at in range(1, len(word)) if cell_len(word[: at + 1]) > columns), len(word))
    return word[:at], word[at:]


def _cut(text: str, width: int) -> str:
    text = inert(text.expandtabs(4))
    return text if cell_len(text) <= width else _split(text, width - 3)[0] + "..."


def _text(text: str, style: str = "") -> Text:
    return Text(inert(text), style)


def _facts(number: int, which: str = "") -> str:
    return f"{number} {which}fact{'s' * (number != 1)}"


def invitation(facts: Sequence[FactResult], tree: str, width: int) -> list[Text]:
    """What a student reads who has not begun."""
    functions = len({fact.function for fact in facts})
    modules = len({fact.module for fact in facts})
    text = f"{functions} functions in {modules} files wait for you in {tree}/; each docstring says what to write."
    return [Text(), *_wrapped(text, width, 0, 0), *_start(facts[0], tree, width, "Start here")]


def next_step(facts: Sequence[FactResult], tree: str, width: int) -> list[Text]:
    """The first fact that does not hold, and not because of another function."""
    unheld = [fact for fact in facts if fact.outcome is not Outcome.PASSED]
    return [
        Text(),
        *_start(next((fact for fact in unheld if not fact.evidence.helper), unheld[0]), tree, width, "Next"),
    ]


def _start(fact: FactResult, tree: str, width: int, word: str) -> list[Text]:
    return [
        *_wrapped(f"{word}: {fact.function} in {tree}/{fact.module}.py", width, 0, INDENT, "bold"),
        *_wrapped(fact.title, width, INDENT, INDENT, "cyan"),
        *_command("then", f"nox -s grade -- --only {fact.function}", tree, width),
    ]


def _last_lines(text: str) -> str:
    """The end of what a submission printed."""
    lines = list(dict.fromkeys(line.rstrip() for line in text.strip().splitlines()))
    return "\n".join(line[:LINE_LIMIT] for line in lines[-PRINTED_LINES:])


def _tally(facts: Sequence[FactResult]) -> Text:
    """`5 of 8, 2 failed, 1 todo`."""
    text = Text(f"{sum(fact.outcome is Outcome.PASSED for fact in facts)} of {len(facts)}")
    for outcome in Outcome:
        count = sum(fact.outcome is outcome for fact in facts)
        if count and outcome is not Outcome.PASSED:
            text.append(f", {count} {outcome.value}", style=STYLE[outcome])
    return text
