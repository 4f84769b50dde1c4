"""How a figure becomes SVG text.

Invariant: the same figure gives the same bytes, on every machine and at every time; and names in it stay names,
whatever they contain.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from judgelab.metrics.estimate import Estimate
from judgelab.report.clean import printable
from judgelab.report.numbers import whole_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito: told apart by colour-blind readers and, by their lightness, in grey print.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY, BLACK = "#CC79A7", "#56B4E9", "#8C8C8C", "#222222"
WIDTH = 7.5  # inches: the text width of a page
SMALL, NORMAL = 9.0, 10.0  # points

_SETTINGS = {
    "axes.axisbelow": True,
    "axes.labelsize": NORMAL,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": NORMAL,
    "axes.unicode_minus": False,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine measures text alike
    "font.size": SMALL,
    "hatch.linewidth": 0.6,
    "legend.fontsize": SMALL,
    "svg.fonttype": "path",  # looks the same where the font is missing
    "svg.hashsalt": "judgelab",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "text.usetex": False,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}


@dataclass(frozen=True)
class ForestRow:
    """A line of a forest plot."""

    label: str
    estimate: Estimate
    colour: str = BLUE
    marker: str = "o"


def draw(height: float, paint: Callable[[Figure], None]) -> str:
    """The SVG of a figure `WIDTH` inches wide and `height` high, which `paint` fills.

    Text is drawn as paths, so the file needs no font; ids are unique to the figure, so that several can stand in
    one page.
    """
    import warnings

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the tables beside the figure have it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
        FigureCanvasSVG(figure)
        paint(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _own_ids(file.getvalue())


def forest(rows: Sequence[ForestRow], axis: str, lines: int = 1, centre: float | None = 0.0) -> str | None:
    """Estimates below each other with their intervals and n; None if none is defined.

    `lines` is the most lines a label has, `axis` the label of the scale, `centre` where the line of no effect stands.
    """
    rows = [row for row in rows if math.isfinite(row.estimate.value)]
    if not rows:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        if centre is not None:
            axes.axvline(centre, color=BLACK, linewidth=0.8)
        for y, row in enumerate(rows):
            e = row.estimate
            arms = [[e.value - e.lo], [e.hi - e.value]] if math.isfinite(e.lo) and math.isfinite(e.hi) else None
            axes.errorbar(
                [e.value], [y], xerr=arms, fmt=row.marker, color=row.colour, capsize=3, markersize=5.5, linewidth=1.6
            )
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(axis)
        right_labels(axes, [f"{whole_of(row.estimate).replace(' points', '')}, n={row.estimate.n:,}" for row in rows])

    return draw(0.9 + len(rows) * (0.14 + 0.16 * lines), paint)


def right_labels(axes: Any, labels: Sequence[str]) -> None:
    """Text at the right end of each row, outside the axes."""
    twin: Axes = axes.twinx()
    twin.set_ylim(axes.get_ylim())
    twin.set_yticks(range(len(labels)), [printable(label) for label in labels])
    twin.tick_params(axis="y", length=0)
    twin.spines[:].set_visible(False)


def inline(svg: str) -> str:
    """The `<svg>` element alone, for a page: no prolog, no metadata, no style rule that would reach beyond
    the figure."""
    element = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    style = re.search(r"<style[^>]*>\*\{([^}]*)\}</style>", element)
    if style:
        element = element.replace(style[0], "", 1).replace("<svg ", f'<svg style="{style[1]}" ', 1)
    return element


def _own_ids(svg: str) -> str:
    """Prefix every id and reference to it by a hash of the figure."""
    # Text is repeated in comments, which nothing needs and names might try to leave.
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    tag = "f" + sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="', f'id="{tag}-', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{tag}-", svg)
