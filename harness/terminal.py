"""The report in a terminal: a bar while the facts are asked, a table by function, and each failure in full."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from harness.evaluate import Outcome
from harness.facts import Fact
from harness.grading import Progress as Receive
from harness.result import FactResult, Result

STYLE = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.TODO: "yellow",
    Outcome.TIMEOUT: "red",
    Outcome.CRASHED: "red",
    Outcome.ERROR: "magenta",
    Outcome.LOST: "magenta",
}
INDENT = 4
PRINTED_LINES, LINE_LIMIT = 6, 200


@contextmanager
def progress_bar(console: Console, facts: int) -> Iterator[Receive]:
    """A bar that vanishes when the block ends; on a terminal only."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("asking the facts", total=facts)

        def receive(fact: Fact, outcome: Outcome) -> None:
            bar.update(task, advance=1, description=fact.function.ljust(28)[:28])

        yield receive


def report(result: Result, console: Console, tree: str) -> None:
    """Print the whole report; `tree` is the folder as the user typed it."""
    outcomes = {fact.outcome for fact in result.facts}
    unheld = [fact for fact in result.facts if fact.outcome not in (Outcome.PASSED, Outcome.TODO)]
    for fact in unheld:
        console.print(failure(fact))
    console.print(table(result))
    console.print(summary(result))
    console.print(remarks(result))
    if outcomes == {Outcome.TODO}:
        console.print(invitation(result.facts, tree))
    elif Outcome.TODO in outcomes:
        console.print(next_step(result.facts, tree))


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


def summary(result: Result) -> RenderableType:
    """The line that says the marks, or why there are none."""
    if result.score is None:
        broken = sum(fact.outcome in (Outcome.ERROR, Outcome.LOST) for fact in result.facts)
        lines = [
            Text(f"No marks: {broken} facts could not be decided. This is the grader's fault, not the submission's.",
                 style="bold magenta")
        ]  # fmt: skip
        if result.message:
            lines.append(Text(result.message, style="magenta"))
        return Group(Text(), *lines)
    held = sum(fact.outcome is Outcome.PASSED for fact in result.facts)
    text = f"{result.score:.2f} of {result.max_score:.2f} points; {held} of {len(result.facts)} facts hold"
    return Group(
        Text(), Text(f"{text} ({result.seconds:.1f} s)", style="bold green" if held == len(result.facts) else "bold")
    )


def remarks(result: Result) -> RenderableType:
    """What was not read of the submission, how well it was kept apart, and whether helpers were lent."""
    lines = [
        Text(f"not used: {file.name}: {file.left_out}", style="yellow")
        for file in result.submission.files
        if file.left_out
    ]
    lent = sum(fact.lent for fact in result.facts)
    if lent:
        lines.append(Text(f"{lent} facts hold with the reference's helpers in the place of the submission's own"))
    isolation = result.isolation
    leaks = f" (not contained: {', '.join(isolation.missing)})" if isolation.missing else ""
    lines.append(Text(f"isolation: {isolation.level}{leaks}", style="dim"))
    return Group(*lines)


def failure(fact: FactResult) -> RenderableType:
    """One fact that does not hold: statement, input, got and expected, hint, source, and how to ask it alone."""
    lines: list[RenderableType] = [
        Text.assemble(
            (fact.outcome.value.upper(), f"bold {STYLE[fact.outcome]}"), "  ", (fact.function, "bold"), "  ", fact.title
        )
    ]
    if fact.formula:
        lines.append(Padding(Text(fact.formula, style="cyan"), (0, 0, 0, INDENT)))
    evidence = fact.evidence
    rows = [
        ("input", evidence.input),
        ("got", evidence.got),
        ("expected", evidence.expected),
        ("why", evidence.message),
        ("printed", _last_lines(fact.output)),
        ("hint", fact.hint),
        ("source", fact.source),
        ("again", fact.replay.partition("\n")[0]),
    ]
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        if text:
            grid.add_row(name, Text(text))
    lines.append(Padding(grid, (0, 0, 1, INDENT)))
    return Group(*lines)


def invitation(facts: Sequence[FactResult], tree: str) -> RenderableType:
    """What a student reads who has not begun."""
    functions = len({fact.function for fact in facts})
    modules = len({fact.module for fact in facts})
    return Group(
        Text(),
        Text(f"{functions} functions in {modules} files wait for you in {tree}/; each docstring says what to write."),
        _start(facts[0], tree, "Start here"),
    )


def next_step(facts: Sequence[FactResult], tree: str) -> RenderableType:
    """The first function that is still a stub."""
    return Group(Text(), _start(next(fact for fact in facts if fact.outcome is Outcome.TODO), tree, "Next"))


def _start(fact: FactResult, tree: str, word: str) -> RenderableType:
    return Group(
        Text.assemble(f"{word}: ", (fact.function, "bold"), f" in {tree}/{fact.module}.py"),
        Padding(Text(fact.title, style="cyan"), (0, 0, 0, INDENT)),
        Text.assemble("then: ", (f"nox -s grade -- --only {fact.function}", "bold")),
    )


def _last_lines(text: str) -> str:
    """The end of what a submission printed."""
    return "\n".join(line[:LINE_LIMIT] for line in text.strip().splitlines()[-PRINTED_LINES:])


def _tally(facts: Sequence[FactResult]) -> Text:
    """`5 of 8, 2 failed, 1 todo`."""
    text = Text(f"{sum(fact.outcome is Outcome.PASSED for fact in facts)} of {len(facts)}")
    for outcome in Outcome:
        count = sum(fact.outcome is outcome for fact in facts)
        if count and outcome is not Outcome.PASSED:
            text.append(f", {count} {outcome.value}", style=STYLE[outcome])
    return text
