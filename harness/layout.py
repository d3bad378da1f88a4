"""Lines of a report in a terminal: wrapped, labelled, and inert whatever a submission says."""

import os
import shlex
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.text import Text

from harness.text import inert, typed

INDENT, LABEL = 4, 10
PRINTED_LINES, LINE_LIMIT = 6, 200
PYTHON, VENV_PYTHON = ("py", r".venv\Scripts\python") if os.name == "nt" else ("python3", ".venv/bin/python")


def row(name: str, text: str, width: int, aligned: bool = False) -> Iterator[Text]:
    """A label and lines beside it. Lines that are aligned or indented stay so, and are cut rather than wrapped."""
    lines: list[str | Text] = []
    room = width - INDENT - LABEL
    for line in text.splitlines():
        if name == "input":
            lines += wrapped(line, room, len(line) - len(line.lstrip()), INDENT)
        elif aligned or line[:1] == " ":
            lines.append(_cut(line, room))
        else:
            lines += wrapped(line, room, 0, 0)
    yield from label(name, lines)


def label(name: str, lines: Iterable[str | Text]) -> Iterator[Text]:
    for number, line in enumerate(lines):
        beside = (name if number == 0 else "").ljust(LABEL)
        assembled = Text.assemble(" " * INDENT, (beside, "dim"), line if isinstance(line, Text) else inert_text(line))
        assembled.rstrip()
        yield assembled


def command(name: str, text: str, tree: str, width: int) -> Iterator[Text]:
    """A command that can be copied: on one line where there is room, else broken as a shell allows it."""
    start, option, rest = typed(text, PYTHON).partition(" --only ")
    if tree != "student":
        start += f" --tree {shlex.quote(inert(tree))}"
    whole = f"{start}{option}{rest}"
    if len(whole) <= width - INDENT - LABEL:
        yield from label(name, [whole])
        return
    yield from label(name, [""])
    if len(whole) <= width or os.name == "nt":  # where no shell joins lines
        yield Text(" " * INDENT + whole if len(whole) <= width - INDENT else whole)
    else:
        yield from (Text(" " * INDENT + line) for line in (f"{start} \\", f"   {option}{rest}"))


def wrapped(text: str, width: int, first: int, others: int, style: str = "") -> list[Text]:
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


def inert_text(text: str, style: str = "") -> Text:
    return Text(inert(text), style)


def last_lines(text: str) -> str:
    """The end of what a submission printed."""
    lines = list(dict.fromkeys(line.rstrip() for line in text.strip().splitlines()))
    return "\n".join(line if len(line) <= LINE_LIMIT else f"{line[:LINE_LIMIT]} ..." for line in lines[-PRINTED_LINES:])
