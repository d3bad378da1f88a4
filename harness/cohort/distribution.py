"""The marks of a class: median and quartiles, and their histogram in the colours of the page."""

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from harness.report import figures
from harness.report.words import number

WIDTH, HEIGHT = 5.0, 2.7  # inches of 72 units, as narrow as those of a report, so that letters stay legible on a phone
BARS = 20


class Distribution(NamedTuple):
    """Marks in points, or in percent of each one's own maximum (`unit` "%") where these differ.

    edges: of the bars, one more than there are counts; a bar holds its lower edge, the last one both. beyond: marks
    outside of all bars, which adjustments by hand may give; they stand in the first and the last.
    """

    marks: list[float]
    unit: str
    most: float
    mean: float
    quartiles: tuple[float, float, float]
    edges: list[float]
    counts: list[int]
    beyond: int

    def bars(self) -> list[tuple[str, int]]:
        """What each bar covers, in words, and its count."""
        return [
            (f"{number(low)} to {number(high)}", count)
            for low, high, count in zip(self.edges[:-1], self.edges[1:], self.counts, strict=True)
        ]


def distribution(marks: Sequence[tuple[float, float]]) -> Distribution | None:
    """The distribution of (score, maximum); None where there is no mark. Quartiles interpolate linearly."""
    if not marks:
        return None
    maxima = {most for _, most in marks}
    if len(maxima) == 1:
        most, unit = maxima.pop(), ""
        values = np.array([score for score, _ in marks])
    else:
        most, unit = 100.0, "%"
        values = np.array([100 * score / most if most else 0.0 for score, most in marks])
    edges = _edges(most)
    low, high = edges[0], edges[-1]
    counts, _ = np.histogram(np.clip(values, low, high), edges)
    first, median, third = np.quantile(values, (0.25, 0.5, 0.75))
    beyond = int(((values < low) | (values > high)).sum())
    return Distribution(
        values.tolist(), unit, most, float(values.mean()), (float(first), float(median), float(third)), edges,
        counts.tolist(), beyond,
    )  # fmt: skip


def _edges(most: float) -> list[float]:
    """About `BARS` bars with round edges from 0 to `most` or a little beyond."""
    from matplotlib.ticker import MaxNLocator

    edges = MaxNLocator(BARS, steps=[1, 2, 2.5, 5, 10]).tick_values(0.0, most if most > 0 else 1.0)
    return [round(float(edge), 9) for edge in edges]


def picture(shown: Distribution) -> str:
    """The histogram, an `<svg>` element that fills its place: bars, a band from quartile to quartile, the median."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    style: Any = {**figures.STYLE, "svg.hashsalt": "marks", "axes.grid.axis": "y"}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        canvas: Any = FigureCanvasSVG(figure)
        axes = figure.subplots()
        width = shown.edges[1] - shown.edges[0]
        first, median, third = np.clip(shown.quartiles, shown.edges[0], shown.edges[-1])
        axes.bar(shown.edges[:-1], shown.counts, 0.88 * width, 0, align="edge", color=figures.OWN[0])
        top = max(shown.counts)
        ink: Any = {"color": figures.INK, "clip_on": False}
        axes.plot([first, third], [-0.035 * top] * 2, linewidth=3, solid_capstyle="butt", **ink)
        axes.plot(median, -0.035 * top, "o", markersize=7, **ink)
        axes.set(xlabel=f"marks in {'percent' if shown.unit else 'points'}", ylabel="submissions")
        axes.set_xlim(shown.edges[0], shown.edges[-1])
        axes.set_ylim(-0.07 * top, 1.05 * top)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        text = io.StringIO()
        canvas.print_svg(text, metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    return figures.of_the_page(text.getvalue(), f"Histogram of {len(shown.marks)} marks; its numbers are below.")
