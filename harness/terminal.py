"""The report in a terminal: a bar while the facts are asked, each failure, a table by function, what to do next.

Everything that a submission had a say in goes through `harness.layout`: it is inert, and no markup.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from harness import layout
from harness.facts import Fact
from harness.grading import Progress as Receive
from harness.report import words
from harness.result import FactResult, Result
from harness.verdict import Outcome

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
    facts of the function are named only, as they may fail for the same reason; and so are all facts of a function that
    calls one which fails. A fact that was chosen by its own name is shown in full. What has one cause is told once, and
    so is the mistake that a function is known by.
    """
    facts = result.facts
    chosen = {name.rpartition("::")[2] for name in result.suite.selection}
    told: set[str] = set()
    for function in dict.fromkeys(fact.function for fact in facts):
        wrong = [fact for fact in facts if fact.function == function and fact.outcome not in HARMLESS]
        caused = [fact for fact in wrong if fact.evidence.cause]
        for cause in dict.fromkeys(fact.evidence.cause for fact in caused):
            if cause not in told:
                told.add(cause)
                yield from _cannot_be_asked([fact for fact in facts if fact.evidence.cause == cause], width)
        own = [fact for fact in wrong if not fact.evidence.cause and not fact.evidence.helper]
        undefined = any(fact.defines for fact in own)
        alike = _repeating(own)
        full = [fact for fact in own
                if fact not in alike and (fact.defines or not undefined or _name(fact) in chosen)]  # fmt: skip
        named = next((fact for fact in [*full, *own] if fact.mistake), None)
        for fact in full:
            yield from failure(fact, tree, width, with_mistake=fact is named, with_script=len(facts) == 1)
        if alike:
            yield from _more(f"{function}: {_fail(len(alike))} with the same error", alike, width)
        rest = [fact for fact in own if fact not in full and fact not in alike]
        if rest:
            why = "perhaps for the same reason (--only NAME shows one)"
            mistake = "" if named in full else words.mistake(rest)
            yield from _more(f"{function}: {_fail(len(rest))}, {why}", rest, width, mistake)
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
    yield from layout.wrapped(
        f"{what}: {_facts(len(facts))} about {', '.join(functions)} could not be asked", width, 0, layout.INDENT, "bold"
    )
    yield from layout.row(outcome.value.upper(), words.why(facts[0]), width)
    yield Text()


def _more(heading: str, facts: Sequence[FactResult], width: int, mistake: str = "") -> Iterator[Text]:
    yield from layout.wrapped(heading, width, 0, layout.INDENT, "bold")
    for fact in facts:
        yield from layout.wrapped(f"- {_name(fact)}", width, layout.INDENT, layout.INDENT + 2)
    yield from layout.row("mistake", mistake, width)
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
        return [
            Text(),
            *(part for line in lines for part in layout.wrapped(line, width, 0, layout.INDENT, "bold magenta")),
        ]
    held = sum(fact.outcome is Outcome.PASSED for fact in result.facts)
    style = "bold green" if held == len(result.facts) else "bold"
    text = f"{result.score:.2f} of {result.max_score:.2f} points; {held} of {len(result.facts)} facts hold"
    return [Text(), Text(f"{text} ({result.seconds:.1f} s)", style)]


def remarks(result: Result, width: int) -> list[Text]:
    """What was not read of the submission, how well it was kept apart, and whether helpers were lent."""
    lines = [(f"not used: {file.name}: {file.left_out}", "yellow") for file in result.submission.files if file.left_out]
    lent = sum(fact.lent for fact in result.facts)
    if lent:
        told = "1 fact holds" if lent == 1 else f"{lent} facts hold"
        lines.append((f"{told} with the reference's helpers in the place of the submission's own", ""))
    if any(fact.evidence.helper for fact in result.facts):
        lines.append(("where right helpers can be lent, the marks can only be higher", ""))
    isolation = result.isolation
    leaks = f" (not contained: {', '.join(isolation.missing)})" if isolation.missing else ""
    lines.append((f"isolation: {isolation.level}{leaks}", "dim"))
    return [part for text, style in lines for part in layout.wrapped(text, width, 0, layout.INDENT, style)]


