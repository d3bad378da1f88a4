"""How the demos show their results: tables on the terminal, figures in files.

Nothing here knows the course's mathematics. Rich and matplotlib are imported when they are needed, so that importing a
module of this package stays cheap.
"""

# given
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

# Okabe and Ito's palette: colours that stay apart for colour-blind readers. Lines also differ in style or marker.
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#666666"


class Table(NamedTuple):
    """A table as data: raw values in `rows`; for each column a heading and a format ("" for text, ".3f", ...)."""

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Any]]
    caption: str = ""

    def cells(self) -> list[list[str]]:
        """The rows as they are printed."""
        return [[format(value, spec) for value, (_, spec) in zip(row, self.columns, strict=True)] for row in self.rows]


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def heading(title: str) -> None:
    """Print the title of a demo."""
    from rich.rule import Rule

    console = _console()
    console.print()
    console.print(Rule(f"[bold]{title}", align="left"))


def show(table: Table) -> None:
    """Print a table; numbers are set flush right."""
    import rich.table
    from rich.box import SIMPLE_HEAD
    from rich.text import Text

    grid = rich.table.Table(box=SIMPLE_HEAD, title=table.caption or None, title_justify="left", title_style="")
    for name, spec in table.columns:
        # As Text, because "E[r*]" in a string would be read as markup.
        grid.add_column(Text(name), justify="right" if spec else "left", overflow="fold")
    for row in table.cells():
        grid.add_row(*map(Text, row))
    _console().print(grid)


def say(*lines: str) -> None:
    """Print lines of plain text."""
    console = _console()
    for line in lines:
        console.print(line, markup=False)


def observe(*observations: str) -> None:
    """Print what a table shows, one observation each, wrapped to the terminal's width."""
    import rich.table
    from rich.text import Text

    grid = rich.table.Table.grid(padding=(0, 1, 0, 0))
    for observation in observations:
        grid.add_row("  -", Text(observation))
    _console().print(grid)


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
    """Pass the items on; show a progress bar meanwhile if the output is a terminal."""
    from rich.progress import track

    console = _console()
    return track(items, description, total=total, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def figure(path: Path, panels: int = 1, title: str = "") -> Iterator[list[Any]]:
    """A figure of one or more panels side by side, which is saved to `path` at the end of the `with` block.

    It yields the list of matplotlib axes. Panels with labelled lines get a legend.
    """
    import matplotlib
    from cycler import cycler
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "lines.linewidth": 2,
        "legend.frameon": False,
        "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, RED, PURPLE, GREY]),
    }
    with matplotlib.rc_context(style):
        canvas = Figure(figsize=(6.2 * panels, 4.4), layout="constrained", dpi=130)
        FigureCanvasAgg(canvas)
        axes = list(canvas.subplots(1, panels, squeeze=False)[0])
        yield axes
        for panel in axes:
            if panel.get_legend() is None and panel.get_legend_handles_labels()[0]:
                panel.legend()
        if title:
            canvas.suptitle(title)
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path)
    say(f"Figure saved as {path}")
