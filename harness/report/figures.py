"""Curves as SVG that takes the page's colours and its font: light, dark or printed."""

import io
import math
import re
from typing import Any

from markupsafe import escape

from harness.result import Curve, Series

WIDTH, HEIGHT = 5.0, 3.5  # inches of 72 units: on a phone of 390 pixels letters stay 10 pixels high
MARKERS = ("o", "s", "^", "D", "v", "P")
EXACT_STYLES = ("-", "--", ":", "-.")
# Stand-ins, which become the page's own colours: what is exact is ink, what is the submission's has a colour.
INK, FAINT, GRID = "#010101", "#020202", "#030303"
OWN = ("#040401", "#040402", "#040403", "#040404", "#040405", "#040406")
COLOURS = {INK: "--ink", FAINT: "--faint", GRID: "--line"} | {c: f"--own-{n}" for n, c in enumerate(OWN, 1)}
FAR = 3.0
"""How far, in heights of the exact curves, the picture follows a submission's values."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "none",
}


def svg(curve: Curve) -> str:
    """The picture of a curve, an `<svg>` element that fills its place."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {**STYLE, "svg.hashsalt": curve.id}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        canvas: Any = FigureCanvasSVG(figure)
        axes = figure.subplots()
        _draw(axes, curve)
        figure.legend(loc="outside upper left", ncols=2, handlelength=2.2, columnspacing=1.4)
        text = io.StringIO()
        canvas.print_svg(text, metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    return of_the_page(text.getvalue(), curve.title)


def _draw(axes: Any, curve: Curve) -> None:
    own = exact = 0
    for series in curve.series:
        if series.exact:
            axes.plot(series.x, series.y, EXACT_STYLES[exact % 4], color=INK, linewidth=1.3, label=series.name)
            exact += 1
        else:
            line = "none" if curve.ticks or exact == 1 == len(curve.series) - 1 else "-"
            axes.plot(
                series.x,
                series.y,
                linestyle=line,
                linewidth=1.1,
                marker=MARKERS[own % len(MARKERS)],
                markersize=8 if own else 5,  # and hollow: where markers meet, all are seen
                markerfacecolor="none" if own else OWN[own % len(OWN)],
                markeredgewidth=1.3,
                color=OWN[own % len(OWN)],
                label=series.name,
            )
            own += 1
    axes.set(xlabel=curve.x_label, ylabel=curve.y_label, xscale=curve.x_scale, yscale=curve.y_scale)
    if curve.ticks:
        axes.set_xticks(range(len(curve.ticks)), [_wrapped(name) for name in curve.ticks])
    if curve.y_scale == "linear":
        axes.set_ylim(*_limits(curve.series))


def _limits(series: list[Series]) -> tuple[float, float]:
    """The range of all values, but not beyond FAR heights of the exact ones."""
    everything = [value for line in series for value in line.y]
    known = [value for line in series if line.exact for value in line.y] or everything
    height = (max(known) - min(known)) or abs(max(known)) or 1.0
    low = max(min(everything), min(known) - FAR * height)
    high = min(max(everything), max(known) + FAR * height)
    margin = 0.06 * ((high - low) or height)
    return low - margin, high + margin


def _wrapped(name: str) -> str:
    return name.replace(", ", ",\n").replace(" ", "\n")


def of_the_page(text: str, title: str) -> str:
    """An `<svg>` of a file as an element of a page: no header, no ids that nothing refers to, the page's colours."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    referred = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in referred else "", text)
    text = re.sub(r"font-family: [^;\"]+;? ?", "", text)
    text = re.sub(r"font: (?:[a-z]+ )?([\d.]+px) [^;\"]+", r"font-size: \1", text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    for stand_in, variable in COLOURS.items():
        text = text.replace(stand_in, f"var({variable})")
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def rows(series: Series) -> list[tuple[str, str]]:
    """The points of a series as text."""
    return [(_short(x), _short(y)) for x, y in zip(series.x, series.y, strict=True)]


def _short(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "–"