def failure(
    fact: FactResult, tree: str, width: int, with_mistake: bool = True, with_script: bool = False
) -> Iterator[Text]:
    """One fact that does not hold: statement, input, got and expected, mistake, hint, source, how to ask it alone.

    with_mistake: the mistake that its function is known by. with_script: the whole replay, not only its command.
    """
    yield Text.assemble((fact.outcome.value.upper(), f"bold {STYLE[fact.outcome]}"), "  ", (fact.function, "bold"))
    yield from layout.wrapped(fact.title, width, layout.INDENT, layout.INDENT)
    for line in fact.formula.splitlines():
        yield from layout.wrapped(line, width, 2 * layout.INDENT, 3 * layout.INDENT, "cyan")
    evidence = fact.evidence
    yield from layout.row("input", evidence.input, width)
    aligned = bool(evidence.differs)
    yield from layout.row("got", evidence.got, width, aligned)
    yield from layout.row("expected", evidence.expected, width, aligned)
    yield from layout.row("", evidence.differs, width, aligned)
    yield from layout.row("why", words.why(fact), width)
    yield from layout.row("printed", layout.last_lines(fact.output), width)
    yield from layout.row("mistake", words.mistake([fact]) if with_mistake else "", width)
    yield from layout.row("hint", fact.hint, width)
    yield from layout.row("source", fact.source, width)
    command, _, script = fact.replay.partition("\n\n")
    yield from layout.command("again", command, tree, width)
    if with_script and script:
        python = layout.VENV_PYTHON if tree == "student" else "python"
        yield from layout.label("or", [f"{python}, in the folder that holds student/:"])
        yield Text()
        yield from (layout.inert_text(line) for line in script.splitlines())
    yield Text()


def invitation(facts: Sequence[FactResult], tree: str, width: int) -> list[Text]:
    """What a student reads who has not begun."""
    functions = len({fact.function for fact in facts})
    modules = list(dict.fromkeys(fact.module for fact in facts))
    where = f"{tree}/{modules[0]}.py" if len(modules) == 1 else f"{len(modules)} files of {tree}/"
    text = f"{functions} functions wait for you in {where}; each docstring says what to write."
    if functions == 1:
        text = f"It waits for you in {where}; its docstring says what to write."
    return [Text(), *layout.wrapped(text, width, 0, 0), *_start(facts[0], tree, width, "Start here")]


def next_step(facts: Sequence[FactResult], tree: str, width: int) -> list[Text]:
    """The first fact that does not hold, and not because of another function."""
    unheld = [fact for fact in facts if fact.outcome is not Outcome.PASSED]
    return [
        Text(),
        *_start(next((fact for fact in unheld if not fact.evidence.helper), unheld[0]), tree, width, "Next"),
    ]


def _start(fact: FactResult, tree: str, width: int, word: str) -> list[Text]:
    cause = fact.evidence.cause
    if cause.endswith(".py"):
        return [
            *layout.wrapped(f"{word}: {tree}/{cause}, so that it can be imported", width, 0, layout.INDENT, "bold"),
            *layout.command("then", f"nox -s grade -- --only {fact.module}", tree, width),
        ]
    return [
        *layout.wrapped(f"{word}: {fact.function} in {tree}/{fact.module}.py", width, 0, layout.INDENT, "bold"),
        *layout.wrapped(fact.title, width, layout.INDENT, layout.INDENT, "cyan"),
        *layout.command("then", f"nox -s grade -- --only {fact.function}", tree, width),
    ]


def _name(fact: FactResult) -> str:
    return fact.id.rpartition("::")[2]


def _facts(number: int, which: str = "") -> str:
    return f"{number} {which}fact{'s' * (number != 1)}"


def _fail(number: int) -> str:
    return f"{_facts(number, 'more ')} fail{'s' * (number == 1)}"


def _tally(facts: Sequence[FactResult]) -> Text:
    """`5 of 8, 2 failed, 1 todo`."""
    text = Text(f"{sum(fact.outcome is Outcome.PASSED for fact in facts)} of {len(facts)}")
    for outcome in Outcome:
        count = sum(fact.outcome is outcome for fact in facts)
        if count and outcome is not Outcome.PASSED:
            text.append(f", {count} {outcome.value}", style=STYLE[outcome])
    return text
