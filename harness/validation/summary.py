"""The proof in a terminal: what was asked of each function, and everything that falls short."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.validation.proof import Proof


def summary(found: Proof) -> RenderableType:
    """What was asked of each function, and everything that falls short."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("function", "facts", "mistakes that die", "right answers that live"):
        grid.add_column(heading, no_wrap=True, justify="left" if heading == "function" else "right")
    for function, facts in found.facts.items():
        shares = (f"{done} of {total}" for done, total in (found.killed[function], found.unharmed[function]))
        grid.add_row(function, str(facts), *shares)
    lines: list[RenderableType] = [grid, Text()]
    lines += [Text(f"the reference does not hold {name}", style="red") for name in found.reference_fails]
    lines += [Text(f"the stubs already answer {function}", style="red") for function in found.stubs_written]
    lines += [Text(f"survives: {v.identifier} ({v.function}): {v.says}", style="red") for v in found.survivors]
    for variant, failed in found.harmed:
        lines.append(Text(f"harmed: {variant.identifier} ({variant.function}): {variant.says}", style="red"))
        lines += [Text(f"    {name}: {outcome}: {message}") for name, outcome, message in failed]
    lines.append(Text(f"false alarms of the whole suite: {found.false_alarms:.1e} a run, at most 1e-06 allowed"))
    lines.append(Text("The proof holds." if found.holds else "The proof does not hold.", style="bold"))
    return Group(*lines)
