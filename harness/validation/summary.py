"""The proof in a terminal: what was asked of each function, and everything that falls short."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.validation.proof import FALSE_ALARMS, Proof
from harness.validation.tables import function_rows, prunable


def summary(proof: Proof) -> RenderableType:
    """What was asked of each function, everything that falls short, and the verdict."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("function", "facts", "mistakes\nthat die", "right answers\nthat live", "mutants\nthat die"):
        grid.add_column(heading, no_wrap=True, justify="left" if heading == "function" else "right")
    for row in function_rows(proof):
        grid.add_row(row.function, str(row.facts), *map(str, (row.mistakes, row.answers, row.mutants)))
    lines = [
        f"false alarms of the whole suite: {float(proof.false_alarms):.1e} a run, {float(FALSE_ALARMS):.0e} is allowed",
    ]
    unneeded = prunable(proof)
    if unneeded is not None:
        few = f"{len(unneeded)} of {len(proof.facts)} facts"
        lines.append(f"{few} are never the only one to kill a mistake; the page lists them")
    if proof.record:
        lines.append(f"deep run of {proof.record.date}: {_mutants(proof)}")
    short = proof.falls_short
    count = "one thing falls" if len(short) == 1 else f"{len(short)} things fall"
    verdict = f"The proof does not hold: {count} short." if short else "The proof holds."
    return Group(
        grid,
        Text(),
        *(Text(line) for line in lines),
        *(Text(sentence, style="red") for sentence in short),
        Text(f"{verdict} ({proof.seconds:.0f} s)", style="bold"),
    )


def _mutants(proof: Proof) -> str:
    killed, total = proof.mutants_killed
    return f"{killed:,} of {total:,} mutants killed"
